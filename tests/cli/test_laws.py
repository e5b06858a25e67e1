"""`coverjax exact` and its options: families, tables, TOML, policies as written, one-line complaints."""

import json

import numpy as np
import pytest

import coverjax as cj
from coverjax.cli.main import main
from coverjax.foundation.checks import InputError
from coverjax.policy.registry import written_policy


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_family_by_flags_gives_the_library_s_numbers(capsys):
    code, out, _ = run(
        capsys, "exact", "--family", "zipf", "--strategies", "5", "--budget", "6", "--policy", "IID", "--json"
    )
    assert code == 0
    found = json.loads(out)
    assert [line["policy"] for line in found["policies"]] == ["IID", "OracleNoRepeat"]
    curves = cj.exact(cj.IID(), cj.families.zipf(1, 5, 1.0), 6)
    np.testing.assert_allclose(found["policies"][0]["curves"]["coverage"], curves.coverage[0], atol=1e-15)
    assert found["policies"][1]["gain"]["pooled"] == pytest.approx(1.0)


def test_toml_holds_the_same_options_and_flags_win(capsys, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('family = "uniform"\nstrategies = 4\nbudget = 3\npolicy = ["BaseNoRepeat"]\n')
    _, out, _ = run(capsys, "exact", str(path), "--json")
    assert json.loads(out)["budgets"] == [1, 2, 3]
    _, out, _ = run(capsys, "exact", str(path), "--budget", "5", "--json")
    assert json.loads(out)["budgets"] == [1, 2, 3, 4, 5]
    assert json.loads(out)["policies"][2]["policy"] == "BaseNoRepeat"


def test_out_holds_tables_and_figures_and_repeats_to_the_byte(capsys, tmp_path):
    table = tmp_path / "model.csv"
    table.write_text("input,latent,router,strategies,p\nx,z1,0.75,a,0.9\nx,z1,0.75,b,0.1\nx,z2,0.25,b,1\n")
    words = ["exact", "--law", str(table), "--budget", "4", "--policy", "LatentNoRepeat", "GreedyLatent"]
    for folder in ("one", "two"):
        code, out, _ = run(capsys, *words, "--out", str(tmp_path / folder))
        assert code == 0
        assert "latents / router" in out
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert {"curves.csv", "inputs.csv", "summary.json", "coverage.png", "gain-split.svg"} <= set(names)
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "give either --family"),
        (["--family", "zipf", "--law", "x.csv"], "give either --family"),
        (["--family", "zipf", "--budget", "0"], "--budget: must be at least 1"),
        (["--law", "none.csv"], "none.csv: no such file"),
        (["none.toml"], "none.toml: can't be read"),
        (["--family", "zipf", "--policy", "Nope"], "policy: must be one of"),
        (["--family", "zipf", "--policy", "IID(order=1)"], "the settings of IID are"),
        (["--family", "zipf", "--policy", "LatentNoRepeat(order=open('x'))"], "settings must be name=value"),
        (["--family", "zipf", "--policy", "LatentIID"], "RouterGenerator"),
        (["--family", "zipf", "--policy", "IID", "--coverage", "valid"], "valid"),
        (["--family", "geometric", "--ratio", "-1"], "ratio"),
        (["--family", "dirichlet", "--concentration", "0"], "concentration"),
        (["--family", "two_tier", "--strategies", "2", "--common", "2"], "--common"),
    ],
)
def test_wrong_options_are_one_line_and_nothing_is_written(capsys, tmp_path, argv, message):
    out = tmp_path / "out"
    code, told, error = run(capsys, "exact", *argv, "--out", str(out))
    assert code == 2
    assert told == ""
    assert len(error.strip().splitlines()) == 1
    assert message in error
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budgets = 3\n", "budgets: unknown option"),
        ("budget = 'x'\n", "budget: must be a whole number"),
        ("json = 1\n", "json: must be true or false"),
        ("policy = [1]\n", "policy: must be text"),
        ("budget = \n", "must be TOML"),
    ],
)
def test_a_wrong_toml_file_names_itself(capsys, tmp_path, text, message):
    path = tmp_path / "run.toml"
    path.write_text(text)
    code, _, error = run(capsys, "exact", str(path), "--family", "zipf")
    assert code == 2
    assert error.startswith(str(path))
    assert message in error


def test_policies_are_written_as_labels_are():
    policy = written_policy("LatentNoRepeat(order='router', support=0.1)")
    assert (policy.order, policy.support) == ("router", 0.1)
    with pytest.raises(InputError, match="must be Name"):
        written_policy("IID()x")


WRONG_SHAPE = """
import coverjax as cj
from coverjax.policy.base import only


class Wrong(cj.Policy):
    sees, knows, acts_on, markov = "blind", "nothing", "latents", True

    def init(self, known):
        return ()

    def choose(self, known, state, draw):
        return only(draw % 2, 2)

    def update(self, known, state, draw, action, matched):
        return state


class Broken(Wrong):
    def choose(self, known, state, draw):
        return nothing
"""


@pytest.mark.parametrize("verb", ["exact", "simulate"])
@pytest.mark.parametrize(("name", "message"), [("Wrong", "must return 6 logits"), ("Broken", "NameError")])
def test_a_wrong_policy_of_the_user_s_own_is_named(capsys, tmp_path, monkeypatch, verb, name, message):
    (tmp_path / "wrongpolicy.py").write_text(WRONG_SHAPE)
    monkeypatch.chdir(tmp_path)
    code, _, error = run(
        capsys, verb, "--family", "confusion", "--strategies", "6", "--policy", f"wrongpolicy:{name}"
    )
    assert code == 2
    assert error.startswith(name)
    assert message in error


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--rare-below", "nan"], "--rare-below: must be a finite number above 0"),
        (["--rare-below", "-1"], "--rare-below: must be a finite number above 0"),
        (["--seed", "99999999999999999999"], "--seed: must be a whole number"),
        (["--budget", "99999999999999999999"], "--budget: must be at least 1 draw and below 2^53"),
    ],
)
def test_numbers_out_of_range_are_the_user_s_input(capsys, argv, message):
    code, _, error = run(capsys, "exact", "--family", "zipf", *argv)
    assert code == 2
    assert message in error


def test_the_summary_holds_seed_and_hashes(capsys, tmp_path):
    import hashlib

    table = tmp_path / "law.csv"
    table.write_text("input,strategies,p\nx,a,0.75\nx,b,0.25\n")
    toml = tmp_path / "run.toml"
    toml.write_text('law = "law.csv"\nbudget = 2\n')
    code, out, _ = run(capsys, "exact", str(toml), "--policy", "IID", "--json", "--seed", "7")
    told = json.loads(out)
    assert (code, told["seed"]) == (0, 7)
    assert [facts["path"] for facts in told["files"]] == [str(toml), str(table)]
    assert told["files"][1]["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()


def test_why_the_envelope_tells_no_parts_and_no_times(capsys):
    words = ["--family", "zipf", "--strategies", "4", "--budget", "3", "--policy", "EnvelopeOracle"]
    _, out, _ = run(capsys, "exact", *words)
    text = " ".join(out.split())
    assert "?: EnvelopeOracle: the envelope is the most that any k draws cover, at each k apart" in text
    assert "-: EnvelopeOracle: the envelope is the most" in text
    _, out, _ = run(capsys, "exact", *words, "--json")
    line = json.loads(out)["policies"][-1]
    assert line["gain_split"]["why_null"].startswith("the envelope is the most")
    assert line["time_to_coverage"]["0.5"]["why_null"].startswith("the envelope is the most")
