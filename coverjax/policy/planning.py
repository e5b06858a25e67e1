"""The backward dynamic program over (draw, seen set): the best adaptive choice of actions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from coverjax.foundation import lattice
from coverjax.foundation.precision import float64_kernel
from coverjax.foundation.shapes import bucket, pad_axis

OBJECTIVES = ("auc", "final")

TIE = 1e-12
"""Values (fractions of coverage) nearer than this are ties, which go to the lowest action: rounding must
not decide."""

_TOGETHER = 16
"""Inputs that one step of the program handles at once: their tables stay in a cache."""

_UNROLLED = 32
"""Up to so many actions are compared one after the other, which compiles to vector code."""


def best_actions(
    rows: Float[jax.Array, "actions atoms"],
    masks: Int[jax.Array, " atoms"] | None,
    each: Float[jax.Array, ""],
    last: Float[jax.Array, ""],
    draws: int,
    bits: int,
) -> tuple[Float[jax.Array, ""], Int[jax.Array, "draws subsets"]]:
    """Return the value of the best policy on one input, and its action for every draw and seen set.

    V_t(S) = max_a E[each |S'| + V_{t+1}(S')], S' = S united with the match set of a draw from action a,
    backward from V(S) = last |S| after the last draw; exact. Cost: draws x actions x atoms x 2^bits.

    Args:
        rows: P(atom | action); the rest of a row matches nothing.
        masks: the subset of each atom; None where atom j is strategy j.
        each, last: what a covered strategy is worth after every draw, and once more at the end. (A reward
            read anew at every draw would keep XLA from vectorising the whole step.)
        draws: number of draws.
        bits: number of strategies on the lattice.
    """
    size = jnp.asarray(lattice.sizes(bits), rows.dtype)
    nothing = jnp.maximum(1.0 - rows.sum(axis=1), 0.0)

    def step(value: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        after = each * size + value
        return _lowest_best(rows @ lattice.united(after, bits, masks) + nothing[:, None] * after[None, :])

    value, plan = jax.lax.scan(step, last * size, None, length=draws, reverse=True)
    return value[0], plan


def _lowest_best(
    each: Float[jax.Array, "actions subsets"],
) -> tuple[Float[jax.Array, " subsets"], Int[jax.Array, " subsets"]]:
    """Return the largest value over the actions, and the lowest action that reaches it up to `TIE`."""
    count = each.shape[0]
    kind = jnp.uint8 if count <= 256 else jnp.int32
    if count > _UNROLLED:
        best = each.max(axis=0)
        return best, jnp.argmax(each >= best[None, :] - TIE, axis=0).astype(kind)
    best = functools.reduce(jnp.maximum, list(each))
    action = jnp.full(best.shape, count - 1, kind)
    for index in range(count - 2, -1, -1):
        action = jnp.where(each[index] >= best - TIE, jnp.asarray(index, kind), action)
    return best, action


@float64_kernel(static=("draws", "bits"))
def _plans(
    rows: Float[jax.Array, "inputs actions atoms"],
    masks: Int[jax.Array, "inputs atoms"] | None,
    each: Float[jax.Array, ""],
    last: Float[jax.Array, ""],
    draws: int,
    bits: int,
) -> tuple[Float[jax.Array, " inputs"], Int[jax.Array, "inputs draws subsets"]]:
    def one(row: tuple) -> tuple[jax.Array, jax.Array]:
        return best_actions(row[0], row[1], each, last, draws, bits)

    return jax.lax.map(one, (rows, masks), batch_size=min(_TOGETHER, rows.shape[0]))


def plans(
    rows: Float[np.ndarray, "inputs actions atoms"],
    masks: Int[np.ndarray, "inputs atoms"] | None,
    budget: int,
    bits: int,
    objective: str,
) -> tuple[Float[np.ndarray, " inputs"], Int[np.ndarray, "inputs draws subsets"]]:
    """Return the optimal value and plan of every input.

    Args:
        rows, masks, bits: as in `compact.Compact`.
        budget: number of draws K.
        objective: "auc", the mean over k = 1..K of the covered fraction of the `bits` strategies; "final",
            this fraction after K draws.

    Returns:
        the objective's largest expectation, and the best action for draw number 0..K-1 and every seen set.
    """
    inputs = len(rows)
    padded = bucket(inputs)
    some = None if masks is None else pad_axis(masks, padded)
    every = objective == "auc"
    each, last = np.float64(every / (budget * bits)), np.float64((not every) / bits)
    value, plan = _plans(pad_axis(rows, padded), some, each, last, draws=budget, bits=bits)
    return value[:inputs], plan[:inputs]
