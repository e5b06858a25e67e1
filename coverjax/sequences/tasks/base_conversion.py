"""Reading a number in another base."""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from coverjax.sequences.tasks.family import NUMBER, Family

Item = tuple[int, int]
"""A value, and the power of the base that it is still to be multiplied by."""


class BaseConversion(Family):
    """Find the decimal value of three digits in a base from 5 to 9, all of them equally often.

    * horner: multiply by the base, add the next digit, from the first digit to the last;
    * places_down: each digit times its power of the base, from the highest place, added up as they come;
    * places_up: the same from the lowest place.

    State: values, each with the power of the base that it lacks. A step ``a*m=c`` multiplies one by a power m
    of the base that it lacks (``m*a=c`` does too), ``a+b=c`` adds two that lack the same; the last one leaves
    a value that lacks nothing.
    """

    name = "base_conversion"
    _STRATEGIES = ("horner", "places_down", "places_up")
    _PROMPT = re.compile("base ([2-9]) ([1-9][0-9]{1,5})")
    _STEP = re.compile(rf"{NUMBER}([*+]){NUMBER}={NUMBER}")
    _ANSWER = re.compile(NUMBER)
    _TOKENS = "base 0123456789*+="
    # Not below 5: the others have 70 numbers of three digits in all, too few to learn how they are read.
    _BASES: ClassVar[range] = range(5, 10)
    _DIGITS: ClassVar[int] = 3

    def _draw(self, rng: np.random.Generator) -> tuple[int, ...]:
        drawn = _numbers(self._BASES, self._DIGITS)
        return drawn[rng.integers(len(drawn))]

    def _read(self, match: re.Match[str]) -> tuple[int, ...]:
        base, digits = int(match.group(1)), tuple(map(int, match.group(2)))
        if max(digits) >= base:
            raise ValueError("must be written in digits below the base")
        return (base, *digits)

    def _stated(self, x: Any) -> str:
        """Return the prompt, ``base 4 211``."""
        return f"base {x[0]} " + "".join(map(str, x[1:]))

    def _solution(self, x: Any) -> str:
        return str(_value(x[0], x[1:]))

    def _steps(self, x: Any, strategy: str) -> list[str]:
        base, digits = x[0], x[1:]
        if strategy == "horner":
            return _horner(base, digits)
        powers = [base**place for place in range(len(digits))][::-1]
        terms = list(zip(digits, powers, strict=True))
        return _by_places(terms if strategy == "places_down" else terms[::-1])

    def _start(self, x: Any) -> tuple[Item, ...]:
        digits = x[1:]
        return tuple(sorted((digit, len(digits) - 1 - place) for place, digit in enumerate(digits)))

    def _advance(self, x: Any, state: tuple[Item, ...], step: re.Match[str]) -> Iterable[tuple[Item, ...]]:
        first, sign, second, result = int(step[1]), step[2], int(step[3]), int(step[4])
        if result != (first * second if sign == "*" else first + second):
            return
        yield from (_multiplied if sign == "*" else _added)(x[0], state, first, second)

    def _finished(self, x: Any, state: tuple[Item, ...]) -> bool:
        return len(state) == 1 and state[0][1] == 0


@functools.cache
def _numbers(bases: range, digits: int) -> list[tuple[int, ...]]:
    """Return the numbers of so many digits in each base: the base, then the digits, the first one not 0."""
    return [
        (base, *number)
        for base in bases
        for number in itertools.product(range(base), repeat=digits)
        if number[0] > 0
    ]


def _value(base: int, digits: Iterable[int]) -> int:
    value = 0
    for digit in digits:
        value = base * value + digit
    return value


def _horner(base: int, digits: tuple[int, ...]) -> list[str]:
    steps, value = [], digits[0]
    for digit in digits[1:]:
        steps += [f"{value}*{base}={value * base}", f"{value * base}+{digit}={value * base + digit}"]
        value = base * value + digit
    return steps


def _by_places(terms: list[tuple[int, int]]) -> list[str]:
    """Return the steps of adding up digit times power; the larger of the two terms stands first in a sum."""
    steps, total = [], 0
    for number, (digit, power) in enumerate(terms):
        term = digit * power
        if power > 1:
            steps.append(f"{digit}*{power}={term}")
        if number:
            down = power < terms[0][1]
            steps.append(f"{total}+{term}={total + term}" if down else f"{term}+{total}={total + term}")
        total += term
    return steps


def _multiplied(base: int, state: tuple[Item, ...], first: int, second: int) -> Iterator[tuple[Item, ...]]:
    """Yield the states after one of two numbers, a power of the base, multiplied the other."""
    for value, lacks in set(state):
        for power in range(1, lacks + 1):
            if (value, base**power) in ((first, second), (second, first)):
                left = _without(state, (value, lacks))
                yield tuple(sorted([*left, (first * second, lacks - power)]))


def _added(base: int, state: tuple[Item, ...], first: int, second: int) -> Iterator[tuple[Item, ...]]:
    """Yield the states after two numbers that lack the same power were added."""
    for value, lacks in set(state):
        left = _without(state, (value, lacks))
        if value == first and (second, lacks) in left:
            yield tuple(sorted([*_without(left, (second, lacks)), (first + second, lacks)]))


def _without(items: tuple[Item, ...], item: Item) -> tuple[Item, ...]:
    place = items.index(item)
    return items[:place] + items[place + 1 :]
