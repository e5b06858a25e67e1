"""A comparison with a baseline as text for a terminal, at most 80 columns wide."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from coverjax._version import __version__
from coverjax.inference.units import Interval
from coverjax.report.baseline_study import BaselineStudy
from coverjax.report.guardrails import guardrail_text
from coverjax.report.tables import MOST_FILES, file_lines, pair_lines
from coverjax.report.text import counted, fit, one_line, unlike, wrapped

COLUMNS, NAME, CELL = 80, 16, 23
MOST_STRATEGIES = 12
MOST_METHODS = 5
"""Of more methods the table of strategies shows these; strategies.csv has all."""


def baseline_text(study: BaselineStudy, files: Sequence[dict[str, Any]] = ()) -> str:
    """Return the report.

    Args:
        study: what was found.
        files: what was read, a dict each with path and sha256.
    """
    names = dict(zip(study.names, unlike(list(study.names), NAME - 1), strict=True))
    guards = {names[name]: lines for name, lines in study.guardrails.items()}
    parts = [
        _heading(study, files),
        guardrail_text(guards),
        _gains(study, names),
        _splits(study, names),
        _bands(study, names),
        _strategies(study, names),
        _correctness(study, names),
        _plan(study, names),
    ]
    warnings = [line for text in study.warnings for line in wrapped(one_line(text, 400), COLUMNS, "  ", "! ")]
    return "\n\n".join("\n".join(lines) for lines in (*parts, warnings) if lines) + "\n"


def _heading(study: BaselineStudy, files: Sequence[dict[str, Any]]) -> list[str]:
    found = study.found
    lines = wrapped(
        f"coverjax {__version__}: {found.coverage} coverage against the baseline {one_line(found.baseline)}, "
        f"K = {found.budget:,}",
        COLUMNS,
    )
    lines += file_lines(files, MOST_FILES)
    return lines + wrapped(
        "AUC: mean of C(1..K). gain: (AUC - baseline) / (oracle - baseline), means over inputs; oracle: "
        "one new "
        f"strategy a draw. [low, high]: {100 * found.level:.4g} % over inputs; the baseline's curve is an "
        "estimate too, and its noise is in them. p: no difference in AUC, random flips of signs; Holm: "
        "corrected "
        "for all methods.",
        COLUMNS,
    )


def _gains(study: BaselineStudy, names: dict[str, str]) -> list[str]:
    found = study.found
    lines = [
        fit("method", NAME) + fit("AUC", 8) + fit("AUC - baseline", CELL) + fit("gain", CELL) + "p (Holm)"
    ]
    lines.append(fit(names[found.baseline], NAME) + fit(_value(found.base_auc), 8) + "(baseline)")
    for name, method in found.methods.items():
        row = fit(names[name], NAME) + fit(_value(method.auc), 8)
        row += fit(_ends(method.difference), CELL) + fit(_ends(method.pooled), CELL)
        lines.append(row + _p(method.p_holm))
    lines.append(fit("oracle", NAME) + fit(_value(found.oracle_auc), 8) + "(gain 1)")
    return lines


def _splits(study: BaselineStudy, names: dict[str, str]) -> list[str]:
    methods = study.found.methods
    splits = {name: method.split for name, method in methods.items() if method.split is not None}
    if not splits:
        return wrapped(next(iter(methods.values())).no_split, COLUMNS, "   ", "?: ")
    budget = next(iter(splits.values())).budget
    lines = wrapped(
        f"where the gain at K = {budget:,} comes from: strategies that the baseline is expected to give at "
        f"least / "
        f"less than {study.found.rare_below:g} times in K draws. Some of its samples say which these are, "
        f"the "
        "others what it covers of them: judged by the same samples, any method would seem to gain on rare "
        "ones.",
        COLUMNS,
    )
    lines.append(fit("method", NAME) + fit("common", CELL) + fit("rare", CELL) + "called rare")
    for name, split in splits.items():
        cells = fit(_ends(split.common), CELL) + fit(_ends(split.rare), CELL)
        lines.append(fit(names[name], NAME) + cells + f"{split.share_rare:.0%}")
    for text in dict.fromkeys(text for split in splits.values() for text in split.whole.warnings):
        lines += wrapped(text, COLUMNS, "   ", "-: ")
    return lines


def _bands(study: BaselineStudy, names: dict[str, str]) -> list[str]:
    found = study.found
    lines = wrapped(
        f"C(k) minus the baseline's: budgets at which the {100 * found.level:.4g} % simultaneous band lies "
        f"above 0 "
        "(wins) or below (losses)",
        COLUMNS,
    )
    for method in found.methods.values():
        lines += pair_lines(method.comparison, names)
    return lines


def _strategies(study: BaselineStudy, names: dict[str, str]) -> list[str]:
    found = study.discoveries
    shown = found.methods[:MOST_METHODS]
    only = ", ".join(f"{count:,} only by {names[name]}" for name, count in found.only().items() if count)
    lines = wrapped(
        f"who finds what: of {counted(len(found.strategies), 'declared strategy', 'declared strategies')} "
        f"(input by input) {found.nobody():,} found by nobody{', ' + only if only else ''}. Below: "
        f"expected number "
        f"of inputs on which {counted(found.budget, 'sample')} find it",
        COLUMNS,
    )
    size = min(12, (COLUMNS - NAME - 17) // max(1, len(shown)))
    heads = "".join(fit(one_line(names[name], size - 1), size) for name in shown)
    lines.append((fit("strategy", NAME) + fit("inputs", 8) + heads + "nobody").rstrip())
    rows = found.by_strategy()
    for row in rows[:MOST_STRATEGIES]:
        cells = "".join(fit("-" if math.isnan(v) else f"{v:.2f}", size) for v in row.expected[: len(shown)])
        start = fit(one_line(row.strategy, NAME - 1), NAME) + fit(f"{row.inputs:,}", 8)
        lines.append(start + cells + f"{row.nobody:,}")
    if len(rows) > MOST_STRATEGIES:
        more = counted(len(rows) - MOST_STRATEGIES, "strategy", "strategies")
        lines.append(f"and {more} more: strategies.csv in --out")
    return lines


def _correctness(study: BaselineStudy, names: dict[str, str]) -> list[str]:
    if not study.bought:
        return []
    lines = wrapped(
        f"does covering more buy more solved problems? Gains over the baseline at K = "
        f"{study.found.budget:,}; "
        "correlation over inputs: association and no cause, of numbers from the same samples",
        COLUMNS,
    )
    lines.append(fit("method", NAME) + fit("raw C(K)", CELL) + fit("pass@K", CELL) + "correlation")
    for name, bought in study.bought.items():
        cells = fit(_ends(bought.coverage), CELL) + fit(_ends(bought.utility), CELL)
        lines.append(fit(names[name], NAME) + cells + _ends(bought.correlation, 2))
    return lines


def _plan(study: BaselineStudy, names: dict[str, str]) -> list[str]:
    if not study.plans:
        return wrapped(study.no_plan, COLUMNS, "   ", "?: ")
    first = next(iter(study.plans.values()))
    lines = wrapped(
        f"inputs needed to see a gain of {first.gain:g} with power {100 * first.power:.3g} % at K = "
        f"{first.budget:,}, by "
        "samples an input; least: the gain that this log's own size sees",
        COLUMNS,
    )
    heads = "".join(fit(f"n = {row.samples:,}", 14) for row in first.rows)
    lines.append(fit("method", NAME) + heads + "least")
    for name, plan in study.plans.items():
        cells = "".join(fit("> 10 million" if r.inputs is None else f"{r.inputs:,}", 14) for r in plan.rows)
        lines.append(fit(names[name], NAME) + cells + f"{plan.detectable:.3f}")
    if first.modelled and len(first.rows) > 1:
        lines += wrapped(
            "numbers for more samples than this log has rest on a model of its noise: half of its samples "
            "are fewer "
            "than K",
            COLUMNS,
        )
    return lines


def _value(interval: Interval) -> str:
    value = float(interval.mean[0])
    return "-" if math.isnan(value) else f"{value:.3f}"


def _ends(interval: Interval, most: int = 3) -> str:
    values = [float(part[0]) for part in (interval.mean, interval.low, interval.high)]
    if np.isnan(values[0]):
        return "-"
    if np.isnan(values[1]):
        return f"{values[0]:.{most}f}"
    for digits in range(most, -1, -1):
        mean, low, high = (_plain(value, digits) for value in values)
        if len(f"{mean} [{low}, {high}]") < CELL:
            break
    return f"{mean} [{low}, {high}]"


def _plain(value: float, digits: int) -> str:
    """A number with so many digits; what rounds to nothing has no sign."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
