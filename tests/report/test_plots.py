"""Figures say what they show."""

import dataclasses
import itertools

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from sample_logs import random_log

import coverjax as cj
from coverjax.inference.units import Interval
from coverjax.report.plots import MOST_BANDS
from coverjax.report.spread_plots import time_by_input_figure, worth_drawing
from coverjax.report.style import new_figure
from coverjax.report.text import band_notes

CURVES = cj.estimate(random_log(), include=("default", "count_law"))


def words(ax):
    """All text of an axes: labels, title, legend, names of lines."""
    legend = ax.get_legend()
    parts = [
        ax.get_title(loc="left"),
        ax.get_xlabel(),
        ax.get_ylabel(),
        *(text.get_text() for text in ax.texts),
    ]
    parts += [] if legend is None else [text.get_text() for text in legend.get_texts()]
    return " | ".join(parts).replace("\n", " ")


def line(ax, number=0):
    """The numbered of the lines that are data, not edges of bands or leaders."""
    drawn = [artist for artist in ax.lines if artist.get_linewidth() > 1.0]
    return np.asarray(drawn[number].get_xdata(), float), np.asarray(drawn[number].get_ydata(), float)


def test_coverage_is_drawn_and_labelled():
    ax = cj.plot_coverage(CURVES)
    x, y = line(ax)
    np.testing.assert_array_equal(x, CURVES.budgets)
    np.testing.assert_array_equal(y, CURVES.mean().coverage[0])
    told = words(ax)
    assert "samples drawn, k" in told
    assert "fraction of declared strategies" in told
    assert "95 % simultaneous band over 6 inputs" in told
    assert "raw coverage, mean over 6 inputs" in told


@pytest.mark.parametrize(
    ("band", "told"),
    [
        ("t", "90 % pointwise t-interval over 6 inputs"),
        ("bootstrap", "90 % pointwise bootstrap interval over 6 inputs"),
        ("band", "90 % simultaneous band over 6 inputs"),
        ("auto", "90 % simultaneous band over 6 inputs"),
    ],
)
def test_the_legend_says_what_a_band_is(band, told):
    ax = cj.plot_coverage(CURVES, band=band, level=0.9)
    assert told in words(ax)
    method = "band" if band == "auto" else band
    low, high = cj.interval(CURVES, level=0.9, method=method)
    corners = ax.collections[0].get_paths()[0].vertices
    np.testing.assert_allclose([corners[:, 1].min(), corners[:, 1].max()], [low.min(), high.max()])


def test_no_band_where_none_is_asked_or_curves_are_exact():
    exact = dataclasses.replace(CURVES, provenance={"kind": "exact"})
    for ax in (cj.plot_coverage(CURVES, band="none"), cj.plot_coverage(exact)):
        assert not ax.collections
        assert ax.get_legend() is None


def test_why_there_is_no_band_is_said():
    one = cj.estimate(random_log(inputs=1))
    assert "no band: 1 input, an interval needs at least 2" in words(cj.plot_coverage(one))
    same = cj.estimate(cj.SampleLog.from_arrays(np.ones((3, 2, 1), bool)))
    assert "no band: no variance over 3 inputs" in words(cj.plot_coverage(same))


def test_several_lines_bear_their_names_apart():
    lines = {name: cj.estimate(random_log(seed=i)) for i, name in enumerate(("iid", "$no$ repeat", "<b>"))}
    figure = new_figure(6.4, 4.0)
    ax = cj.plot_coverage(lines, figure.subplots())
    assert {"iid", "$no$ repeat", "<b>"} == {text.get_text() for text in ax.texts}
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    for i, one in enumerate(boxes):
        assert one.x0 > ax.bbox.x1
        assert one.x1 <= figure.bbox.x1
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])


def test_thirty_equal_ends_do_not_overlap():
    lines = {f"method {i}": CURVES for i in range(30)}
    figure = new_figure(6.4, 6.0)
    ax = cj.plot_coverage(lines, figure.subplots())
    figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1.0 for low, high in itertools.pairwise(boxes))
    assert f"no bands: more than {MOST_BANDS} lines" in words(ax)
    assert not ax.collections


def test_the_axis_is_logarithmic_beyond_two_decades():
    def scale(most):
        table = cj.CountTable.from_arrays([3, 5], n=most)
        ax = cj.plot_coverage(cj.estimate(table))
        return ax.get_xscale(), ax.get_xlabel()

    assert scale(100) == ("linear", "samples drawn, k")
    assert scale(101) == ("log", "samples drawn, k (logarithmic)")


def test_high_curves_get_a_higher_floor_and_say_it_by_the_axis():
    high = cj.plot_coverage(cj.estimate(cj.CountTable.from_arrays([[90], [95], [99]], n=100)))
    low = cj.plot_coverage(CURVES)
    assert high.get_ylim()[0] >= 0.4
    assert low.get_ylim()[0] <= 0.0


@pytest.mark.parametrize(
    ("quantity", "label"),
    [
        ("novelty_count", "expected new declared strategies in sample k"),
        ("novelty_any", "P(sample k brings a new declared strategy)"),
    ],
)
def test_novelty(quantity, label):
    ax = cj.plot_novelty(CURVES, quantity=quantity)
    np.testing.assert_array_equal(line(ax)[1], getattr(CURVES.mean(), quantity)[0])
    assert label in words(ax)
    assert "simultaneous band" in words(ax)


