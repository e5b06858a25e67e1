"""`coverjax sequences`: what is refused, and the whole path on a model too small to learn anything."""

import json

import jax
import pytest

import coverjax as cj
from coverjax.cli.main import main
from coverjax.sequences import runs
from coverjax.sequences.studies import fitted_base


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fitt"], "must be followed by fit, factorize, draw, evaluate; got 'fitt'"),
        (["fit"], "coverjax sequences fit: needs --out, the folder for the model"),
        (["fit", "--out", "x", "--seed", "-1"], "--seed: must be a whole number from 0 to 2^32 - 1; got -1"),
        (["fit", "--out", "x", "--task", "nothing"], "task: must be one of list_summation"),
        (["fit", "--out", "x", "--steps", "0"], "steps: must be a whole number >= 1; got 0"),
        (
            ["factorize", "--out", "x", "--base", "none.npz"],
            "none.npz: must be a file; there is none of that name",
        ),
        (["factorize", "--out", "x", "--objective", "global"], "'global' measures against a base model"),
        (["factorize", "--out", "x", "--fade", "0.1"], "fade: must be left out where latents are pruned"),
        (
            ["factorize", "--out", "x", "--latents", "7", "--fade", "0.1"],
            "fade: must not be below hold = 0.25; got 0.1",
        ),
        (["draw"], "coverjax sequences draw: needs --model, a model of fit or factorize"),
        (["draw", "--model", "none.npz"], "none.npz: must be a file; there is none of that name"),
        (["evaluate"], "coverjax sequences evaluate: needs --model, a model of fit or factorize"),
        (["evaluate", "--model", "text.npz"], "text.npz: must be a language model of coverjax"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.npz").write_text("no archive")
    assert main(["sequences", *words]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert told.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["text.npz"]


def test_an_unfinished_fit_is_not_overwritten(tmp_path, capsys):
    (tmp_path / "unfinished-fit.npz").write_bytes(b"something")
    assert main(["sequences", "fit", "--out", str(tmp_path)]) == 2
    assert "an unfinished fit is there: resume it (--resume), or remove the file" in capsys.readouterr().err
    assert (tmp_path / "unfinished-fit.npz").read_bytes() == b"something"


def test_the_second_part_of_a_fit_that_was_removed_is_not_taken_up(tmp_path, capsys):
    second = tmp_path / "free-unfinished-fit.npz"
    second.write_bytes(b"something")
    for more in ([], ["--resume"]):
        assert main(["sequences", "factorize", "--out", str(tmp_path), *more]) == 2
        said = f"{second}: goes on from unfinished-fit.npz, which is not there; remove it\n"
        assert capsys.readouterr().err.endswith(said)
    assert [path.name for path in tmp_path.iterdir()] == [second.name]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a base model, and with the same split into latents that mean nothing."""
    folder = tmp_path_factory.mktemp("models")
    base = fitted_base("list_summation")
    base.save(folder / "base.npz")
    base.with_latents(jax.random.key(0), 2).save(folder / "split.npz")
    return folder


def test_a_base_model_has_no_latents_to_choose_from(models, monkeypatch, capsys):
    monkeypatch.chdir(models)
    for words in (["draw", "--latents", "each"], ["evaluate"]):
        assert main(["sequences", words[0], "--model", "base.npz", *words[1:]]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.endswith(
            "base.npz: must have latents to choose from; this is a base model: factorize it "
            "(coverjax sequences factorize --base base.npz --out FOLDER)\n"
        )
        assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["draw", "--model", "base.npz", "--inputs", "-2"], "inputs: must be a whole number >= 1; got -2"),
        (["draw", "--model", "base.npz", "--samples", "0"], "samples: must be a whole number >= 1; got 0"),
        (
            ["draw", "--model", "base.npz", "--temperature", "-1"],
            "temperature: must be a number >= 0; got -1",
        ),
        (["draw", "--model", "base.npz", "--top-p", "0"], "top_p: must be a share in (0, 1]; got 0"),
        (
            ["draw", "--model", "base.npz", "--task", "multi_task"],
            "task: must be written in the words of the model, which was fitted to list_summation; multi_task "
            "also has ' not ', '*', 'a', 'a1', 'a2', 'a3' and 32 more",
        ),
        (
            ["evaluate", "--model", "split.npz", "--development", "0"],
            "development: must be a whole number >= 1",
        ),
        (["evaluate", "--model", "split.npz", "--test", "-3"], "test: must be a whole number >= 1; got -3"),
        (
            ["evaluate", "--model", "split.npz", "--samples", "0"],
            "samples: must be a whole number >= 1; got 0",
        ),
        (["evaluate", "--model", "split.npz", "--trials", "0"], "trials: must be a whole number >= 1; got 0"),
        (["evaluate", "--model", "split.npz", "--budget", "0"], "budget: must be a whole number >= 1; got 0"),
        (
            ["evaluate", "--model", "split.npz", "--level", "1"],
            "level: must lie strictly between 0 and 1; got 1",
        ),
        (["evaluate", "--model", "split.npz", "--policies", "best"], "policies: must be of no repeat, "),
        (
            ["evaluate", "--model", "split.npz", "--base", "split.npz"],
            "base: must be a base model; this one has 2 latents already",
        ),
    ],
)
def test_what_can_not_be_asked_of_a_model_is_refused_before_anything_is_drawn(
    words, said, models, monkeypatch, capsys
):
    def drawn(*given, **more):
        raise AssertionError("something was drawn")

    monkeypatch.chdir(models)
    monkeypatch.setattr("coverjax.sequences.decoding._sample", drawn)
    assert main(["sequences", *words, "--out", "new"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert told.err.count("\n") == 1
    assert not (models / "new").exists()


def test_help_names_every_verb(capsys):
    assert main(["sequences", "--help"]) == 0
    told = capsys.readouterr().out
    for verb in ("fit", "factorize", "draw", "evaluate"):
        assert f"\n  {verb} " in told
    assert max(map(len, told.splitlines())) <= 110


def test_a_log_of_the_model_that_comes_with_the_package_is_estimated(tmp_path, capsys):
    """The path that a reader of the docs takes first, with a model that has learned something."""
    model, out = tmp_path / "base.npz", tmp_path / "drawn"
    fitted_base("list_summation").save(model)
    words = ["--model", str(model), "--inputs", "8", "--samples", "8", "--out", str(out), "--json"]
    assert main(["sequences", "draw", *words]) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert document == json.loads((out / "summary.json").read_text())
    assert document["outcomes"]["unique"] > 0.6
    assert "wrote log.jsonl, declared.csv, texts.csv, summary.json" in told.err
    log = cj.read_log(out / "log.jsonl", declared=out / "declared.csv")
    assert log.inputs == 8
    assert (log.declared_count == 4).all()
    assert cj.estimate(log).mean().coverage[0, -1] > 0.4


def test_each_latent_in_turn_is_drawn(models, tmp_path, capsys):
    words = ["--model", str(models / "split.npz"), "--inputs", "2", "--samples", "5", "--latents", "each"]
    assert main(["sequences", "draw", *words, "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    log = cj.read_log(tmp_path / "log.jsonl", declared=tmp_path / "declared.csv")
    assert log.latent.reshape(2, 5).tolist() == [[0, 1, 0, 1, 0]] * 2


FEW = ["--steps", "4", "--every", "2", "--batch", "4", "--texts", "40", "--held-out", "8", "--warmup", "2"]


@pytest.mark.slow
def test_a_fit_that_is_interrupted_twice_resumes_to_the_same_bytes(models, tmp_path, monkeypatch, capsys):
    """At the first of five evaluations, before latents are pruned, and at the third, after that."""
    few = [*FEW, "--steps", "8", "--hold", "0.5"]
    words = ["sequences", "factorize", "--base", str(models / "base.npz"), *few]
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    assert main([*words, "--out", str(whole)]) == 0
    write, written = runs.write_checkpoint, []

    def stopping(path, *rest):
        write(path, *rest)
        written.append(path.name)
        if len(written) in (1, 3):
            raise KeyboardInterrupt

    monkeypatch.setattr(runs, "write_checkpoint", stopping)
    for more in ([], ["--resume"]):
        assert main([*words, "--out", str(halved), *more]) == 130
        assert "keeps what is finished: --resume goes on" in capsys.readouterr().err
        assert {path.name for path in halved.iterdir()} == set(written)
    assert written == ["unfinished-fit.npz"] * 2 + ["free-unfinished-fit.npz"]
    assert main([*words, "--out", str(halved), "--resume"]) == 0
    for name in ("model.npz", "history.csv"):
        assert (halved / name).read_bytes() == (whole / name).read_bytes()
    assert sorted(path.name for path in halved.iterdir()) == ["history.csv", "model.npz", "summary.json"]


@pytest.mark.slow
def test_fit_and_factorize_write_what_they_say(tmp_path, capsys):
    """Four updates of each: the files, the documents, and that nothing in them depends on the clock."""
    base, split = tmp_path / "base", tmp_path / "split"
    assert main(["sequences", "fit", *FEW, "--out", str(base)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "list_summation, 101,696 parameters (2 layers of width 64), 4 updates; loss" in told
    words = ["--base", str(base / "model.npz"), "--latents", "2", "--out", str(split), "--json"]
    assert main(["sequences", "factorize", *FEW, *words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["model"]["latents"] == 2
    assert document["updates"] == 4
    assert sum(document["use"]) == pytest.approx(1.0, abs=1e-5)
    for folder in (base, split):
        assert sorted(path.name for path in folder.iterdir()) == ["history.csv", "model.npz", "summary.json"]
        assert (folder / "history.csv").read_text().splitlines()[0] == "step,loss,held_out"


@pytest.mark.slow
def test_files_of_an_earlier_evaluation_go(models, tmp_path, monkeypatch, capsys):
    """With fewer policies no log is left that the new summary says nothing of; other files stay."""
    monkeypatch.chdir(models)
    few = ["--development", "2", "--test", "2", "--samples", "1", "--trials", "1", "--budget", "2"]
    words = ["sequences", "evaluate", "--model", "split.npz", "--out", str(tmp_path), *few]
    (tmp_path / "mine.txt").write_text("stays")
    assert main([*words, "--policies", "no repeat", "no repeat, alive"]) == 0
    assert (tmp_path / "log-no-repeat-alive.jsonl").exists()
    assert main([*words, "--policies", "no repeat"]) == 0
    capsys.readouterr()
    names = {path.name for path in tmp_path.iterdir()}
    logs = {"log-router-iid.jsonl", "log-no-repeat.jsonl"}
    figures = {"exploration.png", "exploration.svg"}
    assert names == {"mine.txt", "summary.json", "curves.csv", "declared.csv", *logs, *figures}
    document = json.loads((tmp_path / "summary.json").read_text())
    assert set(document["methods"]) == {"router iid", "no repeat"}
