"""A study says what the library says, and what a reader must know."""

import numpy as np
import pytest
from sample_logs import LOGS, flagged_log, random_log

import coverjax as cj
from coverjax.report import study as studied
from coverjax.report.study import kinds_of, study_log


def test_numbers_are_those_of_the_library(studies):
    study = studies("flags")
    log = LOGS["flags"]()[""]
    assert list(study.methods[""].kinds) == ["raw", "valid", "correct"]
    for kind, found in study.methods[""].kinds.items():
        curves = cj.estimate(log, coverage=kind, include=("default", "count_law"))
        np.testing.assert_array_equal(found.curves.coverage, curves.coverage)
        low, high = cj.interval(curves)
        np.testing.assert_array_equal(found.intervals["coverage"].low, low)
        np.testing.assert_array_equal(found.intervals["coverage"].high, high)
        band = cj.interval(curves, "novelty_any", method="band")
        np.testing.assert_array_equal(found.bands["novelty_any"].low, band[0])
        assert found.auc.mean[0] == cj.auc(curves).mean()
        assert found.times[0.5].pooled.mean == cj.time_to_coverage(curves, 0.5).pooled.mean


def test_facts(studies):
    facts = studies("uneven", budget=5).methods[""].facts
    assert facts["inputs"] == 6
    assert facts["inputs_used"] == 4
    assert facts["n_short"] == 2
    assert facts["inputs_without_samples"] == 1
    assert (facts["n_min"], facts["n_max"]) == (3, 8)
    assert (facts["declared_min"], facts["declared_median"], facts["declared_max"]) == (3, 3.0, 3)
    assert facts["undeclared_found"] == LOGS["uneven"]()[""].matches[:, 0, :, 3].any(axis=1).sum() > 0
    assert any(
        "2 inputs of 6 with fewer than 5 samples left" in w
        for w in studies("uneven", budget=5).methods[""].warnings
    )


def test_undeclared_labels_are_those_that_were_seen():
    log = cj.SampleLog.from_arrays([[[1, 1, 0]], [[1, 0, 0]]], declared=[True, False, False])
    facts = study_log({"": log}).methods[""].facts
    assert (facts["undeclared_found"], facts["undeclared_inputs"]) == (1, 1)


def test_inputs_without_declared_strategies_are_said(studies):
    method = studies("none declared").methods[""]
    assert any("3 inputs without a declared strategy" in text for text in method.warnings)
    assert set(method.kinds["raw"].no_times) == {0.5, 0.8, 1.0}


def test_counts_tell_no_time_unless_there_is_one_strategy(studies):
    assert studies("counts").methods[""].kinds["raw"].times == {}
    assert "keep the samples" in studies("counts").methods[""].kinds["raw"].no_times[1.0]
    assert set(studies("pass at k").methods["a"].kinds["raw"].times) == {0.5, 0.8, 1.0}


def test_equal_kinds_stand_once():
    log = random_log()
    everything = np.ones(log.matches.shape[:3], bool)
    study = study_log({"": random_log(valid=everything, correct=~everything)})
    assert list(study.methods[""].columns()) == ["raw = valid", "correct"]


def test_kinds_of():
    assert kinds_of(random_log()) == ["raw"]
    assert kinds_of(flagged_log()) == ["raw", "valid", "correct"]
    assert kinds_of(cj.CountTable.from_arrays([1], n=2)) == ["raw"]


def test_all_pairs_are_compared_up_to_six_methods(studies):
    assert [(pair.a, pair.b) for pair in studies("two methods").comparisons] == [("a", "b")]
    assert len(studies("evil names").comparisons) == 15
    assert [pair.a for pair in studies("many methods").comparisons] == ["method 0"] * 8


def test_methods_without_common_inputs_are_not_compared(studies):
    study = studies("no input in common")
    assert study.comparisons == ()
    assert study.not_compared[0].startswith("a - b: compare: needs inputs")


def test_the_budget_is_common_to_all_methods():
    study = study_log({"a": random_log(samples=8), "b": random_log(samples=5)})
    assert study.budget == 5
    with pytest.raises(cj.InputError, match=r"method 'b': budget: must be at most 5, .*; got 8"):
        study_log({"a": random_log(samples=8), "b": random_log(samples=5)}, budget=8)


def test_large_logs_are_studied_at_fewer_budgets(monkeypatch):
    table = cj.CountTable.from_arrays([[300, 2], [1, 40]], n=1000)
    whole = study_log({"": table})
    monkeypatch.setattr(studied, "CURVE_NUMBERS", 100)
    thin = study_log({"": table})
    assert whole.consecutive
    assert not thin.consecutive
    assert len(thin.budgets) <= 50
    assert (thin.budgets[0], thin.budget) == (1, 1000)
    one, other = (study.methods[""].kinds["raw"] for study in (whole, thin))
    assert other.auc.mean[0] == pytest.approx(one.auc.mean[0], rel=1e-12)
    np.testing.assert_allclose(other.curves.coverage, one.curves.coverage[:, thin.budgets - 1], rtol=1e-12)


def test_few_inputs_are_not_studied_at_half_a_million_budgets():
    table = cj.CountTable.from_arrays([[400_000]], n=500_000)
    study = study_log({"": table})
    assert len(study.budgets) <= 4_096
    assert study.budget == 500_000


def test_without_room_for_the_count_law_only_full_coverage_is_told(monkeypatch):
    monkeypatch.setattr(studied, "LAW_NUMBERS", 10)
    found = study_log({"": random_log()}).methods[""].kinds["raw"]
    assert set(found.times) == {1.0}
    assert "lower --budget" in found.no_times[0.5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coverage": "right"}, "coverage: must be one of raw, valid, correct"),
        ({"coverage": "valid"}, "has no `valid` column"),
        ({"level": 1.0}, "level: must lie strictly between 0 and 1"),
        ({"interval": "wald"}, "interval: must be one of t, bootstrap"),
        ({"budget": 99}, "budget: must be at most"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(cj.InputError, match=message):
        study_log({"": random_log()}, **options)


def test_kinds_with_equal_counts_and_other_match_sets_stand_apart():
    """Samples {a}, {b}, {a, b}, {}: valid are the first two, correct the third; counts agree, F does not."""
    matches = np.array([[[1, 0], [0, 1], [1, 1], [0, 0]]], bool)
    log = cj.SampleLog.from_arrays(matches, valid=[[1, 1, 0, 0]], correct=[[0, 0, 1, 0]])
    assert list(study_log({"": log}).methods[""].columns()) == ["raw", "valid", "correct"]
