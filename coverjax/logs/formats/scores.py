"""A part of an inspect score: its value, its answer, or an entry of its metadata or value."""

import dataclasses
from typing import Any

from coverjax.foundation.checks import InputError, shown
from coverjax.logs.cells import LABEL
from coverjax.logs.formats.verdicts import as_verdict
from coverjax.logs.jsontext import Pairs

PARTS = ("value", "answer")
ENTRIES = ("metadata.", "value.")


@dataclasses.dataclass(frozen=True)
class Scorer:
    """A scorer, and the part of its scores that is meant: value, answer, metadata.KEY or value.KEY."""

    name: str
    part: str = "value"

    def __str__(self) -> str:
        return self.name if self.part == "value" else f"{self.name}:{self.part}"

    def find(self, score: Pairs) -> Any:
        """Return the part of a score; None where it has none. A key may hold dots, and may lead deeper."""
        head, _, key = self.part.partition(".")
        found = dict(score).get(head)
        return found if not key else _entry(found, key)


def _entry(held: Any, key: str) -> Any:
    if not isinstance(held, Pairs):
        return None
    entries = dict(held)
    if key in entries:
        return entries[key]
    head, dot, rest = key.partition(".")
    return _entry(entries.get(head), rest) if dot else None


def parsed(option: str, text: str) -> Scorer:
    """Return the scorer and part that a choice names, as in `model_graded:metadata.strategy`."""
    name, colon, part = text.rpartition(":")
    if not colon:
        return Scorer(text)
    if name and (part in PARTS or (part.startswith(ENTRIES) and not part.endswith("."))):
        return Scorer(name, part)
    raise InputError(
        f"{option}: must be SCORER, SCORER:value, SCORER:answer, SCORER:metadata.KEY or SCORER:value.KEY; "
        f"got {shown(text)}"
    )


def labels_of(where: str, scorer: Scorer, score: Pairs) -> tuple[bool, list[str]]:
    """Return whether a score has the part that is meant, and its labels.

    A text is one label, a list several; of an object those keys are labels whose values say so (1, true, C).
    """
    value = scorer.find(score)
    if value is None:
        return False, []
    if isinstance(value, Pairs):
        verdicts = [(key, as_verdict(entry)) for key, entry in value]
        labels = (
            None
            if any(verdict is None for _, verdict in verdicts)
            else [key for key, said in verdicts if said]
        )
    else:
        labels = LABEL.value(value, "json")
    if labels is None:
        what = f"must be {LABEL.must}, or an object of flags; got {shown(value)}"
        raise InputError(f"{where}: scores.{scorer}: {what}")
    return True, labels
