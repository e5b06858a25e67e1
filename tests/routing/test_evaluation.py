"""The estimand gate, intervals and verdicts of one table."""

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.inference.resampling import resampled_interval
from coverjax.routing import answers
from coverjax.routing.answers import Answer, criterion_verdict
from coverjax.routing.contracts import Inference
from coverjax.routing.crossing import interaction
from coverjax.routing.evaluation import evaluate_table
from coverjax.routing.fronts import undominated
from coverjax.routing.sampling import sample_rows
from coverjax.routing.tables import OutcomeTable
from coverjax.routing.teams import TeamFamily

FAST = Inference(replicates=400)


def random_table(rng, tasks=20, teams=5, share=1.0, **about):
    scores = rng.random((tasks, teams)).round(2)
    return OutcomeTable.from_arrays(np.where(rng.random(scores.shape) < share, scores, np.nan), **about)


def test_complete_tables_give_points_and_paired_bootstraps(rng):
    table = random_table(rng)
    a, b = rng.integers(5, size=20), rng.integers(5, size=20)
    found = evaluate_table(table, {"a": a, "b": b}, FAST)
    y, rows = table.outcomes.scores, np.arange(20)
    regret = y.max(axis=1) - y[rows, a]
    outside = resampled_interval(np.stack([regret, y[rows, a] - y[rows, b]], axis=1), replicates=400)
    assert found.routers[0].regret.low == pytest.approx(regret.mean())
    for answer, point in ((found.routers[0].regret, 0), (found.contrasts[0].difference, 1)):
        assert answer.kind == "point"
        assert (answer.limit_low, answer.limit_high) == pytest.approx(
            (outside.low[point], outside.high[point])
        )
    constant = y.mean(axis=0).max()
    assert found.headroom.low == pytest.approx(y.max(axis=1).mean() - constant)
    gap = (y[rows, a].mean() - constant) / found.headroom.low
    assert found.routers[0].gap_closed.low == pytest.approx(gap)
    assert found.headroom.limit_low < found.headroom.low < found.headroom.limit_high


def test_partial_tables_give_sets_refusals_and_reasons(rng):
    table = random_table(rng, share=0.5)
    route = np.zeros(20, np.int64)
    found = evaluate_table(table, {"a": route}, FAST)
    router = found.routers[0]
    assert router.value.kind == router.regret.kind == "interval"
    assert router.value.low < router.value.high
    assert "tasks leave it open: the routed team was not run there" in router.value.why
    assert router.gap_closed.kind == "refusal"
    assert router.sampled_regret.kind == "refusal"
    assert "the routed team was not run on" in router.sampled_regret.why
    assert found.constant is None
    assert found.constant_value.kind == "refusal"
    assert found.headroom.kind == "interval"
    assert router.regret.limit_low <= router.regret.low
    assert router.regret.limit_high >= router.regret.high


def test_sampled_action_regret_has_its_own_name(rng):
    table = random_table(rng)
    scores = table.outcomes.scores.copy()
    scores[:, 4] = np.nan
    found = evaluate_table(OutcomeTable.from_arrays(scores), {"a": np.zeros(20, np.int64)}, FAST)
    router = found.routers[0]
    assert router.regret.kind == "interval"
    assert router.sampled_regret.kind == "point"
    assert router.sampled_regret.low == pytest.approx(router.regret.low)


def test_points_always_intervals_refused_below_8_tasks(rng):
    found = evaluate_table(
        random_table(rng, tasks=7), {"a": np.zeros(7, np.int64), "b": np.ones(7, np.int64)}, FAST
    )
    assert found.routers[0].regret.kind == "point"
    assert np.isnan(found.routers[0].regret.limit_low)
    assert np.isnan(found.contrasts[0].p_value)
    assert found.contrasts[0].exact is None
    assert found.warnings[0].startswith("7 units: an interval needs at least 8")


def test_families_are_the_draws_when_the_contract_says_so(rng):
    table = random_table(rng, clusters=[f"f{i % 4}" for i in range(20)])
    routes = {"a": np.zeros(20, np.int64)}
    by_task = evaluate_table(table, routes, FAST).routers[0].value
    by_family = evaluate_table(table, routes, Inference(unit="family", replicates=400)).routers[0].value
    assert by_task.low == by_family.low
    assert by_task.limit_low != by_family.limit_low
    few = random_table(rng, clusters=[f"f{i % 2}" for i in range(20)])
    found = evaluate_table(few, routes, Inference(unit="family", replicates=400))
    assert found.warnings[0].startswith("2 clusters: an interval needs at least 3")
    with pytest.raises(InputError, match=r"inference\.unit: family needs the family of each task"):
        evaluate_table(random_table(rng), routes, Inference(unit="family"))


def test_equal_routes_have_no_contrast(rng):
    table = random_table(rng, share=0.3)
    route = rng.integers(5, size=20)
    pair = evaluate_table(table, {"a": route, "b": route}, FAST).contrasts[0]
    assert (pair.difference.kind, pair.difference.low, pair.differing) == ("point", 0.0, 0)
    assert pair.counts == (0, 0, 20)
    assert (pair.p_value, pair.exact) == (1.0, (0, 0))


