"""What a rung of the demo is, how large it is made, and where it puts its files."""

import contextlib
import dataclasses
import pathlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from coverjax.logs.log import SampleLog
from coverjax.report.html import Command, Figure, Page, Part, Section


@dataclasses.dataclass(frozen=True)
class Preset:
    """Sizes of the demo.

    Attributes:
        name: as on the command line.
        inputs, strategies, budget: of the known law.
        trials: simulated runs of each of its inputs.
        steps: updates of the trained policies.
        log_inputs: inputs of the log.
        tasks: of the routing table.
        replicates: of its bootstrap.
        concepts: of the corrections.
    """

    name: str
    inputs: int
    strategies: int
    budget: int
    trials: int
    steps: int
    log_inputs: int
    tasks: int
    replicates: int
    concepts: int


PRESETS = {
    "quick": Preset("quick", 12, 6, 16, 1_024, 300, 40, 60, 1_000, 12),
    "full": Preset("full", 64, 10, 48, 8_192, 2_000, 200, 300, 10_000, 40),
}


@dataclasses.dataclass(frozen=True)
class Shelf:
    """The place of one rung in the folder of the demo: all its files begin with its number."""

    folder: pathlib.Path
    prefix: str

    def name(self, file: str) -> str:
        """Return how a file of this rung is called."""
        return f"{self.prefix}-{file}"

    def path(self, file: str) -> pathlib.Path:
        """Return where a file of this rung is written."""
        return self.folder / self.name(file)

    @contextlib.contextmanager
    def apart(self) -> Iterator[pathlib.Path]:
        """Offer an empty folder; what is in it at the end moves to this rung's place."""
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            yield pathlib.Path(place)
            for file in sorted(pathlib.Path(place).iterdir()):
                file.rename(self.path(file.name))

    def moved(self, page: Page) -> list[Part]:
        """Return figures and tables of a page whose figures were drawn `apart`, under their new names."""
        parts = [part for section in page.sections for part in section.parts]
        return [
            dataclasses.replace(part, stem=self.name(part.stem)) if isinstance(part, Figure) else part
            for part in parts
        ]


@dataclasses.dataclass(frozen=True)
class Rung:
    """What a rung found.

    Attributes:
        title: what was done.
        answer: what came out, a sentence each.
        again: commands that give this again, run in the folder of the demo.
        parts: figures and tables.
        cautions: what to know before the numbers are used.
        told: everything as plain values.
        files: names of the files it wrote.
        logs: samples for a later rung to read, by how they were drawn.
    """

    title: str
    answer: Sequence[str]
    again: Sequence[str]
    parts: Sequence[Part]
    cautions: Sequence[str]
    told: dict[str, Any]
    files: Sequence[str]
    logs: Mapping[str, SampleLog] = dataclasses.field(default_factory=dict)

    def section(self, number: str) -> Section:
        """Return the part of the page about this rung."""
        commands: list[Part] = (
            ["Again, in this folder:", Command("\n".join(self.again))] if self.again else []
        )
        return Section(f"{number}. {self.title}", (*self.answer, *commands, *self.parts))


Step = Callable[[str], None]
"""Told what is done now."""
