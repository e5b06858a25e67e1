"""`coverjax route` from files to files."""

import csv
import hashlib
import json
import subprocess
import sys

import pytest

from coverjax.cli.main import main
from tests import routing_files as files


@pytest.fixture
def study(tmp_path, capsys):
    """A sealed study with complete outcomes that carry its seal."""
    path = files.write_study(tmp_path)
    assert main(["route", "seal", str(path)]) == 0
    digest = json.loads((tmp_path / "study.seal.json").read_text())["seal"]
    files.write_outcomes(tmp_path / "outcomes.csv", digest)
    capsys.readouterr()
    return tmp_path


def run(capsys, *argv):
    """Run the command; return its exit code, stdout and stderr."""
    code = main(["route", *map(str, argv)])
    return code, *capsys.readouterr()


def wrong(capsys, *argv):
    """Run a command whose input is wrong; return the one line that it says."""
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_seal_prints_the_hash_that_rows_must_carry(tmp_path, capsys):
    path = files.write_study(tmp_path)
    code, out, err = run(capsys, "seal", path)
    assert code == 0
    digest = json.loads((tmp_path / "study.seal.json").read_text())["seal"]
    assert out.startswith(f"seal {digest}\n")
    assert "insider (privileged)" in out
    assert err == f"{tmp_path}/study.seal.json: wrote the seal\n"
    code, out, _ = run(capsys, "seal", path, "--json")
    assert json.loads(out)["seal"] == digest


