"""The contract of a routing study: what is fixed before any outcome exists.

```toml
name = "twelve workers in threes"

[actions]                        # the legal teams
workers = ["ada", "bob", "cy", "dot"]
teams = [3]                      # sizes, with "all"; or lists of workers; or a table name = [workers]
legal = "legal.csv"              # optional: rows task, team; tasks that it names have only these
unavailable = "away.csv"         # optional: rows task, worker

[information]                    # what a router may look at
public = ["card"]
privileged = ["solution"]

[tasks]                          # optional
file = "tasks.csv"               # column task, and optionally family

[stack]                          # the downstream stack that every team is run with
id = "planner-v3"
crossed = ["planner-v4"]         # optional: other stacks, for the router-by-stack analysis only

[scores]
low = 0.0
high = 1.0
failed = 0.0                     # what a failed run scores, or "given"
endpoint = "verified"            # optional: the one that decides; others are shown beside it

[coverage]
kind = "complete"                # or "route_union" (what the routers chose), or "sampled"
# sampled: size = 3 or probability = 0.2, cohort = 50, seed = 0, always = true (routed rows in any case)

[inference]
unit = "task"                    # or "family": clusters
replicates = 10000
seed = 0
level = 0.95
criterion = 0.10                 # optional: the largest acceptable mean absolute regret

[evidence]
kind = "controlled_table"        # or "evidence_transport", or "stochastic_execution"

[[routers]]
name = "frozen"
file = "frozen.csv"              # rows task, team
role = "candidate"               # or "privileged", "oracle", "retrospective"
```
"""

import dataclasses
import os
import pathlib
from typing import Any

from coverjax.foundation.checks import InputError, listed, shown
from coverjax.routing.settings import Section, read_settings
from coverjax.routing.teams import TeamFamily

COVERAGE = ("complete", "route_union", "sampled")
EVIDENCE = ("controlled_table", "evidence_transport", "stochastic_execution")
ROLES = ("candidate", "privileged", "oracle", "retrospective")
UNITS = ("task", "family")


@dataclasses.dataclass(frozen=True)
class RouterEntry:
    """One frozen router: its name, its route file (relative to the contract) and its role.

    A candidate saw public fields only. A privileged comparator saw more; an oracle saw outcomes; a
    retrospective one was made after them. The last three bear their role wherever they are shown.
    """

    name: str
    file: str
    role: str


@dataclasses.dataclass(frozen=True)
class Coverage:
    """Which rows are executed: all, those of the value plan, or a random sample.

    Attributes:
        kind: "complete", "route_union" or "sampled".
        size, probability: how a sample is drawn; see `sample_rows`.
        cohort: tasks of a sample that are fully executed.
        seed: of the sample.
        always: whether routed rows are executed in any case.
    """

    kind: str = "complete"
    size: int | None = None
    probability: float | None = None
    cohort: int = 0
    seed: int = 0
    always: bool = True


@dataclasses.dataclass(frozen=True)
class Inference:
    """How uncertainty over tasks is stated, fixed beforehand.

    Attributes:
        unit: "task", or "family": whole families of tasks are the draws.
        replicates, seed, level: of the bootstrap and of sign flips.
        criterion: the largest acceptable mean absolute regret, None where none was fixed.
    """

    unit: str = "task"
    replicates: int = 10_000
    seed: int = 0
    level: float = 0.95
    criterion: float | None = None


@dataclasses.dataclass(frozen=True)
class Contract:
    """A contract as read from its file.

    Attributes:
        path, sha256: of the file.
        name: of the study.
        family: the teams.
        legal, unavailable, tasks: tables that the contract names, as paths relative to it; None for none.
        public, privileged: names of fields that a router may, and may not, look at.
        stack: id of the downstream stack; `crossed` names others for the interaction analysis.
        low, high: bounds of a score.
        failed: score of a failed run, "given", or None.
        endpoint: the deciding endpoint, None where rows have one only.
        coverage, inference: see there.
        evidence: the kind of evidence.
        routers: the frozen routers.
    """

    path: str
    sha256: str
    name: str
    family: TeamFamily
    legal: str | None
    unavailable: str | None
    tasks: str | None
    public: tuple[str, ...]
    privileged: tuple[str, ...]
    stack: str
    crossed: tuple[str, ...]
    low: float
    high: float
    failed: "float | str | None"
    endpoint: str | None
    coverage: Coverage
    inference: Inference
    evidence: str
    routers: tuple[RouterEntry, ...]

    def beside(self, name: str) -> str:
        """Return the path of a file that the contract names."""
        return str(pathlib.Path(self.path).parent / name)

    @property
    def files(self) -> dict[str, str]:
        """Tables that the contract names, other than route files: what they are -> path."""
        named = {"legal": self.legal, "unavailable": self.unavailable, "tasks": self.tasks}
        return {what: self.beside(name) for what, name in named.items() if name is not None}


