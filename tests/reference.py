"""Brute force in plain Python, the rung below everything else. Imports nothing of coverjax.

A run is a list of sets (the match sets of its samples, in order); `declared` is the set of declared
strategies. Fractions are exact.
"""

from fractions import Fraction
from itertools import combinations, permutations


def subset_statistics(run, declared, k):
    """Averages over all k-subsets of the samples: distinct, full, count law, and the variance of distinct."""
    counts = [len(set().union(*chosen) & declared) for chosen in combinations(run, k)]
    total = len(counts)
    mean = Fraction(sum(counts), total)
    square = Fraction(sum(c * c for c in counts), total)
    law = [Fraction(sum(c == m for c in counts), total) for m in range(len(declared) + 1)]
    return {
        "distinct": mean,
        "full_coverage": Fraction(sum(c == len(declared) for c in counts), total),
        "count_law": law,
        "variance": square - mean * mean,
    }


def novelty(run, declared, k):
    """Averages over all ordered choices of k samples: whether, and how many, new ones the last brings."""
    new = [
        len((run[last] & declared) - set().union(*(run[i] for i in before)))
        for last in range(len(run))
        for before in combinations([i for i in range(len(run)) if i != last], k - 1)
    ]
    return Fraction(sum(c > 0 for c in new), len(new)), Fraction(sum(new), len(new))


def undeclared(run, declared, k):
    """Average number of distinct labels outside the declared set in a k-subset."""
    counts = [len(set().union(*chosen) - declared) for chosen in combinations(run, k)]
    return Fraction(sum(counts), len(counts))


def ordered(run, declared, k):
    """The observed order: distinct after k samples, and what sample k brought."""
    before = set().union(*run[: k - 1]) & declared
    after = before | (run[k - 1] & declared)
    return {
        "distinct": len(after),
        "full_coverage": int(len(after) == len(declared)),
        "novelty_any": int(after != before),
        "novelty_count": len(after) - len(before),
    }


def expected_over_laws(atoms, n, statistic):
    """Expectation of a statistic of n independent samples of a law given as [(probability, set)], exactly."""
    total = Fraction(0)
    stack = [((), Fraction(1))]
    while stack:
        run, weight = stack.pop()
        if len(run) == n:
            total += weight * statistic(list(run))
        else:
            stack.extend(((*run, match), weight * p) for p, match in atoms)
    return total


def first_coverage_orders(run, declared, needed):
    """Distribution over all orders of T, the first k with `needed` strategies: {k: share}, None = never."""
    law: dict = {}
    orders = list(permutations(run))
    for order in orders:
        seen: set = set()
        when = None
        for k, match in enumerate(order, start=1):
            seen |= match & declared
            if len(seen) >= needed:
                when = k
                break
        law[when] = law.get(when, Fraction(0)) + Fraction(1, len(orders))
    return law
