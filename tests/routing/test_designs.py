"""Design-based estimates by full enumeration of every sample, in which unbiased means equal."""

from fractions import Fraction

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.routing import designs, sampling
from coverjax.routing.checking import checked_outcomes
from coverjax.routing.sampling import SamplingPlan
from tests import reference_routing as reference

TEAMS = 4


def all_samples(plan: SamplingPlan, task: int):
    """Every draw of one task's rows under the plan, with its probability."""
    certain = plan.certain[task]
    if plan.size[task] < 0:
        yield from reference.independent_draws(plan.inclusion[task].tolist())
        return
    pool = np.flatnonzero((plan.inclusion[task] > 0) & ~certain).tolist()
    for drawn, chance in reference.fixed_size_draws(pool, int(plan.size[task]), TEAMS):
        yield tuple(hit or bool(c) for hit, c in zip(drawn, certain, strict=True)), chance


def one_task(plan, task, drawn):
    pick = slice(task, task + 1)
    return SamplingPlan(
        np.array([drawn]), plan.inclusion[pick], plan.size[pick], plan.cohort[pick], plan.certain[pick], 0
    )


def plans(rng, legal):
    always = np.zeros(legal.shape, bool)
    always[:, 0] = True
    probability = rng.uniform(0.2, 0.9, legal.shape)
    return [
        sampling.sample_rows(legal, size=2),
        sampling.sample_rows(legal, size=2, always=always),
        sampling.sample_rows(legal, size=3, cohort=1, seed=3),
        sampling.sample_rows(legal, probability=probability),
        sampling.sample_rows(legal, probability=0.4, always=always, cohort=1),
    ]


def test_horvitz_thompson_is_unbiased_and_its_variance_too(rng):
    """Sum over every sample of chance x estimate, task by task, for values and contrasts."""
    legal = np.ones((3, TEAMS), bool)
    scores = rng.uniform(-1.0, 2.0, legal.shape)
    a, b = np.array([0, 1, 2]), np.array([3, 2, 2])
    for plan in plans(rng, legal):
        for task in range(3):
            at = slice(task, task + 1)
            truth = {
                "value": scores[task, a[task]],
                "contrast": scores[task, a[task]] - scores[task, b[task]],
            }
            mean, square, variance = (dict.fromkeys(truth, 0.0) for _ in range(3))
            total = 0.0
            for drawn, chance in all_samples(plan, task):
                table = checked_outcomes(scores[at], np.array([drawn]), None, -1.0, 2.0)
                part = one_task(plan, task, drawn)
                found = {
                    "value": designs.design_value(table, part, a[at]),
                    "contrast": designs.design_contrast(table, part, a[at], b[at]),
                }
                for name, estimate in found.items():
                    mean[name] += chance * estimate.horvitz_thompson
                    square[name] += chance * estimate.horvitz_thompson**2
                    variance[name] += chance * estimate.stderr**2
                total += chance
            assert total == pytest.approx(1.0)
            for name, value in truth.items():
                assert mean[name] == pytest.approx(value, abs=1e-12)
                assert variance[name] == pytest.approx(square[name] - value**2, abs=1e-11)


def test_inclusion_and_joint_probabilities_are_those_of_the_draw(rng):
    legal = rng.random((3, TEAMS)) < 0.9
    legal[:, :3] = True
    for plan in plans(rng, legal):
        assert not plan.drawn[~legal].any()
        for task in range(3):
            samples = list(all_samples(plan, task))
            for a in range(TEAMS):
                single = sum(chance for drawn, chance in samples if drawn[a])
                assert plan.inclusion[task, a] == pytest.approx(single, abs=1e-12)
                for b in range(TEAMS):
                    both = sum(chance for drawn, chance in samples if drawn[a] and drawn[b])
                    joint = plan.joint(np.full(3, a), np.full(3, b))[task]
                    assert joint == pytest.approx(both, abs=1e-12)


def test_draws_follow_the_inclusion_probabilities():
    """20,000 tasks, 4 teams, 2 drawn: each row within 5 standard errors of 1/2 (false alarm 1e-6 a row)."""
    plan = sampling.sample_rows(np.ones((20_000, 4), bool), size=2, seed=5)
    assert (plan.drawn.sum(axis=1) == 2).all()
    z = (plan.drawn.mean(axis=0) - 0.5) / np.sqrt(0.25 / 20_000)
    assert (np.abs(z) < 5).all()


@pytest.mark.parametrize("constant", [0.7, 1.0, 0.1 + 0.2])
def test_a_constant_reward_has_a_zero_width_hajek_interval(rng, constant):
    plan = sampling.sample_rows(np.ones((40, TEAMS), bool), probability=rng.uniform(0.3, 0.9, (40, TEAMS)))
    table = checked_outcomes(np.full((40, TEAMS), constant), plan.drawn)
    routes = rng.integers(TEAMS, size=40)
    value = designs.design_value(table, plan, routes)
    found = value.interval("hajek")
    assert found.low[0] == found.high[0] == found.mean[0] == pytest.approx(constant)
    assert value.hajek == pytest.approx(constant)
    wide = value.interval("ht")
    assert wide.high[0] - wide.low[0] > 0.05
    shifted = np.where(np.arange(TEAMS) == 0, constant - 0.1, constant)
    table = checked_outcomes(np.broadcast_to(shifted, (40, TEAMS)), plan.drawn)
    contrast = designs.design_contrast(table, plan, np.full(40, 1), np.full(40, 0))
    found = contrast.interval("hajek")
    assert found.high[0] - found.low[0] < 1e-12
    assert found.mean[0] == pytest.approx(0.1)


