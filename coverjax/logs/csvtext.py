"""CSV as duckdb reads it, in Python: how a file begins, and its rows with their lines."""

import contextlib
import csv
from collections.abc import Iterable, Iterator

from coverjax.foundation.checks import file_error
from coverjax.logs.files import LONGEST_LINE, LogFile, counted_names, text_lines
from coverjax.logs.rules import BLANKS

DELIMITERS = (",", ";", "\t")
"""What may stand between the cells of a CSV file."""


def begin_csv(path: str, rows: bool = True) -> LogFile:
    """Read how a CSV file begins: blank lines, the header and the first row; `rows`: it must have one."""
    delimiter = _delimiter(path)
    read = csv_rows(path, delimiter)
    line, header = next(read, (0, []))
    if not header:
        raise file_error(path, None, None, "is empty; it must hold a header line and rows")
    columns = tuple(cell.strip(BLANKS) for cell in header)
    twice = [name for name, count in counted_names(columns).items() if count > 1 and name]
    if twice:
        raise file_error(path, line, twice[0], "this column stands twice in the header")
    first_line, first = next(read, (0, []))
    if rows and not first_line:
        raise file_error(path, line, None, "has a header and no rows")
    cells = {name: cell.strip(BLANKS) or None for name, cell in zip(columns, first, strict=False)}
    return LogFile(path, "csv", columns, cells, skip=line - 1, delimiter=delimiter)


def _delimiter(path: str) -> str:
    """Return what stands between the names of the header: a comma, or where there is none, another."""
    header = next((line for line in text_lines(path, newline="") if line.strip()), "")
    return next((mark for mark in DELIMITERS if mark in header), ",")


def csv_rows(path: str, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the cells of each row that is not blank, the header included.

    Raises:
        InputError: a row that is no CSV, or one whose line end differs from the first row's (duckdb's reader
            refuses a mixture).
    """
    last = [""]
    lines = _remembered(text_lines(path, newline=""), last)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
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
