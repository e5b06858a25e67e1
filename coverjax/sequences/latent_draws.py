"""Where to draw next in R^d: low-discrepancy sequences and farthest points, in standard normal coordinates.

Both return noise e, of which a router makes z = mean + scale x e. They look at the draws before, never at
what came of them.
"""

from statistics import NormalDist

import numpy as np
from jaxtyping import Float, Int

from coverjax.foundation.checks import InputError

EDGE = 2.0**-25
"""Least distance of a uniform number from 0 and 1: its normal quantile stays finite (5.4)."""


def low_discrepancy(
    count: int, shift: Float[np.ndarray, "*runs dimensions"]
) -> Float[np.ndarray, "*runs count dimensions"]:
    """Return the first `count` points of a shifted additive sequence in the unit cube.

    Point i is the fractional part of shift + i a, with a_j = c^-j and c > 1 the root of c^(d + 1) = c + 1,
    the golden ratio where d = 1 (Roberts, The unreasonable effectiveness of quasirandom sequences, 2018).
    With a uniform shift each point alone is uniform (Cranley and Patterson, 1976), and the points together
    are more even than independent ones. The first points of a longer sequence are the same.

    Args:
        count: number of points.
        shift: of each run, in [0, 1).

    >>> low_discrepancy(4, np.zeros(1)).round(3).ravel().tolist()
    [0.0, 0.618, 0.236, 0.854]
    """
    dimensions = shift.shape[-1]
    root = 2.0
    for _ in range(64):  # a contraction: its slope is below 1 / (d + 1)
        root = (1.0 + root) ** (1.0 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return np.mod(shift[..., None, :] + np.arange(count)[:, None] * steps, 1.0)


def normal_quantiles(uniform: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Return the standard normal quantile of each number, finite at 0 and 1 too."""
    inside = np.clip(uniform, EDGE, 1.0 - EDGE)
    return np.vectorize(NormalDist().inv_cdf, otypes=[np.float64])(inside)


def farthest_points(
    pool: Float[np.ndarray, "*runs points dimensions"], count: int
) -> Int[np.ndarray, "*runs count"]:
    """Return which points of a pool are taken: the first, then always the one farthest from those taken.

    The distance of a point is that to the nearest point taken, Euclidean; ties go to the lower place.

    Args:
        pool: of each run.
        count: number of points to take, at most those of the pool.

    Raises:
        InputError: the pool is smaller.

    >>> farthest_points(np.array([[0.0], [1.0], [5.0], [2.4]]), 3).tolist()
    [0, 2, 3]
    """
    *runs, points, _ = pool.shape
    if count > points:
        raise InputError(f"pool: must hold at least as many points as are drawn, {count}; got {points}")
    taken = np.zeros((*runs, count), np.int64)
    nearest = np.full((*runs, points), np.inf)
    for place in range(1, count):
        last = np.take_along_axis(pool, taken[..., place - 1, None, None], axis=-2)
        nearest = np.minimum(nearest, np.square(pool - last).sum(axis=-1))
        taken[..., place] = nearest.argmax(axis=-1)
    return taken
