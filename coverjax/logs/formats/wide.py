"""Wide tables: a row an input, a column a sample.

The input is named by `input`, else `id`, else `task_id`; optional `method`. Samples are the columns named
`sample` or `s`, an optional `_`, and a number, all with the same beginning: `sample_1, sample_2, ...` or
`s0, s1, ...`; the numbers run without a gap from 0 or 1. A cell holds what a sample matches, as
`strategies` of the native form does; with `correct_from="cells"` it holds a flag, and the one label is
"correct". In JSON and Parquet an input with fewer samples lacks the last ones (null, or no such key). In
CSV an empty cell is a sample that matched nothing; where cells are flags it is no sample. The form is
coverjax's own; no tool prescribes it.
"""

import re
from collections.abc import Iterable
from typing import Any, NoReturn

from coverjax.foundation.checks import InputError, file_error, listed, shown
from coverjax.logs.cells import VERDICT
from coverjax.logs.counts import CountTable
from coverjax.logs.files import LogFile
from coverjax.logs.formats.base import Format, Source
from coverjax.logs.formats.rows import Found, found_rows, read_found
from coverjax.logs.locating import Record, raise_fault, raise_repeat
from coverjax.logs.log import SampleLog
from coverjax.logs.rules import LABELS, NAME, Field
from coverjax.logs.tables import RefusedError, keys_of, refusing

INPUTS = ("input", "id", "task_id")
METHOD = Field("method", NAME)
CELLS = "cells"
"""What `correct_from` names where the cells are flags."""

_COLUMN = re.compile(r"(sample_?|s_?)([0-9]+)")


def sample_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns that are samples, in order of their numbers; none where a number is missing.

    Example:
        >>> sample_columns(["input", "s0", "s1", "note"]), sample_columns(["sample_1", "sample_3"])
        (['s0', 's1'], [])
    """
    found: dict[str, dict[int, str]] = {}
    for name in columns:
        match = _COLUMN.fullmatch(name)
        if match:
            found.setdefault(match[1], {})[int(match[2])] = name
    numbered = max(found.values(), key=len, default={})
    numbers = sorted(numbered)
    whole = bool(numbers) and numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1
    return [numbered[number] for number in numbers] if whole else []


def _recognises(file: LogFile) -> bool:
    held = set(file.columns)
    return bool(held & set(INPUTS)) and len(sample_columns(file.columns)) > 1 and "strategies" not in held


def _read(source: Source) -> SampleLog | CountTable:
    flags = _flags(source)
    name = Field(_input_column(source), NAME, required=True)
    cells = [Field(column, VERDICT if flags else LABELS, nullable=True) for column in _columns(source)]
    found = found_rows(source, [name, METHOD, *cells])
    _need_once(source, found, name)
    _need_no_gap(source, found, cells)
    _unpivot(source, found, name, cells)
    if not flags:
        _note_cells(source)
    cell = "cell::BOOLEAN" if flags else "NULL::BOOLEAN"
    return read_found(
        source, input="name", sample="place", method="run", correct=cell, labels="" if flags else "cell"
    )


def _flags(source: Source) -> bool:
    asked = source.choices.correct_from
    if asked not in (None, CELLS):
        raise InputError(f"correct_from: must be {CELLS!r} in a wide table; got {shown(asked)}")
    source.provenance["labels_from"] = "correct" if asked else CELLS
    return asked is not None


def _input_column(source: Source) -> str:
    for name in INPUTS:
        if all(name in file.columns for file in source.files):
            return name
    file = source.files[0]
    held = listed(file.columns, limit=12)
    raise file_error(file.path, None, "input", f"missing column ({' or '.join(INPUTS)}); the file has {held}")


def _columns(source: Source) -> list[str]:
    """The sample columns of all files; in JSON a later row may have more than the first."""
    try:
        with refusing():
            names = keys_of(source.connection, source.files)
    except RefusedError as fault:
        raise_fault(source.files, [], reason=str(fault))
    columns = sample_columns(names)
    if not columns:
        file = source.files[0]
        what = (
            f"must have columns sample_1, sample_2, ... or s0, s1, ... without a gap; has {listed(names, 12)}"
        )
        raise file_error(file.path, None, None, what)
    return columns


def _need_once(source: Source, found: Found, name: Field) -> None:
    twice = source.connection.execute(
        f"SELECT 1 FROM found GROUP BY {found[METHOD]}, {found[name]} HAVING count(*) > 1 LIMIT 1"
    ).fetchone()
    if not twice:
        return

    def key(record: Record, dialect: str) -> tuple[str, str]:
        method = record.get(METHOD.name)
        named = "" if method is None else NAME.value(method, dialect)
        return named, NAME.value(record[name.name], dialect)

    def told(place: Any) -> tuple[str, str]:
        return name.name, f"must come once; the input {shown(place[1])} stands twice (add a `method` column?)"

    raise_repeat(source.files, found.fields, key, lambda place: True, told)


def _need_no_gap(source: Source, found: Found, cells: list[Field]) -> None:
    """Raise where a sample stands after one that is missing."""
    there = ", ".join(f"{found[cell]} IS NOT NULL" for cell in cells)
    gaps = source.connection.execute(f"""
        SELECT 1 FROM (SELECT [{there}] AS there FROM found)
        WHERE list_position(there, false) <= len(list_filter(there, lambda t: t)) LIMIT 1
    """).fetchone()
    if gaps:
        _raise_gap(source, found, cells)


def _raise_gap(source: Source, found: Found, cells: list[Field]) -> NoReturn:
    def gap(record: Record, dialect: str) -> tuple[str, str] | None:
        missing = ""
        for cell in cells:
            if record.get(cell.name) is None:
                missing = missing or cell.name
            elif missing:
                return missing, f"must be there, since {cell.name} is; only the last samples may be missing"
        return None

    raise_fault(source.files, found.fields, found.present, also=gap)


def _unpivot(source: Source, found: Found, name: Field, cells: list[Field]) -> None:
    """Turn the table `found` into a row a sample: r, name, run, place, cell."""
    listed_cells = ", ".join(found[cell] for cell in cells)
    places = ", ".join(map(str, range(len(cells))))
    source.connection.execute(f"""
        CREATE TABLE unpivoted AS
        SELECT r, {found[name]} AS name, {found[METHOD]} AS run, unnest([{listed_cells}]) AS cell,
            unnest([{places}]) AS place
        FROM found
    """)
    source.connection.execute("DROP TABLE found")
    source.connection.execute("DELETE FROM unpivoted WHERE cell IS NULL")
    source.connection.execute("ALTER TABLE unpivoted RENAME TO found")


def _note_cells(source: Source) -> None:
    """Note what cells may have been meant otherwise: flags read as labels, empty cells as samples."""
    empty, flags = source.connection.execute("""
        SELECT count(*) FILTER (len(cell) = 0),
            coalesce(bool_and(len(cell) = 0 OR cell IN (['0'], ['1'], ['true'], ['false'])), false)
        FROM found
    """).fetchall()[0]
    if empty and source.dialect == "csv":
        source.note(f"empty cells of the wide table, read as samples that match nothing: {empty:,}")
    if flags:
        source.note(
            "all cells are flags, read as labels; where they say what is correct, use correct_from=cells"
        )


FORMAT = Format(
    "wide",
    "input, s0, s1, ... or sample_1, sample_2, ...",
    _recognises,
    _read,
    takes={"correct_from": "`cells`: the cells are flags; else they are labels"},
    no_min_score="a wide table has no scores; leave it out",
)
