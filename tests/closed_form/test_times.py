"""The coupon collector's expected time, for equal and unequal strategies and for sets."""

import json

import numpy as np
import pytest

import coverjax as cj
from coverjax.closed_form import times


@pytest.mark.shared
def test_golden_times(shared_data):
    golden = json.loads((shared_data / "golden_exact.json").read_text())
    single = cj.OutcomeLaw.from_probs([golden["single_4"]["probs"]])
    want = golden["single_4"]["expected_time_full"]
    assert cj.expected_time_full(single)[0] == pytest.approx(want, rel=1e-12)
    matches = np.array([[s in atom for s in range(3)] for atom in golden["sets_3"]["atoms"]])
    law = cj.OutcomeLaw.from_match_sets([golden["sets_3"]["probs"]], matches)
    want = golden["sets_3"]["expected_time_full"]
    assert cj.expected_time_full(law)[0] == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize(
    ("probs", "want"),
    [
        ([1 / 2, 1 / 3, 1 / 6], 73 / 10),
        ([0.4, 0.3, 0.2, 0.1], 445 / 36),
        ([1.0], 1.0),
        ([0.25], 4.0),
        ([0.5, 0.25], 14 / 3),
        ([0.5, 0.3, 1e-9], 1e9),
        ([1e-300, 1.0], 1e300),
        ([0.5, 0.5, 0.0], np.inf),
    ],
)
def test_expected_time_of_unequal_strategies(probs, want):
    assert cj.expected_time_full(cj.OutcomeLaw.from_probs([probs]))[0] == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("strategies", [2, 3, 6, 10, 50, 52, 365, 5000])
def test_expected_time_is_the_coupon_collectors(strategies):
    time = cj.expected_time_full(cj.families.uniform(1, strategies))[0]
    assert time == pytest.approx(strategies * np.sum(1 / np.arange(1.0, strategies + 1)), rel=1e-12)
    printed = {2: 3, 3: 5.5, 6: 14.7, 10: 29.2896825397, 50: 224.9602669, 52: 235.9782854, 365: 2364.6460234}
    if strategies in printed:
        assert time == pytest.approx(printed[strategies], abs=6e-8)


def test_expected_time_counts_declared_strategies_only():
    probs = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = times.label_time_full(probs, np.array([2, 3, 0, 1]))
    np.testing.assert_allclose(found, [3.0, np.inf, 0.0, np.inf])


def test_models_and_kinds_of_coverage():
    model = cj.RouterGenerator([[0.5, 0.5]], [[[1.0, 0.0], [0.0, 1.0]]], valid=[1.0, 0.5])
    assert cj.expected_time_full(model)[0] == pytest.approx(3.0, rel=1e-12)
    valid = cj.expected_time_full(model, coverage="valid")[0]
    assert valid == pytest.approx(2 + 4 - 1 / 0.75, rel=1e-12)
    with pytest.raises(cj.InputError, match="holds no `correct` probabilities"):
        cj.expected_time_full(model, coverage="correct")


def test_new_probabilities_do_not_recompile(rng):
    cj.expected_time_full(cj.OutcomeLaw.from_probs(rng.dirichlet(np.ones(9), size=5)))
    compiled = times._time_integral.jitted._cache_size()
    cj.expected_time_full(cj.OutcomeLaw.from_probs(rng.dirichlet(np.ones(9), size=6)))
    assert times._time_integral.jitted._cache_size() == compiled
