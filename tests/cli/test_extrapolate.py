"""`coverjax estimate --extrapolate`, and the warnings that a report shows."""

import csv
import json

import numpy as np
import pytest

import coverjax as cj
from coverjax.cli.main import main


@pytest.fixture
def counts(tmp_path, rng):
    """40 inputs solved by some of 12 samples, as {id, c, n}; returns the path."""
    found = rng.binomial(12, rng.beta(0.4, 0.8, 40))
    path = tmp_path / "counts.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"p{i}", "c": int(c), "n": 12}) + "\n" for i, c in enumerate(found))
    )
    return path


def run(capsys, *argv):
    code = main(["estimate", *map(str, argv)])
    return code, *capsys.readouterr()


def test_a_budget_beyond_the_samples_points_to_extrapolate(counts, capsys):
    code, out, err = run(capsys, counts, "--budget", "48")
    assert (code, out) == (2, "")
    assert err == (
        "--budget: must be at most 12, the number of samples of some input; got 48: beyond the samples "
        "nothing is unbiased; --extrapolate goes on there, with a verdict\n"
    )


def test_extrapolate_in_text_json_csv_figures_and_page(counts, capsys, tmp_path):
    out = tmp_path / "out"
    code, text, _ = run(capsys, counts, "--budget", "48", "--extrapolate", "--out", out)
    assert code == 0
    assert "K = 12" in text
    assert "extrapolated* beyond 12 samples by empirical_bayes: " in text
    assert "C(48)*" in text
    assert "half of the distance between the two models" in text
    assert max(map(len, text.splitlines())) <= 80
    for name in ("extrapolation.png", "extrapolation.svg", "extrapolated.csv"):
        assert (out / name).stat().st_size > 0
    table = cj.read_log(counts)
    expected = cj.extrapolate(table, [12, 48])
    with open(out / "extrapolated.csv", newline="") as file:
        rows = {int(row["k"]): row for row in csv.DictReader(file)}
    assert (rows[12]["mark"], rows[48]["mark"]) == ("within", "extrapolated")
    assert float(rows[48]["coverage"]) == pytest.approx(expected.mean().coverage[0, 1], rel=1e-9)
    low, high = cj.interval(expected)
    assert float(rows[48]["coverage_low"]) == pytest.approx(low[1], rel=1e-9)
    assert float(rows[48]["coverage_high"]) == pytest.approx(high[1], rel=1e-9)
    told = json.loads((out / "summary.json").read_text())
    assert told["budget"] == 12
    ahead = told["extrapolation"][0]
    assert ahead["budgets"][-1] == 48
    assert ahead["verdict"] == expected.extrapolation.verdict
    assert {prior["model"] for prior in ahead["priors"]} == {"beta_binomial", "beta_binomial_atom"}
    page = (out / "report.html").read_text()
    assert "Coverage beyond the samples" in page
    assert "back-test" in page


def test_a_budget_within_the_samples_has_nothing_to_extrapolate(counts, capsys):
    code, text, _ = run(capsys, counts, "--budget", "6", "--extrapolate")
    assert code == 0
    assert "nothing to extrapolate: K is within the samples" in text


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--extrapolate",), "--extrapolate: needs --budget K"),
        (("--extrapolate", "--budget", "9", "--ordered"), "drop --extrapolate or --ordered"),
    ],
)
def test_what_does_not_go_together_is_one_line(counts, capsys, argv, message):
    code, out, err = run(capsys, counts, *argv)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def solved(tmp_path):
    """14 inputs, 12 of them solved always."""
    path = tmp_path / "solved.jsonl"
    lines = [{"id": f"p{i}", "c": 6 if i > 1 else i + 1, "n": 6} for i in range(14)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_mass_at_the_bounds_warns_in_text_json_and_page(tmp_path, capsys):
    path, out = solved(tmp_path), tmp_path / "out"
    code, text, _ = run(capsys, path, "--out", out)
    assert code == 0
    flat = " ".join(text.split())
    assert "raw and correct coverage: small N with mass at the bounds" in flat
    assert "prefer method 'bounded'" in flat
    warnings = json.loads((out / "summary.json").read_text())["methods"][0]["warnings"]
    assert any("of the 14 units stand at 0 or 1" in line for line in warnings)
    assert "small N with mass at the bounds" in (out / "report.html").read_text()


def test_bounded_intervals_where_students_undercover(tmp_path, capsys):
    path = solved(tmp_path)
    code, text, _ = run(capsys, path, "--interval", "bounded", "--json")
    assert code == 0
    told = json.loads(text)
    curve = told["methods"][0]["kinds"]["raw"]["curves"]["coverage"]
    low, high = cj.interval(cj.estimate(cj.read_log(path)), method="bounded")
    np.testing.assert_array_equal((curve["low"], curve["high"]), (low, high))
    assert not any("small N" in line for line in told["methods"][0]["warnings"])
    code, text, _ = run(capsys, path, "--interval", "bounded")
    assert "bounded-mean intervals" in text
