"""From the times of discovery to sums over trials at every budget."""

import threading
from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from coverjax.closed_form.results import Wanted
from coverjax.model.router_generator import RouterGenerator
from coverjax.montecarlo.atoms import Atoms, atoms_of, chain_length, single_atoms
from coverjax.montecarlo.jump import Discoveries, run_chains
from coverjax.montecarlo.sums import Sums, empty_sums
from coverjax.policy.latent import LatentIID
from coverjax.policy.stage import LawOrModel, marginal_law

LONGEST = 8192
"""The most atoms of a chain."""

_STREAM, _LATENT_STREAM = 0x6A756D70, 0x6A756D71
"""The chains' random numbers are apart from the scan's, and those of strategies from those of latents."""


def obstacle(policy: Any, counted: LawOrModel) -> str:
    """Return why the jump chain cannot run a policy, empty where it can."""
    if policy.acts_on != "base" and not isinstance(policy, LatentIID):
        return f"the jump chain is for independent draws, {type(policy).__name__} is not"
    length = chain_length(marginal_law(counted))
    return f"the jump chain holds at most {LONGEST} match sets, got {length}" if length > LONGEST else ""


def jump_sums(
    key: jax.Array,
    policy: Any,
    counted: LawOrModel,
    budgets: np.ndarray,
    trials: int,
    wanted: Wanted,
    chunk: int | None,
) -> Sums:
    """Return the sums over trials that the jump chain makes; arguments as in `simulate`."""
    atoms = atoms_of(marginal_law(counted))
    model = counted if isinstance(policy, LatentIID) and isinstance(counted, RouterGenerator) else None
    one = atoms.who is not None
    sums = empty_sums(counted.inputs, counted.strategies, budgets, wanted, model is not None, one)
    tally = _Tally(sums, atoms, counted.declared_count, budgets, trials)
    most = int(budgets[-1])
    held = sums.held is not None
    stream = jax.random.fold_in(key, _STREAM)
    rest = (trials, most, counted.strategies)
    run_chains(stream, counted.names, atoms, *rest, held, chunk, tally.keep)
    if model is not None and sums.used is not None:
        latents = single_atoms(model.router, np.zeros(model.inputs))
        other = jax.random.fold_in(key, _LATENT_STREAM)
        run_chains(other, counted.names, latents, *rest, False, chunk, tally.keep_latents)
    tally.finish()
    return sums


