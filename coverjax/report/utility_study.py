"""What samples are worth, studied: utilities with their intervals, as rows, a table and a document."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from coverjax.curves import Curves
from coverjax.estimators.utility import utility_curves
from coverjax.inference.of_curves import curve_interval, method_for
from coverjax.inference.units import Interval
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog
from coverjax.report.plain import cell, interval_points

NAMES = {
    "pass_at_k": "pass@k",
    "pass_all_k": "pass^k",
    "cover_at_tau": "cover@tau",
    "majority_at_k": "majority@k",
    "best_of_k": "best-of-k score",
    "best_of_k_correct": "best-of-k right",
    "distinct_k": "distinct labels",
    "patience_utility": "patience",
}
"""What a table calls them."""


@dataclasses.dataclass(frozen=True, eq=False)
class UtilityStudy:
    """The utilities of one method.

    Attributes:
        curves: with `utility`.
        intervals: by name, over inputs, one budget at a time.
        left_out: utilities that the log could tell and that were not computed, with the reason.
        settings: tau and patience.
    """

    curves: Curves
    intervals: dict[str, Interval]
    left_out: dict[str, str]
    settings: dict[str, Any]


def utility_title(name: str, found: UtilityStudy) -> str:
    """Return what a table calls a utility of a study."""
    return f"cover@{found.settings['tau']:g}" if name == "cover_at_tau" else NAMES[name]


def study_utility(
    log: SampleLog | CountTable,
    budgets: np.ndarray | None,
    names: Sequence[str],
    settings: dict[str, float],
    *,
    level: float,
    interval: str,
    seed: int,
) -> UtilityStudy | None:
    """Estimate the utilities that a log of one method can tell; None where it can tell none.

    Args:
        log: the log.
        budgets: k.
        names: utilities, or none for all that the columns can tell.
        settings: tau and patience.
        level, interval, seed: of the intervals.
    """
    curves = utility_curves(log, budgets, list(names) or "available", **settings)
    assert isinstance(curves, Curves)
    if not curves.utility:
        return None
    found = {
        name: curve_interval(curves, name, level, method_for(name, interval), seed=seed)
        for name in curves.utility
    }
    return UtilityStudy(curves, found, dict(curves.provenance["left_out"]), dict(settings))


def utility_document(found: UtilityStudy) -> dict[str, Any]:
    """Return the utilities as a plain document."""
    return {
        **found.settings,
        "inputs": int(found.curves.enough.sum()),
        "curves": {
            name: interval_points(
                interval, "no variance over inputs at these budgets, or fewer than 2 inputs"
            )
            for name, interval in found.intervals.items()
        },
        "left_out": found.left_out,
    }


def utility_rows(method: str, found: UtilityStudy) -> list[list[Any]]:
    """Return a row for each utility and budget: method, utility, inputs, k, mean, low, high."""
    inputs = int(found.curves.enough.sum())
    rows = []
    for name, interval in found.intervals.items():
        values = (interval.mean, interval.low, interval.high)
        for k, *told in zip(found.curves.budgets.tolist(), *(v.tolist() for v in values), strict=True):
            rows.append([method, name, inputs, k, *map(cell, told)])
    return rows


UTILITY_HEADER = ["method", "utility", "inputs", "k", "mean", "low", "high"]
