"""Rare or common: every division of the samples written down, and no gain of a baseline over itself."""

import itertools

import numpy as np
import pytest

import coverjax as cj
from coverjax.evaluation.rarity import rarity_shares


def area(matches):
    """AUC of each strategy over all subsets of these samples: its rank among them, averaged over orders."""
    orders = itertools.permutations(range(len(matches)))
    most = len(matches)
    total = np.zeros(matches.shape[1])
    count = 0
    for order in orders:
        first = np.where(matches.any(axis=0), matches[list(order)].argmax(axis=0) + 1, most + 1)
        total += (most + 1 - first) / most
        count += 1
    return total / count


def test_against_every_division(rng):
    matches = rng.random((3, 6, 3)) < 0.35
    log = cj.SampleLog.from_arrays(matches)
    found = rarity_shares(log, 6, "raw", rare_below=1.5)
    assert found.budget == 3
    for row in range(3):
        rare, auc_rare, auc = np.zeros(3), np.zeros(3), np.zeros(3)
        divisions = list(itertools.combinations(range(6), 3))
        for looked in divisions:
            rest = [i for i in range(6) if i not in looked]
            is_rare = matches[row, list(looked)].sum(axis=0) * 3 < 1.5 * 3
            own = area(matches[row, rest])
            rare += is_rare / len(divisions)
            auc_rare += is_rare * own / len(divisions)
            auc += own / len(divisions)
        np.testing.assert_allclose(found.rare[row], rare, rtol=1e-12)
        np.testing.assert_allclose(found.auc_rare[row], auc_rare, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.auc[row], auc, rtol=1e-12, atol=1e-15)
    whole = cj.estimate(log, budget=3)
    np.testing.assert_allclose(found.auc, whole.strategy_auc, rtol=1e-12, atol=1e-15)


def test_counts_tell_the_same(rng):
    log = cj.SampleLog.from_arrays(rng.random((4, 9, 3)) < 0.3)
    one, other = (rarity_shares(part, 3, "raw") for part in (log, log.counts()))
    for name in ("rare", "auc_rare", "auc"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_ordered_trials_are_judged_by_the_others():
    matches = np.zeros((1, 3, 2, 1), bool)
    matches[0, 0, 1] = True
    found = rarity_shares(cj.SampleLog.from_arrays(matches, ordered=True), 2, "raw", rare_below=0.5)
    # 1 of 4 samples of the others matches for trials 1 and 2: expected 0.5 times in 2 draws, not below it.
    assert found.rare.tolist() == [[pytest.approx(1 / 3)]]
    assert found.auc.tolist() == [[pytest.approx(0.5 / 3)]]
    assert found.auc_rare.tolist() == [[pytest.approx(0.5 / 3)]]


@pytest.mark.parametrize(
    ("log", "options", "message"),
    [
        (cj.SampleLog.from_arrays([[[1]]]), {}, "needs two samples of every input at least"),
        (cj.SampleLog.from_arrays([[[1], [0]]], ordered=True), {}, "the input 0 has one trial"),
        (
            cj.SampleLog.from_arrays([[[1], [0]]]),
            {"rare_below": 0.0},
            "rare_below: must be a positive number",
        ),
    ],
)
def test_wrong_input(log, options, message):
    with pytest.raises(cj.InputError, match=message):
        rarity_shares(log, 1, "raw", **options)


def two_runs(rng, probs, inputs, samples):
    """A baseline and a second run of it, as two methods."""
    return cj.SampleLog.from_arrays(
        rng.random((2 * inputs, samples, len(probs))) < probs,
        ids=[*range(inputs)] * 2,
        method=["iid"] * inputs + ["again"] * inputs,
    )


@pytest.mark.statistical
def test_a_baseline_gains_nothing_on_itself(rng):
    """Both parts are 0 in the mean; judged by the same samples the rare part is not. |z| < 5: 1e-6."""
    probs = np.array([0.4, 0.08, 0.08, 0.08])
    found = cj.compare_to_baseline(two_runs(rng, probs, 800, 16), "iid").methods["again"].split
    assert found.budget == 8
    for part in (found.common, found.rare):
        assert abs(part.mean[0] / part.stderr[0]) < 5
    log = two_runs(rng, probs, 800, 8)
    parts = {name: cj.estimate(part) for name, part in log.by_method().items()}
    base = parts["iid"]
    seen_rare = base.strategy_probability * 8 < 1.0
    naive = np.where(seen_rare, parts["again"].strategy_auc - base.strategy_auc, 0.0).sum(axis=1)
    assert naive.mean() / (naive.std() / np.sqrt(len(naive))) > 10
