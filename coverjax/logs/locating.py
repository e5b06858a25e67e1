"""Find the file, the line and the field of a fault that a fast check has seen.

duckdb checks whole columns and names no line that can be trusted. When a check fires, the files are read
again, row by row in Python, with the same rules, up to the first fault.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from coverjax.foundation.checks import InputError, file_error
from coverjax.logs.csvtext import csv_rows
from coverjax.logs.documents import array_records
from coverjax.logs.files import LogFile, text_lines
from coverjax.logs.jsontext import TextError, json_record, json_value
from coverjax.logs.rules import BLANKS, Field, fault_of
from coverjax.logs.tables import RefusedError, identifier, parquet_rows, refusing, workspace

Record = dict[str, Any]

BATCH = 4096
"""Rows of a Parquet file that are looked at together."""


def records(file: LogFile, fields: Sequence[Field]) -> Iterator[tuple[int, Record]]:
    """Yield the line (Parquet: the row, from 1) and the values of each record.

    Cells of CSV come trimmed, empty ones are left out.

    Raises:
        InputError: a record can't be read, with its line.
    """
    if file.kind == "jsonl":
        yield from _jsonl_records(file.path)
    elif file.kind == "array":
        yield from array_records(file.path)
    elif file.kind == "csv":
        yield from _csv_records(file)
    elif file.kind == "parquet":
        yield from _parquet_records(file, fields)
    else:
        what = f"must hold rows (JSON lines or an array, CSV, Parquet); this is a {file.kind}"
        raise file_error(file.path, None, None, what)


def _jsonl_records(path: str) -> Iterator[tuple[int, Record]]:
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = json_record(line)
        except TextError as fault:
            raise file_error(path, number, None, str(fault)) from None
        yield number, record


def _csv_records(file: LogFile) -> Iterator[tuple[int, Record]]:
    rows = csv_rows(file.path, file.delimiter)
    next(rows)
    for line, cells in rows:
        if len(cells) == len(file.columns) + 1 and not cells[-1]:
            del cells[-1]  # duckdb lets a comma at the end of a row pass
        if len(cells) != len(file.columns):
            counts = f"this row has {len(cells)} cells, the header {len(file.columns)}"
            raise file_error(
                file.path, line, None, f"every row must have as many cells as the header; {counts}"
            )
        trimmed = ((name, cell.strip(BLANKS)) for name, cell in zip(file.columns, cells, strict=True))
        yield line, {name: cell for name, cell in trimmed if cell}


def _parquet_records(file: LogFile, fields: Sequence[Field]) -> Iterator[tuple[int, Record]]:
    names = [field.name for field in fields if field.name in file.columns]
    texts = ", ".join(f"to_json({identifier(name)})::VARCHAR" for name in names)
    row = 0
    try:
        with workspace() as connection, refusing():
            cursor = connection.execute(f"SELECT {texts} FROM {parquet_rows([file.path])}")
            while batch := cursor.fetchmany(BATCH):
                for values in batch:
                    row += 1
                    pairs = zip(names, values, strict=True)
                    yield row, {name: None if text is None else json_value(text) for name, text in pairs}
    except RefusedError as fault:
        raise file_error(
            file.path, row + 1 if row else None, None, f"can't be read as Parquet: {fault}"
        ) from None


def raise_fault(
    files: Sequence[LogFile],
    fields: Sequence[Field],
    present: "set[str] | frozenset[str]" = frozenset(),
    *,
    also: "Callable[[Record, str], tuple[str, str] | None] | None" = None,
    reason: str = "",
) -> NoReturn:
    """Raise an `InputError` for the first fault of the files, with its place.

    Args:
        files: the files, in order.
        fields: the fields of the format.
        present: optional fields that some row holds, so that every row must.
        also: returns (field, message) where a record (second argument: its dialect) breaks a rule of the
            format beyond its fields'.
        reason: what duckdb said; told when no fault is found.
    """
    for file in files:
        for line, record in records(file, fields):
            for field in fields:
                fault = fault_of(field, record, file.dialect, present)
                if fault is not None:
                    raise file_error(file.path, line, field.name, fault)
            broken = also(record, file.dialect) if also else None
            if broken is not None:
                raise file_error(file.path, line, *broken)
    where = files[0].path if len(files) == 1 else f"{files[0].path} and {len(files) - 1} more"
    raise InputError(f"{where}: can't be read: {reason or 'its rows contradict each other'}")


def raise_repeat(
    files: Sequence[LogFile],
    fields: Sequence[Field],
    key: Callable[[Record, str], Any],
    within: Callable[[Any], bool],
    message: Callable[[Any], tuple[str, str]],
) -> NoReturn:
    """Raise an `InputError` for the first record whose key stood before.

    Args:
        files: the files, in order.
        fields: the fields of the format.
        key: the key of a record in a dialect.
        within: which keys are looked at; a fast check has narrowed them down, so that few are remembered.
        message: from a key to the field and what is wrong.
    """
    first: dict[Any, str] = {}
    for file in files:
        for line, record in records(file, fields):
            found = key(record, file.dialect)
            if not within(found):
                continue
            if found in first:
                field, text = message(found)
                raise file_error(file.path, line, field, f"{text} (first at {first[found]})")
            first[found] = f"{file.path}:{line}"
    raise InputError(f"{files[0].path}: can't be read: its rows contradict each other")
