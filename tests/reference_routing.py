"""Brute force for routing, in plain Python: every completion of a table, every subset, every sample.

Imports nothing of coverjax. A row is a list of scores by team, None where it was not executed.
"""

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

Row = Sequence["float | None"]


def completions(row: Row, values: Sequence[float]) -> Iterator[list[float]]:
    """Yield the row with every combination of values in its missing cells."""
    gaps = [i for i, score in enumerate(row) if score is None]
    for filling in itertools.product(values, repeat=len(gaps)):
        full = list(row)
        for place, value in zip(gaps, filling, strict=True):
            full[place] = value
        yield full


def regret(full: Sequence[float], legal: Sequence[bool], route: int) -> float:
    """The best legal score minus the routed one."""
    return max(score for score, allowed in zip(full, legal, strict=True) if allowed) - full[route]


def extremes(row: Row, values: Sequence[float], quantity) -> tuple[float, float]:
    """The least and the largest of a quantity over all completions."""
    found = [quantity(full) for full in completions(row, values)]
    return min(found), max(found)


def best_of(scores: Sequence[Fraction], k: int) -> Fraction:
    """Mean over all k-subsets of their largest score."""
    subsets = list(itertools.combinations(scores, k))
    return sum((max(subset) for subset in subsets), Fraction(0)) / len(subsets)


def contrasts_known(routes: Sequence[Sequence[int]], executed: Sequence[set[int]]) -> bool:
    """Whether every contrast between routers is a point on every task."""
    for task, done in enumerate(executed):
        chosen = [route[task] for route in routes]
        for a, b in itertools.combinations(chosen, 2):
            if a != b and not {a, b} <= done:
                return False
    return True


def independent_draws(probabilities: Sequence[float]) -> Iterator[tuple[tuple[bool, ...], float]]:
    """Every outcome of independent draws, with its probability."""
    for drawn in itertools.product((False, True), repeat=len(probabilities)):
        chance = 1.0
        for hit, p in zip(drawn, probabilities, strict=True):
            chance *= p if hit else 1.0 - p
        if chance > 0.0:
            yield drawn, chance


def fixed_size_draws(pool: Sequence[int], size: int, teams: int) -> Iterator[tuple[tuple[bool, ...], float]]:
    """Every draw of `size` of the pool without replacement, with its probability."""
    subsets = list(itertools.combinations(pool, size))
    for subset in subsets:
        yield tuple(team in subset for team in range(teams)), 1.0 / len(subsets)


def partitions(workers: Sequence[int], size: int) -> Iterator[list[tuple[int, ...]]]:
    """Every split of the workers into teams of equal size."""
    if not workers:
        yield []
        return
    first, *rest = workers
    for others in itertools.combinations(rest, size - 1):
        left = [worker for worker in rest if worker not in others]
        for split in partitions(left, size):
            yield [(first, *others), *split]


def ternary_law(wins: int, losses: int, ties: int) -> dict[int, Fraction]:
    """The bootstrap law of wins - losses by repeated addition, in exact fractions."""
    total = wins + losses + ties
    shares = {1: Fraction(wins, total), -1: Fraction(losses, total), 0: Fraction(ties, total)}
    law = {0: Fraction(1)}
    for _ in range(total):
        added: dict[int, Fraction] = {}
        for value, chance in law.items():
            for step, share in shares.items():
                added[value + step] = added.get(value + step, Fraction(0)) + chance * share
        law = added
    return law
