"""Figures over a sweep: gain of each policy over two settings, and which policy wins where."""

import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from coverjax.report.style import (
    EMPTY,
    INK,
    MARKERS,
    PALETTE,
    drawable,
    label_ends,
    look,
    new_figure,
    only_axes,
    save_figures,
    styled,
)
from coverjax.sweep.results import Maps, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NUMBERS = 12
"""Numbers are written into the fields of a map with at most so many columns and rows."""

MOST_PANELS, NAME = 6, 34


@styled
def plot_gain_map(
    panel: Panel, policy: int, ax: "Axes | None" = None, *, limit: float = 1.0, x: str = "", y: str = ""
) -> "Axes":
    """Plot a policy's gain over two settings: purple above iid (0), orange below, grey where there is none.

    Args:
        panel: a panel of `maps`.
        policy: its number.
        ax: the axes, or None for new ones.
        limit: the gain of the strongest colour, on both sides.
        x, y: names of the settings.
    """
    from matplotlib import colormaps

    ax = only_axes(ax)
    shades = colormaps["PuOr"].with_extremes(bad=EMPTY)
    values = panel.gain[policy]
    ax.imshow(
        np.ma.masked_invalid(values), cmap=shades, vmin=-limit, vmax=limit, aspect="auto", origin="lower"
    )
    if max(values.shape) <= MOST_NUMBERS:
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                ink = "white" if abs(value) > 0.55 * limit else INK
                ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=6.5, color=ink)
    _settings(ax, panel, x, y)
    return ax


@styled
def plot_regimes(panel: Panel, found: Maps, ax: "Axes | None" = None) -> "Axes":
    """Plot which policy wins where; hatched where that is not decided, grey where there is no cell.

    Each policy has its colour and its marker, so that the map can be read in grey.
    """
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    ax = only_axes(ax)
    image = np.ones((*panel.best.shape, 3)) * to_rgb(EMPTY)
    for (row, column), policy in np.ndenumerate(panel.best):
        if policy < 0:
            continue
        image[row, column] = to_rgb(PALETTE[policy % len(PALETTE)])
        if not panel.decided[row, column]:
            corner = (column - 0.5, row - 0.5)
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, hatch="////", edgecolor="white", linewidth=0))
        if max(panel.best.shape) <= 2 * MOST_NUMBERS:
            ax.plot(column, row, MARKERS[policy % len(MARKERS)], color="white", markersize=3.5)
    ax.imshow(image, aspect="auto", origin="lower")
    _settings(ax, panel, found.x, found.y)
    return ax


