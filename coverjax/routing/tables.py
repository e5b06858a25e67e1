"""What teams scored on tasks: the outcome table of one downstream stack and endpoint."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError, input_ids, listed, shown
from coverjax.routing.checking import Outcomes, checked_outcomes
from coverjax.routing.teams import TeamFamily


@dataclasses.dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Scores of teams on tasks under one downstream stack and for one endpoint.

    Attributes:
        tasks: names of the tasks, distinct, object [tasks].
        family: the teams.
        outcomes: scores where known, the legal family, the bounds.
        costs: cost of each executed cell, NaN where none was given [tasks, teams]; None without costs.
        failed: executed cells whose run failed (some replicate, at least): scored by the contract's rule
            [tasks, teams].
        replicates: runs behind each cell; a score is their mean [tasks, teams].
        clusters: family of each task, object [tasks]; None where there is none.
        stack: the downstream stack of every row.
        endpoint: what the score measures.
        seals: number of executed rows by the seal they carry, "" for none.
        illegal_rows: executed rows of teams that are not legal on their task; they count for nothing.
        provenance: plain facts about where the rows come from.
    """

    tasks: np.ndarray
    family: TeamFamily
    outcomes: Outcomes
    costs: "Float[np.ndarray, 'tasks teams'] | None"
    failed: Bool[np.ndarray, "tasks teams"]
    replicates: Int[np.ndarray, "tasks teams"]
    clusters: "np.ndarray | None"
    stack: str
    endpoint: str
    seals: dict[str, int]
    illegal_rows: int
    provenance: dict[str, Any]

    @classmethod
    def from_arrays(
        cls,
        scores: Any,
        executed: Any = None,
        legal: Any = None,
        *,
        family: TeamFamily | None = None,
        low: float = 0.0,
        high: float = 1.0,
        costs: Any = None,
        failed: Any = None,
        replicates: Any = None,
        clusters: "Sequence[Any] | None" = None,
        tasks: "Sequence[Any] | None" = None,
        stack: str = "",
        endpoint: str = "score",
        seals: "Mapping[str, int] | None" = None,
        provenance: "Mapping[str, Any] | None" = None,
    ) -> "OutcomeTable":
        """Make a table of arrays [tasks, teams].

        Args:
            scores: the score of each cell; NaN where it was not run, unless `executed` says so.
            executed: which cells were run; where the score is a number when None.
            legal: which teams are legal on which task; all when None.
            family: the teams; unnamed single workers when None.
            low, high: the bounds that every score has by its definition.
            costs, failed, replicates, clusters, tasks, stack, endpoint, seals, provenance: as in the
                attributes.

        Raises:
            InputError: shapes that differ, scores outside their bounds, a task without a legal team.
        """
        y = np.asarray(scores, dtype=np.float64)
        run = ~np.isnan(y) if executed is None else np.asarray(executed)
        outcomes = checked_outcomes(y, run, legal, low, high)
        if family is None:
            family = TeamFamily.of_sizes([str(i) for i in range(y.shape[1])], [1])
        if family.teams != y.shape[1]:
            raise InputError(f"family: must have the {y.shape[1]} teams of the scores; it has {family.teams}")
        labels = None if clusters is None else np.array([*clusters, None], dtype=object)[:-1]
        if labels is not None and len(labels) != len(y):
            raise InputError(
                f"clusters: must give one label for each of the {len(y)} tasks; got {len(labels)}"
            )
        price = None if costs is None else np.where(run, _shaped("costs", costs, y.shape), np.nan)
        if price is not None and not (np.isnan(price) | (np.isfinite(price) & (price >= 0.0))).all():
            raise InputError("costs: must be finite and at least 0 where they are given")
        return cls(
            tasks=input_ids(tasks, len(y)),
            family=family,
            outcomes=outcomes,
            costs=price,
            failed=np.zeros(y.shape, bool) if failed is None else _shaped("failed", failed, y.shape, bool),
            replicates=run.astype(np.int64)
            if replicates is None
            else _shaped("replicates", replicates, y.shape, np.int64),
            clusters=labels,
            stack=stack,
            endpoint=endpoint,
            seals=dict(seals) if seals is not None else {"": int(run.sum())},
            illegal_rows=int((run & ~outcomes.legal).sum()),
            provenance=dict(provenance or {}),
        )

    @property
    def executed(self) -> Bool[np.ndarray, "tasks teams"]:
        """Legal cells that were run [tasks, teams]."""
        return self.outcomes.known

    @property
    def legal(self) -> Bool[np.ndarray, "tasks teams"]:
        """The legal family of each task [tasks, teams]."""
        return self.outcomes.legal

    def routes(self, chosen: Mapping[Any, Any]) -> Int[np.ndarray, " tasks"]:
        """Return a router's choice, a mapping from task to team (name or workers), as team numbers [tasks].

        Raises:
            InputError: a task of the table without a choice, an unknown task, or a team outside the family.
        """
        known = set(self.tasks.tolist())
        missing = [task for task in self.tasks.tolist() if task not in chosen]
        strange = [task for task in chosen if task not in known]
        if missing or strange:
            what, names = ("lacks the tasks", missing) if missing else ("holds unknown tasks", strange)
            raise InputError(f"routes: must name a team for each task of the table; {what} {listed(names)}")
        numbers = [self.family.index(chosen[task]) for task in self.tasks.tolist()]
        if None in numbers:
            task = self.tasks[numbers.index(None)]
            raise InputError(f"routes: {shown(chosen[task])} of task {shown(task)} is no team of the family")
        return np.array(numbers, dtype=np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class OutcomeTables:
    """Tables of the same tasks and teams, one for each downstream stack and endpoint.

    Attributes:
        tables: by (stack, endpoint).
        merged: rows that repeated another row in every value and were merged with it.
        evidence: the kind of evidence that the rows name, "" where they name none.
        provenance: plain facts about the files.
    """

    tables: dict[tuple[str, str], OutcomeTable]
    merged: int = 0
    evidence: str = ""
    provenance: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def stacks(self) -> tuple[str, ...]:
        """Downstream stacks, in order of first appearance."""
        return tuple(dict.fromkeys(stack for stack, _ in self.tables))

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Endpoints, in order of first appearance."""
        return tuple(dict.fromkeys(endpoint for _, endpoint in self.tables))

    def table(self, stack: str | None = None, endpoint: str | None = None) -> OutcomeTable:
        """Return one table; stack and endpoint may be left out where there is only one.

        Raises:
            InputError: no such table, or several stacks or endpoints and none named: scores under different
                downstream stacks are never put into one table.
        """
        if stack is None and len(self.stacks) > 1:
            raise InputError(
                f"stack: the rows mix the downstream stacks {listed(self.stacks)}; a difference between "
                "routers "
                "would then be one between stacks: evaluate one at a time, or cross them (router by stack)"
            )
        if endpoint is None and len(self.endpoints) > 1:
            raise InputError(f"endpoint: the rows hold the endpoints {listed(self.endpoints)}; name one")
        key = (
            self.stacks[0] if stack is None else stack,
            self.endpoints[0] if endpoint is None else endpoint,
        )
        if key not in self.tables:
            known = listed(f"{stack!r}/{endpoint!r}" for stack, endpoint in self.tables)
            raise InputError(f"stack, endpoint: no rows for {key[0]!r}/{key[1]!r}; there are {known}")
        return self.tables[key]


def _shaped(name: str, values: Any, shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    array = np.asarray(values, dtype=dtype)
    if array.shape != shape:
        raise InputError(f"{name}: must be [tasks, teams], {shape}; got shape {array.shape}")
    return array
