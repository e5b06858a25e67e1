"""Labels of the same samples by someone else: joined by method, input, trial and sample."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from coverjax.foundation.checks import InputError, file_error, shown
from coverjax.logs.files import expand
from coverjax.logs.labelers import RowError
from coverjax.logs.labelling import log_rows
from coverjax.logs.locating import Record
from coverjax.logs.numbering import Numbering
from coverjax.logs.rules import LABELS

KEYS = ("method", "input", "trial", "sample")


@dataclasses.dataclass(frozen=True)
class OwnLabels:
    """The labeler of a log that is labelled already: gives each row its own `strategies`."""

    name: str = "the log's own"
    kind: str = "rule"
    columns: tuple[str, ...] = ("strategies",)

    def __call__(self, rows: Sequence[Record]) -> list[list[str]]:
        """Return the labels that stand in the rows."""
        found = []
        for number, row in enumerate(rows):
            labels = own_labels(row)
            if labels is None:
                raise RowError(
                    number, "strategies", f"must be {LABELS.must}; got {shown(row.get('strategies'))}"
                )
            found.append(labels)
        return found


def own_labels(row: Record) -> list[str] | None:
    """Return the labels of a row, None where they are not written as labels are."""
    said = row.get("strategies")
    return None if said is None else LABELS.value(said, "json")


@dataclasses.dataclass
class Pairing:
    """Samples that two have labelled, gathered while the rows of one stream by.

    Attributes:
        columns: what samples are joined by.
        labels: the other's labels by these columns.
        labelers: who the other is, as the file says.
        met: keys of the samples that both have.
        ours, theirs, inputs: labels and input of each sample that both have, in the order met.
    """

    columns: tuple[str, ...]
    labels: dict[tuple[str, ...], list[str]]
    labelers: tuple[str, ...]
    met: set[tuple[str, ...]] = dataclasses.field(default_factory=set)
    ours: list[list[str]] = dataclasses.field(default_factory=list)
    theirs: list[list[str]] = dataclasses.field(default_factory=list)
    inputs: list[str] = dataclasses.field(default_factory=list)

    @classmethod
    def read(cls, paths: Any) -> "Pairing":
        """Read the other's labels: files with `input`, `strategies` and, as the log has them, the other keys.

        Raises:
            InputError: a row is wrong, or stands twice.
        """
        labels: dict[tuple[str, ...], list[str]] = {}
        numbering = Numbering()
        labelers: set[str] = set()
        columns: tuple[str, ...] = ()
        for path, line, row in log_rows(expand(paths)):
            found = own_labels(row)
            if found is None:
                got = shown(row.get("strategies"))
                raise file_error(path, line, "strategies", f"must be {LABELS.must}; got {got}")
            numbered = numbering.row(path, line, row)
            columns = columns or tuple(name for name in KEYS if numbered.get(name) is not None)
            key = tuple(str(numbered.get(name, "")) for name in columns)
            if key in labels:
                raise file_error(path, line, "sample", f"{' '.join(columns)} {' '.join(key)} stands twice")
            labels[key] = found
            if row.get("labeler") is not None:
                labelers.add(str(row["labeler"]))
        return cls(columns, labels, tuple(sorted(labelers)))

    def watch(self, row: Record, labels: list[str]) -> None:
        """Keep a row that the other has labelled too.

        Raises:
            InputError: an earlier row was joined with the same labels.
        """
        key = tuple(str(row.get(name, "")) for name in self.columns)
        theirs = self.labels.get(key)
        if theirs is not None:
            if key in self.met:
                raise InputError(
                    f"{' '.join(self.columns)}: the other's labels must be of one sample of the log; "
                    f"{' '.join(key)} is of several: add the column that tells them apart"
                )
            self.met.add(key)
            self.ours.append(labels)
            self.theirs.append(theirs)
            self.inputs.append(str(row["input"]))

    def check(self, path: object) -> None:
        """Raise unless some sample has both labels."""
        if not self.ours:
            raise InputError(
                f"{path}: must label samples of the log; none of its {len(self.labels):,} samples is there, "
                f"joined by {', '.join(self.columns)}"
            )
