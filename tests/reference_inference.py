"""Brute force for intervals, gains and times, in plain Python. Imports nothing of coverjax."""

import itertools
import math
from fractions import Fraction


def mean_and_variance_of_mean(values, clusters=None):
    """Mean over units and the squared cluster-robust standard error of it, as exact fractions."""
    values = [Fraction(v) for v in values]
    clusters = list(range(len(values))) if clusters is None else list(clusters)
    mean = sum(values) / len(values)
    groups = {}
    for value, cluster in zip(values, clusters, strict=True):
        groups[cluster] = groups.get(cluster, 0) + value - mean
    count = len(groups)
    square = sum(score * score for score in groups.values()) / len(values) ** 2
    return mean, Fraction(count, count - 1) * square


def resampled_means(groups):
    """The law of the mean over whole groups drawn with replacement, {mean: probability}."""
    law = {}
    for drawn in itertools.product(groups, repeat=len(groups)):
        flat = [Fraction(v) for group in drawn for v in group]
        mean = sum(flat) / len(flat)
        law[mean] = law.get(mean, 0) + Fraction(1, len(groups) ** len(groups))
    return law


def quantile(law, level):
    """Smallest value whose cumulative probability is above `level`."""
    total = Fraction(0)
    for value in sorted(law):
        total += law[value]
        if total > level:
            return value
    raise AssertionError


def first_time(run, declared, need):
    """First draw after which `need` declared strategies are covered, None if never."""
    seen = set()
    for k, matched in enumerate(run, start=1):
        seen |= matched & declared
        if len(seen) >= need:
            return k
    return None


def time_summary(runs, declared, need, budget):
    """Restricted mean, median (None if not reached) and censored share over equally likely runs."""
    times = [first_time(run[:budget], declared, need) for run in runs]
    mean = Fraction(sum(budget if t is None else t for t in times), len(times))
    median = next(
        (k for k in range(1, budget + 1) if 2 * sum(t is not None and t <= k for t in times) >= len(times)),
        None,
    )
    return mean, median, Fraction(sum(t is None for t in times), len(times))


def count_law(runs, declared, k):
    """Law of the number of covered strategies after k draws, over equally likely runs."""
    counts = [len(set().union(*run[:k]) & declared) for run in runs]
    return [counts.count(m) / len(counts) for m in range(len(declared) + 1)]


def ratio_of_means(gained, room):
    """Ratio of two paired means and its linearised standard error."""
    count = len(gained)
    ratio = sum(gained) / sum(room)
    rest = [g - ratio * r for g, r in zip(gained, room, strict=True)]
    return ratio, math.sqrt(sum(e * e for e in rest) / (count * (count - 1))) / (sum(room) / count)