def test_evaluate_writes_what_it_says(study, capsys):
    out = study / "report"
    code, text, err = run(capsys, "evaluate", study / "study.toml", study / "outcomes.csv", "--out", out)
    assert code == 0
    figures = {
        f"{stem}.{end}"
        for stem in ("regret", "headroom", "execution", "cost-quality")
        for end in ("png", "svg")
    }
    assert {path.name for path in out.iterdir()} == {
        "report.html",
        "routers.csv",
        "summary.json",
        "tasks.csv",
    } | figures
    assert err.startswith(f"{out}: wrote report.html, routers.csv, summary.json, tasks.csv, regret.png")
    assert "insider [privileged]" in text
    assert max(map(len, text.splitlines())) <= 80
    with (out / "routers.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert [row["router"] for row in rows] == ["frozen", "insider [privileged]"]
    assert [row["sealed"] for row in rows] == ["true", "true"]
    with (out / "tasks.csv").open() as handle:
        tasks = list(csv.DictReader(handle))
    assert len(tasks) == 20
    mean = sum(float(row["regret_low"]) for row in tasks[:10]) / 10
    assert mean == pytest.approx(float(rows[0]["regret_low"]))


def test_json_is_the_summary_and_holds_hashes(study, capsys):
    argv = ["evaluate", study / "study.toml", study / "outcomes.csv"]
    code, out, err = run(capsys, *argv, "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["command"].split()[:3] == ["coverjax", "route", "evaluate"]
    digest = hashlib.sha256((study / "outcomes.csv").read_bytes()).hexdigest()
    assert digest in {facts["sha256"] for facts in document["files"]}
    assert {facts["path"].rsplit("/", 1)[-1] for facts in document["files"]} == {
        "study.toml", "frozen.csv", "insider.csv", "outcomes.csv", "study.seal.json"
    }  # fmt: skip
    assert document["seed"] == 0
    run(capsys, *argv, "--out", study / "again")
    assert (study / "again" / "summary.json").read_text() == out


def test_the_same_input_gives_the_same_bytes(study, capsys):
    argv = ["evaluate", study / "study.toml", study / "outcomes.csv", "--out"]
    run(capsys, *argv, study / "one")
    run(capsys, *argv, study / "two")
    for path in sorted((study / "one").iterdir()):
        assert path.read_bytes() == (study / "two" / path.name).read_bytes(), path.name


def test_labels_stand_in_every_output(study, capsys):
    """A later change makes a router retrospective in text, JSON, tables and figures."""
    (study / "frozen.csv").write_text((study / "frozen.csv").read_text().replace("t0,a\n", "t0,b\n"))
    out = study / "late"
    _, text, _ = run(capsys, "evaluate", study / "study.toml", study / "outcomes.csv", "--out", out)
    assert "frozen [retrospective]" in text
    assert "order unverified" in " ".join(text.split())
    for name in ("summary.json", "routers.csv", "tasks.csv"):
        assert "frozen [retrospective]" in (out / name).read_text()


def test_two_endpoints_side_by_side(study, capsys):
    text = (study / "study.toml").read_text().replace("failed = 0.0", 'failed = 0.0\nendpoint = "verified"')
    (study / "study.toml").write_text(text)
    head, *rows = (study / "outcomes.csv").read_text().splitlines()
    both = [f"{head},endpoint"] + [f"{row},{name}" for row in rows for name in ("raw", "verified")]
    (study / "outcomes.csv").write_text("\n".join(both) + "\n")
    _, out, _ = run(capsys, "evaluate", study / "study.toml", study / "outcomes.csv")
    assert "endpoint verified (decides)" in out
    assert "endpoint raw (beside it)" in out


def test_plan_says_what_each_plan_can_tell(study, capsys):
    code, out, _ = run(capsys, "plan", study / "study.toml", "--out", study / "plan")
    assert code == 0
    for words in (
        "contrast:",
        "value:",
        "complete: 60 rows",
        "removing any one row leaves some contrast a set",
    ):
        assert words in " ".join(out.split())
    document = json.loads((study / "plan" / "plan.json").read_text())
    with (study / "plan" / "contrast.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == document["plans"]["contrast"]["rows"]
    assert {row["seal"] for row in rows} == {document["seal"]}
    assert {row["stack"] for row in rows} == {"stack-1"}


def test_a_filled_in_plan_is_an_outcome_file(study, capsys):
    """The runner adds a score to the value plan's rows: values become points, regret stays a set."""
    run(capsys, "plan", study / "study.toml", "--out", study / "plan")
    head, *rows = (study / "plan" / "value.csv").read_text().splitlines()
    (study / "filled.csv").write_text("\n".join([f"{head},score", *(f"{row},0.5" for row in rows)]) + "\n")
    _, out, _ = run(capsys, "evaluate", study / "study.toml", study / "filled.csv", "--json")
    document = json.loads(out)
    router = document["endpoints"]["score"]["routers"][0]
    assert router["value"]["kind"] == "point"
    assert router["absolute_regret"]["kind"] == "interval"
    assert document["routers"]["frozen"]["sealed"] is True
    assert document["warnings"][0].startswith("the contract promises complete coverage")


def test_plan_after_partial_execution_with_costs_and_a_cap(study, capsys):
    digest = json.loads((study / "study.seal.json").read_text())["seal"]
    drop = {(i, team) for i in range(10) for team in ("a|b", "b|c")}
    files.write_outcomes(study / "part.csv", digest, drop=drop)
    files.write_csv(study / "costs.csv", ("team", "cost"), [(t, 1 + t.count("|")) for t in files.TEAMS])
    argv = ["plan", study / "study.toml", "--outcomes", study / "part.csv", "--costs", study / "costs.csv"]
    _, out, _ = run(capsys, *argv, "--cap", "8", "--out", study / "plan")
    assert "complete: 60 rows, 90 cost; 20 left, 40 cost" in out
    assert "Next rows by width" in " ".join(out.split())
    with (study / "plan" / "complete.csv").open() as handle:
        assert len(list(csv.DictReader(handle))) == 4
    with (study / "plan" / "next.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert {row["team"] for row in rows} <= {"a|b", "b|c"}
    assert 1 <= len(rows) <= 4


def test_sampled_coverage_draws_the_same_rows_for_plan_and_evaluation(study, capsys):
    text = (study / "study.toml").read_text()
    text = text.replace(
        "[inference]",
        '[coverage]\nkind = "sampled"\nsize = 2\ncohort = 3\nseed = 5\nalways = false\n\n[inference]',
    )
    (study / "study.toml").write_text(text)
    run(capsys, "plan", study / "study.toml", "--out", study / "plan")
    with (study / "plan" / "sample.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 3 * 6 + 7 * 2
    assert {row["probability"] for row in rows if row["cohort"] == "true"} == {"1.0"}
    drawn = [
        (r["task"], r["team"], files.score(int(r["task"][1:]), files.TEAMS.index(r["team"]))) for r in rows
    ]
    files.write_csv(study / "drawn.csv", ("task", "team", "score"), drawn)
    _, out, _ = run(capsys, "evaluate", study / "study.toml", study / "drawn.csv", "--json")
    found = json.loads(out)["endpoints"]["score"]
    assert found["calibrated_oracle"]["cohort"] == 3
    assert found["routers"][0]["design"]["rows"] >= 3
    _, out, _ = run(capsys, "evaluate", study / "study.toml", study / "drawn.csv")
    assert "oracle from the sample: best of 2" in out
    assert "Horvitz-Thompson" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["evalute"], "coverjax route: 'evalute' is no verb of route; the verbs are seal, plan, evaluate"),
        (["evaluate", "{}/study.toml"], "needs at least one OUTCOMES file"),
        (["evaluate", "{}/none.toml", "{}/outcomes.csv"], "none.toml: can't be read: No such file"),
        (["evaluate", "{}/study.toml", "{}/none.csv"], "none.csv: no such file"),
        (
            ["evaluate", "{}/study.toml", "{}/outcomes.csv", "--seal", "{}/none.json"],
            "none.json: can't be read",
        ),
        (["plan", "{}/study.toml", "--costs", "{}/frozen.csv"], "frozen.csv:1: cost: missing column"),
        (["seal"], "coverjax route seal"),
    ],
)
def test_wrong_commands_are_one_line(study, capsys, argv, message):
    assert message in wrong(capsys, *(word.format(study) for word in argv))


def test_wrong_rows_are_one_line_and_write_nothing(study, capsys):
    text = (study / "outcomes.csv").read_text().replace("t2,b,", "t2,q,")
    (study / "outcomes.csv").write_text(text)
    line = wrong(capsys, "evaluate", study / "study.toml", study / "outcomes.csv", "--out", study / "report")
    assert "outcomes.csv:15: team: must be a team of the family" in line
    assert not (study / "report").exists()


def test_a_study_without_routers_is_refused(study, capsys):
    text = (study / "study.toml").read_text().split("[[routers]]")[0]
    (study / "study.toml").write_text(text)
    assert "routers: must name at least one router" in wrong(capsys, "seal", study / "study.toml")


@pytest.mark.parametrize("argv", [["--help"], ["seal", "--help"], ["plan", "--help"], ["evaluate", "--help"]])
def test_help(argv):
    out = subprocess.run(
        [sys.executable, "-m", "coverjax", "route", *argv], capture_output=True, text=True, check=True
    )
    assert "coverjax route" in out.stdout