def test_novelty_over_many_decades_is_logarithmic():
    ax = cj.plot_novelty(cj.estimate(cj.CountTable.from_arrays([[200], [900]], n=1000), budget=30))
    assert ax.get_yscale() == "log"
    assert "(logarithmic)" in ax.get_ylabel()
    ax.figure.draw_without_rendering()
    ticks = [text.get_text() for text in [*ax.get_yticklabels(), *ax.get_yticklabels(minor=True)]]
    assert "0.01" in ticks
    assert not any("$" in tick for tick in ticks)
    assert cj.plot_novelty(CURVES).get_yscale() == "linear"
    never = cj.estimate(cj.CountTable.from_arrays([[900], [1000]], n=1000), budget=500)
    assert never.mean().novelty_count[0, -1] == 0.0
    assert cj.plot_novelty(never).get_yscale() == "linear"


def test_time_to_coverage_is_a_law_with_its_missing_share():
    ax = cj.plot_time_to_coverage({"a": CURVES, "b": CURVES}, tau=0.5)
    pooled = cj.time_to_coverage(CURVES, 0.5).pooled
    x, y = line(ax)
    np.testing.assert_array_equal(x[:-1], CURVES.budgets)
    np.testing.assert_allclose(y[:-1], 1.0 - pooled.survival)
    assert f"a: {float(pooled.censored):.0%} never" in words(ax)
    assert "share of runs with T(0.5) ≤ k" in words(ax)


def test_curves_of_labels_seen_are_not_called_declared():
    union = dataclasses.replace(CURVES, provenance={**CURVES.provenance, "declared_given": False})
    assert "the labels seen in this log" in words(cj.plot_coverage(union))


def test_nothing_to_draw_is_said():
    none = cj.estimate(cj.SampleLog.from_arrays(np.ones((2, 3, 1), bool), declared=[False]))
    for ax in (cj.plot_coverage(none), cj.plot_novelty(none)):
        assert "no input has both enough samples" in words(ax)


def test_wrong_arguments():
    with pytest.raises(cj.InputError, match="band: must be one of auto, none, band, t, bootstrap"):
        cj.plot_coverage(CURVES, band="95")
    with pytest.raises(cj.InputError, match="got an empty mapping"):
        cj.plot_coverage({})
    with pytest.raises(cj.InputError, match="quantity: must be one of novelty_count, novelty_any"):
        cj.plot_novelty(CURVES, quantity="coverage")
    without = cj.estimate(random_log(), include="coverage")
    with pytest.raises(cj.InputError, match="hold no novelty_any"):
        cj.plot_novelty(without, quantity="novelty_any")


def test_no_global_state_of_matplotlib_is_touched():
    before = dict(matplotlib.rcParams)
    cj.plot_coverage(CURVES)
    assert dict(matplotlib.rcParams) == before


def test_no_band_is_drawn_where_there_is_no_interval():
    """Flagged budgets stay free, a budget between two of them gets a bar, and the legend counts them."""
    curves = cj.estimate(random_log(samples=6))
    ends = np.array([np.nan, 0.2, np.nan, 0.3, 0.3, np.nan])
    mean = curves.mean().coverage[0]
    around = Interval(ends, ends + 0.1, mean, ends, 6, 6, 0.95, "band", 2.0, np.isnan(ends), ())
    ax = cj.plot_coverage({"a": curves}, intervals={"a": around})
    bars = [c for c in ax.collections if isinstance(c, LineCollection)]
    areas = [c for c in ax.collections if isinstance(c, PolyCollection) and not isinstance(c, LineCollection)]
    assert [segment[0][0] for bar in bars for segment in bar.get_segments()] == [2.0]
    corners = np.concatenate([path.vertices[:, 0] for area in areas for path in area.get_paths()])
    assert (corners.min(), corners.max()) == (4.0, 5.0)
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert told == ["95 % simultaneous band over 6 inputs", "no band at 3 of 6 budgets (all agree)"]


def test_the_legend_names_the_lines_whose_bands_have_gaps():
    whole, gaps = (cj.estimate(random_log(seed=i)) for i in range(2))
    mean = gaps.mean().coverage[0]
    ends = np.where(np.arange(len(mean)) < 1, np.nan, 0.3)
    torn = Interval(ends, ends + 0.1, mean, ends, 6, 6, 0.95, "band", 2.0, np.isnan(ends), ())
    around = dataclasses.replace(torn, low=mean - 0.1, high=mean + 0.1, flagged=np.zeros(len(mean), bool))
    ax = cj.plot_coverage({"a": whole, "b": gaps}, intervals={"a": around, "b": torn})
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    gap = f"no band at 1 of {len(mean)} budgets (all agree)"
    assert told == ["95 % simultaneous band over 6 inputs", f"b: {gap}"]
    assert band_notes({"a": gap, "b": gap}) == [gap]
    assert band_notes({"a": "", "b": ""}) == []
    assert band_notes({"a": "x", "b": "y", "c": "x"}) == ["a, c: x", "b: y"]


def test_times_that_are_all_the_same_are_not_drawn():
    """Nothing reaches 80 % within K: every input has K, and boxes would show a line."""
    nothing = cj.SampleLog.from_arrays(np.zeros((8, 3, 2), bool))
    same = cj.estimate(nothing, include=("default", "count_law"))
    assert not worth_drawing({"a": same, "b": same})
    assert worth_drawing({"a": same, "b": CURVES})
    assert not worth_drawing({})


def test_draws_are_counted_in_whole_numbers():
    ax = time_by_input_figure({"a": CURVES}).axes[0]
    assert all(tick == int(tick) for tick in ax.get_xticks())
