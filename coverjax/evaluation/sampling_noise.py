"""How much an input's estimated AUC varies because its samples are few."""

import dataclasses
import functools
import math

import numpy as np
from jaxtyping import Float, Int

from coverjax.estimators.count_statistics import auc_of_counts
from coverjax.evaluation.against import Log
from coverjax.foundation.rng import stream_number
from coverjax.logs.counts import CountTable

DRAWS = 200
"""Simulated pairs of logs of an input: its variance is then known to about 10 %."""

STRENGTHS = np.geomspace(0.05, 500.0, 41)
"""Strengths of the prior that are tried, in samples."""


@dataclasses.dataclass(frozen=True, eq=False)
class Outcomes:
    """The match sets that an input's samples may have, and how often each was seen.

    Attributes:
        sets: declared strategies of each, whole numbers [outcomes, strategies].
        counts: samples that had it [outcomes].
        name: of the input, which names its random stream.
        trials: number of samples of each trial.
    """

    sets: Int[np.ndarray, "outcomes strategies"]
    counts: Float[np.ndarray, " outcomes"]
    name: object
    trials: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class AreaNoise:
    """Variance of the estimated AUC(K) of an input given its law, mean over the inputs of one method.

    An input's law is not known: the few samples that were seen never show what they missed, and a law fitted
    to them alone has too little noise. So its law is drawn from a Dirichlet posterior: counts of the match
    sets seen, plus a prior of equal weights over these, the empty set and each declared strategy alone, whose
    strength is the one most likely over all inputs. Two logs drawn from one such law differ by twice the
    variance. Approximate; tests/evaluation/test_planning.py holds it to simulated studies. A number of
    samples of an input is simulated once, however often it is asked for.
    """

    inputs: tuple[Outcomes, ...]
    strength: float
    budget: int
    seed: int
    _known: dict[tuple[int, int], float] = dataclasses.field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls, log: Log, rows: Int[np.ndarray, " inputs"], budget: int, coverage: str, seed: int
    ) -> "AreaNoise":
        """Look at some rows of an exchangeable log of one method."""
        inputs = tuple(_outcomes(log, row, coverage) for row in rows.tolist())
        return cls(inputs, prior_strength(inputs), budget, seed)

    def own(self) -> float:
        """With the samples and trials that each input has."""
        shares = [
            sum(self._one(place, n) for n in one.trials) / len(one.trials) ** 2
            for place, one in enumerate(self.inputs)
        ]
        return float(np.mean(shares))

    def at(self, samples: int) -> float:
        """With so many samples in one trial."""
        return float(np.mean([self._one(place, samples) for place in range(len(self.inputs))]))

    def _one(self, place: int, samples: int) -> float:
        if (place, samples) not in self._known:
            self._known[place, samples] = self._simulated(self.inputs[place], samples)
        return self._known[place, samples]

    def _simulated(self, one: Outcomes, samples: int) -> float:
        rng = np.random.Generator(np.random.Philox([self.seed, stream_number(one.name), samples]))
        weights = rng.standard_gamma(
            one.counts + self.strength / len(one.counts), size=(DRAWS, len(one.counts))
        )
        laws = weights / weights.sum(axis=1, keepdims=True)
        area = _areas(samples, self.budget)
        first, second = (area[rng.multinomial(samples, laws) @ one.sets].mean(axis=1) for _ in range(2))
        return float(0.5 * np.mean((first - second) ** 2))


@functools.lru_cache(maxsize=16)
def _areas(samples: int, budget: int) -> Float[np.ndarray, " counts"]:
    """AUC(K) of a strategy by how many of the samples match it, 0..n."""
    return auc_of_counts(np.array([samples]), np.arange(samples + 1)[None], budget)[0]


def _outcomes(log: Log, row: int, coverage: str) -> Outcomes:
    if isinstance(log, CountTable):
        right, n = int(log.kept(coverage)[row, 0]), int(log.n[row])
        return Outcomes(np.array([[1], [0]]), np.array([right, n - right], float), log.ids[row], (n,))
    held = log.kept(coverage)[row][log.inside[row]][:, log.declared[row]]
    count = held.shape[1]
    alone = np.concatenate([np.zeros((1, count), bool), np.eye(count, dtype=bool)])
    sets, place = np.unique(np.concatenate([alone, held]), axis=0, return_inverse=True)
    counts = np.bincount(place.reshape(-1)[len(alone) :], minlength=len(sets)).astype(np.float64)
    trials = tuple(n for n in log.n[row].tolist() if n)
    return Outcomes(sets.astype(np.int64), counts, log.ids[row], trials)


def prior_strength(inputs: tuple[Outcomes, ...]) -> float:
    """Return the total weight of the prior, of those tried, that makes the counts of all inputs most likely.

    The law of counts whose probabilities are Dirichlet with equal weights A / R for R outcomes:
    log P = lgamma(A) - lgamma(A + n) + sum_o lgamma(c_o + A / R) - lgamma(A / R), up to a constant.
    """
    best, most = float(STRENGTHS[0]), -math.inf
    for strength in STRENGTHS.tolist():
        total = 0.0
        for one in inputs:
            share, n = strength / len(one.counts), float(one.counts.sum())
            seen = one.counts[one.counts > 0].tolist()
            total += math.lgamma(strength) - math.lgamma(strength + n) - len(seen) * math.lgamma(share)
            total += sum(math.lgamma(c + share) for c in seen)
        if total > most:
            best, most = strength, total
    return best