def _settings(ax: "Axes", panel: Panel, x: str, y: str) -> None:
    """Name the fields of a map by the values of its settings, as many as there is room for."""
    ax.grid(False)
    for values, set_ticks, room in ((panel.xs, ax.set_xticks, 6), (panel.ys, ax.set_yticks, 10)):
        step = -(-(len(values) - 1) // room) if len(values) > room else 1
        places = range(0, len(values), step)
        set_ticks(list(places), [_value(values[place]) for place in places])
    if panel.ys == [None]:
        ax.set_yticks([])
    ax.set_xlabel(x.replace("_", " "))
    ax.set_ylabel(y.replace("_", " "))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _value(value: Any) -> str:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


@styled
def gain_figure(found: Maps, title: str = "") -> "Figure":
    """Return small multiples of gain: a row for each panel, a column for each policy that is to be judged."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    shown = _judged(found)[:MOST_PANELS]
    panels = found.panels[:MOST_PANELS]
    finite = np.abs(np.concatenate([panel.gain[shown].ravel() for panel in panels]))
    limit = max(1.0, float(finite[np.isfinite(finite)].max(initial=1.0)))
    wide = max(2.4, 0.34 * min(len(panels[0].xs), MOST_NUMBERS) + 0.8)
    tall = max(1.9, 0.26 * min(len(panels[0].ys), MOST_NUMBERS) + 0.9)
    figure = new_figure(max(4.8, 1.2 + wide * len(shown)), 1.1 + tall * len(panels))
    axes = figure.subplots(len(panels), len(shown), squeeze=False, sharex=True, sharey=True)
    for row, panel in enumerate(panels):
        for column, policy in enumerate(shown):
            ax = axes[row, column]
            plot_gain_map(panel, policy, ax, limit=limit, x=found.x, y=found.y)
            ax.set_title(
                "\n".join(filter(None, (drawable(found.policies[policy], NAME), panel.title))), fontsize=8
            )
            ax.label_outer()
    colours = ScalarMappable(Normalize(-limit, limit), "PuOr")
    bar = figure.colorbar(colours, ax=axes, shrink=0.8, aspect=30)
    bar.set_label("gain: iid 0, one strategy a draw 1")
    figure.suptitle(_title("gain", found, title), x=0.01, ha="left", fontsize=10)
    return figure


def _judged(found: Maps) -> list[int]:
    """The policies whose gain says something: not the references, no oracles unless there is nothing else."""
    others = [place for place, name in enumerate(found.policies) if name not in ("IID", "OracleNoRepeat")]
    return [place for place in others if found.policies[place] in found.rivals] or others


@styled
def regime_figure(found: Maps, title: str = "") -> "Figure":
    """Return the maps of who wins, a panel each, with what each policy sees and knows in the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    panels = found.panels[:MOST_PANELS]
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(1.0 + 3.3 * columns, 1.2 + 2.6 * rows + 0.22 * len(found.rivals))
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for place, ax in enumerate(axes.ravel()):
        if place >= len(panels):
            ax.set_visible(False)
            continue
        plot_regimes(panels[place], found, ax)
        ax.set_title(panels[place].title, fontsize=9)
    handles: list[Any] = []
    for name in found.rivals:
        policy = found.policies.index(name)
        told = drawable(f"{name} [{', '.join(found.told[name])}]", 60)
        colour, marker = PALETTE[policy % len(PALETTE)], MARKERS[policy % len(MARKERS)]
        handles.append(Line2D([], [], linestyle="", marker=marker, color=colour, label=told))
    handles.append(Patch(facecolor="#808080", edgecolor="white", hatch="////", label="not decided (95 %)"))
    figure.legend(handles=handles, loc="outside lower left", ncols=1 if len(handles) < 5 else 2)
    figure.suptitle(_title("largest AUC", found, title), x=0.01, ha="left", fontsize=10)
    return figure


@styled
def gain_lines(found: Maps, title: str = "") -> "Figure":
    """Return gain along the one setting that varies, a line for each policy."""
    panel = found.panels[0]
    longest = max(len(name) for name in found.policies)
    figure = new_figure(5.4 + 0.07 * min(longest, NAME), 4.2)
    ax = figure.subplots()
    places = np.arange(len(panel.xs)) if isinstance(panel.xs[0], str) else np.array(panel.xs, dtype=float)
    ends = []
    for policy, name in enumerate(found.policies):
        values = panel.gain[policy, 0]
        style = look(policy, len(places))
        ax.plot(places, values, **style)
        if np.isfinite(values[-1]):
            ends.append((drawable(name, NAME), float(places[-1]), float(values[-1]), style["color"]))
    if isinstance(panel.xs[0], str):
        ax.set_xticks(places, panel.xs)
    ax.set_xlabel(found.x.replace("_", " "))
    ax.set_ylabel("gain: iid 0, one strategy a draw 1")
    ax.set_title(_title("gain", found, title))
    figure.canvas.draw()
    label_ends(ax, ends)
    return figure


def _title(what: str, found: Maps, title: str) -> str:
    pooled = f"; mean over {', '.join(found.pooled)}" if found.pooled else ""
    left = f"; first {MOST_PANELS} of {len(found.panels)} panels" if len(found.panels) > MOST_PANELS else ""
    return drawable(f"{title + ': ' if title else ''}{what}{pooled}{left}", 110)


def write_sweep_figures(
    found: Maps, folder: pathlib.Path, title: str = "", tell: Callable[[str], None] = lambda step: None
) -> list[str]:
    """Write the figures that a sweep allows as PNG and SVG; return the files' names."""
    if not found.x:
        return []
    drawn: dict[str, Figure] = {}
    gains = any(np.isfinite(panel.gain).any() for panel in found.panels)
    if gains and _judged(found):
        drawn["gain"] = gain_figure(found, title) if found.y else gain_lines(found, title)
    if found.y and len(found.rivals) > 1:
        drawn["regimes"] = regime_figure(found, title)
    return save_figures(drawn, folder, tell)
