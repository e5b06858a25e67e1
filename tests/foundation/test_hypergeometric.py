"""The law of marked items among those drawn, against exact rationals."""

import math
from fractions import Fraction

import numpy as np
import pytest

from coverjax.foundation.hypergeometric import marked_law


@pytest.mark.parametrize(("n", "c"), [(1, 0), (1, 1), (7, 0), (7, 3), (7, 7), (40, 13), (90, 89)])
def test_against_exact_rationals(n, c):
    drawn = np.arange(n + 1)
    law = marked_law(n, c, drawn)
    for k in drawn.tolist():
        exact = [
            float(Fraction(math.comb(c, j) * math.comb(n - c, k - j), math.comb(n, k))) if j <= k else 0.0
            for j in range(law.shape[1])
        ]
        np.testing.assert_allclose(law[k], exact, rtol=2e-14, atol=0.0)


def test_large_numbers_do_not_overflow():
    n, c, k = 200_000, 90_000, 150_000
    law = marked_law(n, c, np.array([k]))[0]
    assert law @ np.arange(len(law)) == pytest.approx(k * c / n, rel=1e-12)
    j = 67_500
    exact = Fraction(math.comb(c, j) * math.comb(n - c, k - j), math.comb(n, k))
    assert law[j] == pytest.approx(float(exact), rel=1e-10)
