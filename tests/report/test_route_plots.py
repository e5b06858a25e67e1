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
    assert ax.get_title(loc="left") == f"headroom {complete.headroom.low:.3f}"
    assert len(ax.patches) == 1


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
