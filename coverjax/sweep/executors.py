"""Where parts are made: in this process on all its devices, or in worker processes.

An executor yields each part's bytes as they come and stops handing out work when it is told to; what runs
then is waited for. Ray is in `ray_tasks`.
"""

import contextlib
import os
import queue
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

import jax

from coverjax.foundation.checks import InputError
from coverjax.foundation.processes import SpawnPool
from coverjax.sweep.making import Maker, Order

Made = Iterator[tuple[int, bytes]]
Stopping = Callable[[], bool]

TRIES = 3
"""How often a worker may die without any part made in between."""


def in_this_process(order: Order, parts: Sequence[int], stopping: Stopping) -> Made:
    """Make parts here: one after another, or exact ones on each local device at the same time.

    Simulation uses all local devices for each part itself.
    """
    maker = Maker(order)
    devices = jax.local_devices()
    if len(devices) == 1 or maker.sweep.trials is not None:
        for number in parts:
            if stopping():
                return
            yield number, maker.make(number)
        return
    free: queue.SimpleQueue[jax.Device] = queue.SimpleQueue()
    for device in devices:
        free.put(device)

    def make(number: int) -> bytes:
        device = free.get()
        try:
            with jax.default_device(device):
                return maker.make(number)
        finally:
            free.put(device)

    with ThreadPoolExecutor(len(devices)) as pool:
        yield from _as_completed(pool, make, parts, len(devices), stopping)


def in_processes(order: Order, parts: Sequence[int], stopping: Stopping, workers: int) -> Made:
    """Make parts in worker processes; one that dies is replaced and its part made again.

    Raises:
        InputError: processes die again and again.
    """
    left = dict.fromkeys(parts)
    deaths = 0
    while left and not stopping():
        pool = SpawnPool(min(workers, len(left)), _begin, (order,))
        try:
            for number, made in _as_completed(pool, _make, list(left), workers, stopping):
                del left[number]
                deaths = 0
                yield number, made
        except BrokenProcessPool as broken:
            deaths += 1
            if deaths == TRIES:
                raise InputError(
                    f"workers: processes must live; they ended {TRIES} times at part {next(iter(left))} "
                    "(killed for memory?): use fewer --workers, or a smaller `part` in a new sweep"
                ) from broken
        finally:
            pool.end(sure=True)


def _as_completed(
    pool: Executor, make: Callable[[int], bytes], parts: Sequence[int], width: int, stopping: Stopping
) -> Made:
    """Keep `width` parts under way; when stopping, only wait for those."""
    waiting = iter(parts)
    running: dict[Future[bytes], int] = {}
    while True:
        while len(running) < width and not stopping():
            number = next(waiting, None)
            if number is None:
                break
            running[pool.submit(make, number)] = number
        if not running:
            return
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda one: running[one]):
            yield running.pop(future), future.result()


_maker: list[Maker] = []
"""The maker of a worker process, once it has one."""

_order: list[Order] = []


def _begin(order: Order) -> None:
    # The parent decides when to stop: a signal to the whole group must not end a part half-way.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.dup2(2, 1)  # nothing of a policy's prints may get between the lines of the parent's output
    _order.append(order)


def _make(number: int) -> bytes:
    if not _maker:
        _maker.append(Maker(_order[0]))  # not at the beginning: what is raised there is lost
    return _maker[0].make(number)
