"""A finished sweep in a few lines, and as a plain document."""

from typing import Any

import numpy as np

from coverjax._version import __version__
from coverjax.report.plain import number, with_reason
from coverjax.report.text import counted, fit, one_line, unlike, width, wrapped
from coverjax.sweep.results import Maps, SweepTable

COLUMNS, NAME = 80, 34


def sweep_document(table: SweepTable, found: Maps, **facts: Any) -> dict[str, Any]:
    """Return what a sweep says as a plain document; it holds nothing of the run that made it."""
    manifest = table.manifest
    return {
        "coverjax": __version__,
        "verb": "sweep",
        **facts,
        "hash": manifest["hash"],
        "seed": manifest["seed"],
        "versions": manifest["versions"],
        "device": manifest["device"],
        "sweep": manifest["sweep"],
        "cells": manifest["cells"],
        "rows": manifest["rows"],
        "parts": len(manifest["parts"]),
        "varied": table.varied,
        "policies": [_policy(table, found, name) for name in table.policies],
        "maps": {
            "x": found.x,
            "y": found.y,
            "panel": found.panel,
            "mean_over": found.pooled,
            "places": sum(int((panel.best >= 0).sum()) for panel in found.panels),
            "undecided": sum(int(((panel.best >= 0) & ~panel.decided).sum()) for panel in found.panels),
        },
    }


def _policy(table: SweepTable, found: Maps, name: str) -> dict[str, Any]:
    rows = table.columns["policy"] == name
    at = found.policies.index(name)
    sees, knows = table.told(name)
    numbers = {"auc": _mean(table, "auc", rows), "gain": _mean(table, "gain", rows)}
    reason = "no cell has one, or the metric was not asked for"
    return {
        "policy": name,
        "sees": sees,
        "knows": knows,
        "kind": str(table.columns["kind"][rows][0]),
        **with_reason(numbers, reason),
        "gain_undefined": int(np.isnan(table.columns["gain"][rows]).sum())
        if "gain" in table.columns
        else None,
        "wins": sum(int(((panel.best == at) & panel.decided).sum()) for panel in found.panels),
        "rival": name in found.rivals,
    }


def _mean(table: SweepTable, column: str, rows: np.ndarray) -> float | None:
    if column not in table.columns:
        return None
    values = table.columns[column][rows]
    finite = values[np.isfinite(values)]
    return number(finite.mean()) if finite.size else None


def sweep_text(document: dict[str, Any]) -> str:
    """Return the report for a terminal, at most 80 columns wide."""
    made, spec = document["maps"], document["sweep"]
    kind = "exact" if spec["trials"] is None else f"{spec['trials']:,} trials an input"
    varied = ", ".join(f"{name} ({len(values)})" for name, values in document["varied"].items()) or "nothing"
    text = (
        f"coverjax {document['coverjax']}: sweep of {counted(document['cells'], 'cell')} x "
        f"{len(spec['policies'])} policies, {kind}; varied: {varied}. AUC, gain: plain means over cells; "
        "gain is the share of the way from IID (0) to OracleNoRepeat (1)."
    )
    if made["x"]:
        over = " x ".join(filter(None, (made["x"], made["y"], made["panel"])))
        text += (
            f" wins: places of {over} ({made['places']} in all) where the AUC is largest, decided at 95 %;"
        )
        text += f" {made['undecided']} undecided."
    lines = wrapped(text, COLUMNS)
    names = dict(zip(spec["policies"], unlike(spec["policies"], NAME), strict=True))
    start = max(8, *(width(name) for name in names.values()))
    lines += ["", fit("policy", start) + "  AUC     gain    wins    sees / knows"]
    for told in document["policies"]:
        wins = str(told["wins"]) if told["rival"] and made["x"] else "-"
        cells = _told(told["auc"]).ljust(8) + _told(told["gain"]).ljust(8) + wins.ljust(8)
        lines.append(
            f"{fit(names[told['policy']], start)}  {cells}{one_line(told['sees'])} / {told['knows']}"
        )
    kinds = {(told["sees"], told["knows"]) for told in document["policies"] if told["rival"]}
    if len(kinds) > 1:
        lines += wrapped(
            "! these policies do not see and know the same: a win is also a matter of what one was told",
            COLUMNS,
            indent="  ",
        )
    return "\n".join(lines) + "\n"


def _told(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
