"""Figures of curves: every function takes an Axes or makes one, and returns it."""

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from coverjax.curves import Curves
from coverjax.foundation.checks import InputError, fraction, one_of
from coverjax.inference.of_curves import curve_interval
from coverjax.inference.units import Interval
from coverjax.metrics import time_to_coverage
from coverjax.report.extrapolated import first_extrapolated
from coverjax.report.style import drawable, label_ends, look, only_axes, styled
from coverjax.report.text import band_notes, counted, unlike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = 48
"""The longest name beside a line, in characters."""

MOST_BANDS = 4
"""With more lines their bands hide each other, and none is drawn."""

Corner = Literal["lower right", "below"]

LEGEND = 72
"""Characters of a legend's line in a figure of one panel; in more panels each has its part."""

MOST_MARKED = 8
"""With more lines, markers on them are noise."""

AHEAD = "dotted beyond the ring: extrapolated"

NOVELTY = {
    "novelty_count": "expected new declared strategies in sample k",
    "novelty_any": "P(sample k brings a new declared strategy)",
}

BANDS = {
    "band": "simultaneous band",
    "t": "pointwise t-interval",
    "bootstrap": "pointwise bootstrap interval",
    "bounded": "pointwise bounded interval",
    "bounded band": "simultaneous bounded band",
}


@styled
def plot_coverage(
    curves: "Curves | Mapping[str, Curves]",
    ax: "Axes | None" = None,
    *,
    level: float = 0.95,
    band: str = "auto",
    intervals: "Mapping[str, Interval] | None" = None,
) -> "Axes":
    """Plot coverage, the mean over inputs of the fraction of strategies covered, against the budget.

    Args:
        curves: one, or a mapping from a line's name to its curves.
        ax: where to draw; a new figure when None.
        level: nominal level of the bands, a fraction.
        band: "band" (simultaneous over the budgets), "t" or "bootstrap" (pointwise), "none", or "auto": a
            simultaneous band for curves estimated from a log and none for others. The legend says which.
            With more than four lines none is drawn, and the legend says so.
        intervals: what to draw instead of intervals computed here, by the names of the lines.

    Returns:
        The axes.
    """
    ax = only_axes(ax)
    lines = _named(curves)
    ends = _draw(ax, lines, "coverage", level, band, intervals, corner="lower right")
    first = next(iter(lines.values()))
    ax.set_title(_title(lines))
    ax.set_ylabel(f"coverage: fraction of {_strategies(first)}")
    ax.set_ylim(_floor(ax), 1.02)
    _finish(ax, lines, ends)
    return ax


@styled
def plot_novelty(
    curves: "Curves | Mapping[str, Curves]",
    ax: "Axes | None" = None,
    *,
    quantity: str = "novelty_count",
    level: float = 0.95,
    band: str = "auto",
    intervals: "Mapping[str, Interval] | None" = None,
) -> "Axes":
    """Plot what draw k adds: the expected number of new strategies, or the chance of at least one.

    Args:
        curves, ax, level, band, intervals: as for `plot_coverage`.
        quantity: "novelty_count" or "novelty_any"; they differ where a sample matches several strategies.
    """
    one_of("quantity", quantity, tuple(NOVELTY))
    ax = only_axes(ax)
    lines = _named(curves)
    ends = _draw(ax, lines, quantity, level, band, intervals, corner="below")
    most = 1.02 if quantity == "novelty_any" else 1.05 * max(_finite(ax.dataLim.y1, 0.95), 0.1)
    ax.set_ylabel(NOVELTY[quantity])
    _novelty_axis(ax, [getattr(line.mean(), quantity)[0] for line in lines.values()], most)
    ax.set_title(_title(lines, "novelty"))
    _finish(ax, lines, ends)
    return ax


@styled
def plot_time_to_coverage(
    curves: "Curves | Mapping[str, Curves]", ax: "Axes | None" = None, *, tau: float = 1.0
) -> "Axes":
    """Plot the law of T(tau): the share of runs that covered tau of the strategies within k draws.

    A run is an input and a random k-subset of its samples (the observed order where the log is ordered);
    inputs weigh equally. What a line lacks to 1 at the last budget is the share never reached.
    """
    ax = only_axes(ax)
    lines = _named(curves)
    names = _line_names(lines)
    ends = []
    for number, (name, line) in enumerate(lines.items()):
        pooled = time_to_coverage(line, tau).pooled
        assert pooled is not None
        reached = 1.0 - pooled.survival
        if not np.isfinite(reached).any():
            continue
        shape = look(number, len(line.budgets) if len(lines) <= MOST_MARKED else None)
        last = _right_end(lines)
        ax.plot(
            [*line.budgets, last],
            [*reached, reached[-1]],
            drawstyle="steps-post",
            markevery=range(len(line.budgets)),
            **shape,
        )
        text = f"{names[name]}: " if len(lines) > 1 else ""
        ends.append((f"{text}{1.0 - reached[-1]:.0%} never", last, reached[-1], shape["color"]))
    ax.set_ylim(-0.02, 1.02)
    ax.set_ylabel(f"share of runs with T({tau:g}) ≤ k")
    ax.set_title(f"T({tau:g}): {tau:.0%} of the strategies covered")
    _finish(ax, lines, ends)
    return ax


