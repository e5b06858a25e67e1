"""Identified sets against every completion of small tables."""

import itertools

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.routing import regrets
from coverjax.routing.checking import checked_outcomes
from tests import reference_routing as reference

BOUNDS = [(0.0, 1.0), (-1.5, 2.25), (2.0, 3.0), (-4.0, -1.0)]


CASES, TEAMS = 1_500, 5


def random_cases(rng: np.random.Generator, low: float, high: float):
    """Up to 5 legal teams a task: scores with gaps (both ends of the range among them), two legal routes."""
    legal = rng.random((CASES, TEAMS)) < rng.choice([0.3, 0.6, 0.9], size=(CASES, 1))
    legal[np.arange(CASES), rng.integers(TEAMS, size=CASES)] = True
    scores = rng.choice(np.linspace(low, high, 5), size=legal.shape)
    executed = rng.random(legal.shape) < rng.choice([0.0, 0.3, 0.6, 0.9, 1.0], size=(CASES, 1))
    a, b = (np.array([rng.choice(np.flatnonzero(row)) for row in legal]) for _ in range(2))
    return scores, executed, legal, a, b


def brute_force(row, legal, a: int, b: int, values):
    """Extremes over all completions of regret, contrast, value and oracle."""
    quantities = (
        lambda full: reference.regret(full, legal, a),
        lambda full: full[a] - full[b],
        lambda full: full[a],
        lambda full: reference.regret(full, legal, a) + full[a],
    )
    return [reference.extremes(row, values, quantity) for quantity in quantities]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_bounds_equal_the_extremes_over_all_completions(rng, low, high):
    """1,500 tasks for each of 4 ranges: each bound is attained by a completion and exceeded by none."""
    scores, executed, legal, a, b = random_cases(rng, low, high)
    found = [
        regrets.regret_bounds(scores, executed, legal, a, low, high),
        regrets.contrast_bounds(scores, executed, a, b, low, high, legal=legal),
        regrets.value_bounds(scores, executed, a, low, high, legal=legal),
        regrets.oracle_bounds(checked_outcomes(scores, executed, legal, low, high)),
    ]
    mismatches = 0
    for case in range(CASES):
        row = [
            float(score) if run and ok else None
            for score, run, ok in zip(scores[case], executed[case], legal[case], strict=True)
        ]
        # An illegal team's score plays no part: it need not be filled in every way.
        row = [low if score is None and not ok else score for score, ok in zip(row, legal[case], strict=True)]
        values = (low, 0.5 * (low + high), high) if case % 8 == 0 else (low, high)
        wanted = brute_force(row, legal[case].tolist(), int(a[case]), int(b[case]), values)
        for (lower, upper), ends in zip(found, wanted, strict=True):
            mismatches += (lower[case], upper[case]) != pytest.approx(ends, abs=1e-14)
    assert mismatches == 0


def test_mean_regret_is_sharp_and_attained(rng):
    """Some completion of the whole table attains each end of the mean, and none lies beyond."""
    for _ in range(60):
        shape = (3, 3)
        scores, executed = rng.random(shape).round(2), rng.random(shape) < 0.6
        legal, routes = np.ones(shape, bool), rng.integers(3, size=3)
        lower, upper = regrets.regret_bounds(scores, executed, legal, routes)
        found = []
        for filling in itertools.product((0.0, 1.0), repeat=int((~executed).sum())):
            full = scores.copy()
            full[~executed] = filling
            found.append(np.mean(full.max(axis=1) - full[np.arange(3), routes]))
            point, same = regrets.regret_bounds(full, np.ones(shape, bool), legal, routes)
            assert np.array_equal(point, same)
            assert (point >= lower - 1e-15).all()
            assert (point <= upper + 1e-15).all()
        assert min(found) == pytest.approx(lower.mean(), abs=1e-12)
        assert max(found) == pytest.approx(upper.mean(), abs=1e-12)


def test_headroom_lower_end_is_attained_and_upper_end_holds(rng):
    for _ in range(40):
        shape = (2, 3)
        scores, executed = rng.random(shape).round(2), rng.random(shape) < 0.6
        table = checked_outcomes(scores, executed)
        low, high = regrets.headroom_bounds(table)
        found = []
        for filling in itertools.product((0.0, 1.0), repeat=int((~executed).sum())):
            full = scores.copy()
            full[~executed] = filling
            found.append(full.max(axis=1).mean() - full.mean(axis=0).max())
        assert min(found) == pytest.approx(low, abs=1e-12)
        assert max(found) <= high + 1e-12


