"""Figures of routing: what is drawn where."""

import numpy as np
import pytest
from matplotlib.axes import Axes

from coverjax.report.route_plots import plot_cost_quality, plot_execution, plot_headroom, plot_regret
from coverjax.report.route_text import answer_text, labelled
from coverjax.routing import answers
from coverjax.routing.answers import Answer
from coverjax.routing.contracts import Inference
from coverjax.routing.evaluation import evaluate_table
from coverjax.routing.planning import plan
from coverjax.routing.tables import OutcomeTable


@pytest.fixture
def found(rng):
    """A router fully known, one with gaps, on a table with costs."""
    scores = rng.random((20, 4))
    scores[:5, 3] = np.nan
    table = OutcomeTable.from_arrays(scores, costs=np.ones((20, 4)), stack="s")
    routes = {"frozen": np.zeros(20, np.int64), "late [retrospective]": np.full(20, 3)}
    return evaluate_table(table, routes, Inference(replicates=200, criterion=0.3))


def texts(ax):
    return [text.get_text() for text in ax.texts] + [label.get_text() for label in ax.get_yticklabels()]


def test_regret_has_a_row_for_each_router_the_criterion_and_its_meaning(found):
    ax = plot_regret(found, criterion=0.3)
    assert isinstance(ax, Axes)
    assert "criterion 0.3" in texts(ax)
    assert "late\n[retrospective]" in texts(ax)
    assert "stack-internal, not deployment utility" in ax.get_xlabel()
    assert "stack s" in ax.get_xlabel()
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    wanted = [(router.regret.low, router.regret.high) for router in found.routers]
    np.testing.assert_allclose(bars, wanted)


def test_headroom_is_shaded_only_where_it_is_a_point(found, rng):
    assert len(plot_headroom(found).patches) == 2  # two sets: the oracle's and the late router's
    table = OutcomeTable.from_arrays(rng.random((20, 3)))
    complete = evaluate_table(table, {"a": np.zeros(20, np.int64)}, Inference(replicates=200))
    ax = plot_headroom(complete)
    start = f"headroom {complete.headroom.low:.3f}, shaded: from always {complete.constant} to the oracle"
    assert ax.get_title(loc="left") == start
    assert len(ax.patches) == 1


def test_what_dots_bars_and_lines_are_is_said_of_those_that_are_drawn(found, rng):
    bar, line = "bar: all that rows not executed leave possible", "line: bootstrap limits over tasks"
    for ax in (plot_regret(found), plot_headroom(found)):
        assert ax.get_xlabel().endswith(f"({bar}; {line})")
    table = OutcomeTable.from_arrays(rng.random((20, 3)))
    complete = evaluate_table(table, {"a": np.zeros(20, np.int64)}, Inference(replicates=200))
    assert plot_regret(complete).get_xlabel().endswith(f"({line})")
    few = OutcomeTable.from_arrays(rng.random((4, 3)))
    assert "limits" not in plot_regret(evaluate_table(few, {"a": np.zeros(4, np.int64)})).get_xlabel()


def test_the_front_is_explained_and_no_name_stands_on_it(rng):
    """It rises to the right: names stand above it on the left and below it on the right."""
    costs = np.tile([1.0, 2.0, 3.0], (20, 1))
    table = OutcomeTable.from_arrays(
        np.tile([0.2, 0.6, 0.9], (20, 1)) + 0.01 * rng.random((20, 3)), costs=costs
    )
    routes = {f"router {team}": np.full(20, team) for team in range(3)}
    ax = plot_cost_quality(evaluate_table(table, routes, Inference(replicates=50)))
    assert "front: none is cheaper and better" in [text.get_text() for text in ax.get_legend().get_texts()]
    ax.figure.draw_without_rendering()
    x, y = ax.transData.transform(ax.lines[0].get_xydata()).T
    for text in ax.texts:
        box = text.get_window_extent()
        across = np.linspace(box.x0, box.x1, 50)
        across = across[(across >= x[0]) & (across <= x[-1])]
        front = np.interp(across, x, y)
        assert (front > box.y1).all() or (front < box.y0).all(), text.get_text()


def test_execution_counts_what_was_run(found):
    routes = {router.name: router.routes for router in found.routers}
    ax = plot_execution(plan(routes, found.table.legal), found.table.executed)
    assert [t for t in texts(ax) if " of " in t] == ["35 of 40", "35 of 40", "75 of 80"]


def test_cost_quality_needs_costs(found, rng):
    assert plot_cost_quality(found) is not None
    table = OutcomeTable.from_arrays(rng.random((20, 3)))
    assert plot_cost_quality(evaluate_table(table, {}, Inference(replicates=50))) is None


def test_answers_as_text():
    assert answer_text(Answer("r", "point", 0.131, 0.131, 0.08, 0.19)) == "0.131 [0.080, 0.190]"
    assert answer_text(Answer("r", "interval", 0.1, 0.25)) == "{0.100 .. 0.250}"
    assert answer_text(answers.refusal("r", "why")) == "refused"
    assert answer_text(Answer("r", "point", 0.2, 0.2), sign=True) == "+0.200"


def test_labels_are_never_cut():
    name = "a very long name of a router indeed [privileged, retrospective]"
    short = labelled(name, 12)
    assert short.endswith(" [privileged, retrospective]")
    assert len(short) == 12 + len(" [privileged, retrospective]")
