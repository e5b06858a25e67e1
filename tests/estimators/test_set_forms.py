"""The three forms of the set curves agree where two of them apply."""

import numpy as np
import pytest

from coverjax.estimators.rarefaction import estimate
from coverjax.estimators.sample_orders import random_order_curves
from coverjax.estimators.set_forms import CHAIN, LATTICE, RANDOM
from coverjax.estimators.set_statistics import lattice_curves, single_label_law
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
    np.testing.assert_allclose(found.count_law, law, atol=1e-11)
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
    np.testing.assert_allclose(curves.count_law @ np.arange(21), curves.distinct, atol=0.2)
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
