"""Sets and counters of bits, 32 strategies to a word.

Arrays have the words as their first axis and the runs as their last two: every step is then plain vector code
over the runs.
"""

import functools
import operator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int, UInt32

WORD = 32


def words_of(members: Bool[np.ndarray, "... members"]) -> UInt32[np.ndarray, "... words"]:
    """Return sets as words; member j is bit j % 32 of word j // 32."""
    size = members.shape[-1]
    padded = np.pad(members, [(0, 0)] * (members.ndim - 1) + [(0, -size % WORD)])
    grouped = padded.reshape(*members.shape[:-1], -1, WORD).astype(np.uint32)
    return (grouped << np.arange(WORD, dtype=np.uint32)).sum(axis=-1, dtype=np.uint32)


def single(member: Int[jax.Array, "inputs trials"], words: int) -> UInt32[jax.Array, "words inputs trials"]:
    """Return the sets that hold one member each; the empty set where it is negative or beyond the words."""
    bit = jnp.uint32(1) << (member & (WORD - 1)).astype(jnp.uint32)
    # Compared, not stacked: concatenation is no vector code.
    at = jnp.arange(words, dtype=jnp.int32)[:, None, None] == (member >> 5)[None]
    return jnp.where(at, bit[None], jnp.uint32(0))


def size(sets: UInt32[jax.Array, "words inputs trials"]) -> Int[jax.Array, "inputs trials"]:
    """Return how many members each set has."""
    return functools.reduce(operator.add, [_popcount(word) for word in sets])


def _popcount(word: UInt32[jax.Array, "inputs trials"]) -> Int[jax.Array, "inputs trials"]:
    return jax.lax.population_count(word).astype(jnp.int32)


def nonempty(sets: UInt32[jax.Array, "words inputs trials"]) -> Bool[jax.Array, "inputs trials"]:
    """Return whether each set has a member."""
    return functools.reduce(operator.or_, list(sets)) != 0


def unpacked(
    sets: UInt32[jax.Array, "words inputs trials"], members: int
) -> Bool[jax.Array, "inputs trials members"]:
    """Return the sets as flags, members last."""
    shift = jnp.arange(WORD, dtype=jnp.uint32).reshape(*(1,) * sets.ndim, WORD)
    bits = (sets[..., None] >> shift) & jnp.uint32(1)
    flat = jnp.moveaxis(bits, 0, -2).reshape(*sets.shape[1:], -1)
    return flat[..., :members] != 0


def slices(most: int) -> int:
    """Return how many bit slices a counter up to `most` needs."""
    return max(1, most.bit_length())


def count_up(
    counters: tuple[UInt32[jax.Array, "words inputs trials"], ...],
    sets: UInt32[jax.Array, "words inputs trials"],
) -> tuple[UInt32[jax.Array, "words inputs trials"], ...]:
    """Add 1 to the counter of every member of the sets.

    The counters are kept in bit slices (slice j holds bit j of all of them): adding ripples a carry
    through whole words, some 30 times less work than a counter for each member.
    """
    carry, after = sets, []
    for counter in counters:
        after.append(counter ^ carry)
        carry = counter & carry
    return tuple(after)


def counts(
    counters: tuple[UInt32[jax.Array, "words inputs trials"], ...],
) -> Int[jax.Array, "members inputs trials"]:
    """Return the numbers that the counters hold, 32 members for each word."""
    shift = jnp.arange(WORD, dtype=jnp.uint32)[None, :, None, None]
    bits = [((part[:, None] >> shift) & jnp.uint32(1)) << jnp.uint32(j) for j, part in enumerate(counters)]
    total = functools.reduce(operator.add, bits)
    return total.reshape(-1, *total.shape[2:]).astype(jnp.int32)
