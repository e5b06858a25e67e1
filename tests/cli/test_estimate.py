"""`coverjax estimate` from files to files."""

import csv
import hashlib
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from sample_logs import EVIL, flagged_log, random_log

import coverjax as cj
from coverjax.cli.main import main

OUTPUTS = {"report.html", "curves.csv", "inputs.csv", "utility.csv", "summary.json"} | {
    f"{stem}.{suffix}"
    for stem in (
        "coverage",
        "novelty",
        "time-to-coverage",
        "time-by-input",
        "coverage-correctness",
        "barcode",
    )
    for suffix in ("png", "svg")
}


@pytest.fixture
def files(tmp_path):
    """Write a log and its declared strategies; return their paths as text."""

    def written(log, name="log.jsonl"):
        cj.write_log(log, tmp_path / name)
        cj.write_declared(log, tmp_path / "declared.csv")
        return [str(tmp_path / name), "--declared", str(tmp_path / "declared.csv")]

    return written


def two_methods(**columns):
    logs = [random_log(seed=seed) for seed in (1, 2)]
    return cj.SampleLog.from_arrays(
        np.concatenate([log.matches for log in logs]),
        declared=logs[0].declared[0],
        ids=[f"p{i}" for i in range(6)] * 2,
        method=["iid"] * 6 + ["other"] * 6,
        **columns,
    )


def run(capsys, *argv):
    """Run the command; return its exit code, stdout and stderr."""
    code = main(["estimate", *argv])
    return code, *capsys.readouterr()


def wrong(capsys, *argv):
    """Run a command whose input is wrong; return the one line that it says."""
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.endswith("\n")
    return err


def test_a_report_on_the_terminal_and_nothing_written(files, tmp_path, capsys):
    argv = files(two_methods())
    before = set(tmp_path.iterdir())
    code, out, err = run(capsys, *argv)
    assert code == 0
    assert err == ""
    assert "iid - other" in out
    assert set(tmp_path.iterdir()) == before


def test_json_is_one_document_and_nothing_else(files, capsys):
    code, out, err = run(capsys, *files(two_methods()), "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert [method["method"] for method in told["methods"]] == ["iid", "other"]


def test_outputs(files, tmp_path, capsys):
    argv = files(flagged_log())
    out = tmp_path / "deep" / "out"
    code, printed, err = run(capsys, *argv, "--out", str(out), "--seed", "3", "--level", "0.9")
    assert code == 0
    assert "raw coverage" in printed
    assert err.startswith(f"{out}: wrote report.html, curves.csv, inputs.csv, utility.csv, summary.json")
    assert {path.name for path in out.iterdir()} == OUTPUTS
    told = json.loads((out / "summary.json").read_text())
    assert told["coverjax"] == cj.__version__
    assert told["seed"] == 3
    assert told["command"] == f"coverjax estimate {argv[0]} --declared {argv[2]} --level 0.9 --seed 3"
    assert told["options"]["interval"] == "t"
    assert [facts["path"] for facts in told["files"]] == [argv[0], argv[2]]
    for facts in told["files"]:
        with open(facts["path"], "rb") as file:
            assert facts["sha256"] == hashlib.file_digest(file, "sha256").hexdigest()
    log = cj.read_log(argv[0], declared=argv[2])
    for kind in ("raw", "valid", "correct"):
        curve = told["methods"][0]["kinds"][kind]["curves"]["coverage"]
        curves = cj.estimate(log, coverage=kind)
        np.testing.assert_array_equal(curve["mean"], curves.mean().coverage[0])
        low, high = cj.interval(curves, level=0.9)
        np.testing.assert_array_equal((curve["low"], curve["high"]), (low, high))


def test_the_same_report_twice_is_the_same_bytes(files, tmp_path, capsys):
    argv = files(random_log(inputs=3, samples=3))
    for name in ("a", "b"):
        assert run(capsys, *argv, "--out", str(tmp_path / name))[0] == 0
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name
    assert run(capsys, *argv, "--json")[1] == (tmp_path / "a" / "summary.json").read_text()


def test_a_new_report_replaces_the_old_and_leaves_the_rest(files, tmp_path, capsys):
    argv = files(random_log())
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    (out / "curves.csv").write_text("old")
    assert run(capsys, *argv, "--out", str(out))[0] == 0
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "curves.csv").read_text().startswith("method,kind,inputs,k,coverage")


