"""How the inputs differ: the time to coverage of each, as boxes beside each other."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from coverjax.curves import Curves
from coverjax.metrics import time_to_coverage
from coverjax.report.style import INK, drawable, look, new_figure, styled
from coverjax.report.text import counted, unlike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = 48
TAU = 0.8
FEWEST_INPUTS = 5
"""With fewer inputs a box says no more than their numbers."""

MOST_POINTS = 150
"""Of more inputs only so many are drawn as points, evenly chosen by rank; the boxes hold all."""

ROW_INCHES = 0.42


def worth_drawing(curves: Mapping[str, Curves]) -> bool:
    """Whether there are enough inputs for boxes, and a difference between any of them."""
    if not curves or any(line.used.sum() < FEWEST_INPUTS for line in curves.values()):
        return False
    every = np.concatenate([_means(line, TAU) for line in curves.values()])
    return bool(np.ptp(every) > 1e-9 * every.max())


def _means(line: Curves, tau: float) -> np.ndarray:
    """Mean of min(T(tau), K) of each input in use, sorted."""
    return np.sort(np.asarray(time_to_coverage(line, tau).mean)[line.used])


@styled
def time_by_input_figure(curves: Mapping[str, Curves], tau: float = TAU) -> "Figure":
    """Draw `plot_time_by_input` in a figure of its own, as high as it has lines."""
    beside = 0.066 * max(len(drawable(name, NAME)) for name in curves)
    figure = new_figure(4.6 + beside, 1.6 + ROW_INCHES * len(curves))
    plot_time_by_input(curves, figure.subplots(), tau=tau)
    return figure


@styled
def plot_time_by_input(curves: Mapping[str, Curves], ax: "Axes", *, tau: float = TAU) -> "Axes":
    """Plot, for each line, the spread over inputs of the mean of min(T(tau), K): a box, a diamond and points.

    Box: the middle half of the inputs, with the median; whiskers: from the 5th to the 95th percentile;
    diamond: the mean; points: inputs, of many a part evenly chosen by rank.
    """
    from matplotlib.ticker import MaxNLocator

    names = unlike([drawable(name, NAME, middle=True) for name in curves], NAME)
    budget = max(int(line.budgets[-1]) for line in curves.values())
    inputs = {int(line.used.sum()) for line in curves.values()}
    for place, line in enumerate(curves.values()):
        means = _means(line, tau)
        if len(means):
            _box(ax, means, place, look(place)["color"])
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.set_xlim(0.0, 1.02 * budget)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
    ax.set_xlabel(
        f"draws until {tau:.0%} is covered: mean of min(T, {budget:,}) on each input\n"
        "(box 25-75 %, whiskers 5-95 %, diamond: mean)",
        loc="right",
    )
    over = counted(inputs.pop(), "input") if len(inputs) == 1 else f"{min(inputs)} to {max(inputs)} inputs"
    ax.set_title(f"T({tau:g}) over {over}")
    return ax


def _box(ax: "Axes", values: np.ndarray, place: int, colour: str) -> None:
    """Draw one row: sorted values [inputs] at height `place`."""
    ax.boxplot(
        values,
        positions=[place],
        orientation="horizontal",
        widths=0.52,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": colour, "alpha": 0.22, "edgecolor": colour},
        medianprops={"color": INK, "linewidth": 1.6},
        whiskerprops={"color": colour},
        capprops={"color": colour},
    )
    shown = values[
        np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).round().astype(int))
    ]
    # A low-discrepancy shift by rank: points of equal value stand apart, and the same figure comes out each
    # time.
    shift = (np.arange(len(shown)) * 0.618034) % 1.0 - 0.5
    ax.scatter(shown, place + 0.36 * shift, s=5.0, color=colour, alpha=0.55, linewidths=0, zorder=3)
    ax.scatter(
        [values.mean()], [place], marker="D", s=22.0, color="white", edgecolors=INK, linewidths=0.9, zorder=4
    )
