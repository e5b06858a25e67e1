"""How long until something happens, where for some it never did: product-limit curves, restricted means."""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from coverjax.foundation.checks import InputError


@dataclasses.dataclass(frozen=True, eq=False)
class Survival:
    """Kaplan-Meier curve at k = 0..K, K the longest time that anything was followed.

    Attributes:
        at_risk: number that were followed to k and had not happened before k [K + 1].
        events: number that happened at k [K + 1].
        survival: S(k), estimate of P(T > k) [K + 1]; NaN from the first k on at which nothing was at risk
            although S was not 0.
        stderr: Greenwood's standard error of S(k) [K + 1]; 0 where everything happened, NaN with S.
    """

    at_risk: Int[np.ndarray, " points"]
    events: Int[np.ndarray, " points"]
    survival: Float[np.ndarray, " points"]
    stderr: Float[np.ndarray, " points"]

    @property
    def median(self) -> float:
        """Least k with S(k) <= 1/2; NaN where it is not reached."""
        below = np.flatnonzero(self.survival <= 0.5)
        return float(below[0]) if below.size else np.nan

    def restricted_mean(self, to: int) -> float:
        """Return E min(T, to) = sum of S(k) over k = 0..to-1; NaN where S is not known that far.

        The furthest `to` is K + 1, as S(K) is known: "never" then counts as K + 1.

        Raises:
            InputError: `to` is below 0 or beyond the curve.
        """
        if not 0 <= to <= len(self.survival):
            raise InputError(f"to: must lie in 0..{len(self.survival)}, what was followed; got {to}")
        return float(self.survival[:to].sum())


def kaplan_meier(times: "np.ndarray | list[float]", followed: "np.ndarray | list[int]") -> Survival:
    """Estimate P(T > k) from times of which some are only known to be later than what was followed.

    S(k) = prod_{j <= k} (1 - d_j / Y_j), d_j the number that happened at j, Y_j those followed to j at least
    that had not happened before. Where all are followed equally long, S(k) is the plain share of T > k.
    Consistent where being followed shorter has nothing to do with T.

    Args:
        times: T of each unit, whole numbers from 0; NaN: not within what was followed.
        followed: the last k at which each unit was looked at.

    Raises:
        InputError: a time lies beyond what was followed, or there is no unit.

    Source: Kaplan, Meier (1958); the standard error Greenwood (1926).

    >>> kaplan_meier([1, 2, float("nan")], [3, 3, 3]).survival.round(3).tolist()
    [1.0, 0.667, 0.333, 0.333]
    """
    when, last = np.asarray(times, dtype=np.float64), np.asarray(followed, dtype=np.int64)
    if not when.size or when.shape != last.shape:
        raise InputError(f"times: must be one for each unit, at least one; got {when.shape} and {last.shape}")
    happened = ~np.isnan(when)
    if np.any(when[happened] > last[happened]) or np.any(when[happened] < 0):
        raise InputError("times: must lie between 0 and what was followed")
    grid = np.arange(last.max() + 1)
    ends = np.where(happened, when, last)
    at_risk = (ends[:, None] >= grid).sum(axis=0)
    events = (happened[:, None] & (when[:, None] == grid)).sum(axis=0)
    safe = np.maximum(at_risk, 1)
    survival = np.cumprod(np.where(at_risk > 0, 1.0 - events / safe, 1.0))
    left = at_risk - events
    terms = np.where(left > 0, events / (safe * np.maximum(left, 1)), 0.0)
    stderr = survival * np.sqrt(np.cumsum(terms))
    unknown = np.logical_or.accumulate(at_risk == 0) & (survival > 0.0)
    return Survival(at_risk, events, np.where(unknown, np.nan, survival), np.where(unknown, np.nan, stderr))
