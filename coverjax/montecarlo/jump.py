"""Independent draws without drawing: from one discovery to the next.

The order in which atoms (strategies, or distinct match sets) first appear is that of exponential clocks,
Exp(1) / p. When the unseen atoms have the mass w, the wait for the next discovery is geometric with success
w; draws that repeat or match nothing are the failures. Both are exact in law, whatever the budget: a run
costs M log^2 M operations for M atoms, and a probability of 1e-30 is as good as any.

w is the sum of the unseen p, its complement that of the seen p and the off-strategy mass: the smaller of the
two keeps its digits, as 1 minus the other would not.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int

from coverjax.foundation import rng
from coverjax.foundation.shapes import blocks, bucket, pad_axis
from coverjax.montecarlo import packed
from coverjax.montecarlo.atoms import Atoms
from coverjax.montecarlo.driver import sharded
from coverjax.montecarlo.layout import run_calls, threads_for
from coverjax.montecarlo.progress import Progress
from coverjax.montecarlo.sorting import running, shifted, sorted_order
from coverjax.montecarlo.tables import exponential

_CPU_CELLS, _ACCELERATOR_CELLS = 1 << 16, 1 << 23
"""Atoms x runs of a tile; on a CPU they stay near a core's cache."""

_NEVER = float(1 << 30)


class Job(NamedTuple):
    """What is compiled: whether to return when each strategy appears, their number, the generator's name."""

    held: bool
    strategies: int
    generator: str


class Lawbook(NamedTuple):
    """All inputs: random streams as raw words, atoms in float32 [inputs, atoms], off-strategy mass, sets."""

    keys: np.ndarray
    p: np.ndarray
    off: np.ndarray
    sets: np.ndarray | None


class Lanes(NamedTuple):
    """The runs of a tile, each with what it needs: looked up on the host, since a look-up inside the kernel
    keeps XLA from making vector code of all that is computed with it.

    Attributes:
        keys: the input's random stream [runs, words].
        trial: number of the trial [runs].
        p: probabilities of the atoms [atoms, runs].
        off: probability that a draw discovers nothing, ever [runs].
        at: which of the tile's inputs this is [runs].
    """

    keys: Any
    trial: Any
    p: Any
    off: Any
    at: Any


class Discoveries(NamedTuple):
    """What happened in the runs of one input; ranks count discoveries of atoms, K + 1 means never.

    Attributes:
        time: the draw of each discovery, increasing along ranks [ranks, runs].
        new: how many new strategies it brought [ranks, runs]; None where always 1.
        who: which atom it was [ranks, runs]; None for sets.
        first: the draw after which each strategy is covered [strategies, runs]; None unless asked for, and
            for single strategies.
    """

    time: Any
    new: Any
    who: Any
    first: Any


def _chain(sets: "jax.Array | None", most: jax.Array, lanes: Lanes, job: Job) -> Discoveries:
    """The chains of one tile; `sets` are those of its inputs' atoms [inputs, atoms, words]."""
    streams = jax.random.wrap_key_data(lanes.keys, impl=job.generator)
    trials = jax.vmap(jax.random.fold_in)(streams, lanes.trial)
    ranks = jnp.arange(lanes.p.shape[0], dtype=jnp.int32)
    bits = jax.vmap(lambda rank: jax.vmap(lambda key: rng.words(key, rank))(trials))(ranks)
    who = sorted_order(exponential(bits[..., 0]) / lanes.p)
    p = jnp.take_along_axis(lanes.p, who, axis=0, mode="promise_in_bounds")
    unseen = jnp.minimum(running(jnp.add, p, 0.0, reverse=True), 1.0)
    seen = shifted(running(jnp.add, p, 0.0)) + lanes.off[None]
    rare = unseen < 0.5
    rate = jnp.where(rare, -jnp.log1p(-jnp.where(rare, unseen, 0.0)), -jnp.log(seen))
    wait = jnp.clip(jnp.ceil(exponential(bits[..., 1]) / rate), 1.0, _NEVER).astype(jnp.int32)
    # 64 bits hold any sum of waits; cutting every partial sum in 32 bits would take three times as long.
    total = running(jnp.add, jnp.minimum(wait, most + 1).astype(jnp.int64), 0)
    time = jnp.minimum(total, most + 1).astype(jnp.int32)
    if sets is None:
        return Discoveries(time, None, who if job.held else None, None)
    return _set_discoveries(sets, lanes.at, time, who, most, job)


