import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.inference.bands import _correlation_factor, critical_value, mean_band
from coverjax.inference.student import student_quantile
from coverjax.inference.units import moments


def smooth_curves(rng, units, points):
    rates = rng.random((units, 1))
    return 1 - (1 - rates) ** np.arange(1, points + 1)


@pytest.mark.parametrize(("units", "points"), [(5, 20), (60, 128), (200, 3)])
def test_the_factor_reproduces_the_correlation_matrix(rng, units, points):
    values = smooth_curves(rng, units, points) + 0.1 * rng.random((units, 1))
    factor = _correlation_factor(values - values.mean(axis=0))
    expected = np.corrcoef(values, rowvar=False)
    np.testing.assert_allclose(factor @ factor.T, expected, atol=3e-12 if points < 100 else 1e-11)
    assert factor.shape[1] <= min(units - 1, points)


@pytest.mark.statistical
def test_the_critical_value_is_the_quantile_of_the_plain_multiplier_bootstrap(rng):
    """Share of 40,000 plain draws below it, z < 5 with both binomial errors: false alarm below 1e-6."""
    values = rng.random((12, 7)) ** 3
    stats = moments(values, np.arange(12))
    c = critical_value(stats.scores, stats.flagged, 11, 0.9, 100_000, seed=1)
    units = stats.scores / np.sqrt((stats.scores**2).sum(axis=0))
    suprema = np.abs(rng.standard_normal((40_000, 12)) @ units).max(axis=1)
    suprema /= np.sqrt(rng.chisquare(11, 40_000) / 11)
    share = (suprema <= c).mean()
    assert abs(share - 0.9) < 5 * np.sqrt(0.09 * (1 / 40_000 + 1 / 100_000))


@pytest.mark.statistical
@pytest.mark.parametrize("units", [3, 8, 500])
def test_one_point_or_many_equal_ones_give_students_quantile(rng, units):
    """z < 5 with the binomial error of the quantile's level."""
    from scipy.stats import t

    column = rng.random((units, 1))
    for copies in (1, 9):
        c = mean_band(np.repeat(column, copies, axis=1)).critical_value
        level = 2 * t.cdf(c, units - 1) - 1
        assert abs(level - 0.95) < 5 * np.sqrt(0.95 * 0.05 / 100_000)


def test_more_points_widen_the_band_and_none_is_narrower_than_students(rng):
    values = rng.random((15, 40))
    widths = [mean_band(values[:, :points]).critical_value for points in (1, 4, 40)]
    assert widths[0] < widths[1] < widths[2]
    assert widths[0] == pytest.approx(student_quantile(0.95, 14), rel=0.02)


def test_points_without_variance_are_left_out_and_flagged(rng):
    values = smooth_curves(rng, 20, 10)
    with_constants = np.concatenate([values, np.ones((20, 2)), np.zeros((20, 1))], axis=1)
    plain, found = mean_band(values), mean_band(with_constants)
    assert found.critical_value == plain.critical_value
    np.testing.assert_array_equal(found.low[:10], plain.low)
    assert found.flagged.tolist() == [False] * 10 + [True] * 3
    assert np.isnan(found.low[10:]).all()
    assert np.isnan(found.high[10:]).all()


def test_without_any_variance_there_is_no_band():
    found = mean_band(np.ones((6, 4)))
    assert np.isnan(found.critical_value)
    assert np.isnan(found.low).all()
    assert found.flagged.all()
    assert np.isnan(mean_band(np.ones((1, 4)) * 0.5).low).all()


def test_the_seed_decides_and_order_of_units_does_not(rng):
    values = smooth_curves(rng, 25, 30) * rng.random((25, 1))
    first, again, other = (mean_band(values, seed=seed).critical_value for seed in (5, 5, 6))
    assert first == again != other
    assert mean_band(values[::-1], seed=5).critical_value == pytest.approx(first, rel=1e-6)


def test_clusters_share_a_multiplier(rng):
    values = smooth_curves(rng, 8, 12)
    doubled = np.repeat(values, 2, axis=0)
    plain, found = mean_band(values), mean_band(doubled, clusters=np.repeat(range(8), 2))
    np.testing.assert_allclose(found.low, plain.low, rtol=1e-6)
    assert found.clusters == 8


@pytest.mark.parametrize("multipliers", [0, -5, 2.5, True])
def test_bad_multipliers_are_refused(multipliers):
    with pytest.raises(InputError, match="multipliers: must be a whole number >= 1"):
        mean_band([[0.0], [0.5]], multipliers=multipliers)
