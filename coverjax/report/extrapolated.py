"""What lies beyond the samples of a log: curves, verdicts, rows, a table and a document."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from coverjax.curves import Curves, Extrapolation
from coverjax.estimators.extrapolation import extrapolate
from coverjax.inference.of_curves import curve_interval
from coverjax.inference.units import Interval
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog
from coverjax.report.plain import cell, number, numbers, with_reason
from coverjax.report.text import fit, wrapped

BUDGETS = 48
"""Budgets up to K, evenly spaced in logarithm, and the number of samples itself."""

ROWS = 5


@dataclasses.dataclass(frozen=True, eq=False)
class Ahead:
    """One method beyond its samples.

    Attributes:
        name: the method.
        curves: with their `extrapolation`.
        interval: t-interval over inputs at each budget, with fit and models.
        band: the same for all budgets at once.
    """

    name: str
    curves: Curves
    interval: Interval
    band: Interval

    @property
    def told(self) -> Extrapolation:
        """Marks, models and verdict."""
        assert self.curves.extrapolation is not None
        return self.curves.extrapolation

    @property
    def first(self) -> int:
        """Place of the first budget that some input in use is extrapolated to."""
        return first_extrapolated(self.curves)


def first_extrapolated(curves: Curves) -> int:
    """Return the place of the first budget at which some input in use is extrapolated; B where none is."""
    if curves.extrapolation is None:
        return len(curves.budgets)
    ahead = (curves.extrapolation.marks[curves.used] == "extrapolated").any(axis=0)
    return int(ahead.argmax()) if ahead.any() else len(curves.budgets)


def look_ahead(
    logs: "dict[str, SampleLog | CountTable]",
    budget: int,
    coverage: str,
    level: float,
    seed: int,
    tell: Callable[[str], None] = lambda step: None,
) -> dict[str, Ahead]:
    """Extrapolate each method to K, at some budgets up to there.

    Args:
        logs: by method.
        budget: K.
        coverage: the kind of coverage.
        level: nominal level of intervals and bands, a fraction.
        seed: of the bands.
        tell: called with the name of each step as it begins.
    """
    smallest = min((log.smallest_n for log in logs.values() if log.smallest_n), default=1)
    spaced = np.rint(np.geomspace(1, budget, BUDGETS)).astype(np.int64)
    budgets = np.unique([*spaced, min(smallest, budget)])
    found = {}
    for name, log in logs.items():
        tell(f"extrapolating {name}" if name else "extrapolating")
        curves = extrapolate(log, budgets, coverage, level=level)
        assert isinstance(curves, Curves)
        curves = dataclasses.replace(curves, method=name)
        ends, band = (
            curve_interval(curves, "coverage", level, method, seed=seed) for method in ("t", "band")
        )
        found[name] = Ahead(name, curves, ends, band)
    return found


def ahead_text(found: Ahead, columns: int) -> list[str]:
    """Return the rows of a report: coverage beyond the samples, the verdict and its reasons."""
    budgets, told = found.curves.budgets, found.told
    if found.first == len(budgets):
        return ["nothing to extrapolate: K is within the samples"]
    inside = f"{int(budgets[found.first - 1]):,}" if found.first else "0"
    by = f"extrapolated* beyond {inside} samples by {told.method}: {told.verdict}"
    by += f"; last column: {' / '.join(told.models)}" if told.models else ""
    lines = wrapped(by, columns)
    places = np.unique(np.rint(np.linspace(found.first, len(budgets) - 1, ROWS)).astype(int))
    for place in places:
        ends = found.interval
        value = f"{ends.mean[place]:.3f}"
        if np.isfinite(ends.low[place]):
            value += f" [{ends.low[place]:.3f}, {ends.high[place]:.3f}]"
        models = " / ".join(f"{values[place]:.3f}" for values in told.models.values())
        lines.append(fit(f"C({int(budgets[place]):,})*", 13) + fit(value, 24) + models)
    for check in told.checks:
        lines += wrapped(
            f"{check['verdict']}: {check['what']} {check_answer(check)}", columns, "     ", "   "
        )
    for warning in told.warnings:
        lines += wrapped(warning, columns, "  ", "! ")
    return [line.rstrip() for line in lines]


def check_answer(check: dict[str, Any]) -> str:
    """Return the value of a check of a verdict with its thresholds."""
    value = "not known" if check["value"] is None else _short(check["value"])
    sign = ">=" if check["at_least"] else "<="
    return f"{value} (reliable {sign} {check['reliable_to']:g}, caution {sign} {check['caution_to']:g})"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}"


def ahead_document(found: Ahead) -> dict[str, Any]:
    """Return one method's extrapolation as plain numbers and text."""
    told, used = found.told, found.curves.used
    marks = ["extrapolated" if place >= found.first else "within" for place in range(len(found.band.mean))]
    ends = {
        "mean": found.interval.mean,
        "low": found.interval.low,
        "high": found.interval.high,
        "band_low": found.band.low,
        "band_high": found.band.high,
    }
    rows: dict[str, Any] = {name: numbers(values) for name, values in ends.items()}
    these = {"these_inputs_low": numbers(told.low), "these_inputs_high": numbers(told.high)}
    return {
        "method": found.name,
        "by": told.method,
        "inputs": int(used.sum()),
        "budgets": found.curves.budgets.tolist(),
        "marks": marks,
        "coverage": with_reason(rows, "no interval: fewer than two inputs, or no variance over them"),
        **with_reason(these, "only where something is extrapolated, and over all inputs together"),
        "models": {name: numbers(values) for name, values in told.models.items()},
        "priors": [
            {key: value if isinstance(value, str) else number(value) for key, value in prior.items()}
            for prior in found.curves.provenance["priors"]
        ],
        "verdict": told.verdict,
        "checks": [dict(check) for check in told.checks],
        "warnings": list(told.warnings),
    }


def ahead_table(found: "dict[str, Ahead]") -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of extrapolated.csv: a line for each method and budget; empty: not a number."""
    models = list(dict.fromkeys(name for one in found.values() for name in one.told.models))
    header = [
        *("method", "k", "mark", "coverage", "coverage_low", "coverage_high"),
        *("coverage_band_low", "coverage_band_high", *models),
    ]
    rows = []
    for one in found.values():
        for place, k in enumerate(one.curves.budgets.tolist()):
            values = [one.interval.mean, one.interval.low, one.interval.high, one.band.low, one.band.high]
            values += [one.told.models.get(name, np.full(place + 1, np.nan)) for name in models]
            told = [cell(float(value[place])) for value in values]
            rows.append([one.name, k, "extrapolated" if place >= one.first else "within", *told])
    return header, rows
