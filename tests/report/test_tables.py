"""The report on a terminal."""

import numpy as np
import pytest
from sample_logs import LOGS

from coverjax.report.tables import few_budgets, ranges, report_text
from coverjax.report.text import width


@pytest.mark.parametrize("name", LOGS)
def test_it_fits_eighty_columns_and_steers_no_terminal(studies, name):
    text = report_text(studies(name), [{"path": "/a/long/path/" + "x" * 90 + ".jsonl", "sha256": "ab" * 32}])
    assert max(width(line) for line in text.splitlines()) <= 80
    assert not any(ord(character) < 32 for character in text.replace("\n", ""))
    assert "nan" not in text


def test_kinds_stand_side_by_side_with_their_numbers(studies):
    study = studies("flags")
    lines = report_text(study).splitlines()
    head = next(line for line in lines if "raw coverage" in line)
    assert head.split() == ["raw", "coverage", "valid", "coverage", "correct", "coverage"]
    row = next(line for line in lines if line.startswith("C(8) "))
    for kind in study.methods[""].kinds.values():
        interval = kind.intervals["coverage"]
        assert f"{interval.mean[-1]:.3f} [{interval.low[-1]:.3f}, {interval.high[-1]:.3f}]" in row
    row = next(line for line in lines if line.startswith("T(0.5)"))
    pooled = study.methods[""].kinds["raw"].times[0.5].pooled
    assert f"{pooled.mean:.2f} / {int(pooled.median)} / {float(pooled.censored):.0%}" in row


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ordered", "observed order"),
        ("one method", "taken as exchangeable"),
        ("one method", "labels outside the declared ones"),
        ("none declared", "3 without a declared strategy (M = 0)"),
        ("counts", "?: counts don't tell which strategies came together"),
        ("no input in common", "! a - b: compare: needs inputs"),
        ("many methods", "Only method 0 is compared with each other method."),
        ("many methods", "Blocks of single methods are printed for up to 8"),
        ("one input", "needs at least 2"),
        ("two methods", "wins "),
    ],
)
def test_what_a_reader_must_know_is_said(studies, name, told):
    assert told in report_text(studies(name))


def test_inputs_that_left_are_counted(studies):
    text = report_text(studies("uneven", budget=5))
    assert "4 used of 6; 3 to 8 samples each" in text
    assert "left out     2 n_short (too few samples)" in text


def test_files_are_named_with_their_hashes(studies):
    files = [{"path": f"log-{i}.jsonl", "sha256": f"{i}" * 64} for i in range(6)]
    text = report_text(studies("one method"), files)
    assert "log-0.jsonl  sha256 000000000000.." in text
    assert "and 2 more files" in text


def test_ranges():
    assert ranges([]) == "none"
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
    assert ranges(np.array([5])) == "5"


@pytest.mark.parametrize("most", [1, 2, 3, 7, 128, 100_000])
def test_few_budgets(most):
    few = few_budgets(np.arange(1, most + 1))
    assert few[0] == 1
    assert few[-1] == most
    assert len(few) <= 6
    assert few == sorted(set(few))
