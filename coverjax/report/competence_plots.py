"""Figures of corrections to competence: every function takes an Axes or makes one, and returns it."""

import pathlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coverjax.corrections.aggregates import summarise
from coverjax.corrections.comparing import SystemsComparison
from coverjax.corrections.competence import Competence
from coverjax.foundation.checks import InputError, one_of
from coverjax.inference.of_curves import curve_interval
from coverjax.inference.units import Interval
from coverjax.report.style import (
    EMPTY,
    INK,
    PALETTE,
    drawable,
    label_ends,
    look,
    new_figure,
    only_axes,
    save_figures,
    styled,
)
from coverjax.report.text import band_notes, counted, unlike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = 24
MOST_BANDS = 4
MOST_FAINT = 200
"""With more concepts their single curves are a grey area, and are not drawn."""

MOST_ROWS = 60
GOALS = {"first_hit": "a first expected token", "saturation": "every expected token"}


@styled
def plot_competence(
    runs: "Competence | Mapping[str, Competence]",
    ax: "Axes | None" = None,
    *,
    level: float = 0.95,
    seed: int = 0,
    intervals: "Mapping[str, Interval] | None" = None,
) -> "Axes":
    """Plot the mean fraction of the expected tokens against the number of corrections.

    Args:
        runs: one, whose concepts are then drawn faintly behind their mean, or a mapping from a line's name.
        ax: where to draw; a new figure when None.
        level: nominal level of the bands, a fraction; simultaneous over k. Above four lines there are none.
        seed: of the bands.
        intervals: bands to draw instead of such as are computed here, by the names of the lines.
    """
    ax = only_axes(ax)
    lines = _named(runs)
    names = _names(lines)
    ends: list[tuple[str, float, float, str]] = []
    said: dict[str, None] = {}
    why: dict[str, str] = {}
    for number, (name, run) in enumerate(lines.items()):
        curves = run.curves()
        if not curves.inputs:
            continue
        if len(lines) == 1 and curves.inputs <= MOST_FAINT:
            ax.plot(curves.budgets, curves.coverage.T, color=INK, alpha=0.12, linewidth=0.7)
        shape = look(number, len(curves.budgets))
        height = curves.coverage.mean(axis=0)
        ax.plot(curves.budgets, height, **shape)
        ends.append((names[name], float(curves.budgets[-1]), float(height[-1]), shape["color"]))
        if len(lines) <= MOST_BANDS:
            band = (
                intervals[name] if intervals else curve_interval(curves, "coverage", level, "band", seed=seed)
            )
            text, why[names[name]] = _shade(ax, curves.budgets, band, shape["color"])
            said |= {text: None} if text else {}
    ax.set_ylim(-0.03, 1.04)
    ax.set_ylabel("fraction of the expected tokens")
    ax.set_title(_title(lines))
    _corrections_axis(ax, lines)
    _legend(ax, lines, [*said, *band_notes(why)])
    label_ends(ax, ends if len(lines) > 1 else [])
    return ax


@styled
def plot_reached(
    runs: "Competence | Mapping[str, Competence]", ax: "Axes | None" = None, *, goal: str = "saturation"
) -> "Axes":
    """Plot the share of concepts that reached a goal within k corrections, 1 - S(k) by Kaplan-Meier.

    What a line lacks to 1 at its end was never reached.

    Args:
        runs, ax: as in `plot_competence`.
        goal: "first_hit" or "saturation", both at the first crossing.
    """
    one_of("goal", goal, tuple(GOALS))
    ax = only_axes(ax)
    lines = _named(runs)
    names = _names(lines)
    ends = []
    for number, (name, run) in enumerate(lines.items()):
        survival = getattr(summarise(run), goal).survival.survival
        reached = 1.0 - survival[np.isfinite(survival)]
        if not reached.size:
            continue
        shape = look(number, reached.size)
        ax.plot(np.arange(reached.size), reached, drawstyle="steps-post", **shape)
        text = f"{names[name]}: " if len(lines) > 1 else ""
        place = float(reached.size - 1), float(reached[-1])
        ends.append((f"{text}{1.0 - reached[-1]:.0%} never", *place, shape["color"]))
    ax.set_ylim(-0.03, 1.04)
    ax.set_ylabel("share of concepts")
    ax.set_title(f"{GOALS[goal]}, reached within k corrections")
    _corrections_axis(ax, lines, longest=True)
    label_ends(ax, ends)
    return ax


