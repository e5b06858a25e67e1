"""Independent draws that match sets of strategies: the lattice of subsets.

P(S_k inside T) = P(match set inside T)^k, and one Moebius transform over the 2^M subsets gives P(S_k = T),
whence the count law, full coverage and the probability that a draw brings anything new. Exact; absolute
error about 1e-15 (a small F, a difference of large terms, keeps only about 10 digits).

Only strategies that some outcome reaches enter the lattice, so that M counts those.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from coverjax.closed_form.tiles import in_threads, over_tiles, tile_size
from coverjax.foundation import checks, lattice
from coverjax.foundation.checks import InputError, shown
from coverjax.foundation.numerics import miss
from coverjax.foundation.precision import float64_kernel
from coverjax.foundation.shapes import blocks, bucket, pad_axis
from coverjax.model.law import OutcomeLaw

_FEWEST = 3
"""Lattices smaller than this are padded, so that they share programs."""


class SetCurves(NamedTuple):
    """Curves of independent draws; P(|S_k| = m) for m = 0..strategies, or None when not asked for."""

    full_coverage: Float[np.ndarray, "inputs budgets"]
    novelty_any: Float[np.ndarray, "inputs budgets"]
    count_law: Float[np.ndarray, "inputs budgets counts"] | None


def occurring(law: OutcomeLaw) -> Int[np.ndarray, " inputs"]:
    """Return how many declared strategies some outcome with positive probability matches [inputs]."""
    return (law.marginals() > 0.0).sum(axis=1)


def set_curves(law: OutcomeLaw, budgets: "int | np.ndarray", count_law: bool = False) -> SetCurves:
    """Return F, N_any and, if asked for, the count law of independent draws from a set-valued law.

    Args:
        law: any law with at most 16 strategies that occur, for each input.
        budgets: K for 1..K, or increasing numbers of draws; nothing between them is computed.
        count_law: whether to keep P(|S_k| = m), inputs x budgets x (strategies + 1) numbers.

    Returns:
        F is 0 where a declared strategy never occurs and NaN where none is declared. Cost: budgets x M 2^M
        additions for each input.

    Raises:
        InputError: more strategies occur than the lattice can hold.
    """
    points = checks.budgets(budgets)
    occur = occurring(law)
    _refuse_large(law, occur)
    declared = law.declared_count
    shape = (law.inputs, len(points))
    laws = np.zeros((*shape, int(occur.max()) + 1))
    novelty = np.zeros(shape)
    for bits in np.unique(np.maximum(occur, _FEWEST)):
        rows = np.flatnonzero(np.maximum(occur, _FEWEST) == bits)
        mass = _mass(law.take(rows), int(bits))
        part, escape = _at_draws(_outside(mass), points, int(bits))
        # Rounding leaves traces at sizes that k draws cannot reach.
        largest = np.where(mass > 0.0, lattice.sizes(int(bits)), 0).max(axis=1)
        part = part * (np.arange(bits + 1) <= largest[:, None, None] * points[:, None])
        width = min(laws.shape[2], part.shape[2])
        laws[rows, :, :width] = part[:, :, :width]
        novelty[rows] = escape
    full = laws[np.arange(law.inputs), :, occur]
    full = np.where((occur < declared)[:, None], 0.0, full)
    full = np.where((declared == 0)[:, None], np.nan, np.maximum.accumulate(full, axis=1))
    if not count_law:
        return SetCurves(full, novelty, None)
    wide = laws[:, :, : law.strategies + 1]
    return SetCurves(full, novelty, pad_axis(wide, law.strategies + 1, axis=2, fill=0.0))


def set_time_full(law: OutcomeLaw) -> Float[np.ndarray, " inputs"]:
    """Return the expected number of independent draws until all declared strategies are covered.

    E[T] = sum over nonempty A of (-1)^{|A|+1} / P(match set meets A). Infinite where a declared strategy
    never occurs, 0 where none is declared. Relative error about 1e-12 for 16 strategies.

    Raises:
        InputError: more strategies occur than the lattice can hold.
    """
    occur = occurring(law)
    _refuse_large(law, occur)
    times = np.zeros(law.inputs)
    for bits in np.unique(occur[occur > 0]):
        rows = np.flatnonzero(occur == bits)
        sign = np.where((bits - lattice.sizes(int(bits))) % 2 == 1, 1.0, -1.0)
        meets = _outside(_mass(law.take(rows), int(bits)))
        times[rows] = (sign[:-1] / meets[:, :-1]).sum(axis=1)
    return np.where(occur < law.declared_count, np.inf, times)


def _refuse_large(law: OutcomeLaw, occur: np.ndarray) -> None:
    worst = int(occur.argmax())
    if occur[worst] > lattice.LARGEST:
        raise InputError(
            f"strategies: exact full coverage, novelty (any) and count law of match sets need at most "
            f"{lattice.LARGEST} strategies that occur; input {shown(law.names[worst])} has {occur[worst]}: "
            "use simulate, or leave these curves out (coverage and novelty_count have no such limit)"
        )


def _mass(law: OutcomeLaw, bits: int) -> Float[np.ndarray, "inputs subsets"]:
    """Return P(match set = A) over the subsets A of each input's occurring strategies."""
    occurs = law.marginals() > 0.0
    rank = np.cumsum(occurs, axis=1) - 1
    weight = np.where(occurs, np.int64(1) << np.maximum(rank, 0), 0)
    if law.matches is None:
        masks = weight
    elif law.matches.ndim == 2:
        masks = weight @ law.matches.T.astype(np.int64)
    else:
        masks = np.einsum("ios,is->io", law.matches.astype(np.int64), weight)
    mass = np.zeros((law.inputs, 1 << bits))
    np.add.at(mass, (np.arange(law.inputs)[:, None], masks), law.probs)
    return mass


