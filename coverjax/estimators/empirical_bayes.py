"""Coverage beyond the samples, from all inputs together: the posterior predictive of what was not found.

The exchangeable unit is an input and one of its strategies. A strategy that many inputs declare has a prior
of its own (a common strategy and a rare one are not exchangeable); all others share one. Two priors are
fitted, Beta and Beta with an atom at 0, and averaged: on real counts the first is too hopeful and the second
not enough (docs/extrapolation.md); half of their distance goes into the interval.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.estimators.priors import Prior, Units, fit_prior, thinned

OWN_INPUTS, OWN_FOUND = 30, 10
"""A strategy has a prior of its own where so many inputs declare it, and on so many it was found."""

FEWEST_KEPT = 4
"""Samples that a back-test keeps at least."""

_THINNED_NUMBERS = 1 << 24

MODELS = {"beta_binomial": False, "beta_binomial_atom": True}
"""The two priors, and whether there is an atom."""


@dataclasses.dataclass(frozen=True, eq=False)
class Tallies:
    """Counts of declared strategies of the runs that enter an estimate.

    Attributes:
        n: samples of each run [runs].
        counts: samples that match a label; 0 where it is not declared [runs, labels].
        declared: which labels are declared strategies [runs, labels].
        kind: number of the label's name, -1 where it is not declared [runs, labels].
        row: the input of each run [runs].
        rows: number of inputs.
    """

    n: Int[np.ndarray, " runs"]
    counts: Int[np.ndarray, "runs labels"]
    declared: Bool[np.ndarray, "runs labels"]
    kind: Int[np.ndarray, "runs labels"]
    row: Int[np.ndarray, " runs"]
    rows: int

    @property
    def share(self) -> Float[np.ndarray, " runs"]:
        """What one strategy of a run weighs in the mean coverage over inputs; 0 where none is declared."""
        trials = np.bincount(self.row, minlength=self.rows)[self.row]
        size = self.declared.sum(axis=1)
        used = len(np.unique(self.row[size > 0]))
        return np.where(size > 0, 1.0 / np.maximum(1.0, trials * size * used), 0.0)


@dataclasses.dataclass(frozen=True, eq=False)
class Beyond:
    """What one prior says beyond the samples.

    Attributes:
        distinct: expected strategies found by k samples, given what was found; for k >= n [runs, B].
        influence: of each input on the mean coverage through the fit, times the number of inputs [inputs, B].
        variance: mean squared error of the mean coverage of these inputs, were the prior known [B].
        backtest: what the same method says of n samples, from fewer of them, minus what n showed; NaN where n
            is too small, or so large that it would take long.
        kept: the share of the samples that the back-test used.
        priors: the fitted priors, the shared one last where there is one.
    """

    distinct: Float[np.ndarray, "runs budgets"]
    influence: Float[np.ndarray, "inputs budgets"]
    variance: Float[np.ndarray, " budgets"]
    backtest: float
    kept: float
    priors: tuple[Prior, ...]


def groups_of(tallies: Tallies) -> list[Bool[np.ndarray, "runs labels"]]:
    """Return which units share a prior: masks that part the declared strategies."""
    kinds = int(tallies.kind.max(initial=-1)) + 1
    flat = tallies.kind[tallies.declared]
    at = np.broadcast_to(tallies.row[:, None], tallies.kind.shape)[tallies.declared]
    hit = tallies.counts[tallies.declared] > 0
    inputs = _distinct_inputs(flat, at, kinds)
    found = _distinct_inputs(flat[hit], at[hit], kinds)
    own = np.flatnonzero((inputs >= OWN_INPUTS) & (found >= OWN_FOUND))
    masks = [tallies.kind == kind for kind in own]
    rest = tallies.declared & ~np.isin(tallies.kind, own)
    return [*masks, rest] if rest.any() else masks


def _distinct_inputs(kind: np.ndarray, row: np.ndarray, kinds: int) -> np.ndarray:
    """Number of inputs on which each kind occurs."""
    pairs = np.unique(np.stack([kind, row]), axis=1)[0]
    return np.bincount(pairs, minlength=kinds)


def beyond_samples(tallies: Tallies, budgets: Int[np.ndarray, " budgets"], atom: bool) -> Beyond:
    """Fit the prior to each group and predict at budgets k, those below a run's n taken as n."""
    shape = len(tallies.n), len(budgets)
    distinct = np.broadcast_to((tallies.counts > 0).sum(axis=1)[:, None], shape).astype(np.float64)
    influence = np.zeros((tallies.rows, len(budgets)))
    variance, error, kept, priors = np.zeros(len(budgets)), 0.0, 0.0, []
    share = tallies.share
    sizes, size = np.unique(tallies.n, return_inverse=True)
    inputs = len(np.unique(tallies.row[share > 0.0]))
    for mask in groups_of(tallies):
        run, label = np.nonzero(mask)
        if (tallies.counts[run, label] > 0).all():
            continue
        units, place = Units.of(tallies.n[run], tallies.counts[run, label])
        prior = fit_prior(units, atom)
        missing = (mask & (tallies.counts == 0)).sum(axis=1).astype(np.float64)
        found, slope, variances = _predicted(prior, sizes, budgets)
        distinct += missing[:, None] * found[size]
        scores = np.zeros((tallies.rows, prior.scores.shape[1]))
        np.add.at(scores, tallies.row[run], prior.scores[place])
        gradient = np.einsum("n,nkf->kf", np.bincount(size, share * missing, len(sizes)), slope)
        influence += inputs * scores @ prior.spread @ gradient.T
        variance += np.bincount(size, share**2 * mask.sum(axis=1), len(sizes)) @ variances
        wrong, used = _backtest(units, np.bincount(place, share[run], len(units.n)), budgets[-1], atom)
        error, kept = error + wrong, max(kept, used)
        priors.append(prior)
    return Beyond(distinct, influence, variance, error, kept, tuple(priors))


