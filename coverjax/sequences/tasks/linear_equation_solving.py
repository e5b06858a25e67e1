"""Solving an equation with the unknown on both sides."""

import functools
import itertools
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from coverjax.sequences.tasks.family import LARGEST, NUMBER, Family

Equation = tuple[int, int, int, int]
"""a, b, c, d of ax+b = cx+d, none below 0."""

MOST_GUESSES = 100
"""The largest solution of an equation: trial puts in every number up to it."""

State = tuple[Equation, str, int]
"""The equation so far; "open", "guess" (a value was put in, which comes third) or "done"."""

_SIDE = rf"(?:((?:[2-9]|[1-9][0-9]{{1,5}})?)x(?:\+([1-9][0-9]{{0,5}}))?|{NUMBER})"


class LinearEquationSolving(Family):
    """Solve ax+b=cx+d for a whole number from 1 to 4; all four numbers share the factor 2 or 3.

    Drawn, all equally often, are those with a from 2 to 6, c below a and b to 15 without a common factor,
    times 2 or 3.

    * variables_first: take cx from both sides, then b, then divide;
    * constants_first: take b from both sides, then cx, then divide;
    * divide_first: divide by the greatest common factor, then as variables_first;
    * trial: put in 1, 2, ... and work out both sides until they are equal.

    State: the equation. A step is an equation that one move makes from the one before: take the same multiple
    of x, or the same number, from both sides (or add it), divide or multiply both sides, exchange them; or
    ``x=v`` as a guess, and then the two sides at v. It ends with a derived ``x=v`` or with equal sides.
    """

    name = "linear_equation_solving"
    _STRATEGIES = ("variables_first", "constants_first", "divide_first", "trial")
    _PROMPT = re.compile(rf"solve {_SIDE}={_SIDE}")
    _STEP = re.compile(rf"{_SIDE}={_SIDE}")
    _ANSWER = re.compile(NUMBER)
    _TOKENS = "solve x0123456789+="

    def _draw(self, rng: np.random.Generator) -> Equation:
        drawn = _equations()
        return drawn[rng.integers(len(drawn))]

    def _read(self, match: re.Match[str]) -> Equation:
        x = a, b, c, d = _equation(match)
        if not (a > c > 0 and d > b > 0 and math.gcd(*x) > 1):
            raise ValueError("must be ax+b=cx+d with a > c > 0, d > b > 0 and a common factor")
        root, rest = divmod(d - b, a - c)
        if rest or root > MOST_GUESSES:
            raise ValueError(f"must have a whole number up to {MOST_GUESSES} as its solution")
        if a * root + b > LARGEST:
            raise ValueError(f"must have sides of {LARGEST} at most at its solution")
        return x

    def _stated(self, x: Any) -> str:
        """Return the prompt, ``solve 12x+4=6x+16``."""
        return "solve " + _text(*x)

    def _solution(self, x: Any) -> str:
        a, b, c, d = x
        return str((d - b) // (a - c))

    def _steps(self, x: Any, strategy: str) -> list[str]:
        a, b, c, d = x
        root = (d - b) // (a - c)
        if strategy == "trial":
            return [step for v in range(1, root + 1) for step in (f"x={v}", f"{a * v + b}={c * v + d}")]
        factor = math.gcd(*x) if strategy == "divide_first" else 1
        a, b, c, d = (number // factor for number in x)
        steps = [_text(a, b, c, d)] if factor > 1 else []
        steps.append(_text(a, 0, c, d - b) if strategy == "constants_first" else _text(a - c, b, 0, d))
        steps.append(_text(a - c, 0, 0, d - b))
        return steps if a - c == 1 else [*steps, f"x={root}"]

    def _start(self, x: Any) -> State:
        return x, "open", 0

    def _advance(self, x: Any, state: State, step: re.Match[str]) -> Iterable[State]:
        before, stage, guess = state
        after = _equation(step)
        a, b, c, d = before
        if stage == "guess" and after == (0, a * guess + b, 0, c * guess + d):
            yield before, "done" if after[1] == after[3] else "open", 0
        if stage == "open":
            solved = after[:3] == (1, 0, 0)
            if _one_move(before, after):
                yield after, "done" if solved else "open", 0
            if solved:
                yield before, "guess", after[3]

    def _finished(self, x: Any, state: State) -> bool:
        return state[1] == "done"


@functools.cache
def _equations() -> list[Equation]:
    """Return the equations that are drawn, as `LinearEquationSolving` says."""
    found = []
    for factor, a, b, root in itertools.product((2, 3), range(2, 7), range(1, 16), range(1, 5)):
        for c in range(1, a):
            d = b + (a - c) * root
            if math.gcd(a, b, c, d) == 1:
                found.append((factor * a, factor * b, factor * c, factor * d))
    return found


def _equation(match: re.Match[str]) -> Equation:
    """Return the numbers of an equation: a bare x counts once, a side without x not at all."""

    def side(times: str | None, added: str | None, alone: str | None) -> tuple[int, int]:
        return (0, int(alone)) if alone is not None else (int(times or 1), int(added or 0))

    groups = match.groups()
    return (*side(*groups[:3]), *side(*groups[3:]))


def _text(a: int, b: int, c: int, d: int) -> str:
    return f"{_side_text(a, b)}={_side_text(c, d)}"


def _side_text(times: int, added: int) -> str:
    if times == 0:
        return str(added)
    return ("x" if times == 1 else f"{times}x") + (f"+{added}" if added else "")


def _one_move(before: Equation, after: Equation) -> bool:
    """Return whether one move on both sides makes an equation from another one."""
    if before == after or not any(after):
        return False
    a, b, c, d = (new - old for new, old in zip(after, before, strict=True))
    variables, constants = b == d == 0 and a == c, a == c == 0 and b == d
    pairs = list(zip(before, after, strict=True))
    scaled = all(p * s == q * r for p, r in pairs for q, s in pairs)
    exchanged = after == (*before[2:], *before[:2])
    return variables or constants or scaled or exchanged
