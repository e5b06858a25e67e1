"""Adding up a list of digits, two numbers at a time."""

import re
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from coverjax.sequences.tasks.family import LARGEST, NUMBER, Family, running_sums

Numbers = tuple[int, ...]


class ListSummation(Family):
    """Add up four digits; the strategies differ in which two numbers are added next.

    * left_to_right: the running sum takes the numbers in their order;
    * right_to_left: from the last to the first;
    * pairs: first and second, third and fourth, ..., then the same with the sums;
    * smallest_first: the running sum takes the numbers in increasing order.

    State: the numbers that are left. A step ``a+b=c`` takes two of them, in any order, and leaves their sum.
    """

    name = "list_summation"
    _STRATEGIES = ("left_to_right", "right_to_left", "pairs", "smallest_first")
    _PROMPT = re.compile(rf"sum {NUMBER}(?:,{NUMBER})+")
    _STEP = re.compile(rf"{NUMBER}\+{NUMBER}={NUMBER}")
    _ANSWER = re.compile(NUMBER)
    _TOKENS = "sum ,0123456789+="
    _COUNT: ClassVar[int] = 4

    def _draw(self, rng: np.random.Generator) -> Numbers:
        return tuple(rng.integers(1, 10, size=self._COUNT).tolist())

    def _read(self, match: re.Match[str]) -> Numbers:
        x = tuple(map(int, match.group().removeprefix("sum ").split(",")))
        if sum(x) > LARGEST:
            raise ValueError(f"must add up to {LARGEST} at most")
        return x

    def _stated(self, x: Any) -> str:
        """Return the prompt, ``sum 3,5,2,7``."""
        return "sum " + ",".join(map(str, x))

    def _solution(self, x: Any) -> str:
        return str(sum(x))

    def _steps(self, x: Any, strategy: str) -> list[str]:
        if strategy == "pairs":
            return _paired(x)
        order = {"left_to_right": x, "right_to_left": x[::-1], "smallest_first": sorted(x)}[strategy]
        return running_sums(order)

    def _start(self, x: Any) -> Numbers:
        return tuple(sorted(x))

    def _advance(self, x: Any, state: Numbers, step: re.Match[str]) -> Iterable[Numbers]:
        first, second, total = map(int, step.groups())
        left = list(state)
        for number in (first, second):
            if number not in left:
                return
            left.remove(number)
        if first + second == total:
            yield tuple(sorted([*left, total]))

    def _finished(self, x: Any, state: Numbers) -> bool:
        return len(state) == 1


def _paired(x: Numbers) -> list[str]:
    """Return the steps of adding neighbours, and neighbouring sums; a last one without neighbour waits."""
    steps, level = [], list(x)
    while len(level) > 1:
        pairs = list(zip(level[::2], level[1::2], strict=False))
        steps += [f"{a}+{b}={a + b}" for a, b in pairs]
        level = [a + b for a, b in pairs] + level[len(level) // 2 * 2 :]
    return steps
