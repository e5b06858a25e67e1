"""Runs of corrections as pages: `report.html` of `coverjax corrections run` and `compare`."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from coverjax.corrections.aggregates import NOT_MEASURED, Reach, Summary
from coverjax.corrections.comparing import SystemsComparison
from coverjax.corrections.competence import REPLAY_GATE, Competence
from coverjax.inference.units import Interval
from coverjax.report.html import Page, Section, Table, figures_of, isolated, provenance
from coverjax.report.tables import few_budgets, ranges
from coverjax.report.text import counted

TITLES = {
    "competence": "Competence against corrections",
    "comparison": "The two curves, and their difference",
    "reached": "First hit and saturation",
    "concepts": "Every concept",
}
MEANING = {
    "competence": (
        "Mean over concepts of the fraction of expected tokens in the answer after k corrections, with its "
        "band. A snapshot each time, not a union: it may fall."
    ),
    "comparison": "The curves of both systems, and a - b with its simultaneous band over k.",
    "reached": "Share of concepts that have reached a first hit, and saturation, by k corrections.",
    "concepts": (
        "A row a concept, a column a number of corrections; darker where more expected tokens are there."
    ),
}


def run_page(
    found: Competence, parts: Mapping[str, Summary], told: Mapping[str, Any], files: Sequence[str]
) -> Page:
    """Return the page of a run.

    Args:
        found: the run.
        parts: its summary, by split.
        told: its document, for where it came from.
        files: what stands beside the page; figures among them are shown.
    """
    table = _curves(parts)
    replay = found.replay_determinism
    word = "passes" if found.replay_gate else "fails"
    cautions = [f"{isolated(name)}: {text}" for name, part in parts.items() for text in part.warnings]
    cautions.append(f"Replay determinism {_value(replay)}: {word} the gate at {REPLAY_GATE:g}.")
    cautions += [f"Not measured: {text}" for text in NOT_MEASURED]
    return Page(
        title=f"Corrections to competence of {isolated(found.system)}",
        answer=_answer(parts, float(told["level"])),
        sections=(
            figures_of(TITLES, MEANING, files, lambda stem: table),
            Section("Tables", (_overview(parts), table)),
        ),
        cautions=cautions,
        provenance=provenance(told),
        files=files,
    )


def comparison_page(found: SystemsComparison, told: Mapping[str, Any], files: Sequence[str]) -> Page:
    """Return the page of a comparison of two runs; arguments as for `run_page`."""
    curve = found.curve
    level = f"{100 * curve.level:.4g} %"
    ahead = [("a", curve.wins), ("b", curve.losses)]
    decided = [f"{who} is ahead at k = {ranges(won)}" for who, won in ahead if len(won)]
    said = "; ".join(decided) or "neither is ahead at any k"
    rows = [
        [name.replace("_", " "), _ends(interval, sign=True)] for name, interval in found.differences.items()
    ]
    table = Table("Differences a - b", ("", f"a - b [{level} t-interval over concepts]"), rows)
    return Page(
        title=f"{isolated(found.a.system)} against {isolated(found.b.system)}",
        answer=(
            f"Over {counted(curve.inputs, 'concept')}, the area under a's curve differs from b's by "
            f"{_ends(found.differences['area'], sign=True)} ({level} t-interval over concepts).",
            f"By a simultaneous {level} band: {said}.",
            f"a is {isolated(found.a.system)}, b is {isolated(found.b.system)}.",
        ),
        sections=(figures_of(TITLES, MEANING, files, lambda stem: table), Section("Tables", (table,))),
        cautions=[*found.warnings, *(f"Not measured: {text}" for text in NOT_MEASURED)],
        provenance=provenance(told),
        files=files,
    )


def _answer(parts: Mapping[str, Summary], level: float) -> list[str]:
    sentences = []
    for name, part in parts.items():
        if not part.concepts:
            sentences.append(f"{isolated(name)}: no concept is graded.")
            continue
        k = len(part.curve.mean) - 1
        sentences.append(
            f"{isolated(name)}: after {counted(k, 'correction')} the answers hold {_percent(part.curve, k)} "
            f"of "
            f"the expected tokens, and {_percent(part.saturation.rate)} of "
            f"{counted(part.concepts, 'concept')} reach all of them at some k."
        )
    return [*sentences, f"[low, high]: {100 * level:.4g} % t-intervals over concepts."]


def _percent(interval: Interval, at: int = 0) -> str:
    mean, low, high = (100 * float(part[at]) for part in (interval.mean, interval.low, interval.high))
    return f"{mean:.1f} %" + ("" if math.isnan(low) else f" [{low:.1f}, {high:.1f}]")


def _overview(parts: Mapping[str, Summary]) -> Table:
    names = list(parts)
    rows: list[list[Any]] = [["concepts", *(part.concepts for part in parts.values())]]
    for label, reach in (
        ("first hit", "first_hit"),
        ("saturation", "saturation"),
        ("sustained saturation", "saturation_sustained"),
    ):
        found: list[Reach] = [getattr(part, reach) for part in parts.values()]
        rows.append([f"{label}: share that reach it", *(_ends(one.rate) for one in found)])
        rows.append([f"{label}: corrections, those who reach it", *(_ends(one.mean) for one in found)])
        rows.append([f"{label}: corrections, all", *(_ends(one.restricted_mean) for one in found)])
    for label, name in (
        ("saturated at the end", "final_rate"),
        ("score at the end", "saturation_score"),
        ("area under the curve", "area"),
        ("known before any correction", "prior_knowledge_rate"),
        ("curves that fall somewhere", "drop_rate"),
    ):
        rows.append([label, *(_ends(getattr(part, name)) for part in parts.values())])
    note = "all: a concept that never reaches it counts as one more than all corrections (`restricted_to`)."
    return Table("Summary by split", ("", *names), rows, note)


def _curves(parts: Mapping[str, Summary]) -> Table:
    import numpy as np

    most = max((len(part.curve.mean) for part in parts.values()), default=1)
    points = [k - 1 for k in few_budgets(np.arange(1, most + 1), 8)]
    rows = []
    for name, part in parts.items():
        cells = [_ends(part.curve, k) if k < len(part.curve.mean) else "" for k in points]
        rows.append([name, *cells])
    header = ("split", *(f"k = {k}" for k in points))
    return Table("Mean fraction of the expected tokens after k corrections", header, rows)


def _ends(interval: Interval, at: int = 0, sign: bool = False) -> str:
    mean, low, high = (float(part[at]) for part in (interval.mean, interval.low, interval.high))
    if math.isnan(low):
        return _value(mean, sign)
    return f"{_value(mean, sign)} [{_value(low, sign)}, {_value(high, sign)}]"


def _value(value: float, sign: bool = False) -> str:
    return "–" if math.isnan(value) else f"{value:+.3f}" if sign else f"{value:.3f}"
