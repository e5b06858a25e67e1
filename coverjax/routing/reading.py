"""From outcome files to checked rows as numbers, each with its place in the files."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from coverjax.foundation.checks import file_error, listed, one_of
from coverjax.logs.files import LogFile, expand, facts, one_kind
from coverjax.logs.formats.base import need_columns
from coverjax.logs.locating import raise_fault, records
from coverjax.logs.rules import LABELS, NAME, NUMBER, Field, Rule, quoted
from coverjax.logs.tables import RefusedError, begin, identifier, refusing, relation, workspace
from coverjax.routing.teams import TeamFamily

if TYPE_CHECKING:
    import duckdb

STATUSES = ("ok", "failed", "missing")
ROW = '"#"'
"""Number of a row in SQL, 1, 2, ...; quoted, as any plain name may be that of a team's column."""

COST = "cost:"
"""In a wide table the column "cost:NAME" holds the cost of the team of column NAME."""


def _status_sql(x: str, dialect: str) -> str:
    name = NAME.sql(x, dialect)
    return f"CASE WHEN {name} IN ({', '.join(map(quoted, STATUSES))}) THEN {name} END"


def _status_value(value: Any, dialect: str) -> str | None:
    name = NAME.value(value, dialect)
    return name if name in STATUSES else None


STATUS = Rule(f"one of {', '.join(STATUSES)}", _status_sql, _status_value, "VARCHAR")

_KEYS = ("stack", "endpoint", "replicate", "family", "seal", "evidence")
_SHARED = (
    Field("task", NAME, required=True),
    Field("stack", NAME),
    Field("endpoint", NAME),
    Field("replicate", NAME),
    Field("family", NAME),
    Field("seal", NAME, nullable=True),
    Field("evidence", NAME),
)
LONG = (*_SHARED, Field("score", NUMBER, required=True, nullable=True), Field("cost", NUMBER, nullable=True))


@dataclasses.dataclass(eq=False)
class Rows:
    """Rows of outcome files as numbers, and where they stand.

    Attributes:
        files, fields: for naming the place of a fault.
        row: number of the row in the files, from 1 [rows].
        codes: for each named column a number for each row, -1 where it is empty [rows].
        names: the names that the numbers stand for, in order of first appearance.
        score, cost: NaN where empty [rows].
        status: place in `STATUSES` [rows].
        wide: the score of a row stands in the column of its team.
    """

    files: Sequence[LogFile]
    fields: Sequence[Field]
    row: np.ndarray
    codes: dict[str, np.ndarray]
    names: dict[str, list[str]]
    score: np.ndarray
    cost: np.ndarray
    status: np.ndarray
    wide: bool = False

    def fault(self, at: int, field: str, message: str) -> NoReturn:
        """Raise for the row at place `at`, with its file and line."""
        path, line = place_of(self.files, self.fields, int(self.row[at]))
        if self.wide and field in ("score", "cost", "team"):
            team = self.names["team"][self.codes["team"][at]]
            field = team if field != "cost" else COST + team
        raise file_error(path, line, field, message)

    def place(self, at: int) -> str:
        """Return file:line of the row at place `at`."""
        path, line = place_of(self.files, self.fields, int(self.row[at]))
        return f"{path}:{line}"


def place_of(files: Sequence[LogFile], fields: Sequence[Field], row: int) -> tuple[str, int]:
    """Return the file and the line of a row of a relation, counted from 1."""
    seen = 0
    for file in files:
        for line, _ in records(file, fields):
            seen += 1
            if seen == row:
                return file.path, line
    raise AssertionError(f"no row {row}")


def read_rows(
    paths: "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]",
    family: TeamFamily | None = None,
    layout: str = "auto",
) -> tuple[Rows, list[dict[str, Any]]]:
    """Read the rows of outcome files, long or wide, with every value checked by its own rule.

    Long: a row a run, with `task`, `team` (its name, or its workers as a list or as a|b; or `model`, a single
    worker) and `score`; optional `cost`, `status`, `stack`, `endpoint`, `replicate`, `family`, `seal`,
    `evidence`. Wide: a row a task, with `task`, a column of scores for each team, "cost:TEAM" columns, and
    the others but `status`; an empty cell is a missing outcome.

    Returns:
        The rows, and the facts of the files.
    """
    one_of("layout", layout, ("auto", "long", "wide"))
    names = expand(paths)
    kind = one_kind(names)
    with workspace() as connection:
        files = [begin(connection, name, kind) for name in names]
        wide = layout == "wide" or (layout == "auto" and "score" not in files[0].columns)
        rows = _read_wide(connection, files, family) if wide else _read_long(connection, files)
    return rows, [facts(name) for name in names]


def _read_long(connection: "duckdb.DuckDBPyConnection", files: Sequence[LogFile]) -> Rows:
    single = "team" not in files[0].columns and "model" in files[0].columns
    team = Field("model", NAME, required=True) if single else Field("team", LABELS, required=True)
    fields = (*LONG, team, Field("status", STATUS, nullable=True))
    need_columns(files, fields)
    check_values(connection, files, fields)
    texts = {name: name for name in ("task", *_KEYS, "status")}
    texts["team"] = '"model"' if single else "array_to_string(list_sort(\"team\"), '|')"
    codes, names = _coded(connection, texts)
    numbers = connection.execute(f"SELECT {ROW}, score, cost FROM vals ORDER BY {ROW}").fetchnumpy()
    status_of = np.array([STATUSES.index(name) for name in names.pop("status")] + [0])
    return Rows(
        files,
        fields,
        np.asarray(numbers[ROW[1:-1]]),
        codes,
        names,
        _filled(numbers["score"]),
        _filled(numbers["cost"]),
        status_of[codes.pop("status")],
    )


