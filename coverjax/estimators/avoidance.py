"""The one table behind every estimator: the chance that a random k-subset avoids u of n samples.

C(n - u, k) / C(n, k) depends on n, u and k only, so an estimator that sums it over strategies, pairs of
strategies or sets of strategies is a histogram of u (whole numbers, exact) times a small table. That costs
inputs x (n + 1) x B multiplications however many terms the sum has, and terms that cancel do so as whole
numbers.
"""

import functools

import numpy as np
from jaxtyping import Array, Float

from coverjax.foundation.numerics import binomial_hit, binomial_ratio
from coverjax.foundation.precision import float64_kernel
from coverjax.foundation.shapes import blocks, bucket, pad_axis

_TABLE_NUMBERS = 1 << 20
"""The most numbers of one table held at a time (8 MB); a few tables are remembered."""

_SMALL_TABLE = 1 << 17
"""Up to so many numbers the table holds every u of 0..n: another log with the same n finds it ready."""

_HISTOGRAM_NUMBERS = 1 << 23


@functools.partial(float64_kernel, static=("hit",))
def _ratios(
    n: Float[Array, ""], avoided: Float[Array, "values"], budgets: Float[Array, "budgets"], hit: bool
) -> Float[Array, "values budgets"]:
    function = binomial_hit if hit else binomial_ratio
    return function(n, avoided[:, None], budgets[None, :])


@functools.lru_cache(maxsize=16)
def _table(n: int, avoided: bytes, budgets: bytes, hit: bool) -> np.ndarray:
    """C(n - u, k) / C(n, k), or 1 minus it, for every u and k of two int64 arrays, [values, budgets]."""
    u, k = (np.frombuffer(values, np.int64).astype(np.float64) for values in (avoided, budgets))
    padded = _ratios(np.float64(n), pad_axis(u, bucket(len(u))), pad_axis(k, bucket(len(k))), hit=hit)
    table = np.ascontiguousarray(padded[: len(u), : len(k)])
    table.flags.writeable = False
    return table


def avoidance_sums(
    n: np.ndarray,
    avoided: np.ndarray,
    weights: np.ndarray | None,
    budgets: np.ndarray,
    *,
    hit: bool = False,
) -> np.ndarray:
    """Return sum_j weight_j C(n - u_j, k) / C(n, k) for each row and budget, float64 [rows, B].

    Args:
        n: number of samples of each row [rows].
        avoided: the u_j, whole numbers from 0 to n [rows, terms].
        weights: [rows, terms] (0 leaves a term out), or None for ones.
        budgets: k, from 0 to the smallest n [B].
        hit: sum 1 - C(n - u_j, k) / C(n, k) instead, the chance to meet the u_j; accurate where it is tiny.
    """
    out = np.empty((len(n), len(budgets)))
    sizes = np.unique(n)
    for size in sizes:
        rows = slice(None) if len(sizes) == 1 else np.flatnonzero(n == size)
        w = None if weights is None else weights[rows]
        out[rows] = _one_size(int(size), avoided[rows], w, budgets.astype(np.int64), hit)
    return out


def each_hit(n: np.ndarray, avoided: np.ndarray, budget: int) -> np.ndarray:
    """Return 1 - C(n - u, K) / C(n, K) for every term and one budget, float64 [rows, terms]."""
    out = np.empty(avoided.shape)
    k = np.array([budget], dtype=np.int64).tobytes()
    for size in np.unique(n):
        rows = n == size
        values, index = _values(int(size), avoided[rows], 1)
        out[rows] = _table(int(size), values.tobytes(), k, True)[index, 0]
    return out


def _values(n: int, avoided: np.ndarray, budgets: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which u a table is made for, int64, and where in it each term stands."""
    if (n + 1) * budgets <= _SMALL_TABLE:
        return np.arange(n + 1, dtype=np.int64), avoided
    if n < 4 * avoided.size:
        there = np.bincount(avoided.ravel(), minlength=n + 1) > 0
        return np.flatnonzero(there).astype(np.int64), (np.cumsum(there) - 1)[avoided]
    values, index = np.unique(avoided, return_inverse=True)
    return values.astype(np.int64), index.reshape(avoided.shape)


def _one_size(
    n: int, avoided: np.ndarray, weights: np.ndarray | None, budgets: np.ndarray, hit: bool
) -> np.ndarray:
    """The same for rows that share n: histogram over the values of u, times the table."""
    values, index = _values(n, avoided, len(budgets))
    names = values.tobytes()
    out = np.empty((len(avoided), len(budgets)))
    for rows in blocks(len(avoided), _HISTOGRAM_NUMBERS // max(1, len(values))):
        histogram = weighted_histogram(index[rows], None if weights is None else weights[rows], len(values))
        present = histogram.any(axis=0)
        histogram = histogram[:, present]
        for part in blocks(len(budgets), _TABLE_NUMBERS // max(1, len(values))):
            out[rows, part] = histogram @ _table(n, names, budgets[part].tobytes(), hit)[present]
    return out


def weighted_histogram(index: np.ndarray, weights: np.ndarray | None, size: int) -> np.ndarray:
    """Return, for each row, the sum of the weights of the terms with each index, float64 [rows, size]."""
    rows = len(index)
    flat = (np.arange(rows)[:, None] * size + index).ravel()
    heavy = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64).ravel()
    return np.bincount(flat, heavy, minlength=rows * size).astype(np.float64, copy=False).reshape(rows, size)
