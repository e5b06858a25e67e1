"""Does covering more strategies buy more solved problems: gains in coverage beside gains in pass@k."""

import dataclasses

import numpy as np

from coverjax.curves import Curves
from coverjax.foundation.checks import InputError, listed
from coverjax.inference.cautions import TIE
from coverjax.inference.intervals import mean_interval
from coverjax.inference.jackknife import jackknife_interval
from coverjax.inference.pairing import paired_rows
from coverjax.inference.units import Interval


@dataclasses.dataclass(frozen=True, eq=False)
class Bought:
    """Paired gains of a method over a baseline at the largest budget.

    Attributes:
        coverage: mean gain in C(K), one point.
        utility: mean gain in the utility, one point.
        correlation: over inputs, of the two gains, one point: association, no cause. Both come from the same
            samples, whose luck they share.
        inputs: number of paired inputs.
        name: of the utility.
    """

    coverage: Interval
    utility: Interval
    correlation: Interval
    inputs: int
    name: str


def what_coverage_buys(method: Curves, base: Curves, name: str = "pass_at_k", level: float = 0.95) -> Bought:
    """Compare what a method gains over a baseline in coverage and in a utility, input by input.

    Args:
        method, base: from `utility_curves`, at the same largest budget; inputs are paired by id.
        name: the utility.
        level: nominal level of the intervals over inputs, a fraction.

    Raises:
        InputError: a utility is missing, the largest budgets differ, or no input is in both.
    """
    for curves in (method, base):
        if name not in curves.utility:
            raise InputError(
                f"{name}: must be a utility of both; there is {listed(curves.utility) or 'none'}: make the "
                f"curves "
                "with utility_curves"
            )
    if method.budgets[-1] != base.budgets[-1]:
        raise InputError(
            f"budget: both must end at the same one; got {method.budgets[-1]} and {base.budgets[-1]}"
        )
    own, other = paired_rows(method, base)
    if not len(own):
        raise InputError("ids: no input is in use in both; the curves are paired by id")
    gains = [
        values[own, -1] - below[other, -1]
        for values, below in ((method.coverage, base.coverage), (method.utility[name], base.utility[name]))
    ]
    x, y = gains
    columns = np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y], axis=1)
    return Bought(
        coverage=mean_interval(x[:, None], level, bounds=TIE),
        utility=mean_interval(y[:, None], level, bounds=TIE),
        correlation=jackknife_interval(columns, _correlation, level),
        inputs=len(own),
        name=name,
    )


def _correlation(sums: np.ndarray) -> np.ndarray:
    n, x, y, xx, yy, xy = sums.T
    below = (xx - x * x / n) * (yy - y * y / n)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(below > 1e-24 * n * n, (xy - x * y / n) / np.sqrt(np.abs(below)), np.nan)
    return found[:, None]
