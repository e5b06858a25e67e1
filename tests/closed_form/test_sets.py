"""Independent draws that match sets, on the lattice: against enumeration and positive arithmetic."""

import json
from fractions import Fraction
from itertools import combinations

import mpmath
import numpy as np
import pytest
import reference_laws as brute

import coverjax as cj
from coverjax.closed_form import occupancy, occupancy_counts, sets, tiles
from coverjax.foundation import lattice
from coverjax.foundation.precision import float64_kernel


def random_law(rng, most):
    """Probabilities in fractions, match sets, declared mask, and their atoms."""
    outcomes, strategies = int(rng.integers(1, 6)), int(rng.integers(1, most + 1))
    weights = rng.integers(0, 9, size=outcomes)
    total = int(weights.sum() + rng.integers(0, 4)) or 1
    probs = [Fraction(int(w), total) for w in weights]
    matches = rng.random((outcomes, strategies)) < 0.45
    declared = rng.random(strategies) < 0.85
    return probs, matches, declared, brute.atoms(probs, [np.flatnonzero(row).tolist() for row in matches])


def test_equals_enumeration_on_random_laws(rng):
    """150 laws with sets, off-strategy mass, undeclared labels and strategies that never occur."""
    cases = [random_law(rng, 5) for _ in range(150)]
    for probs, matches, declared, atoms in cases:
        row = [[float(p) for p in probs]]
        law = cj.OutcomeLaw.from_match_sets(row, matches, declared=declared)
        names = np.flatnonzero(declared).tolist()
        want = brute.independent(atoms, names, 4)
        got = sets.set_curves(law, 4, count_law=True)
        if names:
            full = np.array(want["full_coverage"], float)
            np.testing.assert_allclose(got.full_coverage[0], full, atol=2e-15)
        else:
            assert np.isnan(got.full_coverage).all()
        np.testing.assert_allclose(got.novelty_any[0], np.array(want["novelty_any"], float), atol=2e-15)
        counts = np.array(want["count_law"], float)
        np.testing.assert_allclose(got.count_law[0, :, : len(names) + 1], counts, atol=5e-15)
        assert (got.count_law[0, :, len(names) + 1 :] == 0).all()
        time = brute.expected_time_full(atoms, names)
        got_time = sets.set_time_full(law)[0]
        assert got_time == pytest.approx(np.inf if time is None else float(time), rel=1e-12)


@pytest.mark.shared
def test_golden_sets(shared_data):
    golden = json.loads((shared_data / "golden_exact.json").read_text())["sets_3"]
    matches = np.array([[s in atom for s in range(3)] for atom in golden["atoms"]])
    law = cj.OutcomeLaw.from_match_sets([golden["probs"]], matches)
    np.testing.assert_allclose(law.marginals()[0], golden["marginals"], rtol=1e-12)
    got = sets.set_curves(law, 10, count_law=True)
    for name in ("full_coverage", "novelty_any"):
        for k, want in golden[name].items():
            assert getattr(got, name)[0, int(k) - 1] == pytest.approx(want, rel=1e-12)
    np.testing.assert_allclose(got.count_law[0, 2], golden["count_pmf_at_k3"], rtol=1e-12)
    time = sets.set_time_full(law)[0]
    assert time == pytest.approx(golden["expected_time_full"], rel=1e-12)


@pytest.mark.parametrize(("size", "strategies", "want"), [(2, 6, Fraction(97, 14)), (1, 10, None), (3, 3, 1)])
def test_packs_of_distinct_coupons(size, strategies, want):
    packs = list(combinations(range(strategies), size))
    matches = np.array([[s in pack for s in range(strategies)] for pack in packs])
    law = cj.OutcomeLaw.from_match_sets(np.full((1, len(packs)), 1 / len(packs)), matches)
    coupon = strategies * np.sum(1 / np.arange(1.0, strategies + 1))
    time = sets.set_time_full(law)[0]
    assert time == pytest.approx(coupon if want is None else float(want), rel=1e-12)


def test_agrees_with_the_contour_integral_at_14_strategies():
    probs = cj.families.zipf(1, 14).probs * 0.9
    got = sets.set_curves(cj.OutcomeLaw.from_probs(probs), 150, count_law=True)
    assert np.abs(got.count_law - occupancy_counts.count_law(probs, 150)).max() < 1e-12
    f = occupancy.full_coverage(probs, np.array([14]), 150)
    assert np.abs(got.full_coverage - f).max() < 1e-13
    np.testing.assert_allclose(got.count_law.sum(axis=2), 1.0, atol=1e-12)


def forward(mass, budget, bits):
    """P(|S_k| = m) for k = 1..budget by sums of positive terms over atoms and subsets."""
    subsets, sizes = np.arange(1 << bits), lattice.sizes(bits)
    law = np.eye(1, 1 << bits)[0]
    rows = []
    for _ in range(budget):
        after = (1.0 - mass.sum()) * law
        for atom in np.flatnonzero(mass):
            after += mass[atom] * np.bincount(subsets | atom, law, 1 << bits)
        law = after
        rows.append(np.bincount(sizes, law, bits + 1))
    return np.array(rows)


