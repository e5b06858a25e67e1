"""Paired outcomes that can only be won, lost or tied: exact laws from three counts."""

import dataclasses
import math

import numpy as np
from jaxtyping import Float

from coverjax.foundation.checks import InputError, fraction, whole_number

_NEGLIGIBLE = 1e-18
"""Probability that may be cut off each end of a law, once a convolution."""


@dataclasses.dataclass(frozen=True)
class SignTest:
    """Two-sided p-value of the sign test, and its natural logarithm, which does not underflow."""

    p_value: float
    log_p_value: float


def ternary_bootstrap_interval(wins: int, losses: int, ties: int, level: float = 0.95) -> tuple[int, int]:
    """Compute the percentile bootstrap interval of wins - losses, without drawing.

    A draw of n = wins + losses + ties pairs with replacement sums n independent numbers that are +1, -1 or 0
    with the observed shares, so the bootstrap law is an n-fold convolution. The ends are its quantiles: the
    least sums whose distribution function reaches (1 - level) / 2 and (1 + level) / 2. Exact (the law to
    about 1e-16): there is no number of replicates and no seed.

    Args:
        wins, losses, ties: counts of pairs.
        level: nominal level, a fraction.

    Returns:
        (low, high), in counts; divide by n for a difference of means.

    Raises:
        InputError: a count is no whole number >= 0, or all are 0.

    >>> ternary_bootstrap_interval(68, 7, 225)
    (46, 77)
    """
    counts = _counts(wins=wins, losses=losses, ties=ties)
    level = fraction("level", level)
    total = sum(counts)
    if total == 0:
        raise InputError("wins, losses, ties: must count at least one pair; all are 0")
    law, start = ternary_sum_law(*counts)
    below = np.cumsum(law)
    tail = 0.5 * (1.0 - level)
    # A quantile that the law hits exactly must not depend on the rounding of the sum.
    low, high = (int(np.searchsorted(below, q - 1e-13)) + start for q in (tail, 1.0 - tail))
    return low, high


def ternary_sum_law(wins: int, losses: int, ties: int) -> tuple[Float[np.ndarray, " sums"], int]:
    """Return the law of the bootstrapped wins - losses: probabilities of start, start + 1, ... and start."""
    total = wins + losses + ties
    result, offset = np.ones(1), 0
    base, shift = np.array([losses, ties, wins]) / total, -1
    power = total
    while True:
        if power & 1:
            result, offset = _cut(np.convolve(result, base), offset + shift)
        power >>= 1
        if not power:
            return result, offset
        base, shift = _cut(np.convolve(base, base), 2 * shift)


def _cut(law: np.ndarray, start: int) -> tuple[np.ndarray, int]:
    """Drop what is negligible at both ends, so that the support grows like the square root of n."""
    left = int(np.searchsorted(np.cumsum(law), _NEGLIGIBLE))
    right = int(np.searchsorted(np.cumsum(law[::-1]), _NEGLIGIBLE))
    return law[left : len(law) - right], start + left


def sign_test(wins: int, losses: int) -> SignTest:
    """Test whether a win is as likely as a loss, ties left out: exact binomial, two-sided.

    p = min(1, 2 sum_{i >= max(wins, losses)} C(m, i) / 2^m, m = wins + losses), summed from its largest term
    in logarithms, so that p-values far below the least double keep their digits in `log_p_value`. Exact to
    about 1e-12 relative.

    Raises:
        InputError: a count is no whole number >= 0.

    >>> f"{sign_test(168, 21).p_value:.4e}"
    '1.1478e-29'
    """
    more, less = sorted(_counts(wins=wins, losses=losses), reverse=True)
    total = more + less
    steps = np.arange(1, less + 1, dtype=np.float64)
    log_first = math.fsum(np.log((more + steps) / steps)) - total * math.log(2.0)
    falls = np.cumprod(np.arange(less, 0, -1) / (more + np.arange(1, less + 1)))
    log_p = min(0.0, math.log(2.0) + log_first + math.log1p(math.fsum(falls)))
    return SignTest(math.exp(log_p), log_p)


def _counts(**counts: int) -> list[int]:
    return [whole_number(name, value, 0) for name, value in counts.items()]
