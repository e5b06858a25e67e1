"""The summary of a study as a plain document: what summary.json and `--json` hold.

A number that does not exist is null, and the object that holds the null says why in `why_null`: NaN is no
JSON. Nothing in the document depends on the clock, the machine or the place of the outputs.
"""

import itertools
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from coverjax._version import __version__
from coverjax.curves import PER_BUDGET, Curves
from coverjax.inference.comparison import Comparison
from coverjax.inference.units import Interval
from coverjax.report.extrapolated import ahead_document, ahead_table
from coverjax.report.plain import interval_point, interval_points, number, numbers, with_reason, write_csv
from coverjax.report.study import KindStudy, MethodStudy, Study
from coverjax.report.utility_study import UTILITY_HEADER, utility_document, utility_rows

NO_INPUT = "no input has both enough samples and a declared strategy"
FEW_UNITS = "an interval over inputs needs at least 2 inputs"
NO_VARIANCE = "no variance over inputs at these budgets: all inputs agree there"


def summary(
    study: Study, *, verb: str, command: str, options: dict[str, Any], files: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Return a study as a document of plain numbers, text, lists and dicts.

    Args:
        study: what was found.
        verb, command, options: what was asked, the options with their defaults filled in.
        files: what was read, a dict each with path, sha256 and bytes.
    """
    return {
        "coverjax": __version__,
        "verb": verb,
        "command": command,
        "options": options,
        "seed": study.seed,
        "files": [dict(facts) for facts in files],
        "coverage": study.coverage,
        "budget": study.budget,
        "budgets": study.budgets.tolist(),
        "interval": {
            "over": "inputs",
            "kind": study.interval,
            "level": study.level,
            "band": "simultaneous over the budgets (Gaussian multipliers, studentised)",
        },
        "methods": [_method(method) for method in study.methods.values()],
        **(
            {"extrapolation": [ahead_document(found) for found in study.ahead.values()]}
            if study.ahead
            else {}
        ),
        "comparisons": [comparison_document(pair) for pair in study.comparisons],
        "not_compared": list(study.not_compared),
    }


def write_curves(study: Study, path: pathlib.Path) -> None:
    """Write the mean curves as CSV: a line for each method, kind of coverage and budget.

    For each curve: its mean over the inputs in use, `_low` and `_high` of the interval at that budget, and
    for those that figures show `_band_low` and `_band_high` of the simultaneous band. Empty: not a number.
    """
    parts = []
    for method, kind, found in _kinds(study):
        table = _curve_columns(found)
        count = len(table["k"])
        start = {"method": [method] * count, "kind": [kind] * count}
        parts.append(start | {"inputs": [int(found.curves.used.sum())] * count} | _lists(table))
    _write_table(parts, path)


def write_utility(study: Study, path: pathlib.Path) -> bool:
    """Write the utilities as CSV, a line a method, utility and budget; return whether there are any."""
    rows = [
        row
        for method in study.methods.values()
        if method.utility is not None
        for row in utility_rows(method.name, method.utility)
    ]
    if rows:
        write_csv(path, UTILITY_HEADER, rows)
    return bool(rows)


def write_ahead(study: Study, path: pathlib.Path) -> bool:
    """Write coverage beyond the samples as CSV, where that was asked for; say whether it was."""
    if not study.ahead:
        return False
    write_csv(path, *ahead_table(study.ahead))
    return True


def write_inputs(study: Study, path: pathlib.Path) -> None:
    """Write the curves input by input as CSV: a line for each method, kind, input and budget.

    `left_out` says why an input enters no mean: "short" (fewer samples than the largest budget) or "no
    declared strategy"; its numbers are empty.
    """
    parts = []
    for method, kind, found in _kinds(study):
        table = found.curves.columns()
        count = len(table["k"])
        table["method"] = np.full(count, method, dtype=object)
        reasons = np.repeat(_left_out(found.curves), len(found.curves.budgets))
        parts.append({"kind": [kind] * count, "left_out": reasons.tolist()} | _lists(table))
    _write_table(parts, path, first=("method", "kind", "left_out"))


def _kinds(study: Study) -> Iterator[tuple[str, str, KindStudy]]:
    for method in study.methods.values():
        for kind, found in method.kinds.items():
            yield method.name, kind, found


def _lists(table: dict[str, np.ndarray]) -> dict[str, list[Any]]:
    """Columns as lists, with "" for what is not a number."""
    lists = {name: column.tolist() for name, column in table.items()}
    for name, column in table.items():
        if column.dtype.kind == "f":
            for row in np.flatnonzero(np.isnan(column)).tolist():
                lists[name][row] = ""
    return lists


def _write_table(parts: list[dict[str, list[Any]]], path: pathlib.Path, first: Sequence[str] = ()) -> None:
    """Write tables below each other; a column that a part lacks is empty there."""
    header = list(dict.fromkeys([*first, *(name for part in parts for name in part)]))
    rows = (
        zip(*(part.get(name, [""] * len(part["kind"])) for name in header), strict=True) for part in parts
    )
    write_csv(path, header, itertools.chain.from_iterable(rows))


def _left_out(curves: Curves) -> np.ndarray:
    short = np.zeros(curves.inputs, bool) if curves.short is None else curves.short
    reasons = np.where(curves.declared > 0, "", "no declared strategy")
    return np.where(short, "short", reasons)


def _curve_columns(found: KindStudy) -> dict[str, np.ndarray]:
    table: dict[str, np.ndarray] = {"k": found.curves.budgets}
    for name, interval in found.intervals.items():
        table |= {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}
        if name in found.bands:
            band = found.bands[name]
            table |= {f"{name}_band_low": band.low, f"{name}_band_high": band.high}
    table["pooled_coverage"] = found.pooled.coverage[0]
    return table


def _method(method: MethodStudy) -> dict[str, Any]:
    return {
        "method": method.name,
        "log": method.facts,
        "guardrails": method.guardrails(),
        "kinds": {kind: _kind(found) for kind, found in method.kinds.items()},
        "warnings": list(method.warnings),
        **({} if method.utility is None else {"utility": utility_document(method.utility)}),
    }


def _kind(found: KindStudy) -> dict[str, Any]:
    curves = found.curves
    document: dict[str, Any] = {
        "auc": _interval(found.auc, scalar=True),
        "curves": {name: _interval(interval) for name, interval in found.intervals.items()},
        "pooled_coverage": with_reason({"value": numbers(found.pooled.coverage[0])}, NO_INPUT),
        "time_to_coverage": {f"{tau:g}": _time(found, tau) for tau in (*found.times, *found.no_times)},
        "forms": curves.provenance.get("forms", {}),
    }
    for name, band in found.bands.items():
        curve = document["curves"][name]
        curve["band_low"], curve["band_high"] = numbers(band.low), numbers(band.high)
    for suffix, spread in (("subset_sd", curves.subset_sd), ("mc_stderr", curves.mc_stderr)):
        for name in PER_BUDGET:
            values = None if spread is None else spread[name]
            if values is not None and name in document["curves"]:
                document["curves"][name][f"{suffix}_mean"] = numbers(_mean(values[curves.used]))
    return document


def _mean(values: np.ndarray) -> np.ndarray:
    return values.mean(axis=0) if len(values) else np.full(values.shape[1:], np.nan)


def _interval(interval: Interval, scalar: bool = False) -> dict[str, Any]:
    reason = NO_INPUT if not interval.units else FEW_UNITS if interval.units < 2 else NO_VARIANCE
    return interval_point(interval, reason) if scalar else interval_points(interval, reason)


def _time(found: KindStudy, tau: float) -> dict[str, Any]:
    if tau in found.no_times:
        empty = dict.fromkeys(("restricted_mean", "restricted_mean_low", "median", "never"))
        return {**empty, "restricted_to": int(found.curves.budgets[-1]), "why_null": found.no_times[tau]}
    whole = found.times[tau].pooled
    assert whole is not None
    told = {
        "restricted_mean": number(float(whole.mean)),
        "restricted_mean_low": number(float(whole.mean_low)),
        "median": number(float(whole.median)),
        "never": number(float(whole.censored)),
        "restricted_to": int(found.curves.budgets[-1]),
    }
    return with_reason(told, "at least half never get there within the budget")


def comparison_document(pair: Comparison) -> dict[str, Any]:
    """Return a paired comparison as a plain document."""
    low, high = pair.band
    told: dict[str, Any] = {
        "a": pair.a,
        "b": pair.b,
        "quantity": pair.quantity,
        "inputs": pair.inputs,
        "left_out": pair.left_out,
        "level": pair.level,
        "multipliers": pair.multipliers,
        "seed": pair.seed,
        "difference": numbers(pair.difference),
        "band_low": numbers(low),
        "band_high": numbers(high),
        "critical_value": number(pair.critical_value),
        "wins": pair.wins.tolist(),
        "losses": pair.losses.tolist(),
        "undecided": pair.undecided.tolist(),
        "warnings": list(pair.warnings),
    }
    return with_reason(told, FEW_UNITS if pair.inputs < 2 else NO_VARIANCE)