BROKEN = '{"input": "p", "sample": 0, "strategies": ["s"]}\n{"input": "p", "sample": 1, "strategies": 7}\n'
LATENT = "".join(
    f'{{"input": "p", "sample": {i}, "strategies": ["{name}"], "latent": "{name}"}}\n'
    for i, name in enumerate("abab")
)


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        (BROKEN, [], "log.jsonl:2: strategies:"),
        ("", [], "log.jsonl: is empty"),
        ("not json\n", [], "log.jsonl:1: malformed JSON"),
        (LATENT, [], "strategies: these labels only repeat the latent"),
        (
            None,
            ["--budget", "99"],
            "--budget: must be at most 8, the number of samples of some input; got 99: beyond the samples "
            "nothing is unbiased; --extrapolate goes on there",
        ),
        (None, ["--budget", "0"], "--budget: must be at least 1 sample; got 0"),
        (None, ["--coverage", "valid"], "it has no `valid` column"),
        (None, ["--coverage", "best"], "--coverage: must be one of raw, valid, correct; got 'best'"),
        (None, ["--by", "method"], "method: must be a column for --by method"),
        (None, ["--level", "95"], "level: must lie strictly between 0 and 1; got 95.0"),
        (None, ["--min-score", "0.5"], "score: a minimum score needs a `score` column"),
        (None, ["--format", "nonsense"], "nonsense"),
        (None, ["--seed", "-1"], "--seed: must be a whole number from 0 to 2^32 - 1; got -1"),
        (None, ["--counts", "--ordered"], "--counts: counts have no order"),
        (None, ["--jsn"], "--jsn: is no option; did you mean --json?"),
        (None, ["--budget"], "--budget: needs a value, a whole number"),
        (None, ["--budget", "ten"], "--budget: must be a whole number; got 'ten'"),
        (None, ["--declared", "no-such.csv"], "no-such.csv: no such file"),
    ],
)
def test_wrong_input_is_one_line_and_nothing_is_written(tmp_path, capsys, text, options, told):
    log = tmp_path / "log.jsonl"
    if text is None:
        cj.write_log(random_log(), log)
    else:
        log.write_text(text)
    out = tmp_path / "new" / "out"
    assert told in wrong(capsys, str(log), *options, "--out", str(out))
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


def test_paths_that_cannot_be(files, tmp_path, capsys):
    argv = files(random_log())
    assert "needs at least one LOG file" in wrong(capsys)
    assert "missing.jsonl: no such file" in wrong(capsys, str(tmp_path / "missing.jsonl"))
    assert "is a directory" in wrong(capsys, str(tmp_path))
    told = wrong(capsys, *argv, "--out", argv[0])
    assert "must be a place that can be written to" in told
    assert "twice" in wrong(capsys, argv[0], argv[0])


