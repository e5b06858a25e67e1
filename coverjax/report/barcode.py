"""The barcode of a log: what every single sample matched."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from coverjax.foundation.checks import InputError
from coverjax.logs.log import SampleLog
from coverjax.report.style import EMPTY, INK, PALETTE, UNDECLARED, drawable, new_figure, only_axes, styled
from coverjax.report.text import counted, unlike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_INPUTS, MOST_SAMPLES, MOST_PANELS = 40, 40, 4
"""What one figure can show readably; beyond it a subset is drawn, and the figure says which."""

NARROWEST = 0.4
"""A panel is at least this part as wide as the widest: its title and the name of its axis need room."""

HATCH = "/////"
ABSENT = -1
"""Stands for an input that a method's log does not hold."""


@dataclasses.dataclass(frozen=True)
class Colours:
    """The colour of a strategy: by its name where the log has few names, else by its place on its input.

    Attributes:
        names: colour of each name; empty where colours go by place.
    """

    names: dict[str, str]

    @classmethod
    def of(cls, logs: Sequence[SampleLog]) -> "Colours":
        """Choose colours for logs that are drawn together."""
        names = {name: None for log in logs for row in range(log.inputs) for name in _declared(log, row)}
        if len(names) > len(PALETTE):
            return cls({})
        return cls(dict(zip(sorted(names), PALETTE, strict=False)))

    def __getitem__(self, name_and_place: tuple[str, int]) -> str:
        name, place = name_and_place
        return self.names[name] if self.names else PALETTE[place % len(PALETTE)]

    def legend(self, strategies: int) -> list[tuple[str, str]]:
        """Return (colour, text) for a legend of inputs with at most so many declared strategies."""
        if self.names:
            texts = unlike([drawable(name, 18, middle=True) for name in self.names], 18)
            return list(zip(self.names.values(), texts, strict=True))
        shown = min(strategies, len(PALETTE))
        texts = [f"strategy {place + 1}" for place in range(shown)]
        if strategies > len(PALETTE):
            texts = [f"{text}, {place + 1 + len(PALETTE)} .." for place, text in enumerate(texts)]
        return list(zip(PALETTE, texts, strict=False))


@styled
def plot_barcode(
    log: SampleLog,
    ax: "Axes | None" = None,
    *,
    coverage: str = "raw",
    trial: int = 0,
    rows: Sequence[int] | None = None,
    colours: Colours | None = None,
    legend: bool = True,
) -> "Axes":
    """Plot a log as a barcode: rows are inputs, columns samples in their order, colours declared strategies.

    A cell whose sample matches several strategies is split; one that matches nothing (or does not count
    for the kind of coverage) is grey; labels outside the declared set are hatched; a dot marks the first
    appearance of a declared strategy on its input; where there is no sample there is no cell. Of a large
    log a part is drawn and the title says so: every so many'th input, the first samples.

    Args:
        log: samples of one method.
        ax: where to draw; a new figure when None.
        coverage: which samples count: "raw", "valid" or "correct".
        trial: which trial of each input.
        rows: the inputs to draw, as row numbers; evenly chosen ones when None.
        colours: shared by several barcodes; chosen for this log when None.
        legend: whether to explain the colours below.

    Raises:
        InputError: the log has several methods, or no such trial.
    """
    if log.method is not None and len(set(log.method.tolist())) > 1:
        raise InputError("barcode: must be of one method; split the log with by_method()")
    if not 0 <= trial < log.n.shape[1]:
        raise InputError(f"trial: must be one of the {log.n.shape[1]} trials, from 0; got {trial}")
    chosen = list(evenly(log.inputs, MOST_INPUTS) if rows is None else rows)
    if ax is None:
        ax = only_axes(None)
        ax.figure.set_size_inches(6.4, _height(len(chosen)))  # type: ignore[union-attr]
    colours = Colours.of([log]) if colours is None else colours
    total = int(log.n[:, trial].max(initial=0))
    samples = min(total, MOST_SAMPLES)
    _draw_cells(ax, _cells(log, chosen, log.kept(coverage)[:, trial, :samples], log.n[:, trial], colours))
    _set_axes(ax, [log.ids[row] for row in chosen], max(samples, 1))
    ax.set_title(_what_is_shown(log, len(chosen), samples, total, trial), fontsize=8.0)
    if legend:
        _explain(ax.figure, colours, [log])  # type: ignore[arg-type]
    return ax


