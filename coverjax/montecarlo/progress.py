"""A progress bar on stderr for long simulations."""

import sys
import threading
from types import TracebackType

from tqdm import tqdm

_SILENT_SECONDS = 2.0


class Progress:
    """Shows the share of the work that is done, its rate and the time left, after two seconds.

    Nothing is shown where stderr is no terminal. Safe to step from several threads.
    """

    def __init__(self, steps: int) -> None:
        self._bar = tqdm(
            total=steps,
            desc="simulate",
            unit=" steps",
            leave=False,
            file=sys.stderr,
            disable=not sys.stderr.isatty(),
            delay=_SILENT_SECONDS,
        )
        self._lock = threading.Lock()

    def step(self) -> None:
        """Count one more step."""
        with self._lock:
            self._bar.update()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
