"""What a reader of an interval must know, in one line each."""

import numpy as np
from jaxtyping import Bool, Float

from coverjax.foundation.checks import counted
from coverjax.inference.units import Moments

UNIT = (0.0, 1.0)
"""The bounds of a fraction."""

TIE = (0.0,)
"""A paired difference has one value with mass on it: none."""

AT_BOUND = 1e-12
"""A value this near to a bound stands at it."""

MASS = 0.1
"""Share of the units at the bounds from which an interval is in doubt ..."""

OFF_BOUND = 30
"""... unless so many units stand off the fuller bound."""

IN_DOUBT: dict[str, dict[int, tuple[int, int]]] = {
    "t": {5: (65, 100), 10: (82, 100), 30: (90, 100), 100: (94, 96)},
    "bootstrap": {5: (44, 99), 10: (60, 99), 30: (71, 94), 100: (90, 96)},
    "band": {5: (31, 99), 10: (54, 94), 30: (84, 94), 100: (91, 95)},
}
"""Lowest and highest measured coverage (per cent, nominal 95) by number of units, where most replications
were in doubt; a test holds these to the tables of docs/intervals.md."""

BETTER = {"t": "bounded", "bootstrap": "bounded", "band": "bounded band"}
"""What covers there."""

FAITHFUL = 100
"""Number of draws from which the percentile bootstrap covers about what it says."""

BOOTSTRAP = {5: (67, 88), 10: (82, 91), 30: (92, 94)}
"""The same of the percentile bootstrap where no mass lies at the bounds."""


def at_the_bounds(
    values: Float[np.ndarray, "units points"], bounds: tuple[float, ...]
) -> tuple[Bool[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    """Return where the t-interval is in doubt, and the share of units at the bounds, both [points].

    In doubt: at least a tenth of the units stand at the bounds, and fewer than 30 stand off the fuller one.
    These few carry the whole spread, which is then often missed. Both numbers were chosen on the
    simulations of docs/intervals.md: below 93 % measured coverage nearly every replication is in doubt.
    """
    shares = [(np.abs(values - bound) <= AT_BOUND).mean(axis=0) for bound in bounds]
    share = np.sum(shares, axis=0)
    off = len(values) * (1.0 - np.max(shares, axis=0))
    return (share >= MASS) & (np.rint(off) < OFF_BOUND), share


def cautions(
    values: Float[np.ndarray, "units points"], stats: Moments, method: str, bounds: tuple[float, ...] | None
) -> tuple[str, ...]:
    """Return the warnings of an interval over these values."""
    units, points = values.shape
    if units < 2:
        return (f"{counted(units, 'unit')}: an interval over units needs at least 2; there is none",)
    lines = []
    flagged = int(stats.flagged.sum())
    if flagged:
        lines.append(
            f"no variance over the {units} units at {flagged} of {points} points: no interval there "
            "(all units agree, which is no proof that the next one will)"
        )
    if bounds is not None:
        doubt, share = at_the_bounds(values, bounds)
        doubt &= ~stats.flagged
        if doubt.any():
            lines.append(_bounds_line(method, units, doubt, share, bounds))
    if method == "bootstrap" and stats.clusters < FAITHFUL:
        lines.append(
            f"percentile bootstrap over {stats.clusters} draws: even without mass at the bounds nominal 95 % "
            f"covered {_cited(BOOTSTRAP, stats.clusters)} (docs/intervals.md); prefer method 't'"
        )
    return tuple(lines)


def _bounds_line(
    method: str, units: int, doubt: np.ndarray, share: np.ndarray, bounds: tuple[float, ...]
) -> str:
    where = " or ".join(f"{bound:g}" for bound in bounds)
    return (
        f"small N with mass at the bounds: at {int(doubt.sum())} of {len(doubt)} points too few units vary, "
        f"up to {share[doubt].max():.0%} of the {units} units stand at {where}; there nominal 95 % covered "
        f"{_cited(IN_DOUBT[method], units)} (docs/intervals.md); prefer method {BETTER[method]!r}"
    )


def _cited(table: dict[int, tuple[int, int]], units: int) -> str:
    """The measured coverage at the largest simulated number of units that is not above `units`."""
    nearest = max((n for n in table if n <= units), default=min(table))
    low, high = table[nearest]
    span = f"{low} %" if low == high else f"{low}-{high} %"
    fewest = ", the fewest that were simulated" if units < nearest else ""
    return f"{span} in simulations of {nearest} units{fewest}"
