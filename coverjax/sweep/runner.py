"""Run a sweep: what is missing is made, part by part, and can be stopped at any moment."""

import contextlib
import dataclasses
import os
import pathlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import jax
from tqdm import tqdm

from coverjax.foundation.checks import InputError, listed
from coverjax.sweep.executors import Made, Stopping, in_processes, in_this_process
from coverjax.sweep.grid import Part, Sweep
from coverjax.sweep.making import order_of
from coverjax.sweep.manifest import manifest_of
from coverjax.sweep.store import Store

_COMPILED = "/jax/core/compile/backend_compile_duration"


@dataclasses.dataclass(frozen=True)
class SweepRun:
    """What a run did.

    Attributes:
        folder: of the sweep.
        cells: of the sweep.
        done: cells that are there now.
        made: cells that this run made.
        seconds: that it took.
        compilations: programs that this process compiled (not its workers).
        stopped: the signal that stopped it, or None.
        repaired: files that were damaged, set aside and made again.
    """

    folder: pathlib.Path
    cells: int
    done: int
    made: int
    seconds: float
    compilations: int
    stopped: int | None
    repaired: list[str]

    @property
    def complete(self) -> bool:
        """Whether every cell is there."""
        return self.done == self.cells


def run_sweep(
    sweep: Sweep,
    out: "str | os.PathLike[str]",
    *,
    resume: bool = False,
    workers: int = 1,
    ray: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> SweepRun:
    """Make the parts of a sweep that are missing from its folder.

    The bytes of a part depend on the sweep and the versions of what makes it, not on where it is made. On
    SIGINT or SIGTERM the parts under way are finished; a second SIGINT drops them.

    Args:
        sweep: from `read_sweep`.
        out: its folder, made if it is not there.
        resume: go on with what is there.
        workers: number of processes; 1 is this process, on all its devices.
        ray: address of a Ray cluster, "auto", or "local" to start one here; the workers are then Ray's.
        tell: called with lines for the user.

    Raises:
        InputError: as `Store` raises, or a part can't be made or written; what is done is kept.
    """
    if workers < 1:
        raise InputError(f"workers: must be at least 1; got {workers}")
    start = time.perf_counter()
    with Store(pathlib.Path(out), sweep, resume) as store, _stopping() as stop, _compilations() as count:
        if store.repaired:
            tell(f"{store.folder}: damaged and made again: {listed(store.repaired, 3)}")
        missing = store.missing
        numbers = [part.number for part in missing]
        made = 0
        with (
            _bar(sweep, missing) as bar,
            contextlib.closing(_executor(sweep, numbers, stop.asked, workers, ray)) as results,
        ):
            for number, content in results:
                store.write(sweep.parts[number], content)
                made += len(sweep.parts[number].cells)
                bar.update(len(sweep.parts[number].cells))
        done = sum(len(sweep.parts[number].cells) for number in store.done)
        return SweepRun(
            folder=store.folder,
            cells=len(sweep.cells),
            done=done,
            made=made,
            seconds=time.perf_counter() - start,
            compilations=len(count),
            stopped=stop.signal,
            repaired=store.repaired,
        )


def _executor(sweep: Sweep, parts: list[int], stopping: Stopping, workers: int, ray: str | None) -> Any:
    """Return the generator of parts; nothing is started where nothing is missing."""
    if not parts:
        return iter_nothing()
    order = order_of(sweep, manifest_of(sweep))
    if ray is not None:
        from coverjax.sweep.ray_tasks import in_ray

        return in_ray(order, parts, stopping, ray, workers)
    if workers == 1:
        return in_this_process(order, parts, stopping)
    return in_processes(order, parts, stopping, workers)


def iter_nothing() -> Made:
    """Yield no part."""
    yield from ()


def _bar(sweep: Sweep, missing: list[Part]) -> "tqdm[Any]":
    left = sum(len(part.cells) for part in missing)
    return tqdm(
        total=len(sweep.cells),
        initial=len(sweep.cells) - left,
        desc="sweep",
        unit=" cells",
        leave=False,
        file=sys.stderr,
        disable=not sys.stderr.isatty(),
        smoothing=0.05,
        miniters=1,
    )


class _Stop:
    """Remembers the signal that asks to stop."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def asked(self) -> bool:
        return self.signal is not None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = self.signal or number
        if sys.stderr.isatty():
            print("\nsweep: finishing what is under way; once more to drop it", file=sys.stderr)


@contextlib.contextmanager
def _stopping() -> Iterator[_Stop]:
    """Turn SIGINT and SIGTERM into a wish to stop, in the main thread."""
    stop = _Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _compilations() -> Iterator[list[float]]:
    """Count the programs that JAX compiles."""
    found: list[float] = []

    def listen(event: str, duration_secs: float, **told: str | int) -> None:
        if event == _COMPILED:
            found.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield found
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
