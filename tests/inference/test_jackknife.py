"""Intervals that leave a unit out: the t-interval of a mean, ratios, and what is said where there is none."""

import numpy as np
import pytest

from coverjax.inference.intervals import mean_interval
from coverjax.inference.jackknife import jackknife_interval


def ratio(sums):
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums[:, :1] / sums[:, 1:]


def with_ones(values):
    return np.stack([values, np.ones(len(values))], axis=1)


def test_for_a_mean_it_is_the_t_interval(rng):
    values = rng.normal(size=12)
    found = jackknife_interval(with_ones(values), ratio)
    plain = mean_interval(values[:, None])
    np.testing.assert_allclose([found.low, found.high], [plain.low, plain.high], rtol=1e-12)


def test_clusters_are_left_out_whole(rng):
    values, clusters = rng.normal(size=12), np.repeat(list("abcd"), 3)
    found = jackknife_interval(with_ones(values), ratio, clusters=clusters)
    sums = values.reshape(4, 3).mean(axis=1)
    plain = mean_interval(sums[:, None])
    np.testing.assert_allclose([found.low, found.high], [plain.low, plain.high], rtol=1e-12)
    assert (found.units, found.clusters) == (12, 4)


def test_no_interval_where_nothing_varies_or_all_hangs_on_one_unit():
    same = jackknife_interval(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), ratio)
    assert same.flagged.tolist() == [True]
    assert same.mean.tolist() == [0.5]
    one = jackknife_interval(np.array([[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]]), ratio)
    assert np.isnan(one.low).all()
    assert one.warnings == ("1 of 1 value hangs on a single unit: no interval there",)
    alone = jackknife_interval(np.array([[1.0, 2.0]]), ratio)
    assert alone.mean.tolist() == [0.5]
    assert alone.warnings[0].startswith("1 unit: an interval over units needs at least 2")


@pytest.mark.statistical
def test_a_ratio_is_covered_as_often_as_said(rng):
    """2,000 simulations of 30 units, nominal 95 %: within 93-97 % (|z| < 5 is 92.6-97.4 %)."""
    hits = 0
    for _ in range(2_000):
        below = rng.gamma(4.0, size=30)
        found = jackknife_interval(np.stack([below * rng.beta(2, 3, 30), below], axis=1), ratio)
        hits += found.low[0] <= 0.4 <= found.high[0]
    assert 0.93 < hits / 2_000 < 0.97