def _set_discoveries(
    sets: jax.Array, at: jax.Array, time: jax.Array, who: jax.Array, most: jax.Array, job: Job
) -> Discoveries:
    """What the discovery of a set of strategies adds to those seen before."""
    parts = [sets[..., word][at[None], who] for word in range(sets.shape[2])]
    seen = [running(jnp.bitwise_or, part, 0) for part in parts]
    fresh = jnp.stack([part & ~shifted(part) for part in seen])
    first = None
    if job.held:
        # Every strategy is fresh at one rank at most.
        flags = packed.unpacked(fresh, job.strategies)
        early = jnp.where(flags, (most + 1 - time)[..., None], 0)
        first = (most + 1 - early.sum(axis=0)).T
    return Discoveries(time, packed.size(fresh), None, first)


@functools.partial(jax.jit, static_argnames=("job", "mesh"))
def _chains(sets: Any, most: Any, lanes: Lanes, job: Job, mesh: Mesh) -> Discoveries:
    return sharded(functools.partial(_chain, job=job), mesh, 2)(sets, most, lanes)


def run_chains(
    key: jax.Array,
    ids: tuple[object, ...],
    atoms: Atoms,
    trials: int,
    most: int,
    strategies: int,
    held: bool,
    chunk: int | None,
    keep: Callable[[int, Discoveries], None],
) -> None:
    """Run the chains of all inputs and hand over what they discovered.

    Args:
        key: random streams are folded from it and the ids.
        ids: the inputs' names.
        atoms: what can be discovered.
        trials: runs of each input.
        most: the largest budget K.
        strategies: number of strategy columns.
        held: whether to tell when each strategy appears.
        chunk: runs in flight, or None to take it from the memory.
        keep: gets an input's row and some of its runs; called from several threads, in any order.
    """
    ranks = bucket(atoms.p.shape[1], smallest=2)
    cells = _CPU_CELLS if jax.default_backend() == "cpu" else _ACCELERATOR_CELLS
    runs = max(16, cells // ranks)
    mesh = Mesh(np.array(jax.local_devices()), ("tiles",))
    job = Job(held, strategies, str(jax.random.key_impl(key)))
    book = Lawbook(
        keys=np.asarray(jax.random.key_data(rng.input_keys(key, ids))),
        p=pad_axis(atoms.p, ranks, axis=1).astype(np.float32),
        off=atoms.off.astype(np.float32),
        sets=None if atoms.sets is None else pad_axis(atoms.sets, ranks, axis=1),
    )
    parts = blocks(len(ids) * trials, mesh.size * runs)
    with Progress(len(parts)) as progress:

        def call(part: slice) -> None:
            with jax.enable_x64(True):  # for sorting; the setting belongs to a thread
                _call(book, part, trials, runs, most, job, mesh, keep)
            progress.step()

        run_calls([functools.partial(call, part) for part in parts], threads_for(chunk, runs))


def _call(
    book: Lawbook,
    part: slice,
    trials: int,
    runs: int,
    most: int,
    job: Job,
    mesh: Mesh,
    keep: Callable[[int, Discoveries], None],
) -> None:
    """Run some consecutive runs, numbered input after input."""
    number = np.minimum(np.arange(part.start, part.start + mesh.size * runs), part.stop - 1)
    row, trial = number // trials, number % trials
    low, high = int(row[0]), int(row[-1]) + 1
    shape = (mesh.size, runs)
    lanes = Lanes(
        keys=book.keys[row].reshape(*shape, -1),
        trial=trial.astype(np.int32).reshape(shape),
        p=np.ascontiguousarray(book.p[row].reshape(*shape, -1).transpose(0, 2, 1)),
        off=book.off[row].reshape(shape),
        at=(row - low).astype(np.int32).reshape(shape),
    )
    sets = None
    if book.sets is not None:
        width = bucket(high - low, smallest=1)
        sets = book.sets[np.minimum(np.arange(low, low + width), high - 1)]
    found = _chains(sets, np.int32(most), lanes, job=job, mesh=mesh)
    whole = jax.tree.map(_beside, found)
    for index in range(low, high):
        start, stop = max(index * trials, part.start), min((index + 1) * trials, part.stop)
        own = slice(start - part.start, stop - part.start)
        keep(index, jax.tree.map(lambda leaf, own=own: leaf[:, own], whole))


def _beside(leaf: jax.Array) -> Int[np.ndarray, "ranks runs"]:
    """Put the runs of all devices beside each other."""
    array = np.asarray(leaf)
    return array[0] if len(array) == 1 else np.moveaxis(array, 0, 1).reshape(array.shape[1], -1)
