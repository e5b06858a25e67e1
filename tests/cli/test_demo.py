"""`coverjax demo` makes a log that teaches something."""

import json

import numpy as np

import coverjax as cj
from coverjax.cli.demo import demo_log
from coverjax.cli.main import main


def test_demo(tmp_path, capsys):
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"log.jsonl", "declared.csv", "summary.json", "curves.csv", "coverage.png", "barcode.svg"} <= {
        path.name for path in out.iterdir()
    }
    assert [method["method"] for method in told["methods"]] == ["iid", "no-repeat"]
    assert [method["log"]["order"] for method in told["methods"]] == ["observed"] * 2
    assert told["budget"] == 16
    # What the demo is there to show: choosing on purpose covers more than drawing again.
    assert len(told["comparisons"][0]["losses"]) > 10
    assert told["comparisons"][0]["wins"] == []
    kinds = told["methods"][0]["kinds"]
    ends = [kinds[kind]["curves"]["coverage"]["mean"][-1] for kind in ("raw", "valid", "correct")]
    assert ends == sorted(ends, reverse=True)
    assert len(set(ends)) == 3
    assert told["methods"][0]["log"]["undeclared_found"] > 0


def test_the_log_repeats_by_its_seed(tmp_path):
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
    undeclared = log.matches & ~log.declared[:, None, None, :]
    assert undeclared.any()
    halves = log.by_method()
    assert halves["iid"].ids.tolist() == halves["no-repeat"].ids.tolist()
    np.testing.assert_array_equal(halves["iid"].declared, halves["no-repeat"].declared)


def test_no_repeat_names_every_strategy_before_it_repeats():
    curves = cj.estimate(demo_log(), budget=3)
    gap = curves["no-repeat"].mean().coverage[0, 2] - curves["iid"].mean().coverage[0, 2]
    assert gap > 0.05


def test_a_place_that_cannot_be_written_to(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert "must be a place that can be written to" in capsys.readouterr().err
