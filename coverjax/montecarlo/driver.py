"""Drives the scan: prepares inputs, hands tiles to the devices, adds up what comes back."""

import functools
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from coverjax.closed_form.results import Wanted
from coverjax.closed_form.tiles import in_threads
from coverjax.foundation import rng
from coverjax.foundation.checks import InputError
from coverjax.foundation.shapes import blocks, bucket
from coverjax.montecarlo.kernel import Job, Limits, Runs, Tile, advance_tile, finish_tile, start_tile
from coverjax.montecarlo.layout import group_tiles, lanes, layout, tile_shape
from coverjax.montecarlo.progress import Progress
from coverjax.montecarlo.sums import Sums, empty_sums
from coverjax.montecarlo.tables import shape_of, tables
from coverjax.policy.stage import LawOrModel, actions, knowledge, split

_DRAWS = 64
"""Draws in one call of the kernel: one program serves every longer budget."""

ON_TILES = P("tiles")


def scan_sums(
    key: jax.Array,
    policy: Any,
    counted: LawOrModel,
    budgets: np.ndarray,
    trials: int,
    wanted: Wanted,
    chunk: int | None,
) -> Sums:
    """Return the sums over trials that the scan makes; arguments as in `simulate`."""
    scan = _Scan(key, policy, counted, budgets, trials, wanted, chunk)
    with jax.enable_x64(False), Progress(scan.steps) as progress:
        for group in blocks(scan.layout.blocks, scan.layout.together):
            scan.run_group(group, progress)
    return scan.sums


