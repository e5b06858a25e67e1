"""Intervals and bands for means of numbers that lie between known limits, however they are spread.

Student's interval takes the spread of a sample for that of the population. Where most units stand at 0 or 1
a small sample holds none of the few that vary, and the interval is short beside the truth. Here what was not
seen is put in its worst place: one more unit is added at the limit, and all units get random weights.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coverjax.foundation.checks import InputError, fraction, shown, whole_number
from coverjax.foundation.shapes import blocks
from coverjax.inference.cautions import UNIT
from coverjax.inference.units import Interval, Moments, checked_values, cluster_codes, moments, natural_scale

DRAWS = 20_000
"""Draws of the weights: the level of an end at nominal 97.5 % has a standard error of 0.11 %."""

_BLOCK = 1 << 20
"""Weights held at once."""

_TIE = 1e-12
"""Means this near to each other, relative to the largest, are the same."""


def bounded_interval(
    values: Any,
    level: float = 0.95,
    clusters: "Sequence[Any] | np.ndarray | None" = None,
    seed: int = 0,
    *,
    limits: tuple[float, float] = UNIT,
    draws: int = DRAWS,
) -> Interval:
    """Compute an interval for the mean over units at each point that holds for any law between the limits.

    The upper end is the (1 + level) / 2 quantile of sum_i D_i y_i + D_{n+1} x upper limit, the lower end the
    (1 - level) / 2 quantile with the lower limit, D uniform weights on n + 1 units that sum to 1. For values
    that are all 0 or 1 it is the interval of Clopper and Pearson. That it covers at least `level` for every
    law is proven in special cases only; no exception is known, and docs/intervals.md has what was measured:
    it covers where Student's does not, about as narrow where many units stand at the limits, and is too wide
    where all values are alike. There is an interval from one unit on, and where all units agree.

    Args:
        values: numbers [units, points], finite, within the limits.
        level: nominal level, a fraction.
        clusters: a label for each unit [units]; whole clusters then share a weight, and the added one has
            their mean size. Approximate where sizes differ much.
        seed: of the weights; the same seed gives the same interval.
        limits: least and largest value that a unit can have: (0, 1) for fractions, (-1, 1) for differences.
        draws: number of draws of the weights.

    Returns:
        An `Interval`; no point is flagged.

    Raises:
        InputError: values are not finite [units, points] within the limits, labels do not fit, or fewer
            than 3 clusters.

    References:
        Gaffke 2005, Three test statistics for a nonparametric one-sided hypothesis on the mean of a
        nonnegative variable; Learned-Miller and Thomas 2020 (arXiv 1905.06208), section 1.2.

    >>> bounded_interval([[1.0]] * 20).low.round(2).tolist(), round(0.025 ** (1 / 20), 2)
    ([0.83], 0.83)
    """
    array, stats, level, draws = _checked(values, level, clusters, limits, draws)
    if not stats.units:
        return _interval(stats, np.full(array.shape[1], np.nan), None, level, "bounded")
    lower, upper = _weighted_means(stats, limits, draws, seed)
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(lower, tail, axis=0), np.quantile(upper, 1.0 - tail, axis=0)
    return _interval(stats, low, high, level, "bounded")


def bounded_band(
    values: Any,
    level: float = 0.95,
    clusters: "Sequence[Any] | np.ndarray | None" = None,
    seed: int = 0,
    *,
    limits: tuple[float, float] = UNIT,
    draws: int = DRAWS,
) -> Interval:
    """Compute a band for the mean over units at all points together, for values between known limits.

    The ends are those of `bounded_interval` at a smaller tail, common to all points: the largest at which
    (1 + level) / 2 of the draws lie above the lower end at every point, and likewise below the upper one. All
    points share their weights, so that neighbouring budgets cost little. Approximate; docs/intervals.md has
    its measured coverage.

    Args and errors: as in `bounded_interval`.
    """
    array, stats, level, draws = _checked(values, level, clusters, limits, draws)
    if not stats.units:
        return _interval(stats, np.full(array.shape[1], np.nan), None, level, "bounded band")
    lower, upper = _weighted_means(stats, limits, draws, seed)
    low, high = _joint_end(lower, level), -_joint_end(-upper, level)
    return _interval(stats, low, high, level, "bounded band")


def _joint_end(means: Float[np.ndarray, "draws points"], level: float) -> Float[np.ndarray, " points"]:
    """Return lower ends that a share (1 + level) / 2 of the draws keeps at every point."""
    draws = len(means)
    rank = np.full(draws, draws)
    for column in means.T:
        rank = np.minimum(rank, _at_most(column))
    tail = np.quantile(rank, 0.5 * (1.0 - level)) / draws
    return np.quantile(means, min(tail, 1.0), axis=0)


def _at_most(column: np.ndarray) -> np.ndarray:
    """Return how many of a column are at most each of it; a rounding's difference is none."""
    whole = np.rint(column / (_TIE * max(1.0, float(np.abs(column).max()))))
    return np.searchsorted(np.sort(whole), whole, side="right")


def _checked(
    values: Any, level: float, clusters: Any, limits: tuple[float, float], draws: int
) -> tuple[np.ndarray, Moments, float, int]:
    array = checked_values(values)
    level = fraction("level", level)
    draws = whole_number("draws", draws)
    low, high = map(float, limits)
    if not low < high:
        raise InputError(f"limits: must be a lower and a higher number; got {shown(limits)}")
    slack = 1e-9 * (high - low)
    if array.size and (array.min() < low - slack or array.max() > high + slack):
        raise InputError(
            f"values: must lie within the limits {low:g} and {high:g}; got {array.min():g} to "
            f"{array.max():g}: give the limits that hold, or use another method"
        )
    return (
        array,
        moments(array, cluster_codes(clusters, len(array)), natural_scale(array, UNIT)),
        level,
        int(draws),
    )


def _weighted_means(
    stats: Moments, limits: tuple[float, float], draws: int, seed: int
) -> tuple[Float[np.ndarray, "draws points"], Float[np.ndarray, "draws points"]]:
    """Draw means under random weights, with one more cluster at the lower and at the upper limit."""
    rng = np.random.Generator(np.random.Philox(seed))
    count = stats.clusters
    extra = stats.units / count
    lower = np.empty((draws, len(stats.mean)))
    upper = np.empty_like(lower)
    for block in blocks(draws, _BLOCK // (count + 1)):
        weights = rng.standard_exponential((block.stop - block.start, count + 1))
        added = extra * weights[:, -1:]
        total = weights[:, :-1] @ stats.sizes[:, None] + added
        seen = weights[:, :-1] @ stats.scores
        for out, limit in ((lower, limits[0]), (upper, limits[1])):
            out[block] = stats.mean + (seen + added * (limit - stats.mean)) / total
    return lower, upper


def _interval(
    stats: Moments, low: np.ndarray, high: np.ndarray | None, level: float, method: str
) -> Interval:
    """Put the interval together; without units there is none."""
    none = high is None
    warnings = ("0 units: an interval over units needs at least 1; there is none",) if none else ()
    return Interval(
        low=low,
        high=low if high is None else high,
        mean=stats.mean,
        stderr=stats.stderr,
        units=stats.units,
        clusters=stats.clusters,
        level=level,
        method=method,
        critical_value=np.nan,
        flagged=np.full(len(stats.mean), none),
        warnings=warnings,
    )
