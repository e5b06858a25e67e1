"""Adding two numbers of several digits, by their places."""

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from coverjax.sequences.tasks.family import NUMBER, Family, running_sums

Item = tuple[int, ...]
"""A number as the parts that may be taken from it: 47 is (40, 7) if it was given, (47,) if it was made."""


class MultidigitAddition(Family):
    """Add two numbers of two digits; the strategies differ in which parts are added next.

    * jump_high_first: the tens of the second number are added to the first number, then its ones;
    * split_low_first: ones to ones, tens to tens, then these sums, in that order;
    * jump_low_first: the ones of the second number are added to the first number, then its tens;
    * split_high_first: tens to tens, ones to ones, then these sums, in that order.

    State: the numbers that are left, each with its parts. A step ``a+b=c`` takes any parts of the given
    numbers, or sums that were made, and leaves their sum. A part of 0 is a part: it is added as well.
    """

    name = "multidigit_addition"
    _STRATEGIES = ("jump_high_first", "split_low_first", "jump_low_first", "split_high_first")
    _PROMPT = re.compile(r"add ([1-9][0-9]{1,4})\+([1-9][0-9]{1,4})")
    _STEP = re.compile(rf"{NUMBER}\+{NUMBER}={NUMBER}")
    _ANSWER = re.compile(NUMBER)
    _TOKENS = "add 0123456789+="
    _DIGITS: ClassVar[int] = 2

    def _draw(self, rng: np.random.Generator) -> tuple[int, int]:
        first, second = rng.integers(10 ** (self._DIGITS - 1), 10**self._DIGITS, size=2).tolist()
        return first, second

    def _read(self, match: re.Match[str]) -> tuple[int, int]:
        if len(match.group(1)) != len(match.group(2)):
            raise ValueError("must add numbers with equally many digits")
        return int(match.group(1)), int(match.group(2))

    def _stated(self, x: Any) -> str:
        """Return the prompt, ``add 47+85``."""
        return "add {}+{}".format(*x)

    def _solution(self, x: Any) -> str:
        return str(sum(x))

    def _steps(self, x: Any, strategy: str) -> list[str]:
        way, end, _ = strategy.split("_")
        first, second = _parts(x[0]), _parts(x[1])
        if end == "low":
            first, second = first[::-1], second[::-1]
        if way == "jump":
            return running_sums([x[0], *second])
        places = [f"{a}+{b}={a + b}" for a, b in zip(first, second, strict=True)]
        return places + running_sums([a + b for a, b in zip(first, second, strict=True)])

    def _start(self, x: Any) -> tuple[Item, ...]:
        return tuple(sorted(map(_parts, x)))

    def _advance(self, x: Any, state: tuple[Item, ...], step: re.Match[str]) -> Iterable[tuple[Item, ...]]:
        first, second, total = map(int, step.groups())
        if first + second != total:
            return
        for rest in _without(state, first):
            for left in _without(rest, second):
                yield tuple(sorted([*left, (total,)]))

    def _finished(self, x: Any, state: tuple[Item, ...]) -> bool:
        return len(state) == 1 and len(state[0]) == 1


def _parts(number: int) -> Item:
    """Return the places of a number from the highest: 407 is (400, 0, 7)."""
    digits = str(number)
    return tuple(int(digit) * 10 ** (len(digits) - 1 - place) for place, digit in enumerate(digits))


def _without(items: tuple[Item, ...], number: int) -> Iterator[tuple[Item, ...]]:
    """Yield what is left of the items when parts of one of them that make a number are taken."""
    for place, item in enumerate(items):
        others = items[:place] + items[place + 1 :]
        for size in range(1, len(item) + 1):
            for taken in itertools.combinations(range(len(item)), size):
                if sum(item[i] for i in taken) == number:
                    rest = tuple(part for i, part in enumerate(item) if i not in taken)
                    yield (*others, rest) if rest else others
