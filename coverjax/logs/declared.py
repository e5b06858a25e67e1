"""The declared strategies of each input: from a table, a dict or one list for all inputs."""

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from coverjax.foundation.checks import InputError, file_error, listed, shown
from coverjax.logs.cells import CELL_NAME
from coverjax.logs.csvtext import begin_csv
from coverjax.logs.files import LogFile, facts, kind_of
from coverjax.logs.locating import raise_fault, raise_repeat
from coverjax.logs.rules import BLANKS, Field
from coverjax.logs.tables import RefusedError, begin, numbered, refusing, relation, workspace

if TYPE_CHECKING:
    import duckdb

FIELDS = (Field("input", CELL_NAME, required=True), Field("strategy", CELL_NAME, required=True))

EXAMPLES = 6
"""How many names the provenance gives of inputs that are declared and never occur."""


@dataclasses.dataclass(frozen=True)
class Declared:
    """Declared strategies, in order.

    Attributes:
        everywhere: the strategies of every input, or None where each input has its own.
        by_input: the strategies of each input; empty where `everywhere` is given.
        source: where they come from: "given", or the facts of a file.
    """

    everywhere: tuple[str, ...] | None
    by_input: dict[str, tuple[str, ...]]
    source: Any = "given"

    def store(self, connection: "duckdb.DuckDBPyConnection") -> None:
        """Write the table `declared` (input, strategy, position), input NULL for every input."""
        connection.execute("CREATE TABLE declared (input VARCHAR, strategy VARCHAR, position BIGINT)")
        pairs: list[tuple[str | None, str, int]] = [
            (name, strategy, position)
            for name, strategies in self.by_input.items()
            for position, strategy in enumerate(strategies)
        ]
        pairs += [(None, strategy, position) for position, strategy in enumerate(self.everywhere or ())]
        if pairs:
            columns = [list(column) for column in zip(*pairs, strict=True)]
            connection.execute("INSERT INTO declared SELECT unnest(?), unnest(?), unnest(?)", columns)

    def unused(self, inputs: Iterable[str]) -> dict[str, Any]:
        """Return how many declared inputs never occur in a log, with a few names."""
        missing = self.by_input.keys() - set(inputs)
        names = [name for name in self.by_input if name in missing]
        return {"count": len(names), "examples": names[:EXAMPLES]}


def declared_strategies(declared: Any) -> Declared | None:
    """Return the declared strategies that a caller means.

    Args:
        declared: None; the path of a table with columns `input` and `strategy` (CSV, JSONL or Parquet; with
            the column `strategy` alone it holds for every input); a mapping from input to strategies; or one
            sequence of strategies for every input.

    Raises:
        InputError: a strategy is empty or stands twice, or the table can't be read; with its place.
    """
    if declared is None or isinstance(declared, Declared):
        return declared
    if isinstance(declared, str | os.PathLike):
        return _from_file(os.fspath(declared))
    if isinstance(declared, Mapping):
        names = {str(name): _names(f"declared[{name!r}]", values) for name, values in declared.items()}
        if len(names) != len(declared):
            raise InputError("declared: must name each input once; two of its keys are the same as text")
        return Declared(None, names)
    return Declared(_names("declared", declared), {})


def _names(where: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InputError(f"{where}: must be a list of strategies; got {shown(values)}")
    for value in values:
        if not isinstance(value, str) or not value.strip(BLANKS):
            raise InputError(f"{where}: must hold names of strategies that are not empty; got {shown(value)}")
    if len(set(values)) != len(values):
        twice = next(value for value in values if list(values).count(value) > 1)
        raise InputError(f"{where}: must name each strategy once; {shown(twice)} stands twice")
    return tuple(values)


def _from_file(path: str) -> Declared:
    if not os.path.isfile(path):
        raise file_error(path, None, None, "no such file; declared must be the table of declared strategies")
    with workspace() as connection:
        kind = kind_of(path)
        # A log none of whose inputs has a strategy is declared by a header alone.
        file = begin_csv(path, rows=False) if kind == "csv" else begin(connection, path, kind)
        fields = FIELDS[1:] if set(file.columns) == {"strategy"} else FIELDS
        for field in fields:
            if file.kind not in ("jsonl", "array") and field.name not in file.columns:
                line = file.skip + 1 if file.kind == "csv" else None
                held = listed(file.columns)
                raise file_error(
                    path,
                    line,
                    field.name,
                    f"missing column; declared strategies need it; the table has {held}",
                )
        rows = _checked_rows(connection, file, fields)
    by_input: dict[str, list[str]] = {}
    for name, strategy in rows:
        by_input.setdefault(name, []).append(strategy)
    found = {name: tuple(strategies) for name, strategies in by_input.items()}
    if len(fields) == 1:
        return Declared(found.get("", ()), {}, facts(path))
    return Declared(None, found, facts(path))


def _checked_rows(
    connection: "duckdb.DuckDBPyConnection", file: LogFile, fields: Sequence[Field]
) -> list[tuple[str, str]]:
    """Return the (input, strategy) pairs in order, input "" in a list for all inputs."""
    values = [field.rule.sql(field.name, file.dialect) for field in fields]
    name = values[0] if len(fields) == 2 else "''"
    try:
        with refusing():
            query = f"SELECT {name}, {values[-1]} FROM ({numbered(relation([file], fields))}) ORDER BY r"
            rows = connection.execute(query).fetchall()
    except RefusedError as fault:
        raise_fault([file], fields, reason=str(fault))
    if any(value is None for row in rows for value in row):
        raise_fault([file], fields)
    if len(set(rows)) != len(rows):
        _raise_repeat(file, fields, rows)
    return rows


def _raise_repeat(file: LogFile, fields: Sequence[Field], rows: Sequence[tuple[str, str]]) -> NoReturn:
    seen: set[tuple[str, str]] = set()
    twice = next(row for row in rows if row in seen or seen.add(row))  # type: ignore[func-returns-value]
    wanted = twice[-len(fields) :]
    where = f" for the input {shown(twice[0])}" if len(fields) == 2 else ""
    raise_repeat(
        [file],
        fields,
        lambda record, dialect: tuple(field.rule.value(record[field.name], dialect) for field in fields),
        wanted.__eq__,
        lambda _: ("strategy", f"must be declared once; {shown(twice[1])} stands twice{where}"),
    )
