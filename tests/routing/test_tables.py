"""Outcome tables from files: what is read, and what is refused with its line."""

import json

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.routing.assembling import read_outcomes
from coverjax.routing.regrets import best_constant, headroom_bounds, oracle_bounds, oracle_routes, regret_set
from coverjax.routing.tables import OutcomeTable
from coverjax.routing.teams import TeamFamily
from tests.routing_files import write_csv

FAMILY = TeamFamily.of_sizes(["a", "b"], [1, 2])


def read(tmp_path, text, name="o.csv", **options):
    path = tmp_path / name
    path.write_text(text)
    return read_outcomes(path, options.pop("family", FAMILY), **options)


def test_long_wide_jsonl_and_parquet_hold_the_same_table(tmp_path):
    import duckdb

    cells = {("t1", "a"): 0.5, ("t1", "a|b"): 1.0, ("t2", "b"): 0.0}
    long = write_csv(tmp_path / "long.csv", ("task", "team", "score"), [(*k, v) for k, v in cells.items()])
    wide = tmp_path / "wide.csv"
    wide.write_text("task,a,b,a|b,note\nt1,0.5,,1.0,x\nt2,,0,,y\n")
    lines = [{"task": t, "team": s.split("|"), "score": v} for (t, s), v in cells.items()]
    jsonl = tmp_path / "long.jsonl"
    jsonl.write_text("".join(json.dumps(line) + "\n" for line in lines))
    parquet = tmp_path / "long.parquet"
    duckdb.sql(f"COPY (SELECT * FROM read_csv('{long}')) TO '{parquet}' (FORMAT parquet)")
    wanted = [[0.5, np.nan, 1.0], [np.nan, 0.0, np.nan]]
    for path in (long, wide, jsonl, parquet):
        table = read_outcomes(path, FAMILY).table()
        np.testing.assert_array_equal(table.outcomes.scores, wanted)
        assert table.tasks.tolist() == ["t1", "t2"]


def test_members_in_any_order_and_names_of_teams(tmp_path):
    family = TeamFamily.of_teams(["a", "b", "c"], {"duo": ["b", "a"], "solo": ["c"]})
    table = read(tmp_path, "task,team,score\nx,b|a,1\ny,duo,0\nx,solo,0.5\n", family=family).table()
    np.testing.assert_array_equal(table.outcomes.scores, [[1.0, 0.5], [0.0, np.nan]])


def test_missing_is_never_zero(tmp_path):
    text = "task,team,score,status\nt1,a,,missing\nt1,b,,failed\nt1,a|b,1,ok\n"
    table = read(tmp_path, text, failed=0.25).table()
    np.testing.assert_array_equal(table.outcomes.scores, [[np.nan, 0.25, 1.0]])
    assert table.executed.tolist() == [[False, True, True]]
    assert table.failed.tolist() == [[False, True, False]]


def test_declared_tasks_without_rows_are_there_with_everything_missing(tmp_path):
    table = read(tmp_path, "task,team,score\nt1,a,1\n", tasks=["t0", "t1"]).table()
    assert table.executed.tolist() == [[False] * 3, [True, False, False]]
    lower, upper = regret_set(table.outcomes, np.array([0, 0]))
    assert (lower[0], upper[0]) == (0.0, 1.0)


def test_replicates_are_averaged_and_equal_rows_merged(tmp_path):
    text = "task,team,replicate,score,cost\nt,a,0,1,2\nt,a,1,0.5,4\nt,a,1,0.5,4\nt,b,0,1,1\n"
    found = read(tmp_path, text)
    table = found.table()
    assert table.outcomes.scores[0, :2].tolist() == [0.75, 1.0]
    assert table.costs[0, :2].tolist() == [3.0, 1.0]
    assert table.replicates[0].tolist() == [2, 1, 0]
    assert found.merged == 1


