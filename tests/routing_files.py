"""Files of small routing studies, for tests."""

import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

CONTRACT = """\
name = "a study"

[actions]
workers = ["a", "b", "c"]
teams = [1, 2]

[information]
public = ["card"]
privileged = ["solution"]

[stack]
id = "stack-1"

[scores]
failed = 0.0

[inference]
replicates = 500
criterion = 0.10

[evidence]
kind = "controlled_table"

[[routers]]
name = "frozen"
file = "frozen.csv"

[[routers]]
name = "insider"
file = "insider.csv"
role = "privileged"
"""

TEAMS = ("a", "b", "c", "a|b", "a|c", "b|c")


def write_csv(path: pathlib.Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> pathlib.Path:
    """Write a plain CSV file."""
    lines = [",".join(header), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_routes(path: pathlib.Path, routes: Mapping[str, str]) -> pathlib.Path:
    """Write a route file."""
    return write_csv(path, ("task", "team"), routes.items())


def score(task: int, team: int) -> float:
    """Some score for each cell, different enough."""
    return ((7 * task + 3 * team * team + task * team) % 11) / 10


def write_outcomes(
    path: pathlib.Path, seal: str, tasks: int = 10, stack: str = "stack-1", **changes: Any
) -> pathlib.Path:
    """Write a complete table of 10 tasks x 6 teams; `drop` names cells to leave out, `seals` other seals by
    task."""
    drop, seals = changes.get("drop", ()), changes.get("seals", {})
    rows = [
        (f"t{i}", team, score(i, j), 1 + team.count("|"), f"f{i % 4}", stack, seals.get(i, seal))
        for i in range(tasks)
        for j, team in enumerate(TEAMS)
        if (i, team) not in drop
    ]
    return write_csv(path, ("task", "team", "score", "cost", "family", "stack", "seal"), rows)


def write_study(folder: pathlib.Path, contract: str = CONTRACT, tasks: int = 10) -> pathlib.Path:
    """Write contract and route files; return the contract's path."""
    write_routes(folder / "frozen.csv", {f"t{i}": TEAMS[i % 6] for i in range(tasks)})
    write_routes(folder / "insider.csv", {f"t{i}": TEAMS[(5 * i + 2) % 6] for i in range(tasks)})
    path = folder / "study.toml"
    path.write_text(contract)
    return path
