"""What a command is doing, on stderr, where someone sits at the terminal."""

import sys
from types import TracebackType

from tqdm import tqdm


class Progress:
    """A line on stderr with the step under way, the number of steps done, their rate and the time gone.

    Where stderr is no terminal nothing is shown: an error is then the only line there.
    """

    def __init__(self, name: str):
        self._bar = tqdm(
            desc=name,
            unit=" steps",
            leave=False,
            file=sys.stderr,
            disable=not sys.stderr.isatty(),
            miniters=1,
        )
        self._begun = False

    def step(self, what: str) -> None:
        """Show the step that begins now."""
        if self._begun:
            self._bar.update()
        self._begun = True
        self._bar.set_description(what)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
