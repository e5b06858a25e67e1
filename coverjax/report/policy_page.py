"""The report of policies on a known law as a page: `report.html` of `coverjax exact` and `coverjax
simulate`."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from coverjax.inference.of_curves import curve_interval
from coverjax.report.html import Page, Section, Table, figures_of, provenance
from coverjax.report.policy_study import TAUS, PolicyLine, PolicyStudy
from coverjax.report.tables import few_budgets
from coverjax.report.text import counted

LEVEL = 0.95

TITLES = {
    "training": "Training",
    "coverage": "Coverage",
    "novelty": "Novelty",
    "time-to-coverage": "Time until all is covered",
    "time-by-input": "Time to coverage, input by input",
    "gain-split": "Where the gain comes from",
}
MEANING = {
    "training": "The objective against the updates made, on what is trained and on what is held out.",
    "coverage": (
        "Expected fraction of an input's strategies that k draws hold, mean over inputs; a line a policy, "
        "with "
        "what it sees while it runs and what it knows beforehand."
    ),
    "novelty": "Expected number of new strategies in draw k, mean over inputs.",
    "time-to-coverage": (
        "Share of runs that have found every strategy within k draws. What a line lacks to 1 at its end "
        "never "
        "got there."
    ),
    "time-by-input": (
        "How inputs differ in the draws they need until 80 % of their strategies are found. Inputs that "
        "never "
        "get there count as K."
    ),
    "gain-split": (
        "Bars: the gain of each policy over independent draws, as a share of what one strategy a draw would "
        "gain, split into fewer repeats of common strategies and rare ones found."
    ),
}


def policy_page(study: PolicyStudy, told: Mapping[str, Any], files: Sequence[str]) -> Page:
    """Return the page of a study.

    Args:
        study: what was found.
        told: its document, for where it came from.
        files: what stands beside the page; figures among them are shown.
    """
    drawn = figures_of(TITLES, MEANING, files, lambda stem: _numbers(study, stem))
    kind = "Simulated" if simulated(study) else "Exact"
    return Page(
        title=f"{kind} coverage of {counted(len(study.lines), 'policy', 'policies')} within "
        f"{counted(study.budget, 'draw')}",
        answer=policy_answer(study),
        sections=(
            drawn,
            Section("Tables", (_overview(study), _times(study), _information(study))),
        ),
        cautions=policy_cautions(study),
        provenance=provenance(told),
        files=files,
    )


def simulated(study: PolicyStudy) -> bool:
    """Whether the curves were drawn and not computed."""
    return study.first.provenance.get("kind") == "simulated"


def policy_answer(study: PolicyStudy) -> list[str]:
    """Return the answer: what independent draws cover, what the best policy does, and how sure that is."""
    iid = study.lines.get("IID")
    others = [
        line
        for name, line in study.lines.items()
        if name != "IID" and line.sees != "oracle" and math.isfinite(line.auc)
    ]
    parts = []
    if iid is not None:
        parts.append(
            f"{counted(study.budget, 'independent draw')} cover {_covered(iid)} of the strategies "
            f"(AUC {iid.auc:.3f})"
        )
    if others:
        best = max(others, key=lambda line: line.auc)
        gain = math.nan if best.gain is None else best.gain.pooled
        way = f", {gain:.0%} of the way to a new strategy with every draw" if math.isfinite(gain) else ""
        parts.append(f"choosing by {best.name} covers {_covered(best)} (AUC {best.auc:.3f}){way}")
    sentences = (
        ["; ".join(parts)[:1].upper() + "; ".join(parts)[1:] + "."] if parts else ["No policy was had."]
    )
    used = int(study.first.used.sum())
    if simulated(study):
        sentences.append(
            f"± is twice the Monte Carlo standard error, from "
            f"{counted(int(study.first.provenance.get('trials', 0)), 'trial')} an input."
        )
    else:
        sentences.append("The curves are exact: nothing was sampled, so there is no sampling error.")
    if used > 1:
        sentences.append(f"Square brackets: {LEVEL:.0%} t-interval over the {counted(used, 'input')}.")
    return sentences


def _covered(line: PolicyLine) -> str:
    value = 100 * float(line.curves.mean().coverage[0, -1])
    text = f"{value:.1f} %"
    if math.isfinite(line.final_stderr):
        text += f" ± {200 * line.final_stderr:.1f}"
    if line.curves.used.sum() > 1:
        interval = curve_interval(line.curves, "coverage", LEVEL)
        if math.isfinite(float(interval.low[-1])):
            text += f" [{100 * float(interval.low[-1]):.1f}, {100 * float(interval.high[-1]):.1f}]"
    return text


def _numbers(study: PolicyStudy, stem: str) -> Table | None:
    if stem == "training":
        return None  # its numbers are history.csv
    if stem in ("coverage", "novelty"):
        return _curve_table(study, "coverage" if stem == "coverage" else "novelty_count")
    if stem == "gain-split":
        rows = [
            [line.name, None if line.gain is None else line.gain.pooled, line.common, line.rare]
            for line in study.lines.values()
        ]
        note = f"rare: base probability x K below {study.rare_below:g}; the parts sum to the mean gain."
        return Table("Gain", ("policy", "gain, pooled", "common", "rare"), rows, note)
    return _times(study)


def _curve_table(study: PolicyStudy, curve: str) -> Table:
    budgets = few_budgets(study.budgets, 8)
    places = [int(study.budgets.searchsorted(k)) for k in budgets]
    rows = []
    for line in study.lines.values():
        values = getattr(line.curves.mean(), curve)
        rows.append([line.name, *(None if values is None else float(values[0, at]) for at in places)])
    header = ("policy", *(f"k = {k:,}" for k in budgets))
    return Table(curve.replace("_", " "), header, rows, "mean over inputs; every k is in curves.csv")


def _overview(study: PolicyStudy) -> Table:
    rows = []
    for line in study.lines.values():
        mean = line.curves.mean()
        full = None if mean.full_coverage is None else float(mean.full_coverage[0, -1])
        gain = None if line.gain is None else line.gain.pooled
        rows.append([line.name, line.auc, gain, line.common, line.rare, _covered(line), full])
    header = ("policy", "AUC(K)", "Gain", "common", "rare", "C(K)", "F(K)")
    note = (
        f"K = {study.budget:,}. AUC: plain mean of C(1..K). Gain: share of the way from IID (0) to "
        "OracleNoRepeat (1), pooled over inputs; common and rare are the parts of the mean gain. F(K): "
        "chance "
        "that all is covered."
    )
    return Table("Policies", header, rows, note)


def _times(study: PolicyStudy) -> Table:
    rows = [[line.name, *(_time(line, tau) for tau in TAUS)] for line in study.lines.values()]
    note = (
        f"Mean of min(T, K), never counting as K = {study.budget:,} / median / share never reached by k = K."
    )
    return Table(
        "Draws until a fraction is covered", ("policy", *(f"T({tau:g})" for tau in TAUS)), rows, note
    )


def _time(line: PolicyLine, tau: float) -> str:
    if tau in line.no_times:
        return "?"
    whole = line.times[tau].pooled
    assert whole is not None
    if not math.isfinite(float(whole.censored)):
        return "?"
    median = (
        f"{whole.median:g}" if math.isfinite(float(whole.median)) else f"> {int(line.curves.budgets[-1]):,}"
    )
    return f"{float(whole.mean):,.2f} / {median} / {float(whole.censored):.0%}"


def _information(study: PolicyStudy) -> Table:
    rows = []
    for line in study.lines.values():
        made = line.curves.provenance.get("form") or line.curves.provenance.get("engine") or "?"
        rows.append([line.name, line.sees, line.knows, made])
    header = ("policy", "sees while it runs", "knows beforehand", "how its curves were made")
    return Table("What each policy was told", header, rows)


def policy_cautions(study: PolicyStudy) -> list[str]:
    """Return what to know before the numbers are used."""
    lines = [f"{name}: left out, {reason}" for name, reason in study.refused.items()]
    if len({(line.sees, line.knows) for line in study.lines.values()}) > 1:
        lines.append(
            "The policies do not see and know the same: a difference between two of them is also a "
            "difference "
            "in what they were told. One that knows true_W is a ceiling, not a rival."
        )
    undefined = {
        str(reason)
        for line in study.lines.values()
        if line.gain is not None
        for reason in line.gain.reasons
        if reason
    }
    lines += [f"Gain is undefined on some inputs: {reason}." for reason in sorted(undefined)]
    lines.append(
        "All of this is about the law that was given: whether a real sampler follows it, a log tells."
    )
    return lines
