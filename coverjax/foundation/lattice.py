"""The lattice of subsets of M elements: bit masks, zeta and Moebius transforms.

A subset T is the integer whose bit s says whether element s is in it; arrays over the lattice
have a last axis of length 2^M.
"""

import jax
import jax.numpy as jnp
import numpy as np

LARGEST = 16
"""The most elements for which the whole lattice is kept (65,536 subsets)."""


def sizes(elements: int) -> np.ndarray:
    """Return the number of elements of each subset, int64 [2^M]."""
    total = np.zeros(1, dtype=np.int64)
    for _ in range(elements):
        total = np.concatenate([total, total + 1])
    return total


def masks(members: np.ndarray) -> np.ndarray:
    """Return the subset of each row of a bool array [..., M] as an int64 mask [...]."""
    weights = np.int64(1) << np.arange(members.shape[-1], dtype=np.int64)
    return members.astype(np.int64) @ weights


def _pairs(values: jax.Array, element: int) -> jax.Array:
    """View the last axis as [above, 2, below], the middle axis being the bit of `element`."""
    below = 1 << element
    return values.reshape(*values.shape[:-1], -1, 2, below)


def subset_sums(values: jax.Array) -> jax.Array:
    """Return g(T) = sum of f(A) over A inside T (zeta transform), [..., 2^M]."""
    shape = values.shape
    for element in range(shape[-1].bit_length() - 1):
        pair = _pairs(values, element)
        low = pair[..., 0, :]
        values = jnp.stack([low, pair[..., 1, :] + low], axis=-2).reshape(shape)
    return values


def superset_sums(values: jax.Array) -> jax.Array:
    """Return g(T) = sum of f(A) over A that contain T, [..., 2^M]."""
    shape = values.shape
    for element in range(shape[-1].bit_length() - 1):
        pair = _pairs(values, element)
        high = pair[..., 1, :]
        values = jnp.stack([pair[..., 0, :] + high, high], axis=-2).reshape(shape)
    return values


def moebius(values: jax.Array) -> jax.Array:
    """Return f with g = subset_sums(f): f(T) = sum over A inside T of (-1)^|T - A| g(A), [..., 2^M]."""
    shape = values.shape
    for element in range(shape[-1].bit_length() - 1):
        pair = _pairs(values, element)
        low = pair[..., 0, :]
        values = jnp.stack([low, pair[..., 1, :] - low], axis=-2).reshape(shape)
    return values
