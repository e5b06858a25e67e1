"""Any policy that looks only at (draw, seen set): the forward dynamic program over the subset lattice."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.closed_form.tiles import over_tiles, tile_size
from coverjax.foundation import lattice
from coverjax.foundation.checks import InputError
from coverjax.foundation.precision import float64_kernel
from coverjax.policy.base import Known
from coverjax.policy.compact import Compact
from coverjax.policy.optimal import OptimalLatent
from coverjax.policy.stage import Frozen, joined, split


class Run(NamedTuple):
    """The law of a run, after draws k = 1..draws.

    Attributes:
        law: P(|S_k| = m) for m = 0..bits [draws, bits + 1].
        new: expected number of new strategies in draw k [draws].
        any_new: probability of at least one new strategy in draw k [draws].
        seen: mean over the draws of P(strategy seen) [bits].
        used: expected number of distinct actions used [draws]; zeros when not asked for.
    """

    law: Any
    new: Any
    any_new: Any
    seen: Any
    used: Any


# -- one input, in the caller's precision, safe under grad -----------------------------------------


_UNROLLED = 32
"""Up to so many rows are added one after the other."""


def members(bits: int) -> np.ndarray:
    """Return which elements each subset has, bool [2^bits, bits]."""
    return (np.arange(1 << bits)[:, None] >> np.arange(bits)) & 1 == 1


def forward(
    chances: Callable[[jax.Array], jax.Array],
    rows: Float[jax.Array, "actions atoms"],
    masks: Int[jax.Array, " atoms"] | None,
    draws: int,
    bits: int,
    used: bool = False,
) -> Run:
    """Return the law of a run on one input.

    P_{k+1}(S') = sum over S, actions a and atoms A with S united with A = S' of P_k(S) pi_k(a | S) P(A | a).

    Args:
        chances: draw number 0, 1, ... -> probabilities of the actions in every seen set,
            [actions, 2^bits], or [actions, 1] when the set does not matter. What a column lacks to 1 is spent
            on nothing.
        rows: P(atom | action); the rest of a row matches nothing.
        masks: the subset of each atom; None where atom j is strategy j.
        draws, bits: number of draws, and of strategies on the lattice.
        used: whether to follow the actions used, which costs as much again for every action.
    """
    gains, of_size, inside = _tables(bits, masks, rows.dtype)
    novel = (gains > 0).astype(rows.dtype)
    actions = rows.shape[0]

    def push(mass: jax.Array, each: jax.Array, allowed: "jax.Array | float") -> tuple[jax.Array, ...]:
        moving = each * novel
        staying = jnp.maximum(allowed - _total(moving), 0.0) * mass
        moving = moving * mass
        arrived = lattice.added_mass(moving) if masks is None else lattice.united_mass(moving, bits, masks)
        return staying + arrived, arrived, moving

    def avoid(z: jax.Array, mass: jax.Array, choice: jax.Array) -> jax.Array:
        rest = choice * (jnp.arange(actions) != z).astype(choice.dtype)[:, None]
        return push(mass, rows.T @ rest, 1.0 - choice[z])[0]

    def step(carry: tuple, draw: jax.Array) -> tuple[tuple, tuple]:
        mass, seen, avoiding = carry
        choice = chances(draw)
        mass, arrived, moving = push(mass, rows.T @ choice, 1.0)
        any_new = arrived.sum()
        new = any_new if masks is None else jnp.sum(moving * gains)
        unused = jnp.zeros((), rows.dtype)
        if used:
            avoiding = jax.vmap(avoid, in_axes=(0, 0, None))(jnp.arange(actions), avoiding, choice)
            unused = avoiding.sum()
        return (mass, seen + mass @ inside, avoiding), (mass @ of_size, new, any_new, unused)

    start = jnp.zeros(1 << bits, rows.dtype).at[0].set(1.0)
    avoiding = jnp.broadcast_to(start, (actions if used else 0, 1 << bits))
    carry = (start, jnp.zeros(bits, rows.dtype), avoiding)
    (_, seen, _), (law, new, any_new, unused) = jax.lax.scan(step, carry, jnp.arange(draws, dtype=jnp.int32))
    return Run(law, new, any_new, seen / draws, actions - unused if used else unused)


def _total(parts: Float[jax.Array, "atoms subsets"]) -> Float[jax.Array, " subsets"]:
    """Sum over the first axis: few rows one after the other, which compiles to vector code."""
    return functools.reduce(jnp.add, list(parts)) if len(parts) <= _UNROLLED else parts.sum(axis=0)


def _tables(bits: int, masks: jax.Array | None, dtype: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Elements that an atom adds to a subset; subsets by size; subsets by element."""
    subsets = np.arange(1 << bits)
    if masks is None:
        gains = jnp.asarray((subsets[None, :] >> np.arange(bits)[:, None]) & 1 == 0, dtype)
    else:
        missing = masks[:, None] & ~jnp.asarray(subsets, masks.dtype)[None, :]
        gains = jax.lax.population_count(missing).astype(dtype)
    of_size = lattice.sizes(bits)[:, None] == np.arange(bits + 1)
    return gains, jnp.asarray(of_size, dtype), jnp.asarray(members(bits), dtype)


def probabilities(logits: Float[jax.Array, "... actions"]) -> Float[jax.Array, "... actions"]:
    """Return the distribution of unnormalised log-probabilities; all zeros where all are -inf."""
    top = jnp.max(logits, axis=-1, keepdims=True)
    weights = jnp.exp(logits - jnp.where(jnp.isneginf(top), 0.0, top))
    total = jnp.sum(weights, axis=-1, keepdims=True)
    return weights / jnp.where(total == 0.0, 1.0, total)


# -- a policy on all inputs, in float64 ------------------------------------------------------------


@float64_kernel(static=("frozen", "structure", "draws", "bits", "used"))
def _run(
    numbers: Any,
    known: list[jax.Array],
    columns: Int[jax.Array, "inputs bits"],
    rows: Float[jax.Array, "inputs actions atoms"],
    masks: Int[jax.Array, "inputs atoms"] | None,
    frozen: Frozen,
    structure: Any,
    draws: int,
    bits: int,
    used: bool,
) -> Run:
    policy = joined(numbers, frozen)

    def one(row: tuple) -> Run:
        leaves, column, atoms, mask = row
        facts = jax.tree.unflatten(structure, leaves)
        return forward(_chances(policy, facts, column, atoms), atoms, mask, draws, bits, used)

    return jax.vmap(one)((known, columns, rows, masks))


def _chances(
    policy: Any, known: Known, columns: Int[jax.Array, " bits"], rows: jax.Array
) -> Callable[[jax.Array], jax.Array]:
    """The policy's distribution over actions in every seen set, as a function of the draw."""
    if isinstance(policy, OptimalLatent):  # its plan stands on this very lattice
        latents = jnp.arange(known.latents, dtype=jnp.int32)[:, None]
        return lambda draw: (known.plan["latent"][draw][None] == latents).astype(rows.dtype)
    if not jax.tree.leaves(policy.init(known)):
        return lambda draw: probabilities(policy.choose(known, (), draw))[:, None]
    seen = seen_sets(columns, columns.shape[0], known.declared.shape[0])
    return lambda draw: probabilities(jax.vmap(lambda row: policy.choose(known, row, draw))(seen)).T


def seen_sets(
    columns: Int[jax.Array, " bits"], bits: int, strategies: int
) -> Bool[jax.Array, "subsets strategies"]:
    """Return the seen set that each subset of the lattice stands for, over all strategy columns."""
    at = columns[:, None] == jnp.arange(strategies, dtype=columns.dtype)
    return jnp.any(jnp.asarray(members(bits))[:, :, None] & at[None], axis=1)


def markov_run(policy: Any, known: Known, reduced: Compact, draws: int, used: bool) -> Run:
    """Return the law of a policy's runs on every input; arrays of `Run` get a first axis for inputs.

    Exact, absolute error about 1e-14. Cost per input and draw: 2^bits x actions x atoms, and as much again
    for every action with `used`.

    Args:
        policy: a policy with `markov` True.
        known: what it knows, NumPy arrays with inputs as the first axis.
        reduced: its actions on the lattice.
        draws: number of draws.
        used: whether to follow the actions used.

    Raises:
        InputError: `choose` gives logits that are NaN or +inf.
    """
    numbers, frozen = split(policy)
    leaves, structure = jax.tree.flatten(known)
    inputs, actions, atoms = reduced.rows.shape
    some = () if reduced.masks is None else (reduced.masks,)
    arrays = [np.asarray(leaf) for leaf in leaves]

    def kernel(columns: np.ndarray, rows: np.ndarray, *rest: np.ndarray) -> tuple[np.ndarray, ...]:
        masks, facts = (rest[0], rest[1:]) if some else (None, rest)
        static = {
            "frozen": frozen,
            "structure": structure,
            "draws": draws,
            "bits": reduced.bits,
            "used": used,
        }
        return tuple(_run(numbers, list(facts), columns, rows, masks, **static))

    width = 3 * atoms + 2 * actions + known.declared.shape[1] // 4 + (actions * (atoms + 2) if used else 0)
    tile = tile_size(inputs, 8.0 * (width << reduced.bits))
    run = Run(*over_tiles(kernel, (reduced.columns, reduced.rows, *some, *arrays), tile))
    if np.isnan(run.law).any():
        raise InputError(f"{type(policy).__name__}: choose must return numbers or -inf; got NaN or +inf")
    return run
