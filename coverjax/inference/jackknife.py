"""Intervals for functions of sums over units: a unit at a time is left out."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coverjax.foundation.checks import counted, fraction
from coverjax.inference.student import student_quantile
from coverjax.inference.units import NO_VARIANCE, Interval, checked_values, cluster_codes, summed_by_cluster


def jackknife_interval(
    columns: Any,
    function: Callable[[Float[np.ndarray, "rows columns"]], Float[np.ndarray, "rows points"]],
    level: float = 0.95,
    clusters: "Sequence[Any] | np.ndarray | None" = None,
) -> Interval:
    """Compute intervals for smooth functions of sums over units: ratios, kappa, alpha.

    theta = f(T), T the sums of the columns over all G units (or clusters of them). With theta_(-g) the value
    without unit g, stderr^2 = (G - 1)/G sum_g (theta_(-g) - their mean)^2, and the ends are theta -+ t x
    stderr, t the quantile of Student's law with G - 1 degrees of freedom. For a mean that is the t-interval.
    Approximate.

    Args:
        columns: numbers of each unit [units, columns], finite.
        function: from sums [rows, columns] to values [rows, points]; NaN where it is not defined.
        level: nominal level, a fraction.
        clusters: a label for each unit; whole clusters are left out.

    Returns:
        An `Interval`; a point is flagged, without ends, where the value does not change with the units, where
        it hangs on a single unit (it is not defined without it), and with fewer than two units.

    Raises:
        InputError: columns are not finite [units, columns], labels do not fit, or fewer than 3 clusters.
    """
    array = checked_values(columns)
    level = fraction("level", level)
    codes = cluster_codes(clusters, len(array))
    sums = summed_by_cluster(array, codes)
    count = len(sums)
    total = sums.sum(axis=0, keepdims=True)
    value = function(total)[0]
    nothing = np.full(value.shape, np.nan)
    if count < 2:
        flagged = np.ones(value.shape, bool)
        why = (f"{counted(count, 'unit')}: an interval over units needs at least 2; there is none",)
        return Interval(nothing, nothing, value, nothing, len(array), count, level, "t", np.nan, flagged, why)
    without = function(total - sums)
    spread = without - without.mean(axis=0)
    stderr = np.sqrt((count - 1) / count * np.einsum("gp,gp->p", spread, spread))
    flagged = ~(stderr > NO_VARIANCE * np.maximum(1.0, np.abs(value)))
    stderr = np.where(flagged, np.nan, stderr)
    critical = student_quantile(level, count - 1)
    low, high = value - critical * stderr, value + critical * stderr
    return Interval(
        low, high, value, stderr, len(array), count, level, "t", critical, flagged, _lines(value, without)
    )


def _lines(value: np.ndarray, without: np.ndarray) -> tuple[str, ...]:
    hanging = int((np.isfinite(value) & ~np.isfinite(without).all(axis=0)).sum())
    if not hanging:
        return ()
    hang = "hangs" if hanging == 1 else "hang"
    return (f"{hanging} of {counted(len(value), 'value')} {hang} on a single unit: no interval there",)
