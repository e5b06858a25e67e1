"""What coverage numbers stand on, line by line."""

import pytest
from sample_logs import LOGS, flagged_log, random_log

import coverjax as cj
from coverjax.report.guardrails import guardrail_text, guardrails
from coverjax.report.study import study_log
from coverjax.report.summary import summary
from coverjax.report.tables import report_text

FACTS = {
    "inputs": 20,
    "inputs_used": 18,
    "n_short": 1,
    "inputs_without_declared": 0,
    "trials": 1,
    "n_min": 16,
    "n_max": 16,
    "declared_total": 55,
    "declared_min": 1,
    "declared_median": 2.5,
    "declared_max": 5,
    "declared_given": True,
    "undeclared_found": 0,
    "undeclared_inputs": 0,
    "labelers": [],
    "order": "exchangeable",
}


def line(name, coverage=None, budget=16, latent=None, sees="", knows="", **facts):
    coverage = {"raw": 0.5} if coverage is None else coverage
    return guardrails({**FACTS, **facts}, coverage, budget, latent=latent, sees=sees, knows=knows)[name]


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("inputs", {}, "18 used of 20; 16 samples each"),
        ("inputs", {"n_min": 3, "n_max": 1600}, "18 used of 20; 3 to 1,600 samples each"),
        ("inputs", {"trials": 4}, "18 used of 20; 4 trials of 16 samples each"),
        (
            "kinds",
            {"coverage": {"raw": 0.8124, "valid": 0.79, "correct": float("nan")}},
            "C(16) raw 0.812, valid 0.790, correct -",
        ),
        ("kinds", {}, "C(16) raw 0.500; valid and correct: the log has no such column"),
        (
            "kinds",
            {"coverage": {"raw": 0.5, "correct": 0.25}},
            "C(16) raw 0.500, correct 0.250; valid: the log has no such column",
        ),
        ("denominator", {}, "55 declared strategies; M min / median / max 1 / 2.5 / 5"),
        ("denominator", {"declared_total": 1}, "1 declared strategy; M min / median / max 1 / 2.5 / 5"),
        (
            "denominator",
            {"declared_given": False},
            "55 labels seen in this log stand for declared ones, and grow with it; "
            "M min / median / max 1 / 2.5 / 5",
        ),
        ("undeclared", {}, "no label outside the declared ones"),
        ("undeclared", {"undeclared_found": None}, "no label outside the declared ones"),
        (
            "undeclared",
            {"undeclared_found": 35, "undeclared_inputs": 1},
            "35 labels outside the declared ones, on 1 input: no part of C",
        ),
        ("left out", {}, "1 n_short (fewer than 16 samples)"),
        (
            "left out",
            {"n_short": 0, "inputs_without_declared": 2},
            "0 n_short (fewer than 16 samples), 2 without a declared strategy (M = 0)",
        ),
        ("labeler", {}, "not stated; a wrong label is a wrong number"),
        ("labeler", {"labelers": ["human", "rule:v2"]}, "human, rule:v2"),
        ("order", {}, "taken as exchangeable: C(k) is the mean over all k-subsets of a trial"),
        (
            "order",
            {"order": "observed"},
            "observed order: the first k samples of each trial, nothing permuted",
        ),
        ("saw / knew", {}, "not on record / not on record"),
        ("saw / knew", {"sees": "blind", "knows": "router"}, "blind / router"),
        ("latents", {}, "none on record"),
        (
            "latents",
            {"latent": 0.91},
            "0.910 of the latents used within 16 samples: that is latent coverage, no coverage of strategies",
        ),
    ],
)
def test_each_line(name, given, told):
    assert line(name, **given) == told


def test_there_are_no_other_lines():
    names = ["inputs", "kinds", "denominator", "undeclared", "left out", "labeler", "order"]
    assert list(guardrails(FACTS, {"raw": 0.5}, 16)) == [*names, "saw / knew", "latents"]


def test_methods_that_agree_are_told_once():
    one, other = guardrails(FACTS, {"raw": 0.5}, 16), guardrails(FACTS, {"raw": 0.25}, 16)
    lines = guardrail_text({"a": one, "b": other})
    assert [text for text in lines if text.startswith("labeler")] == [
        "labeler      not stated; a wrong label is a wrong number"
    ]
    assert lines[1].startswith("kinds        a: C(16) raw 0.500;")
    assert any(text.startswith("             b: C(16) raw 0.250;") for text in lines)
    many = guardrail_text({f"m{i}": guardrails(FACTS, {"raw": i / 10}, 16) for i in range(10)})
    assert "             and 2 more methods: --json" in many


@pytest.mark.parametrize("name", LOGS)
def test_every_report_has_every_line(studies, name):
    study = studies(name)
    text = report_text(study)
    for title in guardrails(FACTS, {}, 1):
        assert f"\n{title}" in text
    document = summary(study, verb="estimate", command="c", options={})
    for method in document["methods"]:
        assert method["guardrails"] == study.methods[method["method"]].guardrails()


def test_numbers_in_the_lines_are_those_of_the_library():
    log = flagged_log(latent=[[[0, 1] * 4]] * 6)
    found = study_log({"": log}, budget=5).methods[""].guardrails()
    told = ", ".join(
        f"{kind} {cj.estimate(log, 5, kind).mean().coverage[0, -1]:.3f}"
        for kind in ("raw", "valid", "correct")
    )
    assert found["kinds"] == f"C(5) {told}"
    latent = cj.estimate(log, 5).mean().latent_coverage[0, -1]
    assert found["latents"].startswith(f"{latent:.3f} of the latents used within 5 samples")
    assert study_log({"": random_log(labeler="human")}).methods[""].guardrails()["labeler"] == "human"
