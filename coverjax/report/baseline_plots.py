"""Figures of a comparison with a baseline: curves on one axis, gains, coverage against correctness."""

import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from coverjax.inference.of_curves import curve_interval
from coverjax.inference.units import Interval
from coverjax.report.baseline_study import BaselineStudy
from coverjax.report.correctness_plot import plot_coverage_against_correctness
from coverjax.report.plots import MOST_BANDS, NAME, plot_coverage
from coverjax.report.style import (
    PALETTE,
    drawable,
    new_figure,
    save_figures,
    styled,
)
from coverjax.report.text import counted, unlike

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    return save_figures(drawn, folder, tell)


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
    splits = {method.name: method.split for method in methods if method.split is not None}
    told = {name: split for name, split in splits.items() if np.isfinite(split.whole.mean[0])}
    split = next(iter(told.values()), None)
    kinds = [(f"gain, K = {study.found.budget:,}", PALETTE[0])]
    if split is not None:
        kinds += [(f"common, K = {split.budget:,}", PALETTE[1]), (f"rare, K = {split.budget:,}", PALETTE[5])]
    for row, method in enumerate(methods):
        parts = [method.pooled]
        if method.name in told:
            parts += [told[method.name].common, told[method.name].rare]
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