def test_stacks_and_endpoints_are_separate_tables(tmp_path):
    text = "task,team,score,stack,endpoint\nt,a,1,s1,verified\nt,a,0,s2,verified\nt,a,0.5,s1,raw\n"
    found = read(tmp_path, text)
    assert found.table("s1", "verified").outcomes.scores[0, 0] == 1.0
    assert found.table("s1", "raw").outcomes.scores[0, 0] == 0.5
    assert found.table("s2", "verified").outcomes.scores[0, 0] == 0.0
    with pytest.raises(InputError, match="the rows mix the downstream stacks s1, s2"):
        found.table(endpoint="verified")
    with pytest.raises(InputError, match="endpoint: the rows hold the endpoints verified, raw; name one"):
        found.table("s1")
    with pytest.raises(InputError, match="no rows for 's2'/'raw'"):
        found.table("s2", "raw")


def test_illegal_teams_count_for_nothing_and_are_counted(tmp_path):
    table = read(tmp_path, "task,team,score\nt,a,1\nt,b,0\n", only={"t": ["b"]}).table()
    assert table.executed.tolist() == [[False, True, False]]
    assert table.illegal_rows == 1


HEAD = "task,team,score\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (HEAD + "t,a,1\nt,b,1.5\n", {}, r"o\.csv:3: score: must lie in \[0, 1\]; got 1\.5"),
        (HEAD + "t,a,-0.1\n", {"low": 0.5}, r"o\.csv:2: score: must lie in \[0\.5, 1\]; got -0\.1"),
        (HEAD + "t,a,1\n\nt,z,1\n", {}, r"o\.csv:4: team: must be a team .*3 teams of 2 workers\); got 'z'"),
        (HEAD + "t,a,1\nt,a,0\n", {}, r":3: score: this row repeats .*:2\) and disagrees .* 1 and 0"),
        (HEAD + "t,a,\n", {}, r"o\.csv:2: score: must be a number, .* an empty score is never read as 0"),
        (HEAD + "t,a,no\n", {}, r"o\.csv:2: score: must be a finite number; got 'no'"),
        (HEAD + "t,a,1\nu,a,1\n", {"tasks": ["t"]}, r":3: task: must be one of the 1 declared .*'u'"),
        (HEAD + "t,,1\n", {}, r"o\.csv:2: team: must name a team; got an empty list"),
        ("task,team,score,status\nt,a,0,missing\n", {}, r":2: score: must be empty .*; got 0"),
        ("task,team,score,status\nt,a,1,failed\n", {}, r":2: status: this run failed: the contract must say"),
        ("task,team,score,status\nt,a,1,failed\n", {"failed": 0.0}, r":2: score: a failed run scores 0 "),
        ("task,team,score,status\nt,a,,failed\n", {"failed": "given"}, r":2: score: must be given for a"),
        ("task,team,score,status\nt,a,1,done\n", {}, r":2: status: must be one of ok, .*got 'done'"),
        ("task,team,score,cost\nt,a,1,-2\n", {}, r":2: cost: must be at least 0; got -2"),
        ("task,team,score,family\nt,a,1,f\nt,b,1,g\n", {}, r":3: family: must be the same .* 'f' and 'g'"),
        ("task,team,score,seal\nt,a,1,x\nt,a,1,y\n", {}, r":3: score: this row repeats another"),
        ("task,team,score,evidence\nt,a,1,x\nu,a,1,y\n", {}, r":3: evidence: kinds of evidence are"),
        ("task,team,score,stack\nt,a,1,s\nt,b,1,\n", {}, r":3: stack: must be .* on every row"),
        ("team,score\na,1\n", {}, r"o\.csv:1: task: missing column"),
        ("task,a,b\nt,1,2\n", {}, r"o\.csv:2: b: must lie in \[0, 1\]; got 2"),
        ("task,x\nt,1\n", {}, r"o\.csv: score: missing column, and no column of a team"),
    ],
)  # fmt: skip
def test_wrong_rows_are_refused_with_their_line(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text, **options)


