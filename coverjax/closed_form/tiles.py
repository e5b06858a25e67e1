"""Run a kernel over tiles of inputs, so that memory stays near the size of the result."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import numpy as np

from coverjax.foundation.shapes import blocks, bucket

CPU_BYTES = 12 << 20
"""Working memory of one tile on a CPU: about a cache, which is also where the kernels are fastest."""

ACCELERATOR_BYTES = 1 << 30
"""Working memory of one tile on an accelerator."""

FREE_BYTES = 1 << 20
"""Working memory that is computed in no time."""


def tile_size(inputs: int, bytes_per_input: float) -> int:
    """Return how many inputs to compute at once: a power of two, fixed by sizes and device kind.

    A few inputs are padded to 8 where that costs next to nothing, so that they share a program.
    """
    allowed = CPU_BYTES if jax.default_backend() == "cpu" else ACCELERATOR_BYTES
    fitting = max(1, int(allowed / max(bytes_per_input, 1.0)))
    fewest = min(8, 1 << max(0, int(FREE_BYTES / max(bytes_per_input, 1.0)).bit_length() - 1))
    return min(1 << (fitting.bit_length() - 1), bucket(inputs, smallest=fewest))


def over_tiles(
    kernel: Callable[..., Sequence[np.ndarray]], arrays: Sequence[np.ndarray], tile: int
) -> tuple[np.ndarray, ...]:
    """Return the kernel's results for all inputs, computed `tile` inputs at a time.

    Args:
        kernel: takes arrays with `tile` rows, returns a tuple of arrays with `tile` rows. It is always
            called at this size (the last rows are repeated), so that one program serves all tiles.
        arrays: arrays whose first axis is the inputs.
        tile: inputs of one call.
    """
    parts = blocks(len(arrays[0]), tile)
    first = kernel(*(_rows(array, parts[0], tile) for array in arrays))
    if len(parts) == 1:
        return tuple(result[: parts[0].stop] for result in first)
    results = tuple(np.empty((len(arrays[0]), *part.shape[1:]), part.dtype) for part in first)

    def compute(part: slice, values: Sequence[np.ndarray] | None = None) -> None:
        values = values or kernel(*(_rows(array, part, tile) for array in arrays))
        for result, value in zip(results, values, strict=True):
            result[part] = value[: part.stop - part.start]

    compute(parts[0], first)
    in_threads([partial(compute, part) for part in parts[1:]])
    return results


def in_threads(tasks: Sequence[Callable[[], None]]) -> None:
    """Run independent tasks on all cores: XLA runs small kernels on one and leaves Python's lock."""
    device = jax.config.jax_default_device  # type: ignore[attr-defined]  # it belongs to a thread

    def run(task: Callable[[], None]) -> None:
        with jax.default_device(device):
            task()

    with ThreadPoolExecutor(_workers()) as pool:
        for waiting in [pool.submit(run, task) for task in tasks]:
            waiting.result()


def _workers() -> int:
    """One thread per core on a CPU; an accelerator takes one tile at a time."""
    if jax.default_backend() != "cpu":
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _rows(array: np.ndarray, part: slice, tile: int) -> np.ndarray:
    rows = array[part]
    missing = tile - len(rows)
    return rows if missing == 0 else np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)])