def test_executed_teams_outside_the_family_count_for_nothing():
    scores, executed = [[0.2, 0.9]], [[True, True]]
    lower, upper = regrets.regret_bounds(scores, executed, [[True, False]], [0])
    assert (lower[0], upper[0]) == (0.0, 0.0)


def test_the_point_identified_cases():
    """Complete; family of one; r(x) run and m_x = U; r(x) the only one missing and m_x = L."""
    scores = [[0.5, 0.75], [0.25, np.nan], [1.0, np.nan], [np.nan, 0.0]]
    executed = ~np.isnan(scores)
    executed[1, 0] = False
    legal = [[True, True], [True, False], [True, True], [True, True]]
    lower, upper = regrets.regret_bounds(scores, executed, legal, [0, 0, 0, 0])
    assert lower.tolist() == upper.tolist() == [0.25, 0.0, 0.0, 0.0]


def test_same_team_is_no_contrast_even_unexecuted():
    lower, upper = regrets.contrast_bounds([[np.nan, 0.3]], [[False, True]], [0], [0])
    assert lower.tolist() == upper.tolist() == [0.0]


def test_what_is_not_executed_is_never_read(rng):
    scores, executed = rng.random((50, 4)), rng.random((50, 4)) < 0.5
    routes = rng.integers(4, size=50)
    args = (executed, np.ones((50, 4), bool), routes)
    first = regrets.regret_bounds(scores, *args)
    other = regrets.regret_bounds(np.where(executed, scores, 1e9), *args)
    assert all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_scaling_scores_scales_regret(rng):
    scores, executed = rng.random((80, 4)), rng.random((80, 4)) < 0.6
    routes = rng.integers(4, size=80)
    args = (executed, np.ones((80, 4), bool), routes)
    first = regrets.regret_bounds(scores, *args)
    other = regrets.regret_bounds(3.0 * scores - 2.0, *args, low=-2.0, high=1.0)
    np.testing.assert_allclose(other, 3.0 * np.array(first), atol=1e-14)


def test_jax_arrays_are_taken():
    import jax.numpy as jnp

    lower, upper = regrets.regret_bounds(
        jnp.array([[0.25, 1.0]]), jnp.array([[True, True]]), jnp.ones((1, 2), bool), jnp.array([0])
    )
    assert isinstance(lower, np.ndarray)
    assert lower.tolist() == upper.tolist() == [0.75]


def test_sampled_action_regret_is_a_lower_bound(rng):
    scores, executed = rng.random((60, 5)), rng.random((60, 5)) < 0.5
    routes = rng.integers(5, size=60)
    table = checked_outcomes(scores, executed)
    sampled = regrets.sampled_action_regret(table, routes)
    run = executed[np.arange(60), routes]
    assert np.array_equal(np.isnan(sampled), ~run)
    lower, upper = regrets.regret_set(table, routes)
    assert (sampled[run] <= upper[run] + 1e-15).all()
    np.testing.assert_array_equal(sampled[run], lower[run])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [[0.5, 1.5]]}, r"scores: must lie in \[0, 1\] where executed; task 0, team 1 has 1\.5"),
        ({"scores": [[0.5, np.nan]]}, r"team 1 has nan; a cell that was not run belongs to executed = False"),
        ({"routes": [1], "legal": [[True, False]]}, r"team 1 is outside the family of task 0"),
        ({"routes": [2]}, r"must be teams from 0 to 1; task 0 has 2"),
        ({"routes": [0.0]}, r"routes: must be one whole number for each of the 1 tasks; got float64"),
        ({"routes": [0, 1]}, r"got int64 of shape \(2,\)"),
        ({"legal": [[False, False]]}, r"legal: every task needs at least one legal team; task 0 has none"),
        ({"legal": [[1, 1]]}, r"legal: must hold True and False; got int64"),
        ({"executed": [[True]]}, r"executed: must be \[tasks, teams\]"),
        ({"low": 1.0, "high": 0.0}, r"low, high: must be finite bounds with low < high"),
        ({"scores": [0.5]}, r"scores: must be \[tasks, teams\]; got shape \(1,\)"),
    ],
)
def test_wrong_arrays_are_refused(change, message):
    given = {"scores": [[0.5, 0.5]], "executed": [[True, True]], "legal": [[True, True]], "routes": [0]}
    with pytest.raises(InputError, match=message):
        regrets.regret_bounds(**(given | change))
