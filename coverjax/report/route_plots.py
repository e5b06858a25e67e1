"""Figures of a routing study: regret with its criterion, value with headroom, the execution plan."""

import math
import pathlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from coverjax.report.style import EMPTY, INK, PALETTE, drawable, new_figure, only_axes, save_figures, styled
from coverjax.routing.answers import STACK_INTERNAL, Answer
from coverjax.routing.evaluation import TableResult
from coverjax.routing.fronts import cost_points, undominated
from coverjax.routing.judging import StudyResult
from coverjax.routing.planning import ESTIMANDS, ExecutionPlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = 34
ROW_INCHES = 0.4


@styled
def plot_answers(
    answers: Sequence[tuple[str, Answer]],
    ax: "Axes | None" = None,
    *,
    colours: Sequence[str] | None = None,
) -> "Axes":
    """Plot answers one below the other: a dot for a point, a bar for a set, a line for the limits.

    A refusal is written as such.

    Args:
        answers: (label, answer) from top to bottom.
        ax: where to draw; a new figure when None.
        colours: of each; the first of the palette when None.
    """
    ax = only_axes(ax)
    shades = [PALETTE[0]] * len(answers) if colours is None else list(colours)
    for row, ((_, answer), colour) in enumerate(zip(answers, shades, strict=True)):
        if answer.kind == "refusal":
            ax.text(
                0.01, row, "refused", va="center", fontsize=7.5, color=INK, transform=ax.get_yaxis_transform()
            )
            continue
        if not math.isnan(answer.limit_low):
            ax.plot([answer.limit_low, answer.limit_high], [row, row], color=colour, linewidth=1.0)
        if answer.kind == "interval":
            ax.barh(row, answer.high - answer.low, left=answer.low, height=0.34, color=colour, alpha=0.45)
        else:
            ax.plot([answer.low], [row], marker="o", markersize=5.0, color=colour)
    labels = [_two_lines(label) for label, _ in answers]
    ax.set_yticks(range(len(answers)), labels, fontsize=8.0)
    ax.set_ylim(len(answers) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    return ax


def _marks(answers: Sequence[Answer]) -> str:
    """Say what dots, bars and lines of answers are, of those that are drawn."""
    words = ["bar: all that rows not executed leave possible"] * any(a.kind == "interval" for a in answers)
    words += ["line: bootstrap limits over tasks"] * any(not math.isnan(a.limit_low) for a in answers)
    return f"\n({'; '.join(words)})" if words else ""


@styled
def plot_regret(found: TableResult, ax: "Axes | None" = None, *, criterion: float | None = None) -> "Axes":
    """Plot the absolute regret of every router with its limits, and the criterion as a line.

    Args:
        found: what a table says.
        ax: where to draw; a new figure when None.
        criterion: the largest acceptable mean regret.
    """
    ax = plot_answers([(router.name, router.regret) for router in found.routers], ax, colours=_colours(found))
    if criterion is not None:
        ax.axvline(criterion, color=INK, linestyle=(0, (5, 1.5)), linewidth=1.0)
        ax.text(
            criterion,
            1.01,
            f"criterion {criterion:g}",
            fontsize=7.5,
            ha="center",
            va="bottom",
            transform=ax.get_xaxis_transform(),
        )
    stack = drawable(found.table.stack or "(unnamed)", 24)
    marks = _marks([router.regret for router in found.routers])
    ax.set_xlabel(f"mean absolute regret, stack {stack}\n({STACK_INTERNAL}){marks}")
    ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
    return ax


@styled
def plot_headroom(found: TableResult, ax: "Axes | None" = None) -> "Axes":
    """Plot oracle, routers and best constant by mean score, the headroom between the two shaded."""
    answers: list[tuple[str, Answer]] = [("oracle [oracle]", found.oracle)]
    answers += [(router.name, router.value) for router in found.routers]
    if found.constant is not None:
        answers.append((f"always {found.constant} [retrospective]", found.constant_value))
    colours = [INK, *_colours(found), *([INK] if found.constant is not None else [])]
    ax = plot_answers(answers, ax, colours=colours)
    if found.headroom.kind == "point" and found.constant is not None:
        ax.axvspan(found.constant_value.low, found.oracle.low, color=EMPTY, alpha=0.5, linewidth=0, zorder=0)
        start = drawable(found.constant, 24)
        shaded = f"headroom {found.headroom.low:.3f}, shaded: from always {start} to the oracle"
        ax.set_title(shaded, fontsize=9.0)
    marks = _marks([answer for _, answer in answers])
    ax.set_xlabel(f"mean score ({drawable(found.table.endpoint, 30)}){marks}")
    return ax


@styled
def plot_execution(plan: ExecutionPlan, executed: Any, ax: "Axes | None" = None) -> "Axes":
    """Plot the rows that contrasts, values and absolute regret need, and how many of them were executed."""
    ax = only_axes(ax)
    words = {"contrast": "contrasts", "value": "values", "complete": "absolute regret"}
    for row, name in enumerate(ESTIMANDS):
        total = len(plan.rows(name))
        done = total - len(plan.remaining(name, executed))
        ax.barh(row, total, height=0.55, color=EMPTY, label="planned" if row == 0 else None)
        ax.barh(row, done, height=0.55, color=PALETTE[4], label="executed" if row == 0 else None)
        ax.annotate(
            f"{done:,} of {total:,}",
            (total, row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.0,
            annotation_clip=False,
        )
    ax.set_yticks(range(len(ESTIMANDS)), [words[name] for name in ESTIMANDS])
    ax.set_ylim(len(ESTIMANDS) - 0.4, -0.6)
    ax.set_xlim(0.0, 1.22 * max(1, len(plan.complete)))
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("rows (task, team)")
    ax.legend(loc="upper right", fontsize=7.5)
    return ax


@styled
def plot_cost_quality(found: TableResult, ax: "Axes | None" = None) -> "Axes | None":
    """Plot mean cost against mean score of routers and constant teams, the undominated ones joined.

    None where costs are not known.
    """
    routes = {router.name: router.routes for router in found.routers}
    names, costs, values = cost_points(found.table, routes)
    if not names:
        return None
    ax = only_axes(ax)
    keep = undominated(costs, values)
    order = np.flatnonzero(keep)[np.argsort(costs[keep])]
    ax.plot(
        costs[order],
        values[order],
        color=INK,
        linewidth=0.9,
        zorder=1,
        label="front: none is cheaper and better",
    )
    is_router = np.array([name in routes for name in names])
    ax.scatter(
        costs[~is_router], values[~is_router], s=14, color="#9a9a9a", label="always one team", zorder=2
    )
    if is_router.any():
        ax.scatter(costs[is_router], values[is_router], s=26, color=PALETTE[0], label="routers", zorder=3)
    middle = 0.5 * (costs.min() + costs.max())
    for i in np.flatnonzero(is_router).tolist():
        side = -1 if costs[i] > middle else 1
        ax.annotate(
            _two_lines(names[i]),
            (costs[i], values[i]),
            xytext=(5 * side, -4 * side),
            textcoords="offset points",
            ha="right" if side < 0 else "left",
            # The front rises to the right: above on the left and below on the right it isn't in the way.
            va="bottom" if side < 0 else "top",
            fontsize=7.0,
        )
    ax.set_xlabel("mean cost of the routed team")
    ax.set_ylabel("mean score")
    ax.legend(fontsize=7.5)
    return ax


def _two_lines(name: str) -> str:
    """The name of a router, cut, and below it its labels, never cut."""
    plain, bracket, labels = name.partition(" [") if name.endswith("]") else (name, "", "")
    return drawable(plain, NAME, middle=True) + (f"\n[{labels}" if bracket else "")


def _colours(found: TableResult) -> list[str]:
    """A colour for each router; those with a label (privileged, oracle, retrospective) are grey."""
    shades, number = [], 0
    for router in found.routers:
        if router.name.endswith("]"):
            shades.append("#9a9a9a")
            continue
        shades.append(PALETTE[number % len(PALETTE)])
        number += 1
    return shades


@styled
def write_route_figures(
    result: StudyResult, folder: pathlib.Path, tell: Callable[[str], None] = lambda step: None
) -> list[str]:
    """Write regret, headroom, execution and (with costs) cost-quality as PNG and SVG; return their names."""
    found = result.main
    height = 1.5 + ROW_INCHES * max(2, len(found.routers))
    drawn: dict[str, Figure] = {}
    for stem, draw in (
        ("regret", lambda ax: plot_regret(found, ax, criterion=result.study.contract.inference.criterion)),
        ("headroom", lambda ax: plot_headroom(found, ax)),
        ("execution", lambda ax: plot_execution(result.plan, found.table.executed, ax)),
        ("cost-quality", lambda ax: plot_cost_quality(found, ax)),
    ):
        figure = new_figure(
            6.4, 4.2 if stem == "cost-quality" else height + (stem == "headroom") * 2 * ROW_INCHES
        )
        if draw(figure.subplots()) is not None:
            drawn[stem] = figure
    return save_figures(drawn, folder, tell)
