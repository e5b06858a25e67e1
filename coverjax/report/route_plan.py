"""An execution plan as rows that a runner fills in, and as a document."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from coverjax._version import __version__
from coverjax.report.plain import to_json, write_csv, write_json
from coverjax.report.route_summary import plan_document
from coverjax.routing.planning import ESTIMANDS, ExecutionPlan, NextRows
from coverjax.routing.sampling import SamplingPlan
from coverjax.routing.sealing import Seal
from coverjax.routing.studies import RoutingStudy
from coverjax.routing.tables import OutcomeTable


@dataclasses.dataclass(frozen=True, eq=False)
class PlanReport:
    """What `coverjax route plan` found.

    Attributes:
        study: the study.
        rows: by plan, the rows that are left to execute, cut to the cap where there is one.
        complete_rows: by plan, how many rows are left without the cap.
        following: rows to run next, where something was executed.
        sample: rows drawn at random, for sampled coverage.
        seal: hash that the rows shall carry, "" without a seal.
        document: everything as plain values.
    """

    study: RoutingStudy
    rows: dict[str, np.ndarray]
    complete_rows: dict[str, int]
    following: NextRows | None
    sample: SamplingPlan | None
    seal: str
    document: dict[str, Any]

    def json_text(self) -> str:
        """Return the document as JSON text."""
        return to_json(self.document)

    def cap_text(self, unit: str) -> str:
        """Say what a cost cap affords of each plan."""
        cap = self.document["cap"]
        lines = [f"\nwithin {cap:,.6g} {unit}, whole tasks by width removed per cost; the rest stays a set:"]
        for name, rows in self.rows.items():
            lines.append(f"  {name}: {len(rows):,} of {self.complete_rows[name]:,} rows left")
        return "\n".join(lines) + "\n"


def plan_report(
    plan: ExecutionPlan,
    study: RoutingStudy,
    costs: np.ndarray,
    cap: float | None,
    table: OutcomeTable | None,
    following: NextRows | None,
    sample: SamplingPlan | None,
    seal: Seal | None,
    *,
    command: str,
    files: Sequence[dict[str, Any]],
) -> PlanReport:
    """Put a plan together: what is left of each part of it, cut to the cap."""
    executed = np.zeros(plan.shape, bool) if table is None else table.executed
    left = {name: plan.remaining(name, executed) for name in ESTIMANDS}
    rows = left if cap is None else {name: plan.within(name, costs, cap, executed) for name in ESTIMANDS}
    plans = plan_document(plan, executed)
    for name in ESTIMANDS:
        plans[name]["cost"] = plan.cost(name, costs)
        plans[name]["cost_remaining"] = plan.cost(name, costs, executed)
        plans[name]["rows_within_cap"] = len(rows[name])
    document: dict[str, Any] = {
        "coverjax": __version__,
        "verb": "route plan",
        "command": command,
        "files": [dict(facts) for facts in files],
        "study": study.contract.name,
        "stack": study.contract.stack,
        "seal": None if seal is None else seal.digest,
        "seed": study.contract.coverage.seed,
        "tasks": plan.shape[0],
        "teams": plan.shape[1],
        "executed_rows": int(executed.sum()),
        "cap": cap,
        "plans": plans,
    }
    if following is not None:
        document["next"] = {
            "rows": len(following.rows),
            "settled_tasks": len(following.settled),
            "open_width": following.open_width,
        }
    if sample is not None:
        document["sample"] = {
            "rows": int(sample.drawn.sum()),
            "rows_remaining": int((sample.drawn & ~executed).sum()),
            "cohort_tasks": int(sample.cohort.sum()),
            "seed": sample.seed,
        }
    counts = {name: len(found) for name, found in left.items()}
    return PlanReport(study, rows, counts, following, sample, "" if seal is None else seal.digest, document)


def plan_files(report: PlanReport, folder: pathlib.Path) -> list[str]:
    """Write the rows of every plan as CSV, ready for a score beside them, and plan.json; return the names."""
    names = []
    for name, rows in report.rows.items():
        _write(report, rows, folder / f"{name}.csv")
        names.append(f"{name}.csv")
    if report.following is not None:
        removable = [repr(value) for value in report.following.removable.tolist()]
        _write(report, report.following.rows, folder / "next.csv", {"removable_width": removable})
        names.append("next.csv")
    if report.sample is not None:
        rows = np.argwhere(report.sample.drawn)
        chance = [repr(value) for value in report.sample.inclusion[tuple(rows.T)].tolist()]
        cohort = [str(bool(report.sample.cohort[task])).lower() for task in rows[:, 0]]
        _write(report, rows, folder / "sample.csv", {"probability": chance, "cohort": cohort})
        names.append("sample.csv")
    write_json(folder / "plan.json", report.document)
    return [*names, "plan.json"]


def _write(
    report: PlanReport, rows: np.ndarray, path: pathlib.Path, more: "dict[str, list[str]] | None" = None
) -> None:
    more = more or {}
    contract, tasks = report.study.contract, report.study.tasks
    assert tasks is not None
    lines = []
    for i, (task, team) in enumerate(rows.tolist()):
        about = [tasks[task], contract.family.names[team], contract.stack, report.seal]
        lines.append([*about, *(column[i] for column in more.values())])
    write_csv(path, ["task", "team", "stack", "seal", *more], lines)
