"""Where a gain comes from: strategies that are common or rare under the baseline, without judging twice.

Whether a strategy is rare, and what the baseline covers of it, are both estimated from the baseline's
samples. On the same samples a strategy that luck left out looks rare AND badly covered, and any method seems
to gain on rare strategies, the baseline itself in a second run included. So some samples say what is rare,
the others what is covered, averaged over all ways to divide them.
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from coverjax.estimators.count_statistics import auc_of_counts
from coverjax.estimators.runs import Runs, average_by_row
from coverjax.estimators.sample_orders import first_appearances
from coverjax.foundation.checks import InputError, shown
from coverjax.foundation.hypergeometric import marked_law
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog


@dataclasses.dataclass(frozen=True, eq=False)
class RarityShares:
    """What the baseline's samples say of each strategy.

    Attributes:
        budget: K, to which AUCs go: at most half of the samples where they are divided.
        rare: chance over the divisions that the strategy is called rare [inputs, labels].
        auc_rare: its AUC(K) under the baseline times whether it is called rare, mean over the divisions.
        auc: its AUC(K) under the baseline.
    """

    budget: int
    rare: Float[np.ndarray, "inputs labels"]
    auc_rare: Float[np.ndarray, "inputs labels"]
    auc: Float[np.ndarray, "inputs labels"]


def split_budget(log: SampleLog | CountTable, budget: int) -> int:
    """Return the largest budget up to `budget` that leaves half of all samples to say what is rare."""
    if getattr(log, "ordered", False):
        return budget
    return min(budget, log.smallest_n // 2)


def rarity_shares(
    log: SampleLog | CountTable, budget: int, coverage: str, rare_below: float = 1.0
) -> RarityShares:
    """Divide the baseline's samples in all ways: how often is a strategy rare, and how well covered then.

    A strategy is rare where it is expected fewer than `rare_below` times among K draws: c of m samples match
    it and c K / m < rare_below. *Exchangeable* trials: n - K samples say that and the K others give the AUC;
    c is hypergeometric, so the mean over all divisions is a sum over it. *Ordered* trials: the other trials
    of the input say what is rare.

    Raises:
        InputError: `rare_below` is not positive; or there are too few samples or trials to divide.
    """
    if not rare_below > 0.0:
        raise InputError(f"rare_below: must be a positive number of expected draws; got {shown(rare_below)}")
    if getattr(log, "ordered", False):
        assert isinstance(log, SampleLog)
        return _by_trials(log, budget, coverage, rare_below)
    most = split_budget(log, budget)
    if most < 1:
        raise InputError("gain split: needs two samples of every input at least, one to say what is rare")
    if isinstance(log, CountTable):
        short = log.n < 2 * most
        counts, n, row = log.kept(coverage)[~short], log.n[~short], np.flatnonzero(~short)
        parts = _divided(n, counts, most, rare_below)
        return RarityShares(most, *(average_by_row(values, row, log.inputs) for values in parts))
    keep = ((log.n >= 2 * most) | (log.n == 0)).all(axis=1) & (log.n > 0).any(axis=1)
    runs = Runs.of(log, coverage, keep)
    return RarityShares(most, *(runs.average(v) for v in _divided(runs.n, runs.counts, most, rare_below)))


def _divided(
    n: Int[np.ndarray, " runs"], counts: Int[np.ndarray, "runs labels"], budget: int, rare_below: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over all divisions of each run: called rare, AUC where called rare, AUC; each [runs, labels]."""
    out = tuple(np.empty(counts.shape) for _ in range(3))
    for size in np.unique(n):
        rows = np.flatnonzero(n == size)
        looked = int(size) - budget
        kinds, place = np.unique(counts[rows], return_inverse=True)
        left = auc_of_counts(np.array([budget]), np.arange(budget + 1)[None], budget)[0]
        table = np.array([_one_count(int(size), int(c), looked, budget, rare_below, left) for c in kinds])
        for values, column in zip(out, table.T, strict=True):
            values[rows] = column[place].reshape(len(rows), -1)
    return out  # type: ignore[return-value]


def _one_count(
    n: int, c: int, looked: int, budget: int, rare_below: float, left: np.ndarray
) -> tuple[float, float, float]:
    law = marked_law(n, c, np.array([looked]))[0]
    seen = np.arange(len(law))
    rest = np.clip(c - seen, 0, budget)
    rare = seen * budget < rare_below * looked
    return float(law[rare].sum()), float((law * left[rest])[rare].sum()), float(law @ left[rest])


def _by_trials(log: SampleLog, budget: int, coverage: str, rare_below: float) -> RarityShares:
    """The other trials of an input say what is rare; the running union of this one gives the AUC."""
    trials = (log.n > 0).sum(axis=1)
    if (trials < 2).any():
        name = log.ids[int(np.argmax(trials < 2))]
        raise InputError(
            "gain split: the order of the samples means something, so other trials must say what is rare; "
            f"the input {shown(name)} has one trial"
        )
    keep = ((log.n >= budget) | (log.n == 0)).all(axis=1)
    runs = Runs.of(log, coverage, keep)
    total, samples = log.kept(coverage).sum(axis=(1, 2)), log.n.sum(axis=1)
    others = total[runs.row] - runs.counts
    looked = (samples[runs.row] - runs.n)[:, None]
    rare = (others * budget < rare_below * looked).astype(np.float64)
    auc = (budget + 1.0 - first_appearances(runs.matches)).clip(0.0, None) / budget
    return RarityShares(budget, *(runs.average(values) for values in (rare, rare * auc, auc)))
