"""Workers split into equal teams: how many ways there are, and the best one by pair scores."""

import functools
import itertools
import math
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from coverjax.foundation.checks import InputError, whole_number

LARGEST_WORK = 1 << 22
"""The most (set of workers left, next team) pairs that are looked at; 12 workers in threes need 3,779."""

_BLOCK = 1 << 24


def partition_count(workers: int, team_size: int) -> int:
    """Return the number of ways to split workers into teams of equal size, n! / (t!^(n/t) (n/t)!).

    >>> partition_count(12, 3), partition_count(9, 3)
    (15400, 280)
    """
    _divides(workers, team_size)
    teams = workers // team_size
    return math.factorial(workers) // (math.factorial(team_size) ** teams * math.factorial(teams))


def balanced_partition(pair_scores: Any, team_size: int) -> Int[np.ndarray, "... teams size"]:
    """Find the split of all workers into teams of equal size with the largest total pair score.

    The score of a team is the sum of its pairs' scores, that of a split the sum over its teams. Exact, by a
    recursion over sets of workers left: the lowest worker left tries every completion to a team, O(2^n
    n^(t-1)) steps at most. Among equal splits the one whose teams come first in lexicographic order.

    Args:
        pair_scores: symmetric [workers, workers] (the diagonal is not used), or [tasks, workers, workers].
        team_size: workers a team; it must divide their number.

    Returns:
        Teams as sorted worker numbers [teams, size], by their lowest worker; [tasks, teams, size] for tasks.

    Raises:
        InputError: shapes, numbers that are not finite, scores that are not symmetric, a team size that does
            not divide, or too many workers for the exact recursion.

    >>> scores = np.array([[0, 1, 5, 1], [1, 0, 1, 5], [5, 1, 0, 1], [1, 5, 1, 0.0]])
    >>> balanced_partition(scores, 2).tolist()
    [[0, 2], [1, 3]]
    """
    scores = np.asarray(pair_scores, dtype=np.float64)
    if scores.ndim not in (2, 3) or scores.shape[-1] != scores.shape[-2]:
        raise InputError(
            f"pair_scores: must be [workers, workers] or [tasks, workers, workers]; got shape {scores.shape}"
        )
    workers = scores.shape[-1]
    _divides(workers, team_size)
    off = ~np.eye(workers, dtype=bool)
    if not np.isfinite(scores[..., off]).all():
        raise InputError("pair_scores: must be finite off the diagonal")
    if not np.array_equal(scores[..., off], np.swapaxes(scores, -1, -2)[..., off]):
        raise InputError("pair_scores: must be symmetric: a pair has one score; average the two directions")
    batch = scores.reshape(-1, workers, workers)
    found = _decoded(batch, workers, int(team_size))
    return found.reshape(*scores.shape[:-2], *found.shape[1:])


def _divides(workers: int, team_size: int) -> None:
    whole_number("team_size", team_size)
    whole_number("workers", workers)
    if workers % team_size:
        raise InputError(
            f"team_size: must divide the number of workers; {workers} workers in teams of {team_size} leave "
            f"{workers % int(team_size)}"
        )


def team_pair_scores(
    pair_scores: Float[np.ndarray, "tasks workers workers"], teams: Int[np.ndarray, "teams size"]
) -> Float[np.ndarray, "tasks teams"]:
    """Sum the scores of each team's pairs [tasks, teams]."""
    total = np.zeros((len(pair_scores), len(teams)))
    for a, b in itertools.combinations(range(teams.shape[1]), 2):
        total += pair_scores[:, teams[:, a], teams[:, b]]
    return total


@functools.lru_cache(maxsize=16)
def _layers(workers: int, size: int) -> tuple[np.ndarray, tuple[tuple[np.ndarray, np.ndarray], ...]]:
    """Return all teams [teams, size], and for each number of teams left (1, 2, ...) the recursion's steps.

    A step table has, for every set of workers that can be left then, its possible next teams (numbers in the
    list of teams), and for each the place of what is left after it in the layer below, both [sets, options].
    """
    teams = np.array(list(itertools.combinations(range(workers), size)), dtype=np.int64).reshape(-1, size)
    masks = (np.int64(1) << teams).sum(axis=1)
    number = {mask: i for i, mask in enumerate(masks.tolist())}
    left, work = [(1 << workers) - 1], 0
    tables = []
    for count in range(workers // size, 0, -1):
        work += len(left) * math.comb(count * size - 1, size - 1)
        if work > LARGEST_WORK:
            raise InputError(
                f"pair_scores: {workers} workers in teams of {size} are too many for the exact recursion "
                "(more "
                f"than {LARGEST_WORK:,} steps); use fewer workers or larger teams"
            )
        steps = [_options(mask, size) for mask in left]
        below = sorted({mask & ~team for mask, options in zip(left, steps, strict=True) for team in options})
        place = {mask: i for i, mask in enumerate(below)}
        chosen = np.array([[number[team] for team in options] for options in steps])
        rest = np.array(
            [[place[m & ~team] for team in options] for m, options in zip(left, steps, strict=True)]
        )
        tables.append((chosen, rest))
        left = below
        assert count > 1 or left == [0]
    return teams, tuple(reversed(tables))


def _options(mask: int, size: int) -> list[int]:
    """Teams of `size` workers of a set that hold its lowest worker, in lexicographic order."""
    members = [worker for worker in range(mask.bit_length()) if mask >> worker & 1]
    lowest = 1 << members[0]
    return [
        lowest + sum(1 << worker for worker in others)
        for others in itertools.combinations(members[1:], size - 1)
    ]


def _decoded(scores: np.ndarray, workers: int, size: int) -> np.ndarray:
    teams, layers = _layers(workers, size)
    widest = max(chosen.size for chosen, _ in layers)
    step = max(1, _BLOCK // (widest + len(teams)))
    parts = [
        _decode_block(scores[start : start + step], teams, layers) for start in range(0, len(scores), step)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, workers // size, size), np.int64)


def _decode_block(
    scores: np.ndarray, teams: np.ndarray, layers: tuple[tuple[np.ndarray, np.ndarray], ...]
) -> np.ndarray:
    """Fill the layers from the last team up, then read the best choices from the first one down."""
    tasks = np.arange(len(scores))
    worth = team_pair_scores(scores, teams)
    value = np.zeros((len(scores), 1))
    best = []
    for chosen, rest in layers:
        options = worth[:, chosen] + value[:, rest]
        choice = options.argmax(axis=2)
        best.append(choice)
        value = np.take_along_axis(options, choice[..., None], axis=2)[..., 0]
    place = np.zeros(len(scores), dtype=np.int64)
    found = []
    for (chosen, rest), choice in zip(reversed(layers), reversed(best), strict=True):
        option = choice[tasks, place]
        found.append(teams[chosen[place, option]])
        place = rest[place, option]
    return np.stack(found, axis=1)


def all_partitions(workers: int, team_size: int) -> Int[np.ndarray, "partitions teams size"]:
    """List every split of the workers into teams of equal size, in lexicographic order.

    >>> all_partitions(4, 2).tolist()
    [[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 3], [1, 2]]]
    """
    if partition_count(workers, team_size) > LARGEST_WORK:
        raise InputError(f"workers: {partition_count(workers, team_size):,} partitions are too many to list")

    def split(mask: int) -> list[list[list[int]]]:
        if mask == 0:
            return [[]]
        found = []
        for team in _options(mask, team_size):
            members = [worker for worker in range(workers) if team >> worker & 1]
            found += [[members, *others] for others in split(mask & ~team)]
        return found

    return np.array(split((1 << workers) - 1), dtype=np.int64)
