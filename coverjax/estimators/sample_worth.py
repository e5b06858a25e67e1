"""What k samples are worth, run by run: the kernels of `utility_curves`.

Exchangeable runs: averages over all k-subsets. Ordered runs: the first k samples.
"""

import dataclasses
import itertools

import numpy as np

from coverjax.estimators.avoidance import avoidance_sums
from coverjax.estimators.majority import majority_curve, majority_work
from coverjax.estimators.runs import matched
from coverjax.estimators.sample_orders import first_appearances
from coverjax.foundation.hypergeometric import marked_law
from coverjax.foundation.shares import need

LARGEST_SET = 12
"""The most labels of one match set whose subsets are summed over."""

_FORGOTTEN = 1e-18


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Runs with what their samples are worth.

    Attributes:
        matches: [runs, samples, labels], False beyond n.
        n: samples of each run [runs].
        correct, score: [runs, samples], 0 beyond n, or None.
        budgets: k [B], none above any n.
        ordered: whether only the observed order means anything.
        counted: number of correct samples of each run [runs], where the samples themselves are not there.
    """

    matches: np.ndarray
    n: np.ndarray
    correct: np.ndarray | None
    score: np.ndarray | None
    budgets: np.ndarray
    ordered: bool
    counted: np.ndarray | None = None

    @property
    def right(self) -> np.ndarray:
        """Number of correct samples of each run [runs], or of its first k [runs, B] where ordered."""
        if self.counted is not None:
            return self.counted
        assert self.correct is not None
        if not self.ordered:
            return self.correct.sum(axis=1).astype(np.int64)
        return np.cumsum(self.correct, axis=1)[:, self.budgets - 1]


def some_right(batch: Batch) -> np.ndarray:
    """P(at least one of k samples is correct) = 1 - C(n-c, k) / C(n, k), [runs, B]."""
    if batch.ordered:
        return (batch.right > 0).astype(np.float64)
    return avoidance_sums(batch.n, batch.right[:, None], None, batch.budgets, hit=True)


def all_right(batch: Batch) -> np.ndarray:
    """P(all of k samples are correct) = C(c, k) / C(n, k), [runs, B]."""
    if batch.ordered:
        return (batch.right == batch.budgets).astype(np.float64)
    return avoidance_sums(batch.n, (batch.n - batch.right)[:, None], None, batch.budgets)


def share_right(batch: Batch, tau: float) -> np.ndarray:
    """P(at least ceil(tau k) of k samples are correct), [runs, B]."""
    least = np.array([need(tau, k) for k in batch.budgets.tolist()])
    if batch.ordered:
        return (batch.right >= least).astype(np.float64)
    pairs, place = np.unique(np.stack([batch.n, batch.right], axis=1), axis=0, return_inverse=True)
    tails = np.empty((len(pairs), len(least)))
    for row, (n, c) in enumerate(pairs.tolist()):
        law = marked_law(n, c, batch.budgets)
        tails[row] = np.where(np.arange(law.shape[1]) >= least[:, None], law, 0.0).sum(axis=1)
    return tails[place.reshape(-1)]


def best_of(batch: Batch, worth: np.ndarray | None) -> np.ndarray:
    """Expected `worth` of the sample with the highest score among k, ties broken at random, [runs, B].

    With samples sorted by score, sum_i worth_(i) C(i-1, k-1) / C(n, k); samples that share a score share the
    mean of their worth.
    """
    assert batch.score is not None
    assert worth is not None
    if batch.ordered:
        return _best_so_far(batch, worth)
    inside = np.arange(batch.matches.shape[1]) < batch.n[:, None]
    score = np.where(inside, batch.score, np.inf)
    order = np.argsort(score, axis=1, kind="stable")
    ranked = np.take_along_axis(np.where(inside, worth, 0.0), order, axis=1)
    values = _mean_over_ties(np.take_along_axis(score, order, axis=1), ranked)
    above = np.clip(batch.n[:, None] - 1 - np.arange(ranked.shape[1]), 0, None)
    weights = np.where(inside, values, 0.0)
    return avoidance_sums(batch.n - 1, above, weights, batch.budgets - 1) * batch.budgets / batch.n[:, None]


def _mean_over_ties(score: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """Replace each worth by the mean over the samples of its row with the same score (sorted)."""
    starts = np.ones(score.shape, bool)
    starts[:, 1:] = score[:, 1:] != score[:, :-1]
    group = np.cumsum(starts.ravel()) - 1
    sums, sizes = np.bincount(group, worth.ravel()), np.bincount(group)
    return (sums / sizes)[group].reshape(score.shape)


def _best_so_far(batch: Batch, worth: np.ndarray) -> np.ndarray:
    assert batch.score is not None
    out = np.empty((len(batch.n), len(batch.budgets)))
    for place, k in enumerate(batch.budgets.tolist()):
        score = batch.score[:, :k]
        top: np.ndarray = np.asarray(score == score.max(axis=1, keepdims=True))
        out[:, place] = np.where(top, worth[:, :k], 0.0).sum(axis=1) / top.sum(axis=1)
    return out


def answers(batch: Batch) -> list[np.ndarray]:
    """Return the answer of each sample of each run: equal match sets are one answer, -1 for none."""
    found = []
    for matches, n in zip(batch.matches, batch.n.tolist(), strict=True):
        sets, codes = np.unique(matches[:n], axis=0, return_inverse=True)
        some, place = np.asarray(sets.any(axis=1)), codes.reshape(-1)
        found.append(np.where(some[place], place, -1))
    return found


def votes_work(batch: Batch) -> float:
    """Return about how many multiplications `majority` does."""
    if batch.ordered:
        return 0.0
    most = int(batch.budgets[-1])
    return sum(majority_work(np.bincount(codes[codes >= 0]), most) for codes in answers(batch))


def majority(batch: Batch) -> np.ndarray:
    """Expected correctness of the most frequent answer among k samples, [runs, B]."""
    assert batch.correct is not None
    out = np.empty((len(batch.n), len(batch.budgets)))
    for row, codes in enumerate(answers(batch)):
        right = batch.correct[row, : len(codes)].astype(np.float64)
        if batch.ordered:
            out[row] = [_vote(codes[:k], right[:k]) for k in batch.budgets.tolist()]
            continue
        sizes = np.bincount(codes[codes >= 0])
        given = sizes > 0
        share = np.bincount(codes[codes >= 0], right[codes >= 0])[given] / sizes[given]
        out[row] = majority_curve(sizes[given], share, len(codes), batch.budgets)
    return out


def _vote(codes: np.ndarray, right: np.ndarray) -> float:
    voting = codes >= 0
    if not voting.any():
        return 0.0
    sizes = np.bincount(codes[voting])
    share = np.bincount(codes[voting], right[voting]) / np.maximum(sizes, 1)
    return float(share[sizes == sizes.max()].mean())


def distinct_labels(batch: Batch) -> np.ndarray:
    """Expected number of distinct labels among k samples, declared or not, [runs, B]."""
    if batch.ordered:
        first = first_appearances(batch.matches)
        return (first[:, None, :] <= batch.budgets[:, None]).sum(axis=2).astype(np.float64)
    counts = matched(batch.matches)
    return avoidance_sums(batch.n, counts, counts > 0, batch.budgets, hit=True)


def patient_user(batch: Batch, patience: float) -> np.ndarray:
    """Utility of the first k samples to a user who loses patience, [runs, B]; see `patience_utility`.

    (1 - p) / (1 - p^k) x sum_{i<=k} p^(i-1) E[score_i; sample i brings a new label].
    """
    reach = int(min(batch.budgets[-1], np.ceil(np.log(_FORGOTTEN) / np.log(patience))))
    places = np.arange(1, reach + 1)
    gains = _observed_gains(batch, places) if batch.ordered else _expected_gains(batch, places)
    total = np.cumsum(gains * patience ** (places - 1.0), axis=1)
    at = np.minimum(batch.budgets, reach) - 1
    return total[:, at] * (1.0 - patience) / (1.0 - patience**batch.budgets)


def _observed_gains(batch: Batch, places: np.ndarray) -> np.ndarray:
    assert batch.score is not None
    first = first_appearances(batch.matches)
    new = (first[:, None, :] == places[:, None]).any(axis=2)
    return np.where(new, batch.score[:, : len(places)], 0.0)


def _expected_gains(batch: Batch, places: np.ndarray) -> np.ndarray:
    """E[score_i; sample i is new] over random orders, [runs, places].

    A sample with match set A is new at place i unless the i - 1 before it hit every label of A: inclusion and
    exclusion over the subsets B of A, u_B samples of the run hitting B.
    """
    assert batch.score is not None
    rows = [_gain_terms(batch.matches[row], batch.score[row], int(n)) for row, n in enumerate(batch.n)]
    width = max((len(avoided) for avoided, _ in rows), default=0)
    avoided = np.zeros((len(rows), max(1, width)), np.int64)
    weights = np.zeros(avoided.shape)
    for row, (u, w) in enumerate(rows):
        avoided[row, : len(u)], weights[row, : len(w)] = u, w
    return avoidance_sums(batch.n - 1, avoided, weights, places - 1) / batch.n[:, None]


def _gain_terms(matches: np.ndarray, score: np.ndarray, n: int) -> tuple[list[int], list[float]]:
    """Return u_B - 1 and +- the scores of the samples with match set A, for each A and each B inside it."""
    sets, codes = np.unique(matches[:n], axis=0, return_inverse=True)
    totals = np.bincount(codes.reshape(-1), score[:n])
    sizes = np.bincount(codes.reshape(-1))
    avoided, weights = [], []
    for held, total in zip(sets, totals.tolist(), strict=True):
        labels = np.flatnonzero(held).tolist()
        for size in range(1, len(labels) + 1):
            for subset in itertools.combinations(labels, size):
                hit = sets[:, list(subset)].any(axis=1)
                avoided.append(int(sizes[hit].sum()) - 1)
                weights.append(total if size % 2 else -total)
    return avoided, weights
