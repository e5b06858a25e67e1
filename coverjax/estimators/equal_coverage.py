"""Methods compared at equal completeness: the same Good-Turing sample coverage, whatever their samples.

At equal numbers of samples a method with many rare strategies is less complete than one with few common
ones; at equal sample coverage both have shown the same share of their own probability. Source: Chao and Jost
2012, Ecology 93:2533; Chao et al. 2014 (iNEXT's estimateD).
"""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float

from coverjax.curves import VERDICTS
from coverjax.estimators.avoidance import avoidance_sums
from coverjax.estimators.extrapolation import need_one_trial, tallies_of
from coverjax.estimators.richness import Frequencies, chao_distinct, sample_coverage
from coverjax.foundation.checks import InputError, fraction, shown
from coverjax.inference.intervals import mean_interval
from coverjax.inference.units import Interval
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog
from coverjax.logs.needs import logs_by_method, need_strategies

FARTHEST = 2
"""Extrapolation goes to so many times the samples."""

COMPLETE = (0.8, 0.5)
"""Mean sample coverage at which a comparison is reliable, or calls for caution."""

BEYOND = (0.5, 0.9)
"""Up to which share of the inputs may be extrapolated for it to be reliable, or call for caution."""


@dataclasses.dataclass(frozen=True, eq=False)
class EqualCoverage:
    """Expected numbers of strategies at equal sample coverage, input by input.

    Attributes:
        methods: names.
        ids: inputs that all methods have, with matches in each [inputs].
        level: sample coverage at which an input's methods are compared [inputs].
        budget: number of samples at which a method has it on an input, a real number [methods, inputs].
        distinct: expected strategies there [methods, inputs].
        extrapolated: whether that takes more samples than there are, bool [methods, inputs].
        mean: for each method, mean over the inputs with its t-interval.
        difference: for each method but the first, its distinct minus the first's, paired, with interval.
        left_out: inputs that some method lacks, or matched nothing on.
        verdict: "reliable", "caution" or "not comparable".
        reasons: why, one line each, with the thresholds.
    """

    methods: tuple[str, ...]
    ids: np.ndarray
    level: Float[np.ndarray, " inputs"]
    budget: Float[np.ndarray, "methods inputs"]
    distinct: Float[np.ndarray, "methods inputs"]
    extrapolated: Bool[np.ndarray, "methods inputs"]
    mean: dict[str, Interval]
    difference: dict[str, Interval]
    left_out: int
    verdict: str
    reasons: tuple[str, ...]


def compare_at_equal_coverage(
    log: "SampleLog | CountTable | Mapping[str, SampleLog | CountTable]",
    sample_coverage_level: float | None = None,
    coverage: str = "raw",
    level: float = 0.95,
) -> EqualCoverage:
    """Compare methods at equal Good-Turing sample coverage, on the inputs that all of them have.

    On each input every method is rarefied, or extrapolated by Chao2's curve up to twice its samples, to the
    number of samples at which its sample coverage is the same: the largest that all methods reach there, or
    the level given. Then the expected numbers of distinct strategies are compared, paired by input.

    Args:
        log: a log with a method column, or a dict from method to log; exchangeable, one trial an input.
        sample_coverage_level: one sample coverage for all inputs, a fraction; inputs on which a method does
            not reach it are left out and counted.
        coverage: which samples count: "raw", "valid" or "correct".
        level: nominal level of the intervals, a fraction.

    Raises:
        InputError: fewer than two methods, no input in common, several trials, an ordered log, or labels that
            only repeat the latent.

    Example:
        >>> import coverjax as cj
        >>> table = lambda counts: cj.CountTable.from_arrays([counts] * 3, n=[20, 20, 20])
        >>> found = compare_at_equal_coverage({"few": table([10, 10, 0, 0]), "many": table([5, 5, 5, 5])})
        >>> found.distinct.round(1).tolist()
        [[2.0, 2.0, 2.0], [4.0, 4.0, 4.0]]
    """
    logs = logs_by_method(log)
    if len(logs) < 2:
        raise InputError(f"log: must hold at least two methods to compare; got {len(logs)}")
    wanted = (
        None if sample_coverage_level is None else fraction("sample_coverage_level", sample_coverage_level)
    )
    tables = {name: _frequencies(name, part, coverage) for name, part in logs.items()}
    common = [name for name in next(iter(tables.values())) if all(name in table for table in tables.values())]
    rows = [[table[name] for name in common] for table in tables.values()]
    reached = np.array([[_farthest(run) for run, _ in row] for row in rows])
    target = reached.min(axis=0) if wanted is None else np.full(len(common), wanted)
    with np.errstate(invalid="ignore"):
        keep = (reached >= target - 1e-12).all(axis=0)
    if not keep.any():
        raise InputError(
            f"log: no input has matches and reaches the sample coverage in all methods ({len(common)} inputs "
            "are in all of them); lower sample_coverage_level, or check the ids"
        )
    kept = np.flatnonzero(keep)
    budget = np.array([[_at_coverage(row[i][0], float(target[i])) for i in kept] for row in rows])
    distinct = np.array(
        [
            [_distinct_at(row[i][0], k, row[i][1]) for i, k in zip(kept, ks, strict=True)]
            for row, ks in zip(rows, budget, strict=True)
        ]
    )
    beyond = budget > np.array([[row[i][0].n[0] for i in kept] for row in rows])
    ids = np.empty(len(kept), dtype=object)
    ids[:] = [common[i] for i in kept]
    total = len(set().union(*tables.values()))
    return _result(tuple(logs), ids, target[kept], budget, distinct, beyond, total - len(kept), level)


