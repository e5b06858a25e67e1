"""Teams of workers as bit masks, and which of them are legal on which task."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from coverjax.foundation.checks import InputError, listed, shown

MOST_WORKERS = 62
"""A team is the bits of one int64."""

MOST_TEAMS = 1 << 22

JOIN = "|"


@dataclasses.dataclass(frozen=True, eq=False)
class TeamFamily:
    """The teams that a router may choose among.

    Attributes:
        workers: distinct names.
        masks: workers of each team as bits, distinct [teams].
        names: a distinct name for each team; its workers joined by "|" unless given.
    """

    workers: tuple[str, ...]
    masks: Int[np.ndarray, " teams"]
    names: tuple[str, ...]

    @classmethod
    def of_sizes(cls, workers: Sequence[str], sizes: "Iterable[int | str]") -> "TeamFamily":
        """Return all teams of the given sizes, "all" being everybody: by size, then in order of the workers.

        >>> TeamFamily.of_sizes(["a", "b", "c"], [1, 2, "all"]).names
        ('a', 'b', 'c', 'a|b', 'a|c', 'b|c', 'a|b|c')
        """
        names = checked_workers(workers)
        teams: list[tuple[int, ...]] = []
        for size in sizes:
            number = len(names) if size == "all" else size
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(names):
                raise InputError(
                    f"teams: a size must be a whole number from 1 to {len(names)}, or all; got {shown(size)}"
                )
            if len(teams) + math.comb(len(names), number) > MOST_TEAMS:
                raise InputError(f"teams: more than {MOST_TEAMS:,} teams of {number} of {len(names)} workers")
            teams += list(itertools.combinations(range(len(names)), number))
        return cls._of(names, list(dict.fromkeys(teams)), None)

    @classmethod
    def of_teams(
        cls, workers: Sequence[str], teams: "Mapping[str, Sequence[str]] | Sequence[Sequence[str]]"
    ) -> "TeamFamily":
        """Return an explicit list of teams, or a mapping from a team's name to its workers."""
        names = checked_workers(workers)
        place = {name: i for i, name in enumerate(names)}
        given = list(teams.values()) if isinstance(teams, Mapping) else list(teams)
        members = []
        for team in given:
            stranger = [worker for worker in team if worker not in place]
            if stranger or isinstance(team, str) or not len(team) or len(set(team)) < len(team):
                raise InputError(
                    f"teams: each must list one or more different workers out of {listed(names)}; got "
                    f"{shown(team)}"
                )
            members.append(tuple(sorted(place[worker] for worker in team)))
        if not members or len(set(members)) < len(members):
            raise InputError("teams: must hold at least one team and none twice")
        return cls._of(names, members, list(teams) if isinstance(teams, Mapping) else None)

    @classmethod
    def _of(
        cls, workers: tuple[str, ...], members: Sequence[tuple[int, ...]], names: "Sequence[str] | None"
    ) -> "TeamFamily":
        masks = np.array([sum(1 << worker for worker in team) for team in members], dtype=np.int64)
        if names is None:
            names = [JOIN.join(workers[worker] for worker in team) for team in members]
        return cls(workers, masks, tuple(map(str, names)))

    @property
    def teams(self) -> int:
        """Number of teams."""
        return len(self.masks)

    @property
    def membership(self) -> Bool[np.ndarray, "teams workers"]:
        """Which workers each team holds."""
        return (self.masks[:, None] >> np.arange(len(self.workers)) & 1).astype(bool)

    @property
    def sizes(self) -> Int[np.ndarray, " teams"]:
        """Number of workers of each team."""
        return self.membership.sum(axis=1)

    def index(self, team: "str | Iterable[str]") -> int | None:
        """Return the number of a team, given by its name or by its workers in any order; None if it is not
        here."""
        lookup = self._lookup()
        if isinstance(team, str) and team in lookup[0]:
            return lookup[0][team]
        parts = [part.strip() for part in team.split(JOIN)] if isinstance(team, str) else list(team)
        if any(part not in lookup[1] for part in parts) or len(set(parts)) < len(parts):
            return None
        return lookup[2].get(sum(1 << lookup[1][part] for part in parts))

    def _lookup(self) -> tuple[dict[str, int], dict[str, int], dict[int, int]]:
        found = self.__dict__.get("_places")
        if found is None:
            found = (
                {name: i for i, name in enumerate(self.names)},
                {name: i for i, name in enumerate(self.workers)},
                {mask: i for i, mask in enumerate(self.masks.tolist())},
            )
            self.__dict__["_places"] = found
        return found

    def legal(
        self,
        tasks: Sequence[Any],
        *,
        only: "Mapping[Any, Iterable[Any]] | None" = None,
        unavailable: "Mapping[Any, Iterable[str]] | None" = None,
    ) -> Bool[np.ndarray, "tasks teams"]:
        """Return which teams are legal on which task.

        Args:
            tasks: names of the tasks.
            only: for some tasks the teams that are legal there (names or workers); elsewhere all are.
            unavailable: for some tasks the workers that can't be in a team.

        Raises:
            InputError: an unknown task, team or worker, or a task left without a legal team.
        """
        place = {name: row for row, name in enumerate(tasks)}
        mask = np.ones((len(tasks), self.teams), bool)
        for task, teams in (only or {}).items():
            row = _known("only", task, place)
            mask[row] = False
            for team in teams:
                number = self.index(team)
                if number is None:
                    raise InputError(f"only: {shown(team)} of task {shown(task)} is no team of the family")
                mask[row, number] = True
        worker = {name: i for i, name in enumerate(self.workers)}
        for task, missing in (unavailable or {}).items():
            row = _known("unavailable", task, place)
            gone = sum(1 << _known("unavailable", name, worker) for name in set(missing))
            mask[row] &= (self.masks & gone) == 0
        empty = ~mask.any(axis=1)
        if empty.any():
            raise InputError(
                f"legal: every task needs at least one legal team; {shown(tasks[int(empty.argmax())])} has "
                "none"
            )
        return mask


def checked_workers(workers: Sequence[str]) -> tuple[str, ...]:
    """Return the names of workers as distinct, filled texts without the sign that joins them, else raise."""
    names = tuple(workers)
    wrong = [name for name in names if not isinstance(name, str) or not name.strip() or JOIN in name]
    if not names or wrong or len(set(names)) < len(names):
        raise InputError(
            f"workers: must be one or more different names, none empty and none with {JOIN!r} in it; got "
            f"{shown(list(names))}"
        )
    if len(names) > MOST_WORKERS:
        raise InputError(f"workers: at most {MOST_WORKERS}; got {len(names)}")
    return names


def _known(what: str, name: Any, place: Mapping[Any, int]) -> int:
    if name not in place:
        raise InputError(f"{what}: {shown(name)} is unknown; known are {listed(place)}")
    return place[name]
