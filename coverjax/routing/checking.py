"""Checks of routing arrays, on the host, once, at the edge: every kernel below takes them as given."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError, shown


@dataclasses.dataclass(frozen=True, eq=False)
class Outcomes:
    """Checked outcomes of a table: what is known of y[task, team].

    Attributes:
        scores: y where it is known, NaN elsewhere [tasks, teams].
        known: executed and legal [tasks, teams]; an illegal team that was run counts for nothing.
        legal: the legal family of each task [tasks, teams].
        low, high: L and U, the bounds of every score.
        best: m_x, the largest known score of a task; -inf where nothing is known [tasks].
        missing: number of legal teams that were not executed [tasks].
    """

    scores: Float[np.ndarray, "tasks teams"]
    known: Bool[np.ndarray, "tasks teams"]
    legal: Bool[np.ndarray, "tasks teams"]
    low: float
    high: float
    best: Float[np.ndarray, " tasks"]
    missing: Int[np.ndarray, " tasks"]

    @property
    def complete(self) -> Bool[np.ndarray, " tasks"]:
        """Tasks of which every legal team was executed [tasks]."""
        return self.missing == 0


def checked_outcomes(
    scores: Any, executed: Any, legal: Any = None, low: float = 0.0, high: float = 1.0
) -> Outcomes:
    """Check scores against their mask and bounds.

    Args:
        scores: [tasks, teams]; what stands where `executed` is False is never looked at.
        executed: bool [tasks, teams].
        legal: bool [tasks, teams]; None where every team is legal.
        low, high: the bounds L < U of a score.

    Raises:
        InputError: shapes differ, a task without a legal team, bounds out of order, or an executed score
            that is not finite or lies outside the bounds.
    """
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 2:
        raise InputError(f"scores: must be [tasks, teams]; got shape {y.shape}")
    run = checked_mask("executed", executed, y.shape)
    allowed = np.ones(y.shape, bool) if legal is None else checked_mask("legal", legal, y.shape)
    low, high = float(low), float(high)
    if not (np.isfinite([low, high]).all() and low < high):
        raise InputError(f"low, high: must be finite bounds with low < high; got {low!r} and {high!r}")
    empty = ~allowed.any(axis=1)
    if empty.any():
        raise InputError(
            f"legal: every task needs at least one legal team; task {int(empty.argmax())} has none"
        )
    known = run & allowed
    wrong = run & ~((y >= low) & (y <= high))
    if wrong.any():
        task, team = np.argwhere(wrong)[0]
        raise InputError(
            f"scores: must lie in [{low:g}, {high:g}] where executed; task {task}, team {team} has "
            f"{y[task, team]:g}; a cell that was not run belongs to executed = False"
        )
    y = np.where(known, y, np.nan)
    best = np.where(known, y, -np.inf).max(axis=1, initial=-np.inf)
    return Outcomes(y, known, allowed, low, high, best, (allowed & ~known).sum(axis=1))


def checked_mask(name: str, mask: Any, shape: tuple[int, ...]) -> Bool[np.ndarray, "tasks teams"]:
    """Return a bool array of the shape of the scores, else raise."""
    array = np.asarray(mask)
    if array.dtype != bool:
        raise InputError(f"{name}: must hold True and False; got {array.dtype}")
    if array.shape != shape:
        raise InputError(
            f"{name}: must be [tasks, teams] as the others are, {shape}; got shape {array.shape}"
        )
    return array


def checked_routes(
    name: str, routes: Any, shape: tuple[int, int], legal: "Bool[np.ndarray, 'tasks teams'] | None" = None
) -> Int[np.ndarray, " tasks"]:
    """Return the team of each task as int64 [tasks]; it must be a team, and legal where `legal` is given."""
    array = np.asarray(routes)
    if not np.issubdtype(array.dtype, np.integer) or array.shape != (shape[0],):
        raise InputError(
            f"{name}: must be one whole number for each of the {shape[0]} tasks; got {array.dtype} of shape "
            f"{array.shape}"
        )
    outside = (array < 0) | (array >= shape[1])
    if outside.any():
        task = int(outside.argmax())
        raise InputError(
            f"{name}: must be teams from 0 to {shape[1] - 1}; task {task} has {shown(array[task].item())}"
        )
    array = array.astype(np.int64)
    if legal is not None:
        illegal = ~legal[np.arange(len(array)), array]
        if illegal.any():
            task = int(illegal.argmax())
            raise InputError(
                f"{name}: must be a legal team of each task; team {array[task]} is outside the family of "
                "task "
                f"{task}"
            )
    return array


def at(values: np.ndarray, routes: Int[np.ndarray, " tasks"]) -> np.ndarray:
    """Return values[x, r(x)], [tasks]."""
    return values[np.arange(len(routes)), routes]
