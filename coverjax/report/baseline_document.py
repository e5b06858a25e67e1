"""A comparison with a baseline as a plain document and as tables."""

import pathlib
from typing import Any

import numpy as np

from coverjax._version import __version__
from coverjax.evaluation.against import GainSplit, MethodGain
from coverjax.inference.units import Interval
from coverjax.report.baseline_study import BaselineStudy
from coverjax.report.plain import cell, interval_point, number, numbers, write_csv
from coverjax.report.summary import comparison_document

FLAT = "no spread over inputs, fewer than 2 inputs, or not defined"


def baseline_document(study: BaselineStudy, facts: dict[str, Any]) -> dict[str, Any]:
    """Return the comparison as a plain document.

    Args:
        study: what was found.
        facts: verb, command, options, seed, files.
    """
    found = study.found
    return {
        "coverjax": __version__,
        **facts,
        "coverage": found.coverage,
        "budget": found.budget,
        "budgets": found.base.budgets.tolist(),
        "level": found.level,
        "baseline": {
            "method": found.baseline,
            "auc": point(found.base_auc),
            "curve": numbers(found.base.mean().coverage[0]),
        },
        "oracle": {
            "is": "one new strategy a draw: min(k, M) / M",
            "auc": point(found.oracle_auc),
            "curve": numbers(found.oracle.mean().coverage[0]),
        },
        "methods": [_method(study, method) for method in found.methods.values()],
        "guardrails": study.guardrails,
        "strategies": {
            "pairs": len(study.discoveries.strategies),
            "found_by_nobody": study.discoveries.nobody(),
            "found_only_by": study.discoveries.only(),
        },
        "no_plan": study.no_plan,
        "warnings": list(study.warnings),
    }


def point(interval: Interval) -> dict[str, Any]:
    """Return an interval of one point."""
    return interval_point(interval, FLAT)


def _method(study: BaselineStudy, method: MethodGain) -> dict[str, Any]:
    reasons = [str(reason) for reason in method.gain.reasons if reason]
    told: dict[str, Any] = {
        "method": method.name,
        "auc": point(method.auc),
        "auc_difference": point(method.difference),
        "gain": point(method.pooled),
        "gain_inputs": method.gain.inputs,
        "gain_undefined": {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)},
        "p_value": method.p_value,
        "p_holm": method.p_holm,
        "curve": numbers(method.curves.mean().coverage[0]),
        "difference": comparison_document(method.comparison),
        "split": {"why_null": method.no_split} if method.split is None else _split(method.split),
    }
    if method.name in study.bought:
        bought = study.bought[method.name]
        told["correctness"] = {
            "utility": bought.name,
            "coverage_gain": point(bought.coverage),
            "utility_gain": point(bought.utility),
            "correlation_over_inputs": point(bought.correlation),
        }
    if method.name in study.plans:
        plan = study.plans[method.name]
        told["plan"] = {
            **{
                name: getattr(plan, name)
                for name in ("gain", "power", "level", "budget", "detectable", "modelled")
            },
            "rows": [
                {"samples": row.samples, "inputs": row.inputs or "more than ten million"} for row in plan.rows
            ],
        }
    if study.phantoms:
        told["phantoms_at_most"] = number(study.phantoms[method.name])
    return told


def _split(split: GainSplit) -> dict[str, Any]:
    return {
        "budget": split.budget,
        "gain": point(split.whole),
        "common": point(split.common),
        "rare": point(split.rare),
        "share_called_rare": number(split.share_rare),
    }


def write_tables(study: BaselineStudy, folder: pathlib.Path) -> list[str]:
    """Write curves.csv, gains.csv (by input) and strategies.csv (by input and strategy)."""
    found = study.found
    lines = {found.baseline: found.base, **{name: m.curves for name, m in found.methods.items()}}
    lines["oracle"] = found.oracle
    rows: list[list[Any]] = []
    for name, curves in lines.items():
        pair = found.methods[name].comparison if name in found.methods else None
        mean = curves.mean().coverage[0]
        for place, k in enumerate(found.base.budgets.tolist()):
            ends = (
                [np.nan] * 3 if pair is None else [pair.difference[place], *(end[place] for end in pair.band)]
            )
            rows.append([name, k, cell(float(mean[place])), *(cell(float(end)) for end in ends)])
    header = ["method", "k", "coverage", "difference", "difference_band_low", "difference_band_high"]
    write_csv(folder / "curves.csv", header, rows)
    write_csv(folder / "gains.csv", *_gains(study))
    write_csv(folder / "strategies.csv", *_strategies(study))
    return ["curves.csv", "gains.csv", "strategies.csv"]


def _gains(study: BaselineStudy) -> tuple[list[str], list[list[Any]]]:
    rows = []
    for name, method in study.found.methods.items():
        gain = method.gain
        columns = (gain.auc, gain.auc_iid, gain.auc_oracle, gain.values)
        for row, label in enumerate(method.curves.ids.tolist()):
            rows.append([name, label, *(cell(float(c[row])) for c in columns), gain.reasons[row]])
    return ["method", "input", "auc", "auc_baseline", "auc_oracle", "gain", "why_none"], rows


def _strategies(study: BaselineStudy) -> tuple[list[str], list[list[Any]]]:
    found = study.discoveries
    header = ["input", "strategy", "found_by"]
    for name in found.methods:
        header += [f"{name}: chance within K", f"{name}: c", f"{name}: n"]
    rows = []
    for row in range(len(found.strategies)):
        who = [name for name, hit in zip(found.methods, found.found[row], strict=True) if hit]
        told: list[Any] = [found.inputs[row], found.strategies[row], "|".join(who)]
        for column in range(len(found.methods)):
            told += [
                cell(float(found.within[row, column])),
                int(found.matches[row, column]),
                int(found.samples[row, column]),
            ]
        rows.append(told)
    return header, rows
