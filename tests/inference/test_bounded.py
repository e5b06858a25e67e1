"""Intervals for bounded means against Clopper and Pearson, an exact law, and their measured coverage."""

import numpy as np
import pytest
import scipy.stats

import coverjax as cj
from coverjax.foundation.checks import InputError
from coverjax.inference.bounded import bounded_band, bounded_interval


@pytest.mark.statistical
@pytest.mark.parametrize(("ones", "units"), [(0, 5), (5, 5), (3, 10), (29, 30), (1, 1), (0, 1)])
def test_of_zeros_and_ones_it_is_clopper_and_pearsons(ones, units):
    """Ends are quantiles of 20,000 draws: the level at each is binomial, |z| < 5 (false alarm 1e-6)."""
    values = (np.arange(units) < ones).astype(float)[:, None]
    found = bounded_interval(values)
    spread = 5 * np.sqrt(0.025 * 0.975 / 20_000)
    if ones == 0:
        assert found.low[0] == 0.0
    else:
        assert abs(scipy.stats.beta.cdf(found.low[0], ones, units - ones + 1) - 0.025) < spread
    if ones == units:
        assert found.high[0] == 1.0
    else:
        assert abs(scipy.stats.beta.sf(found.high[0], ones + 1, units - ones) - 0.025) < spread
    assert not found.flagged.any()
    assert found.mean[0] == ones / units


@pytest.mark.statistical
def test_two_values_have_a_closed_law():
    """One unit at y: the upper end is y + (1 - y) D with D uniform, the lower y D; |z| < 5 as above."""
    found = bounded_interval([[0.3]], 0.9)
    spread = 5 * np.sqrt(0.05 * 0.95 / 20_000)
    assert abs(found.low[0] / 0.3 - 0.05) < spread
    assert abs((found.high[0] - 0.3) / 0.7 - 0.95) < spread


def test_limits_shift_and_stretch(rng):
    values = rng.random((12, 3))
    plain = bounded_interval(values, seed=3)
    moved = bounded_interval(10 * values - 4, seed=3, limits=(-4.0, 6.0))
    np.testing.assert_allclose(moved.low, 10 * plain.low - 4, atol=1e-12)
    mirrored = bounded_interval(1 - values, seed=3)
    np.testing.assert_allclose(mirrored.high, 1 - plain.low, atol=1e-12)


def test_clusters_of_one_unit_are_units_and_copies_are_one_observation(rng):
    values = rng.random((8, 2))
    plain = bounded_interval(values, seed=1)
    named = bounded_interval(values, clusters=list("abcdefgh"), seed=1)
    np.testing.assert_allclose(named.low, plain.low, atol=1e-14)
    copies = bounded_interval(np.repeat(values, 3, axis=0), clusters=np.repeat(range(8), 3), seed=1)
    np.testing.assert_allclose((copies.low, copies.high), (plain.low, plain.high), atol=1e-14)
    assert (copies.units, copies.clusters) == (24, 8)


def test_one_point_or_many_equal_ones_give_the_interval(rng):
    values = rng.random((9, 1))
    single = bounded_interval(values)
    for copies in (1, 6):
        band = bounded_band(np.repeat(values, copies, axis=1))
        np.testing.assert_allclose(band.low, single.low[0], atol=2e-4)
        np.testing.assert_allclose(band.high, single.high[0], atol=2e-4)


def test_points_at_the_limit_cost_the_band_nothing(rng):
    """Whatever the weights, a point where all units stand at the limit has its end there."""
    values = rng.random((10, 3))
    plain = bounded_band(values, seed=2)
    longer = bounded_band(np.concatenate([values, np.ones((10, 4))], axis=1), seed=2)
    assert (longer.high[3:] == 1.0).all()
    assert (longer.low[3:] < 0.8).all()
    upper_alone = bounded_band(np.concatenate([values, 1 - 1e-15 * rng.random((10, 4))], axis=1), seed=2)
    np.testing.assert_allclose(longer.low, upper_alone.low, atol=1e-9)
    assert (longer.high[:3] >= plain.high).all()


def test_the_band_holds_its_share_of_the_draws_and_is_wider_than_the_interval(rng):
    values = rng.random((15, 20)) ** 2
    band, single = bounded_band(values), bounded_interval(values)
    assert (band.low < single.low).all()
    assert (band.high > single.high).all()
    assert (band.low > 0).all()
    assert (band.high < 1).all()


