"""Whole-number sums over trials, and the `Curves` they make.

Everything that a simulation keeps is a sum of whole numbers, so that no order of adding up can change a bit.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from coverjax.closed_form.results import Wanted, facts
from coverjax.curves import Curves, Spread
from coverjax.policy.base import label
from coverjax.policy.stage import LawOrModel, marginal_law


@dataclasses.dataclass
class Sums:
    """Sums over trials at each budget, int64 [inputs, budgets] where nothing else is said, None if unwanted.

    Attributes:
        distinct, distinct_squares: |S_k| and its square.
        any_new: draws with a new strategy.
        new, new_squares: number of new strategies in draw k, and its square; None, too, where a draw brings
            at most one: they are `any_new` then.
        full: runs that have covered all.
        used, used_squares: distinct latents used.
        held: draws k in 1..K after which a strategy is covered [inputs, strategies].
        coarse, coarse_squares: the same shifted right by `shift` in every run, and its square.
        law: runs with m = 0..M strategies [inputs, budgets, strategies + 1].
        shift: keeps these squares below 2^32.
    """

    distinct: Int[np.ndarray, "inputs budgets"]
    distinct_squares: Int[np.ndarray, "inputs budgets"] | None
    any_new: Int[np.ndarray, "inputs budgets"] | None
    new: Int[np.ndarray, "inputs budgets"] | None
    new_squares: Int[np.ndarray, "inputs budgets"] | None
    full: Int[np.ndarray, "inputs budgets"] | None
    used: Int[np.ndarray, "inputs budgets"] | None
    used_squares: Int[np.ndarray, "inputs budgets"] | None
    held: Int[np.ndarray, "inputs strategies"] | None
    coarse: Int[np.ndarray, "inputs strategies"] | None
    coarse_squares: Int[np.ndarray, "inputs strategies"] | None
    law: Int[np.ndarray, "inputs budgets counts"] | None
    shift: int


def empty_sums(
    inputs: int, strategies: int, budgets: np.ndarray, wanted: Wanted, latents: bool, one_label: bool
) -> Sums:
    """Return sums of nothing, with room for what is wanted."""

    def zeros(there: bool, *shape: int) -> "Int[np.ndarray, '...'] | None":
        return np.zeros((inputs, *shape), np.int64) if there else None

    count = len(budgets)
    errors = wanted.any_of("mc_stderr")
    used, held = latents and wanted.any_of("latent_coverage"), wanted.any_of("strategy_auc")
    several = wanted.any_of("novelty_count") and not one_label
    return Sums(
        distinct=np.zeros((inputs, count), np.int64),
        distinct_squares=zeros(errors, count),
        any_new=zeros(wanted.any_of("novelty_any", "novelty_count"), count),
        new=zeros(several, count),
        new_squares=zeros(several and errors, count),
        full=zeros(wanted.any_of("full_coverage"), count),
        used=zeros(used, count),
        used_squares=zeros(used and errors, count),
        held=zeros(held, strategies),
        coarse=zeros(held and errors, strategies),
        coarse_squares=zeros(held and errors, strategies),
        law=zeros(wanted.any_of("count_law"), count, strategies + 1),
        shift=max(0, int(budgets[-1]).bit_length() - 16),
    )


class _Means:
    """Means over trials and their standard errors, under the names of the curves."""

    def __init__(self, trials: int, names: frozenset[str]) -> None:
        self.mean: dict[str, Any] = {}
        self.error: dict[str, Any] = {}
        self._trials, self._names = trials, names

    def add(self, name: str, total: np.ndarray | None, squares: np.ndarray | None, scale: Any = 1.0) -> None:
        """Keep scale x total / trials under a name, if it is wanted and there."""
        if total is None or name not in self._names:
            return
        mean = total / self._trials
        if not isinstance(scale, float) or scale != 1.0:
            mean *= scale  # in place: at many budgets a copy costs more than the simulation
        self.mean[name] = mean
        if squares is not None:
            self.error[name] = self.spread(total, squares) * scale

    def spread(self, total: np.ndarray, squares: np.ndarray) -> Float[np.ndarray, "..."]:
        """Standard error of a mean; NaN for one trial."""
        if self._trials < 2:
            return np.full(total.shape, np.nan)
        mean = total / self._trials
        variance = np.maximum(squares - mean * total, 0.0) / (self._trials - 1)
        return np.sqrt(variance / self._trials)


def simulated_curves(
    policy: Any,
    counted: LawOrModel,
    budgets: np.ndarray,
    sums: Sums,
    wanted: Wanted,
    trials: int,
    coverage: str,
    **more: Any,
) -> Curves:
    """Return means over trials, with their standard errors, as `Curves`."""
    declared = counted.declared_count
    some = np.where(declared > 0, 1.0, np.nan)[:, None]
    size = declared[:, None] * some
    means = _Means(trials, wanted.names)
    several = sums.new is not None
    new, squares = (sums.new, sums.new_squares) if several else (sums.any_new, sums.any_new)
    latents, draws = max(1, getattr(counted, "latents", 1)), int(budgets[-1])
    own = np.where(counted.declared, 1.0 / draws, np.nan)
    means.add("distinct", sums.distinct, sums.distinct_squares)
    means.add("novelty_count", new, squares)
    means.add("novelty_any", sums.any_new, sums.any_new)
    means.add("full_coverage", sums.full, sums.full, some)
    means.add("count_law", sums.law, sums.law)
    means.add("latent_coverage", sums.used, sums.used_squares, 1.0 / latents)
    means.add("strategy_auc", sums.held, None, own)
    if sums.coarse is not None and sums.coarse_squares is not None:
        spread = means.spread(sums.coarse, sums.coarse_squares) * 2.0**sums.shift
        means.error["strategy_auc"] = spread * own
    with_errors = "mc_stderr" in wanted.names
    spreads = Spread(coverage=means.error["distinct"] / size, **means.error) if with_errors else None
    probability = np.where(counted.declared, marginal_law(counted).marginals(), np.nan)
    return Curves(
        budgets=budgets,
        coverage=means.mean["distinct"] / size,
        declared=declared,
        ids=counted.ids,
        strategy_probability=probability,
        mc_stderr=spreads,
        method=label(policy),
        provenance=facts(policy, coverage, "simulated", trials=trials, **more),
        **means.mean,
    )
