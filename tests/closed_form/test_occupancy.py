"""Occupancy of single-label draws against positive arithmetic, fractions and high precision."""

import json
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import reference_laws as brute
import reference_occupancy as positive

import coverjax as cj
from coverjax.closed_form import iid, occupancy, occupancy_counts, tiles

RADII = (80, 110, 150, 200, 270, 360, 480, 640, 850, 1150, 1500, 1950, 2500, 3100, 3800)


def full(probs, budgets, declared=None):
    probs = np.atleast_2d(probs)
    count = np.full(len(probs), probs.shape[1]) if declared is None else np.asarray(declared)
    return occupancy.full_coverage(probs, count, budgets)


def zipf(strategies):
    return cj.families.zipf(1, strategies).probs[0]


# -- every k ---------------------------------------------------------------------------------------


def test_365_equal_strategies_at_every_budget():
    """C, N, F, T and the count law at k = 1..4000 against the Markov chain of |S_k|."""
    law = positive.equal_chain(365, 4000)
    probs = np.full((1, 365), 1 / 365)
    f = full(probs, 4000)[0]
    assert (f[:364] == 0).all()
    assert (np.diff(f) >= 0).all()
    assert f.max() <= 1
    np.testing.assert_allclose(f, law[:, -1], rtol=3e-12, atol=0)
    assert f[1999] == pytest.approx(0.2161194516, abs=1e-10)
    assert f[2499] == pytest.approx(0.6804990922, abs=1e-10)
    got = occupancy_counts.count_law(probs, 4000)[0]
    assert np.abs(got - law).max() < 1e-12
    reached = np.cumsum(got[:, ::-1], axis=1)[:, ::-1] - np.cumsum(law[:, ::-1], axis=1)[:, ::-1]
    assert np.abs(reached).max() < 1e-12
    distinct, novelty = iid.iid_curves(probs, 4000)
    mean = law @ np.arange(366.0)
    np.testing.assert_allclose(distinct[0], mean, rtol=1e-12)
    np.testing.assert_allclose(novelty[0], np.concatenate([[1.0], 1 - mean[:-1] / 365]), atol=1e-12)


@pytest.mark.slow
def test_365_zipf_strategies_at_every_budget():
    """F with relative accuracy, and the law of the last ten missing ones, against positive convolutions."""
    probs = zipf(365)
    unseen = positive.unseen_counts(probs, RADII, 4000, most=10)
    f = full(probs, 4000)[0]
    assert (f[:364] == 0).all()
    assert (np.diff(f) >= 0).all()
    far = unseen[0] > 1e-280
    assert far[400:].all()
    np.testing.assert_allclose(f[far], unseen[0][far], rtol=4e-12)
    assert np.abs(f - unseen[0])[364:].max() < 1e-12
    got = occupancy_counts.count_law(probs[None], 4000)[0]
    missing = got[:, ::-1][:, :11].T
    known = np.isfinite(unseen)
    assert known[:, 364:].all()
    assert np.abs(missing - unseen)[known].max() < 1e-12
    reached = np.cumsum(missing, axis=0) - np.cumsum(unseen, axis=0)
    assert np.abs(reached[:, 364:]).max() < 1e-12
    distinct, novelty = iid.iid_curves(probs[None], 4000)
    k = np.arange(1, 4001, dtype=np.longdouble)[:, None]
    log_miss = np.log1p(-probs.astype(np.longdouble))
    np.testing.assert_allclose(distinct[0], (-np.expm1(k * log_miss)).sum(axis=1).astype(float), rtol=1e-13)
    new = (probs * np.exp((k - 1) * log_miss)).sum(axis=1).astype(float)
    np.testing.assert_allclose(novelty[0], new, rtol=1e-13)
    np.testing.assert_allclose(got @ np.arange(366.0), distinct[0], rtol=1e-12)


def test_geometric_and_off_strategy_laws_at_every_budget():
    for probs, radii in (
        (cj.families.geometric(1, 8, 0.5).probs[0] * 0.8, (12, 18, 27, 40, 60, 90, 135, 200, 300, 450, 600)),
        (zipf(40) * 0.7, (20, 30, 45, 65, 100, 150, 220, 330, 450, 600)),
    ):
        strategies = len(probs)
        unseen = positive.unseen_counts(probs, radii, 600, most=3)
        f = full(probs, 600)[0]
        far = unseen[0] > 1e-280
        np.testing.assert_allclose(f[far], unseen[0][far], rtol=2e-12)
        got = occupancy_counts.count_law(probs[None], 600)[0][:, ::-1][:, :4].T
        assert np.abs(got - unseen)[:, strategies:].max() < 1e-13