def _novelty_axis(ax: "Axes", heights: list[np.ndarray], most: float) -> None:
    """Scale novelty from 0, or logarithmically where it falls over more than two decades and never to 0."""
    values = np.concatenate(heights)
    least = float(np.nanmin(values)) if np.isfinite(values).any() else 0.0
    if least > 0.0 and float(np.nanmax(values)) > 100.0 * least:
        from matplotlib.ticker import FuncFormatter, NullFormatter

        ax.set_yscale("log")
        # The usual labels of a logarithmic axis are mathematics, which is off: labels are data here.
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_ylim(0.5 * least, 1.2 * most)
        ax.set_ylabel(f"{ax.get_ylabel()}\n(logarithmic)")
    else:
        ax.set_ylim(0.0, most)


def _finite(value: float, otherwise: float) -> float:
    return value if np.isfinite(value) else otherwise


def _named(curves: "Curves | Mapping[str, Curves]") -> dict[str, Curves]:
    if isinstance(curves, Curves):
        return {curves.method or "curves": curves}
    if not curves:
        raise InputError("curves: must be at least one; got an empty mapping")
    return dict(curves)


def _line_names(lines: dict[str, Curves]) -> dict[str, str]:
    texts = [drawable(name, NAME, middle=True) for name in lines]
    return dict(zip(lines, unlike(texts, NAME), strict=True))


def _draw(
    ax: "Axes",
    lines: dict[str, Curves],
    quantity: str,
    level: float,
    band: str,
    intervals: "Mapping[str, Interval] | None",
    corner: Corner,
) -> list[tuple[str, float, float, str]]:
    """Draw one quantity of every line with its band, and a legend for the bands; return the lines' ends."""
    one_of("band", band, ("auto", "none", *BANDS))
    level = fraction("level", level)
    names = _line_names(lines)
    ends: list[tuple[str, float, float, str]] = []
    said: dict[str, str] = {}
    bands: dict[str, tuple[str, str]] = {}
    for number, (name, line) in enumerate(lines.items()):
        line.need(quantity)
        values = line.mean()
        height = getattr(values, quantity)[0]
        if not np.isfinite(height).any():
            continue
        shape = look(number, len(line.budgets) if len(lines) <= MOST_MARKED else None)
        if _plot_line(ax, line, height, shape):
            said.setdefault(AHEAD, shape["color"])
        ends.append((names[name], line.budgets[-1], height[-1], shape["color"]))
        around = None if len(lines) > MOST_BANDS else _interval(name, line, quantity, level, band, intervals)
        if around is not None:
            bands[names[name]] = _fill(ax, line, around, shape["color"])
            said.setdefault(bands[names[name]][0], shape["color"])
    said.pop("", None)
    said |= dict.fromkeys(band_notes({name: why for name, (_, why) in bands.items()}), "")
    wanted = any(_wants_band(line, band, intervals) for line in lines.values())
    _legend(ax, lines, said, corner, too_many=wanted and len(lines) > MOST_BANDS)
    return ends if len(lines) > 1 else []


def _plot_line(ax: "Axes", line: Curves, height: np.ndarray, shape: dict[str, Any]) -> bool:
    """Draw a line; beyond the samples dotted, from a ring at the last budget within them. Say if it does."""
    first = first_extrapolated(line)
    if first == len(line.budgets):
        ax.plot(line.budgets, height, **shape)
        return False
    ax.plot(line.budgets[:first], height[:first], **shape)
    start = max(first - 1, 0)
    ahead = shape | {"linestyle": (0, (1.2, 1.4)), "marker": ""}
    ax.plot(line.budgets[start:], height[start:], **ahead)
    if first:
        colour = shape["color"]
        ax.plot(
            line.budgets[start : start + 1], height[start : start + 1], "o", markersize=6, color=colour,
            markerfacecolor="white", zorder=5,
        )  # fmt: skip
    return True


def _interval(
    name: str,
    line: Curves,
    quantity: str,
    level: float,
    band: str,
    intervals: "Mapping[str, Interval] | None",
) -> "Interval | None":
    if intervals is not None:
        return intervals.get(name)
    if not _wants_band(line, band, intervals):
        return None
    return curve_interval(line, quantity, level, "band" if band == "auto" else band)


def _wants_band(line: Curves, band: str, intervals: "Mapping[str, Interval] | None") -> bool:
    """Whether a line is to have a band: "auto" gives one to curves estimated from a log only."""
    estimated = line.provenance.get("kind") == "estimated"
    return intervals is not None or (estimated if band == "auto" else band != "none")


