"""Empirical Bayes over units: how likely a unit that no sample of n matched is matched within K samples.

A unit is what is exchangeable: an input and one of its strategies. Unit j is matched by each sample with its
own chance p_j, so that c_j of its n_j samples match; p_j comes from a prior, Beta(a, b), or from one with an
atom at 0 (a share w of units that nothing ever matches). The prior is fitted to all units by maximum
likelihood. Only sums over whole numbers are needed, no gamma function:
log B(a + c, b + n - c) / B(a, b) = sum_{j<c} log(a + j) + sum_{j<n-c} log(b + j) - sum_{j<n} log(a + b + j).

Few samples tell hardly how many of the units without a match will never have one: fitted alone, the atom
wanders between none of them and all. Its share phi of them has a Beta(4, 4) penalty, chosen on one real model
and on simulated populations (docs/extrapolation.md).
"""

import dataclasses
import math

import numpy as np
from jaxtyping import Float, Int

from coverjax.foundation.hypergeometric import marked_law

MOST_STEPS = 200
_LIMIT = 12.0
"""Parameters stay within e^-12 and e^12 (odds, for the atom): a likelihood may rise forever beyond."""

PENALTY = 4.0
"""Of the share phi of unmatched units that belong to the atom: the density phi^3 (1 - phi)^3, Beta(4, 4)."""

_APART = 1e-4
"""Step of the differences of gradients that make the Hessian."""


@dataclasses.dataclass(frozen=True, eq=False)
class Units:
    """Units by their numbers of samples and matches, each pair once.

    Attributes:
        n, c: samples, and those that match [pairs].
        weight: number of units with that pair; any number >= 0 [pairs].
    """

    n: Int[np.ndarray, " pairs"]
    c: Int[np.ndarray, " pairs"]
    weight: Float[np.ndarray, " pairs"]

    @classmethod
    def of(cls, n: np.ndarray, c: np.ndarray, weight: np.ndarray | None = None) -> tuple["Units", np.ndarray]:
        """Count equal units; return them and the place of each unit's pair."""
        pairs, place = np.unique(np.stack([n, c]), axis=1, return_inverse=True)
        place = place.reshape(-1)
        return cls(pairs[0], pairs[1], np.bincount(place, weight, pairs.shape[1]).astype(np.float64)), place


