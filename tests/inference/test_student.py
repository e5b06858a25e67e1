import mpmath
import numpy as np
import pytest
import scipy.stats

from coverjax.foundation.checks import InputError
from coverjax.inference.student import student_quantile


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 9, 10, 29, 30, 99, 1_059, 10_000, 1_000_000])
def test_quantiles_equal_scipys(degrees):
    for level in (0.01, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999):
        expected = scipy.stats.t.isf(0.5 * (1.0 - level), degrees)
        assert student_quantile(level, degrees) == pytest.approx(expected, rel=1e-12)


def test_one_and_two_degrees_have_closed_forms():
    for level in np.linspace(0.05, 0.99, 20):
        assert student_quantile(level, 1) == pytest.approx(np.tan(0.5 * np.pi * level), rel=1e-12)
        assert student_quantile(level, 2) == pytest.approx(level * np.sqrt(2 / (1 - level**2)), rel=1e-12)


def test_the_quantile_falls_with_the_degrees_to_the_gaussian_one():
    values = [student_quantile(0.95, degrees) for degrees in (1, 2, 5, 20, 1e3, 1e6, 1e9)]
    assert all(np.diff(values) < 0)
    assert values[-1] == pytest.approx(1.959963984540054, rel=1e-8)


@pytest.mark.parametrize("degrees", [1, 2, 3, 7, 29, 1_000, 1_000_000])
@pytest.mark.parametrize(
    "level", [0.4999, 0.5001, 0.999, 0.9999999, 1 - 2e-6, 1 - 1e-9, 1 - 1e-12, 1 - 2**-50]
)
def test_extreme_levels_keep_their_digits(level, degrees):
    """1 - level is exact in floating point, so the tail has a true quantile to compare with."""
    expected = scipy.stats.t.isf(0.5 * (1.0 - level), degrees)
    assert student_quantile(level, degrees) == pytest.approx(expected, rel=1e-12)


def test_one_and_two_degrees_at_extreme_levels_equal_their_closed_forms():
    for level in (0.9999999, 1 - 1e-12, 1 - 2**-50):
        tail = mpmath.mpf(1) - mpmath.mpf(level)
        one = mpmath.cot(mpmath.pi * tail / 2)
        two = mpmath.mpf(level) * mpmath.sqrt(2 / (tail * (2 - tail)))
        assert student_quantile(level, 1) == pytest.approx(float(one), rel=1e-13)
        assert student_quantile(level, 2) == pytest.approx(float(two), rel=1e-13)


def test_tiny_levels():
    """Near 0 the law is flat: P(|T| <= t) = 2 t f(0), f(0) = 1 / (pi sqrt(1)) at one degree."""
    assert student_quantile(1e-9, 1) == pytest.approx(0.5e-9 * np.pi, rel=1e-12)
    assert student_quantile(1e-9, 2) == pytest.approx(1e-9 * np.sqrt(2), rel=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 95, float("nan")])
def test_a_level_outside_0_and_1_is_refused(level):
    with pytest.raises(InputError, match="level: must lie strictly between 0 and 1"):
        student_quantile(level, 5)
