import itertools

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.inference.multiplicity import holm_p_values, sign_flip_p_values


def all_flips(sums):
    """The exact two-sided p-value over every choice of signs."""
    observed = abs(sum(sums)) - 1e-12
    signs = itertools.product((-1, 1), repeat=len(sums))
    found = [abs(sum(s * v for s, v in zip(flip, sums, strict=True))) for flip in signs]
    return np.mean(np.array(found) >= observed)


@pytest.mark.statistical
def test_p_values_estimate_the_share_over_all_flips(rng):
    """|z| < 5 against the exact share, 4 points at once (false alarm 2e-6)."""
    values = rng.normal(0.3, 1.0, size=(12, 4)).round(1)
    flips = 20_000
    found = sign_flip_p_values(values, seed=1, flips=flips)
    for point in range(4):
        exact = all_flips(values[:, point].tolist())
        share = (found[point] * (1 + flips) - 1) / flips
        assert abs(share - exact) < 5 * np.sqrt(exact * (1 - exact) / flips)


def test_the_smallest_possible_p_value_is_one_over_flips_plus_one():
    found = sign_flip_p_values(np.ones((60, 1)), flips=999)
    assert found[0] == pytest.approx(1 / 1000)


def test_no_difference_has_p_value_one():
    assert sign_flip_p_values(np.zeros((20, 1)))[0] == 1.0


def test_clusters_flip_together():
    """Three clusters: |T*| >= |T| exactly when all signs agree, 2 of 8."""
    labels = np.repeat(["a", "b", "c"], 10)
    found = sign_flip_p_values(np.ones((30, 1)), clusters=labels, flips=20_000)
    assert abs(found[0] - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 20_000)


def test_the_same_seed_gives_the_same_p_values(rng):
    values = rng.normal(size=(40, 3))
    assert np.array_equal(sign_flip_p_values(values, seed=3), sign_flip_p_values(values, seed=3))


def test_holm_controls_by_its_closed_test(rng):
    """A test's adjusted p-value is the largest Bonferroni p-value over all sets of tests that hold it."""
    for _ in range(20):
        p = rng.random(5) ** 2
        for test, adjusted in enumerate(holm_p_values(p)):
            sets = [s for size in range(1, 6) for s in itertools.combinations(range(5), size) if test in s]
            closed = max(min(1.0, len(s) * p[list(s)].min()) for s in sets)
            assert adjusted == pytest.approx(closed, abs=1e-15)


@pytest.mark.parametrize("p", [[-0.1], [1.5], [np.nan], [[0.5]]])
def test_no_probabilities_are_refused(p):
    with pytest.raises(InputError, match="p_values: must be one-dimensional, between 0 and 1"):
        holm_p_values(p)


def test_no_flips_are_refused():
    with pytest.raises(InputError, match="flips: must be a whole number >= 1; got 0"):
        sign_flip_p_values(np.ones((9, 1)), flips=0)
