"""Figures of policies on a known law."""

import pathlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from coverjax.report.plots import plot_coverage, plot_novelty, plot_time_to_coverage
from coverjax.report.policy_study import PolicyLine, PolicyStudy
from coverjax.report.style import drawable, look, new_figure, only_axes, save_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAME = 28


def line_names(study: PolicyStudy) -> dict[str, str]:
    """Return what stands beside each line: the policy with what it sees and knows."""
    return {name: f"{name} [{line.sees}, {line.knows}]" for name, line in study.lines.items()}


@styled
def plot_gain_split(
    lines: Mapping[str, PolicyLine], ax: "Axes | None" = None, *, rare_below: float
) -> "Axes":
    """Plot where each policy's gain comes from: fewer repeats of common strategies, rare ones found.

    Bars of mean gain over inputs; the two parts sum to the whole. Hatching tells them apart without colour.
    """
    ax = only_axes(ax)
    names = [drawable(name, MOST_NAME) for name in lines]
    common = np.array([line.common for line in lines.values()])
    rare = np.array([line.rare for line in lines.values()])
    places = np.arange(len(names))
    bars = (
        (common, np.zeros_like(common), look(0)["color"], "", "fewer repeats of common strategies"),
        (
            rare,
            np.where(np.sign(common) == np.sign(rare), common, 0.0),
            look(1)["color"],
            "///",
            "rare found",
        ),
    )
    for values, left, colour, hatch, label in bars:
        ax.barh(
            places,
            np.nan_to_num(values),
            left=np.nan_to_num(left),
            color=colour,
            hatch=hatch,
            label=label,
            edgecolor="white",
            height=0.7,
        )
    for place, total in zip(places, common + rare, strict=True):
        text = f"{total:.3f}" if np.isfinite(total) else "no gain defined"
        right = max(0.0, float(np.nan_to_num(total)))
        ax.annotate(text, (right, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.margins(x=0.15)
    ax.set_xlabel("gain: share of the way from iid (0) to one strategy a draw (1)")
    ax.set_title(f"where the gain comes from (rare: base probability x K < {rare_below:g})")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
    return ax


@styled
def write_policy_figures(
    study: PolicyStudy, folder: pathlib.Path, tell: Callable[[str], None] = lambda step: None
) -> list[str]:
    """Write coverage, novelty, time to coverage and gain split as PNG and SVG; return the files' names."""
    named = line_names(study)
    curves = {named[name]: line.curves for name, line in study.lines.items()}
    beside = 0.075 * max(map(len, curves)) + 0.4
    height = max(4.4, 1.6 + 0.22 * len(curves))
    drawn: dict[str, Figure] = {}
    drawn["coverage"] = new_figure(5.2 + beside, height)
    plot_coverage(curves, drawn["coverage"].subplots(), band="none")
    fresh = {name: line for name, line in curves.items() if line.novelty_count is not None}
    drawn["novelty"] = new_figure(5.2 + beside, height)
    plot_novelty(fresh, drawn["novelty"].subplots(), band="none")
    told = {named[name]: line.curves for name, line in study.lines.items() if 1.0 in line.times}
    if told:
        drawn["time-to-coverage"] = new_figure(5.2 + beside + 1.0, height)
        plot_time_to_coverage(told, drawn["time-to-coverage"].subplots(), tau=1.0)
    drawn["gain-split"] = new_figure(8.0, max(3.6, 1.8 + 0.4 * len(curves)))
    plot_gain_split(study.lines, drawn["gain-split"].subplots(), rare_below=study.rare_below)
    names = []
    for stem, figure in drawn.items():
        tell(f"drawing {stem}")
        names += save_figure(figure, folder, stem)
    return names
