"""A finished sweep as a table, and as panels over two settings: gain of each policy, and who wins where."""

import dataclasses
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from coverjax.foundation.checks import InputError
from coverjax.inference.intervals import mean_interval
from coverjax.sweep.evaluation import PLACE
from coverjax.sweep.grid import CELL_COLUMNS
from coverjax.sweep.store import PARTS, require_whole

NOTHING = 1e-9
"""Exact AUCs nearer than this are a tie."""

MOST_PANELS = 6
"""A third setting makes panels unless it has more values; then it is averaged over."""

NORMAL = 1.96
"""Standard errors on each side of a 95 % interval where only the Monte Carlo error is known."""


@dataclasses.dataclass(frozen=True, eq=False)
class SweepTable:
    """The rows of a sweep, in order of cells, policies as in the sweep.

    Attributes:
        manifest: of its folder.
        columns: name -> values [rows]; None (settings) or NaN (numbers) where there is none.
    """

    manifest: dict[str, Any]
    columns: dict[str, np.ndarray]

    @property
    def policies(self) -> list[str]:
        """The policies in order."""
        return list(self.manifest["sweep"]["policies"])

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns["cell"])

    def told(self, policy: str) -> tuple[str, str]:
        """Return what a policy sees and knows."""
        row = self.columns["policy"].tolist().index(policy)
        return str(self.columns["sees"][row]), str(self.columns["knows"][row])

    @property
    def varied(self) -> dict[str, list[Any]]:
        """Settings with several values, sorted; those with the most values first, the seed left out."""
        found = {}
        for name in CELL_COLUMNS:
            values = sorted({value for value in self.columns[name].tolist() if value is not None})
            if len(values) > 1 and name != "seed":
                found[name] = values
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def read_table(folder: "str | os.PathLike[str]", names: Sequence[str] | None = None) -> SweepTable:
    """Read a finished sweep, every part checked against its name.

    Args:
        folder: of the sweep.
        names: columns wanted beside cell, policy and settings; all when None.

    Raises:
        InputError: the folder holds no sweep, or one that is unfinished or damaged.
    """
    import duckdb

    path = pathlib.Path(folder)
    manifest = require_whole(path)
    known = manifest["columns"]
    wanted = known if names is None else [name for name in known if name in {*PLACE, *CELL_COLUMNS, *names}]
    listed = ", ".join(f'"{name}"' for name in wanted)
    order = {policy: place for place, policy in enumerate(manifest["sweep"]["policies"])}
    with duckdb.connect() as connection:
        parts = str(path / PARTS / "*.parquet")
        found = connection.execute(f"SELECT {listed} FROM read_parquet(?)", [parts]).fetchnumpy()
    columns = {name: _plain(found[name], name) for name in wanted}
    places = np.array([order[policy] for policy in columns["policy"].tolist()])
    rows = np.lexsort((places, columns["cell"].astype(np.int64)))
    return SweepTable(manifest, {name: values[rows] for name, values in columns.items()})


def _plain(values: np.ndarray, name: str) -> np.ndarray:
    """A column without masks: settings as objects with None, numbers as float64 with NaN."""
    masked = np.ma.asarray(values)
    if name in (*PLACE, *CELL_COLUMNS):
        plain = np.empty(len(masked), dtype=object)
        plain[:] = masked.tolist()
        return plain
    return np.asarray(masked) if masked.dtype == object else np.ma.filled(masked.astype(np.float64), np.nan)


@dataclasses.dataclass(frozen=True, eq=False)
class Panel:
    """A map over two settings.

    Attributes:
        title: the value of the third setting, or "".
        xs, ys: values along both settings.
        gain: mean gain over the cells that fall on a place [policies, ys, xs]; NaN where there is none.
        best: number of the policy with the largest mean AUC [ys, xs]; -1 where there is no cell.
        decided: whether it is ahead of every other one by more than chance explains [ys, xs].
    """

    title: str
    xs: list[Any]
    ys: list[Any]
    gain: np.ndarray
    best: np.ndarray
    decided: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Maps:
    """Panels of a sweep over the same settings.

    Attributes:
        x, y, panel: names of the settings; "" where there is none.
        policies: the policies of the gains, in order.
        rivals: those among which a winner is looked for.
        told: what each policy sees and knows.
        pooled: settings that are averaged over on each place.
        panels: one for each value of the third setting.
    """

    x: str
    y: str
    panel: str
    policies: list[str]
    rivals: list[str]
    told: dict[str, tuple[str, str]]
    pooled: list[str]
    panels: list[Panel]


