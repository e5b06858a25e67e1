"""A family of inputs with one grammar of traces: what each of the six families fills in, and its validator.

A trace is steps separated by ";", then ">" and the final answer. Two questions are asked of it, by principle
and apart:

* Does each step follow? A family is a small machine: states that the work can be in, and the states that a
  step leads to. A trace is structurally valid when some path through the states takes all of its steps and
  ends where the work is finished. This knows nothing of strategies.
* Whose is it? Numbers have one spelling, so two traces have the same steps exactly when they have the same
  text: a strategy is credited exactly when the steps that it writes on this input are those of the trace.
"""

import abc
import functools
import itertools
import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from coverjax.foundation.checks import InputError, listed, shown
from coverjax.sequences.tasks.base import Task, ValidationResult, checked_frequencies

NUMBER = "(0|[1-9][0-9]{0,5})"
"""A whole number in its one spelling."""

LARGEST = 999_999
"""The largest number that can be read, so that no text asks for long arithmetic. An input whose traces would
hold a larger one is refused."""

NEXT, LAST = ";", ">"
"""What stands between steps, and before the final answer."""

DRAWS = 6
"""An input on which two strategies write the same trace is drawn again, until this many were drawn."""


class Family(Task):
    """Inputs of one kind, the strategies on them, and the machine that says which step may follow."""

    _STRATEGIES: ClassVar[tuple[str, ...]]
    _PROMPT: ClassVar[re.Pattern[str]]
    _STEP: ClassVar[re.Pattern[str]]
    _ANSWER: ClassVar[re.Pattern[str]]
    _TOKENS: ClassVar[Iterable[str]]
    """What prompts and traces are written in, beside `NEXT` and `LAST`; a text stands for its characters."""

    def __init__(self, frequencies: "Sequence[float] | np.ndarray | None" = None) -> None:
        """Make the task; strategies are as frequent as given, each half the one before by default."""
        self._frequencies = checked_frequencies(frequencies, self._STRATEGIES)
        self._known = functools.lru_cache(maxsize=1 << 14)(self._work)

    def __reduce__(self) -> tuple:
        """Make the task anew where it is sent to: what it has worked out stays here."""
        return type(self), (self._frequencies,)

    # What a family fills in.

    @abc.abstractmethod
    def _draw(self, rng: np.random.Generator) -> Any:
        """Draw an input, whether or not its traces differ."""

    @abc.abstractmethod
    def _read(self, match: re.Match[str]) -> Any:
        """Return the input that a prompt of the right form states, or raise ValueError, saying why not."""

    @abc.abstractmethod
    def _stated(self, x: Any) -> str:
        """Return the prompt that states x, an input of this family."""

    @abc.abstractmethod
    def _steps(self, x: Any, strategy: str) -> list[str]:
        """Return the steps of a strategy."""

    @abc.abstractmethod
    def _solution(self, x: Any) -> str:
        """Return the final answer."""

    @abc.abstractmethod
    def _start(self, x: Any) -> Hashable:
        """Return the state before the first step."""

    @abc.abstractmethod
    def _advance(self, x: Any, state: Any, step: re.Match[str]) -> Iterable[Hashable]:
        """Yield the states that a step of the right form leads to; none where it doesn't follow."""

    @abc.abstractmethod
    def _finished(self, x: Any, state: Any) -> bool:
        """Return whether the work is done in this state."""

    # What follows from it.

    def strategies(self, x: Hashable | None = None) -> tuple[str, ...]:
        """Return the declared strategies, the same for every input."""
        return self._STRATEGIES

    @property
    def frequencies(self) -> Float[np.ndarray, " strategies"]:
        """Share of each strategy in a corpus."""
        return self._frequencies

    def frequencies_of(self, x: Hashable) -> Float[np.ndarray, " strategies"]:
        """Return the share of each strategy in a corpus, the same for every input."""
        return self._frequencies

    def vocabulary(self) -> tuple[str, ...]:
        """Return all tokens that prompts and traces are written in, sorted."""
        return tuple(sorted({*self._TOKENS, NEXT, LAST}))

    @property
    def prompt_word(self) -> str:
        """The word that every prompt of this family begins with, and none of another."""
        return self._PROMPT.pattern.partition(" ")[0]

    def family(self, x: Hashable) -> str:
        """Return the task's own name."""
        return self.name

    def sample_input(self, rng: np.random.Generator) -> Any:
        """Draw an input: the first of six on which all traces differ, else the last of them.

        So a small share of ambiguous inputs is left (docs/tasks.md has it for each family).
        """
        for _ in range(DRAWS):
            x = self._draw(rng)
            if len(set(self._worked(x)[0].values())) == len(self._STRATEGIES):
                return x
        return x

    def render_x(self, x: Hashable) -> str:
        """Return the prompt that states x."""
        self._worked(x)
        return self._stated(x)

    def parse_x(self, x_text: str) -> Any:
        """Return the input that a prompt states.

        Raises:
            InputError: it states none.
        """
        match = self._PROMPT.fullmatch(x_text) if isinstance(x_text, str) else None
        if match is None:
            example = self._stated(self._draw(np.random.default_rng(0)))
            raise InputError(f"x_text: must be a prompt such as {shown(example)}; got {shown(x_text)}")
        try:
            return self._read(match)
        except ValueError as error:
            fault = str(error)
        raise InputError(f"x_text: {fault}; got {shown(x_text)}")

    def render(self, x: Hashable, strategy: str) -> str:
        """Return the trace of a strategy on x: its steps and the final answer."""
        if strategy not in self._STRATEGIES:
            raise InputError(f"strategy: must be one of {listed(self._STRATEGIES)}; got {shown(strategy)}")
        traces, solution = self._worked(x)
        return traces[strategy] + LAST + solution

    def validate_y_text(self, x: Hashable, y_text: str) -> ValidationResult:
        """Say what a generated text is, as a trace for x. Blanks around the text are not looked at."""
        if not isinstance(y_text, str):
            raise InputError(f"y_text: must be text; got {shown(y_text)}")
        traces, solution = self._worked(x)
        body, mark, answer = y_text.strip().partition(LAST)
        steps = [self._STEP.fullmatch(step) for step in body.split(NEXT)]
        fault = self._unreadable(body.split(NEXT), steps, mark, answer)
        if fault:
            return ValidationResult(False, False, False, None, fault)
        correct = answer == solution
        fault = self._unfounded(x, [step for step in steps if step])
        if fault:
            return ValidationResult(True, False, correct, frozenset(), fault)
        matches = frozenset(name for name, trace in traces.items() if trace == body)
        fault = "" if matches else "the steps follow, but no strategy takes them"
        return ValidationResult(True, True, correct, matches, fault)

    def _worked(self, x: Any) -> tuple[dict[str, str], str]:
        """Return the steps of each strategy on x, without the final answer, and that."""
        try:
            hash(x)
        except TypeError:
            raise self._stranger(x) from None
        if not isinstance(x, tuple):
            raise self._stranger(x)
        return self._known(x)

    def _work(self, x: Any) -> tuple[dict[str, str], str]:
        try:
            same = self.parse_x(self._stated(x)) == x
        except (TypeError, ValueError, AttributeError, LookupError):
            same = False
        if not same:
            raise self._stranger(x)
        return {name: NEXT.join(self._steps(x, name)) for name in self._STRATEGIES}, self._solution(x)

    def _stranger(self, x: Any) -> InputError:
        return InputError(f"x: must be an input of {self.name}, from sample_input or parse_x; got {shown(x)}")

    def _unreadable(
        self, texts: list[str], steps: "list[re.Match[str] | None]", mark: str, answer: str
    ) -> str:
        """Return why a text is no trace by its grammar; empty where it is one."""
        if not mark:
            return f"there is no {LAST!r} with a final answer"
        if None in steps:
            return f"step {steps.index(None) + 1} can't be read: {shown(texts[steps.index(None)])}"
        return "" if self._ANSWER.fullmatch(answer) else f"the final answer can't be read: {shown(answer)}"

    def _unfounded(self, x: Any, steps: "list[re.Match[str]]") -> str:
        """Return which step doesn't follow from those before; empty where all do."""
        states: set[Hashable] = {self._start(x)}
        for number, step in enumerate(steps, start=1):
            states = {after for state in states for after in self._advance(x, state, step)}
            if not states:
                return f"step {number} doesn't follow: {shown(step.group())}"
        return (
            "" if any(self._finished(x, state) for state in states) else "the steps end before the work does"
        )


def running_sums(numbers: Sequence[int]) -> list[str]:
    """Return the steps of adding each number to the sum of those before it."""
    sums = itertools.accumulate(numbers)
    return [f"{a}+{b}={a + b}" for a, b in zip(sums, numbers[1:], strict=False)]
