"""Independent draws without drawing: from one discovery to the next.

The order in which atoms (strategies, or distinct match sets) first appear is that of exponential clocks,
Exp(1) / p. When the unseen atoms have the mass w, the wait for the next discovery is geometric with success w;
draws that repeat or match nothing are the failures. Both are exact in law, whatever the budget: a run costs
M log^2 M operations for M atoms, and a probability of 1e-30 is as good as any.

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

from coverjax.closed_form.tiles import in_threads
from coverjax.foundation import rng
from coverjax.foundation.shapes import blocks, bucket, pad_axis
from coverjax.montecarlo import packed
from coverjax.montecarlo.atoms import Atoms
from coverjax.montecarlo.driver import over_active, sharded
from coverjax.montecarlo.layout import memory, workers
from coverjax.montecarlo.progress import Progress
from coverjax.montecarlo.sorting import running, sorted_together
from coverjax.montecarlo.tables import exponential

_CPU_CELLS, _ACCELERATOR_CELLS = 1 << 14, 1 << 22
"""Atoms x runs of a tile; on a CPU they stay in a core's cache."""

_NEVER = float(1 << 30)


class Job(NamedTuple):
    """What is compiled: whether to return when each strategy appears, their number, the generator's name."""

    held: bool
    strategies: int
    generator: str


class Lawbook(NamedTuple):
    """The atoms of some inputs, float32, and the inputs' random streams as raw words."""

    keys: Any
    p: Any
    off: Any
    sets: Any


class Lanes(NamedTuple):
    """The runs of a tile: which input and which trial each of them is [runs]."""

    at: Any
    trial: Any


class Discoveries(NamedTuple):
    """What happened in the runs of one input; ranks count discoveries of atoms, K + 1 means never.

    Attributes:
        time: the draw of each discovery, increasing along ranks [ranks, runs].
        new: how many new strategies it brought [ranks, runs]; None where always 1.
        who: which atom it was [ranks, runs]; None for sets.
        first: the draw after which each strategy is covered [strategies, runs]; None unless asked for, and
            for single strategies.
    """

    time: Int[np.ndarray, "ranks runs"]
    new: Int[np.ndarray, "ranks runs"] | None
    who: Int[np.ndarray, "ranks runs"] | None
    first: Int[np.ndarray, "strategies runs"] | None


