"""Walking across a grid, around walls."""

import functools
import itertools
import re
from collections import deque
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from coverjax.sequences.tasks.family import Family

COLUMNS, ROWS = "abcde", "12345"
CELLS = tuple(column + row for column in COLUMNS for row in ROWS)
Walk = tuple[str, ...]

Question = tuple[str, str, Walk]
"""Start, goal and walls, in order."""


class GridPathfinding(Family):
    """Find how many moves lead from one cell of a 5 x 5 grid to another; the trace is a shortest walk.

    What is drawn has one wall or two between the cells, which make the way no longer, all equally often.

    * vertical_first: up or down wherever a shortest walk goes on that way, else sideways;
    * horizontal_first: sideways wherever a shortest walk goes on that way, else up or down;
    * staircase: each move turns where a shortest walk does, the first one is up or down if it can be;
    * from_goal: the walk back from the goal, up or down first.

    State: the cells visited. The first step is one of the two ends, each further one a free neighbour of the
    last that was not visited yet, and the walk ends at the other end. Any such walk is structurally valid, a
    longer one too. Where two moves are equally good, up goes before down and left before right.
    """

    name = "grid_pathfinding"
    _STRATEGIES = ("vertical_first", "horizontal_first", "staircase", "from_goal")
    _PROMPT = re.compile("path ([a-e][1-5]) ([a-e][1-5])((?: not [a-e][1-5](?:,[a-e][1-5])*)?)")
    _STEP = re.compile("([a-e][1-5])")
    _ANSWER = re.compile("0|[1-9][0-9]{0,5}")
    # A cell is one token: the stream above it need not first find out which two characters belong together.
    _TOKENS = ("path ", " ", " not ", ",", *"0123456789", *CELLS)
    _WALLS: ClassVar[tuple[int, ...]] = (1, 2)
    _APART: ClassVar[int] = 2

    def _draw(self, rng: np.random.Generator) -> Question:
        drawn = _questions(self._APART, self._WALLS)
        return drawn[rng.integers(len(drawn))]

    def _read(self, match: re.Match[str]) -> Question:
        start, goal, rest = match.groups()
        walls = tuple(rest.removeprefix(" not ").split(",")) if rest else ()
        if start == goal or {start, goal} & set(walls):
            raise ValueError("must name two different cells, and walls elsewhere")
        if list(walls) != sorted(set(walls)):
            raise ValueError("must name the walls in order, each once")
        if start not in _moves_to(goal, walls):
            raise ValueError("must leave a way through")
        return start, goal, walls

    def _stated(self, x: Any) -> str:
        """Return the prompt, ``path a1 d4 not b2,c3``."""
        start, goal, walls = x
        return f"path {start} {goal}" + (" not " + ",".join(walls) if walls else "")

    def _solution(self, x: Any) -> str:
        start, goal, walls = x
        return str(_moves_to(goal, walls)[start])

    def _steps(self, x: Any, strategy: str) -> list[str]:
        here, there, walls = x
        if strategy == "from_goal":
            here, there = there, here
        left = _moves_to(there, walls)
        walk, vertical = [here], strategy != "horizontal_first"
        while here != there:
            good = [cell for cell in _neighbours(here) if left.get(cell, len(left)) == left[here] - 1]
            wanted = [cell for cell in good if (cell[0] == here[0]) == vertical]
            after = (wanted or good)[0]
            if strategy == "staircase":
                vertical = after[0] != here[0]
            here = after
            walk.append(here)
        return walk

    def _start(self, x: Any) -> Walk:
        return ()

    def _advance(self, x: Any, state: Walk, step: re.Match[str]) -> Iterable[Walk]:
        cell, (start, goal, walls) = step.group(), x
        if not state:
            follows = cell in (start, goal)
        else:
            follows = not self._finished(x, state) and cell in _neighbours(state[-1])
        if follows and cell not in walls and cell not in state:
            yield (*state, cell)

    def _finished(self, x: Any, state: Walk) -> bool:
        return {state[0], state[-1]} == set(x[:2])


@functools.cache
def _questions(apart: int, walls: tuple[int, ...]) -> list[Question]:
    """Return what is drawn: far pairs, with so many walls between them that make the way no longer."""
    return [
        (start, goal, some)
        for start, goal, between in _far_pairs(apart)
        for count in walls
        for some in itertools.combinations(sorted(between), count)
        if _moves_to(goal, some).get(start) == _moves_to(goal, ())[start]
    ]


def _far_pairs(apart: int) -> list[tuple[str, str, Walk]]:
    """Return pairs of cells, the second one so many columns to the right or more and so many rows above or
    below, and what else is in their rectangle.

    To the left as well, a walk that turns right at the start would be as plain a strategy as one that goes up
    or down there. Only above or only below, one corner of the grid would be the token of one strategy.
    """

    def between(axis: int, start: str, goal: str) -> str:
        line = (COLUMNS, ROWS)[axis]
        low, high = sorted((line.index(start[axis]), line.index(goal[axis])))
        return line[low : high + 1]

    found = []
    for start, goal in itertools.product(CELLS, CELLS):
        columns, rows = between(0, start, goal), between(1, start, goal)
        if start[0] < goal[0] and min(len(columns), len(rows)) > apart:
            rectangle = [column + row for column in columns for row in rows]
            found.append((start, goal, tuple(cell for cell in rectangle if cell not in (start, goal))))
    return found


@functools.cache
def _neighbours(cell: str) -> Walk:
    """Return the cells beside a cell: up, down, left, right."""
    column, row = COLUMNS.index(cell[0]), ROWS.index(cell[1])
    beside = ((column, row - 1), (column, row + 1), (column - 1, row), (column + 1, row))
    return tuple(COLUMNS[c] + ROWS[r] for c, r in beside if 0 <= c < len(COLUMNS) and 0 <= r < len(ROWS))


@functools.lru_cache(maxsize=1 << 14)
def _moves_to(goal: str, walls: Walk) -> dict[str, int]:
    """Return the number of moves to the goal from each cell that can reach it."""
    found, waiting = {goal: 0}, deque([goal])
    while waiting:
        here = waiting.popleft()
        for cell in _neighbours(here):
            if cell not in found and cell not in walls:
                found[cell] = found[here] + 1
                waiting.append(cell)
    return found