@dataclasses.dataclass(frozen=True, eq=False)
class Prior:
    """A fitted prior.

    Attributes:
        a, b: of Beta(a, b).
        none: the share of units without a match.
        logit: of phi, the atom's share of these; -inf where there is no atom.
        scores: derivative of each pair's log likelihood in the free parameters [pairs, free].
        spread: inverse of the observed information, [free, free].
        free: which of log a, log b, logit are free, bool [3].
    """

    a: float
    b: float
    none: float
    logit: float
    scores: Float[np.ndarray, "pairs free"]
    spread: Float[np.ndarray, "free free"]
    free: np.ndarray

    @property
    def atom(self) -> float:
        """w, the share of units that nothing ever matches."""
        return self.none * _shares(self.logit)[0]

    def log_none(self, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log P(no match in k samples) of a unit, and its derivatives: [...] and [..., free].

        A unit without a match in n samples has none in k with probability P(none in k) / P(none in n).
        """
        theta = np.array([math.log(self.a), math.log(self.b), self.logit])
        value, slope = _log_none(theta, k, self.none)
        return value, slope[..., self.free]


def _sums(start: float, power: int, most: int) -> np.ndarray:
    """Sums over j < m of log(start + j) (power 0) or 1 / (start + j) (power 1), for m = 0..most."""
    terms = start + np.arange(most, dtype=np.float64)
    return np.concatenate([[0.0], np.cumsum(np.log(terms) if power == 0 else 1.0 / terms)])


def _shares(logit: float) -> tuple[float, float]:
    """Return phi and 1 - phi."""
    if logit == -math.inf:
        return 0.0, 1.0
    return 1.0 / (1.0 + math.exp(-logit)), 1.0 / (1.0 + math.exp(logit))


def _log_none(theta: np.ndarray, n: np.ndarray, none: float) -> tuple[np.ndarray, np.ndarray]:
    """Log of the chance that n samples match nothing, and its derivatives in theta: [...] and [..., 3]."""
    a, b, (phi, rest) = math.exp(theta[0]), math.exp(theta[1]), _shares(theta[2])
    w = none * phi
    most = int(n.max(initial=0))
    terms = np.log1p(-a / (a + b + np.arange(most, dtype=np.float64)))
    log_f = np.concatenate([[0.0], np.cumsum(terms)])[n]
    both, other = _sums(a + b, 1, most)[n], _sums(b, 1, most)[n]
    f = np.exp(log_f)
    total = w + (1.0 - w) * f
    share = (1.0 - w) * f / total if w > 0.0 else np.ones(f.shape)
    in_atom = w * rest * (1.0 - f) / total if w > 0.0 else np.zeros(f.shape)
    slope = np.stack([-share * a * both, share * b * (other - both), in_atom], axis=-1)
    return (np.log(total) if w > 0.0 else log_f), slope


def _likelihood(theta: np.ndarray, units: Units, none: float) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair's log likelihood (no binomial coefficient), and its derivatives [pairs, 3]."""
    n, c = units.n, units.c
    a, b, (phi, rest) = math.exp(theta[0]), math.exp(theta[1]), _shares(theta[2])
    w = none * phi
    most = int(n.max(initial=0))
    logs = [_sums(x, 0, most) for x in (a, b, a + b)]
    slopes = [_sums(x, 1, most) for x in (a, b, a + b)]
    value = math.log1p(-w) + logs[0][c] + logs[1][n - c] - logs[2][n]
    in_a, in_b = a * (slopes[0][c] - slopes[2][n]), b * (slopes[1][n - c] - slopes[2][n])
    slope = np.stack([in_a, in_b, np.full(len(n), -w * rest / (1.0 - w))], axis=1)
    at = c == 0
    value[at], slope[at] = _log_none(theta, n[at], none)
    return value, slope


@dataclasses.dataclass(frozen=True, eq=False)
class _Target:
    """What is climbed: the penalised log likelihood of the units in the first `free` parameters."""

    units: Units
    none: float
    free: int
    penalty: float

    def value(self, theta: np.ndarray) -> float:
        total = float(self.units.weight @ _likelihood(theta, self.units, self.none)[0])
        if self.free < 3:
            return total
        phi, rest = _shares(theta[2])
        return total + (self.penalty - 1.0) * (math.log(phi) + math.log(rest))

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        total = self.units.weight @ _likelihood(theta, self.units, self.none)[1]
        if self.free == 3:
            phi, rest = _shares(theta[2])
            total[2] += (self.penalty - 1.0) * (rest - phi)
        return total[: self.free]

    def information(self, theta: np.ndarray) -> np.ndarray:
        """Minus the Hessian, by central differences of the gradient."""
        rows = []
        for i in range(self.free):
            step = np.zeros(3)
            step[i] = _APART
            rows.append((self.gradient(theta - step) - self.gradient(theta + step)) / (2.0 * _APART))
        matrix = np.array(rows)
        return 0.5 * (matrix + matrix.T)


def fit_prior(units: Units, atom: bool, penalty: float = PENALTY) -> Prior:
    """Fit the prior to units by (penalised) maximum likelihood: damped Newton's steps from several starts.

    Where the likelihood rises without end (all units alike, none matched), a parameter stops at its limit
    and is no longer free. Where every unit was matched there is nothing for an atom.
    """
    none = float(units.weight[units.c == 0].sum() / units.weight.sum())
    plain = _Target(units, none, 2, penalty)
    best = _best(plain, [_start(units, size) for size in (0.5, 3.0, 30.0)])
    if not atom or none <= 0.0:
        return _prior(plain, best)
    target = _Target(units, none, 3, penalty)
    return _prior(target, _best(target, [np.array([*best[:2], logit]) for logit in (-1.5, 0.0, 1.5)]))


def _start(units: Units, size: float) -> np.ndarray:
    """Beta with the units' mean chance and a + b = size."""
    matched = float((units.weight * units.c).sum()) + 0.5
    mean = matched / (float((units.weight * units.n).sum()) + 1.0)
    return np.array([math.log(size * mean), math.log(size * (1.0 - mean)), -math.inf])


def _best(target: _Target, starts: list[np.ndarray]) -> np.ndarray:
    return max((_climb(target, start) for start in starts), key=target.value)


def _climb(target: _Target, start: np.ndarray) -> np.ndarray:
    """Climb by Newton's steps, damped where they fail (Levenberg, Marquardt)."""
    theta, free = start.copy(), target.free
    value, damping = target.value(theta), 1e-3
    for _ in range(MOST_STEPS):
        gradient, matrix = target.gradient(theta), target.information(theta)
        scale = np.maximum(np.abs(np.diag(matrix)), 1e-12 * float(target.units.weight.sum()))
        while True:
            trial = theta.copy()
            step = _solved(matrix + damping * np.diag(scale), gradient)
            trial[:free] = np.clip(theta[:free] + step, -_LIMIT, _LIMIT)
            better = target.value(trial)
            if better >= value or damping > 1e12:
                break
            damping *= 8.0
        moved, gained = float(np.abs(trial[:free] - theta[:free]).max()), better - value
        if gained >= 0.0:
            theta, value, damping = trial, better, max(damping / 8.0, 1e-12)
        if moved < 1e-7 or gained < 1e-12 * abs(value):
            break
    return theta


def _solved(matrix: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Solve for the step in the eigenbasis with curvatures made positive: it always climbs."""
    values, vectors = np.linalg.eigh(matrix)
    size = np.maximum(np.abs(values), 1e-9 * max(float(np.abs(values).max()), 1e-300))
    step = vectors @ ((vectors.T @ gradient) / size)
    return step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))


def _prior(target: _Target, theta: np.ndarray) -> Prior:
    free = np.abs(theta) < _LIMIT - 1e-6
    matrix = np.zeros((3, 3))
    matrix[: target.free, : target.free] = target.information(theta)
    kept = matrix[np.ix_(free, free)]
    return Prior(
        a=math.exp(theta[0]),
        b=math.exp(theta[1]),
        none=target.none,
        logit=float(theta[2]),
        scores=_likelihood(theta, target.units, target.none)[1][:, free],
        spread=np.linalg.pinv(kept, rcond=1e-10, hermitian=True) if free.any() else np.zeros((0, 0)),
        free=free,
    )


def thinned(units: Units, kept: np.ndarray) -> tuple[Units, np.ndarray]:
    """Return the units as they are expected to look through `kept` [pairs] of their samples, drawn at random.

    Weights become expected numbers of units: each pair spreads over the hypergeometric law of its matches.
    Returned beside them: each pair's chance to lose all its matches [pairs].
    """
    sizes, counts, weights, none = [], [], [], np.zeros(len(kept))
    for i, (n, c, m) in enumerate(zip(units.n, units.c, kept, strict=True)):
        law = marked_law(int(n), int(c), np.array([m]))[0]
        none[i] = law[0]
        left = np.flatnonzero(law)
        sizes.append(np.full(len(left), m))
        counts.append(left)
        weights.append(units.weight[i] * law[left])
    return Units.of(np.concatenate(sizes), np.concatenate(counts), np.concatenate(weights))[0], none
