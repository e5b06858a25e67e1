"""From checked rows to tables [tasks, teams]: what rows must be to each other, and replicates averaged."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from coverjax.foundation.checks import InputError, listed, shown
from coverjax.routing.reading import STATUSES, Rows, read_rows
from coverjax.routing.tables import OutcomeTable, OutcomeTables
from coverjax.routing.teams import JOIN, TeamFamily

OK, FAILED, MISSING = range(len(STATUSES))
GIVEN = "given"
"""The rule that a failed run bears the score which its row gives."""


def read_outcomes(
    paths: "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]",
    family: TeamFamily | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    failed: "float | str | None" = None,
    tasks: "Sequence[str] | None" = None,
    only: "Mapping[str, Iterable[Any]] | None" = None,
    unavailable: "Mapping[str, Iterable[str]] | None" = None,
    clusters: "Mapping[str, str] | None" = None,
    layout: str = "auto",
) -> OutcomeTables:
    """Read what teams scored on tasks, one table for each downstream stack and endpoint.

    Long files have a row a run: `task`, `team` (a name of the family, or workers as a list or a|b; or
    `model` for single workers), `score`, and optionally `cost`, `status` (ok, failed, missing), `stack`,
    `endpoint`, `replicate`, `family` (of the task), `seal`, `evidence`. Wide files have a row a task and a
    column of scores for each team (and "cost:TEAM" columns). CSV, JSONL, Parquet.

    A missing outcome is a row that is not there, an empty cell of a wide table, or a row of status missing;
    it is never 0. A run that failed is a score, by the rule `failed`. Replicates of a cell are averaged.
    Rows that repeat another one in every value are merged and counted; rows that disagree are refused.

    Args:
        paths: a path, a glob or several, all of one kind.
        family: the teams; without it the teams that the files name, in order of appearance.
        low, high: the bounds that every score has by its definition.
        failed: the score of a failed run, or "given" where its row bears one. None refuses failed runs.
        tasks: all tasks, so that one without any row is there, with everything missing; without them the
            tasks that the files name.
        only, unavailable: legality by task, as in `TeamFamily.legal`.
        clusters: family of each task, where the rows don't bear it.
        layout: "long", "wide", or "auto": long exactly when there is a `score` column.

    Raises:
        InputError: a value, a row or a pair of rows is wrong; the message starts with file and line.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "outcomes.csv"
    >>> _ = path.write_text("task,team,score\\nt1,a,1\\nt1,b,0\\nt2,a|b,0.5\\n")
    >>> table = read_outcomes(path).table()
    >>> table.family.names, table.outcomes.scores.tolist()
    (('a', 'b', 'a|b'), [[1.0, 0.0, nan], [nan, nan, 0.5]])
    """
    rows, files = read_rows(paths, family, layout)
    family = _named_family(rows) if family is None else family
    team = _team_numbers(rows, family)
    names = rows.names["task"] if tasks is None else list(tasks)
    task = _task_numbers(rows, names)
    score = _scores(rows, low, high, failed)
    keep = _distinct(rows, np.stack([task, team, *_slices(rows)], axis=1), score)
    labels = _cluster_labels(rows, task, names, clusters)
    mask = family.legal(names, only=only, unavailable=unavailable)
    tables = {}
    stacks, endpoints = rows.names["stack"] or [""], rows.names["endpoint"] or ["score"]
    present = dict.fromkeys(zip(*(part[keep].tolist() for part in _slices(rows)[:2]), strict=True))
    for stack, endpoint in present:
        chosen = keep & (_slices(rows)[0] == stack) & (_slices(rows)[1] == endpoint)
        tables[stacks[stack], endpoints[endpoint]] = _table(
            rows, chosen, task, team, score, mask,
            family=family, low=low, high=high, tasks=names, clusters=labels,
            stack=stacks[stack], endpoint=endpoints[endpoint], provenance={"files": files},
        )  # fmt: skip
    merged = int((~keep).sum())
    return OutcomeTables(tables, merged, _evidence(rows), {"files": files})


def _slices(rows: Rows) -> list[np.ndarray]:
    """Stack, endpoint and replicate of each row; 0 where there is no such column."""
    return [np.maximum(rows.codes[name], 0) for name in ("stack", "endpoint", "replicate")]


def _named_family(rows: Rows) -> TeamFamily:
    """The teams that the rows name, on the workers that these hold together."""
    names = [name for name in rows.names["team"] if name]
    members = [[part.strip() for part in name.split(JOIN)] for name in names]
    workers = list(dict.fromkeys(worker for team in members for worker in team))
    distinct = list(dict.fromkeys(tuple(sorted(team, key=workers.index)) for team in members))
    return TeamFamily.of_teams(workers, distinct)


def _team_numbers(rows: Rows, family: TeamFamily) -> np.ndarray:
    numbers = [family.index(name) for name in rows.names["team"]]
    lookup = np.array([-1 if number is None else number for number in numbers], dtype=np.int64)
    team = lookup[rows.codes["team"]]
    if (team < 0).any():
        at = int((team < 0).argmax())
        name = rows.names["team"][rows.codes["team"][at]]
        rows.fault(
            at,
            "team",
            f"must be a team of the family ({family.teams} teams of {len(family.workers)} workers); got "
            f"{shown(name)}"
            if name
            else "must name a team; got an empty list of workers",
        )
    return team


def _task_numbers(rows: Rows, names: Sequence[str]) -> np.ndarray:
    place = {name: i for i, name in enumerate(names)}
    lookup = np.array([place.get(name, -1) for name in rows.names["task"]], dtype=np.int64)
    task = lookup[rows.codes["task"]]
    if (task < 0).any():
        at = int((task < 0).argmax())
        name = rows.names["task"][rows.codes["task"][at]]
        rows.fault(at, "task", f"must be one of the {len(names)} declared tasks; got {shown(name)}")
    return task


def _scores(rows: Rows, low: float, high: float, failed: "float | str | None") -> np.ndarray:
    """The score of each row, NaN where it is missing; failed runs by the rule."""
    score = rows.score.copy()
    bad = np.isnan(score)
    _first(
        rows,
        (rows.status == MISSING) & ~bad,
        lambda at: f"must be empty where status is missing: a missing outcome is no score; got {score[at]:g}",
    )
    _first(
        rows,
        (rows.status == OK) & bad,
        lambda at: (
            "must be a number, or status must say missing or failed; an empty score is never read as 0"
        ),
    )
    lost = rows.status == FAILED
    if failed is None:
        _first(
            rows,
            lost,
            lambda at: 'this run failed: the contract must say what that scores (failed = 0.0, or "given")',
            "status",
        )
    elif failed == GIVEN:
        _first(rows, lost & bad, lambda at: 'must be given for a failed run, as the contract says "given"')
    else:
        rule = float(failed)
        contradicts = lost & ~bad & (score != rule)
        _first(
            rows, contradicts, lambda at: f"a failed run scores {rule:g} by the contract; got {score[at]:g}"
        )
        score[lost] = rule
    outside = ~np.isnan(score) & ~((score >= low) & (score <= high))
    _first(rows, outside, lambda at: f"must lie in [{low:g}, {high:g}]; got {score[at]:g}")
    _first(rows, rows.cost < 0.0, lambda at: f"must be at least 0; got {rows.cost[at]:g}", "cost")
    return score


def _first(rows: Rows, wrong: np.ndarray, message: Any, field: str = "score") -> None:
    if wrong.any():
        at = int(wrong.argmax())
        rows.fault(at, field, message(at))


def _distinct(rows: Rows, key: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return which rows to keep: the first of each key; a later one must repeat it in every value."""
    order = np.lexsort((np.arange(len(key)), *key.T[::-1]))
    ordered = key[order]
    again = np.zeros(len(key), bool)
    again[1:] = (ordered[1:] == ordered[:-1]).all(axis=1)
    first = np.maximum.accumulate(np.where(again, 0, np.arange(len(key))))
    original = np.empty(len(key), dtype=np.int64)
    original[order] = order[first]
    repeat = original != np.arange(len(key))
    differs = np.zeros(len(key), bool)
    for values in (score, rows.cost, rows.status, rows.codes["seal"]):
        same = values == values[original]
        if values.dtype == np.float64:
            same |= np.isnan(values) & np.isnan(values[original])
        differs |= repeat & ~same
    if differs.any():
        at = int(differs.argmax())
        one, other = score[original[at]], score[at]
        rows.fault(
            at,
            "score",
            f"this row repeats another ({rows.place(int(original[at]))}) and disagrees with it: scores "
            f"{one:g} and "
            f"{other:g}; keep one, or number them in a `replicate` column",
        )
    return ~repeat


