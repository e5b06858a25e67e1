import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.routing.side_files import read_costs, read_pairs, read_routes
from coverjax.routing.teams import TeamFamily
from tests.routing_files import write_csv

FAMILY = TeamFamily.of_sizes("ab", [1, 2])


def test_costs_by_team_and_by_task(tmp_path):
    path = write_csv(tmp_path / "c.csv", ("team", "cost"), [("a", 1), ("b|a", 3)])
    np.testing.assert_array_equal(read_costs(path, FAMILY, ["x", "y"]), [[1, np.nan, 3]] * 2)
    path = write_csv(tmp_path / "c.csv", ("task", "team", "cost"), [("y", "a", 1), ("x", "a", 2)])
    np.testing.assert_array_equal(read_costs(path, FAMILY, ["x", "y"])[:, 0], [2, 1])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("x", "q", 1)], r"c\.csv:2: team: must be a team of the family"),
        ([("x", "a", 1), ("z", "a", 1)], r"c\.csv:3: task: must be a task of the study; got 'z'"),
        ([("x", "a", -1)], r"c\.csv:2: cost: must be at least 0; got -1"),
        ([("x", "a", 1), ("x", "a", 1)], r"c\.csv:3: team: must be given once; its cost stands twice"),
        ([("x", "a", "dear")], r"c\.csv:2: cost: must be a finite number; got 'dear'"),
    ],
)
def test_wrong_costs_are_refused_with_their_line(tmp_path, rows, message):
    path = write_csv(tmp_path / "c.csv", ("task", "team", "cost"), rows)
    with pytest.raises(InputError, match=message):
        read_costs(path, FAMILY, ["x", "y"])


def test_routes_and_the_place_of_their_rows(tmp_path):
    path = write_csv(tmp_path / "r.csv", ("task", "model"), [("x", "b"), ("y", "a")])
    found = read_routes(path, FAMILY)
    assert (found.tasks, found.routes.tolist()) == (("x", "y"), [1, 0])
    assert str(found.fault("y", "team", "no")) == f"{path}:3: model: no"


def test_optional_columns_are_none(tmp_path):
    path = write_csv(tmp_path / "t.csv", ("task",), [("x",), ("y",)])
    assert read_pairs(path, ("task", "family?")) == {"task": ["x", "y"], "family": [None, None]}
