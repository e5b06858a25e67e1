"""The figures of a study, as files."""

import dataclasses
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from coverjax.logs.log import SampleLog
from coverjax.report.barcode import barcode_figure
from coverjax.report.correctness_plot import plot_coverage_against_correctness
from coverjax.report.estimate_tables import lines_of
from coverjax.report.plots import NAME, plot_coverage, plot_novelty, plot_time_to_coverage
from coverjax.report.spread_plots import time_by_input_figure, worth_drawing
from coverjax.report.study import TAUS, Study
from coverjax.report.style import new_figure, save_figures, styled
from coverjax.report.text import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE_INCHES, CHARACTER_INCHES = 0.145, 0.072
"""What the name of a line needs beside its end, in height and in width."""

PANEL_INCHES = 4.0


@styled
def write_figures(
    study: Study, folder: pathlib.Path, tell: Callable[[str], None] = lambda step: None
) -> list[str]:
    """Write the figures that the study can show, as PNG and SVG: coverage (beyond the samples too where that
    was asked for), novelty, time to coverage (its law, and input by input), coverage against correctness,
    barcode.

    With several methods each figure compares them at the kind of coverage asked for; with one method, the
    kinds that its log can tell.

    Returns:
        The names of the files.
    """
    drawn: dict[str, Figure] = {"coverage": _coverage(study), "novelty": _novelty(study)}
    if study.ahead:
        drawn["extrapolation"] = _ahead(study)
    times = _times(study)
    if times is not None:
        drawn["time-to-coverage"] = times
    inputs = {name: line.curves for name, line in lines_of(study).items() if 0.8 in line.times}
    if worth_drawing(inputs):
        drawn["time-by-input"] = time_by_input_figure(inputs)
    worth = _correctness(study)
    if worth is not None:
        drawn["coverage-correctness"] = worth
    logs = {name: method.log for name, method in study.methods.items()}
    samples = {name: log for name, log in logs.items() if isinstance(log, SampleLog)}
    if samples:
        drawn["barcode"] = barcode_figure(samples, study.coverage)
    return save_figures(drawn, folder, tell)


def _correctness(study: Study) -> "Figure | None":
    """Coverage against pass@k; None without correct samples, or where the one strategy is to be correct."""
    curves = {
        name: dataclasses.replace(method.utility.curves, method=name)
        for name, method in study.methods.items()
        if method.utility is not None and "pass_at_k" in method.utility.curves.utility
    }
    same = (np.array_equal(c.coverage, c.utility["pass_at_k"], equal_nan=True) for c in curves.values())
    if all(same):
        return None
    figure = _figure([f"{name}, k = {study.budget:,}" for name in curves])
    plot_coverage_against_correctness(curves, figure.subplots(), level=study.level)
    return figure


def _figure(lines: list[str], panels: int = 1, extra: int = 0) -> "Figure":
    """A figure with room beside each panel for the names of the lines, plus `extra` characters."""
    names = [one_line(name, NAME) for name in lines]
    beside = CHARACTER_INCHES * (max(map(len, names)) * (len(names) > 1) + extra)
    height = max(4.2, 1.2 + LINE_INCHES * len(names))
    return new_figure(panels * (max(PANEL_INCHES, 6.4 / panels - beside) + beside), height)


def _coverage(study: Study) -> "Figure":
    lines = lines_of(study)
    figure = _figure(list(lines))
    bands = {name: line.bands["coverage"] for name, line in lines.items()}
    plot_coverage({name: line.curves for name, line in lines.items()}, figure.subplots(), intervals=bands)
    return figure


def _ahead(study: Study) -> "Figure":
    """Coverage on beyond the samples; the band holds fit and models too."""
    figure = _figure(list(study.ahead))
    curves = {name: found.curves for name, found in study.ahead.items()}
    bands = {name: found.band for name, found in study.ahead.items()}
    plot_coverage(curves, figure.subplots(), intervals=bands)
    return figure


def _novelty(study: Study) -> "Figure":
    """Both novelties side by side, where the log can tell both: a sample may match several strategies."""
    lines = lines_of(study)
    shown = [
        name
        for name in ("novelty_count", "novelty_any")
        if all(name in line.bands for line in lines.values())
    ]
    figure = _figure(list(lines), len(shown))
    for ax, name in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        bands = {line: found.bands[name] for line, found in lines.items()}
        curves = {line: found.curves for line, found in lines.items()}
        plot_novelty(curves, ax, quantity=name, intervals=bands)
    return figure


def _times(study: Study) -> "Figure | None":
    """One panel for each fraction that asks for another number; None where no log tells the time to any."""
    lines = lines_of(study)
    panels: dict[tuple[bytes, ...], list[float]] = {}
    for tau in TAUS:
        needs = [line.times[tau].need for line in lines.values() if tau in line.times]
        if needs:
            panels.setdefault(tuple(np.asarray(need).tobytes() for need in needs), []).append(tau)
    if not panels:
        return None
    figure = _figure(list(lines), len(panels), extra=12)
    for ax, taus in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.values(), strict=True):
        shown = {name: line.curves for name, line in lines.items() if taus[-1] in line.times}
        plot_time_to_coverage(shown, ax, tau=taus[-1])
        if len(taus) > 1:
            ax.set_title(" = ".join(f"T({tau:g})" for tau in taus) + ": all strategies covered")
    return figure
