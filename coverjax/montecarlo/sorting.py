"""Sorting and running totals along the first axis, as plain vector code over the last one.

XLA sorts on a CPU by calling a comparison for every pair, some 100 ns an element; a network of
comparators over whole rows takes a tenth of that, and runs as well on accelerators.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int, Int64, Shaped


def sorted_order(keys: Float[jax.Array, "items runs"]) -> Int[jax.Array, "items runs"]:
    """Return the items of every column in increasing order of their keys, ties by position.

    Keys are float32 >= 0 (infinity is allowed), whose bits have the order of the numbers: key and item
    travel as one 64-bit number, so that comparing is all there is to do. Needs 64-bit types to be enabled.
    The number of items is a power of two. Batcher's bitonic network: log2(items) (log2(items) + 1) / 2
    rounds.
    """
    item = jnp.broadcast_to(jnp.arange(keys.shape[0], dtype=jnp.int64)[:, None], keys.shape)
    packed = (jax.lax.bitcast_convert_type(keys, jnp.int32).astype(jnp.int64) << 32) | item
    size = 2
    while size <= keys.shape[0]:
        packed = _compared(packed, size, mirrored=True)
        distance = size // 4
        while distance:
            packed = _compared(packed, 2 * distance, mirrored=False)
            distance //= 2
        size *= 2
    return (packed & 0xFFFFFFFF).astype(jnp.int32)


def _compared(
    values: Int64[jax.Array, "items runs"], size: int, mirrored: bool
) -> Int64[jax.Array, "items runs"]:
    """Order the pairs between the lower and the upper half of every `size` items."""
    halves = values.reshape(values.shape[0] // size, 2, size // 2, values.shape[1])
    lower = halves[:, 0]
    upper = halves[:, 1, ::-1] if mirrored else halves[:, 1]
    first, second = jnp.minimum(lower, upper), jnp.maximum(lower, upper)
    second = second[:, ::-1] if mirrored else second
    return jnp.stack([first, second], axis=1).reshape(values.shape)


def running(
    combine: Callable[[jax.Array, jax.Array], jax.Array],
    values: Shaped[jax.Array, "items runs"],
    neutral: float | int,
    reverse: bool = False,
) -> Shaped[jax.Array, "items runs"]:
    """Return the running combination of the items from the first one (or from the last one) on.

    log2(items) rounds over whole rows, always in the same order of operations.
    """
    items = values.shape[0]
    step = 1
    while step < items:
        values = combine(values, shifted(values, step, neutral, reverse))
        step *= 2
    return values


def shifted(
    values: Shaped[jax.Array, "items runs"], step: int = 1, fill: float | int = 0, back: bool = False
) -> Shaped[jax.Array, "items runs"]:
    """Move the items up by `step` places, or back; what comes in is `fill`.

    By padding: a concatenation would keep XLA from making vector code of what is computed with it.
    """
    rest = [(0, 0)] * (values.ndim - 1)
    if back:
        return jnp.pad(values[step:], [(0, step), *rest], constant_values=fill)
    return jnp.pad(values[:-step], [(step, 0), *rest], constant_values=fill)
