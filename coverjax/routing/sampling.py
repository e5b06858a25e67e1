"""Random choices of which teams to execute, with the probabilities that estimation then needs."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError, whole_number
from coverjax.routing.checking import checked_mask, checked_routes


@dataclasses.dataclass(frozen=True, eq=False)
class SamplingPlan:
    """Which rows to execute, drawn at random, and with which probability each was to be drawn.

    Attributes:
        drawn: rows to execute [tasks, teams].
        inclusion: probability of each row, 0 where it is illegal [tasks, teams].
        size: teams drawn without replacement at each task beside the certain ones; -1 where the rows of a
            task are drawn independently of each other [tasks].
        cohort: tasks of which every legal team is executed [tasks]; drawn at random among all tasks.
        certain: rows with probability 1 by decision (routed teams, the cohort) [tasks, teams].
        seed: of the draw.
    """

    drawn: Bool[np.ndarray, "tasks teams"]
    inclusion: Float[np.ndarray, "tasks teams"]
    size: Int[np.ndarray, " tasks"]
    cohort: Bool[np.ndarray, " tasks"]
    certain: Bool[np.ndarray, "tasks teams"]
    seed: int

    def joint(self, routes_a: Any, routes_b: Any) -> Float[np.ndarray, " tasks"]:
        """Return the probability that the rows of two routers are both executed, by task [tasks]."""
        shape = (self.inclusion.shape[0], self.inclusion.shape[1])
        a, b = checked_routes("routes_a", routes_a, shape), checked_routes("routes_b", routes_b, shape)
        tasks = np.arange(shape[0])
        first, second = self.inclusion[tasks, a], self.inclusion[tasks, b]
        either_certain = self.certain[tasks, a] | self.certain[tasks, b]
        pool = np.maximum((self.inclusion > 0.0).sum(axis=1) - self.certain.sum(axis=1), 2)
        fixed = first * (self.size - 1) / (pool - 1)
        both = np.where((self.size < 0) | either_certain, first * second, fixed)
        return np.where(a == b, first, both)


def sample_rows(
    legal: Any,
    *,
    size: int | None = None,
    probability: Any = None,
    always: Any = None,
    cohort: int = 0,
    seed: int = 0,
) -> SamplingPlan:
    """Draw which rows to execute.

    Args:
        legal: bool [tasks, teams].
        size: draw this many of a task's uncertain teams without replacement (all where there are fewer).
        probability: or draw each row independently with this probability: a number, or [tasks, teams].
        always: rows that are executed in any case, bool [tasks, teams]: those of the value plan, say.
        cohort: number of tasks, drawn at random, of which every legal team is executed. On them everything is
            known, which calibrates what the samples say elsewhere: see `calibrated_oracle`.
        seed: of the draw; the same seed gives the same rows.

    Returns:
        A `SamplingPlan`.

    Raises:
        InputError: neither or both of `size` and `probability`, probabilities outside (0, 1], a cohort larger
            than the number of tasks, or shapes that differ.
    """
    mask = np.asarray(legal)
    if mask.ndim != 2:
        raise InputError(f"legal: must be [tasks, teams]; got shape {mask.shape}")
    mask = checked_mask("legal", mask, mask.shape)
    tasks = len(mask)
    if (size is None) == (probability is None):
        raise InputError("size, probability: exactly one of them says how rows are drawn; give one")
    if not 0 <= cohort <= tasks:
        raise InputError(f"cohort: must be a number of tasks from 0 to {tasks}; got {cohort}")
    rng = np.random.Generator(np.random.Philox(seed))
    chosen = np.zeros(tasks, bool)
    chosen[rng.permutation(tasks)[:cohort]] = True
    certain = (
        np.zeros(mask.shape, bool) if always is None else checked_mask("always", always, mask.shape) & mask
    )
    certain = certain | (mask & chosen[:, None])
    pool = mask & ~certain
    if size is not None:
        drawn, inclusion, sizes = _without_replacement(rng, pool, size)
    else:
        inclusion = _probabilities(probability, pool)
        drawn = rng.random(mask.shape) < inclusion
        sizes = np.full(tasks, -1)
    return SamplingPlan(
        drawn=drawn | certain,
        inclusion=np.where(certain, 1.0, inclusion),
        size=sizes,
        cohort=chosen,
        certain=certain,
        seed=seed,
    )


def _without_replacement(
    rng: np.random.Generator, pool: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    size = whole_number("size", size)
    available = pool.sum(axis=1)
    sizes = np.minimum(available, size)
    rank = np.argsort(np.argsort(np.where(pool, rng.random(pool.shape), 2.0), axis=1), axis=1)
    share = sizes / np.maximum(available, 1)
    return pool & (rank < sizes[:, None]), np.where(pool, share[:, None], 0.0), sizes


def _probabilities(probability: Any, pool: np.ndarray) -> np.ndarray:
    given = np.asarray(probability, dtype=np.float64)
    if given.shape not in ((), pool.shape):
        raise InputError(
            f"probability: must be one number or [tasks, teams], {pool.shape}; got shape {given.shape}"
        )
    full = np.broadcast_to(given, pool.shape)
    wrong = pool & ~((full > 0.0) & (full <= 1.0))
    if wrong.any():
        task, team = np.argwhere(wrong)[0]
        raise InputError(
            f"probability: must be above 0 and at most 1 for every legal row; task {task}, team {team} has "
            f"{full[task, team]:g}: a row that can't be drawn is never estimated"
        )
    return np.where(pool, full, 0.0)
