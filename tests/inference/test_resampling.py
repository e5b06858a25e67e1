"""Bootstrap by counts against the bootstrap one draw at a time, and against exact laws."""

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.inference.intervals import mean_interval
from coverjax.inference.resampling import (
    ratio_interval,
    resampled_interval,
    resampled_means,
    resampled_sums,
)


def drawn_one_by_one(columns, replicates, seed):
    """The same stream, each replicate's rows gathered and summed."""
    rng = np.random.Generator(np.random.Philox(seed))
    picks = rng.integers(len(columns), size=(replicates, len(columns)), dtype=np.uint16)
    return np.array([columns[rows].sum(axis=0) for rows in picks])


def test_counts_times_columns_are_the_sums_of_drawn_rows(rng):
    columns = rng.normal(size=(37, 4))
    np.testing.assert_allclose(resampled_sums(columns, 500, 3), drawn_one_by_one(columns, 500, 3), atol=1e-12)


@pytest.mark.parametrize("units", [1, 7, 70_000])
def test_every_replicate_draws_as_many_units_as_there_are(units):
    assert (resampled_sums(np.ones((units, 1)), 3, 0) == units).all()


def test_points_share_their_draws(rng):
    values = rng.normal(size=(50, 2))
    both = resampled_sums(values, 100, 1)
    np.testing.assert_allclose(both.sum(axis=1), resampled_sums(values.sum(axis=1)[:, None], 100, 1)[:, 0])


@pytest.mark.statistical
def test_mean_and_variance_of_replicates_are_the_known_ones(rng):
    """E = mean, Var = (population variance) / n; |z| < 5 over 40,000 replicates (false alarm 1e-6 a
    number)."""
    values = rng.normal(size=(25, 1))
    means = resampled_sums(values, 40_000, 2)[:, 0] / 25
    variance = values.var() / 25
    assert abs(means.mean() - values.mean()) / np.sqrt(variance / 40_000) < 5
    kurtosis_bound = 3.5
    assert abs(means.var() / variance - 1.0) / np.sqrt((kurtosis_bound - 1) / 40_000) < 5


def test_clusters_of_one_unit_are_units(rng):
    values = rng.normal(size=(20, 3))
    plain = resampled_interval(values, seed=4)
    single = resampled_interval(values, clusters=[f"c{i}" for i in range(20)], seed=4)
    np.testing.assert_array_equal(plain.low, single.low)
    assert (plain.units, single.clusters) == (20, 20)


def test_clusters_are_drawn_whole(rng):
    """With values equal within a cluster the replicates only take means of whole clusters."""
    labels = np.repeat(np.arange(4), [2, 3, 4, 1])
    values = np.repeat([0.0, 1.0, 2.0, 3.0], [2, 3, 4, 1])[:, None]
    found = resampled_interval(values, clusters=labels, replicates=2_000)
    sizes = np.array([2.0, 3.0, 4.0, 1.0])
    grid = {
        round(float((sizes * times * np.arange(4)).sum() / (sizes * times).sum()), 12)
        for times in np.array(np.meshgrid(*[range(5)] * 4)).reshape(4, -1).T
        if times.sum() == 4
    }
    assert {round(float(found.low[0]), 12), round(float(found.high[0]), 12)} <= grid
    assert found.clusters == 4


def test_points_always_intervals_refused_below_8_units_or_3_clusters(rng):
    values = rng.normal(size=(7, 2))
    few = resampled_interval(values)
    np.testing.assert_allclose(few.mean, values.mean(axis=0))
    assert np.isnan(few.low).all()
    assert few.warnings == ("7 units: an interval needs at least 8; the point stands alone",)
    values = rng.normal(size=(10, 1))
    few = resampled_interval(values, clusters=[0] * 5 + [1] * 5)
    assert np.isnan(few.high).all()
    assert few.warnings == ("2 clusters: an interval needs at least 3; the point stands alone",)
    assert few.clusters == 2
    assert not np.isnan(resampled_interval(values, clusters=[0] * 5 + [1] * 3 + [2] * 2).low).any()


@pytest.mark.parametrize("constant", [0.3, 0.7, 1.0])
def test_a_constant_ratio_has_zero_width(rng, constant):
    below = rng.uniform(0.5, 3.0, size=(30, 1)) * (rng.random((30, 1)) < 0.6)
    found = ratio_interval(constant * below, below)
    assert found.high[0] - found.low[0] <= 1e-15
    assert found.mean[0] == pytest.approx(constant, abs=1e-15)


def test_no_variance_is_flagged_with_zero_width():
    found = resampled_interval(np.tile([1.0, 0.25], (12, 1)))
    assert found.low.tolist() == found.high.tolist() == [1.0, 0.25]
    assert found.flagged.all()
    assert "no proof" in found.warnings[0]


def test_replicates_that_bear_nothing_are_left_out_and_counted():
    below = np.zeros((8, 1))
    below[0] = 1.0
    found = ratio_interval(0.5 * below, below, replicates=1_000)
    assert "replicates held no unit that bears anything" in found.warnings[-1]
    assert found.mean[0] == 0.5


def test_nothing_to_bear_gives_no_ratio():
    found = ratio_interval(np.zeros((9, 1)), np.zeros((9, 1)), replicates=50)
    assert np.isnan(found.mean[0])
    assert np.isnan(found.low[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: resampled_sums(np.ones((3, 1)), 0, 0),
            "replicates: must be a whole number >= 1; got 0",
        ),
        (lambda: ratio_interval(np.ones((9, 1)), -np.ones((9, 1))), "denominators: must be at least 0"),
        (lambda: ratio_interval(np.ones((9, 1)), np.ones((9, 2))), "of the shape of the numerators"),
        (lambda: resampled_interval(np.full((9, 1), np.nan)), "values: must be finite"),
    ],
)
def test_wrong_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_means_over_clusters_divide_by_their_units(rng):
    labels = np.repeat(np.arange(5), [1, 2, 3, 4, 5])
    values = rng.normal(size=(15, 2))
    means = resampled_means(values, labels, 300, 6)
    sums = np.array([[*values[labels == c].sum(axis=0), (labels == c).sum()] for c in range(5)])
    drawn = resampled_sums(sums.astype(float), 300, 6)
    np.testing.assert_allclose(means, drawn[:, :2] / drawn[:, 2:], atol=1e-12)
    plain = resampled_means(values, None, 300, 6)
    np.testing.assert_allclose(plain, resampled_sums(values, 300, 6) / 15, atol=1e-12)


def test_the_percentiles_of_a_mean_are_those_of_mean_interval(rng):
    """One bootstrap: the same draws whichever function is asked, with clusters and without."""
    values, labels = rng.random((24, 3)), np.repeat(np.arange(8), 3)
    for clusters in (None, labels):
        one = resampled_interval(values, clusters=clusters, seed=4, replicates=500)
        other = mean_interval(values, method="bootstrap", clusters=clusters, seed=4, replicates=500)
        np.testing.assert_allclose([one.low, one.high], [other.low, other.high], rtol=1e-12)
