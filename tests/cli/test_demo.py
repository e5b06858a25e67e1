"""`coverjax demo` climbs its ladder, and what it shows is so."""

import json
import pathlib
import re

import numpy as np
import pytest

import coverjax as cj
from coverjax.cli.main import main
from coverjax.demo import ladder
from coverjax.demo.known_law import EPS, demo_model
from coverjax.demo.own_log import demo_log
from coverjax.demo.rungs import PRESETS, Shelf
from coverjax.demo.teaching import demo_cases

QUICK = tuple(rung for rung in ladder.RUNGS if rung[0] not in ("2", "3a"))


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The quick demo, run once: its folder, what it printed, its document."""
    import contextlib
    import io

    out = tmp_path_factory.mktemp("demo") / "out"
    told, said = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(told),
        contextlib.redirect_stderr(said),
    ):
        # The language model takes a minute; its rungs have a test of their own, with a tiny one.
        patch.setattr(ladder, "RUNGS", QUICK)
        code = main(["demo", "--out", str(out), "--json"])
    assert code == 0, said.getvalue()
    return out, said.getvalue(), json.loads(told.getvalue())


@pytest.mark.slow
def test_every_rung_is_climbed_and_said(demo):
    out, said, told = demo
    for number, words, _ in QUICK:
        assert re.search(rf"^\[{number}\] {re.escape(words)}: \d+\.\d s$", said, re.M)
        assert told["rungs"][number]["answer"]
    assert json.loads((out / "summary.json").read_text()) == told
    page = (out / "report.html").read_text()
    for rung in told["rungs"].values():
        assert rung["title"] in page
    named = set(re.findall(r'<a href="([^"#]+)"', page))
    assert named | {"report.html"} == {path.name for path in out.iterdir()}


def readme_row(start):
    """Numbers of one row of the README's table of the demo, with the digits that are shown."""
    text = (pathlib.Path(__file__).parents[2] / "README.md").read_text()
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\d)", row.split("|")[2].replace("1e-6", ""))


@pytest.mark.slow
@pytest.mark.parametrize(("start", "rungs"), [("1 ", "1"), ("3b ", ["3b"]), ("4 ", ["4a", "4b"])])
def test_the_readme_shows_what_the_demo_ends_in(demo, start, rungs):
    answers = " ".join(line for rung in rungs for line in demo[2]["rungs"][rung]["answer"])
    told = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", answers)]
    shown = readme_row(start)
    assert len(shown) >= 3
    for number in shown:
        digits = len(number.partition(".")[2])
        assert any(round(value, digits) == float(number) for value in told), number


@pytest.mark.slow
def test_the_first_rung_reaches_its_optimum_and_agrees_with_itself(demo):
    found = demo[2]["rungs"]["1"]["found"]
    # Below by no more than training leaves; above would be a wrong optimum.
    assert -1e-9 < found["best_router_auc"] - found["trained_router_auc"] < 1e-4
    assert max(abs(row[4]) for row in found["checks"]) < 5  # 3 z-scores with a fixed seed: 2e-6 by chance
    areas = {line["policy"]: line["auc"] for line in found["study"]["policies"]}
    assert areas["IID"] == pytest.approx(areas["LatentIID"])
    assert areas["IID"] < areas["trained router"] < areas["trained schedule"] < areas["OptimalLatent"] + 1e-9
    assert areas["OptimalLatent"] <= areas["OracleNoRepeat"]