def read_contract(path: "str | os.PathLike[str]") -> Contract:
    """Read and check a contract; see the module's own text for its keys.

    Raises:
        InputError: with file, line and key.
    """
    name = os.fspath(path)
    top, digest = read_settings(name)
    sections = {key: top.section_of(key, key in ("actions", "stack", "evidence")) for key in _SECTIONS}
    title = top.text_of("name", pathlib.Path(name).stem)
    routers = _routers(top)
    top.finish()
    contract = Contract(
        path=name,
        sha256=digest,
        name=title,
        routers=routers,
        **_actions(sections["actions"]),
        **_information(sections["information"]),
        tasks=sections["tasks"].text_of("file", None),
        **_stack(sections["stack"]),
        **_scores(sections["scores"]),
        coverage=_coverage(sections["coverage"]),
        inference=_inference(sections["inference"]),
        evidence=sections["evidence"].word("kind", EVIDENCE),
    )
    for section in sections.values():
        section.finish()
    return contract


_SECTIONS = ("actions", "information", "tasks", "stack", "scores", "coverage", "inference", "evidence")


def _actions(reader: Section) -> dict[str, Any]:
    workers = reader.names("workers", ())
    teams = reader.take("teams", (list, dict), "sizes, lists of workers, or a table of named teams", [1])
    of_sizes = isinstance(teams, list) and all(size == "all" or isinstance(size, int) for size in teams)
    try:
        family = (TeamFamily.of_sizes if of_sizes else TeamFamily.of_teams)(workers, teams)
    except (InputError, TypeError) as error:
        key = "workers" if str(error).startswith("workers") else "teams"
        raise reader.fault(key, str(error).removeprefix(f"{key}: ")) from None
    return {
        "family": family,
        "legal": reader.text_of("legal", None),
        "unavailable": reader.text_of("unavailable", None),
    }


def _information(reader: Section) -> dict[str, Any]:
    public, privileged = reader.names("public"), reader.names("privileged")
    both = set(public) & set(privileged)
    if both:
        raise reader.fault(
            "privileged", f"a field is public or privileged, not both; got {listed(sorted(both))}"
        )
    return {"public": public, "privileged": privileged}


def _stack(reader: Section) -> dict[str, Any]:
    stack, crossed = reader.text_of("id"), reader.names("crossed")
    if stack in crossed:
        raise reader.fault("crossed", f"must name other stacks; {shown(stack)} is the study's own")
    return {"stack": stack, "crossed": crossed}


def _scores(reader: Section) -> dict[str, Any]:
    low, high = reader.number("low", 0.0), reader.number("high", 1.0)
    if not low < high:
        raise reader.fault("high", f"must be above low = {low:g}; got {high:g}")
    failed = reader.take("failed", (int, float, str), 'a number, or "given"', None)
    if isinstance(failed, str):
        if failed != "given":
            raise reader.fault("failed", f'must be a number, or "given"; got {shown(failed)}')
    elif failed is not None and not low <= failed <= high:
        raise reader.fault("failed", f"must lie in [{low:g}, {high:g}] as every score; got {failed:g}")
    return {"low": low, "high": high, "failed": failed, "endpoint": reader.text_of("endpoint", None)}


def _coverage(reader: Section) -> Coverage:
    kind = reader.word("kind", COVERAGE, "complete")
    size, probability = reader.whole("size", 1, None), reader.number("probability", None)
    found = Coverage(
        kind,
        size,
        probability,
        reader.whole("cohort", 0, 0),
        reader.whole("seed", 0, 0),
        reader.take("always", bool, "true or false", True),
    )
    given = (size is not None) + (probability is not None)
    if kind == "sampled" and given != 1:
        raise reader.fault("kind", "a sample needs either size or probability")
    if kind != "sampled" and given:
        key = "size" if size is not None else "probability"
        raise reader.fault(key, f"belongs to sampled coverage; kind is {kind}")
    if probability is not None and not 0.0 < probability <= 1.0:
        raise reader.fault("probability", f"must be above 0 and at most 1; got {probability:g}")
    return found


def _inference(reader: Section) -> Inference:
    found = Inference(
        unit=reader.word("unit", UNITS, "task"),
        replicates=reader.whole("replicates", 1, 10_000),
        seed=reader.whole("seed", 0, 0),
        level=reader.number("level", 0.95),
        criterion=reader.number("criterion", None),
    )
    if not 0.0 < found.level < 1.0:
        raise reader.fault("level", f"must lie strictly between 0 and 1; got {found.level:g}")
    if found.criterion is not None and found.criterion < 0.0:
        raise reader.fault("criterion", f"must be at least 0; got {found.criterion:g}")
    return found


def _routers(top: Section) -> tuple[RouterEntry, ...]:
    tables = top.take("routers", list, "tables [[routers]]", [])
    found: list[RouterEntry] = []
    for table in tables:
        reader = top.within("routers", table)
        if not isinstance(table, dict):
            raise top.fault("routers", "must be tables [[routers]]")
        entry = RouterEntry(
            reader.text_of("name"), reader.text_of("file"), reader.word("role", ROLES, "candidate")
        )
        reader.finish()
        if entry.name in {other.name for other in found}:
            raise reader.fault("name", f"must name each router once; {shown(entry.name)} stands twice")
        found.append(entry)
    return tuple(found)
