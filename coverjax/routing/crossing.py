"""Router by downstream stack: the one analysis in which stacks may be mixed."""

from collections.abc import Sequence

import numpy as np

from coverjax.foundation.checks import InputError
from coverjax.routing import regrets
from coverjax.routing.answers import Answer
from coverjax.routing.contracts import Inference
from coverjax.routing.draws import PAIR_NOT_RUN, Draws, gated_mean
from coverjax.routing.tables import OutcomeTable


def interaction(
    tables: Sequence[OutcomeTable], routes_a: np.ndarray, routes_b: np.ndarray, inference: Inference
) -> tuple[Answer, Answer, Answer]:
    """Cross two routers with two downstream stacks: (contrast under each stack, and the difference of the
    two).

    The interaction, [y_1(a) - y_1(b)] - [y_2(a) - y_2(b)], says whether the better router depends on the
    stack. The stacks' scores are different cells, so its bounds are the differences of the contrasts' ends,
    sharp.

    Args:
        tables: of the same tasks and teams under two stacks.
        routes_a, routes_b: teams of the two routers [tasks].
        inference: as in `evaluate_table`.
    """
    first, second = tables
    if first.stack == second.stack or not np.array_equal(first.tasks, second.tasks):
        raise InputError("tables: an interaction needs two different stacks on the same tasks")
    draws = Draws(inference, first.clusters, len(first.tasks))
    one, two = (regrets.contrast_set(table.outcomes, routes_a, routes_b) for table in (first, second))
    crossed = (one[0] - two[1], one[1] - two[0])
    places = [draws.add_ends(*ends) for ends in (one, two, crossed)]
    draws.draw()
    names = (f"contrast under {first.stack}", f"contrast under {second.stack}", "router-by-stack interaction")
    found = [
        gated_mean(name, ends, PAIR_NOT_RUN, draws, place)
        for name, ends, place in zip(names, (one, two, crossed), places, strict=True)
    ]
    return found[0], found[1], found[2]
