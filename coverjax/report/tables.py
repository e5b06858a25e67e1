"""The report of a study as text for a terminal, at most 80 columns wide, without colours."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from coverjax._version import __version__
from coverjax.inference.comparison import Comparison
from coverjax.inference.units import Interval
from coverjax.report.extrapolated import Ahead, ahead_text
from coverjax.report.guardrails import guardrail_text
from coverjax.report.study import TAUS, KindStudy, MethodStudy, Study
from coverjax.report.text import counted, fit, one_line, unlike, width, wrapped
from coverjax.report.utility_study import NAMES, UtilityStudy, utility_title

COLUMNS = 80
LABEL, CELL = 13, 22
NAME = 20
MOST_FILES = 4
MOST_BLOCKS = 8
"""With more methods only the table of all methods is printed."""


def report_text(study: Study, files: Sequence[dict[str, Any]] = ()) -> str:
    """Return the report: one table over all methods, a block for each, the paired comparisons.

    Args:
        study: what was found.
        files: what was read, a dict each with path and sha256.
    """
    names = dict(zip(study.methods, unlike(list(study.methods), NAME), strict=True))
    parts = [_heading(study, files)]
    parts.append("\n".join(guardrail_text({names[m.name]: m.guardrails() for m in study.methods.values()})))
    if len(study.methods) > 1:
        parts.append(_overview(study, names))
    blocks = list(study.methods.values())
    if len(blocks) > MOST_BLOCKS:
        parts.append(
            f"Blocks of single methods are printed for up to {MOST_BLOCKS}; all is in --json and --out."
        )
        blocks = []
    parts += [_block(study, method, names[method.name]) for method in blocks]
    parts += [_ahead(found, names[found.name]) for found in study.ahead.values()]
    if study.comparisons or study.not_compared:
        parts.append(_comparisons(study, names))
    return "\n\n".join(parts) + "\n"


def _heading(study: Study, files: Sequence[dict[str, Any]]) -> str:
    kind = {"t": "t-intervals", "bootstrap": "bootstrap intervals", "bounded": "bounded-mean intervals"}
    lines = [f"coverjax {__version__}: coverage for k = 1..K samples, K = {study.budget:,}"]
    if not study.consecutive:
        lines[0] += f" ({len(study.budgets)} budgets)"
    lines += file_lines(files, MOST_FILES)
    lines += wrapped(
        f"[low, high]: {100 * study.level:.4g} % {kind[study.interval]} over inputs, at one budget at a "
        "time. C(k): expected fraction of the declared strategies found by k samples. AUC(K): plain mean of "
        "C(1..K). F(K): chance to have found all. T(t): samples until the fraction t is found.",
        COLUMNS,
    )
    return "\n".join(lines)


def file_lines(files: Sequence[dict[str, Any]], most: int) -> list[str]:
    """Return the names of the files that were read, with the start of their hashes."""
    lines = [
        f"{one_line(facts['path'], COLUMNS - 24, middle=True)}  sha256 {facts['sha256'][:12]}.."
        for facts in files[:most]
    ]
    if len(files) > most:
        lines.append(f"and {counted(len(files) - most, 'more file')}: their hashes are in --json")
    return lines


def _overview(study: Study, names: dict[str, str]) -> str:
    """One line a method, for the kind of coverage that was asked for."""
    columns = ["AUC(K)", "C(1)", "C(K)", "F(K)"]
    sizes = [CELL, 7, CELL, 6]
    start = max(8, *(width(name) for name in names.values()))
    title = f"{study.coverage} coverage"
    lines = [title, fit("method", start) + "  " + _line(columns, sizes)]
    for name, method in study.methods.items():
        found = method.kinds[study.coverage]
        coverage = found.intervals["coverage"]
        cells = [
            _with_ends(found.auc, 0),
            _value(coverage.mean[0]),
            _with_ends(coverage, -1),
            _value(found.intervals["full_coverage"].mean[-1]) if "full_coverage" in found.intervals else "?",
        ]
        lines.append(fit(names[name], start) + "  " + _line(cells, sizes))
    return "\n".join(lines)


def _block(study: Study, method: MethodStudy, name: str) -> str:
    lines = [name] if method.name else []
    columns = method.columns()
    lines += [_row("", [title if "=" in title else f"{title} coverage" for title in columns])]
    found = list(columns.values())
    lines.append(_row("AUC(K)", [_with_ends(kind.auc, 0) for kind in found]))
    for k in few_budgets(study.budgets):
        at = int(np.searchsorted(study.budgets, k))
        lines.append(_row(f"C({k})", [_with_ends(kind.intervals["coverage"], at) for kind in found]))
    lines += _last_rows(study, found)
    lines.append(_row("pooled C(K)", [_value(kind.pooled.coverage[0, -1]) for kind in found]))
    for tau in TAUS:
        lines.append(_row(f"T({tau:.1f})", [_time(kind, tau) for kind in found]))
    lines += _notes(study, found)
    if method.utility is not None:
        lines += ["", *_utility(study, method.utility)]
    for warning in method.warnings:
        lines += wrapped(warning, COLUMNS, "  ", "! ")
    return "\n".join(lines)


def _ahead(found: Ahead, name: str) -> str:
    return "\n".join([*([name] if found.name else []), *ahead_text(found, COLUMNS)])


def _utility(study: Study, found: UtilityStudy) -> list[str]:
    """A row a utility: its mean at k = 1, at about the root of K, and at K with its interval."""
    some = few_budgets(study.budgets)
    places = [0, int(np.searchsorted(study.budgets, some[len(some) // 2])), -1]
    heads = [f"k = {study.budgets[place]:,}" for place in places]
    sizes = [12, 12, CELL]
    lines = [fit("utility", 17) + _line(heads, sizes)]
    for name, interval in found.intervals.items():
        cells = [_value(interval.mean[place]) for place in places[:2]] + [_with_ends(interval, -1)]
        lines.append((fit(utility_title(name, found), 17) + _line(cells, sizes)).rstrip())
    inputs = int(found.curves.enough.sum())
    if inputs != int(found.curves.used.sum()):
        lines += wrapped(
            f"utilities: mean over {counted(inputs, 'input')}, those without a declared strategy too", COLUMNS
        )
    for name, why in found.left_out.items():
        lines += wrapped(f"{NAMES[name]}: {why}", COLUMNS, "   ", "?: ")
    return lines


def _last_rows(study: Study, found: list[KindStudy]) -> list[str]:
    """Rows for the other curves at the largest budget, where some kind has them."""
    rows = {
        "F(K)": "full_coverage",
        "distinct(K)": "distinct",
    }
    lines = []
    for label, curve in rows.items():
        cells = [_with_ends(kind.intervals[curve], -1) if curve in kind.intervals else "?" for kind in found]
        if any(cell != "?" for cell in cells):
            lines.append(_row(label, cells))
    return lines


def _notes(study: Study, found: list[KindStudy]) -> list[str]:
    lines = []
    if any(kind.times for kind in found):
        meaning = (
            "T: mean of min(T, K), where beyond K counts as K / median (> K: beyond it) / share beyond k = K"
        )
        lines += wrapped(meaning, COLUMNS)
    if not study.consecutive:
        lines += wrapped("Not every budget was studied: means and medians of T are upper bounds.", COLUMNS)
    reasons = dict.fromkeys(reason for kind in found for reason in kind.no_times.values())
    for reason in reasons:
        lines += wrapped(one_line(reason, 300), COLUMNS, "   ", "?: ")
    return lines


def _time(found: KindStudy, tau: float) -> str:
    if tau not in found.times:
        return "?"
    whole = found.times[tau].pooled
    assert whole is not None
    most = int(found.curves.budgets[-1])
    median = f"> {most}" if math.isnan(whole.median) else f"{int(whole.median)}"
    mean, share = float(whole.mean), f"{float(whole.censored):.0%}"
    told = f"{_short(mean)} / {median} / {share}"
    return told if len(told) < CELL else f"{mean:.3g}/{median.replace(' ', '')}/{share}"


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:.1f}" if value < 10_000 else f"{value:.4g}"


def _comparisons(study: Study, names: dict[str, str]) -> str:
    lines = wrapped(
        f"paired differences of {study.coverage} coverage: budgets at which the {100 * study.level:.4g} % "
        f"simultaneous band over k = 1..{study.budget:,} lies above 0 (wins) or below (losses)."
        + (
            " Each pair by itself: of many pairs some decide by chance." if len(study.comparisons) > 1 else ""
        ),
        COLUMNS,
    )
    if len(study.methods) > 2 and len(study.comparisons) + len(study.not_compared) < math.comb(
        len(study.methods), 2
    ):
        lines += wrapped(f"Only {next(iter(names.values()))} is compared with each other method.", COLUMNS)
    for pair in study.comparisons:
        lines += pair_lines(pair, names)
    for refused in study.not_compared:
        lines += wrapped(one_line(refused, 300), COLUMNS, "  ", "! ")
    warned = [pair for pair in study.comparisons if pair.warnings]
    if warned:
        first = f"{names[warned[0].a]} - {names[warned[0].b]}: {'; '.join(warned[0].warnings)}"
        more = (
            f" (and warnings of {counted(len(warned) - 1, 'other pair')}: --json)" if len(warned) > 1 else ""
        )
        lines += wrapped(first + more, COLUMNS, "  ", "! ")
    return "\n".join(lines)


def pair_lines(pair: Comparison, names: dict[str, str]) -> list[str]:
    """Return two lines: the difference at the last budget, and where the band decides."""
    a, b = names.get(pair.a, pair.a), names.get(pair.b, pair.b)
    last = _value(pair.difference[-1], sign=True)
    head = f"{a} - {b}: {last} at k = {pair.budgets[-1]:,}, over {counted(pair.inputs, 'input')}"
    head += f" ({pair.left_out} left out)" if pair.left_out else ""
    told = [f"{word} {ranges(getattr(pair, word))}" for word in ("wins", "losses", "undecided")]
    return wrapped(head, COLUMNS, "  ") + wrapped("; ".join(told), COLUMNS, "  ", "  ")


def ranges(budgets: Sequence[int] | np.ndarray) -> str:
    """Return whole numbers as runs: "1-10, 60-128"; "none" where there are none."""
    runs: list[list[int]] = []
    for k in map(int, budgets):
        if runs and k == runs[-1][1] + 1:
            runs[-1][1] = k
        else:
            runs.append([k, k])
    texts = [f"{first}" if first == last else f"{first}-{last}" for first, last in runs]
    return ", ".join(texts) or "none"


def few_budgets(budgets: np.ndarray, most: int = 9) -> list[int]:
    """Return the budgets that a table shows: 1, 2, 4, 8, ... (of many, every second or third), and the last.

    Where the budgets skip some of these, the next one that is there.
    """
    last = int(budgets[-1])
    powers = [2**i for i in range(last.bit_length()) if 2**i < last]
    step = max(1, -(-len(powers) // (most - 1)))
    places = np.unique(np.searchsorted(budgets, np.array(powers[::step], dtype=np.int64))).tolist()
    return [*dict.fromkeys([*(int(budgets[place]) for place in places), last])]


def _row(label: str, cells: list[str]) -> str:
    return (fit(label, LABEL) + _line(cells, [CELL] * len(cells))).rstrip()


def _line(cells: list[str], sizes: list[int]) -> str:
    return "".join(fit(cell, size) for cell, size in zip(cells, sizes, strict=True)).rstrip()


def _value(value: float, sign: bool = False) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:+.3f}" if sign else f"{value:.3f}" if abs(value) < 100 else f"{value:.4g}"


def _with_ends(interval: Interval, at: int) -> str:
    """A mean with its interval, with as many digits as a cell has room for."""
    values = [float(part[at]) for part in (interval.mean, interval.low, interval.high)]
    if math.isnan(values[1]):
        return _value(values[0])
    for digits in (3, 2, 1, 0):
        mean, low, high = (f"{value:.{digits}f}" for value in values)
        if len(f"{mean} [{low}, {high}]") < CELL:
            return f"{mean} [{low}, {high}]"
    return _value(values[0])
