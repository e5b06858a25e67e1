import itertools
import math

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.routing.teams import TeamFamily


def test_all_teams_of_a_size_are_there_once():
    family = TeamFamily.of_sizes([f"w{i}" for i in range(12)], [3])
    assert family.teams == math.comb(12, 3) == 220
    members = [tuple(np.flatnonzero(row)) for row in family.membership]
    assert members == list(itertools.combinations(range(12), 3))
    assert (family.sizes == 3).all()


def test_singles_pairs_and_all():
    family = TeamFamily.of_sizes("abcde", [1, 2, "all"])
    assert family.teams == 16
    assert family.sizes.tolist() == [1] * 5 + [2] * 10 + [5]
    assert family.names[-1] == "a|b|c|d|e"
    assert TeamFamily.of_sizes("ab", [1, 2, "all"]).names == ("a", "b", "a|b")


def test_teams_are_found_by_name_or_members():
    family = TeamFamily.of_teams("abc", {"pair": ["b", "a"], "solo": ["c"]})
    assert [family.index(x) for x in ("pair", "a|b", "b | a", ["b", "a"], "solo", "c")] == [0, 0, 0, 0, 1, 1]
    assert [family.index(x) for x in ("a", "b|c", "z", "a|a", "")] == [None] * 5


def test_62_workers_fit_a_mask():
    family = TeamFamily.of_sizes([f"w{i}" for i in range(62)], [1, "all"])
    assert family.masks[-1] == 2**62 - 1
    assert family.sizes[-1] == 62


def test_legality_by_list_and_by_absent_workers():
    family = TeamFamily.of_sizes("abc", [1, 2])
    legal = family.legal(["x", "y", "z"], only={"x": ["a", "b|c"]}, unavailable={"y": ["c"]})
    assert [np.array(family.names)[row].tolist() for row in legal] == [
        ["a", "b|c"],
        ["a", "b", "a|b"],
        list(family.names),
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TeamFamily.of_sizes([], [1]), "workers: must be one or more different names"),
        (lambda: TeamFamily.of_sizes(["a", "a"], [1]), "workers: must be one or more different names"),
        (lambda: TeamFamily.of_sizes(["a|b"], [1]), r"none with '\|' in it"),
        (lambda: TeamFamily.of_sizes("ab", [3]), "a size must be a whole number from 1 to 2, or all; got 3"),
        (lambda: TeamFamily.of_sizes("ab", [True]), "got True"),
        (lambda: TeamFamily.of_sizes([f"w{i}" for i in range(60)], [30]), "teams: more than"),
        (lambda: TeamFamily.of_sizes([f"w{i}" for i in range(63)], [1]), "workers: at most 62; got 63"),
        (lambda: TeamFamily.of_teams("ab", [["a", "c"]]), "each must list one or more different workers"),
        (lambda: TeamFamily.of_teams("ab", [["a"], ["a"]]), "at least one team and none twice"),
        (lambda: TeamFamily.of_sizes("ab", [1]).legal(["x"], only={"y": ["a"]}), "only: 'y' is unknown"),
        (
            lambda: TeamFamily.of_sizes("ab", [1]).legal(["x"], only={"x": ["q"]}),
            "'q' of task 'x' is no team",
        ),
        (lambda: TeamFamily.of_sizes("ab", [1]).legal(["x"], unavailable={"x": "ab"}), "'x' has none"),
    ],
)
def test_wrong_families_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
