"""Execution plans against every smaller plan, and next rows against every score they may get."""

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.routing import planning, regrets
from coverjax.routing.checking import checked_outcomes
from tests import reference_routing as reference


def random_routes(rng, tasks=4, teams=4, routers=3):
    legal = rng.random((tasks, teams)) < 0.8
    legal[np.arange(tasks), rng.integers(teams, size=tasks)] = True
    routes = {f"r{i}": np.array([rng.choice(np.flatnonzero(row)) for row in legal]) for i in range(routers)}
    return routes, legal


def done(rows, tasks):
    executed = [set() for _ in range(tasks)]
    for task, team in rows.tolist():
        executed[task].add(team)
    return executed


def test_removing_any_row_of_a_contrast_plan_makes_some_contrast_a_set(rng):
    removed = 0
    for _ in range(80):
        routes, legal = random_routes(rng)
        plan = planning.plan(routes, legal)
        assert reference.contrasts_known([*routes.values()], done(plan.contrast, 4))
        executed = np.zeros(legal.shape, bool)
        executed[tuple(plan.contrast.T)] = True
        for task, team in plan.contrast.tolist():
            short = executed.copy()
            short[task, team] = False
            ends = [
                regrets.contrast_bounds(np.full(legal.shape, 0.5), short, a, b)
                for a in routes.values()
                for b in routes.values()
            ]
            assert any((upper > lower).any() for lower, upper in ends)
            removed += 1
    assert removed > 300


def test_counts_are_the_formulas(rng):
    for _ in range(50):
        routes, legal = random_routes(rng)
        plan = planning.plan(routes, legal)
        chosen = [{int(route[task]) for route in routes.values()} for task in range(4)]
        assert plan.contrast_rows == sum(len(teams) for teams in chosen if len(teams) >= 2)
        assert plan.value_rows == sum(map(len, chosen))
        assert plan.complete_rows == legal.sum()
        pairs = [
            sum(a[task] != b[task] for i, a in enumerate(routes.values()) for b in [*routes.values()][:i])
            for task in range(4)
        ]
        assert plan.differing.tolist() == pairs


def test_value_plan_identifies_values_and_complete_plan_regret(rng):
    routes, legal = random_routes(rng, tasks=8)
    plan = planning.plan(routes, legal)
    scores = rng.random(legal.shape)
    for name, bounds in (("value", regrets.value_bounds), ("complete", None)):
        executed = np.zeros(legal.shape, bool)
        executed[tuple(plan.rows(name).T)] = True
        for route in routes.values():
            if bounds is None:
                lower, upper = regrets.regret_bounds(scores, executed, legal, route)
            else:
                lower, upper = bounds(scores, executed, route)
            assert np.array_equal(lower, upper)


def test_remaining_rows_and_their_cost():
    plan = planning.plan({"a": [0, 1], "b": [1, 1]}, np.ones((2, 3), bool))
    executed = np.zeros((2, 3), bool)
    executed[0, 0] = True
    costs = np.arange(6.0).reshape(2, 3)
    assert plan.remaining("contrast", executed).tolist() == [[0, 1]]
    assert plan.cost("contrast", costs) == 0.0 + 1.0
    assert plan.cost("complete", costs, executed) == 15.0
    assert plan.cost("value", costs) == 0.0 + 1.0 + 4.0


def test_a_cost_cap_buys_whole_tasks_with_the_most_width_per_cost():
    routes = {"a": [0, 0, 0], "b": [1, 1, 0], "c": [2, 1, 0]}
    plan = planning.plan(routes, np.ones((3, 3), bool))
    costs = np.ones((3, 3))
    # Task 0: 3 rows settle 3 pairs; task 1: 2 rows settle 2 pairs: equal worth, the first that fits comes
    # first.
    assert plan.within("contrast", costs, 5.0).tolist() == plan.contrast.tolist()
    assert plan.within("contrast", costs, 4.0)[:, 0].tolist() == [0, 0, 0]
    assert plan.within("contrast", costs, 2.5)[:, 0].tolist() == [1, 1]
    costs[0] = 0.0
    assert plan.within("contrast", costs, 0.0)[:, 0].tolist() == [0, 0, 0]
    assert plan.within("contrast", costs, 1.0).shape == (3, 2)


