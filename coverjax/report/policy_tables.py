"""The report on policies as text for a terminal, at most 80 columns wide; and their curves as CSV."""

import math
import pathlib

from coverjax._version import __version__
from coverjax.curves import PER_BUDGET
from coverjax.report.plain import cell, write_csv
from coverjax.report.policy_study import TAUS, PolicyLine, PolicyStudy
from coverjax.report.text import counted, fit, one_line, unlike, width, wrapped

COLUMNS = 80
NAME = 30


def policy_text(study: PolicyStudy) -> str:
    """Return the report: one line a policy for its curves, one for its times, what it saw and knew."""
    names = dict(zip(study.lines, unlike(list(study.lines), NAME), strict=True))
    start = max(8, *(width(name) for name in names.values()))
    parts = [
        _heading(study),
        _numbers(study, names, start),
        _times(study, names, start),
        _facts(study, names),
    ]
    if study.refused:
        lines = []
        for name, reason in study.refused.items():
            lines += wrapped(f"! {one_line(name)}: {reason}", COLUMNS, indent="  ")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _heading(study: PolicyStudy) -> str:
    first = study.first
    kind = "simulated" if first.provenance.get("kind") == "simulated" else "exact"
    used = int(first.used.sum())
    text = (
        f"coverjax {__version__}: {kind} {study.coverage} coverage for k = 1..{study.budget:,} draws, mean "
        f"over {counted(used, 'input')} of {first.inputs:,} (M {_span(first.declared)}). AUC: plain mean of "
        "C(1..K). Gain: share of the way from IID (0) to OracleNoRepeat (1), pooled over inputs. common / "
        "rare: the parts of the mean gain from strategies with base probability x K at least / below "
        f"{study.rare_below:g}."
    )
    if kind == "simulated":
        text += f" {first.provenance.get('trials', 0):,} trials an input; (..): Monte Carlo standard error."
    return "\n".join(wrapped(text, COLUMNS))


def _span(values: "object") -> str:
    low, high = int(min(values)), int(max(values))  # type: ignore[call-overload]
    return f"{low}" if low == high else f"{low} to {high}"


def _numbers(study: PolicyStudy, names: dict[str, str], start: int) -> str:
    lines = [fit("policy", start) + "  AUC     Gain    common  rare    C(1)   F(K)   C(K)"]
    for name, line in study.lines.items():
        mean = line.curves.mean()
        full = "?" if mean.full_coverage is None else _told(mean.full_coverage[0, -1])
        error = f" ({line.final_stderr:.4f})" if math.isfinite(line.final_stderr) else ""
        gain = math.nan if line.gain is None else line.gain.pooled
        cells = [
            _told(line.auc, 4).ljust(8),
            _told(gain).ljust(8),
            _told(line.common).ljust(8),
            _told(line.rare).ljust(8),
            _told(mean.coverage[0, 0]).ljust(7) if study.budgets[0] == 1 else "?".ljust(7),
            full.ljust(7),
            f"{_told(mean.coverage[0, -1])}{error}",
        ]
        lines.append((fit(names[name], start) + "  " + "".join(cells)).rstrip())
    return "\n".join(lines)


def _times(study: PolicyStudy, names: dict[str, str], start: int) -> str:
    lines = [fit("draws until", start) + "  " + "".join(f"T({tau:g})".ljust(20) for tau in TAUS).rstrip()]
    for name, line in study.lines.items():
        cells = "".join(_time(line, tau).ljust(20) for tau in TAUS)
        lines.append((fit(names[name], start) + "  " + cells).rstrip())
    lines += wrapped("mean of min(T, K) / median (> K: beyond it) / share never reached by k = K", COLUMNS)
    for mark, reasons in (("?", _reasons(study, names)), ("-", _no_parts(study, names))):
        for reason, who in reasons.items():
            lines += wrapped(f"{', '.join(dict.fromkeys(who))}: {reason}", COLUMNS, "   ", f"{mark}: ")
    return "\n".join(lines)


def _reasons(study: PolicyStudy, names: dict[str, str]) -> dict[str, list[str]]:
    """Why a time is not told, and of which policies."""
    found: dict[str, list[str]] = {}
    for name, line in study.lines.items():
        for reason in line.no_times.values():
            found.setdefault(reason, []).append(names[name])
    return found


def _no_parts(study: PolicyStudy, names: dict[str, str]) -> dict[str, list[str]]:
    """Why a gain has no parts, and of which policies."""
    found: dict[str, list[str]] = {}
    for name, line in study.lines.items():
        if line.no_split:
            found.setdefault(line.no_split, []).append(names[name])
    return found


def _time(line: PolicyLine, tau: float) -> str:
    if tau in line.no_times:
        return "?"
    whole = line.times[tau].pooled
    assert whole is not None
    mean, median, never = float(whole.mean), float(whole.median), float(whole.censored)
    if not math.isfinite(never):
        return "?"
    middle = f"{median:g}" if math.isfinite(median) else f"> {int(line.curves.budgets[-1])}"
    return f"{mean:.2f} / {middle} / {never:.0%}"


def _facts(study: PolicyStudy, names: dict[str, str]) -> str:
    """What each policy saw and knew, and how its curves were made: unlike is not ranked with unlike."""
    lines = ["what a policy sees while it runs / knows beforehand; how its curves were made"]
    for name, line in study.lines.items():
        made = line.curves.provenance.get("form") or line.curves.provenance.get("engine") or "?"
        text = f"{names[name]}: {line.sees} / {line.knows}; {made}"
        lines += wrapped(text, COLUMNS, indent="    ", first="  ")
    kinds = {(line.sees, line.knows) for line in study.lines.values()}
    if len(kinds) > 1:
        lines += wrapped(
            "! these policies do not see and know the same: a difference between two of them is also a "
            "difference in what they were told",
            COLUMNS,
            indent="  ",
        )
    return "\n".join(lines)


def _told(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"


def write_policy_curves(study: PolicyStudy, path: pathlib.Path, by_input: bool = False) -> None:
    """Write the curves as CSV: a line for each policy and budget, means over inputs, or input by input."""
    rows = []
    for name, line in study.lines.items():
        curves = line.curves if by_input else line.curves.mean()
        table = curves.columns()
        columns = {
            key: table[key].tolist() for key in ("input", "declared", "k", *PER_BUDGET) if key in table
        }
        for values in zip(*columns.values(), strict=True):
            rows.append({"policy": name, **dict(zip(columns, values, strict=True))})
    header = list(dict.fromkeys(key for row in rows for key in row))
    write_csv(path, header, ([cell(row.get(name, "")) for name in header] for row in rows))
