"""Whole units drawn again with replacement: bootstrap of means and of ratios of sums.

A replicate is how often each unit was drawn, so all replicates of all points are one matrix product of
these counts with the units' numbers. Every point sees the same draws: differences of points are paired.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coverjax.foundation.checks import InputError, counted, fraction, whole_number
from coverjax.foundation.shapes import blocks
from coverjax.inference.units import (
    FEWEST_CLUSTERS,
    Interval,
    checked_values,
    cluster_codes,
    moments,
    summed_by_cluster,
)

REPLICATES = 10_000
FEWEST_UNITS = 8
"""With fewer units the bootstrap law has too few values to read a tail from: no interval, the point alone."""

_BLOCK = 1 << 17
"""Draws held at once: their counts stay in the cache, three times as fast as in large blocks."""

PRODUCT = 1 << 18
"""Multiplications of one matrix product: larger ones wake the threads of the BLAS, which costs more than they
save, and several times as much on a machine with other work."""


def resampled_sums(
    columns: Float[np.ndarray, "units columns"], replicates: int, seed: int
) -> Float[np.ndarray, "replicates columns"]:
    """Sum columns over as many units as there are, drawn with replacement, once a replicate.

    Args:
        columns: one row of numbers for each unit.
        replicates: number of draws of the whole sample.
        seed: the same seed and number of units give the same draws whatever the columns are.
    """
    units = len(columns)
    replicates = whole_number("replicates", replicates)
    rng = np.random.Generator(np.random.Philox(seed))
    small = np.uint16 if units <= 1 << 16 else np.uint32 if units <= 1 << 32 else np.int64
    out = np.empty((replicates, columns.shape[1]))
    part = max(1, PRODUCT // max(1, units * columns.shape[1]))
    # Blocks of draws depend on the number of units alone: the stream must not depend on the columns.
    for block in blocks(replicates, _BLOCK // max(1, units)):
        count = block.stop - block.start
        picks = rng.integers(units, size=(count, units), dtype=small) + units * np.arange(count)[:, None]
        times = np.bincount(picks.ravel(), minlength=count * units).reshape(count, units).astype(np.float64)
        for rows in blocks(count, part):
            out[block.start + rows.start : block.start + rows.stop] = times[rows] @ columns
    return out


def resampled_means(
    values: Float[np.ndarray, "units points"],
    clusters: "Sequence[Any] | np.ndarray | None" = None,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Float[np.ndarray, "replicates points"]:
    """Draw means over units, or over whole clusters, all points in the same draws: what functions of means
    need.

    With clusters a mean is the sum of the drawn clusters over the number of their units.
    """
    codes = cluster_codes(clusters, len(values))
    columns = np.concatenate([values, np.ones((len(values), 1))], axis=1)
    drawn = resampled_sums(summed_by_cluster(columns, codes), replicates, seed)
    return drawn[:, :-1] / drawn[:, -1:]


def resampled_interval(
    values: Any,
    level: float = 0.95,
    clusters: "Sequence[Any] | np.ndarray | None" = None,
    seed: int = 0,
    *,
    replicates: int = REPLICATES,
) -> Interval:
    """Compute percentile bootstrap intervals for means over units, all points in the same draws.

    Whole units are drawn with replacement, or whole clusters where labels are given (the mean of a draw is
    then its sum over its number of units). Approximate; see docs/intervals.md for its measured coverage.

    Args:
        values: numbers [units, points], finite.
        level: nominal level, a fraction.
        clusters: a label for each unit [units]; units that share one are drawn together.
        seed, replicates: of the draws.

    Returns:
        An `Interval`. Below 8 units or 3 clusters the mean stands alone: ends are NaN and a warning says
        why. A point at which all units agree is flagged and has an interval of zero width.

    Raises:
        InputError: values are not finite [units, points], or labels do not fit.
    """
    array = checked_values(values)
    ones = np.ones(array.shape)
    return ratio_interval(array, ones, level, clusters, seed, replicates=replicates)


def ratio_interval(
    numerators: Any,
    denominators: Any,
    level: float = 0.95,
    clusters: "Sequence[Any] | np.ndarray | None" = None,
    seed: int = 0,
    *,
    replicates: int = REPLICATES,
) -> Interval:
    """Compute percentile bootstrap intervals for ratios sum(numerator) / sum(denominator) over units.

    Numerator and denominator of a unit are drawn together. The deviations numerator - c x denominator are
    what is resampled, c the ratio of the first unit that has one: where every unit has the same ratio the
    interval has zero width, exactly.

    Args:
        numerators, denominators: [units, points], finite; denominators at least 0. A unit with denominator 0
            bears nothing (it was not sampled) but is drawn like any other.
        level, clusters, seed, replicates: as in `resampled_interval`.

    Returns:
        An `Interval` whose `mean` is the ratio and whose `stderr` is the standard deviation of its
        replicates. Replicates in which no drawn unit bears anything are left out, and said so.

    Raises:
        InputError: shapes differ, numbers are not finite, or a denominator is negative.
    """
    top, bottom = checked_values(numerators), checked_values(denominators)
    level = fraction("level", level)
    if top.shape != bottom.shape or (bottom < 0.0).any():
        raise InputError(
            f"denominators: must be at least 0 and of the shape of the numerators, {top.shape}; got shape "
            f"{bottom.shape}, least {bottom.min(initial=0.0)}"
        )
    units, points = top.shape
    reference = _reference(top, bottom)
    deviations = top - reference * bottom
    total = bottom.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = reference + deviations.sum(axis=0) / total
    refusal = why_refused(units, clusters)
    nothing = np.full(points, np.nan)
    if refusal is not None:
        few = units if clusters is None else len(set(np.asarray(clusters, dtype=object).tolist()))
        flagged = np.ones(points, bool)
        return Interval(
            nothing, nothing, ratio, nothing, units, few, level, "bootstrap", np.nan, flagged, (refusal,)
        )
    codes = cluster_codes(clusters, units)
    drawn, empty = _drawn_ratios(deviations, bottom, codes, replicates, seed)
    drawn[:, total <= 0.0] = 0.0  # nothing bears anything there: the ratio itself is NaN
    tail = 0.5 * (1.0 - level)
    quantile, deviation = (np.nanquantile, np.nanstd) if empty else (np.quantile, np.std)
    offset = np.where(total > 0.0, reference, np.nan)
    low, high = (offset + end for end in quantile(drawn, [tail, 1.0 - tail], axis=0))
    spread = np.where(total > 0.0, deviation(drawn, axis=0), np.nan)
    flagged = moments(deviations, np.arange(units), np.abs(top).max(axis=0)).flagged & (total > 0.0)
    low, high = (np.where(flagged, ratio, end) for end in (low, high))
    warnings = _warnings(flagged, empty, replicates, units)
    return Interval(
        low, high, ratio, spread, units, int(codes.max()) + 1, level, "bootstrap", np.nan, flagged, warnings
    )


def why_refused(units: int, clusters: "Sequence[Any] | np.ndarray | None") -> str | None:
    """Return why there is no interval over so many units or clusters, or None where there is one."""
    if units < FEWEST_UNITS:
        return f"{counted(units, 'unit')}: an interval needs at least {FEWEST_UNITS}; the point stands alone"
    if clusters is None:
        return None
    found = len(set(np.asarray(clusters, dtype=object).tolist()))
    if found < FEWEST_CLUSTERS:
        return f"{found} clusters: an interval needs at least {FEWEST_CLUSTERS}; the point stands alone"
    return None


def _reference(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """The ratio of the first unit that bears something, at each point [points]."""
    first = (bottom > 0.0).argmax(axis=0)
    points = np.arange(top.shape[1])
    below = bottom[first, points]
    return np.where(below > 0.0, top[first, points] / np.where(below > 0.0, below, 1.0), 0.0)


def _drawn_ratios(
    deviations: np.ndarray, bottom: np.ndarray, codes: np.ndarray, replicates: int, seed: int
) -> tuple[np.ndarray, int]:
    """Return the deviation ratio of each replicate (NaN where nothing was drawn), and how many are NaN."""
    points = deviations.shape[1]
    columns = summed_by_cluster(np.concatenate([deviations, bottom], axis=1), codes)
    drawn = resampled_sums(columns, replicates, seed)
    below = drawn[:, points:]
    bears = below > 0.0
    ratios = np.where(bears, drawn[:, :points] / np.where(bears, below, 1.0), np.nan)
    return ratios, int((~bears).any(axis=1).sum())


def _warnings(flagged: np.ndarray, empty: int, replicates: int, units: int) -> tuple[str, ...]:
    lines = []
    if flagged.any():
        lines.append(
            f"no variance over the {units} units at {int(flagged.sum())} of {len(flagged)} points: zero "
            "width "
            "there (all units agree, which is no proof that the next one will)"
        )
    if empty:
        lines.append(f"{empty} of {replicates} replicates held no unit that bears anything and are left out")
    return tuple(lines)
