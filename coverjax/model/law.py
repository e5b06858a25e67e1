"""`OutcomeLaw`: the known law of one draw, for every input."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float

from coverjax.foundation.checks import InputError, input_ids, one_of
from coverjax.model import outcomes as parts

KINDS = ("raw", "valid", "correct")
"""Kinds of coverage: all draws count, those that are valid, those that are correct."""


class OutcomeLaw(eqx.Module):
    """The law of one draw: outcomes with probabilities, and the set of strategies that each matches.

    A draw on input i gives outcome o with probability ``probs[i, o]`` and matches the strategies of
    its match set, possibly none. What a row lacks to 1 is off-strategy mass: draws that match nothing
    and are spent all the same. Build it with `from_probs` (every outcome is one strategy) or
    `from_match_sets`. Arrays are NumPy float64 and bool.

    Attributes:
        probs: probability of each outcome [inputs, outcomes].
        matches: match set of each outcome, [outcomes, strategies] or [inputs, outcomes, strategies];
            None where outcome s is strategy s ("single label").
        declared: which strategies are declared [inputs, strategies]; their number is M. Draws that
            match only others count as off-strategy.
        valid, correct: probability that a draw with this outcome is valid / correct
            [inputs, outcomes], or None.
        names: the inputs' names, as a tuple; `ids` gives them as an array.
    """

    probs: Float[np.ndarray, "inputs outcomes"]
    matches: Bool[np.ndarray, "*inputs outcomes strategies"] | None
    declared: Bool[np.ndarray, "inputs strategies"]
    valid: Float[np.ndarray, "inputs outcomes"] | None
    correct: Float[np.ndarray, "inputs outcomes"] | None
    names: tuple[object, ...] = eqx.field(static=True)

    @classmethod
    def from_probs(
        cls,
        probs: Any,
        ids: Sequence[object] | np.ndarray | None = None,
        declared: Any = None,
        valid: Any = None,
        correct: Any = None,
    ) -> "OutcomeLaw":
        """Build a law whose draws match at most one strategy.

        Args:
            probs: probability of each strategy [inputs, strategies]; rows sum to at most 1, the rest is
                off-strategy mass. A row that exceeds 1 by rounding is normalised in float64.
            ids: distinct names of the inputs, which also name their random streams; 0, 1, ... when None.
            declared: which strategies are declared, bool [strategies] or [inputs, strategies]; all of
                them when None. A declared strategy may have probability 0.
            valid, correct: flag or probability that a draw of a strategy is valid / correct,
                [strategies] or [inputs, strategies].

        Raises:
            InputError: naming the input and the strategy.

        >>> law = OutcomeLaw.from_probs([[0.5, 0.3, 0.1]], ids=["x"])
        >>> law.marginals().tolist(), law.off_strategy.round(12).tolist()
        ([[0.5, 0.3, 0.1]], [0.1])
        """
        return cls._checked(probs, None, ids, declared, valid, correct)

    @classmethod
    def from_match_sets(
        cls,
        probs: Any,
        matches: Any,
        ids: Sequence[object] | np.ndarray | None = None,
        declared: Any = None,
        valid: Any = None,
        correct: Any = None,
    ) -> "OutcomeLaw":
        """Build a law whose draws match sets of strategies.

        Args:
            probs: probability of each outcome [inputs, outcomes]; rows sum to at most 1, the rest
                matches nothing.
            matches: which strategies an outcome matches, bool [outcomes, strategies] or
                [inputs, outcomes, strategies]; a row may be empty.
            ids, declared, valid, correct: as for `from_probs`, with outcomes for `valid` and `correct`.

        Raises:
            InputError: naming the input and the outcome.

        >>> law = OutcomeLaw.from_match_sets([[0.5, 0.5]], [[True, False], [True, True]])
        >>> law.marginals().tolist()
        [[1.0, 0.5]]
        """
        if matches is None:
            raise InputError(
                "matches: must give the match set of every outcome; for single labels use from_probs"
            )
        return cls._checked(probs, matches, ids, declared, valid, correct)

    @classmethod
    def _checked(
        cls, probs: Any, matches: Any, ids: Any, declared: Any, valid: Any, correct: Any
    ) -> "OutcomeLaw":
        axes = ("input", "strategy" if matches is None else "outcome")
        array = parts.probabilities("probs", probs, axes, ids)
        inputs, width = array.shape
        names = input_ids(ids, inputs)
        sets = None if matches is None else parts.match_sets(matches, inputs, width)
        strategies = width if sets is None else sets.shape[-1]
        return cls(
            probs=array,
            matches=sets,
            declared=parts.declared_mask(declared, inputs, strategies),
            valid=parts.flag_probabilities("valid", valid, inputs, width, names),
            correct=parts.flag_probabilities("correct", correct, inputs, width, names),
            names=tuple(names.tolist()),
        )

    @property
    def ids(self) -> np.ndarray:
        """Name of each input, object [inputs]."""
        return parts.name_array(self.names)

    @property
    def single_label(self) -> bool:
        """Whether every draw matches at most one strategy by construction."""
        return self.matches is None

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return len(self.names)

    @property
    def strategies(self) -> int:
        """Number of strategy columns, declared or not."""
        return int(self.declared.shape[-1])

    @property
    def outcomes(self) -> int:
        """Number of outcomes."""
        return int(self.probs.shape[-1])

    @property
    def declared_count(self) -> np.ndarray:
        """M, the number of declared strategies of each input, int64 [inputs]."""
        return self.declared.sum(axis=1)

    @property
    def off_strategy(self) -> Float[np.ndarray, " inputs"]:
        """Probability that one draw matches no declared strategy [inputs]."""
        something = parts.matches_something(self.outcomes, self.matches, self.declared)
        return parts.off_strategy_mass(np.where(something, self.probs, 0.0))

    def marginals(self) -> Float[np.ndarray, "inputs strategies"]:
        """Return q_s = P(s in match set), 0 for strategies that are not declared.

        With sets the row may sum to more than 1.
        """
        return parts.containment(self.probs, self.matches, self.declared)

    def match_table(self) -> Bool[np.ndarray, "inputs outcomes strategies"]:
        """Return the declared strategies that each outcome matches (a full copy: mind its size)."""
        sets = np.eye(self.strategies, dtype=bool) if self.matches is None else self.matches
        return sets & self.declared[:, None]

    def take(self, indices: Any) -> "OutcomeLaw":
        """Return the law of some inputs, by index or bool mask, in the order given."""
        rows = parts.rows_of(indices, self.inputs)
        return OutcomeLaw(
            probs=self.probs[rows],
            matches=parts.take_sets(self.matches, rows),
            declared=self.declared[rows],
            valid=None if self.valid is None else self.valid[rows],
            correct=None if self.correct is None else self.correct[rows],
            names=tuple(self.names[row] for row in rows),
        )

    def counting(self, coverage: str) -> "OutcomeLaw":
        """Return the law in which only draws of one kind match anything.

        The probability that a draw is not valid (or not correct) moves to "matches nothing": such a draw has
        spent its budget. Raw coverage of the result is `coverage` coverage of this law.

        Raises:
            InputError: the law holds no such flag.
        """
        if one_of("coverage", coverage, KINDS) == "raw":
            return self
        flag = parts.require_flag(coverage, getattr(self, coverage))
        return OutcomeLaw(self.probs * flag, self.matches, self.declared, None, None, self.names)
