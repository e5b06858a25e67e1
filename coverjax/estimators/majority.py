"""Majority votes of k samples, averaged over all k-subsets of a run."""

import numpy as np
from jaxtyping import Float, Int

from coverjax.foundation.hypergeometric import marked_law


def majority_work(sizes: Int[np.ndarray, " answers"], most: int) -> float:
    """Return about how many multiplications `majority_curve` does for one run."""
    work = 0.0
    for votes in range(1, min(most, int(sizes.max(initial=0))) + 1):
        rivals = int((sizes >= votes).sum())
        work += 2.0 * rivals * votes * (most + 1) * (min(rivals, most // votes) + 1)
    return work


def majority_curve(
    sizes: Int[np.ndarray, " answers"],
    right: Float[np.ndarray, " answers"],
    n: int,
    budgets: Int[np.ndarray, " budgets"],
) -> Float[np.ndarray, " budgets"]:
    """Return the expected correctness of the most frequent answer among k samples, [B].

    The answer with most votes wins, ties are broken at random, samples without an answer do not vote, and
    where nobody votes nothing is right. For each number j of votes that wins, answers with fewer samples than
    j can't interfere and are one free pool; the others join it one by one. A uniform k-subset of the
    samples so far holds i of the newcomer's with a hypergeometric probability, so everything is a product of
    probabilities: nothing overflows and nothing cancels. Exact; for its cost see `majority_work`.

    Args:
        sizes: samples that give each answer, >= 1.
        right: the share of these that is correct.
        n: samples of the run; those that give no answer are n - sum(sizes).
        budgets: k, at most n.
    """
    most = int(budgets[-1])
    drawn = np.arange(most + 1)
    value = np.zeros(most + 1)
    for votes in range(1, min(most, int(sizes.max(initial=0))) + 1):
        rivals = np.flatnonzero(sizes >= votes)
        value += _winning(votes, sizes[rivals], right[rivals], n - int(sizes[rivals].sum()), drawn)
    return value[budgets]


def _winning(votes: int, sizes: np.ndarray, right: np.ndarray, pool: int, drawn: np.ndarray) -> np.ndarray:
    """Sum over the ways to win with exactly `votes`, by number drawn: probability x correctness."""
    most = len(drawn) - 1
    ties = min(len(sizes), most // votes)
    # state[x, t]: x drawn of the samples so far, t answers stand at `votes` and none above: the chance of
    # it, and the same times the sum of these answers' correctness.
    state = np.zeros((most + 1, ties + 1, 2))
    state[: pool + 1, 0, 0] = 1.0
    total = pool
    for size, share in zip(sizes.tolist(), right.tolist(), strict=True):
        total += size
        law = _marked(total, size, votes, most)
        joined = np.zeros_like(state)
        for i in range(votes):
            joined[i:] += law[i:, i, None, None] * state[: most + 1 - i]
        at = law[votes:, votes, None, None] * state[: most + 1 - votes, :-1]
        joined[votes:, 1:] += at
        joined[votes:, 1:, 1] += share * at[..., 0]
        state = joined
    return state[:, 1:, 1] @ (1.0 / np.arange(1, ties + 1))


def _marked(total: int, size: int, votes: int, most: int) -> np.ndarray:
    """P(i of x drawn of `total` are among `size` marked ones), i = 0..votes <= size; 0 where x > total."""
    law = np.zeros((most + 1, votes + 1))
    found = marked_law(total, size, np.arange(min(total, most) + 1))[:, : votes + 1]
    law[: len(found), : found.shape[1]] = found
    return law