# -- small cases, exactly --------------------------------------------------------------------------


def test_equals_enumeration_on_random_laws(rng):
    for _ in range(60):
        strategies = int(rng.integers(1, 6))
        weights = rng.integers(0, 7, size=strategies)
        total = int(weights.sum() + rng.integers(0, 4)) or 1
        probs = [Fraction(int(w), total) for w in weights]
        want = brute.independent(brute.atoms(probs), range(strategies), 5)
        row = np.array([float(p) for p in probs])
        np.testing.assert_allclose(
            full(row, 5)[0], np.array(want["full_coverage"], float), rtol=1e-13, atol=0
        )
        law = occupancy_counts.count_law(row[None], 5)[0]
        np.testing.assert_allclose(law, np.array(want["count_law"], float), atol=1e-14)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["single_4", "single_4_off_0.2"])
def test_golden_values(shared_data, name):
    golden = json.loads((shared_data / "golden_exact.json").read_text())[name]
    probs = np.array(golden["probs"])
    f = full(probs, 40)[0]
    for k, want in golden["full_coverage"].items():
        assert f[int(k) - 1] == pytest.approx(want, rel=1e-12)
    if "count_pmf_at_k5" in golden:
        law = occupancy_counts.count_law(probs[None], 5)[0, 4]
        np.testing.assert_allclose(law, golden["count_pmf_at_k5"], rtol=1e-12)


def test_birthdays():
    days = np.full((1, 365), 1 / 365)
    assert 1 - occupancy_counts.count_law(days, np.array([23]))[0, 0, 23] == pytest.approx(
        0.5072972343, abs=6e-11
    )
    law = occupancy_counts.count_law(days, 365)[0]
    no_repeat = law[np.arange(365), np.arange(1, 366)]
    assert 1 + no_repeat.sum() == pytest.approx(24.6165858946, abs=6e-11)


# -- edges -----------------------------------------------------------------------------------------


def test_one_strategy_and_certainty():
    budgets = np.array([1, 2, 10, 1000, 10**6])
    np.testing.assert_allclose(full([1.0], budgets)[0], 1.0, rtol=1e-13)
    np.testing.assert_allclose(full([0.5], budgets)[0], -np.expm1(budgets * np.log(0.5)), rtol=1e-13)
    np.testing.assert_array_equal(full([1.0, 0.0], 5)[0], 0.0)
    assert np.isnan(full([0.0], 3, declared=[0])).all()
    assert occupancy_counts.count_law(np.zeros((1, 2)), 2)[0].tolist() == [[1, 0, 0], [1, 0, 0]]


def test_hardly_possible_strategies_keep_relative_accuracy():
    for tiny in (1e-300, 1e-100, 1e-12):
        f = full([tiny, 1 - tiny], np.array([1, 2, 3, 10, 1000]))[0]
        with mpmath.workdps(700):
            p = mpmath.mpf(tiny)
            want = [float(1 - (1 - p) ** k - p**k) for k in (1, 2, 3, 10, 1000)]
        np.testing.assert_allclose(f, want, rtol=1e-12)


def test_5000_equal_strategies_against_inclusion_and_exclusion():
    strategies, budgets = 5000, np.array([4999, 5000, 20_000, 30_000, 45_000, 60_000, 10**6])
    f = full(np.full(strategies, 1 / strategies), budgets)[0]
    assert f[0] == 0
    with mpmath.workdps(150):
        for k, got in zip(budgets[2:], f[2:], strict=True):
            terms = []
            for j in range(strategies):
                term = mpmath.binomial(strategies, j) * (1 - mpmath.mpf(j) / strategies) ** int(k)
                terms.append((-1) ** j * term)
                if j > 2000 or term < mpmath.mpf(10) ** -120:
                    break
            assert got == pytest.approx(float(mpmath.fsum(terms)), rel=1e-11)


def test_first_budget_and_the_next_in_the_far_tail():
    """F(M) = M! prod p, F(M+1) = F(M) (M (1 - sum p) + ...): a value of 1e-157 with 12 digits."""
    f = full(np.full(365, 1 / 365), np.array([365, 366]))[0]
    with mpmath.workdps(60):
        first = mpmath.factorial(365) / mpmath.mpf(365) ** 365
        second = mpmath.binomial(366, 2) * mpmath.factorial(365) / mpmath.mpf(365) ** 366
    assert f[0] == pytest.approx(float(first), rel=1e-12)
    assert f[1] == pytest.approx(float(second), rel=1e-12)


