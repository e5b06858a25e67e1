"""Published contrasts rebuilt from their 2 x 2 tables, and a stand-in of the published 14 x 16 study."""

import json

import numpy as np
import pytest

from coverjax.cli.main import main
from coverjax.routing.evaluation import evaluate_table
from coverjax.routing.tables import OutcomeTable
from coverjax.routing.teams import TeamFamily
from tests.routing_files import write_csv, write_routes


def from_counts(both, only_a, only_b, neither):
    """300 tasks x 4 teams: A takes team 0, B team 1, team 2 is always right, team 3 never."""
    a = np.repeat([1.0, 1.0, 0.0, 0.0], [both, only_a, only_b, neither])
    b = np.repeat([1.0, 0.0, 1.0, 0.0], [both, only_a, only_b, neither])
    scores = np.stack([a, b, np.ones_like(a), np.zeros_like(a)], axis=1)
    routes = {"A": np.zeros(len(a), np.int64), "B": np.ones(len(a), np.int64)}
    return evaluate_table(OutcomeTable.from_arrays(scores), routes)


@pytest.mark.parametrize(
    ("counts", "gain", "ends"),
    [
        ((199, 68, 7, 26), 0.2033, (0.1533, 0.2567)),
        ((182, 63, 6, 49), 0.190, (0.140, 0.240)),
        ((200, 5, 2, 93), 0.010, (-0.0067, 0.0267)),
    ],
)
def test_published_contrasts(counts, gain, ends):
    found = from_counts(*counts)
    pair = found.contrasts[0]
    assert pair.counts == (counts[1], counts[2], counts[0] + counts[3])
    assert pair.difference.kind == "point"
    assert round(pair.difference.low, 4) == gain
    assert tuple(round(end / 300, 4) for end in pair.exact) == ends
    # 10,000 drawn replicates come within one count of the exact law.
    assert (pair.difference.limit_low, pair.difference.limit_high) == pytest.approx(ends, abs=1.01 / 300)


def test_published_regrets():
    found = from_counts(199, 68, 7, 26)
    assert [round(router.regret.low, 4) for router in found.routers] == [0.11, 0.3133]
    assert all(router.regret.kind == "point" for router in found.routers)
    assert found.oracle.low == 1.0


ORACLE = [768 + d for d in (40, -40, 25, -25, 60, -60, 10, -10, 90, -90, 5, -5, 33, -33)]
FROZEN = [0, 0, 0, 0, 120, 150, 210, 95, 305, 160, 254, 240, 180, 120]
LATE = [0, 88, 130, 240, 0, 70, 160, 110, 290, 60, 0, 214, 105, 115]
"""In thousandths: the oracle's score on each task, and how far the frozen and the later router are below
it."""


@pytest.fixture
def stand_in(tmp_path):
    """14 tasks of 5 families; 5 singles, 10 pairs, all: 224 rows, all valid."""
    family = TeamFamily.of_sizes([f"w{i}" for i in range(5)], [1, 2, "all"])
    rng = np.random.default_rng(0)
    assert (sum(ORACLE), sum(FROZEN), sum(LATE)) == (10_752, 1_834, 1_582)
    rows, frozen, late = [], {}, {}
    for task in range(14):
        first = task % 5
        other = 15 if task < 12 else 5 + task % 10
        best = 5 + (task + 5) % 10
        scores = ORACLE[task] - rng.integers(300, 600, size=16)
        scores[best] = ORACLE[task]
        scores[first] = ORACLE[task] - FROZEN[task]
        scores[other] = ORACLE[task] - LATE[task]
        frozen[f"t{task}"], late[f"t{task}"] = family.names[first], family.names[other]
        rows += [
            (f"t{task}", name, s / 1000, f"f{task % 5}") for name, s in zip(family.names, scores, strict=True)
        ]
    write_routes(tmp_path / "frozen.csv", frozen)
    write_routes(tmp_path / "late.csv", late)
    (tmp_path / "study.toml").write_text("""\
name = "stand-in"
[actions]
workers = ["w0", "w1", "w2", "w3", "w4"]
teams = [1, 2, "all"]
[stack]
id = "frozen-stack"
[inference]
criterion = 0.10
[evidence]
kind = "controlled_table"
[[routers]]
name = "frozen"
file = "frozen.csv"
[[routers]]
name = "later"
file = "late.csv"
role = "retrospective"
""")
    assert main(["route", "seal", str(tmp_path / "study.toml")]) == 0
    seal = json.loads((tmp_path / "study.seal.json").read_text())["seal"]
    header = ("task", "team", "score", "family", "stack", "seal")
    write_csv(tmp_path / "outcomes.csv", header, [(*row, "frozen-stack", seal) for row in rows])
    return tmp_path


def test_the_14_by_16_study(stand_in, capsys):
    capsys.readouterr()
    assert (
        main(["route", "evaluate", str(stand_in / "study.toml"), str(stand_in / "outcomes.csv"), "--json"])
        == 0
    )
    document = json.loads(capsys.readouterr().out)
    found = document["endpoints"]["score"]
    assert (found["tasks"], found["teams"], found["legal_rows"], found["executed_rows"]) == (14, 16, 224, 224)
    assert round(found["oracle"]["low"], 3) == 0.768
    frozen, later = found["routers"]
    assert frozen["router"] == "frozen"
    assert round(frozen["value"]["low"], 3) == 0.637
    assert round(frozen["absolute_regret"]["low"], 3) == 0.131
    assert frozen["absolute_regret"]["kind"] == "point"
    assert frozen["absolute_regret"]["meaning"] == "stack-internal, not deployment utility"
    assert frozen["criterion"] == "failed"
    assert later["router"] == "later [retrospective]"
    assert round(later["value"]["low"], 3) == 0.655
    assert round(later["team_size"], 2) == 4.57
    assert document["routers"]["frozen"]["sealed"] is True


def test_the_14_by_16_report(stand_in, capsys):
    capsys.readouterr()
    assert main(["route", "evaluate", str(stand_in / "study.toml"), str(stand_in / "outcomes.csv")]) == 0
    report = capsys.readouterr().out
    words = " ".join(report.split())
    assert "14 tasks x 16 teams, 224 of 224 legal rows executed" in words
    assert "criterion regret <= 0.1: failed" in words
    assert "later [retrospective]" in words
    assert "frozen-stack: stack-internal, not deployment utility." in words
    assert max(map(len, report.splitlines())) <= 80
