"""Figures of policies on a known law."""

import pathlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coverjax.report.plots import plot_coverage, plot_novelty, plot_time_to_coverage
from coverjax.report.policy_study import PolicyLine, PolicyStudy
from coverjax.report.spread_plots import time_by_input_figure, worth_drawing
from coverjax.report.style import UNDECLARED, drawable, look, new_figure, only_axes, save_figures, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAME = 36

SEES = {
    "blind": "sees nothing",
    "latents": "sees its own choices",
    "outcomes": "sees what it found",
    "oracle": "gets what it names",
}
KNOWS = {
    "nothing": "knows nothing",
    "router": "knows the router",
    "estimated_W": "knows an estimate of W",
    "true_W": "knows W",
}
"""What a policy sees and knows, in a stranger's words."""


def line_names(study: PolicyStudy) -> dict[str, str]:
    """Return what stands beside each line: the policy with what it sees and knows."""
    return {name: f"{name} [{line.sees}, {line.knows}]" for name, line in study.lines.items()}


@styled
def plot_gain_split(
    lines: Mapping[str, PolicyLine], ax: "Axes | None" = None, *, rare_below: float
) -> "Axes":
    """Plot where each policy's gain comes from: fewer repeats of common strategies, rare ones found.

    Bars of mean gain over inputs; the two parts sum to the whole, and a gain whose parts are unknown is grey.
    Hatching tells them apart without colour. Beside each name stands what the policy sees while it runs and
    what it knows beforehand: unlike policies are not to be ranked without it.
    """
    ax = only_axes(ax)
    places = np.arange(len(lines))
    common = np.array([line.common for line in lines.values()])
    rare = np.array([line.rare for line in lines.values()])
    whole = np.array([_mean_gain(line) for line in lines.values()])
    split = np.isfinite(common + rare)
    behind = np.where(np.sign(common) == np.sign(rare), common, 0.0)
    nothing = np.zeros(len(lines))
    bars = [
        (common, nothing, look(0)["color"], "", "fewer repeats of common strategies"),
        (rare, behind, look(1)["color"], "///", "rare strategies found"),
    ]
    unsplit = np.isfinite(whole) & ~split
    if unsplit.any():
        bars.append((np.where(unsplit, whole, np.nan), nothing, UNDECLARED, "", "parts unknown"))
    for values, left, colour, hatch, label in bars:
        shown, start = np.nan_to_num(values), np.nan_to_num(left)
        ax.barh(
            places, shown, left=start, color=colour, hatch=hatch, label=label, edgecolor="white", height=0.62
        )
    for place, total in zip(places, np.where(split, common + rare, whole), strict=True):
        text = f"{total:.3f}" if np.isfinite(total) else "no gain defined"
        right = max(0.0, float(np.nan_to_num(total)))
        ax.annotate(text, (right, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    _told_beside(ax, lines)
    ax.axvline(0.0, color="black", linewidth=0.8)
    low, high = ax.get_xlim()
    ax.set_xlim(1.1 * low if low < 0 else 0.0, 1.12 * high)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("gain: share of the way from iid sampling (0) to one new strategy a draw (1)")
    ax.set_title(f"where the gain comes from (rare: base probability x K < {rare_below:g})")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=len(bars), frameon=False)
    return ax


def _mean_gain(line: PolicyLine) -> float:
    if line.gain is None or not np.isfinite(line.gain.values).any():
        return float("nan")
    return float(np.nanmean(line.gain.values))


def _told_beside(ax: "Axes", lines: Mapping[str, PolicyLine]) -> None:
    """Write the names, and under them what each policy sees and knows."""
    ax.set_yticks(np.arange(len(lines)), [""] * len(lines))
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    beside: dict[str, Any] = {
        "xycoords": ax.get_yaxis_transform(),
        "textcoords": "offset points",
        "ha": "right",
    }
    for place, (name, line) in enumerate(lines.items()):
        ax.annotate(drawable(name, MOST_NAME), (0.0, place), xytext=(-6, 1), va="bottom", **beside)
        told = f"{SEES.get(line.sees, line.sees)}, {KNOWS.get(line.knows, line.knows)}"
        ax.annotate(told, (0.0, place), xytext=(-6, 0), va="top", fontsize=7.5, color="#606060", **beside)


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
    spread = {named[name]: line.curves for name, line in study.lines.items() if 0.8 in line.times}
    if worth_drawing(spread):
        drawn["time-by-input"] = time_by_input_figure(spread)
    drawn["gain-split"] = new_figure(8.0, max(3.6, 1.6 + 0.44 * len(curves)))
    plot_gain_split(study.lines, drawn["gain-split"].subplots(), rare_below=study.rare_below)
    return save_figures(drawn, folder, tell)