# -- behaviour -------------------------------------------------------------------------------------


def test_budgets_far_apart_need_a_circle_each_and_no_more():
    budgets = np.unique(np.logspace(0, 6, 30).astype(int))
    plan = occupancy.windows(budgets)
    assert len(set(plan.circle.tolist())) <= len(budgets)
    assert len(plan.middles) <= 32
    probs = zipf(60)
    sparse = full(probs, budgets[budgets <= 2000])[0]
    np.testing.assert_allclose(sparse, full(probs, 2000)[0][budgets[budgets <= 2000] - 1], rtol=1e-11)
    late = full(probs, budgets)[0]
    assert late[-1] == pytest.approx(1.0, abs=1e-13)


def test_windows_reach_what_they_serve():
    beyond = np.concatenate([np.arange(1, 3000), [5000, 5001, 10**6]])
    plan = occupancy.windows(beyond)
    distance = plan.offset - plan.reach
    np.testing.assert_array_equal(plan.middles[plan.circle] + distance, beyond)
    assert (np.abs(distance) <= 3.0 * np.sqrt(plan.middles[plan.circle] / 2) + 1).all()


@pytest.mark.parametrize("budgets", [60, np.array([2, 9, 40, 4000])])
def test_inputs_with_different_numbers_of_strategies_in_any_order(budgets, rng, monkeypatch):
    law = cj.OutcomeLaw.from_probs(
        rng.dirichlet(np.ones(9), size=12), declared=np.arange(9) < rng.integers(1, 10, size=12)[:, None]
    )
    whole = full(law.marginals(), budgets, law.declared_count)
    counts = occupancy_counts.count_law(law.marginals(), budgets)
    for row in (0, 5, 11):
        own = law.probs[row, law.declared[row]]
        np.testing.assert_allclose(full(own, budgets)[0], whole[row], rtol=1e-12)
        want = occupancy_counts.count_law(own[None], budgets)[0]
        np.testing.assert_allclose(counts[row, :, : len(own) + 1], want, atol=1e-13)
        assert (counts[row, :, len(own) + 1 :] == 0).all()
    order = rng.permutation(12)
    monkeypatch.setattr(tiles, "CPU_BYTES", 1 << 19)
    monkeypatch.setattr(tiles, "ACCELERATOR_BYTES", 1 << 19)
    part = law.take(order)
    np.testing.assert_allclose(
        full(part.marginals(), budgets, part.declared_count), whole[order], rtol=1e-13, atol=1e-300
    )


def test_count_law_is_a_law_and_exactly_zero_beyond_the_draws(rng):
    probs = rng.dirichlet(np.ones(30), size=2) * [[1.0], [0.6]]
    law = occupancy_counts.count_law(probs, 50)
    np.testing.assert_allclose(law.sum(axis=2), 1.0, atol=1e-13)
    for k in (1, 7, 29):
        assert (law[:, k - 1, k + 1 :] == 0).all()
    np.testing.assert_allclose(law @ np.arange(31.0), iid.iid_coverage(probs, 50), rtol=1e-12)
    np.testing.assert_allclose(law[1, :, 0], (1 - probs[1].sum()) ** np.arange(1, 51), rtol=1e-12)
    np.testing.assert_array_equal(law[:, :, 30], full(probs, 50))


def test_count_law_refuses_what_would_take_too_long():
    with pytest.raises(cj.InputError, match="offered up to 512 strategies; got 513: leave count_law out"):
        occupancy_counts.count_law(np.full((1, 513), 1 / 513), 3)


def test_new_probabilities_do_not_recompile(rng):
    def curves():
        probs = rng.dirichlet(np.full(20, 0.7), size=6)
        full(probs, 200)
        occupancy_counts.count_law(probs, 40)

    kernels = (
        occupancy._full_values,
        occupancy_counts._coefficients,
        occupancy_counts._log_bounds,
        occupancy_counts._poisson_logs,
    )
    curves()
    compiled = [kernel.jitted._cache_size() for kernel in kernels]
    for _ in range(3):
        curves()
    assert [kernel.jitted._cache_size() for kernel in kernels] == compiled
