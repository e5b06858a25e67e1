"""Scalar functions against exact rationals and high precision, at their edges too."""

from fractions import Fraction
from math import comb

import mpmath
import numpy as np
import pytest

from coverjax.foundation.numerics import binomial_ratio, log1p, stirling_remainder
from coverjax.foundation.precision import float64_kernel

ratio = float64_kernel(binomial_ratio)
remainder = float64_kernel(stirling_remainder)
accurate_log1p = float64_kernel(log1p)


def test_binomial_ratio_equals_exact_rationals_for_every_small_case():
    n, u, k = (values.ravel().astype(float) for values in np.meshgrid(range(1, 25), range(25), range(25)))
    inside = (u <= n) & (k <= n)
    got = ratio(n[inside], u[inside], k[inside])
    want = np.array(
        [
            float(Fraction(comb(int(a - b), int(c)), comb(int(a), int(c))))
            for a, b, c in zip(n[inside], u[inside], k[inside], strict=True)
        ]
    )
    assert (got[want == 0] == 0).all()
    assert (got[want == 1] == 1).all()
    got, want = got[want > 0], want[want > 0]
    assert (np.abs(got / want - 1) <= 1e-15 * (1 - np.log(want))).all()


@pytest.mark.parametrize("n", [500, 10_000, 1_000_000])
def test_binomial_ratio_keeps_relative_accuracy_at_large_n(n, rng):
    mpmath.mp.dps = 40
    u = rng.integers(1, n, size=200) ** rng.random(200)
    u = np.floor(np.concatenate([u, [1, 1, 2, n - 1, n // 3, n // 2]]))
    k = np.floor(rng.integers(1, n, size=len(u)) ** rng.random(len(u)))
    k[::7] = np.clip(n - u[::7], 1, None)
    for a, b, value in zip(u, k, ratio(np.float64(n), u, k), strict=True):
        if b > n - a:
            assert value == 0
            continue
        exact = mpmath.binomial(n - a, b) / mpmath.binomial(n, b)
        if exact > 1e-290:
            size = 1 + abs(float(mpmath.log(exact)))
            assert abs(value / exact - 1) < 1e-15 * size, (n, a, b)


def test_stirling_remainder_against_high_precision():
    mpmath.mp.dps = 40
    x = np.concatenate([np.arange(1.0, 40.0), [1e2, 1e4, 1e6, 1e9]])
    want = [
        float(
            mpmath.loggamma(v + 1)
            - ((v + mpmath.mpf(0.5)) * mpmath.log(v) - v + mpmath.log(2 * mpmath.pi) / 2)
        )
        for v in map(mpmath.mpf, x)
    ]
    np.testing.assert_allclose(remainder(x), want, rtol=2e-15, atol=1e-16)


def test_log1p_has_no_hole():
    """XLA's own loses two digits between -0.42 and -0.35."""
    x = np.concatenate([np.linspace(-0.999, 2.0, 20_001), [-1e-300, 1e-300, -1e-9, 0.0]])
    np.testing.assert_allclose(accurate_log1p(x), np.log1p(x), rtol=6e-16, atol=0)
