"""`coverjax compare` from files to files."""

import csv
import json

import numpy as np
import pytest
from sample_logs import EVIL

import coverjax as cj
from coverjax.cli.main import main

OUTPUTS = {"report.html", "curves.csv", "gains.csv", "strategies.csv", "summary.json"} | {
    f"{stem}.{suffix}" for stem in ("coverage", "gain", "coverage-correctness") for suffix in ("png", "svg")
}


def methods_log(shares=(0.15, 0.35, 0.15), names=("iid", "new", "other"), inputs=12, **options):
    rng = np.random.default_rng(3)
    matches = np.concatenate([rng.random((inputs, 8, 4)) < share for share in shares])
    count = inputs * len(shares)
    return cj.SampleLog.from_arrays(
        matches,
        declared=[True, True, True, False],
        ids=[f"p{i}" for i in range(inputs)] * len(shares),
        method=[name for name in names[: len(shares)] for _ in range(inputs)],
        correct=rng.random((count, 8)) < 0.3,
        **options,
    )


@pytest.fixture
def written(tmp_path):
    def write(log, name="log.jsonl"):
        cj.write_log(log, tmp_path / name)
        cj.write_declared(log, tmp_path / "declared.csv")
        return [str(tmp_path / name), "--declared", str(tmp_path / "declared.csv"), "--baseline", "iid"]

    return write


def run(capsys, *argv):
    code = main(["compare", *argv])
    return code, *capsys.readouterr()


def test_a_report(written, tmp_path, capsys):
    argv = written(methods_log(labeler="human"))
    before = set(tmp_path.iterdir())
    code, out, err = run(capsys, *argv)
    assert (code, err) == (0, "")
    assert set(tmp_path.iterdir()) == before
    assert all(len(line) <= 80 for line in out.splitlines())
    found = cj.compare_to_baseline(cj.read_log(argv[0], declared=argv[2]), "iid").methods["new"]
    row = next(line for line in out.splitlines() if line.startswith("new  "))
    pooled = found.pooled
    assert f"{pooled.mean[0]:.3f} [{pooled.low[0]:.3f}, {pooled.high[0]:.3f}]" in row
    assert row.endswith("< 0.001")
    for told in (
        "where the gain at K = 4 comes from",
        "labeler      human",
        "new - iid: +",
        "who finds what: of 36 declared strategies",
        "does covering more buy more solved problems?",
        "inputs needed to see a gain of 0.1 with power 80 % at K = 8",
        "numbers for more samples than this log has rest on a model",
        "kinds        iid: C(8) raw",
    ):
        assert told in out, told


