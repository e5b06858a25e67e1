"""The document: complete, without NaN, the same bytes for the same study."""

import csv
import json
import math

import numpy as np
import pytest
from sample_logs import LOGS

from coverjax.report.plain import to_json
from coverjax.report.study import study_log
from coverjax.report.summary import summary, write_curves, write_inputs


def document(study):
    return json.loads(to_json(summary(study, verb="estimate", command="c", options={"seed": 0})))


def nulls(node, path="$"):
    """Paths of objects that hold a null, in themselves or in a list, without saying why."""
    if isinstance(node, dict):
        holds = any(v is None or (isinstance(v, list) and None in v) for v in node.values())
        if holds and not node.get("why_null"):
            yield path
        for name, value in node.items():
            yield from nulls(value, f"{path}.{name}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from nulls(value, f"{path}[{number}]")


@pytest.mark.parametrize("name", LOGS)
def test_every_null_has_its_reason_and_there_is_no_nan(studies, name):
    text = to_json(summary(studies(name), verb="estimate", command="c", options={}))
    assert "NaN" not in text
    assert "Infinity" not in text
    assert list(nulls(json.loads(text))) == []


def test_the_search_for_nulls_finds_them():
    assert list(nulls({"a": {"b": [1, None]}})) == ["$.a"]
    assert list(nulls({"a": {"b": None, "why_null": "because"}})) == []


def test_the_same_study_gives_the_same_bytes():
    texts = {
        to_json(summary(study_log(LOGS["two methods"]()), verb="estimate", command="c", options={}))
        for _ in range(2)
    }
    assert len(texts) == 1


def test_numbers(studies):
    study = studies("two methods")
    told = document(study)
    found = study.methods["a"].kinds["raw"]
    assert told["budgets"] == list(range(1, 9))
    assert [method["method"] for method in told["methods"]] == ["a", "b"]
    raw = told["methods"][0]["kinds"]["raw"]
    np.testing.assert_array_equal(raw["curves"]["coverage"]["mean"], found.intervals["coverage"].mean)
    np.testing.assert_array_equal(raw["curves"]["coverage"]["band_high"], found.bands["coverage"].high)
    assert raw["auc"]["low"] == found.auc.low[0]
    assert raw["time_to_coverage"]["0.5"]["never"] == float(found.times[0.5].pooled.censored)
    pair = told["comparisons"][0]
    assert (pair["a"], pair["b"]) == ("a", "b")
    assert sorted(pair["wins"] + pair["losses"] + pair["undecided"]) == told["budgets"]


@pytest.mark.parametrize("name", ["flags", "two methods", "evil names", "uneven", "none declared"])
def test_curves_as_csv(studies, tmp_path, name):
    study = studies(name)
    write_curves(study, tmp_path / "curves.csv")
    with open(tmp_path / "curves.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = [(m.name, k, f) for m in study.methods.values() for k, f in m.kinds.items()]
    assert len(rows) == len(kinds) * len(study.budgets)
    for number, (method, kind, found) in enumerate(kinds):
        part = rows[number * len(study.budgets) : (number + 1) * len(study.budgets)]
        assert {(row["method"], row["kind"]) for row in part} == {(method, kind)}
        assert [int(row["k"]) for row in part] == study.budgets.tolist()
        told = [float(row["coverage_low"] or math.nan) for row in part]
        np.testing.assert_array_equal(told, found.intervals["coverage"].low)


def test_inputs_as_csv(studies, tmp_path):
    study = studies("uneven", budget=5)
    write_inputs(study, tmp_path / "inputs.csv")
    with open(tmp_path / "inputs.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 * 5
    assert {row["input"] for row in rows if row["left_out"] == "short"} == {"2", "4"}
    assert all(row["coverage"] == "" for row in rows if row["left_out"])
    used = [float(row["coverage"]) for row in rows if not row["left_out"]]
    curves = study.methods[""].kinds["raw"].curves
    np.testing.assert_array_equal(used, curves.coverage[curves.used].ravel())


def test_methods_with_different_columns_share_one_header(tmp_path):
    logs = {"samples": LOGS["one method"]()[""], "counts": LOGS["counts"]()[""]}
    study = study_log(logs, budget=4)
    for write in (write_curves, write_inputs):
        write(study, tmp_path / "table.csv")
        with open(tmp_path / "table.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
        assert {row["method"] for row in rows} == {"samples", "counts"}
        assert all((row["full_coverage"] == "") == (row["method"] == "counts") for row in rows)
