"""Label the samples of a file: rows stream through a labeler into a log that `read_log` reads."""

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from coverjax.foundation.checks import InputError, file_error, listed
from coverjax.foundation.files import whole_file
from coverjax.logs.files import expand, kind_of, need_ending
from coverjax.logs.jsontext import Number, Pairs
from coverjax.logs.labelers import Labeler, RowError, signature
from coverjax.logs.locating import Record, records
from coverjax.logs.numbering import Numbering
from coverjax.logs.rules import NAME, Field, fault_of
from coverjax.logs.tables import begin, workspace
from coverjax.logs.tallying import FIELDS

BATCH = 1024
"""Rows that a labeler gets at once."""

EXAMPLES = 3

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)

_TYPED = {field.name: field for field in FIELDS if field.name not in ("strategies", "labeler")}


@dataclasses.dataclass(frozen=True)
class LabelReport:
    """What a labeler did.

    Attributes:
        labeler: its kind and name, as the `labeler` column has them.
        samples: number of samples.
        inputs: number of inputs.
        empty: samples that got no label.
        several: samples that got more than one.
        found: samples that got each strategy, the most frequent first.
        never: strategies that the labeler can give and gave to no sample.
        unlabelled: places (file:line) of the first samples without a label.
    """

    labeler: str
    samples: int
    inputs: int
    empty: int
    several: int
    found: dict[str, int]
    never: tuple[str, ...]
    unlabelled: tuple[str, ...]


@dataclasses.dataclass
class _Tally:
    samples: int = 0
    empty: int = 0
    several: int = 0
    inputs: set[str] = dataclasses.field(default_factory=set)
    found: dict[str, int] = dataclasses.field(default_factory=dict)
    unlabelled: list[str] = dataclasses.field(default_factory=list)

    def add(self, place: str, name: str, labels: Sequence[str]) -> None:
        self.samples += 1
        self.inputs.add(name)
        self.several += len(labels) > 1
        if not labels:
            self.empty += 1
            if len(self.unlabelled) < EXAMPLES:
                self.unlabelled.append(place)
        for label in labels:
            self.found[label] = self.found.get(label, 0) + 1

    def report(self, labeler: Labeler) -> LabelReport:
        ordered = dict(sorted(self.found.items(), key=lambda pair: (-pair[1], pair[0])))
        never = tuple(name for name in getattr(labeler, "strategies", ()) if name not in self.found)
        sizes = self.samples, len(self.inputs), self.empty, self.several
        return LabelReport(signature(labeler), *sizes, ordered, never, tuple(self.unlabelled))


def label_log(
    paths: "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]",
    labeler: Labeler,
    out: "str | os.PathLike[str] | None",
    *,
    watch: "Callable[[Record, list[str]], None] | None" = None,
    last: "Callable[[], None] | None" = None,
) -> LabelReport:
    """Label the samples of files and write them as a log, JSON lines.

    Every row keeps its columns and gets `strategies` and `labeler` (kind:name). Old ones stay as
    `strategies_before` and `labeler_before`. Where there is no `sample` column, the samples of an input (and
    method and trial) are numbered 0, 1, ... in order. Rows stream: memory grows by a number for 64 samples.

    Args:
        paths: JSONL, CSV or Parquet files with a column `input` and the text columns that the labeler reads.
        labeler: see `Labeler`.
        out: the file to write, named as JSON lines (.jsonl, .ndjson, .json); it is there whole or not at all.
            Nothing is written when None.
        watch: called with each row and its labels.
        last: called after the last row, before the file takes its place: what it raises leaves nothing there.

    Returns:
        How many samples got which strategies.

    Raises:
        InputError: a row is wrong, or the labeler fails on one; with file and line. Rows that no log can hold
            together: a sample twice, or a column of a log (method, score, ...) on some rows only.

    Example:
        >>> import coverjax as cj, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "raw.csv").write_text("input,text\\np,by induction\\np,clearly\\n")
        >>> _ = (folder / "rules.csv").write_text("strategy,pattern\\ninduction,induct\\n")
        >>> labeler = cj.read_rules(folder / "rules.csv")
        >>> report = cj.label_log(folder / "raw.csv", labeler, folder / "log.jsonl")
        >>> report.found, report.empty
        ({'induction': 1}, 1)
        >>> cj.read_log(folder / "log.jsonl").labelers
        ('rule:rules',)
    """
    names = expand(paths)
    if out is not None and os.path.realpath(os.fspath(out)) in map(os.path.realpath, names):
        raise InputError(f"{os.fspath(out)}: must be another file than the log that is read")
    if out is not None:
        need_ending(out, "jsonl")
    tally = _Tally()
    signed = signature(labeler)
    with _lines_to(out) as write:
        for place, row, labels in labelled(names, labeler):
            tally.add(place, str(row["input"]), labels)
            if watch is not None:
                watch(row, labels)
            write(row, labels, signed)
        if last is not None:
            last()
    return tally.report(labeler)


