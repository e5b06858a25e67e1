"""Which team executions identify what, and which to run next."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError, one_of, shown
from coverjax.routing.checking import Outcomes, at, checked_mask, checked_routes
from coverjax.routing.regrets import regret_set

Rows = Int[np.ndarray, "rows 2"]
"""(task, team) pairs, by task and then team."""

ESTIMANDS = ("contrast", "value", "complete")

WORDS = {
    "contrast": (
        "Identifies every paired contrast between the frozen routers, and nothing less does: removing any "
        "one row "
        "leaves some contrast a set. Tasks on which all routers agree need no execution. Does not "
        "identify the value "
        "of any router, its absolute regret, the oracle or headroom."
    ),
    "value": (
        "Identifies the value of every frozen router and every contrast between them. Does not identify "
        "absolute "
        "regret, the oracle or headroom: teams that no router chose were not run. The best executed team "
        "gives "
        "sampled-action regret, a lower bound."
    ),
    "complete": (
        "Identifies values, contrasts, absolute regret, the oracle and headroom under this downstream "
        "stack, for the "
        "frozen routers and for any router over the same family. Identifies nothing about another stack, "
        "another "
        "family or deployment."
    ),
}
"""What each plan can and can't tell."""


@dataclasses.dataclass(frozen=True, eq=False)
class ExecutionPlan:
    """Rows to execute for each kind of question.

    Attributes:
        contrast: rows that identify every contrast; minimal.
        value: rows that identify every router's value; minimal.
        complete: every legal row, which alone identifies absolute regret in general.
        differing: number of router pairs that choose different teams, by task [tasks].
        shape: (tasks, teams).
    """

    contrast: Rows
    value: Rows
    complete: Rows
    differing: Int[np.ndarray, " tasks"]
    shape: tuple[int, int]

    @property
    def contrast_rows(self) -> int:
        """Number of rows of the contrast plan, sum_x |A_x| [|A_x| >= 2]."""
        return len(self.contrast)

    @property
    def value_rows(self) -> int:
        """Number of rows of the value plan, sum_x |A_x|."""
        return len(self.value)

    @property
    def complete_rows(self) -> int:
        """Number of rows of the complete plan, sum_x |F_x|."""
        return len(self.complete)

    def rows(self, estimand: str) -> Rows:
        """Return the rows of one plan: "contrast", "value" or "complete"."""
        return getattr(self, one_of("estimand", estimand, ESTIMANDS))

    def remaining(self, estimand: str, executed: Any) -> Rows:
        """Return the rows of a plan that were not executed yet."""
        run = checked_mask("executed", executed, self.shape)
        rows = self.rows(estimand)
        return rows[~run[rows[:, 0], rows[:, 1]]]

    def cost(self, estimand: str, costs: Any, executed: Any = None) -> float:
        """Return the cost of a plan's rows, of those that remain where `executed` is given.

        Raises:
            InputError: a row without a finite cost of at least 0.
        """
        rows = self.rows(estimand) if executed is None else self.remaining(estimand, executed)
        return float(row_costs(rows, costs, self.shape).sum())

    def within(self, estimand: str, costs: Any, cap: float, executed: Any = None) -> Rows:
        """Return rows of a plan that a cost cap affords, whole tasks first by interval width removed per
        cost.

        A task's rows of a contrast plan, and of a complete one, answer nothing for its mean until all are
        run, so tasks are bought whole, greedily (not an optimal knapsack). What is left out stays a set in
        every mean: tasks are never dropped for being dear, which would change the population.

        Args:
            estimand: "contrast", "value" or "complete".
            costs: cost of each cell [tasks, teams], finite where a row is needed.
            cap: the most to spend.
            executed: what was run already [tasks, teams].
        """
        rows = self.rows(estimand) if executed is None else self.remaining(estimand, executed)
        price = row_costs(rows, costs, self.shape)
        by_task = np.bincount(rows[:, 0], price, minlength=self.shape[0])
        count = np.bincount(rows[:, 0], minlength=self.shape[0])
        gain = self.differing if estimand == "contrast" else count if estimand == "value" else (count > 0) * 1
        tasks = np.flatnonzero(count)
        with np.errstate(divide="ignore"):
            order = tasks[np.argsort(-(gain[tasks] / by_task[tasks]), kind="stable")]
        taken = _affordable(by_task[order], float(cap))
        return rows[np.isin(rows[:, 0], order[taken])]


