"""What coverage numbers of a log stand on: the same lines in every report, made in this one place."""

import math
from collections.abc import Mapping
from typing import Any

from coverjax.report.text import counted, fit, one_line, wrapped

LABEL = 13
MOST_METHODS = 8
"""Where methods differ in a line, so many are told; --json has all."""

MISSING = "-"


def guardrails(
    facts: Mapping[str, Any],
    coverage: Mapping[str, float],
    budget: int,
    *,
    latent: float | None = None,
    sees: str = "",
    knows: str = "",
) -> dict[str, str]:
    """Return the lines that stand beside coverage numbers of one method, by their names.

    Args:
        facts: of the log, as `study.log_facts` gives them.
        coverage: mean C(K) of each kind that the log can tell.
        budget: K.
        latent: latent coverage at K, where samples name their latents.
        sees, knows: what the method saw while it ran and knew beforehand, where that is on record.
    """
    return {
        "inputs": _inputs(facts),
        "kinds": _kinds(coverage, budget),
        "denominator": _denominator(facts),
        "undeclared": _undeclared(facts),
        "left out": _left_out(facts, budget),
        "labeler": _labeler(facts),
        "order": _order(facts),
        "saw / knew": f"{sees or 'not on record'} / {knows or 'not on record'}",
        "latents": _latents(latent, budget),
    }


def _inputs(facts: Mapping[str, Any]) -> str:
    low, high = facts["n_min"], facts["n_max"]
    n = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    trials = facts["trials"]
    samples = f"{n} samples each" if trials <= 1 else f"{trials} trials of {n} samples each"
    return f"{facts['inputs_used']:,} used of {facts['inputs']:,}; {samples}"


def _kinds(coverage: Mapping[str, float], budget: int) -> str:
    told = ", ".join(f"{kind} {_value(value)}" for kind, value in coverage.items())
    missing = [kind for kind in ("raw", "valid", "correct") if kind not in coverage]
    rest = f"; {' and '.join(missing)}: the log has no such column" if missing else ""
    return f"C({budget:,}) {told}{rest}"


def _value(value: float) -> str:
    return MISSING if math.isnan(value) else f"{value:.3f}"


def _denominator(facts: Mapping[str, Any]) -> str:
    sizes = f"{facts['declared_min']} / {facts['declared_median']:g} / {facts['declared_max']}"
    spread = f"M min / median / max {sizes}"
    if facts["declared_given"]:
        return f"{counted(facts['declared_total'], 'declared strategy', 'declared strategies')}; {spread}"
    labels = counted(facts["declared_total"], "label")
    return f"{labels} seen in this log stand for declared ones, and grow with it; {spread}"


def _undeclared(facts: Mapping[str, Any]) -> str:
    found = facts["undeclared_found"]
    if not found:
        return "no label outside the declared ones"
    where = counted(facts["undeclared_inputs"], "input")
    return f"{counted(found, 'label')} outside the declared ones, on {where}: no part of C"


def _left_out(facts: Mapping[str, Any], budget: int) -> str:
    words = [f"{facts['n_short']:,} n_short (fewer than {budget:,} samples)"]
    if facts["inputs_without_declared"]:
        words.append(f"{facts['inputs_without_declared']:,} without a declared strategy (M = 0)")
    return ", ".join(words)


def _labeler(facts: Mapping[str, Any]) -> str:
    named = ", ".join(one_line(name) for name in facts["labelers"])
    return named or "not stated; a wrong label is a wrong number"


def _order(facts: Mapping[str, Any]) -> str:
    if facts["order"] == "observed":
        return "observed order: the first k samples of each trial, nothing permuted"
    return "taken as exchangeable: C(k) is the mean over all k-subsets of a trial"


def _latents(latent: float | None, budget: int) -> str:
    if latent is None:
        return "none on record"
    return (
        f"{_value(latent)} of the latents used within {budget:,} samples: that is latent coverage, no "
        "coverage of strategies"
    )


def guardrail_text(by_method: Mapping[str, Mapping[str, str]], columns: int = 80) -> list[str]:
    """Return the lines for a terminal: once where all methods agree, else by method.

    Args:
        by_method: what `guardrails` returned, by the method's printed name; "" where there are no methods.
        columns: width of a line.
    """
    lines = []
    indent = " " * LABEL
    for name in next(iter(by_method.values())):
        texts = {method: found[name] for method, found in by_method.items()}
        start = fit(name, LABEL)
        if len(set(texts.values())) == 1:
            lines += wrapped(next(iter(texts.values())), columns, indent, start)
            continue
        for method, text in list(texts.items())[:MOST_METHODS]:
            lines += wrapped(f"{method}: {text}", columns, indent + "  ", start)
            start = indent
        if len(texts) > MOST_METHODS:
            lines.append(f"{indent}and {counted(len(texts) - MOST_METHODS, 'more method')}: --json")
    return lines
