"""What `coverjax label` says: who got which label, and how far another labeler agrees."""

import math
from typing import Any

import numpy as np

from coverjax._version import __version__
from coverjax.estimators.agreement import MEASURES, Agreement
from coverjax.inference.units import Interval
from coverjax.logs.labelling import LabelReport
from coverjax.report.plain import cell, interval_point
from coverjax.report.text import counted, fit, one_line, wrapped

COLUMNS, NAME, CELL = 80, 20, 20
MOST_ROWS = 40

PHANTOM_SHARE = 0.5
"""A strategy less than half of whose labels are right is more phantom than found."""


def label_document(
    report: LabelReport, agreement: Agreement | None, facts: dict[str, Any], others: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return what happened as a plain document.

    Args:
        report: what the labeler did.
        agreement: with whoever labelled the same samples.
        facts: verb, command, options, files.
        others: who these are.
    """
    document: dict[str, Any] = {
        "coverjax": __version__,
        **facts,
        "labeler": report.labeler,
        "samples": report.samples,
        "inputs": report.inputs,
        "without_label": report.empty,
        "several_labels": report.several,
        "found": report.found,
        "never_given": list(report.never),
        "first_without_label": list(report.unlabelled),
    }
    if agreement is not None:
        document["agreement"] = _agreement(agreement, others)
    return document


def _agreement(found: Agreement, others: tuple[str, ...]) -> dict[str, Any]:
    strategies = []
    for place, name in enumerate(found.strategies):
        row: dict[str, Any] = {"strategy": name}
        row |= dict(
            zip(("both", "only_labeler", "only_other", "neither"), found.counts[place].tolist(), strict=True)
        )
        for measure in MEASURES:
            row[measure] = _point(getattr(found, measure), place)
        strategies.append(row)
    return {
        "with": list(others),
        "samples": found.samples,
        "inputs": found.inputs,
        "equal_sets": _point(found.exact, 0),
        "alpha": {**_point(found.alpha, 0), "distance": found.distance},
        "strategies": strategies,
        "warnings": list(found.warnings),
    }


def _point(interval: Interval, at: int) -> dict[str, Any]:
    undefined = not math.isfinite(interval.mean[at])
    reason = "not defined on these samples" if undefined else "no spread over inputs, or only one"
    return interval_point(interval, reason, at)


def rate_rows(found: Agreement) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of the table that `coverjax compare --noise` reads."""
    header = ["strategy", "both", "only_labeler", "only_other", "neither"]
    header += [f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high")]
    header.append("false_positive_most")
    rows = []
    for place, name in enumerate(found.strategies):
        row: list[Any] = [name, *found.counts[place].tolist()]
        for measure in MEASURES:
            interval = getattr(found, measure)
            row += [cell(float(getattr(interval, end)[place])) for end in ("mean", "low", "high")]
        rows.append([*row, cell(_most(found, place))])
    return header, rows


def _most(found: Agreement, place: int) -> float:
    """Upper limit (95 %) of the false-positive rate; where none was seen, what so few can't rule out."""
    _, wrong, _, right = found.counts[place].tolist()
    if wrong + right == 0:
        return 1.0
    high = float(found.false_positive.high[place])
    seen = wrong / (wrong + right)
    return min(1.0, max(seen, 1.0 - 0.05 ** (1.0 / (wrong + right)), 0.0 if math.isnan(high) else high))


def label_text(report: LabelReport, agreement: Agreement | None, others: tuple[str, ...] = ()) -> str:
    """Return the report for a terminal, at most 80 columns wide."""
    lines = [f"coverjax {__version__}: labels by {one_line(report.labeler, 50)}"]
    lines += wrapped(
        f"{counted(report.samples, 'sample')} of {counted(report.inputs, 'input')}: {report.empty:,} without "
        f"a label, {report.several:,} with several",
        COLUMNS,
    )
    lines += ["", fit("strategy", NAME) + "  samples    share"]
    for name, samples in list(report.found.items())[:MOST_ROWS]:
        lines.append(f"{fit(one_line(name, NAME), NAME)}  {samples:>7,}  {samples / report.samples:>7.1%}")
    if len(report.found) > MOST_ROWS:
        lines.append(f"and {counted(len(report.found) - MOST_ROWS, 'strategy', 'strategies')} more: --json")
    if report.never:
        lines += wrapped(f"! never given: {', '.join(one_line(n) for n in report.never)}", COLUMNS, "  ")
    if report.unlabelled:
        lines += wrapped(f"first without a label: {', '.join(report.unlabelled)}", COLUMNS, "  ")
    if agreement is not None:
        lines += ["", *_agreement_lines(agreement, others)]
    return "\n".join(lines) + "\n"


def _agreement_lines(found: Agreement, others: tuple[str, ...]) -> list[str]:
    who = ", ".join(one_line(name) for name in others) or "the other labels"
    lines = wrapped(
        f"agreement with {who} on {counted(found.samples, 'sample')} of {counted(found.inputs, 'input')}; "
        "[low, high]: over inputs, one left out at a time. precision, recall: taking the other labels for "
        "true",
        COLUMNS,
    )
    lines.append(
        fit("strategy", NAME) + "".join(fit(name, CELL) for name in ("kappa", "precision", "recall")).rstrip()
    )
    for place, name in list(enumerate(found.strategies))[:MOST_ROWS]:
        cells = [_told(getattr(found, measure), place) for measure in ("kappa", "precision", "recall")]
        lines.append(
            (fit(one_line(name, NAME - 1), NAME) + "".join(fit(cell, CELL) for cell in cells)).rstrip()
        )
    if len(found.strategies) > MOST_ROWS:
        lines.append(
            f"and {counted(len(found.strategies) - MOST_ROWS, 'strategy', 'strategies')} more: --json"
        )
    lines.append(
        f"equal sets {_told(found.exact, 0)}; Krippendorff's alpha ({found.distance}) {_told(found.alpha, 0)}"
    )
    wrong = [
        n for n, share in zip(found.strategies, found.precision.mean, strict=True) if share < PHANTOM_SHARE
    ]
    if wrong:
        lines += wrapped(
            f"! less than half of these labels are right, so coverage of them is mostly phantoms: "
            f"{', '.join(one_line(name) for name in wrong)}",
            COLUMNS,
            "  ",
        )
    for warning in found.warnings:
        lines += wrapped(f"! {warning}", COLUMNS, "  ")
    return lines


def _told(interval: Interval, at: int) -> str:
    mean, low, high = (float(part[at]) for part in (interval.mean, interval.low, interval.high))
    if np.isnan(mean):
        return "-"
    return f"{mean:.2f}" if np.isnan(low) else f"{mean:.2f} [{low:.2f}, {high:.2f}]"