@styled
def plot_concepts(run: Competence, ax: "Axes | None" = None) -> "Axes":
    """Plot every concept as a row: the fraction of its expected tokens after k corrections.

    At most 60 rows, evenly chosen. A failed snapshot is crossed out; rows that are not graded are empty.
    """
    from matplotlib.colors import LinearSegmentedColormap

    from coverjax.report.barcode import evenly

    rows = evenly(len(run.concepts), MOST_ROWS)
    if ax is None:
        ax = new_figure(6.4, 1.7 + 0.17 * max(len(rows), 3)).subplots()
    part = run.take(rows)
    colours = LinearSegmentedColormap.from_list("share", [EMPTY, PALETTE[0]]).with_extremes(bad="white")
    cells = np.ma.masked_invalid(part.hits / part.expected[:, None])
    image = ax.imshow(cells, cmap=colours, vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
    failed = np.argwhere(part.failed)
    ax.plot(failed[:, 1], failed[:, 0], linestyle="", marker="x", color=INK, markersize=3.5)
    ax.set_yticks(range(len(rows)), _row_names(part), fontsize=6.5)
    ax.grid(False)
    _whole_ticks(ax)
    ax.set_xlabel("corrections taught, k")
    what = counted(len(run.concepts), "curve")
    ax.set_title(what if len(rows) == len(run.concepts) else f"{len(rows)} of {what}, evenly chosen")
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.colorbar(image, ax=ax, label="fraction of the\nexpected tokens", shrink=0.7)
    return ax


@styled
def plot_difference(found: SystemsComparison, ax: "Axes | None" = None) -> "Axes":
    """Plot the mean paired difference a - b of two systems with its simultaneous band."""
    ax = only_axes(ax)
    curve = found.curve
    low, high = curve.band
    ax.axhline(0.0, color=INK, linewidth=0.8)
    ax.plot(curve.budgets, curve.difference, **look(0, len(curve.budgets)))
    ax.fill_between(curve.budgets, low, high, color=PALETTE[0], alpha=0.13, linewidth=0)
    ax.set_ylabel("difference a - b, fraction of tokens")
    told = f"paired over {counted(curve.inputs, 'concept')}, {100 * curve.level:.4g} % simultaneous band"
    none = int(np.isnan(low).sum())
    ax.set_title(told + (f"\n(none at {none} of {len(low)} points)" if none else ""))
    ax.set_xlabel("corrections taught, k")
    _whole_ticks(ax)
    return ax


@styled
def write_run_figures(
    run: Competence,
    folder: pathlib.Path,
    *,
    level: float = 0.95,
    seed: int = 0,
    tell: Callable[[str], None] = lambda step: None,
) -> list[str]:
    """Write the figures of a run, a line for each split, as PNG and SVG; return their names."""
    names = run.split_names
    lines = {name: run.split(name) for name in names} if len(names) > 1 else {run.system: run}
    competence = _figure(1)
    plot_competence(lines, competence.subplots(), level=level, seed=seed)
    concepts = new_figure(6.4, 1.7 + 0.17 * max(min(len(run.concepts), MOST_ROWS), 3))
    plot_concepts(run, concepts.subplots())
    figures = {"competence": competence, "reached": _reached(lines), "concepts": concepts}
    return save_figures(figures, folder, tell)


@styled
def write_comparison_figures(
    found: SystemsComparison,
    folder: pathlib.Path,
    *,
    seed: int = 0,
    tell: Callable[[str], None] = lambda step: None,
) -> list[str]:
    """Write the figures of a comparison as PNG and SVG; return their names."""
    lines = {f"a: {found.a.system}": found.a, f"b: {found.b.system}": found.b}
    both = _figure(2)
    left, right = both.subplots(1, 2)
    plot_competence(lines, left, level=found.curve.level, seed=seed)
    plot_difference(found, right)
    return save_figures({"comparison": both, "reached": _reached(lines)}, folder, tell)


def _reached(lines: dict[str, Competence]) -> "Figure":
    figure = _figure(2)
    for ax, goal in zip(figure.subplots(1, 2), GOALS, strict=True):
        plot_reached(lines, ax, goal=goal)
    return figure


def _figure(panels: int) -> "Figure":
    return new_figure(6.4 + 5.4 * (panels - 1), 4.2)


def _named(runs: "Competence | Mapping[str, Competence]") -> dict[str, Competence]:
    if isinstance(runs, Competence):
        return {runs.system: runs}
    if not runs:
        raise InputError("runs: must be at least one; got an empty mapping")
    return dict(runs)


def _names(lines: dict[str, Competence]) -> dict[str, str]:
    texts = [drawable(name, NAME, middle=True) for name in lines]
    return dict(zip(lines, unlike(texts, NAME), strict=True))


def _row_names(run: Competence) -> list[str]:
    marks = ["" if graded else " (not graded)" for graded in run.graded]
    return [drawable(name, NAME, middle=True) + mark for name, mark in zip(run.concepts, marks, strict=True)]


def _title(lines: dict[str, Competence]) -> str:
    counts = {len(np.unique(run.take(run.graded).units)) for run in lines.values()}
    over = (
        counted(counts.pop(), "concept") if len(counts) == 1 else f"{min(counts)} to {max(counts)} concepts"
    )
    alone = f"{drawable(next(iter(lines)))}: " if len(lines) == 1 else ""
    return f"{alone}competence, mean over {over}"


def _shade(ax: "Axes", k: np.ndarray, band: Interval, colour: str) -> tuple[str, str]:
    """Shade a band; return what it is, or why there is none, in words."""
    if not np.isfinite(band.low).any():
        concepts = counted(band.units, "concept")
        return "", f"no band: {concepts} without variance" if band.units > 1 else f"no band: {concepts}"
    # A point at which all concepts agree has no interval: the band is pinched there, not torn.
    low, high = (np.where(np.isfinite(end), end, band.mean) for end in (band.low, band.high))
    ax.fill_between(k, low, high, color=colour, alpha=0.13, linewidth=0)
    return f"{100 * band.level:.4g} % simultaneous band over concepts", ""


def _legend(ax: "Axes", lines: dict[str, Competence], said: list[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    if len(lines) == 1 and ax.lines[:-1]:
        handles.append(Line2D([], [], color=INK, alpha=0.4, linewidth=0.7, label="single concepts"))
    if len(lines) > MOST_BANDS:
        said = [f"no bands: more than {MOST_BANDS} lines"]
    for text in said:
        shaded = "no band" not in text
        handles.append(
            Patch(color="#808080", alpha=0.25, linewidth=0, label=text)
            if shaded
            else Line2D([], [], linestyle="", label=text)
        )
    if handles:
        ax.legend(handles=handles, loc="lower right")


def _corrections_axis(ax: "Axes", lines: dict[str, Competence], longest: bool = False) -> None:
    most = max(
        (int(run.lengths.max(initial=0)) if longest else run.horizon for run in lines.values()), default=0
    )
    pad = max(0.025 * most, 0.1)
    ax.set_xlim(-pad, most + pad)
    ax.set_xlabel("corrections taught, k")
    _whole_ticks(ax)
    if not ax.lines:
        ax.text(0.5, 0.5, "no concept was graded", ha="center", transform=ax.transAxes)


def _whole_ticks(ax: "Axes") -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
