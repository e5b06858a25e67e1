"""Summaries over concepts, and paired comparisons of two systems."""

import numpy as np
import pytest
import teachable

from coverjax.corrections import Sweep, compare_systems, run, summaries
from coverjax.corrections.competence import by_concept
from coverjax.foundation.checks import InputError
from coverjax.inference.intervals import mean_interval


def noisy(cases, seed, **settings):
    return run(cases, "noisy-memory", settings={"seed": seed, **settings}, workers=0)


def test_a_summary_is_the_inference_of_coverage_on_the_curves(make_cases):
    found = noisy(make_cases(20, own=True), 1, forgetting=0.3)
    summary = summaries(found)["public"]
    fractions = found.hits / found.expected[:, None]
    wanted = mean_interval(fractions)
    np.testing.assert_array_equal(summary.curve.mean, fractions.mean(axis=0))
    np.testing.assert_array_equal(summary.curve.low, wanted.low)
    assert (summary.band.high - summary.band.low)[3] > (wanted.high - wanted.low)[3]
    times = np.minimum(np.where(np.isnan(found.saturation), np.inf, found.saturation), 5)
    assert summary.saturation.restricted_mean.mean[0] == pytest.approx(times.mean())
    assert summary.saturation.survival.restricted_mean(5) == pytest.approx(times.mean())
    assert summary.saturation.reached == np.isfinite(found.saturation).sum()
    assert 0 < summary.saturation.reached < 20
    assert summary.area.mean[0] == pytest.approx(fractions[:, 1:].mean())


def test_splits_are_apart_and_all_together_first(make_cases):
    cases = [{**case, "split": "holdout" if i % 3 else "public"} for i, case in enumerate(make_cases(7))]
    found = run(cases, "memory", workers=0)
    parts = summaries(found)
    assert {name: part.concepts for name, part in parts.items()} == {"all": 7, "public": 3, "holdout": 4}
    assert list(parts) == ["all", "public", "holdout"]
    with pytest.raises(InputError, match="split: must be one of public, holdout; got 'train'"):
        found.split("train")


def test_variants_are_averaged_so_that_concepts_weigh_alike():
    values = np.array([[0.0], [1.0], [1.0], [np.nan], [np.nan]])
    assert by_concept(values, np.array([0, 0, 1, 1, 2])).tolist() == [[0.5], [1.0]]
    assert by_concept(np.zeros((0, 2)), np.zeros(0, int)).shape == (0, 2)


def test_variants_do_not_narrow_the_interval_over_concepts(make_cases):
    cases = make_cases(12, own=True)
    once = summaries(run(cases, "memory", workers=0))["public"]
    orders = summaries(run(cases, "memory", sweep=Sweep(orders=5), workers=0))["public"]
    assert (once.concepts, orders.concepts, orders.variants) == (12, 12, 60)
    assert orders.area.units == 12
    assert any("60 variants of 12 concepts" in text for text in orders.warnings)


def test_nothing_graded_gives_nothing_and_says_so(make_cases):
    summary = summaries(run(make_cases(2), teachable.Picky, workers=0))["public"]
    assert summary.concepts == 0
    assert np.isnan(summary.saturation.rate.mean).all()
    assert np.isnan(summary.curve.mean).all()


def test_two_systems_are_paired_by_concept_in_any_order(make_cases):
    cases = make_cases(25, own=True)
    a, b = noisy(cases, 1, forgetting=0.05), noisy(cases[::-1], 2, forgetting=0.4)
    found = compare_systems(a, b)
    difference = (a.hits - b.hits[::-1]) / 4
    np.testing.assert_allclose(found.curve.difference, difference.mean(axis=0), atol=1e-15)
    assert found.curve.budgets.tolist() == [0, 1, 2, 3, 4]
    assert 4 in found.curve.wins
    assert 0 in found.curve.undecided
    assert found.curve.inputs == 25
    np.testing.assert_allclose(found.differences["area"].mean, (a.area - b.area[::-1]).mean(), rtol=1e-12)
    never = [np.where(np.isnan(x), 5, x) for x in (a.saturation, b.saturation[::-1])]
    assert found.differences["saturation"].mean[0] == pytest.approx((never[0] - never[1]).mean())
    assert found.restricted_to == 5
    mirrored = compare_systems(b, a)
    np.testing.assert_allclose(mirrored.curve.difference, -found.curve.difference, atol=1e-15)
    assert mirrored.curve.losses.tolist() == found.curve.wins.tolist()
    assert compare_systems(a, a).curve.flagged.all()


def test_what_can_not_be_paired_is_left_out_and_counted(make_cases):
    cases = make_cases(6)
    other = [{**case, "probe": "Which?"} if case["concept"] == "c1" else case for case in cases[:5]]
    found = compare_systems(run(cases, "memory", workers=0), run(other, teachable.Restless, workers=0))
    assert (found.curve.inputs, found.left_out, found.changed) == (4, 2, 1)
    assert any(
        "1 concepts have another curriculum, probe or expected tokens" in text for text in found.warnings
    )
    assert any("b fails the replay gate" in text for text in found.warnings)
    with pytest.raises(InputError, match="needs concepts that both runs graded"):
        compare_systems(run(cases[:2], "memory", workers=0), run(cases[3:], "memory", workers=0))


def test_unlike_runs_are_said_to_be_unlike(make_cases):
    cases = make_cases(3, seed="Begin.")
    one, other = (run(cases, "memory", sweep=Sweep(seed_turn=on), workers=0) for on in (True, False))
    assert any(
        "unlike is compared with unlike: sweep" in text for text in compare_systems(one, other).warnings
    )
