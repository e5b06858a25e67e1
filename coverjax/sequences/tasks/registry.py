"""The task families by name."""

from collections.abc import Mapping, Sequence

import numpy as np

from coverjax.foundation.checks import InputError, one_of
from coverjax.sequences.tasks.base import Task
from coverjax.sequences.tasks.base_conversion import BaseConversion
from coverjax.sequences.tasks.family import Family
from coverjax.sequences.tasks.grid_pathfinding import GridPathfinding
from coverjax.sequences.tasks.linear_equation_solving import LinearEquationSolving
from coverjax.sequences.tasks.list_summation import ListSummation
from coverjax.sequences.tasks.multi import MultiTask
from coverjax.sequences.tasks.multidigit_addition import MultidigitAddition
from coverjax.sequences.tasks.sorting_algorithms import SortingAlgorithms

_FAMILIES: tuple[type[Family], ...] = (
    ListSummation,
    SortingAlgorithms,
    GridPathfinding,
    LinearEquationSolving,
    BaseConversion,
    MultidigitAddition,
)


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
        name: one of `task_names()`, or "multi_task" for all of them together.
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
    one_of("task", name, (*task_names(), MultiTask.name))
    if name == MultiTask.name:
        if frequencies is not None:
            raise InputError("frequencies: of multi_task are given by family: multi_task(frequencies={...})")
        return multi_task()
    return next(family for family in _FAMILIES if family.name == name)(frequencies)


def multi_task(
    frequencies: "Mapping[str, Sequence[float]] | None" = None,
    shares: "Mapping[str, float] | None" = None,
) -> MultiTask:
    """Make the mixture of all families, or of some.

    Its strategies are named "family/strategy"; those of an input are `strategies(x)`: its denominator.

    Args:
        frequencies: shares of each family's strategies, by its name; the default for those left out.
        shares: how often each family is drawn, by its name; those left out aren't in the mixture. All equally
            often by default.

    Raises:
        InputError: there is no such family, or numbers don't fit.

    >>> from coverjax import sequences
    >>> mixture = sequences.multi_task()
    >>> x = mixture.parse_x("base 4 211")
    >>> mixture.family(x), mixture.strategies(x)[0], len(mixture.strategies(x)), len(mixture.strategies())
    ('base_conversion', 'base_conversion/horner', 3, 23)
    """
    weights = dict.fromkeys(task_names(), 1.0 / len(_FAMILIES)) if shares is None else dict(shares)
    given = frequencies or {}
    for name in (*weights, *given):
        one_of("family", name, task_names())
    families = [family(given.get(family.name)) for family in _FAMILIES if family.name in weights]
    return MultiTask(families, [weights[family.name] for family in families])
