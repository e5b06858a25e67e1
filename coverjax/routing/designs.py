"""Estimates from teams that were executed at random with known probabilities.

A routed score that was drawn with probability pi counts 1/pi times. Values and contrasts are linear in the
table, so this is unbiased for them. The oracle is a maximum, not linear, and is not estimated this way:
what a sample of k teams has for its best is `expected_best`, the same average over k-subsets as best-of-k
of samples.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from coverjax.estimators.avoidance import avoidance_sums
from coverjax.foundation import checks
from coverjax.foundation.checks import InputError, one_of
from coverjax.inference.resampling import REPLICATES, ratio_interval
from coverjax.inference.units import Interval
from coverjax.routing.checking import Outcomes, at, checked_routes
from coverjax.routing.sampling import SamplingPlan


@dataclasses.dataclass(frozen=True, eq=False)
class DesignEstimate:
    """An estimate over tasks from rows drawn with known probabilities.

    Attributes:
        horvitz_thompson: sum of y / pi over the drawn rows, over the number of tasks: unbiased, but moves
            with the number of rows that happened to be drawn.
        hajek: the same sum over the sum of 1 / pi: biased by O(1/tasks), unmoved by a shift of all scores.
        stderr: of `horvitz_thompson`, over the draw of rows alone, the tasks held fixed (unbiased variance).
        numerators, denominators: y / pi and 1 / pi of each task, 0 where its row was not drawn [tasks].
        drawn: number of tasks that bear on the estimate.
    """

    horvitz_thompson: float
    hajek: float
    stderr: float
    numerators: Float[np.ndarray, " tasks"]
    denominators: Float[np.ndarray, " tasks"]
    drawn: int

    def interval(
        self,
        method: str = "hajek",
        level: float = 0.95,
        clusters: Any = None,
        seed: int = 0,
        replicates: int = REPLICATES,
    ) -> Interval:
        """Compute the bootstrap interval over tasks, numerator and denominator of a task drawn together.

        With "hajek" a constant score has an interval of zero width; with "ht" it has not, as the number of
        rows drawn moves the estimate.
        """
        one_of("method", method, ("hajek", "ht"))
        below = self.denominators if method == "hajek" else np.ones_like(self.denominators)
        return ratio_interval(
            self.numerators[:, None], below[:, None], level, clusters, seed, replicates=replicates
        )


def design_value(table: Outcomes, plan: SamplingPlan, routes: Any) -> DesignEstimate:
    """Estimate the mean score of a router from randomly executed rows.

    Args:
        table: outcomes of the executed rows; the drawn ones must be there.
        plan: what was to be drawn, and with which probability.
        routes: the routed team of each task [tasks].

    Raises:
        InputError: a routed row that could never be drawn, or a drawn one without an outcome.
    """
    route = checked_routes("routes", routes, table.scores.shape, table.legal)
    pi, drawn = at(plan.inclusion, route), at(plan.drawn, route)
    _need(table, plan, route, pi)
    y = np.where(drawn, at(table.scores, route), 0.0)
    variance = np.where(drawn, (1.0 - pi) / pi**2, 0.0) * y**2
    return _estimate(y, drawn, pi, variance)


def design_contrast(table: Outcomes, plan: SamplingPlan, routes_a: Any, routes_b: Any) -> DesignEstimate:
    """Estimate the mean score of router a minus that of router b from rows that were both executed.

    A task counts 1 / pi_ab times, pi_ab the joint probability of its two rows, where both were drawn: with a
    constant difference the Hajek interval has zero width, which a difference of two values has not. Where
    both choose the same team the difference is 0 whether it was run or not.

    Raises:
        InputError: a pair of rows that could never be drawn together, or a drawn one without an outcome.
    """
    a = checked_routes("routes_a", routes_a, table.scores.shape, table.legal)
    b = checked_routes("routes_b", routes_b, table.scores.shape, table.legal)
    same = a == b
    pi = np.where(same, 1.0, plan.joint(a, b))
    drawn = same | (at(plan.drawn, a) & at(plan.drawn, b))
    for route in (a, b):
        _need(table, plan, route, pi, ~same)
    differ = drawn & ~same
    y = np.where(differ, at(table.scores, a), 0.0) - np.where(differ, at(table.scores, b), 0.0)
    return _estimate(y, drawn, pi, np.where(drawn, (1.0 - pi) / pi**2, 0.0) * y**2)


def _need(table: Outcomes, plan: SamplingPlan, route: np.ndarray, pi: np.ndarray, where: Any = True) -> None:
    never = (pi <= 0.0) & where
    if never.any():
        raise InputError(
            f"plan: every routed row must be able to be drawn; at task {int(never.argmax())} its "
            "probability is "
            "0, so that the design says nothing about it"
        )
    lost = at(plan.drawn, route) & ~at(table.known, route) & where
    if lost.any():
        raise InputError(
            f"plan: every drawn row needs its outcome; task {int(lost.argmax())} lacks that of its routed "
            "team (a "
            "run that failed is a score, not a missing one)"
        )


def _estimate(y: np.ndarray, drawn: np.ndarray, pi: np.ndarray, variance: np.ndarray) -> DesignEstimate:
    weights = np.where(drawn, 1.0 / pi, 0.0)
    total = float(weights.sum())
    numerators = y * weights
    return DesignEstimate(
        horvitz_thompson=float(numerators.sum()) / len(y),
        hajek=float(numerators.sum()) / total if total > 0.0 else np.nan,
        stderr=float(np.sqrt(variance.sum())) / len(y),
        numerators=numerators,
        denominators=weights,
        drawn=int(drawn.sum()),
    )


def expected_best(
    table: Outcomes, budgets: Any = None, executed: "Bool[np.ndarray, 'tasks teams'] | None" = None
) -> tuple[np.ndarray, Float[np.ndarray, "tasks budgets"]]:
    """Compute the expected best score of k teams drawn without replacement from a task's executed ones.

    sum_j y_(j) C(j-1, k-1) / C(K, k), y_(1) <= .. <= y_(K) the known scores: as y_(K) minus the gaps between
    neighbours, each times the chance C(j, k) / C(K, k) that all k lie below it, which is the avoidance
    probability behind every coverage curve here. Exact and unbiased for the table's rows; the oracle at k =
    K.

    Args:
        table: what was executed.
        budgets: k, an int for 1..k or increasing numbers; by default 1 up to the smallest K of any task.
        executed: leave other known rows out [tasks, teams].

    Returns:
        budgets [B] and values [tasks, B], NaN in the whole row of a task with fewer known teams than the
        largest budget.
    """
    known = table.known if executed is None else table.known & executed
    count = known.sum(axis=1)
    if budgets is None:
        budgets = max(1, int(count.min(initial=known.shape[1])))
    k = checks.budgets(budgets)
    values = np.full((len(known), len(k)), np.nan)
    rows = np.flatnonzero(count >= k[-1])
    if len(rows):
        ordered = np.sort(np.where(known[rows], table.scores[rows], np.inf), axis=1)
        K = count[rows]
        places = np.arange(known.shape[1] - 1)
        inside = places + 1 < K[:, None]
        top = ordered[np.arange(len(rows)), K - 1]
        finite = np.where(np.isfinite(ordered), ordered, 0.0)
        gaps = np.where(inside, np.diff(finite, axis=1), 0.0)
        avoided = np.where(inside, K[:, None] - 1 - places, 0)
        values[rows] = top[:, None] - avoidance_sums(K, avoided, gaps, k)
    return k, values


@dataclasses.dataclass(frozen=True)
class CalibratedOracle:
    """The mean score of the best team, from samples and a cohort of which every team was run.

    Attributes:
        sampled: mean over all tasks of the expected best of k executed teams: a lower bound of the oracle.
        gap: mean over the cohort of its oracle minus its expected best of k.
        oracle: sampled + gap, unbiased when the cohort is a random sample of the tasks and, elsewhere, k
            teams were drawn uniformly without replacement.
        stderr: standard error over tasks, cohort and draws, by the linearised sum over tasks.
        k: teams in a sample.
        cohort: number of tasks in the cohort.
    """

    sampled: float
    gap: float
    oracle: float
    stderr: float
    k: int
    cohort: int


def calibrated_oracle(table: Outcomes, plan: SamplingPlan) -> CalibratedOracle:
    """Estimate the oracle's mean score from teams drawn at random and a fully executed cohort.

    What the best of k sampled teams lacks of the best of all is measured on the cohort, where everything is
    known, and added: a difference estimator, mean_x B_k(x) + mean_cohort [max - B_k], B_k the expected best
        of k.

    Raises:
        InputError: no cohort, one that is not complete, rows drawn independently (their number varies), or a
            task with fewer uncertain teams than the sample.
    """
    cohort = plan.cohort
    outside = plan.size[~cohort]
    if not cohort.any() or not table.complete[cohort].all():
        raise InputError(
            "plan: calibration needs a cohort of which every legal team was executed; sample with cohort "
            "> 0 and "
            "run all its rows"
        )
    uneven = plan.certain[~cohort].any() or (outside < 1).any() or len(set(outside.tolist())) > 1
    if uneven:
        raise InputError(
            "plan: calibration needs the same number of teams drawn without replacement at every task "
            "outside "
            "the cohort, and none that is certain"
        )
    k = int(outside[0]) if len(outside) else int(table.known.sum(axis=1).min())
    _, best = expected_best(table, [k], plan.drawn)
    gap = table.best[cohort] - best[cohort, 0]
    if np.isnan(best).any():
        raise InputError(
            f"plan: every task needs {k} executed teams; some have fewer: run the drawn rows first"
        )
    influence = (best[:, 0] - best.mean()) / len(best)
    influence[cohort] += (gap - gap.mean()) / len(gap)
    return CalibratedOracle(
        sampled=float(best.mean()),
        gap=float(gap.mean()),
        oracle=float(best.mean() + gap.mean()),
        stderr=float(np.sqrt(np.sum(influence**2))),
        k=k,
        cohort=int(cohort.sum()),
    )
