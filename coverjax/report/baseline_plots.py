"""Figures of a comparison with a baseline: curves on one axis, gains, coverage against correctness."""

import pathlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from coverjax.curves import Curves
from coverjax.foundation.checks import InputError
from coverjax.inference.of_curves import curve_interval
from coverjax.inference.units import Interval
from coverjax.report.baseline_study import BaselineStudy
from coverjax.report.plots import MOST_BANDS, NAME, plot_coverage
from coverjax.report.style import (
    PALETTE,
    drawable,
    label_ends,
    look,
    new_figure,
    only_axes,
    save_figure,
    styled,
)
from coverjax.report.text import counted, unlike
from coverjax.report.utility_study import NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 9
"""Budgets that are marked on a line of coverage against correctness."""


@styled
def plot_coverage_against_correctness(
    curves: "Curves | Mapping[str, Curves]",
    ax: "Axes | None" = None,
    *,
    utility: str = "pass_at_k",
    level: float = 0.95,
) -> "Axes":
    """Plot what samples are worth against what they cover: a line a method, from k = 1 to K.

    A line that is higher at the same coverage solves more with the strategies it has; a line that only
    reaches farther to the right covers more without solving more. Crosses at the ends: intervals over inputs.

    Args:
        curves: from `utility_curves`: one, or a mapping from a line's name.
        ax: where to draw; a new figure when None.
        utility: the utility, a name in `curves.utility`.
        level: nominal level of the intervals, a fraction.

    Returns:
        The axes.

    Raises:
        InputError: the curves hold no such utility.
    """
    ax = only_axes(ax)
    lines = {curves.method or "curves": curves} if isinstance(curves, Curves) else dict(curves)
    texts = unlike([drawable(name, NAME, middle=True) for name in lines], NAME)
    ends = []
    for number, (text, line) in enumerate(zip(texts, lines.values(), strict=True)):
        if utility not in line.utility:
            raise InputError(f"{utility}: must be a utility of the curves; make them with utility_curves")
        mean = line.mean()
        x, y = mean.coverage[0], mean.utility[utility][0]
        if not (np.isfinite(x) & np.isfinite(y)).any():
            continue
        style = look(number)
        ax.plot(x, y, **style)
        marked = _marked(line.budgets)
        ax.plot(x[marked], y[marked], "o", color=style["color"], markersize=3.5)
        _cross(ax, line, utility, level, style["color"])
        ends.append((f"{text}, k = {line.budgets[-1]:,}", float(x[-1]), float(y[-1]), style["color"]))
    first = next(iter(lines.values()))
    inputs = counted(int(first.used.sum()), "input")
    ax.set_xlabel("coverage C(k): fraction of the strategies found")
    ax.set_ylabel(NAMES.get(utility, utility))
    ax.set_title(
        f"coverage against correctness, k = {first.budgets[0]} to {first.budgets[-1]:,}, over {inputs}"
    )
    # The labels need limits that stand: until they are read, matplotlib has not computed them.
    ax.set_xlim(*ax.get_xlim())
    ax.set_ylim(*ax.get_ylim())
    label_ends(ax, ends)
    return ax


def _marked(budgets: np.ndarray) -> np.ndarray:
    """Places of the budgets 1, 2, 4, ... and the last."""
    powers = 2 ** np.arange(int(budgets[-1]).bit_length())
    places = np.unique(np.searchsorted(budgets, powers[-POINTS:]))
    return np.unique(np.append(places[places < len(budgets)], len(budgets) - 1))


def _cross(ax: "Axes", line: Curves, utility: str, level: float, colour: str) -> None:
    """Intervals of both means at the last budget."""
    across, up = (curve_interval(line, name, level) for name in ("coverage", utility))
    x, y = across.mean[-1], up.mean[-1]
    if np.isfinite(across.low[-1]):
        ax.plot([across.low[-1], across.high[-1]], [y, y], color=colour, linewidth=0.8)
    if np.isfinite(up.low[-1]):
        ax.plot([x, x], [up.low[-1], up.high[-1]], color=colour, linewidth=0.8)


@styled
def write_baseline_figures(
    study: BaselineStudy, folder: pathlib.Path, tell: Callable[[str], None] = lambda step: None
) -> list[str]:
    """Write the figures coverage, gain and, where the log has correct samples, coverage-correctness.

    Returns:
        The names of the files.
    """
    drawn: dict[str, Figure] = {"coverage": _coverage(study), "gain": _gain(study)}
    if study.curves:
        figure = new_figure(8.0, 4.6)
        plot_coverage_against_correctness(study.curves, figure.subplots(), level=study.found.level)
        drawn["coverage-correctness"] = figure
    names = []
    for stem, figure in drawn.items():
        tell(f"drawing {stem}")
        names += save_figure(figure, folder, stem)
    return names


def _coverage(study: BaselineStudy) -> "Figure":
    """Baseline, methods and the oracle on one axis."""
    found = study.found
    lines = {found.baseline: found.base, **{name: method.curves for name, method in found.methods.items()}}
    bands: dict[str, Interval] = {}
    if len(lines) < MOST_BANDS:
        bands = {
            name: curve_interval(c, level=found.level, method="band", seed=found.seed)
            for name, c in lines.items()
        }
    oracle = "oracle" if "oracle" not in lines else "oracle (one new strategy a draw)"
    figure = new_figure(8.0, 4.6)
    ax = plot_coverage({**lines, oracle: found.oracle}, figure.subplots(), level=found.level, intervals=bands)
    inputs = counted(int(found.base.used.sum()), "input")
    ax.set_title(f"{found.coverage} coverage against {drawable(found.baseline)}, mean over {inputs}")
    return figure


def _gain(study: BaselineStudy) -> "Figure":
    """Pooled gain of each method with its interval, and its parts."""
    methods = list(study.found.methods.values())
    figure = new_figure(7.2, 1.8 + 0.75 * len(methods))
    ax = figure.subplots()
    texts = unlike([drawable(method.name, NAME, middle=True) for method in methods], NAME)
    split = next((method.split for method in methods if method.split is not None), None)
    kinds = [(f"gain, K = {study.found.budget:,}", PALETTE[0])]
    if split is not None:
        kinds += [(f"common, K = {split.budget:,}", PALETTE[1]), (f"rare, K = {split.budget:,}", PALETTE[5])]
    for row, method in enumerate(methods):
        parts = [method.pooled]
        if method.split is not None:
            parts += [method.split.common, method.split.rare]
        for place, (interval, (name, colour)) in enumerate(zip(parts, kinds, strict=False)):
            y = -row - 0.22 * (place - (len(kinds) - 1) / 2)
            ax.plot([interval.low[0], interval.high[0]], [y, y], color=colour, linewidth=1.4)
            ax.plot(interval.mean[0], y, "os^"[place], color=colour, label=name if row == 0 else "_")
    ax.axvline(0.0, color="#808080", linewidth=0.8)
    ax.axvline(1.0, color="#808080", linewidth=0.8, linestyle=":")
    ax.set_yticks(-np.arange(len(methods)), texts)
    ax.set_ylim(-len(methods) + 0.4, 0.6)
    ax.set_xlabel(f"gain: 0 as {drawable(study.found.baseline)}, 1 as the oracle")
    ax.set_title(
        f"gain over {drawable(study.found.baseline)}, {100 * study.found.level:.4g} % intervals over inputs"
    )
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
