"""Methods against a baseline as a page: `report.html` of `coverjax compare`."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from coverjax.evaluation.against import MethodGain
from coverjax.inference.units import Interval
from coverjax.report.baseline_study import BaselineStudy
from coverjax.report.html import Page, Section, Table, figures_of, isolated, provenance
from coverjax.report.page_tables import guardrail_table
from coverjax.report.tables import ranges
from coverjax.report.text import counted

MOST_NAMED = 4
"""The answer names so many methods; the table holds all."""

TITLES = {"coverage": "Coverage", "gain": "Gain", "coverage-correctness": "Coverage and correctness"}
MEANING = {
    "coverage": (
        "Expected fraction of an input's strategies that k samples hold, mean over inputs: the baseline, the "
        "methods, and an oracle that finds a new strategy with every draw."
    ),
    "gain": (
        "Gain of each method: 0 covers as the baseline does, 1 as the oracle does. Line: the interval over "
        "inputs; parts: from common strategies and from rare ones."
    ),
    "coverage-correctness": (
        "Does covering more strategies solve more? Higher at the same coverage: more is solved with the "
        "strategies found. Farther to the right only: more is covered and no more solved."
    ),
}


def baseline_page(study: BaselineStudy, document: Mapping[str, Any], files: Sequence[str]) -> Page:
    """Return the page of a comparison.

    Args:
        study: what was found.
        document: its summary, for where it came from.
        files: what stands beside the page; figures among them are shown.
    """
    gains = _gains(study)
    drawn = figures_of(TITLES, MEANING, files, lambda stem: gains)
    lines = [isolated(text, 400) for text in study.warnings]
    lines.append("Each method is compared with the baseline; p-values are corrected for all of them (Holm).")
    return Page(
        title=f"Methods against {isolated(study.found.baseline)} within "
        f"{counted(int(study.found.base.budgets[-1]), 'sample')}",
        answer=_answer(study),
        sections=(
            drawn,
            Section("Tables", (gains, _finders(study, document), guardrail_table(study.guardrails))),
        ),
        cautions=list(dict.fromkeys(lines)),
        provenance=provenance(document),
        files=files,
    )


def _answer(study: BaselineStudy) -> list[str]:
    found = study.found
    order = sorted(found.methods.values(), key=lambda method: -_mean(method.pooled))
    told = [f"{isolated(method.name)} {_ends(method.pooled)}" for method in order[:MOST_NAMED]]
    more = f" and {len(order) - MOST_NAMED} more below" if len(order) > MOST_NAMED else ""
    return [
        f"Gain over {isolated(found.baseline)}, on the way to one new strategy a draw: "
        f"{', '.join(told)}{more} "
        f"({100 * found.level:.4g} % intervals over inputs).",
        *(_decided(method, study) for method in order[:MOST_NAMED]),
        "The interval is over inputs: another set of inputs like these would give a gain in such a range.",
    ]


def _mean(interval: Interval) -> float:
    value = float(interval.mean[0])
    return value if math.isfinite(value) else -math.inf


def _ends(interval: Interval, sign: bool = False) -> str:
    mean, low, high = (float(part[0]) for part in (interval.mean, interval.low, interval.high))
    if not math.isfinite(mean):
        return "undefined"
    form = "+.3f" if sign else ".3f"
    ends = f" [{format(low, form)}, {format(high, form)}]" if math.isfinite(low) else ""
    return format(mean, form) + ends


def _decided(method: MethodGain, study: BaselineStudy) -> str:
    pair = method.comparison
    ahead = [(method.name, pair.wins), (study.found.baseline, pair.losses)]
    told = [f"{isolated(name)} covers more at k = {ranges(ks)}" for name, ks in ahead if len(ks)]
    said = " and ".join(told) or f"between {isolated(method.name)} and the baseline no k is decided"
    return (
        f"Paired on {counted(pair.inputs, 'input')}, by a simultaneous {100 * pair.level:.4g} % band, {said}."
    )


def _gains(study: BaselineStudy) -> Table:
    rows: list[list[Any]] = []
    for method in study.found.methods.values():
        split = method.split
        parts = ("–", "–") if split is None else (_ends(split.common), _ends(split.rare))
        difference = _ends(method.difference, sign=True)
        rows.append(
            [
                method.name,
                _ends(method.auc),
                difference,
                _ends(method.pooled),
                *parts,
                method.p_value,
                method.p_holm,
            ]
        )
    header = ("method", "AUC(K)", "AUC - baseline's", "gain", "common", "rare", "p", "p, Holm")
    note = (
        f"Baseline {isolated(study.found.baseline)}. common, rare: the parts of the gain, where the log can "
        f"tell "
        "which strategies are rare."
    )
    return Table("Gain over the baseline", header, rows, note)


def _finders(study: BaselineStudy, document: Mapping[str, Any]) -> Table:
    found = document["strategies"]
    rows: list[list[Any]] = [["pairs of an input and a strategy", found["pairs"]]]
    rows.append(["found by nobody", found["found_by_nobody"]])
    rows += [[f"found only by {name}", count] for name, count in found["found_only_by"].items()]
    rows = [[name, value if isinstance(value, int | float) else len(value)] for name, value in rows]
    return Table("Who finds what", ("", "pairs"), rows)
