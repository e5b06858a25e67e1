"""How many strategies an input has, and how much of its probability was seen: Chao, Good and Turing.

From counts of the strategies of one input alone, with no other input's help. Q1 strategies were matched by
one sample of n, Q2 by two; U matches in all. References: Chao 1987; Chao et al. 2014, Ecological Monographs
84:45 (rarefaction and extrapolation with Hill numbers, iNEXT); Good and Toulmin 1956; Orlitsky, Suresh and
Wu 2016, PNAS 113:13283.
"""

import dataclasses
import math
import statistics

import numpy as np
from jaxtyping import Float, Int

from coverjax.estimators.avoidance import avoidance_sums


@dataclasses.dataclass(frozen=True, eq=False)
class Frequencies:
    """What the estimators of this module stand on, one row a run.

    Attributes:
        n: samples [runs].
        counts: samples that match each strategy, 0 where it is not declared [runs, labels].
        once, twice: Q1 and Q2, strategies matched by one sample, by two [runs].
        matches: U, the sum of the counts [runs].
        seen: strategies matched at all [runs].
        unseen: Q0 of Chao2, a lower bound of the number of strategies not seen:
            (n-1)/n Q1^2 / (2 Q2), or (n-1)/n Q1 (Q1 - 1) / 2 where Q2 = 0 [runs].
    """

    n: Int[np.ndarray, " runs"]
    counts: Int[np.ndarray, "runs labels"]
    once: Float[np.ndarray, " runs"]
    twice: Float[np.ndarray, " runs"]
    matches: Float[np.ndarray, " runs"]
    seen: Float[np.ndarray, " runs"]
    unseen: Float[np.ndarray, " runs"]

    @classmethod
    def of(cls, n: np.ndarray, counts: np.ndarray) -> "Frequencies":
        """Count the counts."""
        once, twice = ((counts == times).sum(axis=1).astype(np.float64) for times in (1, 2))
        share = (n - 1.0) / n
        unseen = share * np.where(
            twice > 0, once**2 / (2.0 * np.maximum(twice, 1.0)), once * (once - 1.0) / 2.0
        )
        matches, seen = counts.sum(axis=1).astype(np.float64), (counts > 0).sum(axis=1).astype(np.float64)
        return cls(n, counts, once, twice, matches, seen, unseen)

    @property
    def later(self) -> Float[np.ndarray, " runs"]:
        """A = n Q0 / (n Q0 + Q1): what a further sample leaves of the unseen, 0 where nothing is."""
        below = self.n * self.unseen + self.once
        return np.where(below > 0.0, self.n * self.unseen / np.where(below > 0.0, below, 1.0), 0.0)

    @property
    def covered(self) -> Float[np.ndarray, " runs"]:
        """Good-Turing sample coverage of all n samples, 1 - A Q1 / U; NaN as in `sample_coverage`."""
        some = (self.matches > 0) & (self.n > 1)
        return np.where(some, 1.0 - self.once / np.where(some, self.matches, 1.0) * self.later, np.nan)


def chao_distinct(
    found: Frequencies, budgets: Float[np.ndarray, " budgets"]
) -> Float[np.ndarray, "runs budgets"]:
    """Return S(k) for k >= n: S_obs + Q0 [1 - A^(k - n)], which tends to Chao2; real k too."""
    beyond = np.maximum(np.asarray(budgets, np.float64)[None, :] - found.n[:, None], 0.0)
    return found.seen[:, None] + found.unseen[:, None] * (1.0 - found.later[:, None] ** beyond)


def sample_coverage(
    found: Frequencies, budgets: Int[np.ndarray, " budgets"]
) -> Float[np.ndarray, "runs budgets"]:
    """Return the Good-Turing sample coverage of k samples: what share of matches fall on seen strategies.

    Within the data 1 - sum_s (c_s / U) C(n - c_s, k) / C(n - 1, k); from k = n on 1 - (Q1 / U) A^(k - n + 1).
    NaN where nothing was matched, or one sample alone was drawn: there is no coverage to speak of. It is
    another quantity than C(k), which counts strategies alike.
    """
    k = np.asarray(budgets)
    out = np.full((len(found.n), len(k)), np.nan)
    some = (found.matches > 0) & (found.n > 1)
    for size in np.unique(found.n[some]):
        rows = np.flatnonzero(some & (found.n == size))
        within = k < size
        weights = found.counts[rows] / found.matches[rows, None]
        if within.any():
            missed = avoidance_sums(
                np.full(len(rows), size - 1), np.maximum(found.counts[rows] - 1, 0), weights, k[within]
            )
            out[np.ix_(rows, within)] = 1.0 - missed
        beyond = (k[~within] - size + 1.0)[None, :]
        singles = (found.once[rows] / found.matches[rows])[:, None]
        out[np.ix_(rows, ~within)] = 1.0 - singles * found.later[rows, None] ** beyond
    return out


