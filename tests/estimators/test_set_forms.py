"""The three forms of the set curves agree where two of them apply."""

import numpy as np
import pytest

from coverjax.estimators import set_forms, set_statistics
from coverjax.estimators.rarefaction import estimate
from coverjax.estimators.sample_orders import observed_order_curves, random_order_curves
from coverjax.estimators.set_forms import CHAIN, LATTICE, RANDOM
from coverjax.estimators.set_statistics import lattice_curves, single_label_full, single_label_law
from coverjax.logs.log import SampleLog

WANT = frozenset({"full_coverage", "novelty_any", "count_law"})


def one_label_matches(codes: np.ndarray, strategies: int) -> np.ndarray:
    return (codes[..., None] == np.arange(strategies)) & (codes[..., None] >= 0)


def test_lattice_equals_chain_at_its_largest_size(rng):
    codes = rng.choice(17, size=(3, 60), p=rng.dirichlet(np.ones(17))) - 1
    budgets = np.arange(1, 61)
    full = np.full(3, 16)
    found = lattice_curves(one_label_matches(codes, 16), np.full(3, 60), full, budgets, WANT)
    law = single_label_law(codes, 60, 16)[:, budgets]
    np.testing.assert_allclose(found.count_law, law, atol=1e-12)
    np.testing.assert_allclose(found.full_coverage, law[:, :, 16], atol=1e-13)
    np.testing.assert_allclose(law.sum(axis=2), 1.0, atol=1e-14)


@pytest.mark.statistical
def test_random_orders_agree_with_the_lattice(rng):
    """False alarms: |z| < 5 at 3 x 20 budgets, below 1e-4 in all."""
    matches = rng.random((2, 20, 6)) < 0.12
    n, counted, budgets = np.full(2, 20), np.ones((2, 6), bool), np.arange(1, 21)
    means, errors = random_order_curves(["a", "b"], matches, counted, n, budgets, law=False)
    exact = lattice_curves(matches, n, np.full(2, 6), budgets, WANT)
    for name in ("full_coverage", "novelty_any"):
        truth = getattr(exact, name)
        spread = np.sqrt(np.clip(truth * (1 - truth), 1e-12, None) / 2_000)
        assert np.abs((means[name] - truth) / spread).max() < 5
    assert (errors["distinct"][:, -1] == 0).all()


def test_the_form_is_chosen_run_by_run_and_named(rng):
    few = np.zeros((30, 20), bool)
    few[:, :3] = rng.random((30, 3)) < 0.3
    single = one_label_matches(rng.integers(0, 20, size=30), 20)
    rich = rng.random((30, 20)) < 0.3
    log = SampleLog.from_arrays(np.stack([few, single, rich]), ids=["few", "single", "rich"])
    curves = estimate(log, include="all")
    assert curves.provenance["forms"] == {LATTICE: 1, CHAIN: 1, RANDOM: 1}
    assert (curves.mc_stderr.novelty_any[:2] == 0).all()
    assert (curves.mc_stderr.novelty_any[2] > 0).any()
    np.testing.assert_allclose(curves.novelty_any[1], curves.novelty_count[1], atol=1e-13)
    means = curves.count_law @ np.arange(21)
    np.testing.assert_allclose(means[:2], curves.distinct[:2], atol=1e-12)
    # The law by random orders has its own mean, whose error is at most that of 20 strategies in 2,000 orders.
    assert np.abs(means[2] - curves.distinct[2]).max() < 5 * curves.subset_sd.distinct[2].max() / np.sqrt(
        2_000
    )
    alone = estimate(log.take([2]), include="all")
    np.testing.assert_array_equal(alone.novelty_any[0], curves.novelty_any[2])


def test_always_and_never_matched_strategies_do_not_fill_the_lattice(rng):
    matches = np.zeros((1, 8, 40), bool)
    matches[:, :, :20] = True
    matches[:, :, 20:24] = rng.random((1, 8, 4)) < 0.5
    curves = estimate(SampleLog.from_arrays(matches), include="all")
    assert curves.provenance["forms"] == {LATTICE: 1}
    assert (curves.full_coverage == 0).all()
    np.testing.assert_allclose(curves.count_law[0] @ np.arange(41), curves.distinct[0], atol=1e-12)


def test_chain_holds_at_sizes_where_binomials_overflow():
    codes = np.repeat(np.arange(20), 60)[None]
    law = single_label_law(codes, 1_200, 20)
    np.testing.assert_allclose(law[0].sum(axis=1), 1.0, atol=1e-12)
    log = SampleLog.from_arrays(one_label_matches(codes, 20))
    np.testing.assert_allclose(law[0, 1:] @ np.arange(21), estimate(log, include=()).distinct[0], atol=1e-10)


@pytest.mark.parametrize("n", [5, 33])
def test_full_coverage_alone_is_the_last_count_of_the_law(rng, n):
    codes = rng.choice(5, size=(3, n), p=rng.dirichlet(np.full(5, 2.0))) - 1
    codes = np.concatenate([codes, np.full((1, n), -1), np.zeros((1, n), int)])
    for row in codes:
        kinds = len(set(row.tolist()) - {-1})
        law = single_label_law(row[None], n, 5)[0]
        np.testing.assert_allclose(single_label_full(row[None], n)[0], law[:, kinds], atol=1e-15)
        assert (single_label_full(row[None], n)[0, :kinds] == 0).all()


