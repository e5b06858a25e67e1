"""Draws in R^d: farthest points against brute force, low-discrepancy points against independent ones."""

import numpy as np
import pytest
from scipy import stats

from coverjax.foundation.checks import InputError
from coverjax.sequences.latent_draws import farthest_points, low_discrepancy, normal_quantiles


def farthest_one_by_one(pool, count):
    taken = [0]
    while len(taken) < count:
        gaps = [min(np.linalg.norm(point - pool[place]) for place in taken) for point in pool]
        taken.append(max(range(len(pool)), key=lambda place: (gaps[place], -place)))
    return taken


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_farthest_points_are_those_of_brute_force(rng, dimensions):
    pool = rng.normal(size=(3, 4, 12, dimensions))
    found = farthest_points(pool, 7)
    assert found.shape == (3, 4, 7)
    for at in np.ndindex(3, 4):
        assert found[at].tolist() == farthest_one_by_one(pool[at], 7)


def test_equal_distances_go_to_the_lower_place():
    square = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0], [1, 1]])
    assert farthest_points(square, 4).tolist() == [0, 1, 2, 3]
    assert farthest_points(np.zeros((4, 2)), 3).tolist() == [0, 0, 0]


def test_no_more_points_than_the_pool_holds():
    with pytest.raises(InputError, match="pool: must hold at least as many points as are drawn, 4; got 3"):
        farthest_points(np.zeros((3, 2)), 4)


@pytest.mark.parametrize("count", [4, 16, 64])
@pytest.mark.parametrize("dimensions", [1, 2, 4, 8])
def test_low_discrepancy_points_are_more_even_than_independent_ones(rng, count, dimensions):
    """Mean centred discrepancy over 60 shifts; the independent one is larger by far more than its error."""
    shifted = low_discrepancy(count, rng.random((60, dimensions)))
    alone = rng.random((60, count, dimensions))
    even, loose = ([stats.qmc.discrepancy(points) for points in side] for side in (shifted, alone))
    error = np.hypot(stats.sem(even), stats.sem(loose))
    assert np.mean(even) + 3 * error < np.mean(loose)


@pytest.mark.statistical
def test_each_low_discrepancy_point_alone_is_uniform(rng):
    """Kolmogorov-Smirnov for 6 points in 3 dimensions, 2,000 shifts; false alarms below 18e-6."""
    points = low_discrepancy(6, rng.random((2000, 3)))
    for place, dimension in np.ndindex(6, 3):
        assert stats.kstest(points[:, place, dimension], "uniform").pvalue > 1e-6


@pytest.mark.parametrize("dimensions", [1, 2, 3, 8])
def test_steps_are_powers_of_the_root(dimensions):
    roots = np.roots([1.0, *[0.0] * (dimensions - 1), -1.0, -1.0])
    root = roots[(np.abs(roots.imag) < 1e-12) & (roots.real > 1)].real.item()
    points = low_discrepancy(2, np.zeros(dimensions))
    np.testing.assert_allclose(points[1], root ** -np.arange(1.0, dimensions + 1), rtol=1e-12)


def test_a_longer_sequence_begins_with_the_shorter_one(rng):
    shift = rng.random((2, 3, 4))
    np.testing.assert_array_equal(low_discrepancy(9, shift)[..., :5, :], low_discrepancy(5, shift))


def test_normal_quantiles_are_scipy_s_and_finite_at_the_ends(rng):
    uniform = rng.random(200)
    np.testing.assert_allclose(normal_quantiles(uniform), stats.norm.ppf(uniform), rtol=1e-12)
    ends = normal_quantiles(np.array([0.0, 1.0]))
    np.testing.assert_allclose(ends, stats.norm.ppf([2.0**-25, 1.0 - 2.0**-25]), rtol=1e-12)
