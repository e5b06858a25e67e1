"""Cost against quality: which choices nothing beats in both."""

from collections.abc import Mapping

import numpy as np

from coverjax.routing.checking import at
from coverjax.routing.regrets import constants, oracle_routes
from coverjax.routing.tables import OutcomeTable


def undominated(costs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return which points no other point beats: none is at most as dear and at least as good, one of it
    strictly.

    >>> undominated(np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.5, 0.7, 0.6, 0.7])).tolist()
    [True, True, False, False]
    """
    order = np.lexsort((-values, costs))
    best, keep = -np.inf, np.zeros(len(costs), bool)
    last = (np.nan, np.nan)
    for i in order.tolist():
        point = (costs[i], values[i])
        if values[i] > best or point == last:
            keep[i] = True
            best, last = max(best, values[i]), point
    return keep


def cost_points(
    table: OutcomeTable, routes: Mapping[str, np.ndarray]
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return names, mean costs and mean values of routers and of constant teams, those whose every cell is
    known."""
    if table.costs is None:
        return [], np.zeros(0), np.zeros(0)
    tasks = len(table.tasks)
    choices = dict(routes)
    for team in constants(table.legal).tolist():
        choices.setdefault(f"always {table.family.names[team]}", np.full(tasks, team))
    names, costs, values = [], [], []
    for name, route in choices.items():
        cost, value = at(table.costs, route).mean(), at(table.outcomes.scores, route).mean()
        if np.isfinite(cost) and np.isfinite(value):
            names.append(name)
            costs.append(float(cost))
            values.append(float(value))
    return names, np.array(costs), np.array(values)


def cost_quality_front(table: OutcomeTable, routes: Mapping[str, np.ndarray]) -> dict[str, bool]:
    """Return for each router and constant with known costs whether it is on the front of mean cost and mean
    score."""
    names, costs, values = cost_points(table, routes)
    return dict(zip(names, undominated(costs, values).tolist(), strict=True))


def cheapest_oracle_cost(table: OutcomeTable, solved_only: bool = False) -> float:
    """Return the total cost of the cheapest best known team of each task; NaN where one has no cost.

    Args:
        table: outcomes with costs.
        solved_only: leave out tasks on which no team scored above the lower bound: there the cheapest is
            best, and its cost buys nothing.
    """
    if table.costs is None:
        return np.nan
    routes = oracle_routes(table.outcomes, table.costs)
    kept = routes >= 0
    if solved_only:
        kept &= table.outcomes.best > table.outcomes.low
    return float(table.costs[np.flatnonzero(kept), routes[kept]].sum())