def _predicted(prior: Prior, n: np.ndarray, budgets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chance that k samples match what n did not, its derivatives, and the mean squared error for a unit.

    With P(k) the chance of no match in k samples: of a unit of chance p that n samples missed it is said that
    k miss it with chance m = P(k) / P(n), of one they met that none does; the truth is (1 - p)^k. The mean
    square of the difference under the prior is P(2k) + m^2 P(n) - 2 m P(n + k).
    """
    k = np.maximum(budgets[None, :], n[:, None])
    log_n, slope_n = prior.log_none(n)
    log_k, slope_k = prior.log_none(k)
    missed = np.exp(log_k - log_n[:, None])
    slope = -missed[..., None] * (slope_k - slope_n[:, None])
    both, twice = (np.exp(prior.log_none(size)[0]) for size in (n[:, None] + k, 2 * k))
    square = twice + missed * np.exp(log_k) - 2.0 * missed * both
    return 1.0 - missed, slope, np.maximum(square, 0.0)


def _backtest(units: Units, weight: np.ndarray, budget: int, atom: bool) -> tuple[float, float]:
    """Predict the samples there are from fewer, in the ratio n / K or nearest to it; return error and share.

    The thinned counts are expected ones, over all ways to leave samples out: no random number is drawn.
    """
    kept = np.minimum(np.maximum(units.n * units.n // int(budget), FEWEST_KEPT), units.n // 2)
    if (kept < FEWEST_KEPT).any() or float(kept.sum()) * len(kept) > _THINNED_NUMBERS:
        return np.nan, 0.0
    fewer, none = thinned(units, kept)
    prior = fit_prior(fewer, atom)
    missed = np.exp(prior.log_none(units.n)[0] - prior.log_none(kept)[0])
    return float(weight @ ((units.c == 0) - none * missed)), float((kept / units.n).max())