def _chain(book: Lawbook, lanes: Lanes, most: jax.Array, job: Job) -> Discoveries:
    """The chains of one tile."""
    streams = jax.random.wrap_key_data(book.keys[lanes.at], impl=job.generator)
    trials = jax.vmap(jax.random.fold_in)(streams, lanes.trial)
    ranks = jnp.arange(book.p.shape[1], dtype=jnp.int32)
    bits = jax.vmap(lambda rank: jax.vmap(lambda key: rng.words(key, rank))(trials))(ranks)
    p = book.p[lanes.at].T
    who = jnp.broadcast_to(ranks[:, None], p.shape)
    _, p, who = sorted_together(exponential(bits[..., 0]) / p, p, who)
    unseen = jnp.minimum(running(jnp.add, p, 0.0, reverse=True), 1.0)
    seen = running(jnp.add, p, 0.0)
    seen = jnp.concatenate([jnp.zeros_like(seen[:1]), seen[:-1]]) + book.off[lanes.at][None]
    rare = unseen < 0.5
    rate = jnp.where(rare, -jnp.log1p(-jnp.where(rare, unseen, 0.0)), -jnp.log(seen))
    wait = jnp.clip(jnp.ceil(exponential(bits[..., 1]) / rate), 1.0, _NEVER).astype(jnp.int32)

    def later(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.minimum(a + b, most + 1)

    time = running(later, jnp.minimum(wait, most + 1), 0)
    if book.sets is None:
        return Discoveries(time, None, who if job.held else None, None)
    return _set_discoveries(book, lanes, time, who, most, job)


def _set_discoveries(
    book: Lawbook, lanes: Lanes, time: jax.Array, who: jax.Array, most: jax.Array, job: Job
) -> Discoveries:
    """What the discovery of a set of strategies adds to those seen before."""
    parts = [book.sets[..., word][lanes.at[None], who] for word in range(book.sets.shape[2])]
    seen = [running(jnp.bitwise_or, part, 0) for part in parts]
    before = [jnp.concatenate([jnp.zeros_like(s[:1]), s[:-1]]) for s in seen]
    fresh = jnp.stack([s & ~b for s, b in zip(seen, before, strict=True)])
    first = None
    if job.held:
        # Every strategy is fresh at one rank at most.
        flags = packed.unpacked(fresh, job.strategies)
        early = jnp.where(flags, (most + 1 - time)[..., None], 0)
        first = (most + 1 - early.sum(axis=0)).T
    return Discoveries(time, packed.size(fresh), None, first)


@functools.partial(jax.jit, static_argnames=("job", "mesh"))
def _chains(book: Lawbook, lanes: Lanes, active: Any, most: Any, job: Job, mesh: Mesh) -> Discoveries:
    def own(book: Lawbook, most: Any, lanes: Lanes, active: Any) -> Discoveries:
        return over_active(lambda tile: _chain(book, tile, most, job), lanes, active)

    return sharded(own, mesh, 2)(book, most, lanes, active)


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
    total = len(ids) * trials
    fitting = memory() // (64 * ranks * runs) if chunk is None else chunk // runs
    wanted = max(1, min(fitting, -(-total // (runs * workers() * 2))))
    at_once = mesh.size * bucket(-(-wanted // mesh.size), smallest=1)
    job = Job(held, strategies, str(jax.random.key_impl(key)))
    book = Lawbook(
        keys=np.asarray(jax.random.key_data(rng.input_keys(key, ids))),
        p=pad_axis(atoms.p, ranks, axis=1).astype(np.float32),
        off=atoms.off.astype(np.float32),
        sets=None if atoms.sets is None else pad_axis(atoms.sets, ranks, axis=1),
    )
    parts = blocks(total, at_once * runs)
    with Progress(len(parts)) as progress:

        def call(part: slice) -> None:
            with jax.enable_x64(False):  # the setting belongs to a thread
                _call(book, part, trials, runs, at_once, most, job, mesh, keep)
            progress.step()

        in_threads([functools.partial(call, part) for part in parts])


def _call(
    book: Lawbook,
    part: slice,
    trials: int,
    runs: int,
    at_once: int,
    most: int,
    job: Job,
    mesh: Mesh,
    keep: Callable[[int, Discoveries], None],
) -> None:
    """Run some consecutive runs, numbered input after input."""
    number = np.minimum(np.arange(part.start, part.start + at_once * runs), part.stop - 1)
    row, trial = number // trials, number % trials
    low, high = int(row[0]), int(row[-1]) + 1
    width = bucket(high - low, smallest=1)
    inputs = np.minimum(np.arange(low, low + width), high - 1)
    some = jax.tree.map(lambda leaf: leaf[inputs], book)
    shape = (at_once, runs)
    lanes = Lanes((row - low).astype(np.int32).reshape(shape), trial.astype(np.int32).reshape(shape))
    share, count = at_once // mesh.size, -(-(part.stop - part.start) // runs)
    active = np.clip(count - share * np.arange(mesh.size), 0, share).astype(np.int32)
    found = _chains(some, lanes, active, np.int32(most), job=job, mesh=mesh)
    whole = jax.tree.map(lambda leaf: np.moveaxis(np.asarray(leaf), 0, 1).reshape(leaf.shape[1], -1), found)
    for index in range(low, high):
        start, stop = max(index * trials, part.start), min((index + 1) * trials, part.stop)
        own = slice(start - part.start, stop - part.start)
        keep(index, jax.tree.map(lambda leaf, own=own: leaf[:, own], whole))
