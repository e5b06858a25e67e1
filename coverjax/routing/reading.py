"""`read_outcomes`: from files to outcome tables; `read_routes`: from a file to the choices of a router."""

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from coverjax.foundation.checks import InputError, file_error, listed, one_of
from coverjax.logs.files import LogFile, expand, facts, kind_of, one_kind
from coverjax.logs.formats.base import need_columns
from coverjax.logs.locating import raise_fault, records
from coverjax.logs.rules import LABELS, NAME, NUMBER, Field, Rule, quoted
from coverjax.logs.tables import RefusedError, begin, identifier, refusing, relation, workspace
from coverjax.routing.teams import TeamFamily

if TYPE_CHECKING:
    import duckdb

STATUSES = ("ok", "failed", "missing")
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
        score_field: the column that the score of a row stands in.
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
    _checked(connection, files, fields)
    texts = {name: name for name in ("task", *_KEYS, "status")}
    texts["team"] = '"model"' if single else "array_to_string(\"team\", '|')"
    codes, names = _coded(connection, texts)
    numbers = connection.execute("SELECT r, score, cost FROM vals ORDER BY r").fetchnumpy()
    status_of = np.array([STATUSES.index(name) for name in names.pop("status")] + [0])
    return Rows(
        files,
        fields,
        np.asarray(numbers["r"]),
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
    _checked(connection, files, fields)
    codes, names = _coded(connection, {name: name for name in ("task", *_KEYS)})
    picked = ", ".join(identifier(name) for name in (*teams, *costs))
    numbers = connection.execute(f"SELECT r, {picked} FROM vals ORDER BY r").fetchnumpy()
    score = np.stack([_filled(numbers[name]) for name in teams], axis=1)
    cost = np.full(score.shape, np.nan)
    for name in costs:
        cost[:, teams.index(name.removeprefix(COST))] = _filled(numbers[name])
    count = len(teams)
    spread = {name: np.repeat(code, count) for name, code in codes.items()}
    spread["team"] = np.tile(np.arange(count), len(score))
    empty = np.isnan(score).ravel()
    status = np.where(empty, STATUSES.index("missing"), 0)
    row = np.repeat(np.asarray(numbers["r"]), count)
    flat = np.where(empty, np.nan, cost.ravel())
    return Rows(files, fields, row, spread, {**names, "team": teams}, score.ravel(), flat, status, wide=True)


def _checked(
    connection: "duckdb.DuckDBPyConnection", files: Sequence[LogFile], fields: Sequence[Field]
) -> None:
    """Write the values of the fields into the table `vals`; raise for the first that breaks its rule."""
    dialect = files[0].dialect
    values = ", ".join(f"{f.rule.sql(identifier(f.name), dialect)} AS {identifier(f.name)}" for f in fields)
    pairs = [f"count(t.{identifier(f.name)}), count(v.{identifier(f.name)})" for f in fields]
    try:
        with refusing():
            connection.execute(f"CREATE TEMP TABLE texts AS {relation(files, fields)}")
            connection.execute(f"CREATE TEMP TABLE vals AS SELECT r, {values} FROM texts")
            found = connection.execute(
                f"SELECT count(*), {', '.join(pairs)} FROM texts t JOIN vals v USING (r)"
            ).fetchall()[0]
    except RefusedError as fault:
        raise_fault(files, fields, reason=str(fault))
    total, given, right = found[0], found[1::2], found[2::2]
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
    connection.execute(f"CREATE TEMP TABLE keys AS SELECT r, {named} FROM vals")
    names: dict[str, list[str]] = {}
    joins = []
    for column in texts:
        connection.execute(
            f"CREATE TEMP TABLE names_{column} AS SELECT name, row_number() OVER (ORDER BY first) - 1 AS "
            "code "
            f"FROM (SELECT {column} AS name, min(r) AS first FROM keys GROUP BY 1) WHERE name IS NOT NULL"
        )
        found = connection.execute(f"SELECT name FROM names_{column} ORDER BY code").fetchall()
        names[column] = [name for (name,) in found]
        joins.append(f"LEFT JOIN names_{column} ON names_{column}.name = k.{column}")
    picks = ", ".join(f"coalesce(names_{column}.code, -1)::BIGINT AS {column}" for column in texts)
    query = f"SELECT {picks} FROM keys k {' '.join(joins)} ORDER BY k.r"
    codes = connection.execute(query).fetchnumpy()
    return {column: np.asarray(codes[column]) for column in texts}, names


def _filled(values: Any) -> np.ndarray:
    """Return a column of duckdb as floats, NaN where it is NULL."""
    return np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan)


@dataclasses.dataclass(frozen=True, eq=False)
class RouteFile:
    """The choices of one router, as its file holds them.

    Attributes:
        path: of the file.
        tasks: names of the tasks in order.
        routes: team numbers [tasks].
        sha256: of the file.
    """

    path: str
    tasks: tuple[str, ...]
    routes: np.ndarray
    sha256: str


def read_routes(path: "str | os.PathLike[str]", family: TeamFamily) -> RouteFile:
    """Read the team that a router chose for each task: columns `task` and `team` (or `model`).

    Raises:
        InputError: a team outside the family, a task that stands twice, or a file that can't be read; with
            its line.
    """
    name = os.fspath(path)
    with workspace() as connection:
        expand([name])
        file = begin(connection, name, kind_of(name))
        single = "team" not in file.columns and "model" in file.columns
        team = Field("model", NAME, required=True) if single else Field("team", LABELS, required=True)
        fields = (Field("task", NAME, required=True), team)
        need_columns([file], fields)
        _checked(connection, [file], fields)
        pairs = connection.execute(f"SELECT task, {team.name} FROM vals ORDER BY r").fetchall()
    numbers: dict[str, int] = {}
    for row, (task, chosen) in enumerate(pairs, start=1):
        number = family.index(chosen)
        if number is None:
            given = chosen if single else "|".join(chosen)
            _route_fault(file, fields, row, team.name, f"must be a team of the family; got {given!r}")
        if task in numbers:
            _route_fault(file, fields, row, "task", f"must stand once; {task!r} stands twice")
        assert number is not None
        numbers[task] = number
    routes = np.array(list(numbers.values()), dtype=np.int64)
    return RouteFile(name, tuple(numbers), routes, facts(name)["sha256"])


def _route_fault(file: LogFile, fields: Sequence[Field], row: int, field: str, message: str) -> NoReturn:
    path, line = place_of([file], fields, row)
    raise file_error(path, line, field, message)


def read_pairs(path: "str | os.PathLike[str]", columns: Iterable[str]) -> dict[str, list[str | None]]:
    """Read named text columns of a table; an absent optional one (marked by "?") gives None in every row.

    Raises:
        InputError: a required column or value is missing.
    """
    name = os.fspath(path)
    fields = [Field(column.rstrip("?"), NAME, required=not column.endswith("?")) for column in columns]
    with workspace() as connection:
        expand([name])
        file = begin(connection, name, kind_of(name))
        need_columns([file], fields)
        _checked(connection, [file], fields)
        picked = ", ".join(identifier(field.name) for field in fields)
        rows = connection.execute(f"SELECT {picked} FROM vals ORDER BY r").fetchall()
    if not rows:
        raise InputError(f"{name}: must hold rows; it is empty")
    return {field.name: list(column) for field, column in zip(fields, zip(*rows, strict=True), strict=True)}