def test_removable_width_is_the_best_over_all_scores(rng):
    """Against the definition: the width as it stands minus the least width over scores that the row may
    get."""
    rows = 0
    for case in range(160):
        low, high = [(0.0, 1.0), (-1.0, 3.0)][case % 2]
        teams = int(rng.integers(1, 5))
        scores = rng.choice(np.linspace(low, high, 5), size=(1, teams))
        executed = rng.random((1, teams)) < 0.5
        legal = rng.random((1, teams)) < 0.8
        legal[0, rng.integers(teams)] = True
        route = np.array([rng.choice(np.flatnonzero(legal[0]))])
        table = checked_outcomes(scores, executed, legal, low, high)
        found = planning.removable_width(table, route)
        lower, upper = regrets.regret_set(table, route)
        for team in range(teams):
            if executed[0, team] or not legal[0, team]:
                assert found[0, team] == 0.0
                continue
            widths = []
            for score in np.linspace(low, high, 17):
                more, filled = executed.copy(), scores.copy()
                more[0, team], filled[0, team] = True, score
                ends = regrets.regret_bounds(filled, more, legal, route, low, high)
                widths.append(float(ends[1][0] - ends[0][0]))
            assert found[0, team] == pytest.approx(float(upper[0] - lower[0]) - min(widths), abs=1e-12)
            rows += 1
    assert rows > 100


def test_next_rows_are_best_first_and_stop_at_the_ceiling():
    scores = [[1.0, np.nan, np.nan], [0.25, np.nan, 0.5], [np.nan, 0.25, 0.25], [np.nan, np.nan, np.nan]]
    table = checked_outcomes(np.nan_to_num(scores), ~np.isnan(scores))
    found = planning.next_rows(table, {"a": np.zeros(4, np.int64)})
    assert found.settled.tolist() == [0]
    assert found.rows.tolist() == [[3, 0], [1, 1], [2, 0]]
    assert found.removable.tolist() == [1.0, 0.5, 0.25]
    assert found.open_width == pytest.approx((0.0 + 0.5 + 0.25 + 1.0) / 4)


def test_next_rows_weigh_cost_and_keep_to_the_cap():
    table = checked_outcomes(np.zeros((2, 2)), np.zeros((2, 2), bool))
    costs = np.array([[4.0, 1.0], [1.0, 1.0]])
    routes = {"a": np.zeros(2, np.int64)}
    found = planning.next_rows(table, routes, costs=costs)
    assert found.rows.tolist() == [[0, 1], [1, 0]]
    assert found.cost.tolist() == [1.0, 1.0]
    assert len(planning.next_rows(table, routes, costs=costs, cap=1.0).rows) == 1
    assert len(planning.next_rows(table, routes, count=1).rows) == 1


def test_running_next_rows_settles_every_task(rng):
    truth = rng.choice([0.0, 0.5, 1.0], size=(30, 4))
    executed = np.zeros(truth.shape, bool)
    routes = {"a": rng.integers(4, size=30), "b": rng.integers(4, size=30)}
    spent = 0
    while True:
        table = checked_outcomes(truth, executed)
        found = planning.next_rows(table, routes)
        if not len(found.rows):
            break
        executed[tuple(found.rows.T)] = True
        spent += len(found.rows)
    assert found.open_width == 0.0
    assert spent < truth.size  # the ceiling stopped some tasks early
    for route in routes.values():
        lower, upper = regrets.regret_set(table, route)
        assert np.array_equal(lower, upper)
        np.testing.assert_allclose(lower, truth.max(axis=1) - truth[np.arange(30), route])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: planning.plan({}, np.ones((1, 1), bool)), "at least one router"),
        (lambda: planning.plan({"a": [1]}, np.array([[True, False]])), "routes of 'a': must be a legal team"),
        (lambda: planning.plan({"a": [0]}, np.ones(2, bool)), r"legal: must be \[tasks, teams\]"),
        (
            lambda: planning.plan({"a": [0]}, np.ones((1, 2), bool)).cost("value", [[np.nan, 1.0]]),
            "costs: must be finite and at least 0 where a row is planned; task 0, team 0 has nan",
        ),
        (lambda: planning.plan({"a": [0]}, np.ones((1, 2), bool)).rows("all"), "estimand: must be one of"),
    ],
)
def test_wrong_plans_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
