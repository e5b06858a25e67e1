"""The report of a log as a page: what `report.html` of `coverjax estimate` says."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coverjax.inference.units import Interval
from coverjax.report.estimate_tables import (
    ahead_table,
    comparison_table,
    figure_numbers,
    lines_of,
    log_table,
    overview_table,
    times_table,
)
from coverjax.report.html import Page, Section, figures_of, isolated, provenance
from coverjax.report.page_tables import guardrail_table, utility_table
from coverjax.report.study import KindStudy, Study
from coverjax.report.tables import ranges
from coverjax.report.text import counted

MOST_NAMED = 4
"""The answer names so many methods; the tables hold all."""

INTERVAL = (
    "The interval is over inputs: another set of inputs like these would give a mean in such a range. It "
    "says nothing "
    "of wrong labels, and nothing of single inputs."
)

MEANING = {
    "coverage": "Expected fraction of an input's strategies that k samples hold, mean over inputs.",
    "extrapolation": (
        "Coverage on beyond the samples of the log: dotted, from the ring on. The band holds what the two "
        "priors would say each. Read the verdict in the table first."
    ),
    "novelty": (
        "What one more sample brings: the expected number of new strategies, and where both are known "
        "the chance of at least one."
    ),
    "time-to-coverage": (
        "Share of runs that have found a fraction of the strategies within k samples. What a line lacks to 1 "
        "at its end never got there."
    ),
    "time-by-input": (
        "How inputs differ in the samples they need until 80 % of their strategies are found. Inputs that "
        "never get there count as K."
    ),
    "coverage-correctness": (
        "Does covering more strategies buy more solved problems? Higher at the same coverage: more is solved "
        "with the strategies found. Farther to the right only: more is covered and no more solved."
    ),
    "barcode": (
        "Every sample: a row an input, a column a sample, a colour a strategy; split where a sample matches "
        "several, grey where it matches none, hatched where the label is not declared; a dot at first "
        "appearances."
    ),
}
TITLES = {
    "coverage": "Coverage",
    "extrapolation": "Coverage beyond the samples",
    "novelty": "Novelty",
    "time-to-coverage": "Time to coverage",
    "time-by-input": "Time to coverage, input by input",
    "coverage-correctness": "Coverage against correctness",
    "barcode": "Barcode of the log",
}


def estimate_page(study: Study, document: Mapping[str, Any], files: Sequence[str]) -> Page:
    """Return the page of a study.

    Args:
        study: what was found.
        document: its summary, for where it came from.
        files: what stands beside the page; figures among them are shown.
    """
    drawn = figures_of(TITLES, MEANING, files, lambda stem: figure_numbers(study, stem))
    tables = [overview_table(study), times_table(study)]
    if study.comparisons:
        tables.append(comparison_table(study))
    tables += [table for table in (utility_table(study), ahead_table(study)) if table.rows]
    tables += [
        log_table(study),
        guardrail_table({name: method.guardrails() for name, method in study.methods.items()}),
    ]
    return Page(
        title=f"Coverage of strategies within {counted(study.budget, 'sample')}",
        answer=_answer(study),
        sections=(drawn, Section("Tables", tables)),
        cautions=_cautions(study),
        provenance=provenance(document),
        files=files,
    )


def _answer(study: Study) -> list[str]:
    single = next(iter(study.methods.values()))
    if len(study.methods) == 1:
        # One method: the kind that was asked for is the answer, whatever the figures compare.
        name = f"{isolated(single.name)}: " if single.name else ""
        first = f"{name}{counted(study.budget, 'sample')} {_covers(study, single.kinds[study.coverage])}."
    else:
        first = _ranked(study)
    return [first, *(_decided(pair) for pair in study.comparisons[:MOST_NAMED]), INTERVAL]


def _ranked(study: Study) -> str:
    """Name the methods from the one that covers most on, each with its interval."""
    found = {name: line.intervals["coverage"] for name, line in lines_of(study).items()}
    order = sorted(found, key=lambda name: -np.nan_to_num(found[name].mean[-1], nan=-1.0))
    told = [f"{isolated(name)} {_ends(found[name])}" for name in order[:MOST_NAMED]]
    more = f", and {len(order) - MOST_NAMED} more methods are below" if len(order) > MOST_NAMED else ""
    units = {interval.units for interval in found.values()}
    over = counted(units.pop(), "input") if len(units) == 1 else "inputs"
    return (
        f"With {counted(study.budget, 'sample')}, the share of an input's {_strategies(study)} covered is "
        f"{', '.join(told)}{more} ({100 * study.level:.4g} % intervals over {over})."
    )


def _strategies(study: Study) -> str:
    found = next(iter(study.methods.values()))
    what = "declared strategies" if found.facts["declared_given"] else "labels seen in this log"
    return what if study.coverage == "raw" else f"{what} (by {study.coverage} samples)"


def _covers(study: Study, found: KindStudy) -> str:
    """Say coverage at K with its interval."""
    interval = found.intervals["coverage"]
    if not interval.units:
        return "tell nothing: no input has both enough samples and a declared strategy"
    value = f"cover {_percent(float(interval.mean[-1]))} of an input's {_strategies(study)}"
    if math.isnan(float(interval.low[-1])):
        return f"{value} (no interval: {_no_interval(interval)})"
    over = f"{100 * interval.level:.4g} % interval over {counted(interval.units, 'input')}"
    if _says_nothing(interval):
        return f"{value} (the {over} holds every value from 0 to 100 %: too few inputs to say more)"
    ends = f"{_percent(float(interval.low[-1]))} to {_percent(float(interval.high[-1]))}"
    return f"{value} ({over}: {ends})"


def _ends(interval: Interval) -> str:
    mean, low, high = (100 * float(part[-1]) for part in (interval.mean, interval.low, interval.high))
    if math.isnan(mean):
        return "– (no input)"
    if math.isnan(low):
        return f"{mean:.1f} %"
    return f"{mean:.1f} % [anything]" if _says_nothing(interval) else f"{mean:.1f} % [{low:.1f}, {high:.1f}]"


def _says_nothing(interval: Interval) -> bool:
    """Whether the interval at K holds every value that coverage can have."""
    return bool(interval.low[-1] <= 0.0 and interval.high[-1] >= 1.0)


def _no_interval(interval: Interval) -> str:
    return "one input only" if interval.units < 2 else "all inputs agree, no variance was measured"


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.1f} %"


def _decided(pair: Any) -> str:
    a, b = isolated(pair.a), isolated(pair.b)
    told = [
        f"{a} covers more at k = {ranges(pair.wins)}" if len(pair.wins) else "",
        f"{b} covers more at k = {ranges(pair.losses)}" if len(pair.losses) else "",
    ]
    said = " and ".join(part for part in told if part) or f"between {a} and {b} no k is decided"
    return (
        f"Paired on {counted(pair.inputs, 'input')}, by a simultaneous {100 * pair.level:.4g} % band, {said}."
    )


def _cautions(study: Study) -> list[str]:
    lines = []
    for method in study.methods.values():
        start = f"{isolated(method.name)}: " if method.name else ""
        lines += [start + text for text in method.warnings]
    for pair in study.comparisons:
        lines += [f"{isolated(pair.a)} - {isolated(pair.b)}: {text}" for text in pair.warnings]
    lines += [isolated(text, 400) for text in study.not_compared]
    lines += _general(study)
    return list(dict.fromkeys(lines))


def _general(study: Study) -> list[str]:
    """What holds for every log."""
    facts = [method.facts for method in study.methods.values()]
    labelers = sorted({name for fact in facts for name in fact["labelers"]})
    lines = [
        f"Labelled by: "
        f"{', '.join(isolated(name) for name in labelers) or 'nobody says (no `labeler` column)'}. A wrong "
        "label is a wrong number, and no interval holds that."
    ]
    if any(fact["order"] == "exchangeable" for fact in facts):
        lines.append(
            "Samples are taken as exchangeable: every k-subset counts the same. Where the sampler looked "
            "back at what "
            "it had done, say --ordered."
        )
    if any(fact["undeclared_found"] for fact in facts):
        lines.append(
            "Labels outside the declared strategies were found; they are counted apart and enter no curve."
        )
    if len(study.comparisons) > 1:
        lines.append("Each pair of methods is compared by itself: of many pairs some decide by chance.")
    if not study.consecutive:
        lines.append("Not every budget was studied: means and medians of T are upper bounds.")
    return lines
