"""What is read off one curve, and Kaplan-Meier, by hand and by other algorithms."""

import itertools

import numpy as np
import pytest

from coverjax.corrections import measures
from coverjax.corrections.survival import kaplan_meier
from coverjax.foundation.checks import InputError
from tests import reference_corrections as reference

CURVES = [c for n in (1, 2, 3, 4) for c in itertools.product(range(3), repeat=n + 1)]


def test_a_curve_that_rises_falls_and_recovers():
    hits = [0, 1, 2, 3, 2, 2, 3, 3]
    assert measures.first_crossing(hits, 3) == 3
    assert measures.sustained_crossing(hits, 3) == 6
    assert measures.drops(hits) == {4: 1}
    assert measures.largest_drop(hits) == 1
    assert measures.area(hits, 3) == pytest.approx(16 / 21)


def test_never_is_none_and_prior_knowledge_is_a_first_hit_at_zero():
    assert measures.first_crossing([0, 0, 0], 1) is None
    assert measures.sustained_crossing([0, 2, 0], 1) is None
    assert measures.first_crossing([1, 0], 1) == 0
    assert measures.sustained_crossing([2, 1, 1], 1) == 0


def test_crossings_and_drops_on_every_small_curve():
    for hits in CURVES:
        for need in (1, 2):
            good = [hit >= need for hit in hits]
            assert measures.first_crossing(hits, need) == (good.index(True) if any(good) else None)
            starts = [k for k in range(len(hits)) if all(good[k:])]
            assert measures.sustained_crossing(hits, need) == (starts[0] if starts else None)
        falls = [hits[j] - hits[k] for j in range(len(hits)) for k in range(j, len(hits))]
        assert measures.largest_drop(hits) == max(falls)
        assert sum(measures.drops(hits).values()) == sum(max(a - b, 0) for a, b in itertools.pairwise(hits))


def test_survival_by_hand():
    # Six units: one each at 1 and 3, two at 4, one lost after 2, one followed to 5 without anything.
    found = kaplan_meier([1, 3, 4, 4, np.nan, np.nan], [5, 5, 5, 5, 2, 5])
    assert found.at_risk.tolist() == [6, 6, 5, 4, 3, 1]
    assert found.events.tolist() == [0, 1, 0, 1, 2, 0]
    steps = [1, 5 / 6, 5 / 6, 5 / 8, 5 / 24, 5 / 24]
    np.testing.assert_allclose(found.survival, steps, rtol=1e-15)
    greenwood = 1 / 30 + 1 / 12 + 2 / 3
    np.testing.assert_allclose(found.stderr[4], 5 / 24 * np.sqrt(greenwood), rtol=1e-15)
    assert found.median == 4
    assert found.restricted_mean(5) == pytest.approx(1 + 5 / 6 + 5 / 6 + 5 / 8 + 5 / 24)
    assert found.restricted_mean(0) == 0.0


def test_all_followed_equally_is_the_plain_share_and_the_plain_mean(rng):
    times = rng.integers(0, 9, 50).astype(float)
    times[times > 6] = np.nan
    found = kaplan_meier(times, np.full(50, 6))
    late = np.where(np.isnan(times), np.inf, times)
    np.testing.assert_allclose(found.survival, [(late > k).mean() for k in range(7)], rtol=1e-12)
    for to in (1, 5, 7):
        assert found.restricted_mean(to) == pytest.approx(np.minimum(late, to).mean(), rel=1e-12)
    # Greenwood without anyone lost is the binomial standard error.
    share = found.survival
    np.testing.assert_allclose(found.stderr, np.sqrt(share * (1 - share) / 50), rtol=1e-10, atol=1e-15)


def test_survival_is_the_redistribution_to_the_right(rng):
    for _ in range(60):
        count = int(rng.integers(1, 9))
        followed = rng.integers(0, 6, count)
        times = [
            int(t) if t <= end else None for t, end in zip(rng.integers(0, 8, count), followed, strict=True)
        ]
        found = kaplan_meier([np.nan if t is None else t for t in times], followed)
        for k, value in enumerate(found.survival):
            if not np.isnan(value):
                assert value == pytest.approx(float(reference.redistributed(times, followed, k)), abs=1e-12)


def test_survival_ends_where_nobody_is_followed():
    # The longest followed had it at 1; the other was lost at 2 and says nothing of what comes later.
    found = kaplan_meier([1, np.nan], [4, 2])
    assert found.survival[:3].tolist() == [1.0, 0.5, 0.5]
    assert np.isnan(found.survival[3:]).all()
    assert np.isnan(found.stderr[3:]).all()
    assert np.isnan(found.restricted_mean(5))
    assert found.restricted_mean(3) == 2.0
    everything = kaplan_meier([1, 1], [4, 4])
    assert everything.survival.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert everything.restricted_mean(5) == 1.0


@pytest.mark.parametrize(
    ("times", "followed", "says"),
    [
        ([3.0], [2], "must lie between 0 and what was followed"),
        ([-1.0], [2], "must lie between 0 and what was followed"),
        ([], [], "at least one"),
        ([1.0, 2.0], [2], "one for each unit"),
    ],
)
def test_wrong_times_are_refused(times, followed, says):
    with pytest.raises(InputError, match=says):
        kaplan_meier(times, followed)


def test_a_mean_beyond_what_was_followed_is_refused():
    with pytest.raises(InputError, match=r"to: must lie in 0..3, what was followed; got 4"):
        kaplan_meier([1.0], [2]).restricted_mean(4)
