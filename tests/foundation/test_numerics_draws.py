"""Probabilities of draws against high precision, in value and derivative, at their edges."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from coverjax.foundation.numerics import hit, log1p_deficit, log_poisson, miss, sin_cos, sine_deficit
from coverjax.foundation.precision import float64_kernel

hits, misses = float64_kernel(hit), float64_kernel(miss)
EDGES = np.array([0.0, 1e-300, 1e-12, 1e-9, 0.3, 0.5, 0.999999, 1 - 1e-12, 1.0])


@pytest.mark.parametrize("k", [0, 1, 2, 3, 17, 1000, 10**6])
def test_hit_and_miss_keep_relative_accuracy(k):
    q = np.concatenate([EDGES, 10.0 ** np.arange(-280.0, 0.0, 17.0), np.linspace(0.01, 0.99, 99)])
    with mpmath.workdps(700):
        exact = [(1 - mpmath.mpf(float(x))) ** k for x in q]
        for x, got, want in zip(q, hits(q, np.full_like(q, k)), exact, strict=True):
            assert abs(got - (1 - want)) <= 2e-15 * (1 - want), x
        for x, got, want in zip(q, misses(q, np.full_like(q, k)), exact, strict=True):
            if want > 1e-290:
                assert abs(got - want) <= 5e-16 * want * (1 - mpmath.log(want)), x
            else:
                assert got < 1e-289


def test_hit_of_a_tiny_probability_in_single_precision():
    """1 - (1 - q)^k by multiplication is 40 % off here."""
    value = hit(jnp.float32(1e-9), jnp.float32(1000.0))
    assert value.dtype == jnp.float32
    assert abs(float(value) / 1e-6 - 1) < 1e-6


@pytest.mark.parametrize(("function", "sign"), [(hit, 1.0), (miss, -1.0)])
def test_derivatives_to_third_order_at_the_edges(function, sign):
    first = jax.grad(function)
    second, third = jax.grad(first), jax.grad(jax.grad(first))
    with jax.enable_x64(True):
        for q in EDGES:
            for k in (0.0, 1.0, 2.0, 3.0, 5.0):
                want = [
                    k * (1 - q) ** max(k - 1, 0),
                    -k * (k - 1) * (1 - q) ** max(k - 2, 0),
                    k * (k - 1) * (k - 2) * (1 - q) ** max(k - 3, 0),
                ]
                got = [float(d(jnp.asarray(q), jnp.asarray(k))) for d in (first, second, third)]
                np.testing.assert_allclose(got, sign * np.array(want), rtol=1e-12, atol=1e-300)


def test_log1p_deficit_and_sine_deficit_near_zero_and_far():
    small = 10.0 ** np.arange(-12.0, 0.0, 0.37)
    x = np.concatenate([small, -small, [-0.6, -0.4, -0.5, 0.49, 0.67, 3.0, 1e6]])
    with mpmath.workdps(50):
        deficit = [float(mpmath.mpf(v) - mpmath.log1p(mpmath.mpf(v))) for v in map(float, x)]
        sines = [float(mpmath.mpf(v) - mpmath.sin(mpmath.mpf(v))) for v in map(float, small * 3)]
    np.testing.assert_allclose(float64_kernel(log1p_deficit)(x), deficit, rtol=6e-16)
    np.testing.assert_allclose(float64_kernel(sine_deficit)(small * 3), sines, rtol=6e-16)


def test_sin_cos_to_rounding(rng):
    x = np.concatenate(
        [rng.normal(size=500) * 5, rng.random(300) * 1e6, np.arange(-20, 21) * np.pi / 4, [1e-20, 0]]
    )
    sine, cosine = float64_kernel(sin_cos)(x)
    with mpmath.workdps(40):
        exact = [mpmath.mpf(float(v)) for v in x]
        np.testing.assert_allclose(sine, [float(mpmath.sin(v)) for v in exact], rtol=0, atol=2e-16)
        np.testing.assert_allclose(cosine, [float(mpmath.cos(v)) for v in exact], rtol=0, atol=2e-16)


@pytest.mark.parametrize("k", [1, 2, 15, 16, 17, 1000, 10**6])
def test_log_poisson_near_the_mode_keeps_absolute_accuracy(k):
    means = k + np.array([-1.0, -0.3, 0.0, 0.5, 2.0, 3.0]) * np.sqrt(k)
    means = np.concatenate([means[means > 0], [0.3 * k, 2.0 * k]])
    got = float64_kernel(log_poisson)(np.full_like(means, k), means)
    with mpmath.workdps(50):
        want = [float(k * mpmath.log(m) - m - mpmath.loggamma(k + 1)) for m in map(float, means)]
    np.testing.assert_allclose(got, want, rtol=4e-16, atol=2e-15)