def _outside(mass: Float[np.ndarray, "inputs subsets"]) -> Float[np.ndarray, "inputs subsets"]:
    """Return P(match set not inside T) over the subsets T."""
    tile = tile_size(len(mass), 8.0 * 6 * mass.shape[1])
    return np.minimum(over_tiles(lambda rows: (_mass_outside(rows),), (mass,), tile)[0], 1.0)


@float64_kernel
def _mass_outside(mass: Float[jax.Array, "inputs subsets"]) -> Float[jax.Array, "inputs subsets"]:
    return lattice.mass_outside(mass)


@float64_kernel
def _lattice_curves(
    outside: Float[jax.Array, "inputs subsets"],
    of_size: Float[jax.Array, "subsets counts"],
    draws: Float[jax.Array, " draws"],
) -> tuple[Float[jax.Array, "inputs draws counts"], Float[jax.Array, "inputs draws"]]:
    """Return P(|S_k| = m) and P(the next match set is not inside S_k)."""
    chances = lattice.moebius(miss(outside[:, None], draws[None, :, None]))
    return chances @ of_size, jnp.sum(chances * outside[:, None], axis=-1)


def _at_draws(
    outside: Float[np.ndarray, "inputs subsets"], points: np.ndarray, bits: int
) -> tuple[Float[np.ndarray, "inputs budgets counts"], Float[np.ndarray, "inputs budgets"]]:
    """Return the count law and N_any at each budget, a few inputs and budgets at a time."""
    draws = np.unique(np.concatenate([points, points - 1]))
    sizes = lattice.sizes(bits)
    of_size = (sizes[:, None] == np.arange(bits + 1)).astype(np.float64)
    at_once = min(bucket(len(draws), smallest=4), max(4, (1 << 18) >> bits))
    tile = tile_size(len(outside), 8.0 * 4 * at_once * (1 << bits))
    laws = np.empty((len(outside), len(draws), bits + 1))
    escape = np.empty((len(outside), len(draws)))

    def compute(part: slice) -> None:
        some = pad_axis(draws[part].astype(np.float64), at_once)
        law, new = over_tiles(lambda rows: _lattice_curves(rows, of_size, some), (outside,), tile)
        laws[:, part], escape[:, part] = law[:, : part.stop - part.start], new[:, : part.stop - part.start]

    in_threads([partial(compute, part) for part in blocks(len(draws), at_once)])
    now, before = np.searchsorted(draws, points), np.searchsorted(draws, points - 1)
    return np.clip(laws[:, now], 0.0, 1.0), np.clip(escape[:, before], 0.0, 1.0)
