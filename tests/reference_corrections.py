"""Brute force for corrections: other algorithms than the library's, in plain Python, without it."""

import itertools
from fractions import Fraction


def redistributed(times, followed, k):
    """P(T > k) by Efron's redistribution to the right: who leaves hands its weight to all later ones."""
    ends = [(end if time is None else time, time is None) for time, end in zip(times, followed, strict=True)]
    # At the same k, what happens comes before what leaves: the one that leaves was still looked at there.
    order = sorted(range(len(ends)), key=lambda i: ends[i])
    weight = [Fraction(1, len(ends))] * len(ends)
    for place, i in enumerate(order):
        later = order[place + 1 :]
        if ends[i][1] and later:
            for j in later:
                weight[j] += weight[i] / len(later)
            weight[i] = Fraction(0)
    return 1 - sum(weight[i] for i, (end, left) in enumerate(ends) if not left and end <= k)


def expected_hits(corrections, forgetting, loss, slip, distractors):
    """Mean and variance of the number of remembered corrections after each, by every history of one trace.

    Each trace is a chain of yes-or-no events: stored, kept at each later turn, said. All of them are walked.
    """
    means, variances = [], []
    for k in range(corrections + 1):
        chances = []
        for j in range(1, k + 1):
            turns = (k - j) * (1 + distractors)
            events = [1 - loss, *[1 - forgetting] * turns, 1 - slip]
            total = Fraction(0)
            for history in itertools.product((True, False), repeat=len(events)):
                probability = Fraction(1)
                for good, chance in zip(history, events, strict=True):
                    probability *= chance if good else 1 - chance
                total += probability if all(history) else 0
            chances.append(total)
        means.append(sum(chances, Fraction(0)))
        variances.append(sum((p * (1 - p) for p in chances), Fraction(0)))
    return means, variances
