"""The barcode shows every sample of what it shows."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from sample_logs import EVIL, random_log

import coverjax as cj
from coverjax.report.barcode import Colours, barcode_figure, evenly
from coverjax.report.style import EMPTY, PALETTE, UNDECLARED, save_figure


def cells(ax):
    """The rectangles by colour, as (left, middle of the row, width), rounded."""
    from matplotlib.colors import to_hex

    found = {}
    for collection in ax.collections:
        if isinstance(collection, PolyCollection):
            boxes = [path.vertices for path in collection.get_paths()]
            colour = to_hex(collection.get_facecolor()[0])
            found[colour] = sorted(
                (
                    round(b[:, 0].min(), 2),
                    round((b[:, 1].min() + b[:, 1].max()) / 2, 2),
                    round(np.ptp(b[:, 0]), 2),
                )
                for b in boxes
            )
    return found


def dots(ax):
    """Where first appearances are marked."""
    marks = [c for c in ax.collections if not isinstance(c, PolyCollection)]
    return sorted(tuple(np.round(at, 2)) for c in marks for at in np.asarray(c.get_offsets()))


def test_cells_by_hand():
    log = cj.SampleLog.from_arrays(
        [[[1, 0, 0], [1, 1, 0], [0, 0, 0]], [[0, 0, 1], [0, 1, 0], [0, 0, 0]]],
        n=[3, 2],
        declared=[True, True, False],
        labels=[["s1", "s2", "other"]] * 2,
    )
    ax = cj.plot_barcode(log)
    assert cells(ax) == {
        PALETTE[0]: [(0.54, 0.0, 0.92), (1.54, 0.0, 0.46)],
        PALETTE[1]: [(1.54, 1.0, 0.92), (2.0, 0.0, 0.46)],
        EMPTY: [(2.54, 0.0, 0.92)],
        UNDECLARED: [(0.54, 1.0, 0.92)],
    }
    assert dots(ax) == [(1.0, 0.0), (2.0, 1.0), (2.23, 0.0)]
    legend = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert legend == ["s1", "s2", "not a declared strategy", "nothing matched", "first time on its input"]


def test_samples_that_do_not_count_are_empty():
    log = cj.SampleLog.from_arrays([[[1], [1]]], correct=[[False, True]])
    assert cells(cj.plot_barcode(log, coverage="correct"))[EMPTY] == [(0.54, 0.0, 0.92)]
    assert EMPTY not in cells(cj.plot_barcode(log))


def test_a_large_log_is_shown_in_part_and_says_so():
    ax = cj.plot_barcode(random_log(inputs=100, samples=60))
    assert ax.get_title(loc="left") == "40 of 100 inputs, first 40 of 60 samples"
    rows = {row for boxes in cells(ax).values() for _, row, _ in boxes}
    assert rows == set(range(40))
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert (labels[0], labels[-1]) == ("0", "99")


def test_methods_share_rows_and_colours():
    a = random_log(ids=list("abcdef"), seed=1)
    b = random_log(ids=list("abcdef"), seed=2).take([5, 0])
    figure = barcode_figure({"a": a, "b": b})
    left, right = figure.axes
    assert [text.get_text() for text in left.get_yticklabels()] == list("abcdef")
    assert {row for boxes in cells(right).values() for _, row, _ in boxes} == {0.0, 5.0}
    assert (left.get_title(loc="left"), right.get_title(loc="left")) == ("a", "b")


def test_a_method_with_fewer_samples_has_a_narrower_panel():
    """Cells are as wide as its neighbour's, numbers stand below samples only, nothing is cut off."""
    figure = barcode_figure({"long": random_log(samples=20), "short": random_log(samples=4)})
    figure.draw_without_rendering()
    left, right = figure.axes
    cell = [ax.bbox.width / np.ptp(ax.get_xlim()) for ax in (left, right)]
    assert cell[0] == pytest.approx(cell[1], rel=0.05)
    assert right.get_xticks().tolist() == [2, 4]
    assert right.get_title(loc="left") == "short"
    for text in (left.xaxis.label, right.xaxis.label, *right.get_xticklabels()):
        assert text.get_window_extent().x1 <= figure.bbox.x1


def test_more_methods_than_fit_are_said():
    figure = barcode_figure({f"m{i}": random_log(seed=i) for i in range(6)})
    assert len(figure.axes) == 4
    assert "4 of 6 methods" in figure.get_suptitle()


def test_trials():
    log = cj.SampleLog.from_arrays(np.ones((1, 2, 3, 1), bool), n=[[3, 1]])
    ax = cj.plot_barcode(log, trial=1)
    assert ax.get_title(loc="left") == "1 input, 1 sample, trial 2 of 2"
    with pytest.raises(cj.InputError, match="trial: must be one of the 2 trials, from 0; got 2"):
        cj.plot_barcode(log, trial=2)


def test_several_methods_in_one_log_are_refused():
    log = cj.SampleLog.from_arrays(np.ones((2, 1, 1), bool), method=["a", "b"])
    with pytest.raises(cj.InputError, match="split the log with by_method"):
        cj.plot_barcode(log)


def test_many_strategies_are_coloured_by_place_and_said():
    log = random_log(labels=20)
    colours = Colours.of([log])
    assert colours.names == {}
    assert colours["any", 8] == colours["other", 0] == PALETTE[0]
    assert colours.legend(19)[0] == (PALETTE[0], "strategy 1, 9 ..")
    legend = [text.get_text() for text in cj.plot_barcode(log).figure.legends[0].get_texts()]
    assert "colour: place in the input's own list" in legend


@pytest.mark.parametrize("inputs", [1, 6])
def test_labels_of_strangers_are_drawn_without_a_warning(inputs, tmp_path):
    log = cj.SampleLog.from_arrays(
        np.ones((inputs, 2, len(EVIL)), bool), ids=EVIL[:inputs], labels=[EVIL] * inputs
    )
    figure = barcode_figure({"": log})
    save_figure(figure, tmp_path, "barcode")
    texts = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert texts[0] == "<script>al…</script>"
    assert all(len(text) <= 20 for text in texts)


def test_evenly():
    assert evenly(3, 5) == [0, 1, 2]
    assert evenly(100, 5) == [0, 25, 50, 74, 99]
    assert len(set(evenly(41, 40))) == 40
