"""A routing study as a page: `report.html` of `coverjax route evaluate`."""

from collections.abc import Mapping, Sequence
from typing import Any

from coverjax.report.html import Page, Section, Table, figures_of, isolated, provenance
from coverjax.report.route_text import answer_text
from coverjax.report.text import counted
from coverjax.routing.answers import STACK_INTERNAL, Answer
from coverjax.routing.evaluation import TableResult
from coverjax.routing.judging import StudyResult

TITLES = {
    "regret": "Absolute regret",
    "headroom": "Headroom",
    "execution": "What was executed",
    "cost-quality": "Cost and quality",
}
MEANING = {
    "regret": (
        "For each router: the mean over tasks of what the best legal team scores more than the routed one. A "
        "thick bar is all that the table leaves possible, thin ends are bootstrap limits."
    ),
    "headroom": "Mean scores: routers between the best constant team and the best legal team of each task.",
    "execution": "How many rows each plan needs, and how many of them were executed.",
    "cost-quality": "Mean cost against mean score; a router on the front is beaten by none in both.",
}


def route_page(result: StudyResult, document: Mapping[str, Any], files: Sequence[str]) -> Page:
    """Return the page of a routing study.

    Args:
        result: what was found.
        document: its summary, for where it came from.
        files: what stands beside the page; figures among them are shown.
    """
    drawn = figures_of(TITLES, MEANING, files, lambda stem: _numbers(result, stem))
    tables: list[Table] = []
    for endpoint, found in result.endpoints.items():
        tables += [_routers(endpoint, found), _contrasts(endpoint, found)]
    tables.append(_standings(result))
    contract = result.study.contract
    return Page(
        title=f"Routing study {isolated(contract.name)} under stack {isolated(contract.stack)}",
        answer=_answer(result),
        sections=(drawn, Section("Tables", [table for table in tables if table.rows])),
        cautions=_cautions(result),
        provenance=(*provenance(document), ("seal", result.seal or "none")),
        files=files,
    )


def told(answer: Answer, sign: bool = False) -> str:
    """Return an answer as a cell: a refusal stands as one, its reason is below the table."""
    return answer_text(answer, sign)


def _answer(result: StudyResult) -> list[str]:
    found, contract = result.main, result.study.contract
    level = f"{100 * contract.inference.level:.4g} %"
    routers = [router for router in found.routers if router.regret.kind != "refusal"]
    over = counted(len(found.table.tasks), "task")
    if not routers:
        why = found.routers[0].regret.why if found.routers else "no router"
        first = f"On {over} no regret can be told: {why}."
    else:
        parts = [f"{isolated(router.name)} {answer_text(router.regret)}" for router in routers[:4]]
        first = f"Mean absolute regret on {over}: {', '.join(parts)}."
    return [
        first,
        f"[low, high]: {level} bootstrap over "
        f"{'families' if contract.inference.unit == 'family' else 'tasks'}; {{low .. high}}: all that the "
        f"executed rows leave possible. Regret is what the best legal team of a task scores more than the "
        f"routed one: {STACK_INTERNAL}.",
    ]


def _numbers(result: StudyResult, stem: str) -> Table:
    found = result.main
    if stem == "regret":
        rows: list[list[Any]] = [
            [router.name, told(router.regret), router.verdict] for router in found.routers
        ]
        return Table("Absolute regret", ("router", "regret", "criterion"), rows)
    if stem == "execution":
        plan = result.plan
        executed = found.table.executed
        rows = [
            [name, len(plan.rows(name)), len(plan.remaining(name, executed))]
            for name in ("contrast", "value", "complete")
        ]
        return Table("Rows", ("plan", "rows", "left to execute"), rows)
    if stem == "cost-quality":
        rows = [[router.name, told(router.value), router.cost, router.front] for router in found.routers]
        return Table("Cost and quality", ("router", "value", "cost", "on the front"), rows)
    rows = [[router.name, told(router.value)] for router in found.routers]
    rows += [["best legal team of each task", told(found.oracle)]]
    rows += [[f"always {found.constant}", told(found.constant_value)]] if found.constant is not None else []
    return Table("Values", ("", "value"), rows)


def _routers(endpoint: str, found: TableResult) -> Table:
    rows: list[list[Any]] = [["best legal team of each task", told(found.oracle), "", "", None, None]]
    if found.constant is not None:
        rows.append([f"always {found.constant}", told(found.constant_value), "", "", None, None])
    for router in found.routers:
        cells = (told(router.value), told(router.regret), told(router.gap_closed))
        rows.append([router.name, *cells, router.team_size, router.cost])
    header = ("router", "value", "absolute regret", "gap closed", "team size", "cost")
    whys = dict.fromkeys(router.regret.why for router in found.routers if router.regret.kind != "point")
    note = f"Headroom, best legal team less best constant: {told(found.headroom)}. " + " ".join(
        f"Regret: {why}." for why in whys
    )
    return Table(f"Endpoint {endpoint}", header, rows, note.strip())


def _contrasts(endpoint: str, found: TableResult) -> Table:
    rows = []
    for pair in found.contrasts:
        counts = "" if pair.counts is None else " / ".join(map(str, pair.counts))
        rows.append([pair.a, pair.b, told(pair.difference, True), counts, pair.p_value, pair.p_holm])
    header = ("a", "b", "a - b", "won / lost / tied", "sign-flip p", "Holm")
    return Table(f"Paired contrasts, endpoint {endpoint}", header, rows)


def _standings(result: StudyResult) -> Table:
    rows = []
    for name, standing in result.standings.items():
        said = "; ".join(standing.lines) or "the outcome rows carry the seal"
        rows.append([name, standing.role, standing.sealed, said])
    return Table("Standing of the routers", ("router", "role", "sealed", "why"), rows)


def _cautions(result: StudyResult) -> list[str]:
    lines = [isolated(text, 400) for text in result.warnings]
    lines += [isolated(text, 400) for found in result.endpoints.values() for text in found.warnings]
    lines.append("A row that was not executed is unknown, never 0; a run that failed is a score.")
    lines.append(f"Evidence: {isolated(result.study.contract.evidence)}. {STACK_INTERNAL.capitalize()}.")
    return list(dict.fromkeys(lines))
