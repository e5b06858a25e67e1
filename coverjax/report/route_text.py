"""What a routing study found, and what a plan needs, as text for a terminal of 80 columns."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from coverjax._version import __version__
from coverjax.report.text import counted, fit, one_line, width, wrapped
from coverjax.routing.answers import STACK_INTERNAL, Answer
from coverjax.routing.evaluation import ContrastResult, RouterResult, TableResult
from coverjax.routing.judging import StudyResult
from coverjax.routing.planning import ESTIMANDS, WORDS, ExecutionPlan, NextRows
from coverjax.routing.tables import OutcomeTable
from coverjax.routing.teams import TeamFamily

COLUMNS = 80
NAME, CELL = 26, 24
MOST_CONTRASTS = 15
MOST_ROWS = 10


def study_text(result: StudyResult, files: Sequence[dict[str, Any]] = ()) -> str:
    """Return the report of a study."""
    parts = [_heading(result, files)]
    parts += [_table(result, name, found) for name, found in result.endpoints.items()]
    if result.interactions:
        parts.append(_interactions(result))
    parts.append(_standings(result))
    if result.warnings:
        parts.append(
            "\n".join(line for text in result.warnings for line in wrapped(text, COLUMNS, "  ", "! "))
        )
    return "\n\n".join(parts) + "\n"


def _heading(result: StudyResult, files: Sequence[dict[str, Any]]) -> str:
    contract = result.study.contract
    table = result.main.table
    lines = [f"coverjax {__version__}: routing study {one_line(contract.name, 44)!r}"]
    lines += [f"{one_line(f['path'], 56, middle=True)}  sha256 {f['sha256'][:12]}.." for f in files]
    lines.append(f"seal {result.seal[:24]}.." if result.seal else "no seal")
    legal, run = int(table.legal.sum()), int(table.executed.sum())
    lines += wrapped(
        f"downstream stack {one_line(contract.stack)}, evidence {contract.evidence}; "
        f"{counted(len(table.tasks), 'task')} x {counted(table.family.teams, 'team')}, {run:,} of "
        f"{legal:,} legal rows "
        f"executed, {int(table.outcomes.complete.sum()):,} tasks complete (contract: "
        f"{contract.coverage.kind})",
        COLUMNS,
    )
    level = 100 * contract.inference.level
    lines += wrapped(
        f"[low, high]: {level:.4g} % bootstrap over "
        f"{'families' if contract.inference.unit == 'family' else 'tasks'}. "
        "{low .. high}: what the table leaves possible. Absolute regret: the best legal team's score "
        "minus the routed "
        f"one's, under stack {one_line(contract.stack)}: {STACK_INTERNAL}.",
        COLUMNS,
    )
    return "\n".join(lines)


def _table(result: StudyResult, endpoint: str, found: TableResult) -> str:
    contract = result.study.contract
    title = f"endpoint {one_line(endpoint)}"
    if len(result.endpoints) > 1:
        title += " (decides)" if found is result.main else " (beside it)"
    names = {router.name: labelled(router.name, NAME) for router in found.routers}
    lines = [title, fit("", NAME + 2) + fit("value", CELL) + "absolute regret"]
    lines.append(_row("oracle [oracle]", found.oracle))
    if found.constant is not None:
        lines.append(_row(f"always {one_line(found.constant, 18, middle=True)}", found.constant_value))
        lines += wrapped(f"[retrospective]; {found.constant_value.why}", COLUMNS, "    ", "    ")
    for router in found.routers:
        lines += _router(router, contract.inference.criterion)
    lines += _answer_line("headroom, oracle - best constant", found.headroom)
    if found.calibrated is not None:
        c = found.calibrated
        lines += wrapped(
            f"oracle from the sample: best of {c.k} {c.sampled:.3f}, and {c.gap:.3f} more on the cohort of "
            f"{c.cohort}: "
            f"{c.oracle:.3f} (stderr {c.stderr:.3f})",
            COLUMNS,
            "  ",
        )
    lines += wrapped(_best_of(found), COLUMNS, "  ")
    shown = found.contrasts[:MOST_CONTRASTS]
    if shown:
        lines += ["", "paired contrasts"]
        for pair in shown:
            lines += _contrast(pair, names)
    if len(found.contrasts) > len(shown):
        lines.append(f"and {len(found.contrasts) - len(shown)} more: all are in --json")
    return "\n".join(lines)


def _row(label: str, *cells: Answer) -> str:
    text = fit(one_line(label, NAME + 1, middle=True), NAME + 2)
    for answer in cells:
        cell = answer_text(answer)
        text += cell + " " * max(1, CELL - width(cell))
    return text.rstrip()


def labelled(name: str, limit: int) -> str:
    """Cut the name of a router to `limit` characters; its labels in brackets are never cut."""
    plain, bracket, labels = name.partition(" [") if name.endswith("]") else (name, "", "")
    return one_line(plain, limit, middle=True) + bracket + labels


def _router(router: RouterResult, criterion: float | None) -> list[str]:
    name = labelled(router.name, NAME)
    label = ""
    if width(name) > NAME + 1:
        name, _, label = name.partition(" [")
    parts = [f"[{label}"] if label else []
    parts.append(f"team size {router.team_size:.2f}")
    if math.isfinite(router.cost):
        front = "" if router.front is None else " (on the front)" if router.front else " (beaten)"
        parts.append(f"cost {router.cost:.4g}{front}")
    if router.gap_closed.kind == "point":
        parts.append(f"gap closed {answer_text(router.gap_closed)}")
    if criterion is not None:
        parts.append(f"criterion regret <= {criterion:g}: {router.verdict}")
    if router.regret.kind != "point":
        parts.append(f"regret: {router.regret.why}")
        if router.sampled_regret.kind == "point":
            parts.append(f"sampled-action regret {answer_text(router.sampled_regret)}, another estimand")
    if router.design is not None:
        parts.append(_design_text(router.design))
    row = [_row(name, router.value, router.regret)]
    if width(row[0]) > COLUMNS:
        row = [_row(name, router.value), fit("", NAME + 2) + f"absolute regret {answer_text(router.regret)}"]
    return [*row, *wrapped("; ".join(parts), COLUMNS, "    ", "    ")]


def _design_text(design: Any) -> str:
    estimate, interval = design
    low, high = float(interval.low[0]), float(interval.high[0])
    ends = "" if math.isnan(low) else f" [{low:.3f}, {high:.3f}]"
    return (
        f"from the sample: Hajek {estimate.hajek:.3f}{ends}, Horvitz-Thompson "
        f"{estimate.horvitz_thompson:.3f} "
        f"({estimate.drawn} rows)"
    )


def _answer_line(label: str, answer: Answer) -> list[str]:
    reason = "" if answer.kind == "point" else f" ({answer.why})"
    return wrapped(f"{label}: {answer_text(answer)}{reason}", COLUMNS, "  ")


def _best_of(found: TableResult) -> str:
    budgets, values = found.best_of
    if np.isnan(values).all():
        return "expected best of k executed teams: a task has no executed team"
    places = sorted({0, len(budgets) // 4, len(budgets) // 2, len(budgets) - 1})
    points = ", ".join(f"{values[i]:.3f} of {budgets[i]}" for i in places)
    return f"expected best of k executed teams: {points}"


def _contrast(pair: ContrastResult, names: dict[str, str]) -> list[str]:
    parts = [answer_text(pair.difference, sign=True)]
    if pair.counts is not None:
        parts.append("won {} lost {} tied {}".format(*pair.counts))
        if pair.exact is not None:
            parts.append(f"exact [{pair.exact[0]}, {pair.exact[1]}]/{sum(pair.counts)}")
        if math.isfinite(pair.p_value):
            parts.append(f"sign-flip p {pair.p_value:.2g} (Holm {pair.p_holm:.2g})")
    else:
        parts.append(pair.difference.why)
    if pair.design is not None:
        parts.append(_design_text(pair.design))
    return wrapped(f"{names[pair.a]} - {names[pair.b]}: {'; '.join(parts)}", COLUMNS, "    ", "  ")


def _interactions(result: StudyResult) -> str:
    lines = ["router by downstream stack (the only place where stacks are mixed)"]
    for found in result.interactions:
        one, two = (one_line(stack, 16) for stack in found.stacks)
        lines += wrapped(
            f"{labelled(found.a, NAME)} - {labelled(found.b, NAME)}: {answer_text(found.first, sign=True)} "
            f"under {one}, "
            f"{answer_text(found.second, sign=True)} under {two}; interaction "
            f"{answer_text(found.interaction, sign=True)}",
            COLUMNS,
            "    ",
            "  ",
        )
    return "\n".join(lines)


def _standings(result: StudyResult) -> str:
    lines = ["standing"]
    for name, standing in result.standings.items():
        said = "; ".join(standing.lines) or "sealed: the outcome rows carry the seal"
        lines += wrapped(f"{one_line(name, NAME)} ({standing.role}): {said}", COLUMNS, "    ", "  ")
    return "\n".join(lines)


def answer_text(answer: Answer, sign: bool = False) -> str:
    """Return "0.131 [0.08, 0.19]" for a point, "{0.10 .. 0.25}" for a set, "refused" for a refusal."""
    if answer.kind == "refusal":
        return "refused"
    form = "+.3f" if sign else ".3f"
    text = format(answer.low, form)
    if answer.kind == "interval":
        text = f"{{{text} .. {format(answer.high, form)}}}"
    if math.isnan(answer.limit_low):
        return text
    return f"{text} [{format(answer.limit_low, form)}, {format(answer.limit_high, form)}]"


def plan_text(
    plan: ExecutionPlan,
    family: TeamFamily,
    tasks: Sequence[Any],
    costs: np.ndarray,
    table: OutcomeTable | None,
    following: NextRows | None,
    unit: str,
) -> str:
    """Return what each plan needs and tells, what is left of it, and the next rows.

    Args:
        plan: the plan.
        family, tasks: names of teams and tasks.
        costs: of each cell [tasks, teams].
        table: what was executed already, or None.
        following: the rows to run next, where something was executed.
        unit: what a cost counts.
    """
    lines = [
        f"coverjax {__version__}: execution plan, {counted(plan.shape[0], 'task')} x {plan.shape[1]:,} teams"
    ]
    for estimand in ESTIMANDS:
        priced = unit != "rows"
        rows = counted(len(plan.rows(estimand)), "row")
        rows += f", {plan.cost(estimand, costs):,.6g} {unit}" if priced else ""
        if table is not None:
            rows += f"; {len(plan.remaining(estimand, table.executed)):,} left"
            rows += f", {plan.cost(estimand, costs, table.executed):,.6g} {unit}" if priced else ""
        lines += ["", f"{estimand}: {rows}", *wrapped(WORDS[estimand], COLUMNS, "  ", "  ")]
    if following is not None:
        lines += ["", *_following(following, family, tasks, plan.shape[0])]
    return "\n".join(lines) + "\n"


def _following(following: NextRows, family: TeamFamily, tasks: Sequence[Any], total: int) -> list[str]:
    lines = wrapped(
        f"absolute regret so far: sets of mean width {following.open_width:.3f}; "
        f"{len(following.settled):,} of {total:,} "
        "tasks settled (complete, or the routed team at the ceiling). Next rows by width they can remove "
        "per cost, one "
        "a task; run them and plan again:",
        COLUMNS,
    )
    for (task, team), gain in zip(
        following.rows[:MOST_ROWS].tolist(), following.removable[:MOST_ROWS].tolist(), strict=True
    ):
        lines.append(f"  {one_line(tasks[task], 30)}  {one_line(family.names[team], 34)}  {gain:.3f}")
    if len(following.rows) > MOST_ROWS:
        lines.append(f"  and {len(following.rows) - MOST_ROWS:,} more: all are in next.csv (--out)")
    return lines