@styled
def barcode_figure(logs: dict[str, SampleLog], coverage: str = "raw") -> "Figure":
    """Draw the barcodes of up to four methods side by side, the same inputs in the same rows."""
    shown = dict(list(logs.items())[:MOST_PANELS])
    every = list(dict.fromkeys(name for log in shown.values() for name in log.ids.tolist()))
    inputs = [every[i] for i in evenly(len(every), MOST_INPUTS)]
    samples = min(max(int(log.n[:, 0].max(initial=0)) for log in shown.values()), MOST_SAMPLES)
    colours = Colours.of(list(shown.values()))
    figure = new_figure(max(6.4, 1.6 + 2.4 * len(shown)), _height(len(inputs)))
    most = [min(int(log.n[:, 0].max(initial=0)), samples) for log in shown.values()]
    widths = [max(count, NARROWEST * samples) for count in most]
    panels = figure.subplots(1, len(shown), squeeze=False, sharey=True, width_ratios=widths)[0]
    titles = unlike([drawable(name, 24, middle=True) for name in shown], 24)
    for panel, title, log, count, width in zip(panels, titles, shown.values(), most, widths, strict=True):
        at = {value: row for row, value in enumerate(log.ids.tolist())}
        rows = [at.get(value, ABSENT) for value in inputs]
        _draw_cells(panel, _cells(log, rows, log.kept(coverage)[:, 0, :samples], log.n[:, 0], colours))
        _set_axes(panel, inputs, max(count, 1), width)
        panel.set_title(title if len(logs) > 1 else "", fontsize=8.5)
        panel.label_outer()
        if panel is not panels[0]:
            panel.set_xlabel("")
    figure.suptitle(
        _heading(logs, coverage, len(every), len(inputs), samples), fontsize=9.5, x=0.01, ha="left"
    )
    _explain(figure, colours, list(shown.values()))
    return figure


def _heading(logs: dict[str, SampleLog], coverage: str, every: int, inputs: int, samples: int) -> str:
    """Say what is drawn, and what of it is a part only."""
    parts = [f"what each sample matched ({coverage})"]
    if len(logs) > MOST_PANELS:
        parts.append(f"{MOST_PANELS} of {len(logs)} methods")
    total = max(int(log.n[:, 0].max(initial=0)) for log in logs.values())
    trials = max(log.n.shape[1] for log in logs.values())
    parts += _shown(every, inputs, total, samples, 0, trials)
    return ", ".join(parts)


def evenly(count: int, most: int) -> list[int]:
    """Return at most `most` of the numbers below `count`, evenly chosen, the ends among them."""
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]


def _declared(log: SampleLog, row: int) -> list[str]:
    return [name for name, own in zip(log.labels[row], log.declared[row], strict=False) if own]


def _height(rows: int) -> float:
    return 1.7 + 0.17 * max(rows, 3)


@dataclasses.dataclass(frozen=True)
class _Cells:
    """Rectangles (left, bottom, width, height) by look, and where to put dots."""

    filled: dict[str, list[tuple[float, float, float, float]]]
    hatched: list[tuple[float, float, float, float]]
    empty: list[tuple[float, float, float, float]]
    dots: list[tuple[float, float]]


def _cells(
    log: SampleLog, rows: Sequence[int], matches: np.ndarray, n: np.ndarray, colours: Colours
) -> _Cells:
    """Lay out one trial, `matches` [inputs, samples, labels] and `n` [inputs]; line i shows input rows[i]."""
    cells = _Cells({}, [], [], [])
    for line, row in enumerate(rows):
        if row == ABSENT:
            continue
        place = np.cumsum(log.declared[row]) - 1
        seen: set[int] = set()
        for sample in range(min(int(n[row]), matches.shape[1])):
            labels = np.flatnonzero(matches[row, sample])
            if not len(labels):
                cells.empty.append((sample + 0.54, line - 0.42, 0.92, 0.84))
            for part, label in enumerate(labels.tolist()):
                width = 0.92 / len(labels)
                box = (sample + 0.54 + part * width, line - 0.42, width, 0.84)
                if not log.declared[row, label]:
                    cells.hatched.append(box)
                    continue
                colour = colours[log.labels[row][label], int(place[label])]
                cells.filled.setdefault(colour, []).append(box)
                if label not in seen:
                    seen.add(label)
                    cells.dots.append((box[0] + 0.5 * width, line))
    return cells


