"""Runs of corrections as text for a terminal, at most 80 columns wide, without colours."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from coverjax._version import __version__
from coverjax.corrections.aggregates import NOT_MEASURED, Reach, Summary
from coverjax.corrections.comparing import SystemsComparison
from coverjax.corrections.competence import REPLAY_GATE, Competence
from coverjax.inference.units import Interval
from coverjax.report.text import counted, fit, one_line, wrapped

COLUMNS = 80
LABEL = 34
MOST_POINTS = 12
MOST_NAMED = 5


def run_text(found: Competence, parts: Mapping[str, Summary], level: float) -> str:
    """Return the report of a run: a block for each split, the replay, and what all this does not measure."""
    blocks = [_heading(found, level)]
    blocks += [_block(name, part) for name, part in parts.items()]
    blocks += [_replay(found), _not_measured()]
    return "\n\n".join(blocks) + "\n"


def comparison_text(found: SystemsComparison) -> str:
    """Return the report of a comparison."""
    from coverjax.report.tables import ranges

    curve = found.curve
    lines = [
        f"coverjax {__version__}: corrections to competence, paired",
        f"a: {one_line(found.a.system, 60)}",
        f"b: {one_line(found.b.system, 60)}",
        f"{counted(curve.inputs, 'concept')} in both ({found.left_out} left out); differences a - b",
        f"[low, high]: {100 * curve.level:.4g} % t-intervals over concepts; never: {found.restricted_to}",
        "",
        _row("area under the curve", _told(found.differences["area"], sign=True)),
        _row("score at the end", _told(found.differences["saturation_score"], sign=True)),
        _row("share ever saturated", _told(found.differences["saturation_rate"], sign=True)),
        _row(
            "corrections to first hit",
            _told(found.differences["first_hit"], sign=True),
        ),
        _row(
            "corrections to saturation",
            _told(found.differences["saturation"], sign=True),
        ),
        "",
    ]
    decided = "; ".join(f"{word} {ranges(getattr(curve, word))}" for word in ("wins", "losses", "undecided"))
    lines += wrapped(
        f"a's curve against b's, simultaneous over k = 0..{curve.budgets[-1]}: {decided}", COLUMNS, "  "
    )
    for warning in found.warnings:
        lines += wrapped(warning, COLUMNS, "  ", "! ")
    return "\n".join([*lines, "", _not_measured()]) + "\n"


def _heading(found: Competence, level: float) -> str:
    facts = found.provenance
    lines = [f"coverjax {__version__}: corrections to competence of {one_line(found.system, 40)}"]
    for file in [*facts["files"], *([facts["pack"]] if facts["pack"] else [])]:
        lines.append(f"{one_line(file['path'], COLUMNS - 24, middle=True)}  sha256 {file['sha256'][:12]}..")
    lines += wrapped(
        f"[low, high]: {100 * level:.4g} % t-intervals over concepts. After each correction a fresh system "
        f"is asked the same probe; hits are expected tokens in {' or '.join(facts['scan']['fields'])}, by "
        f"the rule {facts['scan']['rule']!r}.",
        COLUMNS,
    )
    return "\n".join(lines)


def _block(name: str, part: Summary) -> str:
    out = f", {part.not_graded} not graded" if part.not_graded else ""
    lines = [f"{one_line(name, 40)}: {counted(part.concepts, 'concept')}{out}"]
    if part.variants != part.concepts:
        lines[0] += f", {part.variants} variants"
    lines += ["", _row("k", "mean fraction of the expected tokens")]
    lines += [_row(f"{k}", _told(part.curve, k)) for k in _points(len(part.curve.mean))]
    lines += ["", *_reach("first hit", part.first_hit), *_reach("saturation", part.saturation)]
    # The sustained crossing has its restricted mean in --json: here it only stands beside the first one.
    lines += _reach("sustained saturation", part.saturation_sustained)[:2]
    lines += [
        _row("saturated at the end", _told(part.final_rate)),
        _row("score at the end", _told(part.saturation_score)),
        _row("area under the curve", _told(part.area)),
        _row("known before any correction", _told(part.prior_knowledge_rate)),
        _row("curves that fall somewhere", _told(part.drop_rate)),
    ]
    for warning in part.warnings:
        lines += wrapped(warning, COLUMNS, "  ", "! ")
    return "\n".join(lines)


def _reach(label: str, reach: Reach) -> list[str]:
    to, median = reach.restricted_to, reach.survival.median
    half = f"> {len(reach.survival.survival) - 1}" if math.isnan(median) else f"{median:.0f}"
    return [
        _row(f"{label}: share", _told(reach.rate)),
        _row("  corrections, those who reach it", f"{_told(reach.mean)}, n = {reach.reached}"),
        _row(f"  corrections, all (never: {to})", f"{_told(reach.restricted_mean)}, median {half}"),
    ]


def _replay(found: Competence) -> str:
    share = found.replay_determinism
    word = "passes" if found.replay_gate else "FAILS"
    total = counted(int(found.there.sum()), "snapshot")
    lines = wrapped(
        f"replay determinism {_value(share)} of {total}: {word} the gate at {REPLAY_GATE:g}. There "
        "is no other pass or fail: look at the curve.",
        COLUMNS,
        "  ",
    )
    differs = found.replay_differs
    if differs:
        named = ", ".join(f"{one_line(concept, 20)} at k = {k}" for concept, k in differs[:MOST_NAMED])
        more = f" and {len(differs) - MOST_NAMED} more" if len(differs) > MOST_NAMED else ""
        lines += wrapped(f"differs: {named}{more}", COLUMNS, "  ", "! ")
    return "\n".join(lines)


def _not_measured() -> str:
    lines = ["not measured"]
    for text in NOT_MEASURED:
        lines += wrapped(text, COLUMNS, "  ", "- ")
    return "\n".join(lines)


def problems_text(problems: Sequence[Any], cases: int) -> str:
    """Return the report of `check`: one line for each problem, or that there is none."""
    if not problems:
        return f"{counted(cases, 'case')}: nothing is wrong\n"
    return "".join(f"{problem.error()}\n" for problem in problems)


def _points(count: int) -> list[int]:
    """All k, or a dozen of them with the ends."""
    if count <= MOST_POINTS:
        return list(range(count))
    return [round(i * (count - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS)]


def _row(label: str, text: str) -> str:
    return f"{fit(label, LABEL)}{text}".rstrip()


def _told(interval: Interval, at: int = 0, sign: bool = False) -> str:
    mean, low, high = (float(part[at]) for part in (interval.mean, interval.low, interval.high))
    if math.isnan(low):
        return _value(mean, sign)
    return f"{_value(mean, sign)} [{_value(low, sign)}, {_value(high, sign)}]"


def _value(value: float, sign: bool = False) -> str:
    return "-" if math.isnan(value) else f"{value:+.3f}" if sign else f"{value:.3f}"
