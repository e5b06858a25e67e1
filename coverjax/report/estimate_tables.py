"""Tables of the page of a log: what every figure shows, and what the log is."""

import math
from typing import Any

from coverjax.inference.units import Interval
from coverjax.report.extrapolated import check_answer
from coverjax.report.html import Table
from coverjax.report.page_tables import utility_table
from coverjax.report.study import TAUS, KindStudy, MethodStudy, Study
from coverjax.report.tables import few_budgets, ranges


def lines_of(study: Study) -> dict[str, KindStudy]:
    """Return what figures and answer are about: methods, or the kinds of coverage of a single method."""
    if len(study.methods) > 1:
        return {name: method.kinds[study.coverage] for name, method in study.methods.items()}
    return next(iter(study.methods.values())).columns()


def _cell(interval: Interval, at: int) -> str:
    mean, low, high = (float(part[at]) for part in (interval.mean, interval.low, interval.high))
    return _value(mean) if math.isnan(low) else f"{_value(mean)} [{_value(low)}, {_value(high)}]"


def _value(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"


def figure_numbers(study: Study, stem: str) -> Table | None:
    """Return the table behind a figure."""
    if stem in ("coverage", "novelty"):
        return _curve_table(study, "coverage" if stem == "coverage" else "novelty_count")
    if stem in ("time-to-coverage", "time-by-input"):
        return times_table(study)
    if stem == "coverage-correctness":
        return utility_table(study)
    return _contents(study)


def _curve_table(study: Study, curve: str) -> Table:
    budgets = few_budgets(study.budgets, 8)
    places = [int(study.budgets.searchsorted(k)) for k in budgets]
    rows = []
    for name, found in lines_of(study).items():
        band = found.bands.get(curve, found.intervals[curve])
        rows.append([name or "all", *(_cell(band, at) for at in places)])
    level = f"{100 * study.level:.4g} %"
    note = (
        f"mean over inputs [{level} simultaneous band over k = 1..{study.budget:,}]; every k is in curves.csv"
    )
    return Table(curve.replace("_", " "), ("", *(f"k = {k:,}" for k in budgets)), rows, note)


def _contents(study: Study) -> Table:
    rows = []
    for name, method in study.methods.items():
        facts = method.facts
        rows.append(
            [
                name or "all",
                facts["samples"],
                facts["inputs"],
                facts["declared_total"],
                facts["undeclared_found"],
            ]
        )
    return Table(
        "What is in the log", ("", "samples", "inputs", "declared strategies", "labels outside"), rows
    )


def overview_table(study: Study) -> Table:
    """Return coverage of every method and kind: a row each, with intervals."""
    rows = []
    for name, kind, found in _columns(study):
        coverage, full = found.intervals["coverage"], found.intervals.get("full_coverage")
        rows.append(
            [
                name,
                kind,
                _cell(found.auc, 0),
                float(coverage.mean[0]),
                _cell(coverage, -1),
                "?" if full is None else _cell(full, -1),
                _cell(found.intervals["distinct"], -1),
                float(found.pooled.coverage[0, -1]),
            ]
        )
    header = ("method", "coverage", "AUC(K)", "C(1)", "C(K)", "F(K)", "distinct(K)", "pooled C(K)")
    kinds = {"t": "t-interval", "bootstrap": "bootstrap interval", "bounded": "bounded-mean interval"}.get(
        study.interval, f"{study.interval} interval"
    )
    note = (
        f"K = {study.budget:,}. Mean over inputs [{100 * study.level:.4g} % {kinds} over inputs]. C(k): "
        "expected fraction of the strategies found by k samples; AUC: plain mean of C(1..K); F(K): chance "
        "that all are found; distinct: expected number found; pooled: found over declared in all inputs."
    )
    return Table("Coverage", header, rows, note)


def _columns(study: Study) -> list[tuple[str, str, KindStudy]]:
    return [
        (method.name or "all", kind, found)
        for method in study.methods.values()
        for kind, found in method.columns().items()
    ]


def times_table(study: Study) -> Table:
    """Return the times to coverage of every method and kind."""
    rows = [[name, kind, *(_time(found, tau) for tau in TAUS)] for name, kind, found in _columns(study)]
    reasons = dict.fromkeys(why for _, _, found in _columns(study) for why in found.no_times.values())
    note = (
        f"Mean of min(T, K), where never counts as K = {study.budget:,} / median / share never reached by k "
        f"= K."
    )
    return Table(
        "Samples until a fraction is found",
        ("method", "coverage", *(f"T({tau:g})" for tau in TAUS)),
        rows,
        " ".join([note, *(f"?: {why}." for why in reasons)]),
    )


def _time(found: KindStudy, tau: float) -> str:
    if tau not in found.times:
        return "?"
    whole = found.times[tau].pooled
    assert whole is not None
    median = f"> {int(found.curves.budgets[-1]):,}" if math.isnan(whole.median) else f"{int(whole.median):,}"
    return f"{float(whole.mean):,.2f} / {median} / {float(whole.censored):.0%}"


def comparison_table(study: Study) -> Table:
    """Return the paired differences of methods."""
    rows = []
    for pair in study.comparisons:
        low, high = float(pair.band[0][-1]), float(pair.band[1][-1])
        ends = "–" if math.isnan(low) else f"[{low:+.3f}, {high:+.3f}]"
        decided = (ranges(pair.wins), ranges(pair.losses), ranges(pair.undecided))
        rows.append([pair.a, pair.b, pair.inputs, f"{pair.difference[-1]:+.3f}", ends, *decided])
    header = (
        "a",
        "b",
        "inputs",
        "a - b at K",
        "band at K",
        "a better at k",
        "b better at k",
        "undecided at k",
    )
    note = "Each pair has its own simultaneous band over the budgets: nothing is corrected for their number."
    return Table(f"Paired differences of {study.coverage} coverage", header, rows, note)


def ahead_table(study: Study) -> Table:
    """Coverage beyond the samples, the verdict and what it stands on."""
    rows = []
    for found in study.ahead.values():
        name, k = found.name or "all", int(found.curves.budgets[-1])
        rows.append([name, f"C({k:,}) by {found.told.method}", _cell(found.interval, -1), found.told.verdict])
        rows += [[name, check["what"], check_answer(check), check["verdict"]] for check in found.told.checks]
    header = ("method", "question", "answer", "verdict")
    return Table(f"Extrapolated {study.coverage} coverage", header, rows)


def log_table(study: Study) -> Table:
    """Return what is in the log, a row a method."""
    rows = [_fact_row(method) for method in study.methods.values()]
    header = (
        "method", "inputs used", "of", "samples", "per trial", "trials", "declared strategies",
        "labels outside", "labelled by", "order",
    )  # fmt: skip
    return Table("The log", header, rows)


def _fact_row(method: MethodStudy) -> list[Any]:
    facts = method.facts
    n = f"{facts['n_min']:,}" + ("" if facts["n_min"] == facts["n_max"] else f" to {facts['n_max']:,}")
    return [
        method.name or "all",
        facts["inputs_used"],
        facts["inputs"],
        facts["samples"],
        n,
        facts["trials"],
        facts["declared_total"],
        facts["undeclared_found"],
        ", ".join(facts["labelers"]) or "not stated",
        facts["order"],
    ]
