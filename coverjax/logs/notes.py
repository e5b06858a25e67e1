"""Lines that a reader of a log's numbers should see: what was not read, what matches nothing."""

import logging
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from coverjax.foundation.checks import listed, near_name, shown
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog

_LOGGER = logging.getLogger("coverjax")

MOST_ROWS = 10_000
"""Rows that are looked at for labels that nearly are declared ones."""

MOST_NAMED = 12
"""Names that one note lists."""


def unread_columns(columns: Collection[str], known: Sequence[str]) -> str:
    """Return the note on columns that were not read, "" where there are none; near misses are asked about.

    Example:
        >>> unread_columns(["input", "Strategy", "text"], ["input", "sample", "strategies"])
        'columns not read: Strategy (did you mean `strategies`?), text'
    """
    unread = [name for name in dict.fromkeys(columns) if name not in known]
    if not unread:
        return ""
    missing = [name for name in known if name not in columns]
    near = {name: near_name(name, missing) for name in unread}
    told = [f"{name} (did you mean `{near[name]}`?)" for name in unread if near[name]]
    told += [name for name in unread if not near[name]]
    return f"columns not read: {listed(told, limit=MOST_NAMED)}"


def note_declared(log: SampleLog | CountTable) -> None:
    """Note declared strategies that the log never matches though a label differs from one by case or blanks.

    Where nothing of what was declared occurs in a log that has labels, that is also logged as a warning.
    """
    if not log.declared_given or log.provenance.get("declared") in (None, "the format"):
        return
    seen = np.asarray(log.counts > 0 if isinstance(log, CountTable) else log.matches.any(axis=(1, 2)))
    if not seen.any() or not (seen & log.declared).any():
        _nothing_matches(log, seen)
    near = _near_labels(log, seen)
    if near:
        told = listed((f"{shown(a)} is declared, {shown(b)} occurs" for a, b in near), limit=3)
        _note(log.provenance, f"labels that differ from declared ones by case or blanks only: {told}")


def _nothing_matches(log: SampleLog | CountTable, seen: np.ndarray) -> None:
    if not seen.any():
        return
    row = int(np.argmax(seen.any(axis=1)))
    names = [name for name, there in zip(log.labels[row], seen[row], strict=False) if there]
    declared = [
        name for name, is_declared in zip(log.labels[row], log.declared[row], strict=False) if is_declared
    ]
    unknown = "" if declared else f", for which nothing is declared{_table_names(log)},"
    text = (
        "NOTHING that was declared occurs in the log: the input "
        f"{shown(log.ids[row])}{unknown} has the labels {listed(map(shown, names), limit=3)}"
    )
    text += f"; declared are {listed(map(shown, declared), limit=3)}" if declared else ""
    _note(log.provenance, text)
    _LOGGER.warning(text)


def _table_names(log: SampleLog | CountTable) -> str:
    names = log.provenance["declared_unused"]["examples"]
    return f" (it is for {listed(map(shown, names), limit=3)})" if names else ""


def _near_labels(log: SampleLog | CountTable, seen: np.ndarray) -> list[tuple[str, str]]:
    """Return pairs of a declared strategy that never occurs and a label like it but for case and blanks."""
    found: dict[tuple[str, str], None] = {}
    both = (seen & ~log.declared).any(axis=1) & (log.declared & ~seen).any(axis=1)
    for row in np.flatnonzero(both)[:MOST_ROWS].tolist():
        names = log.labels[row]
        missing = {
            " ".join(name.lower().split()): name
            for name, is_declared, there in zip(names, log.declared[row], seen[row], strict=False)
            if is_declared and not there
        }
        for name, is_declared, there in zip(names, log.declared[row], seen[row], strict=False):
            alike = missing.get(" ".join(name.lower().split()))
            if there and not is_declared and alike:
                found[alike, name] = None
    return list(found)


def _note(provenance: dict[str, Any], text: str) -> None:
    provenance.setdefault("notes", []).append(text)
