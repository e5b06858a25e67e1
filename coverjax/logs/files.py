"""The files of a log: which they are, what kind each is, how it begins, and its hash."""

import codecs
import contextlib
import csv
import dataclasses
import functools
import glob
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from coverjax.foundation.checks import InputError, file_error, listed, shown
from coverjax.logs.jsontext import TextError, json_record
from coverjax.logs.rules import BLANKS

KINDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
"""Endings of file names and the kind of file each stands for; .gz may follow where the kind is text."""

LONGEST_LINE = {"jsonl": 1 << 25, "csv": 1 << 21}
"""The most bytes of one line that duckdb takes with its default buffers, which it has for every thread."""

READ_FAULTS = (OSError, EOFError, zlib.error)


@dataclasses.dataclass(frozen=True)
class LogFile:
    """One file of a log and how it begins.

    Attributes:
        path: its name as the caller wrote it.
        kind: jsonl, csv or parquet.
        columns: names of its columns in order; the keys of the first record of JSONL.
        first: the first record; None for an empty cell.
        types: SQL types of the columns of a Parquet file.
        skip: blank lines before the header of a CSV file.
    """

    path: str
    kind: str
    columns: tuple[str, ...] = ()
    first: dict[str, Any] = dataclasses.field(default_factory=dict)
    types: tuple[str, ...] = ()
    skip: int = 0

    @property
    def dialect(self) -> str:
        """How a value is written: "json" (Parquet values are turned into JSON text) or "csv"."""
        return "csv" if self.kind == "csv" else "json"


def expand(paths: "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]") -> list[str]:
    """Return the files that are meant, in the order given; those of a glob sorted by name.

    Raises:
        InputError: a path is missing, a directory or no regular file, a glob matches nothing, a file is
            named twice, or there is none.
    """
    asked = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not isinstance(asked, Iterable):
        raise InputError(f"paths: must be a path, a glob or a sequence of them; got {shown(paths)}")
    found: list[str] = []
    for path in asked:
        if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
            raise InputError(f"paths: must hold paths as text; got {shown(path)}")
        found += _expand_one(os.fspath(path))
    if not found:
        raise InputError("paths: must name at least one file; got none")
    twice = [path for path, count in _counted(map(os.path.realpath, found)).items() if count > 1]
    if twice:
        raise InputError(f"paths: must name each file once; {twice[0]} comes twice")
    return found


def _expand_one(path: str) -> list[str]:
    if "\0" in path or not path:
        raise InputError(f"paths: must hold names of files; got {shown(path)}")
    if os.path.isdir(path):
        raise file_error(
            path, None, None, f"is a directory; name its files, as in {path.rstrip('/')}/*.jsonl"
        )
    if os.path.isfile(path):
        return [path]
    if os.path.exists(path):
        raise file_error(
            path, None, None, "is no regular file; write it to a file first, it is read more than once"
        )
    if not glob.has_magic(path):
        raise file_error(path, None, None, "no such file")
    matches = sorted(match for match in glob.glob(path, recursive=True) if os.path.isfile(match))
    if not matches:
        raise file_error(path, None, None, "no file matches this pattern")
    return matches


