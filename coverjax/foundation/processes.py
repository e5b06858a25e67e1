"""Worker processes: spawned, ended with their parent, ended at once when nobody waits for them."""

import multiprocessing
import multiprocessing.context
import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from typing import Any


class _Context(multiprocessing.context.SpawnContext):
    """Remembers the processes it starts. A fork would copy threads' locks (JAX's, say) in whatever state."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[Any] = []

    def Process(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]  # noqa: N802
        process = super().Process(*args, **kwargs)
        self.started.append(process)
        return process


class SpawnPool(ProcessPoolExecutor):
    """A pool of spawned processes that end with this one, however it ends.

    Args:
        workers: number of processes.
        initializer, initargs: called once in each process.
    """

    def __init__(self, workers: int, initializer: Callable[..., None], initargs: tuple[Any, ...]):
        self._context = _Context()
        arguments = (initializer, initargs)
        super().__init__(workers, mp_context=self._context, initializer=_begin, initargs=arguments)

    def end(self, sure: bool = False) -> None:
        """End the processes now, nobody waits for what they are at; `sure`: whatever signals they ignore."""
        self.shutdown(wait=False, cancel_futures=True)
        for process in self._context.started:
            if sure:
                process.kill()
            else:
                process.terminate()


def _begin(initializer: Callable[..., None], initargs: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    initializer(*initargs)


def _end_with_parent() -> None:
    """End this process when its parent is gone; else a killed run leaves its workers behind."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
