"""Fits of beta-binomial priors against SciPy, mpmath and brute force."""

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats

from coverjax.estimators.priors import PENALTY, Units, fit_prior, thinned


def drawn(rng, a, b, n, units, atom=0.0):
    chance = np.where(rng.random(units) < atom, 0.0, rng.beta(a, b, units))
    return Units.of(np.full(units, n), rng.binomial(n, chance))[0]


def minus_log_likelihood(theta, units, none, penalty):
    """With SciPy's beta-binomial; theta as in the fit."""
    a, b = np.exp(theta[:2])
    law = scipy.stats.betabinom.pmf(units.c, units.n, a, b)
    if len(theta) == 3:
        phi = scipy.special.expit(theta[2])
        law = (1 - none * phi) * law + none * phi * (units.c == 0)
        extra = (penalty - 1) * (np.log(phi) + np.log1p(-phi))
    else:
        extra = 0.0
    return -(units.weight @ np.log(law)) - extra


@pytest.mark.parametrize(("a", "b", "atom"), [(0.3, 0.2, 0.0), (0.5, 2.0, 0.2), (4.0, 6.0, 0.0)])
@pytest.mark.parametrize("with_atom", [False, True])
def test_the_fit_is_scipys(rng, a, b, atom, with_atom):
    units = drawn(rng, a, b, 12, 400, atom)
    found = fit_prior(units, with_atom)
    none = units.weight[units.c == 0].sum() / 400
    start = [0.0, 0.0, 0.0][: 3 if with_atom else 2]
    best = scipy.optimize.minimize(
        minus_log_likelihood,
        start,
        (units, none, PENALTY),
        method="Nelder-Mead",
        options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 5_000},
    )
    theta = [np.log(found.a), np.log(found.b), found.logit][: len(start)]
    np.testing.assert_allclose(theta, best.x, atol=2e-4)
    assert minus_log_likelihood(theta, units, none, PENALTY) <= best.fun + 1e-8
    expected = scipy.special.expit(best.x[2]) * none if with_atom else 0.0
    assert found.atom == pytest.approx(expected, abs=1e-4)


def test_inputs_with_different_n_count_each_with_its_own(rng):
    n = rng.integers(3, 20, size=300)
    units, place = Units.of(n, rng.binomial(n, rng.beta(0.5, 1.0, 300)))
    found = fit_prior(units, False)
    best = scipy.optimize.minimize(minus_log_likelihood, [0.0, 0.0], (units, 0.0, 1.0), method="Nelder-Mead")
    np.testing.assert_allclose([np.log(found.a), np.log(found.b)], best.x, atol=1e-3)
    np.testing.assert_array_equal(units.n[place], n)
    assert units.weight.sum() == 300


@pytest.mark.parametrize("with_atom", [False, True])
def test_chances_of_no_match_and_their_derivatives(rng, with_atom):
    found = fit_prior(drawn(rng, 0.4, 0.6, 10, 200, 0.1), with_atom)
    k = np.array([[0, 1, 10], [50, 1_000, 100_000]])
    value, slope = found.log_none(k)
    f = np.exp(scipy.special.betaln(found.a, found.b + k) - scipy.special.betaln(found.a, found.b))
    np.testing.assert_allclose(value, np.log(found.atom + (1 - found.atom) * f), atol=1e-11)
    assert slope.shape == (2, 3, 3 if with_atom else 2)
    moved = {"a": found.a * np.exp(1e-6), "b": found.b * np.exp(1e-6), "logit": found.logit + 1e-6}
    for i, (name, there) in enumerate(list(moved.items())[: slope.shape[2]]):
        other = type(found)(**{**vars(found), name: there})
        np.testing.assert_allclose((other.log_none(k)[0] - value) / 1e-6, slope[..., i], atol=1e-4)


def test_scores_sum_to_the_penaltys_slope_and_the_spread_is_the_inverse_curvature(rng):
    units = drawn(rng, 0.4, 0.6, 10, 300, 0.1)
    none = units.weight[units.c == 0].sum() / 300
    found = fit_prior(units, True)
    total = units.weight @ found.scores
    phi = scipy.special.expit(found.logit)
    np.testing.assert_allclose(total, [0.0, 0.0, -(PENALTY - 1) * (1 - 2 * phi)], atol=1e-5)
    theta = np.array([np.log(found.a), np.log(found.b), found.logit])
    step, hessian = 1e-3, np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            signs = [(s, t) for s in (1, -1) for t in (1, -1)]
            points = [
                s
                * t
                * minus_log_likelihood(
                    theta + step * (s * np.eye(3)[i] + t * np.eye(3)[j]), units, none, PENALTY
                )
                for s, t in signs
            ]
            hessian[i, j] = sum(points) / (4 * step**2)
    np.testing.assert_allclose(found.spread @ hessian, np.eye(3), atol=1e-3)


@pytest.mark.parametrize("count", [0, 8])
def test_units_that_are_all_alike_end_at_the_limits(count):
    units = Units.of(np.full(50, 8), np.full(50, count))[0]
    for atom in (False, True):
        found = fit_prior(units, atom)
        value, slope = found.log_none(np.array([8, 64]))
        assert np.isfinite(value).all()
        assert np.isfinite(slope).all()
        gained = 1 - np.exp(value[1] - value[0])
        assert gained < 1e-3 or count == 8


def test_equal_chances_are_a_narrow_prior(rng):
    units = Units.of(np.full(4_000, 10), rng.binomial(10, 0.2, 4_000))[0]
    found = fit_prior(units, False)
    assert found.a / (found.a + found.b) == pytest.approx(0.2, abs=0.01)
    value = found.log_none(np.array([10, 20]))[0]
    assert np.exp(value[1] - value[0]) == pytest.approx(0.8**10, rel=0.15)


def test_thinned_units_are_all_ways_to_leave_samples_out():
    """Against the enumeration of every subset."""
    import itertools

    units = Units.of(np.array([5, 5, 6]), np.array([2, 0, 6]))[0]
    fewer, none = thinned(units, np.array([3, 3, 2]))
    expected: dict[tuple[int, int], float] = {}
    lost = []
    for n, c, m, weight in zip(units.n, units.c, (3, 3, 2), units.weight, strict=True):
        subsets = list(itertools.combinations(range(n), m))
        hits = [sum(i < c for i in subset) for subset in subsets]
        lost.append(sum(x == 0 for x in hits) / len(subsets))
        for x in hits:
            expected[m, x] = expected.get((m, x), 0.0) + weight / len(subsets)
    found = {(int(n), int(c)): w for n, c, w in zip(fewer.n, fewer.c, fewer.weight, strict=True)}
    assert found == pytest.approx(expected)
    np.testing.assert_allclose(none, lost, atol=1e-14)
