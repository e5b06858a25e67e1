"""Expected rewards over the subset lattice, backward in time, of choices that see (draw, seen set)."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int

from coverjax.foundation import lattice


def values(
    pick: Callable[[jax.Array, jax.Array], jax.Array],
    rows: Float[jax.Array, "actions atoms"],
    masks: Int[jax.Array, " atoms"] | None,
    each: Float[jax.Array, " subsets"],
    last: Float[jax.Array, " subsets"],
    draws: int,
    bits: int,
) -> tuple[Float[jax.Array, ""], Float[jax.Array, "draws actions subsets"]]:
    """Return the expected reward of a run on one input, and of every action in every state.

    Q_t(a, S) = E[each(S') + V_{t+1}(S')], S' = S united with the match set of a draw from action a;
    V_t(S) = pick(t, Q_t)(S); V_K = last. In the caller's precision, safe under grad. Cost: draws x actions x
    atoms x 2^bits.

    Args:
        pick: draw number and Q [actions, subsets] -> V [subsets]: an expectation over a policy's choice, plus
            what the choice itself earns, or the maximum.
        rows: P(atom | action); the rest of a row matches nothing.
        masks: the subset of each atom; None where atom j is strategy j.
        each: reward of the seen set after every draw.
        last: reward of the seen set at the end.
        draws, bits: number of draws, and of strategies on the lattice.
    """
    nothing = jnp.maximum(1.0 - rows.sum(axis=1), 0.0)

    def step(value: jax.Array, draw: jax.Array) -> tuple[jax.Array, jax.Array]:
        after = each + value
        # Accelerators would round the inputs of a product in their fast default.
        met = jnp.matmul(rows, lattice.united(after, bits, masks), precision="highest")
        q = met + nothing[:, None] * after[None, :]
        return pick(draw, q), q

    value, q = jax.lax.scan(step, last, jnp.arange(draws, dtype=jnp.int32), reverse=True)
    return value[0], q


def regrets(
    rows: Float[jax.Array, "actions atoms"],
    masks: Int[jax.Array, " atoms"] | None,
    each: Float[jax.Array, " subsets"],
    last: Float[jax.Array, " subsets"],
    draws: int,
    bits: int,
) -> tuple[Float[jax.Array, ""], Float[jax.Array, "draws subsets actions"]]:
    """Return the optimal expected reward, and what every action loses against the best one in its state.

    A policy's shortfall is exactly the expected sum of these regrets along its own runs.
    """
    best, q = values(lambda draw, q: q.max(axis=0), rows, masks, each, last, draws, bits)
    return best, jnp.swapaxes(q.max(axis=1, keepdims=True) - q, 1, 2)


def members(bits: int, dtype: jnp.dtype) -> Float[jax.Array, "subsets bits"]:
    """Return which strategies each subset holds, as numbers."""
    subsets = jnp.arange(1 << bits, dtype=jnp.int32)
    return ((subsets[:, None] >> jnp.arange(bits, dtype=jnp.int32)) & 1).astype(dtype)


def holds_all(wanted: Float[jax.Array, " bits"], bits: int) -> Float[jax.Array, " subsets"]:
    """Return 1 for the subsets that hold every strategy with a positive weight."""
    missing = (1.0 - members(bits, wanted.dtype)) * (wanted > 0).astype(wanted.dtype)
    return (missing.sum(axis=1) == 0).astype(wanted.dtype)
