import numpy as np
import pytest
import scipy.stats

from coverjax.inference.student import student_quantile


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 9, 10, 29, 30, 99, 1_059, 10_000, 1_000_000])
def test_quantiles_equal_scipys(degrees):
    for level in (0.01, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999):
        expected = scipy.stats.t.isf(0.5 * (1.0 - level), degrees)
        assert student_quantile(level, degrees) == pytest.approx(expected, rel=1e-10)


def test_one_and_two_degrees_have_closed_forms():
    for level in np.linspace(0.05, 0.99, 20):
        assert student_quantile(level, 1) == pytest.approx(np.tan(0.5 * np.pi * level), rel=1e-12)
        assert student_quantile(level, 2) == pytest.approx(level * np.sqrt(2 / (1 - level**2)), rel=1e-12)


def test_the_quantile_falls_with_the_degrees_to_the_gaussian_one():
    values = [student_quantile(0.95, degrees) for degrees in (1, 2, 5, 20, 1e3, 1e6, 1e9)]
    assert all(np.diff(values) < 0)
    assert values[-1] == pytest.approx(1.959963984540054, rel=1e-8)


def test_levels_far_out_keep_the_accuracy_that_the_level_itself_has():
    assert student_quantile(1 - 2e-6, 7) == pytest.approx(scipy.stats.t.isf(1e-6, 7), rel=1e-9)
    assert student_quantile(1e-9, 7) == pytest.approx(scipy.stats.t.ppf(0.5 + 5e-10, 7), rel=1e-6)