@pytest.mark.slow
def test_commands_that_give_it_again_do(demo, capsys, monkeypatch):
    out, _, told = demo
    monkeypatch.chdir(out)
    words = ["3b-log.jsonl", "--declared", "3b-declared.csv", "--ordered", "--json"]
    assert main(["estimate", *words]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["methods"] == told["rungs"]["3b"]["found"]["summary"]["methods"]
    assert main(["route", "evaluate", "4a-contract.toml", "4a-outcomes.csv", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["endpoints"] == told["rungs"]["4a"]["found"]["endpoints"]
    assert main(["corrections", "check", "4b-cases.jsonl"]) == 0


@pytest.mark.slow
def test_what_the_log_is_there_to_show(demo):
    found = demo[2]["rungs"]["3b"]["found"]["summary"]
    assert [method["method"] for method in found["methods"]] == ["iid", "no-repeat"]
    assert [method["log"]["order"] for method in found["methods"]] == ["observed"] * 2
    # Choosing on purpose covers more than drawing again.
    assert len(found["comparisons"][0]["losses"]) > 10
    assert found["comparisons"][0]["wins"] == []
    kinds = found["methods"][0]["kinds"]
    ends = [kinds[kind]["curves"]["coverage"]["mean"][-1] for kind in ("raw", "valid", "correct")]
    assert ends == sorted(ends, reverse=True)
    assert len(set(ends)) == 3


@pytest.mark.slow
def test_texts_of_a_language_model_are_read_back_as_a_log(tmp_path, monkeypatch, capsys):
    import jax

    from coverjax.demo import language_model, read_back
    from coverjax.sequences import studies
    from coverjax.sequences.tasks.registry import task

    def tiny(seed, **settings):
        fit = {"objective": "balanced", "steps": 3, "batch": 16, "beta": 4.0, "texts": 64}
        judging = {"development": 4, "test": 6, "trials": 2, "samples": 4, "policies": ("no repeat",)}
        return studies.study_of(jax.random.key(seed), task("list_summation"), None, fit=fit, **judging)

    monkeypatch.setattr(language_model, "quick_study", tiny)
    shelf, steps = Shelf(tmp_path, "2"), []
    second = language_model.language_model(shelf, PRESETS["quick"], 0, steps.append, {})
    assert set(second.logs) == {"router iid", "no repeat"}
    assert "no repeat" in second.answer[0]
    assert [part.title for part in second.parts][-1] == "What each latent writes"
    third = read_back.read_back(Shelf(tmp_path, "3a"), PRESETS["quick"], 0, steps.append, {"2": second})
    assert {*second.files, *third.files} == {path.name for path in tmp_path.iterdir()}
    methods = {method["method"]: method["log"] for method in third.told["methods"]}
    assert methods["no repeat"]["order"] == "observed"
    assert methods["router iid"]["order"] == "exchangeable"
    assert methods["router iid"]["labelers"] == ["rule"]
    monkeypatch.chdir(tmp_path)
    for line in third.again:
        assert main([*line.split()[1:], "--json"]) == 0
        json.loads(capsys.readouterr().out)


def test_the_best_router_is_even_because_the_model_is_symmetric():
    """AUC at other routers of this model lies below that of the even one."""
    model = demo_model(PRESETS["quick"], 0)
    even = cj.RouterGenerator(np.full_like(model.router, 1 / 6), model.generator)
    best = cj.auc(cj.exact(cj.LatentIID(), even, 16))
    assert (cj.auc(cj.exact(cj.LatentIID(), model, 16)) < best).all()
    assert np.allclose(np.diagonal(model.generator, axis1=1, axis2=2), 1 - EPS)


def test_the_log_repeats_by_its_seed():
    one, same, other = demo_log(1), demo_log(1), demo_log(2)
    np.testing.assert_array_equal(one.matches, same.matches)
    assert not np.array_equal(one.matches, other.matches)


def test_the_log_has_all_that_a_log_can_have():
    log = demo_log()
    assert log.n.shape == (80, 4)
    assert set(log.n.ravel()) == {16}
    assert 3 <= log.declared_count.min() < log.declared_count.max() <= 6
    sizes = log.matches.sum(axis=-1)
    assert (sizes == 0).any()
    assert (sizes > 1).any()
    assert (log.correct <= log.valid).all()
    assert log.score[log.correct].mean() > log.score[~log.correct].mean() + 0.2
    undeclared = log.matches & ~log.declared[:, None, None, :]
    assert undeclared.any()
    halves = log.by_method()
    assert halves["iid"].ids.tolist() == halves["no-repeat"].ids.tolist()
    np.testing.assert_array_equal(halves["iid"].declared, halves["no-repeat"].declared)


def test_cases_are_what_cases_must_be(tmp_path):
    (tmp_path / "cases.jsonl").write_text(demo_cases(3, 40))
    assert cj.corrections.check_cases(tmp_path / "cases.jsonl") == []


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--preset", "slow"], "--preset: must be one of quick, full; got 'slow'"),
        (["--seed", "-1"], "--seed: must be a whole number from 0 to 2^32 - 1; got -1"),
    ],
)
def test_wrong_options(capsys, argv, message):
    assert main(["demo", *argv]) == 2
    assert message in capsys.readouterr().err


def test_a_place_that_cannot_be_written_to(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert "must be a place that can be written to" in capsys.readouterr().err