class _Scan:
    """One simulation by the scan."""

    def __init__(
        self,
        key: jax.Array,
        policy: Any,
        counted: LawOrModel,
        budgets: np.ndarray,
        trials: int,
        wanted: Wanted,
        chunk: int | None,
    ) -> None:
        self.key, self.policy, self.counted, self.budgets, self.trials = key, policy, counted, budgets, trials
        acts = actions(policy, counted)
        one_label = acts.matches is None
        latents = policy.acts_on == "latents"
        self.sums = empty_sums(counted.inputs, counted.strategies, budgets, wanted, latents, one_label)
        numbers, frozen = split(policy)
        self.numbers = jax.tree.map(_narrow, numbers)
        self.job = Job(
            frozen=frozen,
            shape=shape_of(acts),
            strategies=counted.strategies,
            trials=tile_shape(counted.inputs, trials)[1],
            draws=min(_DRAWS, bucket(int(budgets[-1]))),
            held=self.sums.held is not None,
            used=self.sums.used is not None,
            law=self.sums.law is not None,
            generator=str(jax.random.key_impl(key)),
        )
        self.layout = layout(counted.inputs, trials, _tile_bytes(self.job), chunk)
        self.mesh = Mesh(np.array(jax.local_devices()), ("tiles",))
        self.lock = threading.Lock()

    @property
    def steps(self) -> int:
        """Number of kernel calls."""
        groups = blocks(self.layout.blocks, self.layout.together)
        tiles = [(group.stop - group.start) * self.layout.trial_blocks for group in groups]
        calls = sum(-(-count // self.layout.at_once) for count in tiles)
        return calls * -(-int(self.budgets[-1]) // self.job.draws)

    def run_group(self, group: slice, progress: Progress) -> None:
        """Prepare some blocks of inputs and run all their tiles."""
        own = self.layout.inputs
        rows = np.arange(group.start * own, min(group.stop * own, self.counted.inputs))
        prepared = self._prepared(rows, group.stop - group.start)
        block, first = group_tiles(self.layout, group.start, group.stop)
        parts = blocks(len(block), self.layout.at_once)
        in_threads(
            [functools.partial(self._call, prepared, rows, block[p], first[p], progress) for p in parts]
        )

    def _prepared(self, rows: np.ndarray, count: int) -> Tile:
        """What the tiles of some inputs read, [blocks, inputs of a tile, ...]; the last input fills up."""
        filled = rows[np.minimum(np.arange(count * self.layout.inputs), len(rows) - 1)]
        distinct = self.counted.take(rows)
        spread = filled - rows[0]

        def cut(leaf: Any) -> np.ndarray:
            array = _narrow(np.asarray(leaf))[spread]
            return array.reshape(count, self.layout.inputs, *array.shape[1:])

        keys = jax.random.key_data(rng.input_keys(self.key, distinct.names))
        known = knowledge(self.policy, distinct, int(self.budgets[-1]))
        read = tables(actions(self.policy, distinct), self.job.shape)
        return jax.tree.map(cut, Tile(keys, known, read, first=None))

    def _call(
        self, prepared: Tile, rows: np.ndarray, block: np.ndarray, first: np.ndarray, progress: Progress
    ) -> None:
        """Run some tiles through all draws and add up their sums."""
        filled = np.minimum(np.arange(self.layout.at_once), len(block) - 1)
        tile = jax.tree.map(lambda leaf: leaf[block[filled]], prepared)._replace(first=first[filled])
        own = self.layout.inputs
        places = [rows[b * own : (b + 1) * own] for b in block.tolist()]
        share = self.layout.at_once // self.mesh.size
        active = np.clip(len(block) - share * np.arange(self.mesh.size), 0, share).astype(np.int32)
        with jax.enable_x64(False):  # the setting belongs to a thread
            runs = _start(self.numbers, tile, active, job=self.job, mesh=self.mesh)
            for start in range(0, int(self.budgets[-1]), self.job.draws):
                limits = Limits(*(np.int32(n) for n in (start, self.budgets[-1], self.trials)))
                runs, found = _advance(self.numbers, tile, runs, limits, active, job=self.job, mesh=self.mesh)
                self._add_draws(places, start, found)
                progress.step()
            if bool(np.asarray(runs.bad)[: len(block)].any()):
                name = type(self.policy).__name__
                raise InputError(f"{name}: choose must return numbers or -inf; got NaN or +inf")
            if self.job.held:
                self._add_held(places, _finish(runs, np.int32(self.sums.shift), active, mesh=self.mesh))

    def _add_draws(self, places: list[np.ndarray], start: int, found: dict[str, jax.Array]) -> None:
        """Add the sums of the draws that budgets ask for; `found` is [tiles, draws, inputs, ...]."""
        low, high = np.searchsorted(self.budgets, [start + 1, start + self.job.draws + 1])
        if low == high:
            return
        offsets = self.budgets[low:high] - 1 - start
        sums = {name: np.asarray(value)[: len(places)][:, offsets] for name, value in found.items()}
        with self.lock:
            for name, value in _joined(sums).items():
                kept = getattr(self.sums, name)
                if kept is not None:
                    for index, rows in enumerate(places):
                        kept[rows, low:high] += np.moveaxis(value[index][:, : len(rows)], 0, 1)

    def _add_held(self, places: list[np.ndarray], found: dict[str, jax.Array]) -> None:
        with self.lock:
            for name, value in _joined({name: np.asarray(value) for name, value in found.items()}).items():
                kept = getattr(self.sums, name)
                if kept is not None:
                    for index, rows in enumerate(places):
                        kept[rows] += value[index, : len(rows), : self.job.strategies]


def _joined(sums: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Put lower and upper 16 bits together, int64."""
    whole = {}
    for name, value in sums.items():
        if not name.endswith("_high"):
            high = sums.get(name + "_high")
            whole[name] = value.astype(np.int64)
            if high is not None:
                whole[name] += high.astype(np.int64) << 16
    return whole


def _narrow(leaf: Any) -> Any:
    """Numbers as the kernel takes them: float32 and int32."""
    if not isinstance(leaf, np.ndarray | np.generic | jax.Array):
        return leaf
    array = np.asarray(leaf)
    kinds = {"float64": np.float32, "int64": np.int32, "uint64": np.uint32}
    return array.astype(kinds.get(array.dtype.name, array.dtype))


def _tile_bytes(job: Job) -> int:
    """About how much memory a tile takes."""
    words = -(-job.strategies // 32)
    run = 64 + 4 * words * (33 if job.held else 1) + 16 * job.strategies + 8 * job.shape.actions
    cells = job.shape.actions * max(job.shape.width, 1) + job.shape.outcomes * words
    sums = job.draws * 4 * (16 + (job.strategies if job.law else 0))
    inputs = lanes() // job.trials
    return 3 * lanes() * run + inputs * (4 * cells + sums + 8 * job.strategies * job.shape.actions)


# -- the kernel on all devices ---------------------------------------------------------------------


def over_active(function: Callable[[Any], Any], stacked: Any, active: Any, out: Any = None) -> Any:
    """Apply a function to the first `active` entries of a stack, one after the other.

    The number is traced, so that XLA compiles the same loop body for any number of tiles and never
    melts it into its surroundings: rounding inside does not depend on it.
    """
    one = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), stacked)
    count = jax.tree.leaves(stacked)[0].shape[0]
    if out is None:
        shapes = jax.eval_shape(function, one)
        out = jax.tree.map(lambda leaf: jnp.zeros((count, *leaf.shape), leaf.dtype), shapes)

    def body(index: jax.Array, out: Any) -> Any:
        entry = jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, index, keepdims=False), stacked)
        return jax.tree.map(
            lambda whole, part: jax.lax.dynamic_update_index_in_dim(whole, part, index, 0),
            out,
            function(entry),
        )

    return jax.lax.fori_loop(0, active[0], body, out)


def sharded(function: Callable[..., Any], mesh: Mesh, replicated: int) -> Callable[..., Any]:
    """Run on every device's own tiles; the first `replicated` arguments go to all devices."""

    def specs(*arguments: Any) -> tuple[Any, ...]:
        return tuple(
            jax.tree.map(lambda _: P() if place < replicated else ON_TILES, argument)
            for place, argument in enumerate(arguments)
        )

    def call(*arguments: Any) -> Any:
        return jax.shard_map(
            function, mesh=mesh, in_specs=specs(*arguments), out_specs=ON_TILES, check_vma=False
        )(*arguments)

    return call


@functools.partial(jax.jit, static_argnames=("job", "mesh"))
def _start(numbers: Any, tiles: Tile, active: Any, job: Job, mesh: Mesh) -> Runs:
    def own(numbers: Any, tiles: Tile, active: Any) -> Runs:
        return over_active(lambda tile: start_tile(numbers, tile, job), tiles, active)

    return sharded(own, mesh, 1)(numbers, tiles, active)


@functools.partial(jax.jit, static_argnames=("job", "mesh"))
def _advance(
    numbers: Any, tiles: Tile, runs: Runs, limits: Limits, active: Any, job: Job, mesh: Mesh
) -> tuple[Runs, dict[str, jax.Array]]:
    def own(numbers: Any, limits: Limits, tiles: Tile, runs: Runs, active: Any) -> Any:
        def one(entry: tuple[Tile, Runs]) -> tuple[Runs, dict[str, jax.Array]]:
            return advance_tile(numbers, *entry, limits, job)

        return over_active(one, (tiles, runs), active)

    return sharded(own, mesh, 2)(numbers, limits, tiles, runs, active)


@functools.partial(jax.jit, static_argnames=("mesh",))
def _finish(runs: Runs, shift: Any, active: Any, mesh: Mesh) -> dict[str, jax.Array]:
    def own(shift: Any, runs: Runs, active: Any) -> dict[str, jax.Array]:
        return over_active(lambda one: finish_tile(one, shift), runs, active)

    return sharded(own, mesh, 1)(shift, runs, active)
