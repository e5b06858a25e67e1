"""Averages over k-subsets of a run that need only counts: how many samples match a label, or two of them."""

import numpy as np

from coverjax.estimators.avoidance import avoidance_sums, each_hit
from coverjax.foundation.shapes import blocks

PAIRS = 4_096
"""The most strategies seen on an input for which the subset deviation (all pairs) is computed."""

_PAIR_NUMBERS = 1 << 23

_ROUNDING = 2.0**-50
"""A variance is a difference of two sums: so small a part of them is rounding, and taken for 0."""

_TERMS = 30
"""Terms of a series whose terms fall by more than a factor of six each."""


def count_curves(
    n: np.ndarray, counts: np.ndarray, declared: np.ndarray, budgets: np.ndarray, names: frozenset[str]
) -> dict[str, np.ndarray]:
    """Return `distinct` and those of undeclared, novelty_count, strategy_auc that are in `names`.

    Args:
        n: samples of each run [runs].
        counts: samples that match a label [runs, labels].
        declared: which labels are declared strategies [runs, labels].
        budgets: k [B], none above any n.
        names: the curves asked for.
    """
    seen = declared & (counts > 0)
    fields = {"distinct": _distinct(n, counts, seen, budgets)}
    if "undeclared" in names:
        fields["undeclared"] = _distinct(n, counts, ~declared & (counts > 0), budgets)
    if "novelty_count" in names:
        fields["novelty_count"] = novelty_count(n, counts, seen, budgets)
    if "strategy_auc" in names:
        fields["strategy_auc"] = auc_of_counts(n, counts, int(budgets[-1]))
        fields["strategy_probability"] = counts / n[:, None]
    return fields


def _distinct(n: np.ndarray, counts: np.ndarray, seen: np.ndarray, budgets: np.ndarray) -> np.ndarray:
    """Expected number of the labels in `seen` among k samples [runs, B]."""
    return avoidance_sums(n, counts, seen, budgets, hit=True)


def novelty_count(n: np.ndarray, counts: np.ndarray, seen: np.ndarray, budgets: np.ndarray) -> np.ndarray:
    """Expected number of labels new in sample i: sum_s C(n-c_s,i-1)/C(n,i-1) c_s/(n-i+1), [runs, B].

    A difference of two values of `distinct` would lose the relative accuracy of a small novelty.
    """
    return avoidance_sums(n, counts, counts * seen, budgets - 1) / (n[:, None] - budgets + 1)


def auc_of_counts(n: np.ndarray, counts: np.ndarray, most: int) -> np.ndarray:
    """Mean over k = 1..K of the chance that k samples hold a label [runs, labels].

    The sum telescopes: with h the chance at K, sum_{k=1}^{K} = [c K - (n - c - K) h] / (c + 1). Where c K is
    well below n that is a small difference of large terms; there the alternating series over the number j
    of matches, sum_j (-1)^{j+1} C(c,j) (K+1)_{j+1} / [(j+1) (n)_j] with falling factorials, keeps all digits.
    """
    size, c = n[:, None].astype(np.float64), counts.astype(np.float64)
    hit = each_hit(n, counts, most)
    closed = (c * most - (size - c - most) * hit) / (c + 1.0)
    term = c * (most + 1.0) * most / (2.0 * size)
    total = term.copy()
    small = c * most < 0.5 * size
    for j in range(1, _TERMS):
        ratio = (c - j) * (most - j) / ((j + 2.0) * np.maximum(size - j, 1.0))
        term = np.where(small & (c > j) & (most > j), -term * ratio, 0.0)
        total += term
    return np.where(small, total, closed) / most


def subset_deviation(
    n: np.ndarray, matches: np.ndarray, declared: np.ndarray, budgets: np.ndarray
) -> np.ndarray | None:
    """Return the exact standard deviation over k-subsets of the number of strategies [runs, B].

    Var|S_k| = sum_{s,t} [w(u_st) - w(c_s) w(c_t)], with u_st = c_s + c_t - c_st samples that match s or t and
    w(u) = C(n-u,k)/C(n,k): one Gram matrix. It is 0 at k = n. (The formula usual in ecology leaves out the
    covariances, and is up to a third too small on real data.) None when an input has more than 4,096
    strategies that were seen.
    """
    seen = declared & matches.any(axis=1)
    width = int(seen.sum(axis=1).max(initial=0))
    if width > PAIRS:
        return None
    if width == 0:
        return np.zeros((len(n), len(budgets)))
    first = np.argsort(~seen, axis=1, kind="stable")[:, :width]
    parts = [
        _deviation(
            n[part],
            np.take_along_axis(matches[part], first[part, None, :], axis=2),
            np.take_along_axis(seen[part], first[part], axis=1),
            budgets,
        )
        for part in blocks(len(n), _PAIR_NUMBERS // (width * width))
    ]
    return np.concatenate(parts) if parts else np.zeros((0, len(budgets)))


def _deviation(n: np.ndarray, matches: np.ndarray, seen: np.ndarray, budgets: np.ndarray) -> np.ndarray:
    heavy = (matches & seen[:, None, :]).astype(np.float32)
    # float32 products of flags are whole numbers and exact up to 2^24 samples.
    together = np.rint(heavy.swapaxes(1, 2) @ heavy).astype(np.int64)
    counts = np.diagonal(together, axis1=1, axis2=2)
    either = counts[:, :, None] + counts[:, None, :] - together
    both = seen[:, :, None] & seen[:, None, :]
    pairs = avoidance_sums(n, either.reshape(len(n), -1), both.reshape(len(n), -1), budgets)
    singles = avoidance_sums(n, counts, seen, budgets)
    variance = pairs - singles**2
    return np.sqrt(np.where(variance > _ROUNDING * singles**2, variance, 0.0))
