"""How the runs of a simulation are cut into tiles, calls and groups."""

import os
from typing import NamedTuple

import jax
import numpy as np

from coverjax.foundation.shapes import bucket

CPU_LANES, ACCELERATOR_LANES = 1024, 1 << 17
"""Runs in a tile; on a CPU they stay in a core's cache."""

MOST_TRIALS = 1 << 15
"""Trials of an input in one tile: sums of 16-bit parts over them stay below 2^32."""

CPU_BYTES = 256 << 20
"""Memory for the runs in flight on a CPU."""


class Layout(NamedTuple):
    """Sizes of tiles and calls. What a tile is depends on the sizes of the problem and the kind of device
    only; how many there are at once is free.

    Attributes:
        inputs, trials: runs of a tile.
        blocks, trial_blocks: number of tiles along both.
        at_once: tiles of one call, a multiple of the number of devices.
        together: blocks of inputs that are prepared together.
    """

    inputs: int
    trials: int
    blocks: int
    trial_blocks: int
    at_once: int
    together: int


def lanes() -> int:
    """Return the number of runs in a tile."""
    return CPU_LANES if jax.default_backend() == "cpu" else ACCELERATOR_LANES


def workers() -> int:
    """Return how many threads to feed: one per core for the one device of a CPU, else one."""
    if jax.default_backend() != "cpu" or jax.local_device_count() > 1:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def tile_shape(inputs: int, trials: int) -> tuple[int, int]:
    """Return inputs x trials of a tile: the cut of a fixed number of runs that pads least."""
    cuts = [1 << power for power in range(min(lanes(), MOST_TRIALS).bit_length())]

    def padded(cut: int) -> int:
        own = lanes() // cut
        return -(-inputs // own) * own * -(-trials // cut) * cut

    best = min(cuts, key=lambda cut: (padded(cut), -cut))
    return lanes() // best, best


def memory() -> int:
    """Return the bytes for the runs in flight: a quarter of an accelerator's memory."""
    device = jax.local_devices()[0]
    stats = None if device.platform == "cpu" else device.memory_stats()
    return CPU_BYTES if not stats else int(stats.get("bytes_limit", 4 * CPU_BYTES)) // 4


def layout(inputs: int, trials: int, tile_bytes: int, chunk: int | None) -> Layout:
    """Cut the runs.

    Args:
        inputs, trials: of the simulation.
        tile_bytes: about how much memory a tile takes.
        chunk: runs in flight, or None to take it from the memory.
    """
    own, each = tile_shape(inputs, trials)
    blocks, trial_blocks = -(-inputs // own), -(-trials // each)
    devices = jax.local_device_count()
    fitting = memory() // max(1, tile_bytes) if chunk is None else chunk // (own * each)
    wanted = min(fitting // workers(), -(-blocks * trial_blocks // workers()))
    at_once = devices * bucket(-(-max(1, wanted) // devices), smallest=1)
    together = max(1, at_once * workers() // trial_blocks)
    return Layout(own, each, blocks, trial_blocks, at_once, min(together, blocks))


def group_tiles(cut: Layout, first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the block (from `first` on) and the first trial of each tile of some blocks of inputs."""
    count = stop - first
    block = np.repeat(np.arange(count), cut.trial_blocks)
    trial = np.tile(np.arange(cut.trial_blocks) * cut.trials, count)
    return block, trial.astype(np.int32)
