"""Quantiles of Student's law, without SciPy."""

import functools
import math

import numpy as np

from coverjax.foundation.checks import fraction

_STEP = 0.1
_LINE = _STEP * np.arange(-450, 451)
"""The whole line: beyond 45 the density, at most sech, is below 1e-19."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_UNIT_NODES, _UNIT_WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS

_RATES = 40.0
"""A log-concave tail that falls at rate r at its beginning has e^-40 of itself left after 40 / r."""


def _log_density(x: np.ndarray, degrees: float) -> np.ndarray:
    """Return log of sech(x / sqrt(degrees))^degrees, x >= 0 or not, which tends to -x^2 / 2."""
    y = np.abs(x) / math.sqrt(degrees)
    near = np.log1p(np.sinh(np.minimum(y, 1.0)) ** 2)
    far = 2.0 * (y + np.log1p(np.exp(-2.0 * y)) - math.log(2.0))
    return -0.5 * degrees * np.where(y < 1.0, near, far)


@functools.lru_cache(maxsize=1024)
def student_quantile(level: float, degrees: float) -> float:
    """Return the t with P(|T| <= t) = level, T of Student's law with `degrees` >= 1 degrees of freedom.

    With T = sqrt(degrees) sinh(x / sqrt(degrees)) the density in x is sech(x / sqrt(degrees))^degrees up to
    a constant: no gamma function is needed (a difference of log-gammas loses ten digits at 1e6 degrees),
    and the whole line is a trapezoid sum to rounding. Up to level 1/2 the middle is solved for, beyond it
    the logarithm of the tail, by Newton's steps; both are concave, so the steps come from one side. Relative
    error below 1e-12, given the level in floating point.

    Raises:
        InputError: level is not strictly between 0 and 1.
    """
    level = fraction("level", level)
    whole = _STEP * math.fsum(np.exp(_log_density(_LINE, degrees)))
    solve = _from_the_middle if level <= 0.5 else _from_the_tail
    root = math.sqrt(degrees)
    return root * math.sinh(solve(level, degrees, whole) / root)


def _density(x: float, degrees: float) -> float:
    return math.exp(float(_log_density(np.array([x]), degrees)[0]))


def _from_the_middle(level: float, degrees: float, whole: float) -> float:
    """Solve (integral of the density over 0..x) = level / 2 of the whole, from 0 upwards."""
    x = 0.0
    for _ in range(100):
        middle = x * math.fsum(_UNIT_WEIGHTS * np.exp(_log_density(x * _UNIT_NODES, degrees)))
        step = (0.5 * level * whole - middle) / _density(x, degrees)
        x += step
        if abs(step) <= 1e-15 * x:
            break
    return x


def _from_the_tail(level: float, degrees: float, whole: float) -> float:
    """Solve log(integral over x..infinity) = log((1 - level) / 2 of the whole), from 0.6 upwards.

    The tail is the density at x times an integral that stays of the order of 1 / rate, by Gauss-Legendre:
    no part of it underflows before the density itself does.
    """
    root = math.sqrt(degrees)
    wanted = math.log(0.5 * (1.0 - level) * whole)
    x = 0.6
    for _ in range(100):
        length = _RATES / (root * math.tanh(x / root))
        start = float(_log_density(np.array([x]), degrees)[0])
        shape = np.exp(_log_density(x + length * _UNIT_NODES, degrees) - start)
        mills = length * math.fsum(_UNIT_WEIGHTS * shape)
        step = (start + math.log(mills) - wanted) * mills
        x = max(x + step, 0.6)
        if abs(step) <= 1e-15 * x:
            break
    return x
