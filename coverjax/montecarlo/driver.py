"""Drives the scan: prepares inputs, hands tiles to the devices, adds up what comes back."""

import functools
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from coverjax.closed_form.results import Wanted
from coverjax.foundation import rng
from coverjax.foundation.checks import InputError
from coverjax.foundation.shapes import blocks, bucket
from coverjax.montecarlo.kernel import Job, Limits, Runs, Tile, advance_tile, finish_tile, start_tile
from coverjax.montecarlo.layout import group_tiles, layout, run_calls
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
        job = Job(
            frozen=frozen,
            shape=shape_of(acts),
            strategies=counted.strategies,
            trials=0,
            draws=min(_DRAWS, bucket(int(budgets[-1]))),
            held=self.sums.held is not None,
            used=self.sums.used is not None,
            law=self.sums.law is not None,
            generator=str(jax.random.key_impl(key)),
        )
        self.layout = layout(counted.inputs, trials, _run_bytes(job), chunk)
        self.job = job._replace(trials=self.layout.trials)
        self.mesh = Mesh(np.array(jax.local_devices()), ("tiles",))
        self.lock = threading.Lock()

    @property
    def steps(self) -> int:
        """Number of kernel calls."""
        groups = blocks(self.layout.blocks, self.layout.together)
        tiles = [(group.stop - group.start) * self.layout.trial_blocks for group in groups]
        calls = sum(-(-count // self.layout.devices) for count in tiles)
        return calls * -(-int(self.budgets[-1]) // self.job.draws)

    def run_group(self, group: slice, progress: Progress) -> None:
        """Prepare some blocks of inputs and run all their tiles."""
        own, count = self.layout.inputs, group.stop - group.start
        rows = np.arange(group.start * own, min(group.stop * own, self.counted.inputs))
        prepared = self._prepared(rows, count)
        block, first = group_tiles(self.layout, count)
        calls = [
            functools.partial(self._call, prepared, rows, block[part], first[part], progress)
            for part in blocks(len(block), self.layout.devices)
        ]
        run_calls(calls, self.layout.threads)

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
        filled = np.minimum(np.arange(self.layout.devices), len(block) - 1)
        tile = jax.tree.map(lambda leaf: leaf[block[filled]], prepared)._replace(first=first[filled])
        own = self.layout.inputs
        places = [rows[b * own : (b + 1) * own] for b in block.tolist()]
        static = {"job": self.job, "mesh": self.mesh}
        with jax.enable_x64(False):  # the setting belongs to a thread
            runs = _start(self.numbers, tile, **static)
            for start in range(0, int(self.budgets[-1]), self.job.draws):
                limits = Limits(*(np.int32(n) for n in (start, self.budgets[-1], self.trials)))
                runs, found = _advance(self.numbers, limits, tile, runs, **static)
                self._add_draws(places, start, found)
                progress.step()
            if bool(np.asarray(runs.bad).any()):
                name = type(self.policy).__name__
                raise InputError(f"{name}: choose must return numbers or -inf; got NaN or +inf")
            if self.job.held:
                self._add_held(places, _finish(np.int32(self.sums.shift), runs, mesh=self.mesh))

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


def _run_bytes(job: Job) -> int:
    """About how much memory a run takes."""
    words = -(-job.strategies // 32)
    return 3 * (64 + 4 * words * (33 if job.held else 1) + 16 * job.strategies + 8 * job.shape.actions)


# -- the kernel on all devices: one tile each ------------------------------------------------------


def sharded(function: Callable[..., Any], mesh: Mesh, replicated: int) -> Callable[..., Any]:
    """Run on every device's own tile; the first `replicated` arguments go to all devices.

    The other arguments and the results have the devices as their first axis.
    """

    def own(*arguments: Any) -> Any:
        mine = [jax.tree.map(lambda leaf: leaf[0], a) for a in arguments[replicated:]]
        return jax.tree.map(lambda leaf: leaf[None], function(*arguments[:replicated], *mine))

    def call(*arguments: Any) -> Any:
        specs = tuple(P() if place < replicated else ON_TILES for place in range(len(arguments)))
        run = jax.shard_map(own, mesh=mesh, in_specs=specs, out_specs=ON_TILES, check_vma=False)
        return run(*arguments)

    return call


@functools.partial(jax.jit, static_argnames=("job", "mesh"))
def _start(numbers: Any, tile: Tile, job: Job, mesh: Mesh) -> Runs:
    return sharded(functools.partial(start_tile, job=job), mesh, 1)(numbers, tile)


@functools.partial(jax.jit, static_argnames=("job", "mesh"))
def _advance(
    numbers: Any, limits: Limits, tile: Tile, runs: Runs, job: Job, mesh: Mesh
) -> tuple[Runs, dict[str, jax.Array]]:
    return sharded(functools.partial(advance_tile, job=job), mesh, 2)(numbers, limits, tile, runs)


@functools.partial(jax.jit, static_argnames=("mesh",))
def _finish(shift: Any, runs: Runs, mesh: Mesh) -> dict[str, jax.Array]:
    return sharded(finish_tile, mesh, 1)(shift, runs)
