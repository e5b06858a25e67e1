"""How many of a number of things a fraction of them asks for."""

import math


def need(tau: float, count: int) -> int:
    """Return how many of `count` things the fraction `tau` of them asks for.

    ceil(tau x count - 1e-9) in float64, at least 1 (0 where there are none). Definitions and laws all use
    this helper: 0.7 x 10 is 7 plus rounding, and must ask for 7, not 8.
    """
    return max(1, math.ceil(float(tau) * int(count) - 1e-9)) if count > 0 else 0
