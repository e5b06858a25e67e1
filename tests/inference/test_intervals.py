import numpy as np
import pytest
import reference_inference as reference
import scipy.stats

from coverjax.foundation.checks import InputError
from coverjax.inference.bands import mean_band
from coverjax.inference.intervals import mean_interval


@pytest.mark.parametrize("units", [2, 5, 40])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_t_interval_is_scipys(rng, units, level):
    values = rng.random((units, 6))
    found = mean_interval(values, level)
    low, high = scipy.stats.t.interval(
        level, units - 1, loc=values.mean(axis=0), scale=scipy.stats.sem(values, axis=0)
    )
    np.testing.assert_allclose(found.low, low, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.high, high, rtol=1e-9, atol=1e-12)
    assert (found.units, found.clusters, found.level, found.method) == (units, units, level, "t")
    assert found.warnings == ()


def test_with_clusters_students_law_has_one_degree_less_than_clusters(rng):
    values, clusters = rng.random((30, 2)), np.repeat(range(6), 5)
    found = mean_interval(values, clusters=clusters)
    assert (found.units, found.clusters) == (30, 6)
    assert found.critical_value == pytest.approx(scipy.stats.t.ppf(0.975, 5), rel=1e-10)
    np.testing.assert_allclose(found.high - found.mean, found.critical_value * found.stderr, rtol=1e-12)


@pytest.mark.parametrize("method", ["t", "bootstrap"])
def test_a_point_without_variance_has_no_ends_and_says_so(rng, method):
    values = rng.random((200, 3))
    values[:, 1] = 1.0
    found = mean_interval(values, method=method)
    assert found.flagged.tolist() == [False, True, False]
    assert np.isnan([found.low[1], found.high[1], found.stderr[1]]).all()
    assert np.isfinite(found.low[[0, 2]]).all()
    assert found.mean[1] == 1.0
    assert any("no variance over the 200 units at 1 of 3 points" in line for line in found.warnings)


@pytest.mark.parametrize("method", ["t", "bootstrap"])
@pytest.mark.parametrize("units", [0, 1])
def test_fewer_than_two_units_give_nan_with_the_reason(units, method):
    found = mean_interval(np.full((units, 3), 0.25), method=method)
    assert np.isnan(found.low).all()
    assert np.isnan(found.high).all()
    count = "1 unit" if units == 1 else "0 units"
    assert found.warnings == (f"{count}: an interval over units needs at least 2; there is none",)


@pytest.mark.parametrize("groups", [[[0], [1], [10]], [[0, 1], [2], [3, 9, 5]], [[1], [2, 4, 5], [8, 0]]])
def test_the_bootstrap_gives_the_percentiles_of_the_law_of_resampled_means(groups):
    """10,000 resamples; the cumulative probabilities stand at least 5 standard errors off the tails."""
    law = reference.resampled_means(groups)
    values = np.array([[v] for group in groups for v in group], dtype=float)
    clusters = [i for i, group in enumerate(groups) for _ in group]
    cumulative = np.cumsum([float(law[mean]) for mean in sorted(law)])
    tail = next(
        t
        for t in np.arange(0.05, 0.2, 0.005)
        if min(abs(cumulative - t).min(), abs(cumulative - 1 + t).min()) > 0.02
    )
    found = mean_interval(values, 1 - 2 * tail, "bootstrap", clusters)
    assert found.low[0] == pytest.approx(float(reference.quantile(law, tail)), rel=1e-12)
    assert found.high[0] == pytest.approx(float(reference.quantile(law, 1 - tail)), rel=1e-12)


def test_the_bootstrap_repeats_itself_and_warns_below_a_hundred_units(rng):
    values = rng.random((30, 2))
    first, again, other = (mean_interval(values, method="bootstrap", seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.low, again.low)
    assert (first.low != other.low).any()
    assert any("percentile bootstrap over 30 draws" in line for line in first.warnings)
    assert mean_interval(rng.random((100, 2)), method="bootstrap", replicates=500).warnings == ()


def test_the_bootstrap_of_many_units_is_close_to_the_t_interval(rng):
    values = rng.random((2_000, 2))
    t, bootstrap = mean_interval(values), mean_interval(values, method="bootstrap")
    np.testing.assert_allclose(bootstrap.low, t.low, atol=0.1 * t.stderr.max())
    np.testing.assert_allclose(bootstrap.high, t.high, atol=0.1 * t.stderr.max())


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="method: must be one of t, bootstrap; got 'normal'"):
        mean_interval([[0.0], [1.0]], method="normal")
    with pytest.raises(InputError, match=r"level: must lie strictly between 0 and 1; got 95\.0"):
        mean_interval([[0.0], [1.0]], level=95)


@pytest.mark.statistical
def test_clustered_normal_values_are_held_as_often_as_the_level_says(rng):
    """Groups of one size with a common effect: exact, z < 5 over 20,000 replications; ignoring them fails."""
    groups, size, replications = 6, 4, 20_000
    values = rng.standard_normal((groups, 1, replications)) + rng.standard_normal(
        (groups, size, replications)
    )
    values = values.reshape(groups * size, replications)
    error = 5 * np.sqrt(0.9 * 0.1 / replications)
    found = mean_interval(values, 0.9, clusters=np.repeat(range(groups), size), bounds=None)
    assert abs(((found.low <= 0) & (found.high >= 0)).mean() - 0.9) < error
    naive = mean_interval(values, 0.9, bounds=None)
    assert ((naive.low <= 0) & (naive.high >= 0)).mean() < 0.9 - error


def test_a_fraction_that_is_zero_up_to_rounding_has_no_interval(rng):
    values = np.stack([1e-16 * rng.random(20), rng.random(20), 0.5 + 1e-16 * rng.integers(-2, 3, 20)], axis=1)
    found = mean_interval(values)
    assert found.flagged.tolist() == [True, False, True]
    assert mean_band(values, multipliers=200).flagged.tolist() == [True, False, True]
    # Numbers without a bound have no other scale than their own.
    assert not mean_interval(values[:, :1], bounds=None).flagged.any()


def test_fewer_units_than_were_simulated_are_said():
    found = mean_interval(np.array([[0.0], [0.0], [1.0], [0.5]]))
    assert "in simulations of 5 units, the fewest that were simulated" in found.warnings[0]
    five = mean_interval(np.array([[0.0], [0.0], [1.0], [0.5], [0.0]]))
    assert "in simulations of 5 units (docs/intervals.md)" in five.warnings[0]