def _fill(ax: "Axes", line: Curves, around: "Interval", colour: str) -> tuple[str, str]:
    """Shade an interval; return what it is, and why it lacks or has gaps, in words."""
    there = np.isfinite(around.low)
    if there.any():
        beside = np.concatenate([[False], there, [False]])
        alone = there & ~beside[:-2] & ~beside[2:]
        # A budget between two that have no interval has no area to shade.
        if alone.any():
            low, high = around.low[alone], around.high[alone]
            ax.vlines(line.budgets[alone], low, high, color=colour, linewidth=5.0, alpha=0.25)
        if not alone.all():
            ax.fill_between(
                line.budgets,
                around.low,
                around.high,
                where=there & ~alone,
                color=colour,
                alpha=0.13,
                linewidth=0,
            )
            for edge in (around.low, around.high):
                ax.plot(line.budgets, edge, color=colour, linewidth=0.6, alpha=0.55)
        text = f"{100 * around.level:.4g} % {BANDS[around.method]} over {counted(around.units, 'input')}"
        none = int((~there).sum())
        return text, f"no band at {none} of {counted(len(there), 'budget')} (all agree)" if none else ""
    if around.units < 2:
        return "", f"no band: {counted(around.units, 'input')}, an interval needs at least 2"
    return "", f"no band: no variance over {counted(around.units, 'input')}"


def _legend(
    ax: "Axes", lines: dict[str, Curves], said: dict[str, str], corner: Corner, too_many: bool
) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    place = ax.get_subplotspec()
    panels = 1 if place is None else place.get_gridspec().ncols
    handles: list[Any] = []
    if too_many:
        handles.append(Line2D([], [], linestyle="", label=f"no bands: more than {MOST_BANDS} lines"))
    for text, colour in said.items():
        shade = "#808080" if len(lines) > 1 else colour
        drawn = "no band" not in text and text != AHEAD
        label = textwrap.fill(text, LEGEND // panels)
        handles.append(
            Patch(color=shade, alpha=0.25, linewidth=0, label=label)
            if drawn
            else Line2D([], [], linestyle="", label=label)
        )
    if handles and corner == "below":
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.0, -0.13))
    elif handles:
        ax.legend(handles=handles, loc="lower right")


def _finish(ax: "Axes", lines: dict[str, Curves], ends: list[tuple[str, float, float, str]]) -> None:
    """Set the axis of budgets, then write the names of the lines: their places depend on both axes."""
    _budget_axis(ax, *_span(lines))
    if not ends and not ax.lines:
        ax.text(
            0.5,
            0.5,
            "no input has both enough samples\nand a declared strategy",
            ha="center",
            transform=ax.transAxes,
        )
    label_ends(ax, ends)


def _budget_axis(ax: "Axes", least: int, most: int) -> None:
    """Label budgets with whole numbers; logarithmic where they span more than two decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    ax.set_xlabel("samples drawn, k")
    if most > 100 * least:
        ax.set_xscale("log")
        subs = (1.0, 2.0, 5.0) if most < 30_000 * least else (1.0,)
        ax.xaxis.set_major_locator(LogLocator(10.0, subs=subs))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_xlabel("samples drawn, k (logarithmic)")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
    left, right = _ends_of_axis(least, most)
    ax.set_xlim(left, right)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda k, _: f"{k:,.0f}"))


def _ends_of_axis(least: int, most: int) -> tuple[float, float]:
    if most > 100 * least:
        return least / 1.06, most * 1.06
    pad = max(0.025 * (most - least), 0.1)
    return least - pad, most + pad


def _right_end(lines: dict[str, Curves]) -> float:
    return _ends_of_axis(*_span(lines))[1]


def _span(lines: dict[str, Curves]) -> tuple[int, int]:
    budgets = np.concatenate([line.budgets for line in lines.values()])
    return int(budgets.min()), int(budgets.max())


def _title(lines: dict[str, Curves], what: str = "coverage") -> str:
    kinds = {str(line.provenance.get("coverage", "")) for line in lines.values()} - {""}
    kind = f"{kinds.pop()} {what}" if len(kinds) == 1 else what
    inputs = {int(line.used.sum()) for line in lines.values()}
    over = counted(inputs.pop(), "input") if len(inputs) == 1 else f"{min(inputs)} to {max(inputs)} inputs"
    alone = ""
    if len(lines) == 1 and next(iter(lines.values())).method:
        alone = f"{drawable(next(iter(lines.values())).method)}: "
    return f"{alone}{kind}, mean over {over}"


def _strategies(line: Curves) -> str:
    return (
        "declared strategies"
        if line.provenance.get("declared_given", True)
        else "the labels seen in this log"
    )


def _floor(ax: "Axes") -> float:
    """Start the axis of coverage at 0, or higher where that would leave most of the figure empty."""
    lowest = ax.dataLim.y0
    if not np.isfinite(lowest) or lowest <= 0.4:
        return -0.02
    return min(float(np.floor(lowest * 10.0) / 10.0), 0.8)