@pytest.mark.parametrize("strategies", [8, 12])
def test_larger_lattices_against_positive_arithmetic(strategies, rng):
    matches = np.concatenate([rng.random((12, strategies)) < 0.25, np.eye(strategies, dtype=bool)])
    probs = 0.9 * rng.dirichlet(np.ones(len(matches)))
    law = cj.OutcomeLaw.from_match_sets(probs[None], matches)
    mass = np.bincount(lattice.masks(matches), probs, 1 << strategies)
    want = forward(mass, 25, strategies)
    got = sets.set_curves(law, 25, count_law=True)
    assert np.abs(got.count_law[0] - want).max() < 1e-12
    assert np.abs(got.full_coverage[0] - want[:, -1]).max() < 1e-13


def test_rare_sets_keep_their_digits_over_a_million_draws():
    """P(match set not inside T) sums positive terms: one minus a sum is off by 1e-16, times the draws."""
    law = cj.OutcomeLaw.from_match_sets([[1 - 1e-12, 1e-12]], [[1, 0, 0], [1, 1, 1]])
    got = sets.set_curves(law, np.array([1, 10**6]))
    with mpmath.workdps(40):
        rare = mpmath.mpf(1e-12)
        want = [float(1 - (1 - rare) ** k) for k in (1, 10**6)]
    np.testing.assert_allclose(got.full_coverage[0], want, atol=2e-16)
    outside = float64_kernel(lattice.mass_outside)(np.array([0.5, 1e-18, 1e-20, 1e-25]))
    np.testing.assert_allclose(outside, [1e-18 + 1e-20 + 1e-25, 1e-20 + 1e-25, 1e-18 + 1e-25, 0], rtol=1e-15)


def test_inputs_with_different_lattices_and_unreachable_strategies(rng, monkeypatch):
    declared = np.arange(7) < np.array([7, 2, 0, 5, 7])[:, None]
    matches = rng.random((5, 9, 7)) < 0.3
    matches[4, :, 6] = False
    law = cj.OutcomeLaw.from_match_sets(rng.dirichlet(np.ones(9), size=5), matches, declared=declared)
    budgets = np.array([1, 2, 5, 90, 91, 4000])
    whole = sets.set_curves(law, budgets, count_law=True)
    assert (whole.full_coverage[4] == 0).all()
    assert np.isnan(whole.full_coverage[2]).all()
    assert whole.count_law.shape == (5, 6, 8)
    monkeypatch.setattr(tiles, "CPU_BYTES", 1 << 12)
    monkeypatch.setattr(tiles, "ACCELERATOR_BYTES", 1 << 12)
    order = [3, 0, 4, 2, 1]
    part = sets.set_curves(law.take(order), budgets, count_law=True)
    for name in sets.SetCurves._fields:
        np.testing.assert_allclose(getattr(part, name), getattr(whole, name)[order], atol=1e-15)
    dense = sets.set_curves(law, 91).novelty_any
    np.testing.assert_allclose(whole.novelty_any[:, :5], dense[:, budgets[:5] - 1], atol=1e-15)
    assert whole.count_law.dtype == np.float64


def test_counting_valid_draws_is_the_law_with_the_rest_emptied():
    law = cj.OutcomeLaw.from_match_sets([[0.5, 0.5]], [[1, 0], [1, 1]], valid=[1, 0.5])
    got = sets.set_curves(law.counting("valid"), 3).full_coverage[0]
    np.testing.assert_allclose(got, 1 - 0.75 ** np.arange(1, 4), rtol=1e-14)


def test_too_many_strategies_are_refused_with_what_to_use_instead():
    probs = np.zeros((2, 18))
    probs[0, :2] = 0.5
    probs[1, :17] = 1 / 17
    law = cj.OutcomeLaw.from_probs(probs, ids=["fits", "large"])
    with pytest.raises(
        cj.InputError, match=r"at most 16 strategies that occur; input 'large' has 17: use simulate"
    ):
        sets.set_curves(law, 3)
    assert sets.set_curves(law.take([0]), 3).full_coverage[0, 0] == 0


def test_new_probabilities_do_not_recompile(rng):
    matches = rng.random((6, 5)) < 0.5
    matches[:, 0] = True

    def curves():
        law = cj.OutcomeLaw.from_match_sets(rng.dirichlet(np.ones(6), size=4), matches)
        sets.set_curves(law, 12)

    curves()
    compiled = sets._lattice_curves.jitted._cache_size(), sets._mass_outside.jitted._cache_size()
    for _ in range(3):
        curves()
    assert (sets._lattice_curves.jitted._cache_size(), sets._mass_outside.jitted._cache_size()) == compiled
