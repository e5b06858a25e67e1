"""Exact curves of latents drawn without repeats, and of schedules of latents."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.closed_form.orders import (
    Clock,
    clocks,
    mean_over_draws,
    over_passes,
    router_order,
    uniform_order,
)
from coverjax.closed_form.tiles import over_tiles, tile_size
from coverjax.foundation import lattice
from coverjax.foundation.precision import float64_kernel
from coverjax.foundation.shapes import bucket, pad_axis


class Passes(NamedTuple):
    """An order of latents without repeats.

    Attributes:
        live: the latents that take part [inputs, latents].
        rates: their weights in Plackett-Luce order, 0 for the others; None for the uniform order.
    """

    live: Bool[np.ndarray, "inputs latents"]
    rates: Float[np.ndarray, "inputs latents"] | None


def passes(router: Float[np.ndarray, "inputs latents"], order: str, support: float) -> Passes:
    """Return who takes part in the passes of `LatentNoRepeat(order, support)`."""
    live = router > support
    return Passes(live, np.where(live, router, 0.0) if order == "router" else None)


# -- without repeats -------------------------------------------------------------------------------


def _along(
    avoid: jax.Array, gain: jax.Array, live: jax.Array, clock: Clock | None
) -> tuple[jax.Array, jax.Array]:
    """E_k and F_k of one input in either order."""
    if clock is None:
        return uniform_order(avoid, gain, live)
    return router_order(avoid, gain, clock, avoid.shape[0])


@float64_kernel
def _strategies(
    table: Float[jax.Array, "inputs latents strategies"],
    live: Bool[jax.Array, "inputs latents"],
    clock: Clock | None,
    budgets: Int[jax.Array, " budgets"],
    draws: Int[jax.Array, ""],
) -> tuple[jax.Array, ...]:
    def one(row: tuple) -> tuple[jax.Array, ...]:
        w, there, rung = row
        unseen, first = _along(1.0 - w, w, there, rung)
        count = jnp.sum(there.astype(jnp.int64))
        new = over_passes(unseen, count, budgets - 1, following=first)
        seen = 1.0 - over_passes(unseen, count, budgets)
        return seen.sum(axis=1), new.sum(axis=1), 1.0 - mean_over_draws(unseen, count, draws)

    return jax.vmap(one)((table, live, clock))


def no_repeat_curves(
    table: Float[np.ndarray, "inputs latents strategies"], order: Passes, budgets: Int[np.ndarray, " budgets"]
) -> tuple[
    Float[np.ndarray, "inputs budgets"],
    Float[np.ndarray, "inputs budgets"],
    Float[np.ndarray, "inputs strategies"],
]:
    """Return E|S_k|, N_count(k) and the mean over k = 1..K of P(strategy seen), for no-repeat latents.

    Any number of strategies; exact, absolute error about 1e-14 per strategy. Cost per input: latents^2 x
    strategies, times some 300 clock times in router order.

    Args:
        table: W[z, s].
        order: who takes part, and how (`passes`).
        budgets: increasing numbers of draws; K is the last.
    """
    points = pad_axis(budgets, bucket(len(budgets)), fill=int(budgets[-1]))
    latents, strategies = table.shape[1:]

    def kernel(w: np.ndarray, live: np.ndarray, *clock: np.ndarray) -> tuple[np.ndarray, ...]:
        return _strategies(w, live, Clock(*clock) if clock else None, points, budgets[-1])

    size = (
        8.0 * (latents + 1) * strategies * (4 if order.rates is None else 12)
        + 16.0 * len(points) * strategies
    )
    tile = tile_size(len(table), size)
    distinct, new, auc = over_tiles(kernel, (table, *_arrays(order)), tile)
    return distinct[:, : len(budgets)], new[:, : len(budgets)], auc


def _arrays(order: Passes) -> tuple[np.ndarray, ...]:
    if order.rates is None:
        return (order.live,)
    return (order.live, *clocks(order.rates))


@float64_kernel(static=("bits", "law"))
def _subsets(
    rows: Float[jax.Array, "inputs latents atoms"],
    masks: Int[jax.Array, "inputs atoms"] | None,
    live: Bool[jax.Array, "inputs latents"],
    clock: Clock | None,
    budgets: Int[jax.Array, " budgets"],
    bits: int,
    law: bool,
) -> tuple[jax.Array, ...]:
    sizes = lattice.sizes(bits)
    of_size = jnp.asarray(sizes[:, None] == np.arange(bits + 1), rows.dtype)
    # P(something new) = - sum over nonempty B of (-1)^|B| P(B in the match set, B unseen), T = all but B.
    sign = jnp.asarray(np.where(sizes == bits, 0.0, -((-1.0) ** (bits - sizes))))

    def one(row: tuple) -> tuple[jax.Array, ...]:
        atoms, mask, there, rung = row
        inside, outside = _match_set_sums(atoms, mask, bits)
        within, following = _along(inside, outside, there, rung)
        count = jnp.sum(there.astype(jnp.int64))

        def at(k: jax.Array) -> tuple[jax.Array, ...]:
            new = over_passes(within, count, k[None] - 1, following=following)[0] @ sign
            if not law:
                return (new,)
            exactly = lattice.moebius(over_passes(within, count, k[None])[0])
            return new, exactly @ of_size

        return jax.lax.map(at, budgets)

    return jax.lax.map(one, (rows, masks, live, clock))


def _match_set_sums(atoms: jax.Array, masks: jax.Array | None, bits: int) -> tuple[jax.Array, jax.Array]:
    """For every latent and subset T: P(match set inside T), and P(match set contains all but T)."""
    where = (1 << jnp.arange(bits)) if masks is None else masks
    exactly = jnp.zeros((atoms.shape[0], 1 << bits), atoms.dtype).at[:, where].add(atoms)
    nothing = jnp.maximum(1.0 - atoms.sum(axis=1), 0.0)
    exactly = exactly.at[:, 0].add(nothing)
    return lattice.subset_sums(exactly), lattice.superset_sums(exactly)[:, ::-1]


def no_repeat_counts(
    rows: Float[np.ndarray, "inputs latents atoms"],
    masks: Int[np.ndarray, "inputs atoms"] | None,
    bits: int,
    order: Passes,
    budgets: Int[np.ndarray, " budgets"],
    law: bool = True,
) -> tuple[Float[np.ndarray, "inputs budgets"], Float[np.ndarray, "inputs budgets counts"] | None]:
    """Return N_any(k) and, with `law`, P(|S_k| = m) for m = 0..bits, for no-repeat latents.

    Exact, absolute error about 1e-13. Cost per input: latents^2 x 2^bits, times some 300 clock times in
    router order, and bits x 2^bits per budget; see `counts_work`.

    Args:
        rows, masks, bits: the latents on the lattice, as in `policy.compact.Compact`.
        order: who takes part, and how (`passes`).
        budgets: increasing numbers of draws.
    """
    points = pad_axis(budgets, bucket(len(budgets)), fill=int(budgets[-1]))
    arrays = (rows, *(() if masks is None else (masks,)), *_arrays(order))

    def kernel(atoms: np.ndarray, *rest: np.ndarray) -> tuple[np.ndarray, ...]:
        some, rest = (None, rest) if masks is None else (rest[0], rest[1:])
        return _subsets(
            atoms, some, rest[0], Clock(*rest[1:]) if rest[1:] else None, points, bits=bits, law=law
        )

    tile = tile_size(len(rows), 8.0 * (rows.shape[1] + 1) * (4 << bits))
    found = over_tiles(kernel, arrays, tile)
    novelty = found[0][:, : len(budgets)]
    return novelty, (found[1][:, : len(budgets)] if law else None)


def counts_work(inputs: int, latents: int, bits: int, router_order: bool, budgets: int) -> float:
    """Return about how many multiplications `no_repeat_counts` does."""
    along = 4.0 * latents * (latents + 1) * (320 if router_order else 1)
    return inputs * (along + (bits + latents) * budgets) * 2.0**bits


# -- a schedule ------------------------------------------------------------------------------------


@float64_kernel
def _schedule(
    chances: Float[jax.Array, "inputs draws actions"],
    table: Float[jax.Array, "inputs actions strategies"],
) -> tuple[jax.Array, ...]:
    def one(row: tuple) -> tuple[jax.Array, ...]:
        return schedule_curves(*row)

    return jax.vmap(one)((chances, table))


def schedule_curves(
    chances: Float[jax.Array, "draws actions"], table: Float[jax.Array, "actions strategies"]
) -> tuple[
    Float[jax.Array, " draws"],
    Float[jax.Array, " draws"],
    Float[jax.Array, " strategies"],
    Float[jax.Array, " draws"],
]:
    """Return E|S_k|, N_count(k), mean of P(strategy seen), and E(fraction of actions used), k = 1..draws.

    P(s unseen after k draws) = product over i <= k of (1 - sum_z r_i(z) W[z, s]): draws are independent, each
    with its own router r_i. One input, safe under grad; relative accuracy is kept for tiny W.

    Args:
        chances: r_i(z).
        table: W[z, s].
    """
    each = jnp.minimum(chances @ table, 1.0)
    unseen = jnp.cumprod(1.0 - each, axis=0)
    before = jnp.concatenate([jnp.ones_like(unseen[:1]), unseen[:-1]])
    first = before * each
    seen = jnp.cumsum(first, axis=0)
    unused = jnp.cumprod(1.0 - jnp.minimum(chances, 1.0), axis=0)
    return seen.sum(axis=1), first.sum(axis=1), seen.mean(axis=0), 1.0 - unused.mean(axis=1)


def scheduled_curves(
    chances: Float[np.ndarray, "inputs draws actions"],
    table: Float[np.ndarray, "inputs actions strategies"],
) -> tuple[np.ndarray, ...]:
    """Return `schedule_curves` of every input, in float64."""
    strategies = table.shape[2]
    draws = chances.shape[1]
    tile = tile_size(len(table), 8.0 * draws * (5 * strategies + 3 * chances.shape[2]))
    return over_tiles(_schedule, (chances, table), tile)
