"""What the kernels read: probabilities as whole numbers, match sets as words, exponentials from bits.

Outcomes are drawn by comparing 32 random bits with cumulative probabilities rounded to multiples of 2^-32
in float64 on the host. Every probability is thus exact up to 2^-32 = 2.3e-10, whatever its size and
wherever it stands (a float32 cumulative sum would be off by 6e-8, and differently on different devices), and
the draw is integer arithmetic: the same on every device. An outcome rarer than 2^-32 may never occur, or too
often; the expected count is wrong by less than 2^-32 a draw.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, UInt32

from coverjax.montecarlo.packed import words_of
from coverjax.policy.stage import Actions

DENSE = 1024
"""Up to so many thresholds a draw is compared with all of them, which compiles to vector code; beyond, by
bisection."""


class Tables(NamedTuple):
    """The law of one draw for each action, ready for the kernel; the first axis counts inputs.

    Attributes:
        tops: cumulative probabilities as signed whole numbers, action after action, [inputs, actions x width];
            None where an action names its outcome.
        sets: the match set of each outcome as words, the last one empty [inputs, outcomes + 1, words]; None
            where outcome s is strategy s.
        declared: the declared strategies as words [inputs, words].
        count: their number M [inputs].
    """

    tops: Int[np.ndarray, "inputs cells"] | None
    sets: UInt32[np.ndarray, "inputs outcomes words"] | None
    declared: UInt32[np.ndarray, "inputs words"]
    count: Int[np.ndarray, " inputs"]


class Shape(NamedTuple):
    """The sizes that a table's last axis cannot tell.

    Attributes:
        actions, outcomes: their numbers.
        width: thresholds of each action: the outcomes, or a power of two above them.
        dense: whether a draw is compared with all thresholds.
    """

    actions: int
    outcomes: int
    width: int
    dense: bool


def shape_of(actions: Actions) -> Shape:
    """Return the sizes of the tables of some actions."""
    if actions.rows is None:
        return Shape(actions.number, actions.number, 0, True)
    outcomes = actions.rows.shape[2]
    if actions.number * outcomes <= DENSE:
        return Shape(actions.number, outcomes, outcomes, True)
    return Shape(actions.number, outcomes, 1 << outcomes.bit_length(), False)


def tables(actions: Actions, shape: Shape) -> Tables:
    """Return the tables of some actions."""
    declared = actions.declared
    sets = None
    if actions.matches is not None:
        sets = np.pad(words_of(actions.matches & declared[:, None]), ((0, 0), (0, 1), (0, 0)))
    tops = None if actions.rows is None else _tops(actions.rows, shape)
    return Tables(tops, sets, words_of(declared), declared.sum(axis=1).astype(np.int32))


def _tops(
    rows: Float[np.ndarray, "inputs actions outcomes"], shape: Shape
) -> Int[np.ndarray, "inputs cells"]:
    """Outcome o is drawn when top_{o-1} <= word < top_o; words stop short of the largest number."""
    whole = np.minimum(np.floor(np.cumsum(rows, axis=2) * 2.0**32 + 0.5), 2.0**32 - 1.0)
    padded = np.full((*rows.shape[:2], shape.width), 2.0**32 - 1.0)
    padded[..., : rows.shape[2]] = whole
    return (padded - 2.0**31).astype(np.int32).reshape(len(rows), -1)


def signed(word: UInt32[jax.Array, "*runs"]) -> Int[jax.Array, "*runs"]:
    """Return a word in the order of the thresholds (signed numbers compare in one instruction), below the
    largest number, which stands for probability 1."""
    capped = jnp.minimum(word, jnp.uint32(0xFFFFFFFE))
    return jax.lax.bitcast_convert_type(capped ^ jnp.uint32(1 << 31), jnp.int32)


def draw_outcomes(
    tops: Int[jax.Array, "inputs cells"],
    action: Int[jax.Array, "inputs trials"],
    word: UInt32[jax.Array, "inputs trials"],
    shape: Shape,
) -> Int[jax.Array, "inputs trials"]:
    """Return the outcome of each draw; the number of outcomes where it matches nothing."""
    at = signed(word)
    if not shape.dense:
        return jnp.minimum(_bisect(tops, action * shape.width, at, shape.width), shape.outcomes)
    below = tops[:, None, :] <= at[..., None]
    if shape.actions > 1:
        owner = np.repeat(np.arange(shape.actions, dtype=np.int32), shape.width)
        below = below & (jnp.asarray(owner)[None, None] == action[..., None])
    return jnp.sum(below.astype(jnp.int32), axis=-1)


def _bisect(
    tops: Int[jax.Array, "inputs cells"],
    start: Int[jax.Array, "inputs trials"],
    at: Int[jax.Array, "inputs trials"],
    width: int,
) -> Int[jax.Array, "inputs trials"]:
    """Number of thresholds not above `at` among `width` (a power of two) from `start` on."""
    found, step = jnp.zeros_like(start), width // 2
    while step:
        top = jnp.take_along_axis(tops, start + found + (step - 1), axis=1)
        found = jnp.where(top <= at, found + step, found)
        step //= 2
    return found


def draw_actions(
    logits: Float[jax.Array, "inputs trials actions"], word: UInt32[jax.Array, "inputs trials"]
) -> Int[jax.Array, "inputs trials"]:
    """Return an action for each run, -1 where all logits are -inf.

    The probabilities are rounded to multiples of 2^-31 and the draw is exact for those.
    """
    top = jnp.max(logits, axis=-1, keepdims=True)
    weights = jnp.exp(logits - jnp.where(jnp.isneginf(top), jnp.zeros_like(top), top))
    total = jnp.sum(weights, axis=-1, keepdims=True)
    share = weights / jnp.where(total == 0.0, jnp.ones_like(total), total)
    whole = jnp.rint(share * jnp.asarray(2.0**31, share.dtype)).astype(jnp.uint32)
    upto = jnp.cumsum(whole, axis=-1, dtype=jnp.uint32)
    ticket = _high_product(word, upto[..., -1])
    action = jnp.sum((upto <= ticket[..., None]).astype(jnp.int32), axis=-1)
    return jnp.where(upto[..., -1] == 0, -1, action)


def _high_product(a: UInt32[jax.Array, "*runs"], b: UInt32[jax.Array, "*runs"]) -> UInt32[jax.Array, "*runs"]:
    """Return floor(a b / 2^32): a random word a becomes a random number below b."""
    low, half = jnp.uint32(0xFFFF), jnp.uint32(16)
    a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
    middle = a1 * b0 + ((a0 * b0) >> half)
    other = a0 * b1 + (middle & low)
    return a1 * b1 + (middle >> half) + (other >> half)


def exponential(word: UInt32[jax.Array, "*runs"]) -> Float[jax.Array, "*runs"]:
    """Return Exp(1) variables, with relative accuracy at both ends.

    The smallest is 1.2e-10, the largest 22.9, each with the probability of 2^-32 that it stands for.
    """
    small = word < jnp.uint32(1 << 31)
    near = jnp.where(small, word, ~word)  # distance from the nearer end
    u = (near.astype(jnp.int32).astype(jnp.float32) + 0.5) * jnp.float32(2.0**-32)
    return jnp.where(small, -jnp.log1p(-u), -jnp.log(u))