def _frequencies(
    name: str, log: SampleLog | CountTable, coverage: str
) -> dict[object, tuple[Frequencies, float]]:
    """Return the frequencies of each input of a method, and how many strategies it can have."""
    need_strategies(log)
    if getattr(log, "ordered", False):
        raise InputError(f"{shown(name)}: must be exchangeable; the order of its samples means something")
    tallies = tallies_of(log, coverage)
    need_one_trial(tallies, f"trial: {shown(name)}")
    most = tallies.declared.sum(axis=1) if log.declared_given else np.full(len(tallies.n), np.inf)
    return {
        log.ids[row]: (Frequencies.of(tallies.n[[i]], tallies.counts[[i]]), float(most[i]))
        for i, row in enumerate(tallies.row)
    }


def _farthest(run: Frequencies) -> float:
    """Sample coverage at the farthest that is extrapolated to."""
    return float(sample_coverage(run, np.array([FARTHEST * int(run.n[0])]))[0, 0])


def _at_coverage(run: Frequencies, target: float) -> float:
    """Return the number of samples at which a run has this sample coverage, at least 1.

    Within the data straight between whole numbers, which are found by bisection; beyond, the curve
    1 - (Q1 / U) A^(k - n + 1) is solved for k.
    """
    n = int(run.n[0])
    if target > run.covered[0]:
        left = (1.0 - target) * float(run.matches[0] / run.once[0])
        return min(n - 1.0 + math.log(left) / math.log(float(run.later[0])), float(FARTHEST * n))
    low, high, below, above = 0, n, 0.0, 1.0
    while high - low > 1:
        middle = (low + high) // 2
        value = float(sample_coverage(run, np.array([middle]))[0, 0])
        if value < target:
            low, below = middle, value
        else:
            high, above = middle, value
    if low == 0:
        return 1.0
    if high == n:
        above = float(run.covered[0])
    return low + (target - below) / (above - below)


def _distinct_at(run: Frequencies, k: float, most: float) -> float:
    """Expected strategies among a real number of samples, at most the declared ones."""
    n = int(run.n[0])
    if k >= n:
        return min(float(chao_distinct(run, np.array([k]))[0, 0]), most)
    whole = int(k)
    low, high = avoidance_sums(run.n, run.counts, run.counts > 0, np.array([whole, whole + 1]), hit=True)[0]
    return float(low + (k - whole) * (high - low))


def _result(
    methods: tuple[str, ...],
    ids: np.ndarray,
    target: np.ndarray,
    budget: np.ndarray,
    distinct: np.ndarray,
    beyond: np.ndarray,
    left_out: int,
    level: float,
) -> EqualCoverage:
    mean = {name: mean_interval(distinct[m][:, None], level, bounds=None) for m, name in enumerate(methods)}
    difference = {
        name: mean_interval((distinct[m] - distinct[0])[:, None], level, bounds=None)
        for m, name in enumerate(methods)
        if m
    }
    complete, ahead = float(target.mean()), float(beyond.any(axis=0).mean())
    worst = max(
        0 if complete >= COMPLETE[0] else 1 if complete >= COMPLETE[1] else 2,
        0 if ahead <= BEYOND[0] else 1 if ahead <= BEYOND[1] else 2,
    )
    reasons = (
        f"mean sample coverage {complete:.3f}: reliable from {COMPLETE[0]:g}, caution from {COMPLETE[1]:g}",
        f"{ahead:.0%} of the inputs are extrapolated in some method: reliable up to {BEYOND[0]:.0%}, caution "
        f"up to {BEYOND[1]:.0%}",
    )
    return EqualCoverage(
        methods, ids, target, budget, distinct, beyond, mean, difference, left_out, VERDICTS[worst], reasons
    )
