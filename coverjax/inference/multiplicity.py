"""Several tests at once: sign flips that keep the dependence between points, and Holm's correction."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coverjax.foundation.checks import InputError, shown, whole_number
from coverjax.foundation.shapes import blocks
from coverjax.inference.resampling import PRODUCT
from coverjax.inference.units import checked_values, cluster_codes, summed_by_cluster

FLIPS = 10_000

_BLOCK = 1 << 17

_TIE = 1e-12
"""Statistics closer than this, relative to their largest possible value, are equal: sums in another order."""


def sign_flip_p_values(
    values: Any, clusters: "Sequence[Any] | np.ndarray | None" = None, seed: int = 0, *, flips: int = FLIPS
) -> Float[np.ndarray, " points"]:
    """Test whether paired differences are symmetric about 0, by random flips of their signs.

    p = (1 + #{|T*| >= |T|}) / (1 + flips), T the sum over units. Valid (conservative) at any number of units
    under the hypothesis that each difference is as likely as its opposite. All points are flipped together.

    Args:
        values: paired differences [units, points], finite.
        clusters: a label for each unit; a cluster's units are flipped together.
        seed, flips: of the random flips.

    Returns:
        A two-sided p-value for each point, never 0.

    Raises:
        InputError: values are not finite [units, points], labels do not fit, fewer than 3 clusters, or flips
            below 1.
    """
    array = checked_values(values)
    flips = whole_number("flips", flips)
    codes = cluster_codes(clusters, len(array))
    sums = summed_by_cluster(array, codes)
    observed = np.abs(sums.sum(axis=0)) - _TIE * np.abs(sums).sum(axis=0)
    rng = np.random.Generator(np.random.Philox(seed))
    extreme = np.zeros(array.shape[1], dtype=np.int64)
    for block in blocks(flips, _BLOCK // max(1, len(sums))):
        heads = rng.integers(2, size=(block.stop - block.start, len(sums)), dtype=np.int8)
        signs = (2 * heads - 1).astype(np.float64)
        for rows in blocks(len(signs), max(1, PRODUCT // max(1, sums.size))):
            extreme += (np.abs(signs[rows] @ sums) >= observed).sum(axis=0)
    return (1.0 + extreme) / (1.0 + flips)


def holm_p_values(p_values: Any) -> Float[np.ndarray, " tests"]:
    """Adjust p-values so that rejecting those below a level keeps the family-wise error at that level.

    The i-th smallest of m becomes max over j <= i of min(1, (m - j + 1) p_(j)). Valid under any dependence.

    Args:
        p_values: one for each test, between 0 and 1.

    Raises:
        InputError: a number that is no probability.

    Source: Holm (1979), A simple sequentially rejective multiple test procedure.

    >>> holm_p_values([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0.0) & (p <= 1.0)).all():
        raise InputError(f"p_values: must be one-dimensional, between 0 and 1; got {shown(p.tolist())}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted
