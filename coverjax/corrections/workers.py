"""Units in worker processes: results in order, and a process that dies costs one snapshot, not the run."""

import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from coverjax.corrections.snapshots import Scan, Snapshot, record_of, run_unit, take, to_line
from coverjax.corrections.sweeps import Unit
from coverjax.corrections.systems import Factory
from coverjax.foundation.processes import SpawnPool

DIED = "the process of the system ended without an answer"


def default_workers(units: int) -> int:
    """Return the number of processes that are started unless another is asked for."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(available, units))


def end_if_imported() -> None:
    """End a worker process that is only here because it imports a script which calls `run` unguarded.

    Its parent sees it end and goes on by itself. Left alone, Python would print a traceback.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        os._exit(0)


def run_here(factory: Factory, units: Sequence[Unit], scan: Scan) -> Iterator[str]:
    """Yield the record of each unit, run in this process."""
    for unit in units:
        yield run_unit(factory, unit, scan)


class Processes:
    """Worker processes that hold a factory.

    A process that dies breaks its pool, and the results under way in it are lost. The first unit without a
    result is then run snapshot by snapshot in a process of its own, which finds the snapshot that kills, and
    the pool starts again with the rest. A record is the same whichever way it was made.
    """

    def __init__(self, factory: Factory, workers: int):
        self._blob = pickle.dumps(factory)
        self._workers = workers
        self._pool = _Pool(workers, self._blob)

    def why_not(self) -> str | None:
        """Return why a worker can't be started, or can't load the factory; None where it can."""
        main = getattr(sys.modules["__main__"], "__file__", None)
        if main is not None and not os.path.exists(main):
            return "the program is no file that a worker process could import"
        try:
            return self._pool.submit(_loaded).result()
        except BrokenProcessPool:
            guard = "if __name__ == '__main__':"
            return f"a worker process ended as it began: a script must call this under `{guard}`"

    def run(self, units: Sequence[Unit], scan: Scan) -> Iterator[str]:
        """Yield the record of each unit, in order."""
        done: dict[int, str] = {}
        at = 0
        while at < len(units):
            missing = [number for number in range(at, len(units)) if number not in done]
            futures: dict[int, Future[str]] = {}
            try:
                for number in missing:
                    futures[number] = self._pool.submit(_run, units[number], scan)
                while at < len(units):
                    yield done.pop(at) if at in done else futures[at].result()
                    at += 1
            except BrokenProcessPool:
                self._pool.end()
                done |= _finished(futures)
                if at not in done:
                    done[at] = _alone(units[at], self._blob, scan)
                self._pool = _Pool(self._workers, self._blob)

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.end()


class _Pool(SpawnPool):
    """A pool of spawned processes that hold a factory."""

    def __init__(self, workers: int, blob: bytes):
        super().__init__(workers, _begin, (blob,))


def _finished(futures: "dict[int, Future[str]]") -> dict[int, str]:
    """The results that were there before their pool broke."""
    return {
        number: future.result()
        for number, future in futures.items()
        if future.done() and not future.cancelled() and future.exception() is None
    }


def _alone(unit: Unit, blob: bytes, scan: Scan) -> str:
    """Run a unit in one process, which is started again whenever a snapshot kills it."""
    pool = _Pool(1, blob)
    taken: list[Snapshot] = []
    try:
        for position in [position for position in range(unit.length + 1) for _ in range(2)]:
            try:
                taken.append(pool.submit(_take, unit, position, scan).result())
            except BrokenProcessPool:
                taken.append(Snapshot((), None, DIED))
                pool.end()
                pool = _Pool(1, blob)
    finally:
        pool.end()
    return to_line(record_of(unit, list(zip(taken[::2], taken[1::2], strict=True)), scan))


_state: dict[str, Any] = {}
"""What a worker process was given: the pickled factory, and the factory once it was loaded."""


def _begin(blob: bytes) -> None:
    _state["blob"] = blob
    # What a system prints must not get between the lines of the parent's output, a JSON document perhaps.
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _factory() -> Factory:
    if "factory" not in _state:
        _state["factory"] = pickle.loads(_state["blob"])
    return _state["factory"]


def _loaded() -> str | None:
    try:
        _factory().load()
    except Exception as error:
        return f"a worker process can't import it ({type(error).__name__}: {error})"
    return None


def _run(unit: Unit, scan: Scan) -> str:
    return run_unit(_factory(), unit, scan)


def _take(unit: Unit, position: int, scan: Scan) -> Snapshot:
    return take(_factory(), unit, position, scan)
