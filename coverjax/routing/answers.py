"""The gate before every number: a point, a sharp interval, or a refusal, and why."""

import dataclasses

import numpy as np

STACK_INTERNAL = "stack-internal, not deployment utility"
"""Stands beside every regret."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a table says about one quantity.

    Attributes:
        estimand: what is asked.
        kind: "point" (identified), "interval" (anything between low and high fits the table) or "refusal".
        low, high: ends of what the table leaves possible; equal for a point, NaN for a refusal.
        limit_low, limit_high: bootstrap limits over tasks, of the low end below and of the high end above;
            NaN where there are too few tasks, or for a refusal.
        why: the reason, one line.
        open_tasks: number of tasks at which the quantity is not a point.
    """

    estimand: str
    kind: str
    low: float
    high: float
    limit_low: float = np.nan
    limit_high: float = np.nan
    why: str = ""
    open_tasks: int = 0

    @property
    def point(self) -> float:
        """The value where it is identified, NaN else."""
        return self.low if self.kind == "point" else np.nan


def refusal(estimand: str, why: str) -> Answer:
    """Return a refusal and its reason."""
    return Answer(estimand, "refusal", np.nan, np.nan, why=why)


def gated(
    estimand: str,
    lower: np.ndarray,
    upper: np.ndarray,
    why_open: str,
    limits: tuple[float, float] = (np.nan, np.nan),
) -> Answer:
    """Return the answer about a mean over tasks from the ends of its identified set on each.

    Args:
        estimand: what is asked.
        lower, upper: sharp ends [tasks].
        why_open: what it takes at the tasks where they differ.
        limits: bootstrap limits.
    """
    low, high = float(lower.mean()), float(upper.mean())
    open_tasks = int((upper > lower).sum())
    kind = "interval" if open_tasks else "point"
    if open_tasks:
        why = f"{open_tasks} of {len(lower)} tasks leave it open: {why_open}"
    else:
        why = f"identified on all {len(lower)} tasks"
    return Answer(estimand, kind, low, high if open_tasks else low, *limits, why, open_tasks)


def criterion_verdict(regret: Answer, criterion: float | None) -> str:
    """Judge mean absolute regret by its criterion.

    "met": the whole identified set and its upper limit are at most the criterion. "met by the point only":
    the set is, the limit is above or was refused. "failed": the whole set is above. "undecided": the set
    straddles it. "none" without a criterion, "refused" without an answer.
    """
    if criterion is None:
        return "none"
    if regret.kind == "refusal":
        return "refused"
    if regret.low > criterion:
        return "failed"
    if regret.high > criterion:
        return "undecided"
    return "met" if regret.limit_high <= criterion else "met by the point only"