def test_a_wide_table_may_have_costs_and_a_team_called_r(tmp_path):
    family = TeamFamily.of_sizes(["r", "s"], [1])
    table = read(tmp_path, "task,r,s,cost:r,cost:s\nt,1,0,2,3\nu,,1,9,1\n", family=family).table()
    np.testing.assert_array_equal(table.outcomes.scores, [[1.0, 0.0], [np.nan, 1.0]])
    np.testing.assert_array_equal(table.costs, [[2.0, 3.0], [np.nan, 1.0]])


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="family: must have the 3 teams of the scores; it has 2"):
        OutcomeTable.from_arrays(np.zeros((2, 3)), family=TeamFamily.of_sizes(["a", "b"], [1]))
    with pytest.raises(InputError, match=r"costs: must be \[tasks, teams\]"):
        OutcomeTable.from_arrays(np.zeros((2, 2)), costs=np.zeros(2))
    with pytest.raises(InputError, match="costs: must be finite and at least 0"):
        OutcomeTable.from_arrays(np.zeros((1, 2)), costs=[[-1.0, 0.0]])
    with pytest.raises(InputError, match="clusters: must give one label for each of the 2 tasks; got 1"):
        OutcomeTable.from_arrays(np.zeros((2, 2)), clusters=["x"])


def test_routes_by_name():
    table = OutcomeTable.from_arrays(np.zeros((2, 3)), family=FAMILY, tasks=["x", "y"])
    assert table.routes({"y": "b|a", "x": "b"}).tolist() == [1, 2]
    for chosen, message in (
        ({"x": "a"}, "lacks the tasks y"),
        ({"x": "a", "y": "a", "z": "a"}, "holds unknown tasks z"),
        ({"x": "a", "y": "q"}, "'q' of task 'y' is no team of the family"),
    ):
        with pytest.raises(InputError, match=message):
            table.routes(chosen)


@pytest.mark.shared
def test_routerbench_slice(shared_data, tmp_path):
    """365 tasks x 11 models; values beside the data."""
    import duckdb

    source = shared_data / "routing" / "routerbench_slice_365x11.csv"
    path = tmp_path / "slice.parquet"
    columns = "task, family, model, score, cost_usd AS cost"
    duckdb.sql(f"COPY (SELECT {columns} FROM read_csv('{source}')) TO '{path}' (FORMAT parquet)")
    table = read_outcomes(path).table()
    assert table.outcomes.scores.shape == (365, 11)
    assert table.outcomes.complete.all()
    best = best_constant(table.outcomes)
    assert table.family.names[best] == "gpt-4-1106-preview"
    means = dict(zip(table.family.names, table.outcomes.scores.mean(axis=0), strict=True))
    assert round(means["gpt-4-1106-preview"], 6) == 0.781507
    assert round(means["zero-one-ai/Yi-34B-Chat"], 6) == 0.684932
    assert table.costs[:, best].sum() == pytest.approx(1.310620, abs=5e-7)
    oracle = oracle_bounds(table.outcomes)[0].mean()
    assert round(oracle, 6) == 0.899315
    assert headroom_bounds(table.outcomes) == pytest.approx((oracle - means["gpt-4-1106-preview"],) * 2)
    from coverjax.routing.fronts import cheapest_oracle_cost

    assert cheapest_oracle_cost(table, solved_only=True) == pytest.approx(0.072503, abs=5e-7)
    assert cheapest_oracle_cost(table) == pytest.approx(0.073108, abs=5e-7)
    solved = table.outcomes.best > 0
    assert (~solved).sum() == 17
    theirs = dict(duckdb.sql(f"SELECT DISTINCT task, oracle_model FROM read_csv('{source}')").fetchall())
    ours = oracle_routes(table.outcomes, table.costs)
    for task, route, some in zip(table.tasks, ours, solved, strict=True):
        assert not some or table.family.names[route] == theirs[task]
    # Any score above 0 counted as solved would inflate the oracle.
    assert round(float(solved.mean()), 4) == 0.9534


@pytest.mark.shared
def test_routefoundry(shared_data):
    """38 prompts x 4 local models; values beside the data."""
    table = read_outcomes(shared_data / "routing" / "routefoundry_38x4.csv").table()
    scores = table.outcomes.scores
    assert sorted(scores.sum(axis=0).tolist(), reverse=True) == [27, 23, 19, 18]
    assert oracle_bounds(table.outcomes)[0].sum() == 36
    families = np.array(table.clusters.tolist())
    by_family = sum(scores[families == family].sum(axis=0).max() for family in set(families.tolist()))
    assert by_family == 33
    best = np.full(38, best_constant(table.outcomes))
    lower, upper = regret_set(table.outcomes, best)
    assert lower.sum() == upper.sum() == 9