def test_logs_of_about_one_size_share_the_compiled_chain(rng):
    single_label_full(np.zeros((1, 33), int), 33)
    single_label_law(np.zeros((1, 33), int), 33, 9)
    before = [kernel.jitted._cache_size() for kernel in (set_statistics._chain, set_statistics._full_chain)]
    for n in (34, 40, 60):
        codes = rng.integers(-1, 9, size=(1, n))
        single_label_full(codes, n)
        single_label_law(codes, n, 9)
    after = [kernel.jitted._cache_size() for kernel in (set_statistics._chain, set_statistics._full_chain)]
    assert after == before


def test_a_long_single_label_run_is_exact_in_f_and_novelty_whatever_its_strategies(rng, monkeypatch):
    """2,000 samples, 120 strategies: they cost F nothing. Where the chain is too long, novelty is exact."""
    codes = rng.integers(120, size=2_000)
    log = SampleLog.from_arrays(one_label_matches(codes, 120)[None])
    curves = estimate(
        log, [100, 119, 120, 1_000, 2_000], include=("full_coverage", "novelty_any", "novelty_count")
    )
    assert curves.provenance["forms"] == {CHAIN: 1}
    assert curves.mc_stderr is None
    full = curves.full_coverage[0]
    assert (full[:2] == 0).all()
    assert 0 < full[2] < 1e-40
    assert full[4] == pytest.approx(1.0, abs=1e-12)
    monkeypatch.setattr(set_forms, "_CHAIN_STEPS", 10)
    forced = estimate(log.take([0]), [1, 5], include=("novelty_any", "novelty_count", "full_coverage"))
    assert forced.provenance["forms"] == {RANDOM: 1}
    np.testing.assert_allclose(forced.novelty_any, forced.novelty_count, rtol=1e-12)
    assert (forced.mc_stderr.novelty_any == 0).all()


def test_full_coverage_is_exactly_0_below_the_least_number_that_can_cover(rng):
    """Against the search over every subset; the sum of signs alone leaves rounding there."""
    import itertools

    for _ in range(40):
        samples, strategies = 12, int(rng.integers(2, 9))
        matches = rng.random((1, samples, strategies)) < rng.choice([0.15, 0.3, 0.5])
        log = SampleLog.from_arrays(matches)
        full = estimate(log, include=("full_coverage",)).full_coverage[0]
        rows = matches[0]
        least = next(
            (
                k
                for k in range(1, strategies + 1)
                if any(
                    rows[list(chosen)].any(axis=0).all()
                    for chosen in itertools.combinations(range(samples), k)
                )
            ),
            samples + 1,
        )
        assert (full[: least - 1] == 0).all()
        assert (full[least - 1 :] > 0).all()


def test_a_deviation_that_is_0_is_0(rng):
    """One label a sample: k = 1 holds exactly one of 1,500 strategies, k = n all of them."""
    log = SampleLog.from_arrays(one_label_matches(rng.permutation(1_500), 1_500)[None])
    curves = estimate(log, [1, 2, 1_500], include=("subset_sd",))
    assert curves.subset_sd.distinct.tolist() == [[0.0, 0.0, 0.0]]


def test_the_count_law_of_long_runs_is_cut_into_blocks_by_its_own_size(rng, monkeypatch):
    matches = rng.random((6, 400, 3)) < 0.2
    whole = estimate(SampleLog.from_arrays(matches), [1, 50, 400], include="all")
    sizes = []
    level_law = set_statistics._level_law
    monkeypatch.setattr(set_statistics, "_LATTICE_NUMBERS", 4_000)
    monkeypatch.setattr(
        set_statistics, "_level_law", lambda n, *args: sizes.append(len(n)) or level_law(n, *args)
    )
    cut = estimate(SampleLog.from_arrays(matches), [1, 50, 400], include="all")
    assert max(sizes) * 5 * 401 <= 4_010
    np.testing.assert_allclose(cut.count_law, whole.count_law, atol=1e-15)


@pytest.mark.parametrize("law", [False, True])
def test_orders_by_histogram_equal_orders_by_comparison(rng, law):
    """The running union, one budget at a time."""
    matches = rng.random((4, 9, 5)) < 0.25
    counted = rng.random((4, 5)) < 0.8
    budgets = np.array([1, 3, 9])
    found = observed_order_curves(matches, counted, budgets, law)
    for row in range(4):
        for column, k in enumerate(budgets):
            now = matches[row, :k].any(axis=0) & counted[row]
            before = matches[row, : k - 1].any(axis=0) & counted[row]
            assert found["distinct"][row, column] == now.sum()
            assert found["novelty_count"][row, column] == now.sum() - before.sum()
            assert found["novelty_any"][row, column] == (now.sum() > before.sum())
            assert found["full_coverage"][row, column] == (now == counted[row]).all()
            if law:
                assert found["count_law"][row, column].argmax() == now.sum()
                assert found["count_law"][row, column].sum() == 1