@dataclasses.dataclass(frozen=True, eq=False)
class Richness:
    """Chao2's lower bound of the number of strategies of each input, with its error.

    Attributes:
        observed: strategies seen [inputs].
        estimate: S_obs + Q0 [inputs].
        stderr: standard error [inputs].
        low, high: interval by the log-normal of estimate - observed, never below what was seen [inputs].
        sample_coverage: Good-Turing coverage of all samples, NaN where nothing was matched [inputs].
        level: nominal level, a fraction.
    """

    observed: Float[np.ndarray, " inputs"]
    estimate: Float[np.ndarray, " inputs"]
    stderr: Float[np.ndarray, " inputs"]
    low: Float[np.ndarray, " inputs"]
    high: Float[np.ndarray, " inputs"]
    sample_coverage: Float[np.ndarray, " inputs"]
    level: float


def chao_richness(found: Frequencies, level: float) -> Richness:
    """Return Chao2 with standard error and interval (Chao 1987; where Q1 = 0, by P = e^(-U / S_obs))."""
    z = statistics.NormalDist().inv_cdf(0.5 + 0.5 * level)
    estimate = found.seen + found.unseen
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        left = np.where(found.seen > 0, np.exp(-found.matches / found.seen), 0.0)
        flat = found.seen * left * (1.0 - left)
        variance = np.where(found.once > 0, _chao_variance(found, estimate), flat)
        more = found.unseen
        factor = np.exp(z * np.sqrt(np.log1p(variance / more**2)))
        spread = z * np.sqrt(found.seen * left) / (1.0 - left)
        middle = found.seen / (1.0 - left)
        none = more <= 0.0
        low = np.where(none, np.maximum(found.seen, middle - spread), found.seen + more / factor)
        high = np.where(none, middle + spread, found.seen + more * factor)
    nothing = found.seen == 0
    low, high = (np.where(nothing, 0.0, end) for end in (low, high))
    stderr = np.sqrt(np.maximum(variance, 0.0))
    return Richness(found.seen, estimate, stderr, low, high, found.covered, level)


def _chao_variance(found: Frequencies, estimate: np.ndarray) -> np.ndarray:
    share, once, twice = (found.n - 1.0) / found.n, found.once, found.twice
    ratio = once / np.maximum(twice, 1.0)
    usual = twice * (share / 2 * ratio**2 + share**2 * ratio**3 + share**2 / 4 * ratio**4)
    rare = (
        share * once * (once - 1.0) / 2.0
        + share**2 * once * (2.0 * once - 1.0) ** 2 / 4.0
        - share**2 * once**4 / (4.0 * np.maximum(estimate, 1e-300))
    )
    return np.where(twice > 0, usual, np.maximum(rare, 0.0))


def good_toulmin_distinct(
    found: Frequencies, budgets: Int[np.ndarray, " budgets"]
) -> Float[np.ndarray, "runs budgets"]:
    """Return S(k) for k >= n by the series of Good and Toulmin, smoothed by a binomial tail beyond 2 n.

    With t = (k - n) / n and Phi_j strategies matched by j samples: S_obs - sum_j (-t)^j P(L >= j) Phi_j. For
    t > 1 L is binomial with floor(log2(n t^2 / (t - 1)) / 2) trials of chance 2 / (t + 2), else P = 1. The
    series is for rare strategies, with Poisson counts: those matched by more than half of the samples are
    left out (their terms, of alternating sign, would swamp it). Linear in Phi, so that means over inputs mean
    something where a single input's value may not: it can fall below what was seen.
    """
    out = np.empty((len(found.n), len(budgets)))
    for size in np.unique(found.n):
        rows = np.flatnonzero(found.n == size)
        weights = np.stack([_toulmin_weights(int(size), float(k)) for k in budgets], axis=1)
        gained = weights[found.counts[rows]]
        out[rows] = found.seen[rows, None] + gained.sum(axis=1)
    return out


def _toulmin_weights(n: int, k: float) -> np.ndarray:
    """Weight of a strategy by its count, 0..n."""
    t, weights = (k - n) / n, np.zeros(n + 1)
    if t <= 0.0:
        return weights
    j = np.arange(1, n // 2 + 1)
    if t <= 1.0:
        weights[j] = -((-t) ** j)
        return weights
    trials = max(1, math.floor(0.5 * math.log2(n * t * t / (t - 1.0))))
    tail = _binomial_tail(trials, 2.0 / (t + 2.0))
    used = j[j <= trials]
    weights[used] = -((-t) ** used) * tail[used]
    return weights


def _binomial_tail(trials: int, chance: float) -> np.ndarray:
    """P(L >= j), j = 0..trials, of a binomial law."""
    law = [math.comb(trials, i) * chance**i * (1.0 - chance) ** (trials - i) for i in range(trials + 1)]
    return np.cumsum(law[::-1])[::-1]
