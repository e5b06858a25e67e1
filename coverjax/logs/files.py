"""The files of a log: which they are, what kind each is, how it begins, and its hash."""

import codecs
import contextlib
import dataclasses
import functools
import glob
import gzip
import hashlib
import io
import itertools
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from coverjax.foundation.checks import InputError, file_error, listed, shown
from coverjax.logs.jsontext import TextError, json_record

KINDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".eval": "zip",
}
"""Endings of file names and the kind of file each stands for; .gz may follow where the kind is text.

A file named like JSON lines may turn out to be an `array` of records, or one `document`.
"""

LONGEST_LINE = {"jsonl": 1 << 25, "csv": 1 << 21}
"""The most bytes of one line that duckdb takes with its default buffers, which it has for every thread."""

READ_FAULTS = (OSError, EOFError, zlib.error)


@dataclasses.dataclass(frozen=True)
class LogFile:
    """One file of a log and how it begins.

    Attributes:
        path: its name as the caller wrote it.
        kind: jsonl, array (of JSON objects), csv, parquet, document (one JSON object) or zip.
        columns: names of its columns in order; the keys of the first record of JSON, the keys of a document
            up to the first that holds more than one value, the names of the members of a zip.
        first: the first record; None for an empty cell.
        types: SQL types of the columns of a Parquet file.
        skip: blank lines before the header of a CSV file.
        delimiter: what stands between the cells of a CSV file.
    """

    path: str
    kind: str
    columns: tuple[str, ...] = ()
    first: dict[str, Any] = dataclasses.field(default_factory=dict)
    types: tuple[str, ...] = ()
    skip: int = 0
    delimiter: str = ","

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
    twice = [path for path, count in counted_names(map(os.path.realpath, found)).items() if count > 1]
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


def counted_names(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def kind_of(path: str) -> str:
    """Return the kind of a file by the ending of its name."""
    name = path.lower()
    packed = name.endswith(".gz")
    kind = KINDS.get(os.path.splitext(name[:-3] if packed else name)[1])
    if kind is None or (packed and kind in ("parquet", "zip")):
        known = listed(KINDS, limit=len(KINDS))
        raise file_error(
            path, None, None, f"unknown kind of file; its name must end in {known} (text: .gz may follow)"
        )
    return kind


def need_ending(path: "str | os.PathLike[str]", kind: str) -> None:
    """Raise unless a file to be written as plain text is named so that it is read as what it is."""
    endings = [ending for ending, of in KINDS.items() if of == kind]
    if not os.fspath(path).lower().endswith(tuple(endings)):
        raise file_error(
            path, None, None, f"must be a name that ends in {' or '.join(endings)}, to be read again"
        )


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
        with _text(path, newline) as text:
            longest = LONGEST_LINE[kind_of(path)]
            for number, line in enumerate(iter(functools.partial(text.readline, longest), ""), start=1):
                _need_utf8(path, number, line)
                if len(line) >= longest:
                    what = f"a line may hold at most {longest} bytes; this one is longer"
                    raise file_error(path, number, None, what)
                yield line.removeprefix(_BOM) if number == 1 else line
    except READ_FAULTS as error:
        raise _unreadable(path, number + 1 if number else None, error) from None


def text_pieces(path: str, size: int = 1 << 16) -> Iterator[str]:
    """Yield a text file in pieces of `size` characters; the byte order mark is dropped.

    Raises:
        InputError: the file can't be read or is not UTF-8; with the line.
    """
    line = None
    try:
        with _text(path, "") as text:
            for piece in iter(functools.partial(text.read, size), ""):
                _need_utf8(path, line or 1, piece)
                yield piece.removeprefix(_BOM) if line is None else piece
                line = (line or 1) + piece.count("\n")
    except READ_FAULTS as error:
        raise _unreadable(path, line, error) from None


def first_character(path: str) -> str:
    """Return the first character of a text that is no space, "" where there is none or it is not ASCII."""
    try:
        with _opened(path) as handle:
            start = handle.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
            for piece in itertools.chain([start], iter(functools.partial(handle.read, _TAIL), b"")):
                if piece.strip():
                    return piece.strip()[:1].decode("ascii", "ignore")
    except READ_FAULTS as error:
        raise _unreadable(path, None, error) from None
    return ""


def need_different(told: Sequence[dict[str, Any]]) -> None:
    """Raise where two files, given by their `facts`, have the same content, which would count twice."""
    first: dict[str, str] = {}
    for file in told:
        other = first.setdefault(file["sha256"], file["path"])
        if other != file["path"]:
            raise file_error(file["path"], None, None, f"has the same content as {other}; give it once")


def last_character(path: str) -> str:
    """Return the last character of a text that is no space, "" where there is none."""
    last = ""
    try:
        with _opened(path) as handle:
            if not path.lower().endswith(".gz"):
                handle.seek(max(0, os.path.getsize(path) - _TAIL))
            for piece in iter(functools.partial(handle.read, _TAIL), b""):
                last = piece.decode("utf-8", "replace").rstrip()[-1:] or last
    except READ_FAULTS as error:
        raise _unreadable(path, None, error) from None
    return last


_BOM = codecs.BOM_UTF8.decode()
_TAIL = 1 << 16


def _opened(path: str) -> IO[bytes]:
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


@contextlib.contextmanager
def _text(path: str, newline: str) -> Iterator[IO[str]]:
    """Open a text; bytes that are no UTF-8 come through as lone surrogates, so that a line can be named."""
    with _opened(path) as handle:
        yield io.TextIOWrapper(handle, encoding="utf-8", errors="surrogateescape", newline=newline)


def _unreadable(path: str, line: int | None, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or str(error)
    return file_error(path, line, None, f"can't be read: {reason}")


def _need_utf8(path: str, line: int, text: str) -> None:
    """Raise where a text, which begins in this line, holds a byte that is no UTF-8."""
    if text.isascii():
        return
    for place, c in enumerate(text):
        if "\udc80" <= c <= "\udcff":
            line += text.count("\n", 0, place)
            what = f"must be UTF-8 text; got the byte 0x{ord(c) - 0xDC00:02x}: save the file as UTF-8"
            raise file_error(path, line, None, what)


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
