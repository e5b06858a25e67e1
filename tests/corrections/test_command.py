"""`coverjax corrections check | run | compare`, and what they write."""

import csv
import hashlib
import json
import time

import matplotlib
import numpy as np
import pytest
import teachable

from coverjax import corrections
from coverjax.cli.main import main
from coverjax.corrections import run
from coverjax.report import competence_plots as plots


@pytest.fixture
def cases(tmp_path, monkeypatch, make_cases):
    """A file of cases in the working directory, two splits."""
    monkeypatch.chdir(tmp_path)
    records = [
        {**case, "split": "holdout" if i % 2 else "public"} for i, case in enumerate(make_cases(6, own=True))
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return "cases.jsonl"


def asked(capsys, *words):
    code = main(["corrections", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_help_names_the_verbs(capsys):
    for words in ((), ("--help",)):
        code, out, err = asked(capsys, *words)
        assert (code, err) == (0, "")
        assert all(f"  {verb} " in out for verb in ("check", "run", "compare"))
    code, out, err = asked(capsys, "chekc")
    assert (code, out) == (2, "")
    assert "must be followed by check, run, compare; got 'chekc'" in err


def test_check(capsys, cases, tmp_path):
    assert asked(capsys, "check", cases) == (0, "6 cases: nothing is wrong\n", "")
    bad = {"concept": "x", "curriculum": ["x a"], "probe": "a?", "expected_tokens": ["a"]}
    (tmp_path / "bad.jsonl").write_text(json.dumps(bad) + '\n{"concept": 1}\n')
    code, out, err = asked(capsys, "check", "bad.jsonl")
    assert code == 2
    assert [line[:12] for line in out.splitlines()] == ["bad.jsonl:1:", "bad.jsonl:2:"]
    assert err == "2 problems in 2 cases\n"
    code, out, _ = asked(capsys, "check", "bad.jsonl", "--json")
    document = json.loads(out)
    assert (code, document["ok"], document["cases"]) == (2, False, 2)
    assert document["problems"][0]["line"] == 1
    assert len(document["files"][0]["sha256"]) == 64


def test_run_prints_a_report_and_writes_nothing(capsys, cases, tmp_path):
    code, out, err = asked(capsys, "run", cases, "--system", "memory", "--workers", "0")
    assert (code, err) == (0, "")
    for words in (
        "all: 6 concepts",
        "public: 3 concepts",
        "passes the gate at 0.95",
        "not measured",
        "never: 5",
    ):
        assert words in out
    assert max(map(len, out.splitlines())) <= 80
    assert [path.name for path in tmp_path.iterdir()] == ["cases.jsonl"]


def test_run_writes_everything_and_json_is_the_summary(capsys, cases, tmp_path):
    words = ["run", cases, "--system", "noisy-memory", "--settings", "forgetting=0.3", "--workers", "0"]
    code, out, err = asked(capsys, *words, "--out", "report", "--json")
    assert code == 0
    assert err.startswith("report: wrote records.jsonl, report.html, concepts.csv")
    folder = tmp_path / "report"
    document = json.loads(out)
    assert out == (folder / "summary.json").read_text()
    split = document["splits"]["all"]
    assert {"mean_corrections_to_first_hit", "mean_corrections_to_saturation", "first_hit_rate"} <= set(split)
    assert {"saturation_rate", "area_under_the_curve", "n"} <= set(split)
    assert document["replay"]["replay_determinism"] == 1.0
    assert (
        document["command"]
        == "coverjax corrections run cases.jsonl --system noisy-memory --settings forgetting=0.3"
    )
    assert document["system"]["settings"] == {"forgetting": 0.3}
    assert document["files"][0]["path"] == "cases.jsonl"
    assert len(document["not_measured"]) == 4
    found = corrections.read_competence("report")
    with (folder / "concepts.csv").open() as file:
        rows = list(csv.DictReader(file))
    never = ["" if np.isnan(k) else f"{k:.0f}" for k in found.saturation]
    assert [row["corrections_to_saturation"] for row in rows] == never
    with (folder / "snapshots.csv").open() as file:
        hits = [float(row["cumulative_token_hit_count"]) for row in csv.DictReader(file)]
    assert hits == found.hits.ravel().tolist()
    for stem in ("competence", "reached", "concepts"):
        assert {f"{stem}.png", f"{stem}.svg"} <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_a_system_prints_is_no_part_of_the_document(capfd, cases, workers):
    code = main(["corrections", "run", cases, "--system", "teachable:Chatty", "--workers", workers, "--json"])
    out, err = capfd.readouterr()
    assert code == 0
    assert json.loads(out)["splits"]["all"]["saturation_rate"]["value"] == 1.0
    assert "I hear A c0 is red0." in err


def test_the_pack_is_named_with_its_hash(capsys, cases, tmp_path):
    (tmp_path / "pack.txt").write_text("".join(f"c{i}\n" for i in range(6)))
    words = ["run", cases, "--system", "memory", "--workers", "0", "--json", "--pack", "pack.txt"]
    pack = json.loads(asked(capsys, *words)[1])["pack"]
    assert pack["sha256"] == hashlib.sha256((tmp_path / "pack.txt").read_bytes()).hexdigest()
    assert pack["concepts"] == 6


def test_wrong_settings_of_a_built_in_system_are_wrong_input(capsys, cases, tmp_path):
    """They stop the run at once; what is left of it is not in the way of the next."""
    words = ["run", cases, "--system", "noisy-memory", "--out", "report", "--workers", "1", "--settings"]
    code, out, err = asked(capsys, *words, "forgetting=2")
    assert (code, out, err) == (2, "", "forgetting: must be a probability, 0 to 1; got 2\n")
    assert asked(capsys, *words, "forgetting=0.2")[0] == 0


def test_where_nothing_ever_happens_nulls_say_why(capsys, cases):
    _, out, _ = asked(capsys, "run", cases, "--system", "teachable:Mute", "--workers", "0", "--json")
    split = json.loads(out)["splits"]["all"]
    assert split["mean_corrections_to_first_hit"] == {
        "value": None,
        "low": None,
        "high": None,
        "n": 0,
        "why_null": "no concept ever reaches it",
    }
    assert split["first_hit_rate"]["value"] == 0.0
    assert split["first_hit"]["restricted_mean"]["value"] == 5.0


def test_compare(capsys, cases, tmp_path):
    for name, forgetting in (("a", 0.0), ("b", 0.6)):
        settings = {"forgetting": forgetting}
        run(cases, "noisy-memory", settings=settings, workers=0, journal=tmp_path / name / "records.jsonl")
    code, out, err = asked(capsys, "compare", "a", "b/records.jsonl", "--out", "ab")
    assert code == 0
    assert "6 concepts in both (0 left out); differences a - b" in out
    assert "wins" in out
    assert max(map(len, out.splitlines())) <= 80
    assert err.startswith("ab: wrote report.html, summary.json, comparison.png")
    code, out, _ = asked(capsys, "compare", "a", "b", "--json", "--split", "public")
    document = json.loads(out)
    assert (code, document["concepts"]) == (0, 3)
    assert document["curve"]["k"] == [0, 1, 2, 3, 4]
    assert document["differences"]["saturation_rate"]["value"] > 0
    assert [len(file["sha256"]) for file in document["files"]] == [64, 64]
    code, _, err = asked(capsys, "compare", "a", "nowhere")
    assert (code, err) == (2, "nowhere: can't be read: No such file or directory\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "cases.jsonl"], "--system"),
        (["run", "--system", "memory"], "needs at least one file of CASES"),
        (["run", "cases.jsonl", "--system", "memory", "--resume"], "--resume: needs --out"),
        (["run", "cases.jsonl", "--system", "memory", "--settings", "x"], "--settings: must be name=value"),
        (["run", "cases.jsonl", "--system", "memory", "--level", "2"], "--level: must lie strictly between"),
        (["run", "none.jsonl", "--system", "memory"], "none.jsonl: no such file"),
        (["run", "cases.jsonl", "--system", "memory", "--rule", "latin"], "--rule"),
        (["check", "cases.jsonl", "--pack", "none"], "none: can't be read"),
    ],
)
def test_wrong_words_are_one_line_and_exit_2(capsys, cases, words, says):
    code, out, err = asked(capsys, *words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert says in err


def test_a_stopped_command_says_what_is_kept(capsys, cases, monkeypatch):
    whole = teachable.Faithful.probe

    def stopped(self, text):
        if "c1?" in text:
            raise KeyboardInterrupt
        return whole(self, text)

    monkeypatch.setattr(teachable.Faithful, "probe", stopped)
    words = ["run", cases, "--system", "teachable:Faithful", "--workers", "0"]
    code, out, err = asked(capsys, *words, "--out", "report")
    assert (code, out) == (130, "")
    assert "report keeps what is finished: --resume goes on" in err
    code, _, err = asked(capsys, *words, "--out", "report")
    assert code == 2
    assert "an unfinished run is there" in err


class TestFigures:
    def test_a_mean_its_band_and_the_single_curves(self, make_cases):
        found = run(make_cases(9, own=True), "noisy-memory", settings={"forgetting": 0.4}, workers=0)
        ax = plots.plot_competence(found)
        np.testing.assert_array_equal(ax.lines[-1].get_ydata(), found.curves().coverage.mean(axis=0))
        assert len(ax.lines) == 10
        assert len(ax.collections) == 1
        assert [text.get_text() for text in ax.get_legend().texts] == [
            "single concepts",
            "95 % simultaneous band over concepts",
        ]
        several = plots.plot_competence({f"line {i}": found for i in range(5)})
        assert len(several.collections) == 0
        assert several.get_legend().texts[0].get_text() == "no bands: more than 4 lines"

    def test_reached_is_one_minus_kaplan_meier(self, make_cases):
        found = run(make_cases(9, [4, 2], own=True), "noisy-memory", settings={"forgetting": 0.4}, workers=0)
        ax = plots.plot_reached(found, goal="saturation")
        survival = corrections.kaplan_meier(found.saturation, found.lengths).survival
        np.testing.assert_allclose(ax.lines[0].get_ydata(), 1 - survival)
        assert "never" in ax.texts[0].get_text()

    def test_concepts_are_rows_and_failures_are_crossed_out(self, make_cases):
        found = run(
            [*make_cases(80), *make_cases(1, concept="$x_日$")], teachable.Raises, workers=0, check=False
        )
        ax = plots.plot_concepts(found)
        assert ax.images[0].get_array().shape == (60, 5)
        assert ax.get_title(loc="left") == "60 of 81 curves, evenly chosen"
        assert ax.get_yticklabels()[-1].get_text().startswith("$x_")

    def test_nothing_graded_is_drawn_as_nothing(self, make_cases):
        found = run(make_cases(2), teachable.Picky, workers=0)
        for draw in (plots.plot_competence, plots.plot_reached):
            assert draw(found).texts[0].get_text() == "no concept was graded"
        assert plots.plot_concepts(found).get_yticklabels()[0].get_text() == "c0 (not graded)"

    def test_figures_leave_matplotlib_as_it_was(self, make_cases, tmp_path):
        before = dict(matplotlib.rcParams)
        found = run(make_cases(3), "memory", workers=0)
        first = [(tmp_path / name).read_bytes() for name in plots.write_run_figures(found, tmp_path)]
        assert dict(matplotlib.rcParams) == before
        assert first == [(tmp_path / name).read_bytes() for name in plots.write_run_figures(found, tmp_path)]


@pytest.mark.slow
def test_a_thousand_concepts_of_eight_corrections(make_cases):
    """The bound of the task; about 3 s on two free cores, processes and replays included."""
    cases = make_cases(1000, 8)
    start = time.perf_counter()
    found = run(cases, "memory", workers=2)
    assert time.perf_counter() - start < 20
    assert found.hits.sum() == 1000 * 36
    assert found.replay_determinism == 1.0