class _Tally:
    """Adds runs to sums: first what changes at each budget, at the end the running totals."""

    def __init__(
        self,
        sums: Sums,
        atoms: Atoms,
        declared: Int[np.ndarray, " inputs"],
        budgets: Int[np.ndarray, " budgets"],
        trials: int,
    ) -> None:
        self._sums, self._who, self._declared, self._budgets = sums, atoms.who, declared, budgets
        self._consecutive = int(budgets[-1]) == len(budgets)
        self._trials, self._lock = trials, threading.Lock()

    def keep(self, row: int, found: Discoveries) -> None:
        """Add some runs of one input."""
        at = self._places(found.time)
        if found.new is None:  # discovery by discovery one more: views, no arrays
            new = np.broadcast_to(np.int64(1), at.shape)
            size = np.broadcast_to(np.arange(1, len(at) + 1)[:, None], at.shape)
        else:
            new, size = found.new, np.cumsum(found.new, axis=0, dtype=np.int64)
        with self._lock:
            self._add_sizes(row, at, new, size, found.new is None)
            self._add_novelty(row, found.time, at, new)
            if self._sums.law is not None:
                self._add_law(row, at, new, size)
            if self._sums.held is not None:
                self._add_held(row, found)

    def keep_latents(self, row: int, found: Discoveries) -> None:
        """Add the latents of some runs of one input."""
        at = self._places(found.time)
        with self._lock:
            self._add(self._sums.used, row, at)
            self._add(self._sums.used_squares, row, at, 2 * np.arange(len(at))[:, None] + 1)

    def finish(self) -> None:
        """Turn changes into running totals."""
        for name in ("distinct", "distinct_squares", "full", "used", "used_squares", "law"):
            total = getattr(self._sums, name)
            if total is not None:
                np.cumsum(total, axis=1, out=total)
        if self._sums.law is not None:
            self._sums.law[:, :, 0] += self._trials
        if self._sums.full is not None:
            self._sums.full[self._declared == 0] = self._trials

    def _places(self, time: np.ndarray) -> Int[np.ndarray, "ranks runs"]:
        """The first budget at or after each time; the number of budgets where there is none."""
        if self._consecutive:
            return time.astype(np.int64) - 1
        return np.searchsorted(self._budgets, time)

    def _add(
        self, kept: np.ndarray | None, row: int, at: np.ndarray, weights: np.ndarray | None = None
    ) -> None:
        if kept is None:
            return
        count = len(self._budgets)
        if weights is None:
            kept[row] += np.bincount(at.reshape(-1), minlength=count + 1)[:count]
        else:  # whole numbers below 2^53: exact as floats
            flat = np.broadcast_to(weights, at.shape).astype(np.float64).reshape(-1)
            kept[row] += np.bincount(at.reshape(-1), flat, count + 1)[:count].astype(np.int64)

    def _add_sizes(self, row: int, at: np.ndarray, new: np.ndarray, size: np.ndarray, single: bool) -> None:
        sums = self._sums
        if single:
            self._add(sums.distinct, row, at)
            self._add(sums.distinct_squares, row, at, 2 * np.arange(len(at))[:, None] + 1)
        else:
            self._add(sums.distinct, row, at, new)
            if sums.distinct_squares is not None:
                self._add(sums.distinct_squares, row, at, new * (2 * size - new))
        if sums.full is not None and single:
            last = int(self._declared[row])
            self._add(sums.full, row, at[last - 1 : last] if last else at[:0])
        elif sums.full is not None:
            self._add(sums.full, row, at[(size == self._declared[row]) & (new > 0)])

    def _add_novelty(self, row: int, time: np.ndarray, at: np.ndarray, new: np.ndarray) -> None:
        sums = self._sums
        if sums.any_new is None:
            return
        last = len(self._budgets) - 1
        there = (self._budgets[np.minimum(at, last)] == time) & (new > 0)
        self._add(sums.any_new, row, at[there])
        self._add(sums.new, row, at[there], new[there])
        if sums.new_squares is not None:
            self._add(sums.new_squares, row, at[there], new[there].astype(np.int64) ** 2)

    def _add_law(self, row: int, at: np.ndarray, new: np.ndarray, size: np.ndarray) -> None:
        law = self._sums.law
        assert law is not None
        count, width = law.shape[1:]
        there = (at < count) & (new > 0)
        cells = at[there] * width
        changes = np.bincount(cells + size[there], minlength=count * width)
        changes -= np.bincount(cells + size[there] - new[there], minlength=count * width)
        law[row] += changes.reshape(count, width)

    def _add_held(self, row: int, found: Discoveries) -> None:
        sums, after = self._sums, int(self._budgets[-1]) + 1
        assert sums.held is not None
        width = sums.held.shape[1]
        if found.first is not None:
            draws = after - found.first.astype(np.int64)
            who = np.broadcast_to(np.arange(width)[:, None], draws.shape)
        else:
            assert found.who is not None
            assert self._who is not None
            real = found.time < after
            draws = after - found.time[real].astype(np.int64)
            who = self._who[row][found.who[real]]
        coarse = draws >> sums.shift
        for kept, value in ((sums.held, draws), (sums.coarse, coarse), (sums.coarse_squares, coarse**2)):
            if kept is not None:
                kept[row] += np.bincount(who.reshape(-1), value.reshape(-1), width).astype(np.int64)
