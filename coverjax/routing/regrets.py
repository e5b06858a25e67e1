"""What a table of executed teams says about a router, task by task: points where it can, sets where not.

y[x, S] in [L, U] is the score of team S on task x under one downstream stack; F_x the legal teams; O_x those
executed, of which only O_x inside F_x counts; m_x the largest score there; r(x) in F_x the routed team. A
missing score may be anything in [L, U], independently of all others: each bound below is attained by some
completion of the table, and the means over tasks of lower and upper ends are again sharp, as tasks share no
cell.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from coverjax.routing.checking import Outcomes, at, checked_outcomes, checked_routes

Bounds = tuple[Float[np.ndarray, " tasks"], Float[np.ndarray, " tasks"]]


def value_bounds(
    scores: Any, executed: Any, routes: Any, low: float = 0.0, high: float = 1.0, legal: Any = None
) -> Bounds:
    """Compute the sharp bounds of a router's score on each task: y[x, r(x)], or [L, U] where it was not run.

    Args:
        scores: y in [low, high] [tasks, teams]; what stands in cells not executed is never read.
        executed: bool [tasks, teams].
        routes: the routed team of each task [tasks].
        low, high: L and U.
        legal: bool [tasks, teams]; every team when None.

    Returns:
        lower, upper [tasks]; equal where the score is known.

    Raises:
        InputError: a score outside its bounds, a route that is no legal team, or shapes that differ.
    """
    table = checked_outcomes(scores, executed, legal, low, high)
    return value_set(table, checked_routes("routes", routes, table.scores.shape, table.legal))


def value_set(table: Outcomes, routes: np.ndarray) -> Bounds:
    """`value_bounds` of checked arrays."""
    run, y = at(table.known, routes), at(table.scores, routes)
    return np.where(run, y, table.low), np.where(run, y, table.high)


def regret_bounds(
    scores: Any, executed: Any, legal: Any, routes: Any, low: float = 0.0, high: float = 1.0
) -> Bounds:
    """Compute the sharp bounds of absolute regret, max over F_x of y[x, S] minus y[x, r(x)], on each task.

    | what was executed of F_x | set |
    |---|---|
    | everything | the point m_x - y_r |
    | r(x), something else missing | [m_x - y_r, U - y_r] |
    | all but r(x) | [0, m_x - L] |
    | r(x) and others missing | [0, U - L] |
    | anything, F_x is r(x) alone | 0 |

    Stack-internal: it compares teams under the one downstream stack of the table, and is no statement about
    the utility of a deployed system.

    Args:
        scores: y in [low, high] [tasks, teams]; what stands in cells not executed is never read.
        executed: bool [tasks, teams].
        legal: bool [tasks, teams], at least one team a task; executed teams outside it count for nothing.
        routes: the routed team of each task [tasks], a legal one.
        low, high: L and U, the bounds that every score has by its definition.

    Returns:
        lower, upper [tasks], in units of the score.

    Raises:
        InputError: a score outside its bounds, a route that is not legal, a task without a legal team, or
            shapes that differ.

    >>> scores = [[0.25, 1.0, 0.5], [0.5, 0.75, np.nan]]
    >>> lower, upper = regret_bounds(scores, ~np.isnan(scores), np.ones((2, 3), bool), [0, 1])
    >>> lower.tolist(), upper.tolist()
    ([0.75, 0.0], [0.75, 0.25])
    """
    table = checked_outcomes(scores, executed, legal, low, high)
    return regret_set(table, checked_routes("routes", routes, table.scores.shape, table.legal))


def regret_set(table: Outcomes, routes: np.ndarray) -> Bounds:
    """`regret_bounds` of checked arrays."""
    run, y = at(table.known, routes), at(table.scores, routes)
    others_missing = table.missing - ~run > 0
    worst = np.where(run, y, table.low)
    lower = np.where(run, table.best - worst, 0.0)
    best_possible = np.where(others_missing, table.high, np.where(np.isfinite(table.best), table.best, worst))
    return lower, np.maximum(best_possible - worst, 0.0)


def contrast_bounds(
    scores: Any,
    executed: Any,
    routes_a: Any,
    routes_b: Any,
    low: float = 0.0,
    high: float = 1.0,
    legal: Any = None,
) -> Bounds:
    """Compute the sharp bounds of y[x, a(x)] - y[x, b(x)], router a minus router b, on each task.

    0 where both choose the same team, even if nobody ran it; the point where both were run; [L - y_b, U -
    y_b] or [y_a - U, y_a - L] where one was; [L - U, U - L] where neither was. Each contrast's bounds are
    sharp; several contrasts that share a team which was not run lie in a polytope inside the product of
    their sets.

    Args:
        scores: y in [low, high] [tasks, teams].
        executed: bool [tasks, teams].
        routes_a, routes_b: teams of the two routers [tasks].
        low, high: L and U.
        legal: bool [tasks, teams]; every team when None.

    Returns:
        lower, upper [tasks], in units of the score.

    Raises:
        InputError: as in `regret_bounds`.
    """
    table = checked_outcomes(scores, executed, legal, low, high)
    a = checked_routes("routes_a", routes_a, table.scores.shape, table.legal)
    b = checked_routes("routes_b", routes_b, table.scores.shape, table.legal)
    return contrast_set(table, a, b)


def contrast_set(table: Outcomes, a: np.ndarray, b: np.ndarray) -> Bounds:
    """`contrast_bounds` of checked arrays."""
    (a_low, a_high), (b_low, b_high) = value_set(table, a), value_set(table, b)
    differ = a != b
    return np.where(differ, a_low - b_high, 0.0), np.where(differ, a_high - b_low, 0.0)


def sampled_action_regret(table: Outcomes, routes: np.ndarray) -> Float[np.ndarray, " tasks"]:
    """Return m_x - y[x, r(x)], NaN where r(x) was not run [tasks].

    Regret against the best team that happens to have been executed: a lower bound of absolute regret and
    another estimand. It grows as more teams are run, so two tables with different coverage do not compare.
    """
    run = at(table.known, routes)
    return np.where(run, table.best, np.nan) - at(table.scores, routes)


def oracle_bounds(table: Outcomes) -> Bounds:
    """Return the sharp bounds of max over F_x of y[x, S], [tasks]."""
    lower = np.where(np.isfinite(table.best), table.best, table.low)
    return lower, np.where(table.complete, table.best, table.high)


def constants(legal: Bool[np.ndarray, "tasks teams"]) -> np.ndarray:
    """Return the teams that are legal on every task, the only ones a constant router can choose."""
    return np.flatnonzero(legal.all(axis=0))


def headroom_bounds(table: Outcomes) -> tuple[float, float]:
    """Bound headroom: mean over tasks of the best team's score, minus the best constant team's mean score.

    It is the regret of the best constant, min over constants S of mean_x [max y - y[x, S]]. The lower end,
    min over S of the mean lower regret of S, is attained; the upper end, min over S of its mean upper regret,
    holds but need not be attained (the completions that are worst for two constants may differ). A point on
    complete tables. NaN, NaN where no team is legal on every task.
    """
    tasks = len(table.scores)
    ends = [regret_set(table, np.full(tasks, team)) for team in constants(table.legal).tolist()]
    if not ends:
        return np.nan, np.nan
    return min(float(lower.mean()) for lower, _ in ends), min(float(upper.mean()) for _, upper in ends)


def best_constant(table: Outcomes) -> int | None:
    """Return the constant team with the largest mean score in hindsight, the first of equals.

    None where no team is legal on every task, or one that is was not run on some task.
    """
    teams = constants(table.legal)
    if not len(teams) or not table.known[:, teams].all():
        return None
    return int(teams[table.scores[:, teams].mean(axis=0).argmax()])


def oracle_routes(table: Outcomes, costs: "np.ndarray | None" = None) -> np.ndarray:
    """Return the best known team of each task, -1 where nothing is known [tasks].

    Among equals the cheapest where costs [tasks, teams] are given (a missing cost is dearest), else the
    first.
    """
    top = table.known & (np.where(table.known, table.scores, -np.inf) >= table.best[:, None])
    if costs is None:
        choice = top.argmax(axis=1)
    else:
        price = np.where(np.isfinite(costs), costs, np.finfo(np.float64).max)
        choice = np.where(top, price, np.inf).argmin(axis=1)
    return np.where(top.any(axis=1), choice, -1)