def _draw_cells(ax: "Axes", cells: _Cells) -> None:
    from matplotlib.collections import PolyCollection

    def corners(boxes: list[tuple[float, float, float, float]]) -> list[list[tuple[float, float]]]:
        return [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in boxes]

    def add(boxes: list[tuple[float, float, float, float]], **kind: Any) -> None:
        if boxes:
            ax.add_collection(PolyCollection(corners(boxes), **kind))

    add(cells.empty, facecolors=EMPTY, linewidths=0)
    add(cells.hatched, facecolors=UNDECLARED, edgecolors="white", linewidths=0.4, hatch=HATCH)
    for colour, boxes in sorted(cells.filled.items()):
        add(boxes, facecolors=colour, edgecolors="white", linewidths=0.4)
    if cells.dots:
        x, y = zip(*cells.dots, strict=True)
        crowded = max(x) > 16.0
        ax.scatter(x, y, s=4.0 if crowded else 8.0, c="white", edgecolors=INK, linewidths=0.5, zorder=3)


def _set_axes(ax: "Axes", names: Sequence[object], samples: int, width: float = 0.0) -> None:
    """Set the axes for so many samples, with room for `width` of them."""
    from matplotlib.ticker import MaxNLocator

    ax.grid(visible=False)
    ax.set_xlim(0.4, max(samples, width) + 0.6)
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.set_yticks(range(len(names)), [drawable(name, 20, middle=True) for name in names], fontsize=7.0)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=8.0)
    ticks = MaxNLocator(nbins=8, integer=True, min_n_ticks=1).tick_values(*ax.get_xlim())
    ax.set_xticks([tick for tick in map(float, ticks) if 0.0 < tick <= samples])
    ax.set_xlabel("sample, in the order of the log")
    ax.set_ylabel("input")


def _shown(every: int, inputs: int, total: int, samples: int, trial: int, trials: int) -> list[str]:
    parts = [
        counted(inputs, "input") if inputs == every else f"{inputs} of {every:,} inputs",
        counted(samples, "sample") if samples == total else f"first {samples} of {total:,} samples",
    ]
    return parts + ([f"trial {trial + 1} of {trials}"] if trials > 1 else [])


def _what_is_shown(log: SampleLog, inputs: int, samples: int, total: int, trial: int) -> str:
    return ", ".join(_shown(log.inputs, inputs, total, samples, trial, log.n.shape[1]))


def _explain(figure: "Figure", colours: Colours, logs: list[SampleLog]) -> None:
    """Put the legend below the axes."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    most = max(int(log.declared_count.max(initial=0)) for log in logs)
    handles: list[Any] = [Patch(facecolor=colour, label=text) for colour, text in colours.legend(most)]
    if any((log.matches.any(axis=(1, 2)) & ~log.declared).any() for log in logs):
        handles.append(
            Patch(
                facecolor=UNDECLARED,
                edgecolor="white",
                hatch=HATCH,
                linewidth=0,
                label="not a declared strategy",
            )
        )
    handles.append(Patch(facecolor=EMPTY, label="nothing matched"))
    dot: dict[str, Any] = {
        "marker": "o",
        "markerfacecolor": "white",
        "markeredgecolor": INK,
        "markersize": 3.5,
    }
    handles.append(Line2D([], [], linestyle="", label="first time on its input", **dot))
    if not colours.names and most:
        handles.append(Line2D([], [], linestyle="", label="colour: place in the input's own list"))
    figure.legend(handles=handles, loc="outside lower left", ncols=4, fontsize=7.5, handlelength=1.2)
