"""Coverage against correctness: does covering more strategies buy more solved problems."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from coverjax.curves import Curves
from coverjax.foundation.checks import InputError
from coverjax.inference.of_curves import curve_interval
from coverjax.report.plots import NAME
from coverjax.report.style import drawable, label_ends, look, only_axes, styled
from coverjax.report.text import counted, unlike
from coverjax.report.utility_study import NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 9
"""Budgets that are marked on a line."""

LEAST_SPAN = 0.1
"""The axis spans at least this fraction of its upper end: 0.992 to 1 is no cliff."""


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
    ends, crossed = [], False
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
        crossed |= _cross(ax, line, utility, level, style["color"])
        start = f"{text}, " if len(lines) > 1 else ""
        ends.append((f"{start}k = {line.budgets[-1]:,}", float(x[-1]), float(y[-1]), style["color"]))
    first = next(iter(lines.values()))
    inputs = counted(int(first.used.sum()), "input")
    marks = "dots: k = 1, 2, 4, .. and the last"
    if crossed:
        marks += f"; thin lines there: {100 * level:.4g} % t-intervals over inputs"
    ax.set_xlabel(f"coverage C(k): fraction of the strategies found\n({marks})")
    ax.set_ylabel(NAMES.get(utility, utility))
    ax.set_title(
        f"coverage against correctness, k = {first.budgets[0]} to {first.budgets[-1]:,}, over {inputs}"
    )
    # The labels need limits that stand: until they are read, matplotlib has not computed them.
    ax.set_xlim(*ax.get_xlim())
    low, high = ax.get_ylim()
    lacking = max(0.0, LEAST_SPAN * abs(high) - (high - low))
    ax.set_ylim(low - 0.9 * lacking, high + 0.1 * lacking)  # above, too: half a dot is none
    label_ends(ax, ends)
    return ax


def _marked(budgets: np.ndarray) -> np.ndarray:
    """Places of the budgets 1, 2, 4, ... and the last."""
    powers = 2 ** np.arange(int(budgets[-1]).bit_length())
    places = np.unique(np.searchsorted(budgets, powers[-POINTS:]))
    return np.unique(np.append(places[places < len(budgets)], len(budgets) - 1))


def _cross(ax: "Axes", line: Curves, utility: str, level: float, colour: str) -> bool:
    """Draw the intervals of both means at the last budget; return whether there is one."""
    across, up = (curve_interval(line, name, level) for name in ("coverage", utility))
    x, y = across.mean[-1], up.mean[-1]
    if np.isfinite(across.low[-1]):
        ax.plot([across.low[-1], across.high[-1]], [y, y], color=colour, linewidth=0.8)
    if np.isfinite(up.low[-1]):
        ax.plot([x, x], [up.low[-1], up.high[-1]], color=colour, linewidth=0.8)
    return bool(np.isfinite([across.low[-1], up.low[-1]]).any())
