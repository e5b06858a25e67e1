"""Cases: a concept, the corrections that teach it in order, and the probe that asks for it."""

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from coverjax.foundation.checks import InputError, file_error, shown
from coverjax.logs.files import expand, text_lines
from coverjax.logs.jsontext import Number, TextError, json_record

Paths = str | os.PathLike[str]

DEFAULT_SPLIT = "public"


@dataclasses.dataclass(frozen=True)
class Problem:
    """One thing that is wrong with cases, and where.

    Attributes:
        field: the field of the case.
        message: what must hold, what came, what to do.
        path, line: the place in a file; None where the case came from Python.
        concept: the case's concept, where it has one.
    """

    field: str | None
    message: str
    path: str | None = None
    line: int | None = None
    concept: str | None = None

    def error(self) -> InputError:
        """Return the problem as an error, `file:line: field: message`."""
        place = self.path or ("cases" if self.concept is None else f"case {shown(self.concept)}")
        return file_error(place, self.line, self.field, self.message)


@dataclasses.dataclass(frozen=True)
class Case:
    """One concept to be taught.

    Attributes:
        concept: its name.
        curriculum: the corrections, in the order in which they are taught.
        probe: the question that is asked after each of them, always the same.
        expected_tokens: what a competent answer holds: each correction brings one of them.
        seed: a turn that is taught before the first correction and is not counted, or None.
        split: "public", "holdout", or any other name.
        path, line: where the case was read from.
    """

    concept: str
    curriculum: tuple[str, ...]
    probe: str
    expected_tokens: tuple[str, ...]
    seed: str | None = None
    split: str = DEFAULT_SPLIT
    path: str | None = dataclasses.field(default=None, compare=False)
    line: int | None = dataclasses.field(default=None, compare=False)

    def problem(self, field: str, message: str) -> Problem:
        """Return a problem at this case's place."""
        return Problem(field, message, self.path, self.line, self.concept)

    def to_dict(self) -> dict[str, Any]:
        """Return the case as the record that a file holds."""
        return {
            "concept": self.concept,
            "curriculum": list(self.curriculum),
            "probe": self.probe,
            "expected_tokens": list(self.expected_tokens),
            "seed": self.seed,
            "split": self.split,
        }

    @property
    def digest(self) -> str:
        """SHA-256 of what is asked and taught, the place left out: equal exactly for equal cases."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()


def read_cases(cases: "Paths | Sequence[Paths | Case | Mapping[str, Any]]") -> list[Case]:
    """Read cases from JSONL files, one object a line, or take them as they are.

    Fields: `concept`, `curriculum` (list of texts), `probe`, `expected_tokens` (list of texts), optional
    `seed` and `split` ("public" where there is none); other fields are ignored. Only the form is checked:
    `check_cases` looks whether the cases measure what they should.

    Args:
        cases: a path or glob, or a sequence of paths, `Case`s or mappings with these fields.

    Raises:
        InputError: a file can't be read, or a field is missing or of the wrong kind.
    """
    read, problems = scan_cases(cases)
    if problems:
        raise problems[0].error()
    return read


def scan_cases(
    cases: "Paths | Sequence[Paths | Case | Mapping[str, Any]]",
) -> tuple[list[Case], list[Problem]]:
    """Return the cases that have the right form, and what is wrong with the others.

    Raises:
        InputError: a file can't be read, or there is no case at all.
    """
    given = [cases] if isinstance(cases, str | os.PathLike) else list(cases)
    found: list[Case | Problem] = []
    paths: list[Paths] = []
    for item in given:
        if isinstance(item, str | os.PathLike):
            paths.append(item)
        else:
            found.append(_taken(item))
    for path in expand(paths) if paths else []:
        found += _scan_file(path)
    if not found:
        where = f"{paths[0]}: is empty" if paths else "cases: there are none"
        raise InputError(f"{where}; needs at least one case: concept, curriculum, probe, expected_tokens")
    good = [item for item in found if isinstance(item, Case)]
    return good, [item for item in found if isinstance(item, Problem)]


def _taken(item: Any) -> "Case | Problem":
    if isinstance(item, Case):
        return item
    if isinstance(item, Mapping):
        return case_of(item)
    raise InputError(f"cases: must be paths, cases or mappings; got {shown(item)}")


def _scan_file(path: str) -> "Iterator[Case | Problem]":
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = json_record(line)
        except TextError as fault:
            yield Problem(None, str(fault), path, number)
            continue
        yield case_of(record, path, number)


def case_of(record: Mapping[str, Any], path: str | None = None, line: int | None = None) -> "Case | Problem":
    """Return the case that a record holds, or the first thing that is wrong with its form."""
    values: dict[str, Any] = {}
    for field, (kind, required) in _FIELDS.items():
        value = record.get(field)
        if value is None and not required:
            continue
        fine = kind(value)
        if fine is None:
            concept = record.get("concept")
            got = "nothing: it is missing" if field not in record else shown(value)
            message = f"must be {_MUST[kind]}; got {got}"
            return Problem(field, message, path, line, concept if isinstance(concept, str) else None)
        values[field] = fine
    return Case(**values, path=path, line=line)


def _text(value: Any) -> str | None:
    fine = isinstance(value, str) and not isinstance(value, Number) and value.strip()
    return value if fine else None


def _texts(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple) or not value:
        return None
    return tuple(value) if all(_text(item) is not None for item in value) else None


_MUST = {_text: "text that is not empty", _texts: "a list of texts, at least one and none empty"}
_FIELDS: dict[str, tuple[Any, bool]] = {
    "concept": (_text, True),
    "curriculum": (_texts, True),
    "probe": (_text, True),
    "expected_tokens": (_texts, True),
    "seed": (_text, False),
    "split": (_text, False),
}
