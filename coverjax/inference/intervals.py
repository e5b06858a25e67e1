"""Intervals for the mean over units, one point at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from coverjax.foundation.checks import fraction, one_of
from coverjax.inference.cautions import UNIT, cautions
from coverjax.inference.resampling import REPLICATES, resampled_means
from coverjax.inference.student import student_quantile
from coverjax.inference.units import (
    Interval,
    Moments,
    checked_values,
    cluster_codes,
    interval_of,
    moments,
    natural_scale,
)


def mean_interval(
    values: Any,
    level: float = 0.95,
    method: str = "t",
    clusters: "Sequence[Any] | np.ndarray | None" = None,
    seed: int = 0,
    *,
    replicates: int = REPLICATES,
    bounds: tuple[float, ...] | None = UNIT,
) -> Interval:
    """Compute an interval for the mean over units at each point.

    The units are a sample of a population of units (inputs, tasks, concepts); the interval is for that
    population's mean. It says nothing about the error within a unit beyond what shows in the spread.

    * "t": mean -+ t x stderr, t the quantile of Student's law with units - 1 degrees of freedom. Exact for
      normal values, approximate else; docs/intervals.md has its measured coverage.
    * "bootstrap": percentiles of the mean over units drawn with replacement. Offered because others report
      it; it undercovers below about 100 units.

    With clusters, whole clusters are the draws: stderr^2 = G / (G - 1) x sum_g (sum_{i in g} (y_i -
    mean))^2 / units^2, Student's law has G - 1 degrees, and the bootstrap draws clusters. With clusters of
    one unit each this is the plain interval.

    Args:
        values: numbers [units, points], finite.
        level: nominal level, a fraction.
        method: "t" or "bootstrap".
        clusters: a label for each unit [units]; units that share one are not independent.
        seed: of the bootstrap; the same seed gives the same interval.
        replicates: of the bootstrap.
        bounds: values at which mass makes the interval too short, looked for to warn; (0, 1) for
            fractions, None for numbers without a bound.

    Returns:
        An `Interval`. A point without variance is flagged and has NaN ends; so have all with fewer than
        two units.

    Raises:
        InputError: values are not finite [units, points], labels do not fit, or fewer than 3 clusters.
    """
    array = checked_values(values)
    one_of("method", method, ("t", "bootstrap"))
    level = fraction("level", level)
    codes = cluster_codes(clusters, len(array))
    stats = moments(array, codes, natural_scale(array, bounds))
    if method == "bootstrap":
        low, high = _percentiles(stats, codes, array, level, seed, replicates)
        critical = np.nan
    else:
        critical = student_quantile(level, stats.clusters - 1) if stats.units > 1 else np.nan
        low, high = stats.mean - critical * stats.stderr, stats.mean + critical * stats.stderr
    return interval_of(stats, low, high, level, method, critical, cautions(array, stats, method, bounds))


def _percentiles(
    stats: Moments, codes: np.ndarray, array: np.ndarray, level: float, seed: int, replicates: int
) -> tuple[np.ndarray, np.ndarray]:
    """Percentiles of the mean over clusters drawn with replacement, low and high [points]."""
    if stats.units < 2:
        nothing = np.full_like(stats.mean, np.nan)
        return nothing, nothing
    labels = None if stats.clusters == stats.units else codes
    drawn = resampled_means(array, labels, replicates, seed)
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    return low, high