def test_outputs(written, tmp_path, capsys):
    argv = written(methods_log())
    out = tmp_path / "out"
    code, text, err = run(capsys, *argv, "--out", str(out), "--json", "--level", "0.9")
    assert code == 0
    assert err.startswith(
        f"{out}: wrote report.html, curves.csv, gains.csv, strategies.csv, summary.json, coverage.png"
    )
    assert {path.name for path in out.iterdir()} == OUTPUTS
    assert text == (out / "summary.json").read_text()
    told = json.loads(text)
    assert told["command"] == f"coverjax compare {argv[0]} --baseline iid --declared {argv[2]} --level 0.9"
    assert (told["seed"], told["budget"], told["baseline"]["method"]) == (0, 8, "iid")
    assert [facts["path"] for facts in told["files"]] == [argv[0], argv[2]]
    found = cj.compare_to_baseline(cj.read_log(argv[0], declared=argv[2]), "iid", level=0.9)
    for method in told["methods"]:
        own = found.methods[method["method"]]
        assert method["gain"]["mean"] == own.pooled.mean[0]
        assert method["p_holm"] == own.p_holm
        assert method["split"]["common"]["low"] == own.split.common.low[0]
        assert method["plan"]["rows"][0]["samples"] == 8
        np.testing.assert_allclose(method["difference"]["band_low"], own.comparison.band[0], rtol=1e-12)
    assert set(told["guardrails"]) == {"iid", "new", "other"}
    with open(out / "gains.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["gain"]) for row in rows[:12]] == pytest.approx(found.methods["new"].gain.values)
    with open(out / "strategies.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 36
    assert {row["found_by"] for row in rows} <= {"", "iid", "new", "other"} | {
        "|".join(names)
        for names in (("iid", "new"), ("iid", "other"), ("new", "other"), ("iid", "new", "other"))
    }
    with open(out / "curves.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows[::8]] == ["iid", "new", "other", "oracle"]


def test_the_same_bytes_twice(written, tmp_path, capsys):
    argv = written(methods_log(inputs=4))
    for name in ("a", "b"):
        assert run(capsys, *argv, "--out", str(tmp_path / name))[0] == 0
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_phantoms_are_warned_of(written, tmp_path, capsys):
    argv = written(methods_log((0.15, 0.2)))
    (tmp_path / "few.csv").write_text("strategy,false_positive\n0,0.0\n1,0.0\n2,0.0\n")
    (tmp_path / "many.csv").write_text(
        "strategy,false_positive,false_positive_most\n0,0,.2\n1,0,.2\n2,0,.2\n"
    )
    assert "phantom" not in run(capsys, *argv, "--noise", str(tmp_path / "few.csv"))[1]
    text = " ".join(run(capsys, *argv, "--noise", str(tmp_path / "many.csv"))[1].split())
    assert "! new: phantom strategies could explain the gain: it is" in text
    (tmp_path / "wrong.csv").write_text("strategy,false_positive\n0,x\n")
    code, _, err = run(capsys, *argv, "--noise", str(tmp_path / "wrong.csv"))
    assert (code, err) == (2, f"{tmp_path / 'wrong.csv'}:2: false_positive: must be a probability; got 'x'\n")
    (tmp_path / "wrong.csv").write_text("strategy,false_positive\n0,0.1\n")
    assert (
        "false_positive: must give a rate for every strategy; 1, 2 has none"
        in run(capsys, *argv, "--noise", str(tmp_path / "wrong.csv"))[2]
    )


def test_ordered_logs_say_what_they_can_not_tell(written, capsys):
    code, out, _ = run(capsys, *written(methods_log()), "--ordered")
    assert code == 0
    assert "?: gain split: the order of the samples means something" in out
    assert "?: plan: samples are drawn again, which needs exchangeable ones" in out


def test_counts_each_file_a_method(tmp_path, capsys):
    for name, c in (("iid", 2), ("rl", 4)):
        rows = [{"id": f"p{i}", "c": min(c + i, 8), "n": 8} for i in range(6)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    paths = [str(tmp_path / "iid.jsonl"), str(tmp_path / "rl.jsonl")]
    code, out, _ = run(capsys, *paths, "--by", "file", "--baseline", "iid", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["methods"][0]["method"] == "rl"
    assert told["methods"][0]["gain"]["mean"] > 0


def test_names_of_strangers(written, tmp_path, capsys):
    names = ["iid", EVIL[5].replace("\x1b", ""), EVIL[0]]
    code, out, _ = run(capsys, *written(methods_log(names=names, inputs=4)), "--out", str(tmp_path / "out"))
    assert code == 0
    assert all(len(line) <= 80 for line in out.splitlines())
    for path in (tmp_path / "out").glob("*.svg"):
        assert "<script" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--baseline", "base"], "baseline: must be a method of the log; got 'base'; it has iid, new, other"),
        (["--baseline", ""], "coverjax compare: needs --baseline METHOD"),
        (["--budget", "0"], "--budget: must be at least 1 sample, and below 2^53; got 0"),
        (["--budget", "99"], "budget: must be at most 8"),
        (["--seed", "-1"], "--seed: must be a whole number from 0 to 2^32 - 1; got -1"),
        (["--detect", "0"], "--detect: must be a number above 0; got 0.0"),
        (["--rare-below", "-1"], "--rare-below: must be a number above 0; got -1.0"),
        (["--power", "1"], "power: must lie strictly between 0 and 1; got 1.0"),
        (["--level", "95"], "level: must lie strictly between 0 and 1; got 95.0"),
        (["--coverage", "valid"], "it has no `valid` column"),
        (["--counts", "--ordered"], "--counts: counts have no order"),
        (["--noise", "none.csv"], "none.csv: "),
    ],
)
def test_wrong_input_is_one_line_and_nothing_is_written(written, tmp_path, capsys, options, told):
    argv = written(methods_log(inputs=3))
    before = set(tmp_path.iterdir())
    code, out, err = run(capsys, *argv, "--out", str(tmp_path / "new"), *options)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert set(tmp_path.iterdir()) == before


def test_no_log_and_no_methods(written, tmp_path, capsys):
    assert "needs at least one LOG file" in run(capsys)[2]
    cj.write_log(cj.SampleLog.from_arrays([[[1], [0]]]), tmp_path / "one.jsonl")
    assert (
        "baseline: methods are compared, and the log has no `method` column: add one"
        in run(capsys, str(tmp_path / "one.jsonl"), "--baseline", "iid")[2]
    )
