"""What the kernels read: alias tables, match sets as words; and what they make of random bits.

Outcomes have probabilities in units of 2^-32 = 2.3e-10, drawn by integer arithmetic alone: the same on
every device, whatever a probability's size and wherever it stands. An outcome rarer than that may never
occur, or too often; the expected count is wrong by less than 2^-32 a draw.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, UInt32

from coverjax.montecarlo.alias import alias_tables, whole_numbers
from coverjax.montecarlo.packed import words_of
from coverjax.policy.stage import Actions


class Tables(NamedTuple):
    """The law of one draw for each action, ready for the kernel; the first axis counts inputs.

    Attributes:
        height, other: alias tables, action after action [inputs, actions x cells]; None where an action
            names its outcome.
        sets: the match set of each outcome as words, the last one empty [inputs, outcomes + 1, words]; None
            where outcome s is strategy s.
        declared: the declared strategies as words [inputs, words].
        count: their number M [inputs].
    """

    height: Any
    other: Any
    sets: Any
    declared: Any
    count: Any


class Shape(NamedTuple):
    """The sizes that a table's last axis cannot tell.

    Attributes:
        actions, outcomes: their numbers; an outcome beyond them matches nothing.
        cells: alias cells of each action, a power of two above the outcomes; 0 where actions name outcomes.
    """

    actions: int
    outcomes: int
    cells: int


def shape_of(actions: Actions) -> Shape:
    """Return the sizes of the tables of some actions."""
    if actions.rows is None:
        return Shape(actions.number, actions.number, 0)
    outcomes = actions.rows.shape[2]
    return Shape(actions.number, outcomes, max(2, 1 << outcomes.bit_length()))


def tables(actions: Actions, shape: Shape) -> Tables:
    """Return the tables of some actions."""
    declared = actions.declared
    sets = None
    if actions.matches is not None:
        sets = np.pad(words_of(actions.matches & declared[:, None]), ((0, 0), (0, 1), (0, 0)))
    height = other = None
    if actions.rows is not None:
        rows = actions.rows.reshape(-1, shape.outcomes)
        flat = alias_tables(whole_numbers(rows, shape.cells))
        height, other = (table.reshape(len(declared), -1) for table in flat)
    return Tables(height, other, sets, words_of(declared), declared.sum(axis=1).astype(np.int32))


def draw_outcomes(
    tables: Tables,
    action: Int[jax.Array, "inputs trials"],
    word: UInt32[jax.Array, "inputs trials"],
    shape: Shape,
) -> Int[jax.Array, "inputs trials"]:
    """Return the outcome of each draw; at least the number of outcomes where it matches nothing."""
    bits = shape.cells.bit_length() - 1
    cell = (word >> jnp.uint32(32 - bits)).astype(jnp.int32)
    at = (word & jnp.uint32((1 << (32 - bits)) - 1)).astype(jnp.int32)
    place = jnp.maximum(action, 0) * shape.cells + cell
    inputs = jnp.arange(place.shape[0], dtype=jnp.int32)[:, None]
    height = tables.height.at[inputs, place].get(mode="promise_in_bounds")
    other = tables.other.at[inputs, place].get(mode="promise_in_bounds")
    return jnp.where(at < height, cell, other)


def draw_actions(
    logits: Float[jax.Array, "inputs trials actions"], word: UInt32[jax.Array, "inputs trials"]
) -> tuple[Int[jax.Array, "inputs trials"], Bool[jax.Array, ""]]:
    """Return an action for each run, -1 where all logits are -inf, and whether some logit was NaN or +inf.

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
    return jnp.where(upto[..., -1] == 0, -1, action), jnp.any(jnp.isnan(total))


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
