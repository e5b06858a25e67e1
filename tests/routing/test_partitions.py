import itertools
import math

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.routing import partitions
from tests import reference_routing as reference


@pytest.mark.parametrize(("workers", "size", "count"), [(6, 2, 15), (6, 3, 10), (9, 3, 280), (12, 3, 15_400)])
def test_decoding_equals_enumeration(rng, workers, size, count):
    splits = list(reference.partitions(range(workers), size))
    assert len(splits) == partitions.partition_count(workers, size) == count
    for _ in range(4):
        scores = rng.normal(size=(workers, workers))
        scores = scores + scores.T
        pairs = [[pair for team in split for pair in itertools.combinations(team, 2)] for split in splits]
        first, second = np.array(pairs).transpose(2, 0, 1)
        totals = scores[first, second].sum(axis=1)
        found = partitions.balanced_partition(scores, size)
        assert [tuple(team) for team in found.tolist()] == splits[int(totals.argmax())]


def test_whole_scores_tie_in_lexicographic_order():
    assert partitions.balanced_partition(np.zeros((6, 6)), 3).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_tasks_are_decoded_as_they_would_be_alone(rng):
    scores = rng.integers(-3, 4, size=(7, 9, 9)).astype(float)
    scores = scores + scores.swapaxes(1, 2)
    together = partitions.balanced_partition(scores, 3)
    assert together.shape == (7, 3, 3)
    for one, task in zip(scores, together, strict=True):
        assert np.array_equal(partitions.balanced_partition(one, 3), task)


def test_renaming_workers_renames_teams(rng):
    scores = rng.normal(size=(8, 8))
    scores = scores + scores.T
    order = rng.permutation(8)
    named = {
        frozenset(order[list(team)].tolist())
        for team in partitions.balanced_partition(scores[np.ix_(order, order)], 2)
    }
    assert named == {frozenset(team.tolist()) for team in partitions.balanced_partition(scores, 2)}


@pytest.mark.parametrize(("workers", "size"), [(4, 2), (6, 3), (8, 4), (5, 5), (3, 1)])
def test_every_partition_is_listed_once(workers, size):
    listed = partitions.all_partitions(workers, size)
    assert [[tuple(team) for team in split] for split in listed.tolist()] == list(
        reference.partitions(list(range(workers)), size)
    )
    teams = workers // size
    assert len(listed) == math.factorial(workers) // (math.factorial(size) ** teams * math.factorial(teams))


@pytest.mark.parametrize(
    ("scores", "size", "message"),
    [
        (np.zeros((4, 4)), 3, "must divide the number of workers; 4 workers in teams of 3 leave 1"),
        (np.zeros((4, 3)), 2, r"must be \[workers, workers\]"),
        (np.full((4, 4), np.nan), 2, "must be finite off the diagonal"),
        (np.triu(np.ones((4, 4)), 1), 2, "must be symmetric"),
        (np.zeros((4, 4)), 0, ">= 1; got 0"),
        (np.zeros((30, 30)), 3, "30 workers in teams of 3 are too many"),
    ],
)
def test_wrong_scores_are_refused(scores, size, message):
    with pytest.raises(InputError, match=message):
        partitions.balanced_partition(scores, size)


def test_the_diagonal_is_not_used():
    scores = np.ones((4, 4))
    scores[0, 0] = np.nan
    assert partitions.balanced_partition(scores, 2).tolist() == [[0, 1], [2, 3]]
