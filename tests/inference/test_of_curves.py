import dataclasses

import numpy as np
import pytest

import coverjax as cj
from coverjax.curves import PER_BUDGET
from coverjax.foundation.checks import InputError
from coverjax.inference.bands import mean_band
from coverjax.inference.intervals import mean_interval
from coverjax.inference.of_curves import curve_interval, interval


def curves_of(coverage, **changes):
    coverage = np.asarray(coverage, dtype=float)
    inputs, budgets = coverage.shape
    fields = {
        "budgets": np.arange(1, budgets + 1),
        "coverage": coverage,
        "distinct": 5 * coverage,
        "declared": np.full(inputs, 5),
        "ids": np.arange(inputs).astype(object),
    }
    return cj.Curves(**{**fields, **changes})


def test_the_public_function_gives_the_ends_of_the_interval_over_inputs(rng):
    coverage = rng.random((40, 3))
    curves = curves_of(coverage)
    for method in ("t", "bootstrap"):
        low, high = cj.interval(curves, level=0.9, method=method, seed=2)
        expected = mean_interval(coverage, 0.9, method, seed=2)
        np.testing.assert_array_equal(low, expected.low)
        np.testing.assert_array_equal(high, expected.high)
    low, high = cj.interval(curves, method="band")
    expected = mean_band(coverage)
    np.testing.assert_array_equal(low, expected.low)
    np.testing.assert_array_equal(high, expected.high)


def test_only_inputs_in_use_count(rng):
    coverage = rng.random((9, 2))
    coverage[[2, 5]] = np.nan
    declared, short = np.full(9, 5), np.zeros(9, bool)
    declared[2], short[5] = 0, True
    curves = curves_of(coverage, declared=declared, short=short)
    keep = [0, 1, 3, 4, 6, 7, 8]
    np.testing.assert_array_equal(cj.interval(curves)[0], mean_interval(coverage[keep]).low)
    clusters = np.array(list("aabbccdda"))
    found = curve_interval(curves, clusters=clusters)
    np.testing.assert_array_equal(found.high, mean_interval(coverage[keep], clusters=clusters[keep]).high)
    assert (found.units, found.clusters) == (7, 4)


@pytest.mark.parametrize("quantity", PER_BUDGET)
def test_every_curve_with_one_number_a_budget_has_an_interval(rng, quantity):
    values = rng.random((6, 4))
    curves = dataclasses.replace(curves_of(rng.random((6, 4))), **{quantity: values})
    low, high = interval(curves, quantity)
    np.testing.assert_allclose((low + high) / 2, values.mean(axis=0), rtol=1e-12)


def test_mass_at_the_bounds_is_looked_for_in_fractions_only():
    values = np.array([[1.0]] * 8 + [[0.4], [0.2]])
    assert any("mass at the bounds" in line for line in curve_interval(curves_of(values)).warnings)
    assert curve_interval(curves_of(values, novelty_count=values), "novelty_count").warnings == ()


def test_no_or_one_input_in_use_has_no_interval():
    for declared in ([5, 0, 0], [0, 0, 0]):
        found = curve_interval(curves_of(np.full((3, 2), 0.5), declared=np.array(declared)))
        assert np.isnan(found.low).all()
        assert "needs at least 2" in found.warnings[0]


def test_wrong_uses_are_refused(rng):
    curves = curves_of(rng.random((6, 4)))
    with pytest.raises(InputError, match="full_coverage"):
        cj.interval(curves, "full_coverage")
    with pytest.raises(InputError, match=r"quantity: must be one of coverage, .*; got 'auc'"):
        cj.interval(curves, "auc")
    with pytest.raises(InputError, match="method: must be one of t, bootstrap, band"):
        cj.interval(curves, method="z")
    with pytest.raises(InputError, match="a row for each input; these are their mean"):
        cj.interval(curves.mean())
    with pytest.raises(InputError, match=r"each of the 6 inputs; got shape \(2,\)"):
        cj.interval(curves, clusters=["a", "b"])
    with pytest.raises(InputError, match="at least 3 clusters; got 2"):
        cj.interval(curves, clusters=list("aaabbb"))