def test_numerator_and_denominator_are_resampled_together(rng):
    """The replicates of the ratio, drawn one by one, have the same percentiles."""
    from coverjax.inference.resampling import resampled_sums

    plan = sampling.sample_rows(np.ones((30, TEAMS), bool), probability=0.5)
    table = checked_outcomes(rng.random((30, TEAMS)), plan.drawn)
    value = designs.design_value(table, plan, np.zeros(30, np.int64))
    found = value.interval("hajek", seed=9, replicates=2_000)
    drawn = resampled_sums(np.stack([value.numerators, value.denominators], axis=1), 2_000, 9)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    assert (found.low[0], found.high[0]) == pytest.approx((low, high), abs=1e-12)


def test_expected_best_is_the_mean_over_all_subsets(rng):
    for case in range(40):
        K = int(rng.integers(1, 7))
        scores = [Fraction(int(v), 4) for v in rng.integers(0, 5, size=K)]
        executed = np.zeros((1, 7), bool)
        executed[0, rng.permutation(7)[:K]] = True
        cells = np.full((1, 7), 0.5)
        cells[executed] = [float(s) for s in scores]
        table = checked_outcomes(cells, executed)
        budgets, found = designs.expected_best(table, K)
        wanted = [float(reference.best_of(scores, k)) for k in range(1, K + 1)]
        np.testing.assert_allclose(found[0], wanted, atol=1e-13)
        assert budgets.tolist() == list(range(1, K + 1))
        assert found[0, -1] == table.best[0], case


def test_expected_best_leaves_short_tasks_out_whole():
    table = checked_outcomes([[0.1, 0.2, 0.3], [0.5, 0.0, 0.0]], [[True] * 3, [True, False, False]])
    budgets, found = designs.expected_best(table)
    assert budgets.tolist() == [1]
    np.testing.assert_allclose(found[:, 0], [0.2, 0.5])
    _, found = designs.expected_best(table, 2)
    assert np.isnan(found[1]).all()
    np.testing.assert_allclose(found[0], [0.2, 0.8 / 3])


def test_calibrated_oracle_is_unbiased_by_enumeration(rng):
    """Every cohort of 2 of 4 tasks, every sample of 2 of 3 teams elsewhere: the mean is the oracle."""
    import itertools

    scores = rng.random((4, 3))
    estimates = []
    for cohort in itertools.combinations(range(4), 2):
        chosen = np.isin(np.arange(4), cohort)
        others = np.flatnonzero(~chosen)
        for picks in itertools.product(itertools.combinations(range(3), 2), repeat=2):
            drawn = np.ones((4, 3), bool)
            for task, teams in zip(others, picks, strict=True):
                drawn[task] = np.isin(np.arange(3), teams)
            inclusion = np.where(chosen[:, None], 1.0, 2 / 3) * np.ones((4, 3))
            certain = chosen[:, None] & np.ones((4, 3), bool)
            size = np.where(chosen, 0, 2)
            plan = SamplingPlan(drawn, inclusion, size, chosen, certain, 0)
            found = designs.calibrated_oracle(checked_outcomes(scores, drawn), plan)
            estimates.append(found.oracle)
            assert found.sampled <= scores.max(axis=1).mean() + 1e-12
            assert (found.k, found.cohort) == (2, 2)
    assert np.mean(estimates) == pytest.approx(scores.max(axis=1).mean(), abs=1e-12)


@pytest.mark.statistical
def test_calibrated_oracle_stderr_fits_its_spread():
    """2,000 populations of 60 tasks: the mean error is within 5 standard errors of 0, and the mean square
    error within 10 % of the mean variance estimate (its own noise is 3 %)."""
    rng = np.random.default_rng(11)
    errors, variances = [], []
    for seed in range(2_000):
        scores = rng.beta(1.0, 2.0, (60, 5))
        plan = sampling.sample_rows(np.ones((60, 5), bool), size=2, cohort=20, seed=seed)
        found = designs.calibrated_oracle(checked_outcomes(scores, plan.drawn), plan)
        # The oracle of the population: the mean of the largest of 5.
        errors.append(found.oracle)
        variances.append(found.stderr**2)
    truth = rng.beta(1.0, 2.0, (1_000_000, 5)).max(axis=1).mean()
    z = (np.mean(errors) - truth) / np.sqrt(np.var(errors) / len(errors))
    assert abs(z) < 5
    assert np.var(errors) == pytest.approx(np.mean(variances), rel=0.1)


def test_wrong_designs_are_refused(rng):
    legal = np.ones((10, 3), bool)
    plan = sampling.sample_rows(legal, size=1, seed=1)
    full = checked_outcomes(rng.random((10, 3)), legal)
    with pytest.raises(InputError, match="probability is 0"):
        designs.design_contrast(full, plan, np.zeros(10, np.int64), np.ones(10, np.int64))
    part = checked_outcomes(rng.random((10, 3)), ~plan.drawn)
    with pytest.raises(InputError, match="every drawn row needs its outcome"):
        designs.design_value(part, plan, plan.drawn.argmax(axis=1))
    with pytest.raises(InputError, match="calibration needs a cohort"):
        designs.calibrated_oracle(full, plan)
    with pytest.raises(InputError, match="exactly one of them"):
        sampling.sample_rows(legal)
    with pytest.raises(InputError, match="exactly one of them"):
        sampling.sample_rows(legal, size=1, probability=0.5)
    with pytest.raises(
        InputError, match="task 0, team 0 has 0: a row that can't be drawn is never estimated"
    ):
        sampling.sample_rows(legal, probability=0.0)
    with pytest.raises(InputError, match="cohort: must be a number of tasks from 0 to 10; got 11"):
        sampling.sample_rows(legal, size=1, cohort=11)
    with pytest.raises(InputError, match="size: must be a whole number >= 1; got 0"):
        sampling.sample_rows(legal, size=0)