def test_a_fault_half_way_leaves_no_part(files, tmp_path, capsys, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("no ink")

    monkeypatch.setattr("coverjax.report.figures.barcode_figure", broken)
    argv = files(random_log())
    before = {path.name for path in tmp_path.iterdir()}
    code, out, err = run(capsys, *argv, "--out", str(tmp_path / "out"))
    assert (code, out) == (1, "")
    assert "RuntimeError: no ink" in err
    assert {path.name for path in tmp_path.iterdir()} == before


def test_each_file_a_method(tmp_path, capsys):
    for name, c in (("base", 3), ("rl", 5)):
        rows = [{"id": f"p{i}", "c": min(c + i, 8), "n": 8} for i in range(5)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    paths = [str(tmp_path / "base.jsonl"), str(tmp_path / "rl.jsonl")]
    code, out, _ = run(capsys, *paths, "--by", "file", "--json")
    told = json.loads(out)
    assert code == 0
    assert [method["method"] for method in told["methods"]] == ["base", "rl"]
    assert told["comparisons"][0]["inputs"] == 5
    assert told["options"]["by"] == "file"


def test_files_with_their_own_labels_are_no_methods(tmp_path, capsys):
    for name in ("a", "b"):
        cj.write_log(random_log(), tmp_path / f"{name}.jsonl")
    paths = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    assert "--by file needs --declared" in wrong(capsys, *paths, "--by", "file")
    argv = ["--by", "file", "--declared", str(tmp_path / "declared.csv")]
    cj.write_declared(random_log(), tmp_path / "declared.csv")
    code, out, _ = run(capsys, *paths, *argv)
    assert code == 0
    assert "a - b" in out
    cj.write_log(two_methods(), tmp_path / "m.jsonl")
    assert "must be no column for --by file" in wrong(capsys, str(tmp_path / "m.jsonl"), *argv)


def test_min_score_makes_samples_correct(files, capsys):
    log = random_log()
    score = np.random.default_rng(0).random(log.matches.shape[:3])
    argv = files(random_log(score=score))
    code, out, _ = run(capsys, *argv, "--min-score", "0.5", "--coverage", "correct", "--json")
    assert code == 0
    told = json.loads(out)
    same = cj.estimate(random_log(correct=score >= 0.5), coverage="correct").mean()
    np.testing.assert_allclose(
        told["methods"][0]["kinds"]["correct"]["curves"]["coverage"]["mean"], same.coverage[0], rtol=1e-12
    )


def test_ordered_keeps_the_order(files, capsys):
    argv = files(random_log())
    told = json.loads(run(capsys, *argv, "--ordered", "--json")[1])
    curves = cj.estimate(random_log(ordered=True))
    assert told["methods"][0]["log"]["order"] == "observed"
    np.testing.assert_allclose(
        told["methods"][0]["kinds"]["raw"]["curves"]["coverage"]["mean"],
        curves.mean().coverage[0],
        rtol=1e-12,
    )


def test_counts_give_the_same_coverage_and_say_what_they_cannot_tell(files, tmp_path, capsys):
    argv = files(random_log())
    whole = json.loads(run(capsys, *argv, "--json")[1])["methods"][0]["kinds"]["raw"]
    code, out, _ = run(capsys, *argv, "--counts", "--json", "--out", str(tmp_path / "out"))
    counted = json.loads(out)["methods"][0]["kinds"]["raw"]
    assert code == 0
    np.testing.assert_allclose(
        counted["curves"]["coverage"]["mean"], whole["curves"]["coverage"]["mean"], rtol=1e-12
    )
    assert "full_coverage" not in counted["curves"]
    assert "keep the samples" in counted["time_to_coverage"]["1"]["why_null"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        name for name in OUTPUTS if not name.startswith(("barcode", "time", "utility", "coverage-c"))
    }


def test_very_large_files_are_counted_and_it_is_said(files, capsys, monkeypatch):
    monkeypatch.setattr("coverjax.cli.log_reading.COUNTED_ABOVE", 100)
    argv = files(random_log())
    code, out, err = run(capsys, *argv, "--json")
    assert code == 0
    assert "only counts are kept (--counts)" in err
    assert json.loads(out)["methods"][0]["log"]["counts_only"] is True
    code, out, err = run(capsys, *argv, "--json", "--ordered")
    assert err == ""
    assert json.loads(out)["methods"][0]["log"]["counts_only"] is False


def test_very_large_files_with_trials_are_kept_and_it_is_said(files, capsys, monkeypatch):
    monkeypatch.setattr("coverjax.cli.log_reading.COUNTED_ABOVE", 100)
    matches = np.random.default_rng(0).random((3, 2, 4, 3)) < 0.5
    code, out, err = run(capsys, *files(cj.SampleLog.from_arrays(matches)), "--json")
    assert code == 0
    assert "with trials: all samples are kept" in err
    assert json.loads(out)["methods"][0]["log"]["trials"] == 2


def test_a_minimum_score_goes_with_counts(files, capsys):
    score = np.random.default_rng(0).random((6, 8))
    argv = files(random_log(score=score))
    told = [
        json.loads(run(capsys, *argv, "--min-score", "0.5", "--json", *more)[1])["methods"][0]["kinds"]
        for more in ([], ["--counts"])
    ]
    means = [kinds["correct"]["curves"]["coverage"]["mean"] for kinds in told]
    np.testing.assert_allclose(*means, rtol=1e-12)


def test_files_of_an_earlier_run_go(files, tmp_path, capsys):
    out = tmp_path / "out"
    argv = files(flagged_log())
    assert run(capsys, *argv, "--out", str(out))[0] == 0
    (out / "notes.txt").write_text("mine")
    assert run(capsys, *argv, "--counts", "--out", str(out))[0] == 0
    left = {path.name for path in out.iterdir()}
    assert "notes.txt" in left
    assert not any(name.startswith(("barcode", "time", "utility")) for name in left)


def test_utilities_by_name(files, tmp_path, capsys):
    argv = files(flagged_log())
    options = [
        "--utility",
        "pass_at_k",
        "cover_at_tau",
        "--tau",
        "0.25",
        "--out",
        str(tmp_path / "out"),
        "--json",
    ]
    code, text, _ = run(capsys, *argv, *options)
    assert code == 0
    told = json.loads(text)["methods"][0]["utility"]
    assert (told["tau"], list(told["curves"])) == (0.25, ["cover_at_tau", "pass_at_k"])
    curves = cj.utility_curves(cj.read_log(argv[0], declared=argv[2]), names=["cover_at_tau"], tau=0.25)
    np.testing.assert_allclose(
        told["curves"]["cover_at_tau"]["mean"], curves.mean().utility["cover_at_tau"][0]
    )
    with open(tmp_path / "out" / "utility.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["utility"] == "cover_at_tau"]
    assert [float(row["mean"]) for row in rows] == told["curves"]["cover_at_tau"]["mean"]
    assert "names: best_of_k needs a `score` column" in wrong(capsys, *argv, "--utility", "best_of_k")
    assert "names: must be 'available' or among" in wrong(capsys, *argv, "--utility", "best")
    assert "tau: must be a fraction above 0" in wrong(capsys, *argv, "--tau", "0")


def test_a_fault_in_the_text_leaves_nothing(files, tmp_path, capsys, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("no words")

    monkeypatch.setattr("coverjax.cli.estimate.report_text", broken)
    code, out, err = run(capsys, *files(random_log()), "--out", str(tmp_path / "out"))
    assert (code, out) == (1, "")
    assert "Nothing was written." in err
    assert not (tmp_path / "out").exists()


def test_what_was_written_before_a_fault_is_said(files, tmp_path, capsys, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("no more words")

    monkeypatch.setattr("coverjax.cli.estimate.finish", broken)
    code, _, err = run(capsys, *files(random_log()), "--out", str(tmp_path / "out"))
    assert code == 1
    assert "Nothing was written" not in err
    assert f"Written before that, and whole: {tmp_path / 'out' / 'barcode.png'}" in err


def test_the_choices_that_a_format_leaves(capsys):
    log = str(pathlib.Path(__file__).parents[1] / "logs" / "fixtures" / "inspect.eval")
    line = wrong(capsys, log)
    assert line == f"{log}: correct_from: must choose one of the scorers: match, strategy (--correct-from)\n"
    flags = ["--labels-from", "strategy:metadata.strategies", "--correct-from", "match"]
    code, out, _ = run(capsys, log, *flags, "--json")
    told = json.loads(out)
    assert code == 0
    assert set(told["methods"][0]["kinds"]) == {"raw", "valid", "correct"}
    assert told["methods"][0]["warnings"][0].startswith("1 of 8 samples ended in an error")
    for word in flags:
        assert word in told["command"]
    assert run(capsys, log, "--correct-from", "match", "--format", "inspect", "--json")[0] == 0
    assert "the format native is read from" in wrong(capsys, log, "--format", "native")
    assert "leaves no such choice" in wrong(capsys, log, "--filter", "x")


def test_labels_of_strangers(files, tmp_path, capsys):
    matches = np.random.default_rng(0).random((len(EVIL), 3, len(EVIL))) < 0.4
    clean = [name.replace("\x1b", "") for name in EVIL]
    methods = clean[:1] * 3 + clean[1:2] * 3
    log = cj.SampleLog.from_arrays(matches, ids=clean, labels=[clean] * len(EVIL), method=methods)
    code, out, _ = run(capsys, *files(log), "--out", str(tmp_path / "out"))
    assert code == 0
    assert "\x1b" not in out
    with open(tmp_path / "out" / "curves.csv", encoding="utf-8", newline="") as file:
        assert list(dict.fromkeys(row["method"] for row in csv.DictReader(file))) == clean[:2]
    with open(tmp_path / "out" / "inputs.csv", encoding="utf-8", newline="") as file:
        assert list(dict.fromkeys(row["input"] for row in csv.DictReader(file))) == clean
    for path in (tmp_path / "out").glob("*.svg"):
        assert "<script" not in path.read_text(encoding="utf-8")


def test_help(capsys):
    code, out, err = run(capsys, "--help")
    assert (code, err) == (0, "")
    for option in (
        "LOG",
        "--declared",
        "--by",
        "--coverage",
        "--budget",
        "--min-score",
        "--out",
        "--json",
        "--ordered",
    ):
        assert option in out


def test_from_a_shell(files):
    argv = files(random_log(inputs=3, samples=3))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "coverjax", "estimate", *argv, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["budget"] == 3
    done = subprocess.run(
        [sys.executable, "-m", "coverjax", "estimate", "no-such-log.jsonl"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "no-such-log.jsonl: no such file\n"


@pytest.mark.shared
def test_strategy_sets(shared_data, capsys):
    folder = shared_data / "strategy_sets"
    argv = [str(folder / "samples.jsonl"), "--declared", str(folder / "declared.csv"), "--json"]
    told = {method["method"]: method for method in json.loads(run(capsys, *argv)[1])["methods"]}
    pooled = {name: round(told[name]["kinds"]["raw"]["pooled_coverage"]["value"][2], 3) for name in told}
    assert pooled == {"Claude": 0.545, "DeepSeek": 0.691, "GPT": 0.636, "Gemini": 0.709}
    assert {name: told[name]["log"]["undeclared_found"] for name in told} == {
        "Claude": 3,
        "DeepSeek": 8,
        "GPT": 9,
        "Gemini": 15,
    }


@pytest.mark.shared
def test_deepscaler(shared_data, capsys):
    paths = [str(shared_data / "deepscaler" / name) for name in ("rl.jsonl", "base.jsonl")]
    told = json.loads(run(capsys, *paths, "--by", "file", "--json")[1])
    pair = told["comparisons"][0]
    assert (pair["a"], pair["b"]) == ("rl", "base")
    assert pair["wins"] == list(range(1, 11))
    assert 59 <= pair["losses"][0] <= 64
    assert pair["losses"] == list(range(pair["losses"][0], 129))
