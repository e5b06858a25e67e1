"""The mixture of families: each input knows whose it is; its own family's strategies are its denominator."""

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from coverjax.foundation.checks import InputError, listed, shown
from coverjax.sequences.tasks.base import Task, ValidationResult, checked_frequencies
from coverjax.sequences.tasks.family import Family


class Mixed(NamedTuple):
    """An input of the mixture.

    Attributes:
        family: name of the family it belongs to.
        x: the input as that family knows it.
    """

    family: str
    x: Any


class MultiTask(Task):
    """Several families in one: prompts name theirs by their first word, strategies are "family/strategy"."""

    name = "multi_task"

    def __init__(
        self, families: Sequence[Family], shares: "Sequence[float] | np.ndarray | None" = None
    ) -> None:
        """Mix families, equally often by default."""
        self._families = {family.name: family for family in families}
        if not families or len(self._families) < len(families):
            raise InputError(
                f"families: must be different ones, at least one; got {listed(f.name for f in families)}"
            )
        equal = np.full(len(families), 1.0 / len(families))
        self._shares = checked_frequencies(
            equal if shares is None else shares, tuple(self._families), "shares"
        )

    def families(self) -> tuple[str, ...]:
        """Return the names of the families."""
        return tuple(self._families)

    def _own(self, x: Any) -> tuple[Family, Any]:
        if not isinstance(x, Mixed) or x.family not in tuple(self._families):
            raise InputError(
                f"x: must be an input of {self.name}, from sample_input or parse_x; got {shown(x)}"
            )
        return self._families[x.family], x.x

    def family(self, x: Hashable) -> str:
        """Return the name of the family that x belongs to."""
        return self._own(x)[0].name

    def strategies(self, x: Hashable | None = None) -> tuple[str, ...]:
        """Return the declared strategies: those of the own family of x, which are its denominator; all of
        them when x is None."""
        families = self._families.values() if x is None else [self._own(x)[0]]
        return tuple(f"{family.name}/{name}" for family in families for name in family.strategies())

    @property
    def frequencies(self) -> Float[np.ndarray, " strategies"]:
        """Share of each of all strategies in a corpus."""
        families = self._families.values()
        parts = [share * f.frequencies for share, f in zip(self._shares, families, strict=True)]
        return np.concatenate(parts)

    def frequencies_of(self, x: Hashable) -> Float[np.ndarray, " strategies"]:
        """Return the share of each strategy of x's own family, given that the input is x."""
        family, own = self._own(x)
        return family.frequencies_of(own)

    def vocabulary(self) -> tuple[str, ...]:
        """Return all tokens that prompts and traces of any family are written in, sorted."""
        return tuple(sorted({token for family in self._families.values() for token in family.vocabulary()}))

    def sample_input(self, rng: np.random.Generator) -> Mixed:
        """Draw a family by its share, then an input of it."""
        name = str(rng.choice(list(self._families), p=self._shares))
        return Mixed(name, self._families[name].sample_input(rng))

    def render_x(self, x: Hashable) -> str:
        """Return the prompt that states x, the same that its family gives."""
        family, own = self._own(x)
        return family.render_x(own)

    def parse_x(self, x_text: str) -> Mixed:
        """Return the input that a prompt states, with the family that its first word names.

        Raises:
            InputError: it states none.
        """
        word = str(x_text).partition(" ")[0]
        for name, family in self._families.items():
            if word == family.prompt_word:
                return Mixed(name, family.parse_x(x_text))
        words = listed(family.prompt_word for family in self._families.values())
        raise InputError(f"x_text: must be a prompt that begins with one of {words}; got {shown(x_text)}")

    def render(self, x: Hashable, strategy: str) -> str:
        """Return the trace of a strategy, "family/strategy", on x."""
        family, own = self._own(x)
        if strategy not in self.strategies(x):
            raise InputError(f"strategy: must be one of {listed(self.strategies(x))}; got {shown(strategy)}")
        return family.render(own, strategy.removeprefix(f"{family.name}/"))

    def validate_y_text(self, x: Hashable, y_text: str) -> ValidationResult:
        """Say what a generated text is, as a trace for x, by the rules of x's own family."""
        family, own = self._own(x)
        found = family.validate_y_text(own, y_text)
        if not found.strategy_matches:
            return found
        matches = frozenset(f"{family.name}/{name}" for name in found.strategy_matches)
        return dataclasses.replace(found, strategy_matches=matches)
