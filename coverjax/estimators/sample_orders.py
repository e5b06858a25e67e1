"""Curves from when each strategy first appears: the observed order, or random orders of a trial.

An adaptive policy's log has one order that means anything, the observed one. An exchangeable trial whose
match sets are too rich for the lattice is averaged over random orders, with a standard error.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from coverjax.estimators.avoidance import weighted_histogram
from coverjax.foundation.precision import float64_kernel
from coverjax.foundation.rng import stream_numbers
from coverjax.foundation.shapes import blocks

ORDERS = 2_000
"""Random orders of each trial; the standard error of a probability is then at most 0.0112."""

NEVER = 1 << 40
"""A position that no sample has."""

_CELLS = 1 << 22

Moments = dict[str, Any]


def first_appearances(matches: np.ndarray) -> np.ndarray:
    """Return the position (1, 2, ...) of the first sample that matches each label, NEVER when none does.

    [..., samples, labels] -> int64 [..., labels].
    """
    return np.where(matches.any(axis=-2), matches.argmax(axis=-2) + 1, NEVER)


def _order_curves(here: Any, first: Any, counted: Any, budgets: Any, law: bool) -> dict[str, Any]:
    """The curves of one order, or of many: all of them follow from how many strategies appear at each sample.

    Args:
        here: strategies that appear at sample 0 (none), 1, 2, ... for the first time [..., samples + 1].
        first: when each does [..., strategies].
        counted: which strategies count [..., strategies].
        budgets: k [B].
        law: whether the count law is asked for.

    Serves NumPy and JAX arrays.
    """
    distinct = here.cumsum(axis=-1)[..., budgets]
    new = here[..., budgets]
    curves = {
        "distinct": distinct,
        "novelty_any": new > 0,
        "novelty_count": new,
        "full_coverage": distinct == counted.sum(axis=-1)[..., None],
        "strategy_auc": (budgets[-1] + 1 - first).clip(0, None) / budgets[-1],
    }
    if law:
        curves["count_law"] = distinct[..., None] == np.arange(counted.shape[-1] + 1)
    return {name: value.astype(np.float64) for name, value in curves.items()}


def observed_order_curves(
    matches: Bool[np.ndarray, "runs samples strategies"],
    counted: Bool[np.ndarray, "runs strategies"],
    budgets: Int[np.ndarray, "budgets"],
    law: bool,
) -> Moments:
    """Return the curves of each run in its observed order: whole numbers, exact, no average."""
    first = first_appearances(matches)
    samples = matches.shape[1]
    place = np.where(counted & (first <= samples), first, 0)
    block = _CELLS // max(1, samples, counted.shape[1], len(budgets) * (counted.shape[1] if law else 1))
    parts = []
    for part in blocks(max(1, len(first)), block):
        here = weighted_histogram(place[part], (place[part] > 0), samples + 1)
        parts.append(_order_curves(here, first[part], counted[part], budgets, law))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@functools.partial(float64_kernel, static=("law", "orders"))
def _random_orders(
    keys: Key[Array, "runs"],
    matches: Bool[Array, "runs samples strategies"],
    counted: Bool[Array, "runs strategies"],
    n: Int[Array, "runs"],
    budgets: Int[Array, "budgets"],
    law: bool,
    orders: int,
) -> tuple[Moments, Moments]:
    samples = matches.shape[1]

    def one_order(run: tuple[Array, Array, Array], key: Array) -> Moments:
        match, count, size = run
        # Padding sorts behind every sample, so that a shorter run draws the same order of its own samples.
        mark = jnp.where(
            jnp.arange(samples) < size, jax.vmap(_uniform, (None, 0))(key, jnp.arange(samples)), 2.0
        )
        rank = jnp.argsort(jnp.argsort(mark)) + 1
        first = jnp.min(jnp.where(match, rank[:, None], NEVER), axis=0)
        place = jnp.where(count & (first <= samples), first, 0)
        here = jnp.zeros(samples + 1, jnp.int64).at[place].add((place > 0).astype(jnp.int64))
        return _order_curves(here, first, count, budgets, law)

    def one_run(args: tuple[Array, Array, Array, Array]) -> tuple[Moments, Moments]:
        key, *run = args

        def add(total: tuple[Moments, Moments], number: Array) -> tuple[tuple[Moments, Moments], None]:
            curves = one_order((run[0], run[1], run[2]), jax.random.fold_in(key, number))
            squares = {name: value * value for name, value in curves.items()}
            return jax.tree.map(jnp.add, total, (curves, squares)), None

        shape = jax.eval_shape(one_order, (run[0], run[1], run[2]), key)
        zero = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shape)
        (sums, squares), _ = jax.lax.scan(add, (zero, zero), jnp.arange(orders))
        mean = jax.tree.map(lambda s: s / orders, sums)
        # Whole numbers, so that a curve without spread gets exactly 0.
        spread = jax.tree.map(
            lambda q, s: jnp.sqrt(jnp.clip(q * orders - s * s, 0.0, None) / (orders - 1)) / orders,
            squares,
            sums,
        )
        return mean, spread

    return jax.lax.map(one_run, (keys, matches, counted, n))


def _uniform(key: Array, sample: Array) -> Array:
    return jax.random.uniform(jax.random.fold_in(key, sample), dtype=jnp.float64)


def random_order_curves(
    names: list[str],
    matches: np.ndarray,
    counted: np.ndarray,
    n: np.ndarray,
    budgets: np.ndarray,
    law: bool,
    orders: int = ORDERS,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the curves of exchangeable runs averaged over random orders, and their standard errors.

    The stream of a run is named by `names`, so the numbers do not depend on which other runs there are.
    """
    keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(jax.random.key(0), stream_numbers(names))
    return _random_orders(keys, matches, counted, n, budgets, law=law, orders=orders)
