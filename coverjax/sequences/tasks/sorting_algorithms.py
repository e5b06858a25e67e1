"""Sorting digits by exchanges."""

import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from coverjax.sequences.tasks.family import Family

Digits = tuple[int, ...]


class SortingAlgorithms(Family):
    """Sort five different digits; the trace is the list after each exchange.

    * bubble: sweeps from left to right exchange neighbours in the wrong order;
    * selection: the smallest of the rest is exchanged to its front;
    * insertion: each digit in turn moves left by neighbours until it is in place;
    * largest_last: the largest of the rest is exchanged to its end.

    State: the list. A step is a list that differs from the one before by one exchange, of two digits that
    stood in the wrong order; the last one is sorted. Inputs have four to six pairs in the wrong order.
    """

    name = "sorting_algorithms"
    _STRATEGIES = ("bubble", "selection", "insertion", "largest_last")
    _PROMPT = re.compile("sort ([0-9]{2,10})")
    _STEP = re.compile("([0-9]{1,10})")
    _ANSWER = re.compile("[0-9]{1,10}")
    _TOKENS = "sort 0123456789"
    _COUNT: ClassVar[int] = 5
    _FEWEST, _MOST = 4, 6

    def _draw(self, rng: np.random.Generator) -> Digits:
        while True:
            x = tuple((1 + rng.permutation(9)[: self._COUNT]).tolist())
            if self._FEWEST <= _wrong_pairs(x) <= self._MOST:
                return x

    def _read(self, match: re.Match[str]) -> Digits:
        x = tuple(map(int, match.group(1)))
        if len(set(x)) < len(x):
            raise ValueError("must hold different digits")
        if not _wrong_pairs(x):
            raise ValueError("must hold digits that are not in order yet")
        return x

    def _stated(self, x: Any) -> str:
        """Return the prompt, ``sort 52413``."""
        return "sort " + _text(x)

    def _solution(self, x: Any) -> str:
        return _text(sorted(x))

    def _steps(self, x: Any, strategy: str) -> list[str]:
        items, steps = list(x), []
        for i, j in _EXCHANGES[strategy](items):
            items[i], items[j] = items[j], items[i]
            steps.append(_text(items))
        return steps

    def _start(self, x: Any) -> Digits:
        return x

    def _advance(self, x: Any, state: Digits, step: re.Match[str]) -> Iterable[Digits]:
        after = tuple(map(int, step.group()))
        if len(after) != len(state):
            return
        moved = [i for i in range(len(state)) if state[i] != after[i]]
        if len(moved) != 2:
            return
        i, j = moved
        if state[i] > state[j] and (after[i], after[j]) == (state[j], state[i]):
            yield after

    def _finished(self, x: Any, state: Digits) -> bool:
        return not _wrong_pairs(state)


def _text(digits: Iterable[int]) -> str:
    return "".join(map(str, digits))


def _wrong_pairs(digits: Digits) -> int:
    """Return the number of pairs in the wrong order: the exchanges of neighbours that sorting takes."""
    return sum(digits[i] > digits[j] for j in range(len(digits)) for i in range(j))


# Each yields the places to exchange next and looks again at the list, which the caller has changed meanwhile.


def _bubble(items: list[int]) -> Iterable[tuple[int, int]]:
    for last in range(len(items) - 1, 0, -1):
        for i in range(last):
            if items[i] > items[i + 1]:
                yield i, i + 1


def _insertion(items: list[int]) -> Iterable[tuple[int, int]]:
    for start in range(1, len(items)):
        for i in range(start, 0, -1):
            if items[i - 1] > items[i]:
                yield i - 1, i


def _selection(items: list[int]) -> Iterable[tuple[int, int]]:
    for i in range(len(items) - 1):
        smallest = min(range(i, len(items)), key=items.__getitem__)
        if smallest != i:
            yield i, smallest


def _largest_last(items: list[int]) -> Iterable[tuple[int, int]]:
    for i in range(len(items) - 1, 0, -1):
        largest = max(range(i + 1), key=items.__getitem__)
        if largest != i:
            yield largest, i


_EXCHANGES: dict[str, Callable[[list[int]], Iterable[tuple[int, int]]]] = {
    "bubble": _bubble,
    "selection": _selection,
    "insertion": _insertion,
    "largest_last": _largest_last,
}
