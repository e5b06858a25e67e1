"""How the runs of a simulation are cut into tiles, calls and groups.

A call of a kernel computes one tile on every device; on the one device of a CPU several threads make calls
at the same time. (A loop over tiles inside the kernel would copy its results again and again.) What a tile is
depends on the sizes of the problem and the device only; how many are in flight is free.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax
import numpy as np

CPU_LANES, ACCELERATOR_LANES = 1 << 12, 1 << 17
"""The most runs in a tile; on a CPU they stay near the cores."""

MOST_TRIALS = 1 << 15
"""Trials of an input in one tile: sums of 16-bit parts over them stay below 2^32."""

CPU_BYTES = 64 << 20
"""Memory for one tile on a CPU."""


class Layout(NamedTuple):
    """Sizes of tiles and groups.

    Attributes:
        inputs, trials: runs of a tile.
        blocks, trial_blocks: number of tiles along both.
        devices: tiles of one call.
        threads: calls at the same time.
        together: blocks of inputs that are prepared together.
    """

    inputs: int
    trials: int
    blocks: int
    trial_blocks: int
    devices: int
    threads: int
    together: int


def workers() -> int:
    """Return how many threads to feed: one per core for the one device of a CPU, else one."""
    if jax.default_backend() != "cpu" or jax.local_device_count() > 1:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def memory() -> int:
    """Return the bytes for one tile: an eighth of an accelerator's memory."""
    device = jax.local_devices()[0]
    stats = None if device.platform == "cpu" else device.memory_stats()
    return CPU_BYTES if not stats else int(stats.get("bytes_limit", 8 * CPU_BYTES)) // 8


def lanes(run_bytes: int) -> int:
    """Return the number of runs in a tile, a power of two."""
    most = CPU_LANES if jax.default_backend() == "cpu" else ACCELERATOR_LANES
    fitting = max(16, memory() // max(1, run_bytes))
    return min(most, 1 << (fitting.bit_length() - 1))


def tile_shape(inputs: int, trials: int, runs: int) -> tuple[int, int]:
    """Return inputs x trials of a tile of some runs: the cut that pads least."""
    cuts = [1 << power for power in range(min(runs, MOST_TRIALS).bit_length())]

    def padded(cut: int) -> int:
        own = runs // cut
        return -(-inputs // own) * own * -(-trials // cut) * cut

    best = min(cuts, key=lambda cut: (padded(cut), -cut))
    return runs // best, best


def threads_for(chunk: int | None, runs: int) -> int:
    """Return how many calls to make at the same time."""
    return workers() if chunk is None else max(1, min(workers(), chunk // runs))


def layout(inputs: int, trials: int, run_bytes: int, chunk: int | None) -> Layout:
    """Cut the runs.

    Args:
        inputs, trials: of the simulation.
        run_bytes: about how much memory a run takes.
        chunk: about how many runs are in flight, or None to use all cores.
    """
    runs = lanes(run_bytes)
    own, each = tile_shape(inputs, trials, runs)
    blocks, trial_blocks = -(-inputs // own), -(-trials // each)
    devices, threads = jax.local_device_count(), threads_for(chunk, runs)
    together = max(1, 8 * threads * devices // trial_blocks)
    return Layout(own, each, blocks, trial_blocks, devices, threads, min(together, blocks))


def group_tiles(cut: Layout, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the block and the first trial of each tile of `count` blocks of inputs."""
    block = np.repeat(np.arange(count), cut.trial_blocks)
    trial = np.tile(np.arange(cut.trial_blocks) * cut.trials, count)
    return block, trial.astype(np.int32)


def run_calls(calls: Sequence[Callable[[], None]], threads: int) -> None:
    """Make independent calls, some at the same time."""
    if threads == 1:
        for call in calls:
            call()
        return
    with ThreadPoolExecutor(threads) as pool:
        for waiting in [pool.submit(call) for call in calls]:
            waiting.result()