@pytest.mark.statistical
@pytest.mark.parametrize("units", [5, 30])
def test_it_covers_where_students_does_not(rng, units):
    """A mean that hangs on rare units: 4,000 replications, z < 5 below the level (false alarm 1e-6)."""
    values = (rng.random((units, 4_000)) < 0.97).astype(float)
    found = bounded_interval(values, draws=4_000)
    held = ((found.low <= 0.97) & (found.high >= 0.97)).mean()
    assert held > 0.95 - 5 * np.sqrt(0.95 * 0.05 / 4_000)
    student = cj.mean_interval(values)
    assert ((student.low <= 0.97) & (student.high >= 0.97)).mean() < 0.8


def test_no_units_no_interval():
    for of in (bounded_interval, bounded_band):
        found = of(np.zeros((0, 2)))
        assert np.isnan(found.low).all()
        assert found.flagged.all()
        assert found.warnings == ("0 units: an interval over units needs at least 1; there is none",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": (0.0, 0.5)}, r"within the limits 0 and 0\.5; got 0\.2 to 0\.7"),
        ({"limits": (1.0, 1.0)}, "limits: must be a lower and a higher number"),
        ({"draws": 0}, "draws: must be a whole number >= 1; got 0"),
        ({"clusters": [0, 1]}, "at least 3 clusters; got 2"),
        ({"level": 1.0}, "level: must lie strictly between 0 and 1"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        bounded_interval([[0.2], [0.7]], **options)


def curves(coverage):
    coverage = np.asarray(coverage, float)
    inputs, budgets = coverage.shape
    return cj.Curves(
        budgets=np.arange(1, budgets + 1),
        coverage=coverage,
        distinct=3 * coverage,
        declared=np.full(inputs, 3),
        ids=np.arange(inputs).astype(object),
    )


def test_through_curves_and_comparison(rng):
    """All inputs solved: no Student's interval; all tied: no band of differences. Here there is one."""
    solved = curves(np.ones((20, 2)))
    low, high = cj.interval(solved, method="bounded")
    np.testing.assert_allclose(low, 0.025 ** (1 / 20), atol=0.01)
    assert high.tolist() == [1.0, 1.0]
    tied = cj.compare(solved, solved, method="bounded band", multipliers=5_000)
    assert tied.band[0] == pytest.approx([-0.168, -0.168], abs=0.01)
    assert tied.undecided.tolist() == [1, 2]
    assert (tied.method, tied.warnings) == ("bounded band", ())
    worse = cj.compare(curves(np.zeros((20, 2))), solved, method="bounded band", multipliers=5_000)
    assert worse.losses.tolist() == [1, 2]


def test_a_curve_without_limits_is_refused():
    found = curves(np.full((5, 2), 0.5))
    with pytest.raises(
        InputError, match="'bounded' is for numbers between 0 and 1; distinct has no such limits"
    ):
        cj.interval(found, "distinct", method="bounded")
    with pytest.raises(InputError, match="'bounded band' is for differences of fractions; distinct"):
        cj.compare(found, found, quantity="distinct", method="bounded band")
    with pytest.raises(InputError, match="method: must be one of band, bounded band; got 't'"):
        cj.compare(found, found, method="t")


def test_ends_carry_the_warnings_and_unpack():
    found = cj.interval(curves([[1.0], [1.0], [1.0], [0.5]]))
    low, high = found
    assert low[0] < 0.9 < high[0]
    assert found.low is low
    assert "prefer method 'bounded'" in found.warnings[0]
    assert "prefer method 'bounded'" in repr(found)
    assert cj.interval(curves(np.linspace(0.2, 0.7, 9)[:, None])).warnings == ()


def test_replicates_give_the_bootstrap_interval_and_are_paired(rng):
    found = curves(rng.random((40, 3)))
    drawn = cj.mean_replicates(found, seed=5)
    assert drawn.shape == (10_000, 3)
    low, high = cj.interval(found, method="bootstrap", seed=5)
    np.testing.assert_array_equal(np.quantile(drawn, [0.025, 0.975], axis=0), (low, high))
    np.testing.assert_allclose(cj.mean_replicates(found, "distinct", seed=5), 3 * drawn, atol=1e-12)
    families = np.repeat(range(8), 5)
    by_family = cj.mean_replicates(found, clusters=families, replicates=50)
    assert by_family.shape == (50, 3)
    with pytest.raises(InputError, match="one label for each of the 40 inputs"):
        cj.mean_replicates(found, clusters=families[:-1])
