"""What a routing study found as a plain document, and as tables to go on with."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from coverjax._version import __version__
from coverjax.report.plain import cell, number, write_csv
from coverjax.routing import regrets
from coverjax.routing.answers import STACK_INTERNAL, Answer
from coverjax.routing.evaluation import ContrastResult, RouterResult, TableResult
from coverjax.routing.judging import StudyResult
from coverjax.routing.planning import WORDS, ExecutionPlan


def study_document(
    result: StudyResult, *, command: str, options: dict[str, Any], files: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return a study's result as plain numbers, text, lists and dicts; a number that does not exist is null.

    Args:
        result: what was found.
        command, options: what was asked, the options with their defaults filled in.
        files: what was read, a dict each with path, sha256 and bytes.
    """
    contract = result.study.contract
    return {
        "coverjax": __version__,
        "verb": "route evaluate",
        "command": command,
        "options": options,
        "seed": contract.inference.seed,
        "files": [dict(facts) for facts in files],
        "study": contract.name,
        "stack": contract.stack,
        "evidence": contract.evidence,
        "coverage": contract.coverage.kind,
        "seal": result.seal,
        "scores": {"low": contract.low, "high": contract.high, "failed": contract.failed},
        "inference": {
            "unit": contract.inference.unit,
            "replicates": contract.inference.replicates,
            "level": contract.inference.level,
            "criterion": contract.inference.criterion,
            "interval": "percentile bootstrap, paired",
        },
        "routers": {
            name: {
                "shown_as": result.names[name],
                "role": standing.role,
                "sealed": standing.sealed,
                "why": list(standing.lines),
            }
            for name, standing in result.standings.items()
        },
        "endpoints": {name: _table(found) for name, found in result.endpoints.items()},
        "interactions": [
            {
                "a": found.a,
                "b": found.b,
                "stacks": list(found.stacks),
                "contrasts": [_answer(found.first), _answer(found.second)],
                "interaction": _answer(found.interaction),
            }
            for found in result.interactions
        ],
        "plan": plan_document(result.plan, result.main.table.executed),
        "merged_rows": result.merged,
        "warnings": list(result.warnings),
    }


def plan_document(plan: ExecutionPlan, executed: np.ndarray) -> dict[str, Any]:
    """Return the plans as counts and words."""
    return {
        name: {
            "rows": len(plan.rows(name)),
            "remaining": len(plan.remaining(name, executed)),
            "identifies": WORDS[name],
        }
        for name in ("contrast", "value", "complete")
    }


def _table(found: TableResult) -> dict[str, Any]:
    table = found.table
    budgets, best = found.best_of
    document: dict[str, Any] = {
        "tasks": len(table.tasks),
        "teams": table.family.teams,
        "legal_rows": int(table.legal.sum()),
        "executed_rows": int(table.executed.sum()),
        "complete_tasks": int(table.outcomes.complete.sum()),
        "failed_rows": int(table.failed.sum()),
        "oracle": _answer(found.oracle),
        "best_constant": {"team": found.constant, **_answer(found.constant_value)},
        "headroom": _answer(found.headroom),
        "best_of_k": {
            "k": budgets.tolist(),
            "mean": [number(value) for value in best.tolist()],
            "tasks_left_out": found.best_of_short,
        },
        "routers": [_router(router) for router in found.routers],
        "contrasts": [_contrast(pair) for pair in found.contrasts],
        "warnings": list(found.warnings),
    }
    if found.calibrated is not None:
        document["calibrated_oracle"] = dataclasses.asdict(found.calibrated)
    return document


def _router(router: RouterResult) -> dict[str, Any]:
    document = {
        "router": router.name,
        "value": _answer(router.value),
        "absolute_regret": {**_answer(router.regret), "meaning": STACK_INTERNAL},
        "sampled_action_regret": {**_answer(router.sampled_regret), "meaning": STACK_INTERNAL},
        "gap_closed": _answer(router.gap_closed),
        "criterion": router.verdict,
        "team_size": router.team_size,
        "cost": number(router.cost),
        "on_cost_quality_front": router.front,
    }
    return document | _design(router.design)


def _contrast(pair: ContrastResult) -> dict[str, Any]:
    document = {
        "a": pair.a,
        "b": pair.b,
        "difference": _answer(pair.difference),
        "differing_tasks": pair.differing,
        "wins_losses_ties": None if pair.counts is None else list(pair.counts),
        "exact_counts": None if pair.exact is None else list(pair.exact),
        "sign_flip_p": number(pair.p_value),
        "sign_flip_p_holm": number(pair.p_holm),
    }
    return document | _design(pair.design)


def _design(design: Any) -> dict[str, Any]:
    if design is None:
        return {}
    estimate, interval = design
    return {
        "design": {
            "horvitz_thompson": number(estimate.horvitz_thompson),
            "horvitz_thompson_stderr": number(estimate.stderr),
            "hajek": number(estimate.hajek),
            "hajek_low": number(float(interval.low[0])),
            "hajek_high": number(float(interval.high[0])),
            "rows": estimate.drawn,
        }
    }


def _answer(answer: Answer) -> dict[str, Any]:
    numbers = {
        "kind": answer.kind,
        "low": number(answer.low),
        "high": number(answer.high),
        "limit_low": number(answer.limit_low),
        "limit_high": number(answer.limit_high),
        "why": answer.why,
    }
    return numbers


def write_routers(result: StudyResult, path: pathlib.Path) -> None:
    """Write one line for each endpoint and router: its answers with their limits. Empty: not a number."""
    quantities = {
        "value": "value",
        "regret": "regret",
        "sampled_regret": "sampled_regret",
        "gap": "gap_closed",
    }
    header = ["endpoint", "router", "role", "sealed", "stack", "criterion", "team_size", "cost"]
    header += [
        f"{q}_{part}" for q in quantities for part in ("kind", "low", "high", "limit_low", "limit_high")
    ]
    plain = {shown: name for name, shown in result.names.items()}
    stack = result.study.contract.stack
    rows = []
    for endpoint, found in result.endpoints.items():
        for router in found.routers:
            standing = result.standings[plain[router.name]]
            row: list[Any] = [endpoint, router.name, standing.role, str(standing.sealed).lower()]
            row += [stack, router.verdict, router.team_size, cell(router.cost)]
            for name in quantities.values():
                answer = getattr(router, name)
                ends = (answer.low, answer.high, answer.limit_low, answer.limit_high)
                row += [answer.kind, *map(cell, ends)]
            rows.append(row)
    write_csv(path, header, rows)


def write_tasks(result: StudyResult, path: pathlib.Path) -> None:
    """Write one line for each task and router: team, score and regret as sets, under the deciding
    endpoint."""
    found = result.main
    table, outcomes = found.table, found.table.outcomes
    oracle = regrets.oracle_bounds(outcomes)
    header = ["task", "family", "router", "team", "value_low", "value_high", "regret_low", "regret_high"]
    header += ["oracle_low", "oracle_high"]
    rows = []
    for router in found.routers:
        values = regrets.value_set(outcomes, router.routes)
        ends = [*values, *regrets.regret_set(outcomes, router.routes), *oracle]
        told = np.stack(ends, axis=1).tolist()
        for task, (team, row) in enumerate(zip(router.routes.tolist(), told, strict=True)):
            family = "" if table.clusters is None else table.clusters[task]
            rows.append([table.tasks[task], family, router.name, table.family.names[team], *map(cell, row)])
    write_csv(path, header, rows)