def _counted(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def kind_of(path: str) -> str:
    """Return the kind of a file by the ending of its name."""
    name = path.lower()
    packed = name.endswith(".gz")
    kind = KINDS.get(os.path.splitext(name[:-3] if packed else name)[1])
    if kind is None or (packed and kind == "parquet"):
        known = listed(KINDS, limit=len(KINDS))
        raise file_error(
            path, None, None, f"unknown kind of file; its name must end in {known} (text: .gz may follow)"
        )
    return kind


def one_kind(paths: Sequence[str]) -> str:
    """Return the kind that all files have."""
    kinds = [kind_of(path) for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind != kinds[0]:
            raise file_error(
                path, None, None, f"mixed kinds of files: this one is {kind}, {paths[0]} is {kinds[0]}"
            )
    return kinds[0]


def facts(path: str) -> dict[str, Any]:
    """Return the name, SHA-256 and size in bytes of a file, read in a stream."""
    try:
        with open(path, "rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
            return {"path": path, "sha256": digest, "bytes": handle.tell()}
    except OSError as error:
        raise file_error(path, None, None, f"can't be read: {error.strerror or error}") from None


def text_lines(path: str, newline: str = "\n") -> Iterator[str]:
    """Yield the lines of a text file with their ends; the byte order mark is dropped.

    Raises:
        InputError: the file can't be read, is not UTF-8, or a line is too long for duckdb; with the line.
    """
    number = 0
    try:
        with _open(path) as handle:
            # Undecodable bytes come through as lone surrogates, so that their line can be named.
            text = io.TextIOWrapper(handle, encoding="utf-8", errors="surrogateescape", newline=newline)
            longest = LONGEST_LINE[kind_of(path)]
            for number, line in enumerate(iter(functools.partial(text.readline, longest), ""), start=1):
                yield _checked_line(path, number, line, longest)
    except READ_FAULTS as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise file_error(path, number + 1 if number else None, None, f"can't be read: {reason}") from None


def _open(path: str) -> IO[bytes]:
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def _checked_line(path: str, number: int, line: str, longest: int) -> str:
    bad = (
        next((ord(c) - 0xDC00 for c in line if "\udc80" <= c <= "\udcff"), None)
        if not line.isascii()
        else None
    )
    if bad is not None:
        raise file_error(
            path, number, None, f"must be UTF-8 text; got the byte 0x{bad:02x}: save the file as UTF-8"
        )
    if len(line) >= longest:
        raise file_error(path, number, None, f"a line may hold at most {longest} bytes; this one is longer")
    return line.removeprefix(codecs.BOM_UTF8.decode()) if number == 1 else line


def begin_jsonl(path: str) -> LogFile:
    """Read how a JSONL file begins: its first record."""
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = json_record(line)
        except TextError as fault:
            raise file_error(path, number, None, str(fault)) from None
        return LogFile(path, "jsonl", tuple(record), dict(record))
    raise file_error(path, None, None, "is empty; it must hold one JSON object a line")


def begin_csv(path: str) -> LogFile:
    """Read how a CSV file begins: blank lines, the header and the first row."""
    rows = csv_rows(path)
    line, header = next(rows, (0, []))
    if not header:
        raise file_error(path, None, None, "is empty; it must hold a header line and rows")
    columns = tuple(cell.strip(BLANKS) for cell in header)
    twice = [name for name, count in _counted(columns).items() if count > 1 and name]
    if twice:
        raise file_error(path, line, twice[0], "this column stands twice in the header")
    first_line, first = next(rows, (0, []))
    if not first_line:
        raise file_error(path, line, None, "has a header and no rows")
    cells = {name: cell.strip(BLANKS) or None for name, cell in zip(columns, first, strict=False)}
    return LogFile(path, "csv", columns, cells, skip=line - 1)


def csv_rows(path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the cells of each row that is not blank, the header included.

    Raises:
        InputError: a row that is no CSV, or one whose line end differs from the first row's (duckdb's reader
            refuses a mixture).
    """
    last = [""]
    reader = csv.reader(_remembered(text_lines(path, newline=""), last), strict=True)
    start, first_end = 1, None
    while True:
        try:
            with _long_cells():
                row = next(reader, None)
        except csv.Error as error:
            raise file_error(path, start, None, f"malformed CSV: {error}") from None
        if row is None:
            return
        end = last[0][len(last[0].rstrip("\r\n")) :]
        first_end = end if first_end is None else first_end
        if end not in ("", first_end):
            ends = f"this one ends in {end!r}, the first in {first_end!r}"
            raise file_error(path, reader.line_num, None, f"lines must all end alike; {ends}")
        if row:
            yield start, row
        start = reader.line_num + 1


def _remembered(lines: Iterable[str], last: list[str]) -> Iterator[str]:
    for line in lines:
        last[0] = line
        yield line


@contextlib.contextmanager
def _long_cells() -> Iterator[None]:
    """Let Python's CSV reader take cells as long as duckdb's does; its limit is a global of the process."""
    before = csv.field_size_limit(LONGEST_LINE["csv"])
    try:
        yield
    finally:
        csv.field_size_limit(before)
