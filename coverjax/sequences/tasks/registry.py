"""The task families by name."""

from collections.abc import Sequence

import numpy as np

from coverjax.foundation.checks import one_of
from coverjax.sequences.tasks.base import Task
from coverjax.sequences.tasks.family import Family
from coverjax.sequences.tasks.list_summation import ListSummation

_FAMILIES: tuple[type[Family], ...] = (ListSummation,)


def task_names() -> tuple[str, ...]:
    """Return the names of the families, the ones that `task` takes.

    >>> from coverjax import sequences
    >>> "list_summation" in sequences.task_names()
    True
    """
    return tuple(family.name for family in _FAMILIES)


def task(name: str, frequencies: "Sequence[float] | np.ndarray | None" = None) -> Task:
    """Make a task: inputs, strategies that solve them by different visible traces, and a validator.

    Args:
        name: one of `task_names()`.
        frequencies: share of each strategy in a corpus; by default each half the one before.

    Raises:
        InputError: there is no such task, or the frequencies don't fit its strategies.

    >>> from coverjax import sequences
    >>> summing = sequences.task("list_summation")
    >>> x = summing.parse_x("sum 3,5,2,7")
    >>> summing.render(x, "left_to_right")
    '3+5=8;8+2=10;10+7=17>17'
    >>> found = summing.validate_y_text(x, "3+5=8;8+2=10;10+7=17>99")
    >>> found.outcome, sorted(found.strategy_matches), found.answer_correct
    ('unique', ['left_to_right'], False)
    """
    one_of("task", name, task_names())
    return next(family for family in _FAMILIES if family.name == name)(frequencies)
