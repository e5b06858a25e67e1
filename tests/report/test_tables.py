"""The report on a terminal."""

import numpy as np
import pytest
from sample_logs import LOGS, flagged_log

import coverjax as cj
from coverjax.inference.units import Interval
from coverjax.report.study import study_log
from coverjax.report.tables import _with_ends, few_budgets, ranges, report_text
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
        ("none declared", "3 without a declared"),
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
    assert "left out     2 n_short (fewer than 5 samples)" in text


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
    assert len(few) <= 9
    assert few == sorted(set(few))


def test_tables_show_powers_of_two():
    assert few_budgets(np.arange(1, 17)) == [1, 2, 4, 8, 16]
    assert few_budgets(np.arange(1, 13)) == [1, 2, 4, 8, 12]
    assert few_budgets(np.arange(1, 129)) == [1, 2, 4, 8, 16, 32, 64, 128]
    assert few_budgets(np.array([1, 3, 10, 100])) == [1, 3, 10, 100]


def test_cells_give_up_digits_before_they_collide():
    def told(*values):
        mean, low, high = (np.array([value]) for value in values)
        return _with_ends(Interval(low, high, mean, mean, 3, 3, 0.95, "t", 1.0, np.array([False]), ()), 0)

    assert told(0.5, -0.25, 1.25) == "0.500 [-0.250, 1.250]"
    assert told(53.25, 51.214, 55.2881) == "53.25 [51.21, 55.29]"
    assert told(1234.5, 1200.25, 1300.0) == "1234 [1200, 1300]"
    assert told(1234567.0, 1200000.0, 1300000.0) == "1.235e+06"
    assert all(len(told(10.0**i, 0.9 * 10**i, 1.1 * 10**i)) < 22 for i in range(12))


def test_utilities_stand_in_the_report():
    text = report_text(study_log({"": flagged_log(score=np.arange(48).reshape(6, 1, 8))}, tau=0.3))
    curves = cj.utility_curves(flagged_log(score=np.arange(48).reshape(6, 1, 8)), tau=0.3)
    for name, title in (
        ("pass_at_k", "pass@k"),
        ("cover_at_tau", "cover@0.3"),
        ("best_of_k", "best-of-k score"),
    ):
        row = next(line for line in text.splitlines() if line.startswith(title))
        mean = curves.mean().utility[name][0]
        assert [float(cell) for cell in row[17:].split()[:2]] == pytest.approx(mean[[0, 3]], abs=6e-4)
    assert next(line for line in text.splitlines() if line.startswith("utility")).split()[-1] == "8"


def test_why_a_utility_is_missing(monkeypatch):
    monkeypatch.setattr("coverjax.estimators.utility.VOTES_UNASKED", 1.0)
    assert "?: majority@k: counting out the votes" in report_text(study_log({"": flagged_log()}))
