"""Files as duckdb relations whose columns are texts, and the database they are read in."""

import contextlib
import itertools
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from coverjax.foundation.checks import file_error
from coverjax.logs.beginnings import begin_json, begin_zip
from coverjax.logs.csvtext import begin_csv
from coverjax.logs.files import LONGEST_LINE, LogFile
from coverjax.logs.jsontext import json_value
from coverjax.logs.rules import BLANKS, Field, quoted

if TYPE_CHECKING:
    import duckdb

STREAMING_MEMORY = "512MB"
"""What duckdb may hold while samples are only counted; the rest spills into a temporary folder."""

STREAMING_THREADS = 4
"""The most threads then: each has buffers of its own."""


class RefusedError(Exception):
    """duckdb could not read the files; its message names no place that can be trusted."""


@contextlib.contextmanager
def workspace(streaming: bool = False) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Open a database in memory with a temporary folder to spill into; both are gone afterwards.

    Args:
        streaming: bound the memory (`STREAMING_MEMORY`), whatever the size of the files.
    """
    import duckdb

    with tempfile.TemporaryDirectory(prefix="coverjax-", ignore_cleanup_errors=True) as folder:
        settings: dict[str, Any] = {
            "temp_directory": folder,
            "autoinstall_known_extensions": False,
            "preserve_insertion_order": True,
        }
        if streaming:
            settings["memory_limit"] = STREAMING_MEMORY
            settings["threads"] = min(STREAMING_THREADS, os.cpu_count() or 1)
        connection = duckdb.connect(":memory:", config=settings)
        try:
            # In a notebook without ipywidgets there is no bar, and duckdb refuses even to turn it off.
            with contextlib.suppress(duckdb.InvalidInputException):
                connection.execute("SET enable_progress_bar = false")
            yield connection
        finally:
            connection.close()


@contextlib.contextmanager
def refusing(names: bool = False) -> Iterator[None]:
    """Turn what duckdb raises about a file into `RefusedError`; a wrong query is a fault of ours and stays.

    Args:
        names: the query has names from a file: then a wrong query is the file's fault.
    """
    import duckdb

    # A name that is no text, in a damaged file, is a RuntimeError.
    theirs = (duckdb.Error, RuntimeError) if names else (duckdb.Error,)
    ours = () if names else (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException)
    try:
        yield
    except (duckdb.InterruptException, *ours):
        raise
    except theirs as error:
        said = re.sub(r"^[A-Za-z ]+ Error: ", "", " ".join(str(error).split("\n\n")[0].split()))
        raise RefusedError("".join(c if c.isprintable() else "?" for c in said)) from None


def begin(connection: "duckdb.DuckDBPyConnection", path: str, kind: str) -> LogFile:
    """Read how a file begins.

    Raises:
        InputError: it is empty, can't be read or is not what its name says.
    """
    if kind == "jsonl":
        return begin_json(path)
    if kind == "csv":
        return begin_csv(path)
    if kind == "zip":
        return begin_zip(path)
    try:
        with refusing(names=True):
            cursor = connection.execute(f"SELECT * FROM {parquet_rows([path])} LIMIT 0")
            described = cursor.description or ()
            names = tuple(column[0] for column in described)
            texts = ", ".join(f"to_json({identifier(name)})::VARCHAR" for name in names)
            first = connection.execute(f"SELECT {texts} FROM {parquet_rows([path])} LIMIT 1").fetchone()
    except RefusedError as fault:
        raise file_error(path, None, None, f"can't be read as Parquet: {fault}") from None
    if first is None:
        raise file_error(path, None, None, "is empty; it must hold rows")
    values = {
        name: None if text is None else json_value(text) for name, text in zip(names, first, strict=True)
    }
    return LogFile(path, kind, names, values, types=tuple(str(column[1]) for column in described))


def relation(files: Sequence[LogFile], fields: Sequence[Field]) -> str:
    """Return a SQL query for the rows of the files, in order: a text for each field.

    duckdb keeps the order of files and rows in a plain scan, in UNION ALL and in row_number() OVER ().
    """
    alike = itertools.groupby(files, key=_layout)
    parts = [_scan(list(group), fields) for _, group in alike]
    return " UNION ALL ".join(parts)


def keys_of(connection: "duckdb.DuckDBPyConnection", files: Sequence[LogFile]) -> list[str]:
    """Return the names of all columns of the files; of JSON the keys of all records."""
    names = dict.fromkeys(name for file in files for name in file.columns)
    for kind, form in (("jsonl", "newline_delimited"), ("array", "array")):
        paths = [file.path for file in files if file.kind == kind]
        if paths:
            found = connection.execute(
                "SELECT DISTINCT unnest(json_keys(json)) AS name "
                f"FROM read_json_objects({_listed(paths)}, format = '{form}') ORDER BY name"
            )
            names |= dict.fromkeys(name for (name,) in found.fetchall())
    return list(names)


def numbered(rows: str) -> str:
    """Return a query for rows with their number `r` = 1, 2, ...; it scans with one thread."""
    return f"SELECT row_number() OVER () AS r, * FROM ({rows})"


def _layout(file: LogFile) -> tuple[Any, ...]:
    """What must agree for files to be read by one scan; JSONL names its columns in every row."""
    if file.kind in ("jsonl", "array"):
        return (file.kind,)
    return (file.kind, file.columns, file.types, file.skip, file.delimiter)


def _scan(files: Sequence[LogFile], fields: Sequence[Field]) -> str:
    """Return the query for files that are read alike."""
    head = files[0]
    paths = [file.path for file in files]
    if head.kind in ("jsonl", "array"):
        columns = ", ".join(f"{quoted(field.name)}: 'JSON'" for field in fields)
        form = "array" if head.kind == "array" else "newline_delimited"
        source = (
            f"read_json({_listed(paths)}, format = '{form}', columns = {{{columns}}}, records = true, "
            f"hive_partitioning = false)"
        )
        texts = [f"{identifier(field.name)}::VARCHAR" for field in fields]
    elif head.kind == "csv":
        source = _csv(paths, head)
        texts = [_csv_text(head, field) for field in fields]
    else:
        source = parquet_rows(paths)
        held = set(head.columns)
        texts = [
            f"to_json({identifier(field.name)})::VARCHAR" if field.name in held else "NULL::VARCHAR"
            for field in fields
        ]
    named = (f"{text} AS {identifier(field.name)}" for text, field in zip(texts, fields, strict=True))
    return f"SELECT {', '.join(named)} FROM {source}"


def _csv(paths: Sequence[str], head: LogFile) -> str:
    # Columns are named by position: names in a header may be empty, or differ in case only.
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(head.columns)))
    marks = f"""delim = {quoted(head.delimiter)}, quote = '"', escape = '"'"""
    return (
        f"read_csv({_listed(paths)}, auto_detect = false, header = true, skip = {head.skip}, {marks}, "
        f"columns = {{{columns}}}, null_padding = false, strict_mode = true, "
        f"hive_partitioning = false, max_line_size = {LONGEST_LINE['csv']})"
    )


def _csv_text(head: LogFile, field: Field) -> str:
    if field.name not in head.columns:
        return "NULL::VARCHAR"
    return f"nullif(trim(c{head.columns.index(field.name)}, {quoted(BLANKS)}), '')"


def parquet_rows(paths: Sequence[str]) -> str:
    return f"read_parquet({_listed(paths)}, hive_partitioning = false)"


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _listed(paths: Sequence[str]) -> str:
    return "[" + ", ".join(quoted(os.path.abspath(path)) for path in paths) + "]"