def _affordable(prices: np.ndarray, cap: float) -> Bool[np.ndarray, " items"]:
    """Take items in order, each that still fits under the cap."""
    taken, spent = np.zeros(len(prices), bool), 0.0
    for i, price in enumerate(prices.tolist()):
        if spent + price <= cap:
            taken[i], spent = True, spent + price
    return taken


def row_costs(rows: Rows, costs: Any, shape: tuple[int, int]) -> Float[np.ndarray, " rows"]:
    """Return the cost of each row, else raise: every row needs a finite cost of at least 0."""
    table = np.asarray(costs, dtype=np.float64)
    if table.shape != shape:
        raise InputError(f"costs: must be [tasks, teams], {shape}; got shape {table.shape}")
    price = table[rows[:, 0], rows[:, 1]]
    wrong = ~(np.isfinite(price) & (price >= 0.0))
    if wrong.any():
        task, team = rows[wrong.argmax()]
        raise InputError(
            f"costs: must be finite and at least 0 where a row is planned; task {task}, team {team} has "
            f"{price[wrong.argmax()]:g}"
        )
    return price


def plan(routes_by_name: Mapping[str, Any], legal: Any) -> ExecutionPlan:
    """Plan the executions that frozen routers need, for contrasts, for values and for absolute regret.

    With A_x the distinct teams that the routers choose on task x: contrasts need A_x where |A_x| >= 2, values
    A_x everywhere, absolute regret every legal team. Both route plans are minimal: each row is needed.
    (Absolute regret may become known earlier, at a task whose routed team scores U: see `next_rows`.)

    Args:
        routes_by_name: the frozen routes [tasks] of each router.
        legal: bool [tasks, teams].

    Returns:
        An `ExecutionPlan` with `.contrast_rows`, `.value_rows`, `.complete_rows` and the rows themselves.

    Raises:
        InputError: no router, or a route that is no legal team.

    >>> found = plan({"a": [0, 1, 2], "b": [0, 2, 2]}, np.ones((3, 4), bool))
    >>> found.contrast_rows, found.value_rows, found.complete_rows, found.contrast.tolist()
    (2, 4, 12, [[1, 1], [1, 2]])
    """
    mask = np.asarray(legal)
    if mask.ndim != 2:
        raise InputError(f"legal: must be [tasks, teams]; got shape {mask.shape}")
    mask = checked_mask("legal", mask, mask.shape)
    if not routes_by_name:
        raise InputError("routes_by_name: must hold at least one router; got none")
    routes = [checked_routes(f"routes of {shown(n)}", r, mask.shape, mask) for n, r in routes_by_name.items()]
    chosen = np.zeros(mask.shape, dtype=np.int64)
    for route in routes:
        chosen[np.arange(len(route)), route] += 1
    distinct = (chosen > 0).sum(axis=1)
    pairs = len(routes) * (len(routes) - 1) // 2 - (chosen * (chosen - 1) // 2).sum(axis=1)
    return ExecutionPlan(
        contrast=np.argwhere((chosen > 0) & (distinct >= 2)[:, None]),
        value=np.argwhere(chosen > 0),
        complete=np.argwhere(mask),
        differing=pairs,
        shape=(mask.shape[0], mask.shape[1]),
    )


