"""One look for all figures, and figure files whose bytes repeat.

The palette was searched for: any two colours differ by at least 25 (CIE76) to normal, protan, deutan
and tritan eyes, and their lightness climbs in steps of 7, so that a grey copy can be read too. Colours,
line styles and markers cycle with different periods.
"""

import functools
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from coverjax.report.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = ("#5f30a0", "#17ba7a", "#af4490", "#441a3c", "#8289e3", "#7b0100", "#888123", "#34664b")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MOST_MARKERS = 24
EMPTY, UNDECLARED, INK = "#dcdcdc", "#9a9a9a", "#303030"

RC: dict[str, Any] = {
    # Labels are data: a dollar sign is a dollar sign.
    "text.parse_math": False,
    "text.usetex": False,
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "hatch.linewidth": 0.6,
    "figure.dpi": 100.0,
    "savefig.dpi": 150.0,
    "path.simplify": True,
    # Without these the SVG holds random ids and the time of day.
    "svg.hashsalt": "coverjax",
    "svg.fonttype": "path",
}

_FALLBACKS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "PingFang SC", "Hiragino Sans", "Yu Gothic",
    "Microsoft YaHei", "Noto Sans Devanagari", "Noto Emoji", "Noto Sans Symbols2", "Segoe UI Symbol",
)  # fmt: skip
"""Fonts that are used, where they are installed, for what DejaVu Sans (shipped with matplotlib) lacks."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@functools.cache
def _fonts() -> tuple[tuple[str, ...], frozenset[int]]:
    """Return the font families in use and the characters that one of them has."""
    from matplotlib import font_manager, ft2font

    installed = {entry.name: entry.fname for entry in reversed(font_manager.fontManager.ttflist)}
    families = ("DejaVu Sans", *(name for name in _FALLBACKS if name in installed))
    characters: set[int] = set()
    for family in families:
        path = font_manager.findfont(family, fallback_to_default=True)
        characters |= set(ft2font.FT2Font(path).get_charmap())
    return families, frozenset(characters)


def drawable(text: object, limit: int = 32, middle: bool = False) -> str:
    """Return text for a figure: one line, cut, and a character that no font has as its escape.

    An escape (``\\u65e5``) is ugly but tells labels apart; the box of a missing glyph wouldn't, and
    matplotlib would warn about every one.
    """
    _, characters = _fonts()
    clean = "".join(c if ord(c) in characters else ascii(c)[1:-1] for c in one_line(text, limit, middle))
    return one_line(clean, limit, middle)


def styled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Run a function that draws or saves under the house style, leaving matplotlib's settings alone."""

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        import matplotlib

        settings: Any = {**RC, "font.family": list(_fonts()[0])}
        with matplotlib.rc_context(settings):
            return function(*args, **kwargs)

    return call


def look(index: int, points: int | None = None) -> dict[str, Any]:
    """Return the look of the line with this number; it has markers where its points are known to be few."""
    style = {"color": PALETTE[index % len(PALETTE)], "linestyle": DASHES[index % len(DASHES)]}
    if points is not None and points <= MOST_MARKERS:
        style |= {"marker": MARKERS[index % len(MARKERS)], "markeredgecolor": "white", "markeredgewidth": 0.5}
    return style


@styled
def new_figure(width: float = 6.4, height: float = 4.2) -> "Figure":
    """Return an empty figure (inches) that belongs to no global state of matplotlib."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def only_axes(ax: "Axes | None") -> "Axes":
    """Return the axes given, or those of a new figure."""
    return new_figure().subplots() if ax is None else ax


def spread_apart(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions as little as possible (least squares) so that neighbours are `gap` apart in [low, high].

    Isotonic regression of position minus rank x gap; where they can't all fit, the gap shrinks.
    """
    count = len(positions)
    if count == 0:
        return []
    gap = min(gap, (high - low) / max(count - 1, 1))
    order = sorted(range(count), key=lambda i: (positions[i], i))
    groups: list[list[float]] = []
    for rank, i in enumerate(order):
        groups.append([positions[i] - rank * gap, 1.0])
        while len(groups) > 1 and groups[-2][0] >= groups[-1][0]:
            value, size = groups.pop()
            before = groups[-1]
            before[0] = (before[0] * before[1] + value * size) / (before[1] + size)
            before[1] += size
    flat = [value for value, size in groups for _ in range(int(size))]
    room = high - (count - 1) * gap
    result = [0.0] * count
    for rank, i in enumerate(order):
        result[i] = min(max(flat[rank], low), room) + rank * gap
    return result


def label_ends(ax: "Axes", ends: Sequence[tuple[str, float, float, str]], size: float = 8.0) -> None:
    """Write (text, x, y, colour) right of the axes at the ends of lines: moved apart, joined by hairlines.

    To be called when the limits of the axes stand: the places are fixed in parts of the axes.
    """
    from matplotlib.lines import Line2D

    figure = ax.get_figure(root=True)
    assert figure is not None
    gap = 1.25 * size / (float(figure.get_size_inches()[1]) * 72.0 * 0.8)
    to_axes = ax.transData + ax.transAxes.inverted()
    at = [to_axes.transform((x, y)).tolist() for _, x, y, _ in ends]
    heights = spread_apart([y for _, y in at], gap, 0.0, 1.0)
    for (text, _, _, colour), (x, y), height in zip(ends, at, heights, strict=True):
        ax.text(1.035, height, text, va="center", fontsize=size, color=colour, transform=ax.transAxes)
        leader = Line2D([x + 0.008, 1.03], [y, height], color=colour, linewidth=0.6, transform=ax.transAxes)
        leader.set_clip_on(False)
        leader.set_in_layout(False)
        ax.add_artist(leader)


@styled
def save_figure(figure: "Figure", folder: pathlib.Path, stem: str) -> list[str]:
    """Write `stem`.png and `stem`.svg, the same bytes each time; return their names."""
    from coverjax._version import __version__

    figure.savefig(folder / f"{stem}.png", metadata={"Software": f"coverjax {__version__}"})
    # The layout is the slow part, and the same again.
    figure.set_layout_engine("none")
    figure.savefig(folder / f"{stem}.svg", metadata={"Creator": f"coverjax {__version__}", "Date": None})
    return [f"{stem}.png", f"{stem}.svg"]


def save_figures(
    figures: "Mapping[str, Figure]", folder: pathlib.Path, tell: Callable[[str], None]
) -> list[str]:
    """Write figures by stem, telling of each as it begins; return their names."""
    names: list[str] = []
    for stem, figure in figures.items():
        tell(f"drawing {stem}")
        names += save_figure(figure, folder, stem)
    return names
