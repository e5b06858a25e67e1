"""`coverjax train`: files that repeat to the byte, a policy to use, interruption, one-line errors."""

import json
import re
import shutil

import numpy as np
import pytest

import coverjax as cj
from coverjax.cli.main import main
from coverjax.cli.train import OUTPUTS
from coverjax.learning import training

TABLE = """input,latent,router,strategies,p
x,z1,0.75,a,0.9
x,z1,0.75,b,0.1
x,z2,0.25,b,1
y,z1,0.5,a,0.2
y,z1,0.5,b,0.8
y,z2,0.5,a,0.3
y,z2,0.5,b,0.7
"""

FILE = """
law = "model.csv"     # relative to this file
policy = "LatentIID"
budget = 3
steps = 20
every = 10
against = ["IID"]
seed = 3
"""


HUGE = "9" * 400


def run(capsys, *argv):
    code = main(["train", *map(str, argv)])
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("train")
    (path / "model.csv").write_text(TABLE)
    (path / "learn.toml").write_text(FILE)
    assert main(["train", str(path / "learn.toml"), "--out", str(path / "whole")]) == 0
    return path


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_folder_holds_a_policy_its_history_and_figures(folder):
    out = folder / "whole"
    names = set(files_of(out))
    assert {
        "policy.npz",
        "history.csv",
        "training.png",
        "training.svg",
        "gain-split.png",
        "summary.json",
    } <= names
    assert not any("unfinished" in name for name in names)
    told = json.loads((out / "summary.json").read_text())
    assert told["verb"] == "train"
    assert told["seed"] == told["options"]["seed"] == 3
    assert told["command"].startswith("coverjax train --law")
    read = [folder / "learn.toml", folder / "model.csv"]
    assert [file["path"] for file in told["files"]] == list(map(str, read))
    assert len(told["files"][0]["sha256"]) == 64
    assert [line["policy"] for line in told["policies"]] == ["trained LatentIID", "IID", "OracleNoRepeat"]
    facts = told["training"]
    assert facts["kept"] > facts["at_start"]
    lines = (out / "history.csv").read_text().splitlines()
    assert lines[0] == "seed,step,learning_rate,train,held_out"
    assert [line.split(",")[1] for line in lines[1:]] == ["0", "10", "20"]


def test_the_written_policy_is_a_policy_everywhere(folder, capsys):
    out = folder / "whole"
    told = json.loads((out / "summary.json").read_text())
    model = cj.read_law(folder / "model.csv")
    policy = cj.LearnedLatent(out / "policy.npz")
    curves = cj.exact(policy, model, 3)
    assert cj.auc(curves).mean() == pytest.approx(told["training"]["kept"], abs=1e-6)
    np.testing.assert_allclose(
        told["policies"][0]["curves"]["coverage"], curves.mean().coverage[0], atol=1e-12
    )
    written = str(out / "policy.npz")
    words = ["exact", "--law", str(folder / "model.csv"), "--budget", "3", "--json", "--policy"]
    for text in (written, f"LearnedLatent('{written}')"):
        assert main([*words, text]) == 0
        line = json.loads(capsys.readouterr().out)["policies"][2]
        assert line["auc"] == pytest.approx(cj.auc(curves).mean(), abs=1e-12)
    assert line["policy"] == f"LearnedLatent('{written}')"
    # in a TOML file its path is relative to the file, as every path there
    (folder / "judge.toml").write_text('law = "model.csv"\nbudget = 3\npolicy = ["whole/policy.npz"]\n')
    assert main(["exact", str(folder / "judge.toml"), "--json"]) == 0
    line = json.loads(capsys.readouterr().out)["policies"][2]
    assert line["auc"] == pytest.approx(cj.auc(curves).mean(), abs=1e-12)


def test_an_interrupted_training_says_so_and_ends_in_the_same_bytes(folder, capsys, monkeypatch):
    out = folder / "stopped"
    write = training.write_checkpoint

    def stopping(*args):
        write(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "write_checkpoint", stopping)
        code, _, error = run(capsys, folder / "learn.toml", "--out", out)
    assert code == 130
    assert "--resume goes on" in error
    assert [path.name for path in out.iterdir()] == ["unfinished-training.npz"]
    code, _, error = run(capsys, folder / "learn.toml", "--out", out)
    assert code == 2
    assert "unfinished-training.npz: an unfinished training is there" in error
    code, _, _ = run(capsys, folder / "learn.toml", "--out", out, "--resume")
    assert code == 0
    assert files_of(out) == files_of(folder / "whole")