def removable_width(table: Outcomes, routes: np.ndarray) -> Float[np.ndarray, "tasks teams"]:
    """Return how much a row can narrow its task's regret set at best, over the scores it may get.

    With U - m_x the width where r(x) was run: any missing team can remove it all (by scoring U). Where r(x)
    is the only one missing, running it removes m_x - L; where others are missing too, running it can remove
    U - L (by scoring U), and another team helps only if it is the last other one, by U - m_x (m_x = L where
    nothing was run). 0 for rows that were run, are illegal, or can't help: at the ceiling, m_x = U with
    r(x) run, no row can.
    """
    tasks = np.arange(len(routes))
    run = at(table.known, routes)[:, None]
    best = np.where(np.isfinite(table.best), table.best, table.low)[:, None]
    others = table.missing[:, None] - ~run
    is_route = np.zeros(table.known.shape, bool)
    is_route[tasks, routes] = True
    to_ceiling = table.high - best
    routed = np.where(others > 0, table.high - table.low, best - table.low)
    single = (table.legal.sum(axis=1) == 1)[:, None]
    unrouted = np.where(run | (others == 1), to_ceiling, 0.0)
    width = np.where(is_route, routed, unrouted)
    return np.where(table.legal & ~table.known & ~single, width, 0.0)


@dataclasses.dataclass(frozen=True, eq=False)
class NextRows:
    """Rows to run next, best first, at most one a task.

    Attributes:
        rows: (task, team) pairs.
        removable: largest width that the row can remove, summed over routers [rows], in units of the score.
        cost: cost of each row [rows]; ones where no costs are given.
        settled: tasks at which no further row can narrow any router's regret.
        open_width: mean over tasks and routers of the width of the regret sets as they stand.
    """

    rows: Rows
    removable: Float[np.ndarray, " rows"]
    cost: Float[np.ndarray, " rows"]
    settled: Int[np.ndarray, " tasks"]
    open_width: float


def next_rows(
    table: Outcomes,
    routes_by_name: Mapping[str, np.ndarray],
    *,
    costs: Any = None,
    cap: float | None = None,
    count: int | None = None,
) -> NextRows:
    """Choose the rows whose execution can narrow absolute regret the most, per cost.

    One row a task, the one with the largest `removable_width` summed over routers per cost; tasks in that
    order. Run them, then ask again: what a second row of a task can remove depends on the first one's
    score. A task whose routed teams were run and whose best score is U is settled and stops early, as every
    other settled one.

    Args:
        table: what was executed so far.
        routes_by_name: the frozen routes [tasks] of each router.
        costs: cost of each cell [tasks, teams]; all equal when None.
        cap: the most to spend on the rows together.
        count: the most rows.
    """
    if not routes_by_name:
        raise InputError("routes_by_name: must hold at least one router; got none")
    removable = sum(removable_width(table, routes) for routes in routes_by_name.values())
    assert isinstance(removable, np.ndarray)
    useful = removable > 0.0
    price = np.ones(removable.shape)
    if costs is not None:
        row_costs(np.argwhere(useful), costs, removable.shape)
        price = np.where(useful, np.asarray(costs, dtype=np.float64), 1.0)
    with np.errstate(divide="ignore"):
        worth = np.where(useful, removable / price, -np.inf)
    tasks = np.flatnonzero(useful.any(axis=1))
    team = worth[tasks].argmax(axis=1)
    order = np.argsort(-worth[tasks, team], kind="stable")
    rows = np.stack([tasks[order], team[order]], axis=1)
    cost = price[rows[:, 0], rows[:, 1]]
    if cap is not None:
        taken = _affordable(cost, float(cap))
        rows, cost = rows[taken], cost[taken]
    rows, cost = rows[:count], cost[:count]
    return NextRows(
        rows=rows,
        removable=removable[rows[:, 0], rows[:, 1]],
        cost=cost,
        settled=np.flatnonzero(~useful.any(axis=1)),
        open_width=_open_width(table, routes_by_name),
    )


def _open_width(table: Outcomes, routes_by_name: Mapping[str, np.ndarray]) -> float:
    sets = [regret_set(table, routes) for routes in routes_by_name.values()]
    return float(np.mean([upper - lower for lower, upper in sets]))
