"""What every interval stands on: the mean over units, its standard error, and where there is none."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError

NO_VARIANCE = 1e-12
"""A point whose spread over the units is at most this, relative to its largest value, has no variance."""

FEWEST_CLUSTERS = 3


@dataclasses.dataclass(frozen=True, eq=False)
class Interval:
    """Mean over units with an interval at each point.

    Attributes:
        low, high: ends of the interval [points], NaN where `flagged`. They are not cut to [0, 1].
        mean: plain mean over the units [points].
        stderr: standard error of that mean over units [points], NaN where `flagged`.
        units: number of units.
        clusters: number of clusters, the units themselves where there are none.
        level: nominal level, a fraction.
        method: "t", "bootstrap", "band", "bounded" or "bounded band".
        critical_value: low and high are mean -+ critical_value x stderr; NaN for bootstrap and bounded.
        flagged: points without an interval, bool [points]: all units have the same value there, or there
            are fewer than two units. Such a point has no measured variance, which is no proof of certainty.
        warnings: what a reader must know, one line each.
    """

    low: Float[np.ndarray, " points"]
    high: Float[np.ndarray, " points"]
    mean: Float[np.ndarray, " points"]
    stderr: Float[np.ndarray, " points"]
    units: int
    clusters: int
    level: float
    method: str
    critical_value: float
    flagged: Bool[np.ndarray, " points"]
    warnings: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Moments:
    """First two moments over units, by cluster.

    Attributes:
        mean: mean over units [points].
        stderr: standard error of the mean, sqrt(G / (G - 1) x sum over the G clusters of score^2) / units;
            NaN where `flagged`.
        scores: sum over each cluster's units of value - mean, [clusters, points].
        sizes: number of units in each cluster [clusters].
        flagged: no variance, or fewer than two units, bool [points].
    """

    mean: Float[np.ndarray, " points"]
    stderr: Float[np.ndarray, " points"]
    scores: Float[np.ndarray, "clusters points"]
    sizes: Float[np.ndarray, " clusters"]
    flagged: Bool[np.ndarray, " points"]

    @property
    def units(self) -> int:
        """Number of units."""
        return int(self.sizes.sum())

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return len(self.sizes)


def checked_values(values: Any) -> Float[np.ndarray, "units points"]:
    """Return the values as finite float64 [units, points], else raise."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise InputError(
            f"values: must be [units, points]; got shape {array.shape}; a single point is [units, 1]"
        )
    if not np.isfinite(array).all():
        unit, point = np.argwhere(~np.isfinite(array))[0]
        raise InputError(
            f"values: must be finite; unit {unit} has {array[unit, point]} at point {point}; "
            "leave such units out and say so"
        )
    return array


def cluster_codes(clusters: "Sequence[Any] | np.ndarray | None", units: int) -> np.ndarray:
    """Return the cluster of each unit as 0, 1, ... in order of appearance; each its own when None."""
    if clusters is None:
        return np.arange(units)
    labels = np.asarray(clusters, dtype=object)
    if labels.shape != (units,):
        raise InputError(
            f"clusters: must give one label for each of the {units} units; got shape {labels.shape}"
        )
    seen: dict[object, int] = {}
    codes = np.array([seen.setdefault(label, len(seen)) for label in labels.tolist()], dtype=np.int64)
    if len(seen) < FEWEST_CLUSTERS:
        raise InputError(
            f"clusters: an interval needs at least {FEWEST_CLUSTERS} clusters; got {len(seen)}; "
            "their spread says nothing with fewer: take finer clusters or report the mean alone"
        )
    return codes


def natural_scale(values: np.ndarray, bounds: "tuple[float, ...] | None") -> np.ndarray:
    """Return what "no variance" is relative to, [points]: the largest value, or a larger bound.

    A fraction that is 0 up to rounding (1e-16, say) has a spread relative to itself and none as a fraction.
    """
    floor = max(map(abs, bounds)) if bounds else 0.0
    return np.maximum(np.abs(values).max(axis=0, initial=0.0), floor)


def moments(
    values: Float[np.ndarray, "units points"],
    codes: np.ndarray,
    scale: "Float[np.ndarray, ' points'] | None" = None,
) -> Moments:
    """Return mean, standard error and cluster scores of finite values.

    `scale` [points] is what "no variance" is relative to; the largest value at the point when None. (The
    difference of two equal curves is rounding noise: it has no variance relative to the curves, though it
    has relative to itself.)
    """
    units, points = values.shape
    count = int(codes.max(initial=-1)) + 1
    sizes = np.bincount(codes, minlength=count).astype(np.float64)
    if units < 2:
        mean = values[0].copy() if units else np.full(points, np.nan)
        nothing = np.full(points, np.nan)
        return Moments(mean, nothing, np.zeros((count, points)), sizes, np.ones(points, bool))
    mean = values.mean(axis=0)
    scores = summed_by_cluster(values - mean, codes)
    if scale is None:
        scale = np.abs(values).max(axis=0)
    square = np.einsum("cp,cp->p", scores, scores)
    flagged = np.sqrt(square / units) <= NO_VARIANCE * scale
    stderr = np.sqrt(square * (count / (count - 1))) / units
    return Moments(mean, np.where(flagged, np.nan, stderr), scores, sizes, flagged)


def summed_by_cluster(
    columns: Float[np.ndarray, "units columns"], codes: Int[np.ndarray, " units"]
) -> Float[np.ndarray, "clusters columns"]:
    """Sum the rows of each cluster, numbered 0, 1, ... by `codes` in order of appearance.

    The columns themselves where each cluster is one unit.
    """
    count = int(codes.max(initial=-1)) + 1
    if count == len(codes):
        return columns
    sums = np.zeros((count, columns.shape[1]))
    np.add.at(sums, codes, columns)
    return sums


def interval_of(
    stats: Moments,
    low: np.ndarray,
    high: np.ndarray,
    level: float,
    method: str,
    critical_value: float,
    warnings: tuple[str, ...],
) -> Interval:
    """Put an interval together; points that are flagged have no ends."""
    return Interval(
        low=np.where(stats.flagged, np.nan, low),
        high=np.where(stats.flagged, np.nan, high),
        mean=stats.mean,
        stderr=stats.stderr,
        units=stats.units,
        clusters=stats.clusters,
        level=level,
        method=method,
        critical_value=critical_value,
        flagged=stats.flagged,
        warnings=warnings,
    )