@contextlib.contextmanager
def _lines_to(out: "str | os.PathLike[str] | None") -> Iterator[Callable[[Record, list[str], str], None]]:
    if out is None:
        yield lambda row, labels, signed: None
        return
    with whole_file(out) as part, part.open("w", encoding="utf-8", newline="\n") as file:

        def write(row: Record, labels: list[str], signed: str) -> None:
            file.write(_line(row, labels, signed) + "\n")

        yield write


def labelled(names: Sequence[str], labeler: Labeler) -> Iterator[tuple[str, Record, list[str]]]:
    """Yield the place, the row (numbered) and the labels of each sample."""
    numbering = Numbering()
    for batch in _batches(log_rows(names)):
        rows = [row for _, _, row in batch]
        try:
            found = labeler(rows)
        except RowError as fault:
            path, line, _ = batch[fault.row]
            raise file_error(path, line, fault.field, fault.message) from fault
        if len(found) != len(rows):
            raise InputError(
                f"labeler {labeler.name}: must give one list of labels a row; it gave {len(found)} for "
                f"{len(rows)} rows"
            )
        for (path, line, row), labels in zip(batch, found, strict=True):
            yield f"{path}:{line}", numbering.row(path, line, row), labels


def _batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def log_rows(names: Sequence[str]) -> Iterator[tuple[str, int, Record]]:
    """Yield file, line and checked record of each sample."""
    for name in names:
        with workspace() as connection:
            file = begin(connection, name, kind_of(name))
        if file.kind not in ("jsonl", "array", "csv", "parquet"):
            raise file_error(name, None, None, f"must be rows (JSONL, CSV, Parquet); got a {file.kind}")
        if file.kind in ("csv", "parquet") and "input" not in file.columns:
            raise file_error(name, None, "input", f"missing column; the file has {listed(file.columns)}")
        fields = tuple(_TYPED.get(column, Field(column, NAME)) for column in file.columns)
        for line, record in records(file, fields):
            if file.kind == "csv" and "strategies" in file.columns:
                record.setdefault("strategies", "")  # an empty cell: no label
            yield name, line, _checked(name, line, record, file.dialect)


def _checked(path: str, line: int, record: Record, dialect: str) -> Record:
    """Check columns of a log; give those of CSV the types of JSON, and `sample` one way to be written."""
    row = dict(record)
    for name, field in _TYPED.items():
        if name not in row and name != "input":
            continue
        fault = fault_of(field, record, dialect, frozenset())
        if fault is not None and not (row.get(name) is None and name != "input"):
            raise file_error(path, line, name, fault)
        if (dialect == "csv" or name == "sample") and row.get(name) is not None:
            row[name] = field.rule.value(row[name], dialect)
    return row


def _line(row: Record, labels: Sequence[str], signed: str) -> str:
    kept: Record = {}
    for name, value in row.items():
        kept[f"{name}_before" if name in ("strategies", "labeler") else name] = value
    start = {name: kept.pop(name) for name in ("input", "method", "trial", "sample") if name in kept}
    return json_text({**start, "strategies": list(labels), "labeler": signed, **kept})


def json_text(value: Any) -> str:
    """Return a value of `jsontext.json_value` as JSON again: numbers keep their digits, NaN becomes null."""
    if isinstance(value, Number):
        return "null" if value.lstrip("-") in ("NaN", "Infinity", "inf", "nan") else str(value)
    if isinstance(value, Pairs | dict):
        pairs = value.items() if isinstance(value, dict) else value
        return "{" + ", ".join(f"{_ENCODER.encode(k)}: {json_text(v)}" for k, v in pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(json_text, value)) + "]"
    return _ENCODER.encode(value)