def test_what_an_earlier_run_left_goes(folder, capsys):
    """Its figures beside this one's summary would be taken for this one's."""
    out = folder / "again"
    shutil.copytree(folder / "whole", out)
    for name in ("time-by-input.png", "coverage-by-time.svg", "notes.txt"):
        (out / name).write_bytes(b"earlier")
    names = {path.name for path in (folder / "whole").iterdir()}
    assert "time-by-input.png" not in names
    assert names - {"unfinished-training.npz"} <= set(OUTPUTS)
    code, _, _ = run(capsys, folder / "learn.toml", "--out", out)
    assert code == 0
    assert {path.name for path in out.iterdir()} == names | {"coverage-by-time.svg", "notes.txt"}


def test_json_is_the_only_thing_on_stdout(folder, capsys):
    code, out, error = run(capsys, folder / "learn.toml", "--json")
    assert code == 0
    assert error == ""
    kept = json.loads((folder / "whole" / "summary.json").read_text())
    assert json.loads(out) == kept


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("steps = 0", r"learn.toml:2: steps: must be a whole number >= 1; got 0"),
        ("steps = 'many'", "learn.toml: steps: must be a whole number"),
        ("speed = 3", "learn.toml: speed: unknown option"),
        ("objective = 'speed'", "learn.toml: objective: must be one of auc"),
        ("steps = ", r"learn.toml:\d+: must be TOML"),
        ("policy = 'LatentIID'\nweights = [1.0]", r"learn.toml:3: weights: must be \[2\]"),
        ("policy = 'GreedyLatent'", "learn.toml:2: policy: GreedyLatent can't be trained"),
        ("policy = 'Nope'", "learn.toml:2: policy: must be one of"),
        ("policy = 'none.npz'", "none.npz: must be a policy file that can be read"),
        ("policy = 'LatentIID'\nwidth = 3", "learn.toml:3: width: is a setting of LearnedLatent"),
        ("against = ['none.npz']", "none.npz: must be a policy file"),
        ("against = ['LatentSchedule(logits=[[0.0, 0.0]])']", "learn.toml:2: against: .* must hold a row"),
        ("held_out = 0.1", "learn.toml:2: held_out: must leave inputs on both sides"),
        ("gradient = 'regret'\nkl = 0.1", "learn.toml:3: kl: must be 0|kl, entropy: must be 0"),
        ("runs = 0", "--runs: must be at least 1"),
        ("seed = -1", "learn.toml:2: --seed: must be a whole number from 0"),
        (f"seed = {HUGE}", r"learn.toml:2: --seed: must be .*; got 9{57}\.\.\.$"),
        (f"steps = {HUGE}", "learn.toml:2: steps: must be at most 2,147,483,647"),
        (f"warmup = {HUGE}", "learn.toml:2: warmup: must be at most 2,147,483,647"),
        (f"patience = {HUGE}", "learn.toml:2: patience: must be at most 2,147,483,647"),
        (f"seeds = {HUGE}", "learn.toml:2: seeds: must be at most 65,536"),
        (f"budget = {HUGE}", "learn.toml:2: --budget: must be at least 1 and at most 1,048,576"),
        (f"runs = {HUGE}", "learn.toml:2: --runs: must be at least 1 and at most"),
        (f"width = {HUGE}", "learn.toml:2: width: must be at most 8,192"),
        (f"learning_rate = {HUGE}", "learn.toml: learning_rate: must be a number; got 999"),
        (f"width = {'9' * 5000}", "learn.toml:2: must be TOML: a number has too many digits"),
        ("rare_below = nan", "learn.toml:2: --rare-below: must be a finite number above 0"),
        ("gradient = 'score'\ntrials = 2_000_000_000", "budget: an input must need at most 64 GiB at once"),
        ("against = ['GoodUCB(c=1)(c=2)']", "learn.toml:2: against: 'GoodUCB.*settings must be name=value"),
        ("policy = 'LatentIID'\nagainst = ['Nope']", "learn.toml:3: against: must be one of"),
        ("held-out = 0.5\nheld_out = 0.5", "learn.toml: held_out: must stand once"),
    ],
)
def test_a_wrong_file_is_one_line(folder, capsys, tmp_path, line, message):
    (tmp_path / "model.csv").write_text(TABLE)
    (tmp_path / "learn.toml").write_text(f'law = "model.csv"\n{line}\n')
    code, out, error = run(capsys, tmp_path / "learn.toml", "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert len(error.strip().splitlines()) == 1
    assert re.search(message, error), error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--family", "zipf"], "zipf: must be a router-generator"),
        (["--family", "confusion", "--resume"], "--resume: needs --out"),
        ([], "coverjax: give either --family"),
        (["--family", "two_tier", "--strategies", "2"], "common: must be at least 1 and below strategies, 2"),
        (["--family", "confusion", "--strategies", "999999"], "strategies: a law must be at most"),
        (["none.toml"], "none.toml: can't be read"),
    ],
)
def test_wrong_arguments_are_one_line(capsys, argv, message):
    code, out, error = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert message in error
    assert len(error.strip().splitlines()) == 1
