"""The report of a factorized model: intervals of gains and of W, and what stands where there is none."""

import dataclasses
import json

import jax
import numpy as np
import pytest

import coverjax as cj
from coverjax.inference.intervals import mean_interval
from coverjax.metrics import gain_report
from coverjax.report.plain import to_json
from coverjax.report.sequence_tables import (
    evaluation_files,
    gain_interval,
    study_document,
    study_text,
    write_study,
)
from coverjax.sequences.evaluation import evaluate
from coverjax.sequences.exploration import Exploration
from coverjax.sequences.forced import ForcedSamples
from coverjax.sequences.language_model import start_model
from coverjax.sequences.studies import Study
from coverjax.sequences.tasks.registry import task
from coverjax.sequences.transformer import Size

INPUTS, LATENTS, STRATEGIES, DRAWS = 12, 3, 4, 4


def curves_of(policy, probs):
    return cj.exact(policy, cj.OutcomeLaw.from_probs(probs), DRAWS, include=())


@pytest.fixture
def report(rng):
    """Gains of laws that are nearer to uniform than the ones they are compared with."""
    base = rng.dirichlet(np.full(STRATEGIES, 0.4), INPUTS)
    laws = (0.7 * base + 0.3 / STRATEGIES, base, base)
    policies = (cj.IID(), cj.IID(), cj.OracleNoRepeat())
    return gain_report(*(curves_of(policy, probs) for policy, probs in zip(policies, laws, strict=True)))


def test_the_interval_of_a_gain_is_student_s_at_the_level_that_is_asked_for(report):
    """Where the room is the same on all inputs the gain is a mean, and has the t-interval of a mean."""
    ends = {level: gain_interval(report, level) for level in (0.9, 0.95)}
    widths = {level: high - low for level, (low, high) in ends.items()}
    assert 0 < widths[0.9] < widths[0.95]
    for low, high in ends.values():
        assert (low + high) / 2 == pytest.approx(report.pooled)
    values = np.array([0.1, 0.3, 0.2, 0.25, 0.7])
    found = mean_interval(values[:, None], 0.9)
    stderr = values.std(ddof=1) / np.sqrt(len(values))
    same = dataclasses.replace(report, pooled=values.mean(), stderr=stderr, inputs=len(values))
    assert gain_interval(same, 0.9) == pytest.approx((found.low[0], found.high[0]))


def test_where_nothing_varies_there_is_no_interval(rng):
    base = rng.dirichlet(np.full(STRATEGIES, 0.4), INPUTS)
    independent, oracle = (curves_of(policy, base) for policy in (cj.IID(), cj.OracleNoRepeat()))
    own = gain_report(independent, independent, oracle)
    assert own.pooled == 0.0
    assert np.isnan(gain_interval(own, 0.95)).all()
    single = gain_report(*(curves_of(p, base[:1]) for p in (cj.IID(), cj.IID(), cj.OracleNoRepeat())))
    assert np.isnan(gain_interval(single, 0.95)).all()


@pytest.fixture
def study(rng):
    """A study put together by hand: nothing is generated, two methods, one of them the baseline."""
    matches = np.zeros((INPUTS, LATENTS, 5, STRATEGIES), bool)
    for z in range(LATENTS):
        matches[:, z, :, z] = rng.random((INPUTS, 5)) < 0.6
    forced = ForcedSamples.from_arrays(matches)
    router = np.full((INPUTS, LATENTS), 1 / LATENTS)
    table = forced.model(router)
    methods = {"base iid": cj.IID(), "no repeat": cj.LatentNoRepeat()}
    law = {name: cj.exact(policy, table, DRAWS) for name, policy in methods.items()}
    oracle = cj.exact(cj.OracleNoRepeat(), table, DRAWS)
    subject = task("list_summation")
    size = Size(width=8, layers=1, heads=1, hidden=8)
    return Study(
        task=subject,
        base=None,
        model=start_model(jax.random.key(0), subject.name, subject.vocabulary(), size, (14, 40), LATENTS),
        history={},
        evaluation=evaluate(forced, router, level=0.9),
        exploration=Exploration(
            curves=law,
            predicted=law,
            gains={name: gain_report(found, law["base iid"], oracle) for name, found in law.items()},
            chosen="no repeat",
            chosen_unseeing="no repeat",
            logs={},
            sees={name: policy.sees for name, policy in methods.items()},
            knows={name: policy.knows for name, policy in methods.items()},
            table=table,
            forced=forced,
        ),
        traces={0: [("sum 1,2,3,4", "?", ())]},
    )


def test_the_document_has_w_with_intervals_and_says_why_a_number_is_missing(study):
    document = json.loads(to_json(study_document(study, level=0.9)))
    family = document["families"]["all"]
    table, low, high = (np.array(family[name]) for name in ("table", "table_low", "table_high"))
    assert table.shape == (LATENTS, STRATEGIES)
    assert (low <= table).all()
    assert (table <= high).all()
    assert (high - low > 0.01).all()
    expected = study.evaluation.families["all"].table
    np.testing.assert_allclose(low, expected.low, rtol=1e-12)
    np.testing.assert_allclose(high, expected.high, rtol=1e-12)
    assert family["total_variation"] is None
    assert "total_variation: no reference" in family["why_null"]
    own, other = (document["methods"][name]["gain"] for name in ("base iid", "no repeat"))
    assert (own["pooled"], own["low"], own["high"]) == (0.0, None, None)
    assert "no interval: nothing varies" in own["why_null"]
    assert other["low"] < other["pooled"] < other["high"]
    assert "why_null" not in other


def test_the_text_shows_an_interval_only_where_there_is_one(study):
    text = study_text(study, 0.9)
    assert "nan" not in text
    lines = {line[:16].strip(): line for line in text.splitlines()}
    assert lines["base iid"].rstrip().endswith(" 0.000")
    assert lines["no repeat"].count("[") == 2
    assert max(map(len, text.splitlines())) <= 80


def test_what_has_no_number_is_none_in_the_text(study):
    family = study.evaluation.families["all"]
    nothing = dataclasses.replace(family.unique_share, mean=np.array([np.nan]), low=np.array([np.nan]))
    evaluation = dataclasses.replace(
        study.evaluation, families={"all": dataclasses.replace(family, unique_share=nothing)}
    )
    text = " ".join(study_text(dataclasses.replace(study, evaluation=evaluation), 0.9).split())
    assert "unique share none, local coverage" in text
    assert "nan" not in text


def test_files_of_a_study_have_plain_names_that_are_known_beforehand(study, tmp_path):
    log = cj.SampleLog.from_arrays(np.ones((2, 3, 4), bool))
    curves = {"no repeat, alive": study.exploration.curves["no repeat"]}
    names = ("curves", "predicted", "gains", "logs")
    explored = dataclasses.replace(
        study.exploration, **(dict.fromkeys(names, curves) | {"logs": {"no repeat, alive": log}})
    )
    written = write_study(dataclasses.replace(study, exploration=explored), "{}", tmp_path, 0.9)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(written)
    assert "log-no-repeat-alive.jsonl" in written
    assert set(written) == set(evaluation_files(curves))
