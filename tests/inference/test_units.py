import math

import numpy as np
import pytest
import reference_inference as reference

from coverjax.foundation.checks import InputError
from coverjax.inference.units import checked_values, cluster_codes, moments


def of(values, clusters=None, scale=None):
    array = checked_values(values)
    return moments(array, cluster_codes(clusters, len(array)), scale)


def test_mean_and_standard_error_equal_exact_fractions(rng):
    for _ in range(30):
        values = rng.integers(0, 50, size=(rng.integers(3, 12), 4)) / 64
        clusters = None if rng.random() < 0.3 else [0, 1, 2, *rng.integers(0, 5, size=len(values) - 3)]
        stats = of(values, clusters)
        for point in range(4):
            mean, square = reference.mean_and_variance_of_mean(values[:, point], clusters)
            assert stats.mean[point] == pytest.approx(float(mean), rel=1e-13)
            expected = math.sqrt(square) if square else np.nan
            np.testing.assert_allclose(stats.stderr[point], expected, rtol=1e-12)
            assert stats.flagged[point] == (square == 0)


def test_clusters_of_one_unit_are_no_clusters(rng):
    values = rng.random((9, 3))
    np.testing.assert_allclose(of(values, list("abcdefghi")).stderr, of(values).stderr, rtol=1e-14)


def test_order_of_units_and_names_of_clusters_do_not_matter(rng):
    values, clusters = rng.random((12, 3)), np.array(list("aabbbcddddee"))
    order = rng.permutation(12)
    renamed = [f"group {name}" for name in clusters[order]]
    np.testing.assert_allclose(of(values[order], renamed).stderr, of(values, clusters).stderr, rtol=1e-13)


def test_units_that_agree_within_their_cluster_are_one_observation_each():
    once = np.array([[0.1], [0.7], [0.4], [0.2]])
    thrice = np.repeat(once, 3, axis=0)
    np.testing.assert_allclose(of(thrice, np.repeat(range(4), 3)).stderr, of(once).stderr, rtol=1e-13)


@pytest.mark.parametrize(
    ("column", "flagged"),
    [
        ([0.0] * 7, True),
        ([1.0] * 7, True),
        ([0.1] * 7, True),
        ([0.1 + 1e-15 * i for i in range(7)], True),
        ([1e9 + 1e-5 * i for i in range(7)], True),
        ([0.1 + 1e-10 * i for i in range(7)], False),
        ([1e-14 * i for i in range(7)], False),
        ([0.0] * 6 + [1e-6], False),
    ],
)
def test_a_point_without_variance_is_flagged_relative_to_its_size(column, flagged):
    stats = of(np.array(column)[:, None])
    assert stats.flagged.tolist() == [flagged]
    assert np.isnan(stats.stderr).tolist() == [flagged]


def test_no_variance_is_relative_to_the_scale_that_is_given():
    noise = np.array([[1e-17], [3e-17], [-2e-17]])
    assert not of(noise).flagged[0]
    assert of(noise, scale=np.array([0.5])).flagged[0]


@pytest.mark.parametrize("units", [0, 1])
def test_fewer_than_two_units_have_no_standard_error(units):
    stats = of(np.full((units, 2), 0.5))
    assert stats.units == stats.clusters == units
    assert stats.flagged.all()
    assert np.isnan(stats.stderr).all()
    assert np.isnan(stats.mean).all() == (units == 0)


def test_bad_values_and_clusters_are_refused():
    with pytest.raises(InputError, match=r"must be \[units, points\]; got shape \(3,\)"):
        checked_values([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="unit 1 has nan at point 0"):
        checked_values([[1.0], [np.nan]])
    with pytest.raises(InputError, match="at least 3 clusters; got 2"):
        cluster_codes(["a", "b", "a", "b"], 4)
    with pytest.raises(InputError, match=r"each of the 4 units; got shape \(3,\)"):
        cluster_codes(["a", "b", "c"], 4)