def _read_wide(
    connection: "duckdb.DuckDBPyConnection", files: Sequence[LogFile], family: TeamFamily | None
) -> Rows:
    known = {field.name for field in _SHARED} | {"status"}
    columns = list(dict.fromkeys(name for file in files for name in file.columns))
    if files[0].kind == "jsonl" and family is not None:
        columns = [*columns, *(name for name in family.names if name not in columns)]
    teams = [name for name in columns if name not in known and not name.startswith(COST)]
    if family is not None:
        # Other columns may hold what a task looks like; no team of the family stands in them.
        teams = [name for name in teams if family.index(name) is not None]
    if not teams:
        raise file_error(
            files[0].path,
            None,
            "score",
            f"missing column, and no column of a team; the file has {listed(columns)}",
        )
    costs = [COST + team for team in teams if COST + team in columns]
    cells = [Field(name, NUMBER, nullable=True) for name in (*teams, *costs)]
    fields = (*_SHARED, *cells)
    need_columns(files, fields)
    check_values(connection, files, fields)
    codes, names = _coded(connection, {name: name for name in ("task", *_KEYS)})
    picked = ", ".join(identifier(name) for name in (*teams, *costs))
    numbers = connection.execute(f"SELECT {ROW}, {picked} FROM vals ORDER BY {ROW}").fetchnumpy()
    score = np.stack([_filled(numbers[name]) for name in teams], axis=1)
    cost = np.full(score.shape, np.nan)
    for name in costs:
        cost[:, teams.index(name.removeprefix(COST))] = _filled(numbers[name])
    count = len(teams)
    spread = {name: np.repeat(code, count) for name, code in codes.items()}
    spread["team"] = np.tile(np.arange(count), len(score))
    empty = np.isnan(score).ravel()
    status = np.where(empty, STATUSES.index("missing"), 0)
    row = np.repeat(np.asarray(numbers[ROW[1:-1]]), count)
    flat = np.where(empty, np.nan, cost.ravel())
    return Rows(files, fields, row, spread, {**names, "team": teams}, score.ravel(), flat, status, wide=True)


def check_values(
    connection: "duckdb.DuckDBPyConnection", files: Sequence[LogFile], fields: Sequence[Field]
) -> None:
    """Write the values of the fields into the table `vals`; raise for the first that breaks its rule."""
    dialect = files[0].dialect
    picks, joins = [], []
    for place, field in enumerate(fields):
        name = identifier(field.name)
        value = field.rule.sql(name, dialect)
        if field.rule is LABELS:
            # Dear to check, and few texts are different: each is checked once.
            distinct = f"(SELECT {name}, {value} AS value FROM (SELECT DISTINCT {name} FROM texts))"
            joins.append(
                f"LEFT JOIN {distinct} d{place} ON d{place}.{name} IS NOT DISTINCT FROM texts.{name}"
            )
            picks.append(f"d{place}.value AS {name}")
        else:
            picks.append(f"{field.rule.sql(f'texts.{name}', dialect)} AS {name}")
    names = [identifier(field.name) for field in fields]
    counts = ", ".join(f"count({name})" for name in names)
    try:
        with refusing():
            connection.execute(
                f"CREATE TEMP TABLE texts AS SELECT row_number() OVER () AS {ROW}, * FROM "
                f"({relation(files, fields)})"
            )
            connection.execute(
                f"CREATE TEMP TABLE vals AS SELECT texts.{ROW}, {', '.join(picks)} FROM texts "
                f"{' '.join(joins)}"
            )
            total, *given = connection.execute(f"SELECT count(*), {counts} FROM texts").fetchall()[0]
            right = connection.execute(f"SELECT {counts} FROM vals").fetchall()[0]
    except RefusedError as fault:
        raise_fault(files, fields, reason=str(fault))
    present = {f.name for f, count in zip(fields, given, strict=True) if count and not f.required}
    for field, count, fine in zip(fields, given, right, strict=True):
        needed = not field.nullable and (field.required or field.name in present)
        if (needed and fine != total) or (field.nullable and fine != count):
            raise_fault(files, fields, present)


def _coded(
    connection: "duckdb.DuckDBPyConnection", texts: Mapping[str, str]
) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    """Number the values of columns of `vals`, given as SQL, by first appearance; -1 where they are empty."""
    named = ", ".join(f"{sql} AS {column}" for column, sql in texts.items())
    connection.execute(f"CREATE TEMP TABLE keys AS SELECT {ROW}, {named} FROM vals")
    names: dict[str, list[str]] = {}
    joins = []
    for column in texts:
        connection.execute(
            f"CREATE TEMP TABLE names_{column} AS "
            "SELECT name, row_number() OVER (ORDER BY first) - 1 AS code "
            f"FROM (SELECT {column} AS name, min({ROW}) AS first FROM keys GROUP BY 1) WHERE name IS NOT NULL"
        )
        found = connection.execute(f"SELECT name FROM names_{column} ORDER BY code").fetchall()
        names[column] = [name for (name,) in found]
        joins.append(f"LEFT JOIN names_{column} ON names_{column}.name = k.{column}")
    picks = ", ".join(f"coalesce(names_{column}.code, -1)::BIGINT AS {column}" for column in texts)
    query = f"SELECT {picks} FROM keys k {' '.join(joins)} ORDER BY k.{ROW}"
    codes = connection.execute(query).fetchnumpy()
    return {column: np.asarray(codes[column]) for column in texts}, names


def _filled(values: Any) -> np.ndarray:
    """Return a column of duckdb as floats, NaN where it is NULL."""
    return np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan)
