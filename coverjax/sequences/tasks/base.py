"""What a task is, and what validating a generated text says."""

import abc
import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from coverjax.foundation.checks import InputError, listed, shown, whole_number
from coverjax.sequences.tokenizer import Tokenizer

OUTCOMES = ("unique", "ambiguous", "off_strategy", "structurally_invalid", "parse_failure")
"""What a generated text can be, from one strategy's trace to no trace at all."""


@dataclasses.dataclass(frozen=True)
class ValidationResult:
    """What a generated text is.

    Attributes:
        parse_success: the text is a trace by its grammar: steps, then a final answer.
        structurally_valid: each step follows from the input and the steps before it, and the last one ends
            the work. It says nothing about the final answer, which is written apart.
        answer_correct: the final answer that the text states is the input's.
        strategy_matches: every strategy that produces this trace on this input, whatever its final answer
            is; None when parsing fails, empty when the trace is structurally invalid or off-strategy.
        reason: one line on what is wrong with the trace; empty where nothing is.
    """

    parse_success: bool
    structurally_valid: bool
    answer_correct: bool
    strategy_matches: frozenset[str] | None
    reason: str = ""

    @property
    def outcome(self) -> str:
        """One of `OUTCOMES`."""
        if self.strategy_matches is None:
            return "parse_failure"
        if not self.structurally_valid:
            return "structurally_invalid"
        return ("off_strategy", "unique", "ambiguous")[min(2, len(self.strategy_matches))]


class Sample(NamedTuple):
    """One text of a corpus, with what made it."""

    x: Any
    strategy: str
    x_text: str
    y_text: str


class Task(abc.ABC):
    """Inputs, strategies that solve them by different visible traces, and a validator of traces.

    An input x is a hashable value that `sample_input` or `parse_x` returned; what is none is an `InputError`.
    Texts are sequences of the tokens of `vocabulary()`: most are one character, a cell of a grid is one too.
    """

    name: ClassVar[str]

    @abc.abstractmethod
    def strategies(self, x: Hashable | None = None) -> tuple[str, ...]:
        """Return the declared strategies: of input x, or of the whole task when None."""

    @property
    @abc.abstractmethod
    def frequencies(self) -> Float[np.ndarray, " strategies"]:
        """Share of each of `strategies()` in a corpus."""

    @abc.abstractmethod
    def frequencies_of(self, x: Hashable) -> Float[np.ndarray, " strategies"]:
        """Return the share of each of `strategies(x)` in a corpus, given that its input is x."""

    @abc.abstractmethod
    def vocabulary(self) -> tuple[str, ...]:
        """Return all tokens that prompts and traces are written in, sorted."""

    @abc.abstractmethod
    def sample_input(self, rng: np.random.Generator) -> Any:
        """Draw an input."""

    @abc.abstractmethod
    def family(self, x: Hashable) -> str:
        """Return the name of the family that x belongs to."""

    @abc.abstractmethod
    def render_x(self, x: Hashable) -> str:
        """Return the prompt that states x."""

    @abc.abstractmethod
    def parse_x(self, x_text: str) -> Any:
        """Return the input that a prompt states.

        Raises:
            InputError: it states none.
        """

    @abc.abstractmethod
    def render(self, x: Hashable, strategy: str) -> str:
        """Return the trace of a strategy on x: its steps and the final answer."""

    @abc.abstractmethod
    def validate_y_text(self, x: Hashable, y_text: str) -> ValidationResult:
        """Say what a generated text is, as a trace for x."""

    def sample_inputs(self, rng: np.random.Generator, count: int) -> list[Any]:
        """Draw inputs independently; the first n of a longer list are the same."""
        return [self.sample_input(rng) for _ in range(whole_number("count", count, 0))]

    def sample_corpus(self, rng: np.random.Generator, count: int) -> list[Sample]:
        """Draw inputs and, for each, a strategy by its frequency: what a base model is fitted to."""
        corpus = []
        for x in self.sample_inputs(rng, count):
            place = np.searchsorted(np.cumsum(self.frequencies_of(x))[:-1], rng.random(), side="right")
            strategy = self.strategies(x)[place]
            corpus.append(Sample(x, strategy, self.render_x(x), self.render(x, strategy)))
        return corpus

    def split(self, text: str) -> list[str]:
        """Cut a text into its tokens, by longest match.

        Raises:
            InputError: a part of it is in no token of the vocabulary.
        """
        tokenizer = Tokenizer(self.vocabulary())
        names = tokenizer.names()
        return [names[token] for token in tokenizer.encode(text)]


def match_matrix(
    results: np.ndarray, names: "Sequence[Sequence[str]]", width: int | None = None
) -> Bool[np.ndarray, "inputs *texts strategies"]:
    """Return which strategies each text matches, in the columns of its input's own strategies.

    Args:
        results: `ValidationResult`s, object [inputs, ...].
        names: the declared strategies of each input, in column order.
        width: number of columns, those that an input has no strategy for are False; the most that an input
            has strategies when None.
    """
    most = max(map(len, names), default=0) if width is None else width
    matches = np.zeros((*results.shape, most), bool)
    for own, row, flags in zip(results, names, matches, strict=True):
        column = {name: place for place, name in enumerate(row)}
        for at in np.ndindex(own.shape):
            for name in own[at].strategy_matches or ():
                flags[(*at, column[name])] = True
    return matches


def result_flags(results: np.ndarray, name: str) -> Bool[np.ndarray, "*texts"]:
    """Return one flag of every `ValidationResult` of an object array [...], by its name."""
    return np.array([getattr(result, name) for result in results.ravel()], bool).reshape(results.shape)


def halving(count: int) -> Float[np.ndarray, " strategies"]:
    """Return the default frequencies: each strategy half as frequent as the one before it."""
    weights = 0.5 ** np.arange(count)
    return weights / weights.sum()


def checked_frequencies(
    frequencies: "Sequence[float] | np.ndarray | None", strategies: Sequence[str], name: str = "frequencies"
) -> Float[np.ndarray, " strategies"]:
    """Return frequencies as float64 that sum to 1, `halving` when None, else raise."""
    if frequencies is None:
        frequencies = halving(len(strategies))
    shares = np.array(frequencies, dtype=np.float64)
    if shares.shape != (len(strategies),):
        raise InputError(
            f"{name}: must give one number for each of {listed(strategies)}; got shape {shares.shape}"
        )
    if not (np.isfinite(shares).all() and (shares >= 0).all() and abs(shares.sum() - 1) < 1e-6):
        raise InputError(f"{name}: must be numbers of at least 0 that sum to 1; got {shown(shares.tolist())}")
    shares /= shares.sum()
    shares.flags.writeable = False
    return shares
