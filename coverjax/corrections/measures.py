"""What is read off one curve: hits h(0), ..., h(n) after k = 0..n corrections, M the number expected.

The state after k corrections is a snapshot, not a union: it may fall. So there are two crossings. The first
is the least k that is good enough, the sustained one the least k from which on every snapshot is.
"""

from collections.abc import Sequence


def first_crossing(hits: Sequence[int], need: int) -> int | None:
    """Return the least k with h(k) >= need; None where there is none.

    >>> first_crossing([0, 1, 3, 2, 3], 3)
    2
    """
    return next((k for k, hit in enumerate(hits) if hit >= need), None)


def sustained_crossing(hits: Sequence[int], need: int) -> int | None:
    """Return the least k with h(j) >= need for every j from k to n; None where h(n) < need.

    >>> sustained_crossing([0, 1, 3, 2, 3], 3)
    4
    """
    below = [k for k, hit in enumerate(hits) if hit < need]
    start = below[-1] + 1 if below else 0
    return start if start < len(hits) else None


def drops(hits: Sequence[int]) -> dict[int, int]:
    """Return the snapshots that are worse than the one before: k -> h(k-1) - h(k) > 0."""
    return {k: hits[k - 1] - hits[k] for k in range(1, len(hits)) if hits[k] < hits[k - 1]}


def largest_drop(hits: Sequence[int]) -> int:
    """Return how far the curve ever falls below its highest value so far: max_k max_{j<=k} h(j) - h(k)."""
    highest, most = 0, 0
    for hit in hits:
        highest = max(highest, hit)
        most = max(most, highest - hit)
    return most


def area(hits: Sequence[int], expected: int) -> float:
    """Return the mean of h(k) / M over k = 1..n, a fraction: the plain mean that AUC is for coverage.

    k = 0 is left out: nothing was taught there.
    """
    return sum(hits[1:]) / (expected * (len(hits) - 1))
