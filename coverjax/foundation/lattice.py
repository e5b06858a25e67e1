"""The lattice of subsets of M elements: bit masks, zeta and Moebius transforms.

A subset T is the integer whose bit s says whether element s is in it; arrays over the lattice
have a last axis of length 2^M.
"""

import functools

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


def united(values: jax.Array, bits: int, masks: jax.Array | None) -> jax.Array:
    """Return g(a, T) = f(T united with atom a), [atoms, 2^M].

    Args:
        values: f, [2^M].
        bits: M.
        masks: the subset of each atom [atoms]; None where atom j is the single element j.
    """
    if masks is not None:
        subsets = jnp.arange(1 << bits, dtype=masks.dtype)
        return values[subsets[None, :] | masks[:, None]]
    lifted = []
    for element in range(bits):
        pair = _pairs(values, element)
        lifted.append(jnp.broadcast_to(pair[..., 1:, :], pair.shape).reshape(values.shape))
    return jnp.stack(lifted)


def united_mass(mass: jax.Array, bits: int, masks: jax.Array) -> jax.Array:
    """Return the mass that arrives at each subset when atom a is united with T, [2^M].

    The transpose of `united`: g(U) = sum of f(a, T) over a and T with T united with atom a = U.

    Args:
        mass: f, [atoms, 2^M].
        bits: M.
        masks: the subset of each atom [atoms].
    """
    target = jnp.arange(1 << bits, dtype=masks.dtype)[None, :] | masks[:, None]
    return jnp.zeros(1 << bits, mass.dtype).at[target].add(mass)


def added_mass(mass: jax.Array) -> jax.Array:
    """Return the mass that arrives at each subset when element j is added to T, [2^M].

    Args:
        mass: f, [M, 2^M], 0 where T already has element j. Adding it is then a plain shift by 2^j, which
            compiles to vector code as a scatter does not.
    """
    size = mass.shape[1]
    shifted = [jnp.pad(row[: size - (1 << j)], (1 << j, 0)) for j, row in enumerate(mass)]
    return functools.reduce(jnp.add, shifted)


def mass_outside(mass: jax.Array) -> jax.Array:
    """Return g(T) = sum of f(A) over A that are NOT inside T, [..., 2^M].

    By sums of positive terms only: total minus `subset_sums` would lose the digits of a small g, and with
    them those of (1 - g)^k for many draws k.
    """
    shape = mass.shape
    inside, outside = mass, jnp.zeros_like(mass)
    for element in range(shape[-1].bit_length() - 1):
        ins, outs = _pairs(inside, element), _pairs(outside, element)
        low, high = ins[..., 0, :], ins[..., 1, :]
        both = outs[..., 0, :] + outs[..., 1, :]
        inside = jnp.stack([low, low + high], axis=-2).reshape(shape)
        outside = jnp.stack([both + high, both], axis=-2).reshape(shape)
    return outside
