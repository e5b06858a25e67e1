"""`judge_study`: a sealed study and its outcomes, every router under the name that it may bear."""

import dataclasses
from typing import Any

import numpy as np

from coverjax.routing.answers import Answer
from coverjax.routing.contracts import Contract
from coverjax.routing.crossing import interaction
from coverjax.routing.evaluation import TableResult, evaluate_table
from coverjax.routing.planning import ExecutionPlan, plan
from coverjax.routing.sampling import SamplingPlan, sample_rows
from coverjax.routing.sealing import Seal, Standing, standings
from coverjax.routing.studies import RoutingStudy, need_routers
from coverjax.routing.tables import OutcomeTable, OutcomeTables


@dataclasses.dataclass(frozen=True, eq=False)
class Interaction:
    """Two routers crossed with two downstream stacks.

    Attributes:
        a, b: names with labels.
        stacks: the study's own stack and the other.
        first, second, interaction: the contrast a - b under each, and their difference.
    """

    a: str
    b: str
    stacks: tuple[str, str]
    first: Answer
    second: Answer
    interaction: Answer


@dataclasses.dataclass(frozen=True, eq=False)
class StudyResult:
    """What a study found.

    Attributes:
        study: the study.
        standings: of each router, by its plain name.
        names: plain name -> name with labels, which tables and figures show.
        seal: hash of the seal, None without one.
        endpoints: results under the study's own stack by endpoint, the deciding one first.
        interactions: for crossed stacks.
        plan: which rows identify what.
        sample: the design of sampled coverage, None for others.
        merged: rows that repeated others and were merged.
        warnings: what a reader must know.
    """

    study: RoutingStudy
    standings: dict[str, Standing]
    names: dict[str, str]
    seal: str | None
    endpoints: dict[str, TableResult]
    interactions: tuple[Interaction, ...]
    plan: ExecutionPlan
    sample: SamplingPlan | None
    merged: int
    warnings: tuple[str, ...]

    @property
    def main(self) -> TableResult:
        """The result that decides."""
        return next(iter(self.endpoints.values()))


def study_sample(contract: Contract, legal: np.ndarray, routes: "dict[str, Any]") -> SamplingPlan | None:
    """Return the rows that a contract with sampled coverage draws, the same each time; None for other
    coverage."""
    coverage = contract.coverage
    if coverage.kind != "sampled":
        return None
    always = np.zeros(legal.shape, bool)
    if coverage.always and routes:
        always[tuple(plan(routes, legal).value.T)] = True
    return sample_rows(
        legal,
        size=coverage.size,
        probability=coverage.probability,
        always=always,
        cohort=coverage.cohort,
        seed=coverage.seed,
    )


def judge_study(study: RoutingStudy, outcomes: OutcomeTables, seal: Seal | None) -> StudyResult:
    """Evaluate the frozen routers of a study on its outcomes.

    Args:
        study: contract and routes as they are now.
        outcomes: as `study.read_outcomes` reads them.
        seal: what was sealed; None makes every router retrospective.

    Raises:
        InputError: no router, no outcomes under the contract's stack, several endpoints and none that
            decides.
    """
    need_routers(study)
    contract = study.contract
    assert study.legal is not None
    main = _main_table(contract, outcomes)
    carried: dict[str, int] = {}
    for table in outcomes.tables.values():
        for name, count in table.seals.items():
            carried[name] = carried.get(name, 0) + count
    found, general = standings(study, seal, carried)
    names = {name: standing.named(name) for name, standing in found.items()}
    routes = {names[name]: route for name, route in study.routes.items()}
    sample = study_sample(contract, study.legal, study.routes)
    tables = {main.endpoint: main} | {
        endpoint: table for (stack, endpoint), table in outcomes.tables.items() if stack == main.stack
    }
    endpoints = {
        endpoint: evaluate_table(table, routes, contract.inference, sample)
        for endpoint, table in tables.items()
    }
    execution = plan(study.routes, study.legal)
    return StudyResult(
        study=study,
        standings=found,
        names=names,
        seal=None if seal is None else seal.digest,
        endpoints=endpoints,
        interactions=_interactions(contract, outcomes, main, routes),
        plan=execution,
        sample=sample,
        merged=outcomes.merged,
        warnings=(
            *general,
            *_coverage_lines(contract, main, execution, sample),
            *endpoints[main.endpoint].warnings,
        ),
    )


def _main_table(contract: Contract, outcomes: OutcomeTables) -> OutcomeTable:
    stack = contract.stack if contract.stack in outcomes.stacks else ""
    # Rows without a `stack` column are taken to be of the contract's own.
    return outcomes.table(stack, contract.endpoint)


def _interactions(
    contract: Contract, outcomes: OutcomeTables, main: OutcomeTable, routes: dict[str, np.ndarray]
) -> tuple[Interaction, ...]:
    names = list(routes)
    found = []
    for other in contract.crossed:
        if (other, main.endpoint) not in outcomes.tables:
            continue
        table = outcomes.tables[other, main.endpoint]
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                first, second, both = interaction([main, table], routes[a], routes[b], contract.inference)
                found.append(Interaction(a, b, (main.stack, other), first, second, both))
    return tuple(found)


def _coverage_lines(
    contract: Contract, table: OutcomeTable, execution: ExecutionPlan, sample: SamplingPlan | None
) -> list[str]:
    """Say where less was executed than the contract promises."""
    kind = contract.coverage.kind
    if sample is not None:
        missing, promised = int((sample.drawn & ~table.executed).sum()), int(sample.drawn.sum())
    else:
        estimand = "complete" if kind == "complete" else "value"
        missing, promised = len(execution.remaining(estimand, table.executed)), len(execution.rows(estimand))
    if not missing:
        return []
    return [f"the contract promises {kind} coverage: {missing:,} of its {promised:,} rows were not executed"]
