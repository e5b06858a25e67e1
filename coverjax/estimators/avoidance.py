"""The one table behind every estimator: the chance that a random k-subset avoids u of n samples.

C(n - u, k) / C(n, k) depends on n, u and k only, so an estimator that sums it over strategies, pairs of
strategies or sets of strategies is a histogram of u (exact integers) times a small table. That costs
inputs x (n + 1) x B multiplications however many terms the sum has, and terms that cancel do so in
integers.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from coverjax.foundation.numerics import binomial_ratio
from coverjax.foundation.precision import float64_kernel
from coverjax.foundation.shapes import blocks, bucket, pad_axis

_TABLE_NUMBERS = 1 << 23
"""The most numbers of one table held at a time (64 MB)."""


@float64_kernel
def _avoided(
    weights: Float[Array, "rows values"],
    n: Float[Array, ""],
    values: Float[Array, "values"],
    budgets: Float[Array, "budgets"],
) -> Float[Array, "rows budgets"]:
    table = binomial_ratio(n, values[:, None], budgets[None, :])
    return jnp.matmul(weights, table, precision=jax.lax.Precision.HIGHEST)


def avoidance_sums(
    n: np.ndarray, avoided: np.ndarray, weights: np.ndarray | None, budgets: np.ndarray
) -> np.ndarray:
    """Return sum_j weight_j C(n - u_j, k) / C(n, k) for each row and budget, float64 [rows, B].

    Args:
        n: number of samples of each row [rows].
        avoided: the u_j, whole numbers from 0 to n [rows, terms].
        weights: [rows, terms] (0 leaves a term out), or None for ones.
        budgets: k, from 0 [B]; rows with n < k get NaN there.
    """
    out = np.full((len(n), len(budgets)), np.nan)
    for size in np.unique(n):
        rows = np.flatnonzero(n == size)
        within = budgets <= size
        if not within.any():
            continue
        u = avoided[rows]
        w = None if weights is None else weights[rows]
        out[np.ix_(rows, within)] = _one_size(int(size), u, w, budgets[within])
    return out


def _one_size(n: int, avoided: np.ndarray, weights: np.ndarray | None, budgets: np.ndarray) -> np.ndarray:
    """The same for rows that share n: histogram over the values of u, times the table."""
    if n < 4 * avoided.size:
        values, index = np.arange(n + 1), avoided
    else:
        values, index = np.unique(avoided, return_inverse=True)
        index = index.reshape(avoided.shape)
    histogram = weighted_histogram(index, weights, len(values))
    columns = pad_axis(values.astype(np.float64), bucket(len(values)))
    padded = pad_axis(pad_axis(histogram, bucket(len(histogram))), len(columns), axis=1)
    width = bucket(min(len(budgets), max(8, _TABLE_NUMBERS // len(columns))))
    parts = []
    for part in blocks(len(budgets), width):
        k = budgets[part].astype(np.float64)
        sums = _avoided(padded, np.float64(n), columns, pad_axis(k, width))
        parts.append(sums[: len(histogram), : len(k)])
    return np.concatenate(parts, axis=1)


def weighted_histogram(index: np.ndarray, weights: np.ndarray | None, size: int) -> np.ndarray:
    """Return, for each row, the sum of the weights of the terms with each index, float64 [rows, size]."""
    rows = len(index)
    flat = (np.arange(rows)[:, None] * size + index).ravel()
    heavy = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64).ravel()
    return np.bincount(flat, heavy, minlength=rows * size).astype(np.float64).reshape(rows, size)
