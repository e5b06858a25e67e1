"""A contract together with the files that it names: tasks, legal teams, frozen routes."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from coverjax.foundation.checks import InputError, file_error, listed
from coverjax.logs.files import facts
from coverjax.routing.assembling import read_outcomes
from coverjax.routing.contracts import Contract
from coverjax.routing.side_files import RouteFile, read_pairs, read_routes
from coverjax.routing.tables import OutcomeTables


@dataclasses.dataclass(frozen=True, eq=False)
class RoutingStudy:
    """What was fixed before any outcome, read and checked.

    Attributes:
        contract: its contract.
        tasks: names of all tasks; None where neither a tasks file nor a router names them.
        legal: the legal family of each task [tasks, teams]; None with the tasks.
        clusters: family of each task, where the tasks file gives it.
        only, unavailable: legality as the contract's files say it.
        routes: team numbers of each router [tasks].
        route_files: the file of each router.
        files: facts of every file read, the contract's own first.
    """

    contract: Contract
    tasks: tuple[str, ...] | None
    legal: "Bool[np.ndarray, 'tasks teams'] | None"
    clusters: dict[str, str] | None
    only: dict[str, list[str]] | None
    unavailable: dict[str, list[str]] | None
    routes: "dict[str, Int[np.ndarray, ' tasks']]"
    route_files: dict[str, RouteFile]
    files: tuple[dict[str, Any], ...]

    def read_outcomes(self, paths: Any) -> OutcomeTables:
        """Read outcome files under this contract: its teams, tasks, bounds and rule for failed runs.

        Raises:
            InputError: a row breaks the contract, the rows mix in a downstream stack that the contract does
                not name, or they say another kind of evidence.
        """
        contract = self.contract
        found = read_outcomes(
            paths,
            contract.family,
            low=contract.low,
            high=contract.high,
            failed=contract.failed,
            tasks=self.tasks,
            only=self.only,
            unavailable=self.unavailable,
            clusters=self.clusters,
        )
        where = found.provenance["files"][0]["path"]
        stacks = [stack for stack in found.stacks if stack]
        strange = [stack for stack in stacks if stack not in (contract.stack, *contract.crossed)]
        if strange:
            raise file_error(
                where,
                None,
                "stack",
                f"must be {contract.stack!r}, the contract's downstream stack; rows of {listed(strange)} "
                "are mixed in: a "
                "difference between routers would then be one between stacks (name other stacks as "
                "stack.crossed to "
                "cross them)",
            )
        if found.evidence and found.evidence != contract.evidence:
            raise file_error(
                where,
                None,
                "evidence",
                f"rows are {found.evidence}, the contract is about {contract.evidence}: kinds of evidence "
                "are never "
                "pooled",
            )
        return found


def load_study(contract: Contract) -> RoutingStudy:
    """Read the files that a contract names and check them against each other.

    Raises:
        InputError: a route file with other tasks than the rest, a route that is not legal on its task, or a
            file that can't be read; with its place.
    """
    files = [facts(contract.path), *(facts(path) for path in contract.files.values())]
    clusters, tasks = _tasks(contract)
    only = _grouped(contract.files.get("legal"), "team")
    unavailable = _grouped(contract.files.get("unavailable"), "worker")
    route_files = {
        entry.name: read_routes(contract.beside(entry.file), contract.family) for entry in contract.routers
    }
    if tasks is None and route_files:
        tasks = next(iter(route_files.values())).tasks
    files += [facts(file.path) for file in route_files.values()]
    routes, legal = {}, None
    if tasks is not None:
        try:
            legal = contract.family.legal(tasks, only=only, unavailable=unavailable)
        except InputError as error:
            path = contract.files["unavailable" if str(error).startswith("unavailable") else "legal"]
            raise file_error(path, None, None, str(error)) from None
        routes = {name: _aligned(file, tasks, legal, contract) for name, file in route_files.items()}
    return RoutingStudy(
        contract, tasks, legal, clusters, only, unavailable, routes, route_files, tuple(files)
    )


def _tasks(contract: Contract) -> tuple[dict[str, str] | None, tuple[str, ...] | None]:
    path = contract.files.get("tasks")
    if path is None:
        return None, None
    columns = read_pairs(path, ("task", "family?"))
    names = [str(name) for name in columns["task"]]
    if len(set(names)) < len(names):
        raise file_error(path, None, "task", "must name each task once")
    families = columns["family"]
    known = {n: f for n, f in zip(names, families, strict=True) if f is not None}
    return known or None, tuple(names)


def _grouped(path: str | None, column: str) -> dict[str, list[str]] | None:
    if path is None:
        return None
    columns = read_pairs(path, ("task", column))
    found: dict[str, list[str]] = {}
    for task, value in zip(columns["task"], columns[column], strict=True):
        found.setdefault(str(task), []).append(str(value))
    return found


def _aligned(
    file: RouteFile, tasks: tuple[str, ...], legal: np.ndarray, contract: Contract
) -> Int[np.ndarray, " tasks"]:
    """The routes of a file in the order of the tasks; every task must be there and every route be legal."""
    place = {name: i for i, name in enumerate(tasks)}
    strange = [name for name in file.tasks if name not in place]
    missing = sorted(set(tasks) - set(file.tasks))
    if strange:
        raise file.fault(
            strange[0], "task", f"must be one of the {len(tasks)} tasks of the study; got {strange[0]!r}"
        )
    if missing:
        why = (
            f"must route every task of the study; lacks {listed(missing)}: to abstain, route to a legal team"
        )
        raise file_error(file.path, None, "task", why)
    rows = np.array([place[name] for name in file.tasks])
    routes = np.empty(len(tasks), dtype=np.int64)
    routes[rows] = file.routes
    illegal = ~legal[rows, file.routes]
    if illegal.any():
        at = int(illegal.argmax())
        team = contract.family.names[int(file.routes[at])]
        raise file.fault(
            file.tasks[at], "team", f"must be legal on its task; {team!r} is not on {file.tasks[at]!r}"
        )
    return routes


def need_routers(study: RoutingStudy) -> None:
    """Raise unless the contract names at least one router."""
    if not study.routes:
        raise InputError(
            f"{study.contract.path}: routers: must name at least one router in [[routers]]; got none"
        )