def test_holm_is_over_all_contrasts_of_the_table(rng):
    table = random_table(rng)
    routes = {name: rng.integers(5, size=20) for name in "abcd"}
    pairs = evaluate_table(table, routes, FAST).contrasts
    assert len(pairs) == 6
    smallest = min(pairs, key=lambda pair: pair.p_value)
    assert smallest.p_holm == pytest.approx(min(1.0, 6 * smallest.p_value))


def test_many_routers_are_compared_with_the_first(rng):
    routes = {f"r{i}": rng.integers(5, size=20) for i in range(9)}
    pairs = evaluate_table(random_table(rng), routes, FAST).contrasts
    assert [(pair.a, pair.b) for pair in pairs] == [("r0", f"r{i}") for i in range(1, 9)]


@pytest.mark.parametrize(
    ("regret", "verdict"),
    [
        (Answer("r", "point", 0.05, 0.05, 0.01, 0.09), "met"),
        (Answer("r", "point", 0.05, 0.05, 0.01, 0.2), "met by the point only"),
        (Answer("r", "point", 0.05, 0.05), "met by the point only"),
        (Answer("r", "point", 0.131, 0.131, 0.05, 0.2), "failed"),
        (Answer("r", "interval", 0.05, 0.3, 0.0, 0.4), "undecided"),
        (Answer("r", "interval", 0.2, 0.3, 0.1, 0.4), "failed"),
        (answers.refusal("r", "why"), "refused"),
    ],
)
def test_verdicts(regret, verdict):
    assert criterion_verdict(regret, 0.1) == verdict
    assert criterion_verdict(regret, None) == "none"


def test_replicates_and_failures_are_said():
    scores = np.full((9, 2), 0.5)
    table = OutcomeTable.from_arrays(scores, failed=scores > 0, replicates=np.full((9, 2), 3))
    lines = evaluate_table(table, {"a": np.zeros(9, np.int64)}, FAST).warnings
    assert any("the largest of noisy means is too high" in line for line in lines)
    assert any("18 executed rows failed" in line for line in lines)


def test_no_gap_is_a_refusal():
    table = OutcomeTable.from_arrays(np.tile([0.5, 0.2], (9, 1)))
    found = evaluate_table(table, {"a": np.zeros(9, np.int64)}, FAST)
    assert found.headroom.low == 0.0
    assert "there is no gap" in found.routers[0].gap_closed.why


def test_sampled_rows_bring_design_estimates(rng):
    full = rng.random((40, 4))
    plan = sample_rows(np.ones((40, 4), bool), size=2, cohort=10, seed=2)
    table = OutcomeTable.from_arrays(np.where(plan.drawn, full, np.nan))
    routes = {"a": rng.integers(4, size=40), "b": rng.integers(4, size=40)}
    found = evaluate_table(table, routes, FAST, plan)
    estimate, interval = found.routers[0].design
    assert interval.low[0] <= estimate.hajek <= interval.high[0]
    assert found.contrasts[0].design is not None
    assert found.calibrated is not None
    assert (found.calibrated.k, found.calibrated.cohort) == (2, 10)


def test_interaction_is_the_difference_of_contrasts(rng):
    one, two = random_table(rng, stack="s1"), random_table(rng, share=0.5, stack="s2")
    a, b = rng.integers(5, size=20), rng.integers(5, size=20)
    first, second, both = interaction([one, two], a, b, FAST)
    assert first.kind == "point"
    assert (both.low, both.high) == pytest.approx((first.low - second.high, first.low - second.low))
    with pytest.raises(InputError, match="needs two different stacks on the same tasks"):
        interaction([one, one], a, b, FAST)


def test_the_front_is_what_nothing_beats(rng):
    for _ in range(50):
        costs, values = rng.integers(0, 4, 8).astype(float), rng.integers(0, 4, 8).astype(float)
        wanted = [
            not any(
                c <= costs[i] and v >= values[i] and (c < costs[i] or v > values[i])
                for c, v in zip(costs, values, strict=True)
            )
            for i in range(8)
        ]
        assert undominated(costs, values).tolist() == wanted


def test_routers_beside_constants_on_the_front():
    family = TeamFamily.of_sizes("ab", [1, 2])
    scores = np.tile([0.2, 0.4, 0.6], (9, 1))
    table = OutcomeTable.from_arrays(scores, family=family, costs=np.tile([1.0, 2.0, 3.0], (9, 1)))
    routes = {"dear": np.full(9, 2), "mixed": np.repeat([0, 2], [8, 1])}
    found = evaluate_table(table, routes, FAST)
    assert [router.front for router in found.routers] == [True, True]
    assert [round(router.cost, 3) for router in found.routers] == [3.0, round((8 + 3) / 9, 3)]
    assert [round(router.team_size, 3) for router in found.routers] == [2.0, round(10 / 9, 3)]
