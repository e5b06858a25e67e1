"""Coverage against correctness, drawn."""

import dataclasses

import numpy as np
import pytest
from sample_logs import flagged_log

import coverjax as cj


def test_lines_have_their_points_and_ends():
    curves = {"a": cj.utility_curves(flagged_log(seed=1)), "b": cj.utility_curves(flagged_log(seed=2))}
    ax = cj.plot_coverage_against_correctness(curves)
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 8]
    for line, own in zip(drawn, curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), own.mean().coverage[0])
        np.testing.assert_array_equal(line.get_ydata(), own.mean().utility["pass_at_k"][0])
    assert [text.get_text() for text in ax.texts] == ["a, k = 8", "b, k = 8"]
    low, high = ax.get_xlim()
    assert low < min(own.mean().coverage[0, 0] for own in curves.values())
    assert high >= max(own.mean().coverage[0, -1] for own in curves.values())
    assert "over 6 inputs" in ax.get_title(loc="left")


def test_other_utilities_and_wrong_ones():
    curves = cj.utility_curves(flagged_log(), names=["pass_all_k"])
    ax = cj.plot_coverage_against_correctness(curves, utility="pass_all_k")
    assert ax.get_ylabel() == "pass^k"
    assert [text.get_text() for text in ax.texts] == ["k = 8"]
    with pytest.raises(cj.InputError, match="pass_at_k: must be a utility of the curves"):
        cj.plot_coverage_against_correctness(curves)


def test_dots_at_the_top_are_whole_and_thin_lines_are_explained():
    """All but one sample solves its input: pass@k goes from just below 1 to 1, and that is no cliff."""
    log = flagged_log(seed=1)
    solved = dataclasses.replace(log, correct=np.arange(log.correct.size).reshape(log.correct.shape) > 0)
    ax = cj.plot_coverage_against_correctness(cj.utility_curves(solved), level=0.9)
    low, high = ax.get_ylim()
    assert high - low == pytest.approx(0.1, rel=0.05)
    assert high - 1.0 > 0.005
    assert "thin lines there: 90 % t-intervals over inputs" in ax.get_xlabel()
    one = cj.plot_coverage_against_correctness(cj.utility_curves(solved.take([0])))
    assert "thin lines" not in one.get_xlabel()
    assert "dots: k = 1, 2, 4" in one.get_xlabel()