def _cluster_labels(
    rows: Rows, task: np.ndarray, names: Sequence[str], clusters: "Mapping[str, str] | None"
) -> "list[str] | None":
    """The family of each task: one and the same in all its rows."""
    code = rows.codes["family"]
    if not rows.names["family"]:
        if clusters is None:
            return None
        absent = [name for name in names if name not in clusters]
        if absent:
            raise InputError(f"clusters: must give a family for each task; none for {listed(absent)}")
        return [clusters[name] for name in names]
    first = np.full(len(names), -1)
    first[task[::-1]] = code[::-1]
    moved = code != first[task]
    if moved.any():
        at = int(moved.argmax())
        label = rows.names["family"]
        rows.fault(
            at,
            "family",
            f"must be the same in all rows of a task; {shown(names[task[at]])} has "
            f"{shown(label[first[task[at]]])} and "
            f"{shown(label[code[at]])}",
        )
    # A task without any row is a cluster of its own, unless the contract knows better.
    known = clusters or {}
    return [
        rows.names["family"][c] if c >= 0 else known.get(name, f"(task {name})")
        for name, c in zip(names, first.tolist(), strict=True)
    ]


def _evidence(rows: Rows) -> str:
    kinds = rows.names["evidence"]
    if len(kinds) > 1:
        at = int((rows.codes["evidence"] == 1).argmax())
        rows.fault(at, "evidence", f"kinds of evidence are never pooled; the rows hold {listed(kinds)}")
    return kinds[0] if kinds else ""


