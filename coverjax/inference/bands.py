"""Simultaneous bands: all points at once lie inside with the nominal probability."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from coverjax.foundation.checks import fraction, whole_number
from coverjax.foundation.shapes import blocks
from coverjax.inference.cautions import UNIT, cautions
from coverjax.inference.units import (
    Interval,
    checked_values,
    cluster_codes,
    interval_of,
    moments,
    natural_scale,
)

MULTIPLIERS = 100_000
"""With 4,000 the first budget at which a comparison is decided may move by several draws."""

_BLOCK = 1 << 21
"""Numbers of the suprema's table held at once."""

_LEFT = 1e-12
"""Share of a point's variance that its factor may miss."""


def mean_band(
    values: Any,
    level: float = 0.95,
    clusters: "Sequence[Any] | np.ndarray | None" = None,
    seed: int = 0,
    *,
    multipliers: int = MULTIPLIERS,
    bounds: tuple[float, ...] | None = UNIT,
) -> Interval:
    """Compute a band that holds the mean over units at all points together.

    mean -+ c x stderr, c the `level` quantile of sup over points of |t|: Gaussian multipliers of the units'
    deviations, studentised (see `critical_value`). Points without variance are left out of the supremum,
    flagged, and have NaN ends. Approximate; docs/intervals.md has its measured coverage.

    Args:
        values: numbers [units, points], finite.
        level: nominal probability that the whole curve lies inside, a fraction.
        clusters: a label for each unit [units]; a whole cluster shares its multiplier.
        seed: of the multipliers; the same seed gives the same band.
        multipliers: number of draws of the supremum.
        bounds: as in `mean_interval`.

    Raises:
        InputError: as in `mean_interval`; or multipliers below 1.

    Source: Chernozhukov, Chetverikov, Kato (2013), Gaussian multiplier bootstrap.
    """
    array = checked_values(values)
    level = fraction("level", level)
    stats = moments(array, cluster_codes(clusters, len(array)), natural_scale(array, bounds))
    critical = critical_value(stats.scores, stats.flagged, stats.clusters - 1, level, multipliers, seed)
    low, high = stats.mean - critical * stats.stderr, stats.mean + critical * stats.stderr
    return interval_of(stats, low, high, level, "band", critical, cautions(array, stats, "band", bounds))


def critical_value(
    scores: Float[np.ndarray, "clusters points"],
    flagged: Bool[np.ndarray, " points"],
    degrees: int,
    level: float,
    multipliers: int,
    seed: int,
) -> float:
    """Draw the `level` quantile of the supremum over points of a studentised Gaussian process.

    Given the data, the multiplier sums sum_g xi_g score_g / |score|, xi standard normal, are exactly
    N(0, R), R the correlation matrix of the scores, so they are drawn through a factor of R: its rank, not
    the number of units, is what a draw costs. Each draw is divided by sqrt(chi^2 / degrees): the
    standard errors come from the same degrees + 1 clusters. One point then gives Student's quantile, many
    clusters the Gaussian one; without the division the band is too narrow at small N (docs/intervals.md).
    NaN where no point has variance.
    """
    multipliers = whole_number("multipliers", multipliers)
    if flagged.all():
        return np.nan
    factor = _correlation_factor(scores[:, ~flagged])
    rng = np.random.Generator(np.random.Philox(seed))
    width, rank = factor.shape
    suprema = np.empty(multipliers)
    for block in blocks(multipliers, _BLOCK // width):
        draws = rng.standard_normal((block.stop - block.start, rank))
        suprema[block] = np.abs(draws @ factor.T).max(axis=1)
    suprema /= np.sqrt(rng.chisquare(degrees, multipliers) / degrees)
    return float(np.quantile(suprema, level))


def _correlation_factor(scores: Float[np.ndarray, "clusters points"]) -> Float[np.ndarray, "points rank"]:
    """Return L with L L^T = the correlation matrix of the scores, by Cholesky with pivots.

    It stops as soon as no point misses more than 1e-12 of its variance: neighbouring budgets are so alike
    that 128 points have rank 20 or so. An eigenvector's sign is arbitrary; here rounding in the data stays
    rounding in the factor. The matrix itself is never formed.
    """
    unit = scores / np.sqrt(np.einsum("cp,cp->p", scores, scores))
    points = unit.shape[1]
    rows = np.empty((min(unit.shape), points))
    left = np.ones(points)
    rank = 0
    while rank < len(rows) and left.max() > _LEFT:
        pivot = int(left.argmax())
        row = (unit[:, pivot] @ unit - rows[:rank, pivot] @ rows[:rank]) / np.sqrt(left[pivot])
        rows[rank] = row
        left = np.maximum(left - row * row, 0.0)
        left[pivot] = 0.0
        rank += 1
    return rows[:rank].T
