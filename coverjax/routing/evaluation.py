"""`evaluate_table`: everything one outcome table says about frozen routers."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from coverjax.foundation.checks import InputError, shown
from coverjax.inference.multiplicity import holm_p_values, sign_flip_p_values
from coverjax.inference.paired_signs import ternary_bootstrap_interval
from coverjax.inference.units import Interval
from coverjax.routing import answers, regrets
from coverjax.routing.answers import Answer
from coverjax.routing.checking import at, checked_routes
from coverjax.routing.contracts import Inference
from coverjax.routing.designs import (
    CalibratedOracle,
    DesignEstimate,
    calibrated_oracle,
    design_contrast,
    design_value,
    expected_best,
)
from coverjax.routing.draws import FAMILY_NOT_RUN, PAIR_NOT_RUN, ROW_NOT_RUN, Draws, gated_mean
from coverjax.routing.fronts import cost_quality_front
from coverjax.routing.levels import Levels
from coverjax.routing.sampling import SamplingPlan
from coverjax.routing.tables import OutcomeTable

MOST_PAIRS = 28
"""Contrasts between all pairs of up to 8 routers; of more, the first router against each other one."""


@dataclasses.dataclass(frozen=True, eq=False)
class RouterResult:
    """One router under one table.

    Attributes:
        name: with its labels.
        value: mean score.
        regret: mean absolute regret, max over the legal family minus the routed score.
        sampled_regret: mean regret against the best executed team: another estimand, a lower bound.
        gap_closed: (value - best constant) / (oracle - best constant), on complete tables.
        verdict: of the criterion; see `answers.criterion_verdict`.
        team_size: mean number of workers of the routed teams.
        cost: mean cost of the routed teams; NaN where one was not given.
        front: whether no constant team and no router is both cheaper and better; None without costs.
        design: estimates from a random sample of rows: value by Hajek, its interval; None for other coverage.
        routes: the routed teams [tasks].
    """

    name: str
    value: Answer
    regret: Answer
    sampled_regret: Answer
    gap_closed: Answer
    verdict: str
    team_size: float
    cost: float
    front: bool | None
    design: "tuple[DesignEstimate, Interval] | None"
    routes: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class ContrastResult:
    """Router a minus router b.

    Attributes:
        a, b: names with labels.
        difference: mean paired difference of scores.
        differing: number of tasks on which they choose different teams.
        counts: tasks won, lost and tied by a; None unless a point.
        exact: exact bootstrap ends of wins - losses in counts, where all differences have one size; else
            None.
        p_value, p_holm: two-sided sign-flip test, and adjusted over all contrasts of the table; NaN unless
            a point.
        design: Hajek estimate from a random sample of rows, its interval; None for other coverage.
    """

    a: str
    b: str
    difference: Answer
    differing: int
    counts: tuple[int, int, int] | None
    exact: tuple[int, int] | None
    p_value: float
    p_holm: float
    design: "tuple[DesignEstimate, Interval] | None"


@dataclasses.dataclass(frozen=True, eq=False)
class TableResult:
    """What one table (one downstream stack, one endpoint) says.

    Attributes:
        table: the table itself.
        routers, contrasts: in the order of the routers.
        oracle: mean score of the best legal team.
        constant: name of the best constant team in hindsight, None where it is not known.
        constant_value: its mean score.
        headroom: oracle minus best constant.
        best_of: budgets k and the mean expected best of k executed teams; tasks with fewer are left out.
        best_of_short: how many those are.
        calibrated: the oracle from a sample and its cohort; None for other coverage, or where it is refused.
        warnings: what a reader must know.
    """

    table: OutcomeTable
    routers: tuple[RouterResult, ...]
    contrasts: tuple[ContrastResult, ...]
    oracle: Answer
    constant: str | None
    constant_value: Answer
    headroom: Answer
    best_of: tuple[np.ndarray, np.ndarray]
    best_of_short: int
    calibrated: CalibratedOracle | None
    warnings: tuple[str, ...]


def evaluate_table(
    table: OutcomeTable,
    routes_by_name: Mapping[str, Any],
    inference: Inference | None = None,
    sample: SamplingPlan | None = None,
) -> TableResult:
    """Evaluate frozen routers on a table: each quantity as a point, a sharp interval or a refusal, with its
    reason.

    All intervals are percentile bootstraps over tasks (or whole families) in the same draws, so differences
    are paired; they are refused below 8 tasks or 3 families. An identified interval has the lower limit of
    its low end and the upper limit of its high end.

    Args:
        table: outcomes under one downstream stack.
        routes_by_name: team numbers [tasks] of each router; names bear their labels already.
        inference: how uncertainty is stated; the default is 10,000 replicates over tasks at level 0.95.
        sample: the design, where rows were executed at random.

    Raises:
        InputError: a route that is no legal team, or families asked for and none known.
    """
    inference = Inference() if inference is None else inference
    outcomes = table.outcomes
    shape = (outcomes.scores.shape[0], outcomes.scores.shape[1])
    routes = {
        name: checked_routes(f"routes of {shown(name)}", route, shape, outcomes.legal)
        for name, route in routes_by_name.items()
    }
    draws = Draws(inference, table.clusters, shape[0])
    levels = Levels(table, draws)
    values = {name: regrets.value_set(outcomes, route) for name, route in routes.items()}
    sets = {name: regrets.regret_set(outcomes, route) for name, route in routes.items()}
    pairs = _pairs(list(routes))
    gaps = {pair: regrets.contrast_set(outcomes, routes[pair[0]], routes[pair[1]]) for pair in pairs}
    value_places = {name: draws.add_ends(*ends) for name, ends in values.items()}
    regret_places = {name: draws.add_ends(*ends) for name, ends in sets.items()}
    contrast_places = {pair: draws.add_ends(*ends) for pair, ends in gaps.items()}
    draws.draw()
    front = cost_quality_front(table, routes)
    results = []
    for name, route in routes.items():
        value = gated_mean("value", values[name], ROW_NOT_RUN, draws, value_places[name])
        regret = gated_mean("absolute regret", sets[name], FAMILY_NOT_RUN, draws, regret_places[name])
        results.append(
            RouterResult(
                name=name,
                value=value,
                regret=regret,
                sampled_regret=_sampled(table, route, draws, regret_places[name][0]),
                gap_closed=levels.gap_closed(value, value_places[name][0]),
                verdict=answers.criterion_verdict(regret, inference.criterion),
                team_size=float(table.family.sizes[route].mean()),
                cost=np.nan if table.costs is None else float(at(table.costs, route).mean()),
                front=front.get(name),
                design=_design(design_value, table, sample, inference, route),
                routes=route,
            )
        )
    budgets, best = expected_best(outcomes) if outcomes.known.any(axis=1).all() else _no_best(shape[0])
    complete = ~np.isnan(best[:, 0])
    return TableResult(
        table=table,
        routers=tuple(results),
        contrasts=_contrasts(table, routes, gaps, draws, contrast_places, sample),
        oracle=levels.oracle(),
        constant=levels.constant_name,
        constant_value=levels.constant_value(),
        headroom=levels.headroom(),
        best_of=(budgets, best[complete].mean(axis=0) if complete.any() else best[0]),
        best_of_short=int((~complete).sum()),
        calibrated=_calibrated(table, sample),
        warnings=_warnings(table, draws),
    )


def _no_best(tasks: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array([1]), np.full((tasks, 1), np.nan)


def _pairs(names: list[str]) -> list[tuple[str, str]]:
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    return pairs if len(pairs) <= MOST_PAIRS else [(names[0], other) for other in names[1:]]


def _sampled(table: OutcomeTable, route: np.ndarray, draws: Draws, place: int) -> Answer:
    """Regret against what was executed. Where every routed team was run it is the low end of the regret
    set."""
    missing = int((~at(table.outcomes.known, route)).sum())
    name = "sampled-action regret"
    if missing:
        return answers.refusal(name, f"the routed team was not run on {missing} of {len(route)} tasks")
    value = float(regrets.sampled_action_regret(table.outcomes, route).mean())
    why = "best of the executed teams, which is a lower bound of absolute regret and grows with coverage"
    return Answer(name, "point", value, value, *draws.limits(place), why)


def _design(
    estimate: Any, table: OutcomeTable, sample: SamplingPlan | None, inference: Inference, *routes: np.ndarray
) -> "tuple[DesignEstimate, Interval] | None":
    if sample is None:
        return None
    found = estimate(table.outcomes, sample, *routes)
    clusters = table.clusters if inference.unit == "family" else None
    interval = found.interval("hajek", inference.level, clusters, inference.seed, inference.replicates)
    return found, interval


def _calibrated(table: OutcomeTable, sample: SamplingPlan | None) -> CalibratedOracle | None:
    if sample is None:
        return None
    try:
        return calibrated_oracle(table.outcomes, sample)
    except InputError:
        return None


def _contrasts(
    table: OutcomeTable,
    routes: Mapping[str, np.ndarray],
    gaps: Mapping[tuple[str, str], tuple[np.ndarray, np.ndarray]],
    draws: Draws,
    places: Mapping[tuple[str, str], tuple[int, int]],
    sample: SamplingPlan | None,
) -> tuple[ContrastResult, ...]:
    points = [pair for pair, (lower, upper) in gaps.items() if np.array_equal(lower, upper)]
    p_values: dict[tuple[str, str], tuple[float, float]] = {}
    if points and draws.refused is None:
        differences = np.stack([gaps[pair][0] for pair in points], axis=1)
        inference = draws.inference
        flips = sign_flip_p_values(differences, draws.clusters, inference.seed, flips=inference.replicates)
        p_values = dict(
            zip(points, zip(flips.tolist(), holm_p_values(flips).tolist(), strict=True), strict=True)
        )
    found = []
    for (a, b), ends in gaps.items():
        counts: tuple[int, int, int] | None = None
        if (a, b) in points:
            counts = (int((ends[0] > 0.0).sum()), int((ends[0] < 0.0).sum()), int((ends[0] == 0.0).sum()))
        exact = None
        one_size = len(set(np.abs(ends[0][ends[0] != 0.0]).tolist())) <= 1
        if counts is not None and one_size and draws.clusters is None and draws.refused is None:
            exact = ternary_bootstrap_interval(*counts, draws.inference.level)
        p, adjusted = p_values.get((a, b), (np.nan, np.nan))
        found.append(
            ContrastResult(
                a,
                b,
                gated_mean("contrast", ends, PAIR_NOT_RUN, draws, places[a, b]),
                int((routes[a] != routes[b]).sum()),
                counts,
                exact,
                p,
                adjusted,
                _design(design_contrast, table, sample, draws.inference, routes[a], routes[b]),
            )
        )
    return tuple(found)


def _warnings(table: OutcomeTable, draws: Draws) -> tuple[str, ...]:
    lines: list[str] = [] if draws.refused is None else [draws.refused]
    if (table.replicates > 1).any():
        lines.append(
            "scores are means over replicates: the largest of noisy means is too high, and with it "
            "oracle, regret and "
            "headroom"
        )
    failed = int(table.failed.sum())
    if failed:
        lines.append(f"{failed} executed rows failed and are scored by the contract's rule")
    if table.illegal_rows:
        lines.append(
            f"{table.illegal_rows} executed rows are of teams not legal on their task and count for nothing"
        )
    return tuple(lines)