def maps(table: SweepTable, x: str = "", y: str = "", panel: str = "") -> Maps:
    """Lay a sweep out over two settings, and a third as panels; the rest is averaged over.

    Who wins: the policy with the largest mean AUC among those that see no oracle. It is decided where,
    against each other one, the 95 % t-interval of the paired differences excludes 0. Units are inputs where
    the cells of a place differ in their seed at most, else cells. With one unit exact AUCs decide by
    themselves, simulated ones by their Monte Carlo error. Nothing is corrected for the number of policies
    or places.

    Args:
        table: with `auc`, `auc_mc_error`, `auc_by_input` and, for gains, `gain`.
        x, y, panel: names of settings; those with the most values where "" is given.

    Raises:
        InputError: a setting that has one value only.
    """
    varied = table.varied
    for name in filter(None, (x, y, panel)):
        if name not in varied:
            raise InputError(
                f"figures: {name} has one value in this sweep; varied: {', '.join(varied) or 'nothing'}"
            )
    x = x or next(iter(_free(table, (y, panel))), "")
    y = y or next(iter(_free(table, (x, panel))), "")
    panel = panel or next((name for name in _free(table, (x, y)) if len(varied[name]) <= MOST_PANELS), "")
    rivals = [name for name in table.policies if table.told(name)[0] != "oracle"] or table.policies
    values = varied.get(panel, [None])
    panels = [_panel(table, x, y, panel, value, varied, rivals) for value in values]
    seeds = {value for value in table.columns["seed"].tolist() if value is not None}
    pooled = _free(table, (x, y, panel)) + (["seed"] if len(seeds) > 1 else [])
    told = {name: table.told(name) for name in table.policies}
    return Maps(x, y, panel, table.policies, rivals, told, pooled, panels)


def _free(table: SweepTable, chosen: Sequence[str]) -> list[str]:
    """Varied settings that still vary where the chosen ones are fixed: not what is zipped with them."""
    names = [name for name in chosen if name]
    places = list(zip(*(table.columns[name].tolist() for name in names), strict=True)) or [()] * table.rows
    found = []
    for name in table.varied:
        pairs = set(zip(places, table.columns[name].tolist(), strict=True))
        if len(pairs) > len(set(places)):
            found.append(name)
    return found


def _panel(
    table: SweepTable, x: str, y: str, panel: str, value: Any, varied: dict[str, list[Any]], rivals: list[str]
) -> Panel:
    xs, ys = varied.get(x, [None]), varied.get(y, [None])
    count = len(table.policies)
    gain = np.full((count, len(ys), len(xs)), np.nan)
    best = np.full((len(ys), len(xs)), -1)
    decided = np.zeros((len(ys), len(xs)), bool)
    for place, rows in _places(table, x, y, panel, value, xs, ys).items():
        if "gain" in table.columns:
            gains = table.columns["gain"][rows].reshape(-1, count)
            some = np.isfinite(gains).any(axis=0)
            gain[:, *place] = np.where(some, np.nansum(gains, axis=0), np.nan)
            gain[:, *place] /= np.maximum(np.isfinite(gains).sum(axis=0), 1)
        best[place], decided[place] = _winner(table, rows, rivals)
    title = f"{panel} = {_shown(value)}" if panel else ""
    return Panel(title, xs, ys, gain, best, decided)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _places(
    table: SweepTable, x: str, y: str, panel: str, value: Any, xs: list[Any], ys: list[Any]
) -> dict[tuple[int, int], np.ndarray]:
    """The rows of each place; a whole number of cells, all policies each."""
    found: dict[tuple[int, int], list[int]] = {}
    nothing = [None] * table.rows
    along = [table.columns[name].tolist() if name else nothing for name in (x, y, panel)]
    for row, (a, b, c) in enumerate(zip(*along, strict=True)):
        if c == value and a in xs and b in ys:
            found.setdefault((ys.index(b), xs.index(a)), []).append(row)
    return {place: np.array(rows) for place, rows in found.items()}


def _winner(table: SweepTable, rows: np.ndarray, rivals: list[str]) -> tuple[int, bool]:
    """Who is best among the rivals in some cells (number among all policies), and whether it is decided."""
    policies = table.policies
    chosen = [policies.index(name) for name in rivals]
    of_cells = rows.reshape(-1, len(policies))[:, chosen]
    units = _units(table, of_cells)
    means = units.mean(axis=1)
    first = int(means.argmax())
    errors = np.nan_to_num(table.columns["auc_mc_error"][of_cells])
    noise = np.sqrt((errors**2).sum(axis=0)) / len(of_cells)
    ahead = [
        _ahead(units[first] - units[other], noise[first], noise[other])
        for other in range(len(chosen))
        if other != first
    ]
    return chosen[first], all(ahead)


def _units(table: SweepTable, of_cells: np.ndarray) -> np.ndarray:
    """AUCs that are compared in pairs [policies, units]."""
    by_input = table.columns["auc_by_input"]
    settings = [name for name in CELL_COLUMNS if name != "seed"]
    kinds = {tuple(table.columns[name][row] for name in settings) for row in of_cells[:, 0]}
    rows = [[np.asarray(by_input[row], dtype=np.float64) for row in policy] for policy in of_cells.T]
    if len(kinds) > 1:
        return np.array([[values.mean() for values in policy] for policy in rows])
    return np.array([np.concatenate(policy) for policy in rows])


def _ahead(difference: np.ndarray, noise: float, other_noise: float) -> bool:
    """Whether paired differences say that the first is better."""
    mean = float(difference.mean())
    if len(difference) < 2 or np.ptp(difference) < NOTHING:
        return mean > max(NOTHING, NORMAL * float(np.hypot(noise, other_noise)))
    return bool(mean_interval(difference[:, None], bounds=None).low[0] > NOTHING)
