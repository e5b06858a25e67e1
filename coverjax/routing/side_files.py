"""Small tables beside the outcomes: the choices of a router, legal teams, costs."""

import contextlib
import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from coverjax.foundation.checks import InputError, file_error
from coverjax.logs.files import LogFile, expand, facts, kind_of
from coverjax.logs.formats.base import need_columns
from coverjax.logs.rules import LABELS, NAME, NUMBER, Field
from coverjax.logs.tables import begin, identifier, workspace
from coverjax.routing.reading import ROW, check_values, place_of
from coverjax.routing.teams import JOIN, TeamFamily

if TYPE_CHECKING:
    import duckdb


@dataclasses.dataclass(frozen=True, eq=False)
class RouteFile:
    """The choices of one router, as its file holds them.

    Attributes:
        path: of the file.
        tasks: names of the tasks in order.
        routes: team numbers [tasks].
        sha256: of the file.
        source: the file and its fields, for naming the place of a fault.
    """

    path: str
    tasks: tuple[str, ...]
    routes: np.ndarray
    sha256: str
    source: tuple[LogFile, tuple[Field, ...]]

    def fault(self, task: str, field: str, message: str) -> InputError:
        """Return the error for the row of a task, with its line."""
        file, fields = self.source
        path, line = place_of([file], fields, self.tasks.index(task) + 1)
        return file_error(path, line, fields[1].name if field == "team" else field, message)


@contextlib.contextmanager
def _opened(
    path: "str | os.PathLike[str]",
) -> "Iterator[tuple[duckdb.DuckDBPyConnection, LogFile]]":
    name = os.fspath(path)
    with workspace() as connection:
        expand([name])
        yield connection, begin(connection, name, kind_of(name))


def _rows(
    connection: "duckdb.DuckDBPyConnection", file: LogFile, fields: Sequence[Field]
) -> list[tuple[Any, ...]]:
    """Return the checked values of the fields, row by row in the order of the file."""
    need_columns([file], fields)
    check_values(connection, [file], fields)
    picked = ", ".join(identifier(field.name) for field in fields)
    return connection.execute(f"SELECT {picked} FROM vals ORDER BY {ROW}").fetchall()


def _team_field(file: LogFile) -> Field:
    single = "team" not in file.columns and "model" in file.columns
    return Field("model", NAME, required=True) if single else Field("team", LABELS, required=True)


def read_routes(path: "str | os.PathLike[str]", family: TeamFamily) -> RouteFile:
    """Read the team that a router chose for each task: columns `task` and `team` (or `model`).

    Raises:
        InputError: a team outside the family, a task that stands twice, or a file that can't be read; with
            its line.
    """
    with _opened(path) as (connection, file):
        fields = (Field("task", NAME, required=True), _team_field(file))
        pairs = _rows(connection, file, fields)
    numbers: dict[str, int] = {}
    for row, (task, chosen) in enumerate(pairs, start=1):
        number = family.index(chosen)
        if number is None:
            given = chosen if isinstance(chosen, str) else JOIN.join(sorted(chosen))
            message = f"must be a team of the family; got {given!r}"
            raise file_error(*place_of([file], fields, row), fields[1].name, message)
        if task in numbers:
            raise file_error(
                *place_of([file], fields, row), "task", f"must stand once; {task!r} stands twice"
            )
        numbers[task] = number
    routes = np.array(list(numbers.values()), dtype=np.int64)
    return RouteFile(file.path, tuple(numbers), routes, facts(file.path)["sha256"], (file, fields))


def read_pairs(path: "str | os.PathLike[str]", columns: Iterable[str]) -> dict[str, list[str | None]]:
    """Read named text columns of a table; an absent optional one (marked by "?") gives None in every row.

    Raises:
        InputError: a required column or value is missing.
    """
    fields = [Field(column.rstrip("?"), NAME, required=not column.endswith("?")) for column in columns]
    with _opened(path) as (connection, file):
        rows = _rows(connection, file, fields)
    return {field.name: list(column) for field, column in zip(fields, zip(*rows, strict=True), strict=True)}


def read_costs(
    path: "str | os.PathLike[str]", family: TeamFamily, tasks: Sequence[str]
) -> Float[np.ndarray, "tasks teams"]:
    """Read what running a team costs: columns `team`, `cost`, and `task` where it depends on the task.

    Returns:
        Costs [tasks, teams], NaN where the table says nothing.

    Raises:
        InputError: a team or task that is unknown, a negative cost, or a cell given twice; with its line.
    """
    place = {name: i for i, name in enumerate(tasks)}
    costs = np.full((len(tasks), family.teams), np.nan)
    with _opened(path) as (connection, file):
        by_task = "task" in file.columns
        fields = (
            _team_field(file),
            Field("cost", NUMBER, required=True),
            *((Field("task", NAME, required=True),) if by_task else ()),
        )
        rows = _rows(connection, file, fields)
    for row, (team, cost, *task) in enumerate(rows, start=1):
        number = family.index(team)
        rows_of = [place.get(name, -1) for name in task] if task else list(range(len(tasks)))
        fault = None
        if number is None:
            fault = fields[0].name, "must be a team of the family"
        if -1 in rows_of:
            fault = "task", f"must be a task of the study; got {task[0]!r}"
        if cost < 0.0:
            fault = "cost", f"must be at least 0; got {cost:g}"
        if fault is None and not np.isnan(costs[rows_of, number]).all():
            fault = fields[0].name, "must be given once; its cost stands twice"
        if fault:
            raise file_error(*place_of([file], fields, row), *fault)
        costs[rows_of, number] = cost
    return costs