def _table(
    rows: Rows,
    chosen: np.ndarray,
    task: np.ndarray,
    team: np.ndarray,
    score: np.ndarray,
    legal: np.ndarray,
    **about: Any,
) -> OutcomeTable:
    """Average the replicates of each cell."""
    run = chosen & ~np.isnan(score)
    cell = task[run] * legal.shape[1] + team[run]
    count = _cells(cell, None, legal.shape)
    heavy = np.maximum(count, 1)
    # A mean of equal scores is that score: a sum over a count could round past a bound.
    total = _cells(cell, score[run], legal.shape) / heavy
    mean = np.clip(total, about["low"], about["high"])
    priced = run & ~np.isnan(rows.cost)
    costs = None
    if priced.any():
        where = task[priced] * legal.shape[1] + team[priced]
        number = _cells(where, None, legal.shape)
        sums = _cells(where, rows.cost[priced], legal.shape)
        costs = np.where(number > 0, sums / np.maximum(number, 1), np.nan)
    failed = _cells(cell, (rows.status[run] == FAILED).astype(np.float64), legal.shape) > 0
    seals = np.bincount(rows.codes["seal"][run] + 1, minlength=1).tolist()
    names = ["", *rows.names["seal"]]
    return OutcomeTable.from_arrays(
        np.where(count > 0, mean, np.nan),
        count > 0,
        legal,
        costs=costs,
        failed=failed,
        replicates=count.astype(np.int64),
        seals={name: number for name, number in zip(names, seals, strict=False) if number},
        **about,
    )


def _cells(cell: np.ndarray, weights: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    return np.bincount(cell, weights, minlength=shape[0] * shape[1]).reshape(shape)
