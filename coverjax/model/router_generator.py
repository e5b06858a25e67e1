"""`RouterGenerator`: a law that first draws a latent, then an outcome given the latent."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float

from coverjax.foundation.checks import InputError, input_ids, one_of
from coverjax.model import outcomes as parts
from coverjax.model.law import KINDS, OutcomeLaw


class RouterGenerator(eqx.Module):
    """The router-generator factorization: z from r(z | x), then an outcome from g(o | x, z).

    Its marginal p(o | x) = sum_z r(z | x) g(o | x, z) is the base law; a policy gains on it only by
    choosing the latents otherwise. Arrays are NumPy float64 and bool.

    Attributes:
        router: r(z | x) [inputs, latents]; rows sum to 1.
        generator: g(o | x, z) [inputs, latents, outcomes]; rows sum to at most 1, the rest is
            off-strategy mass.
        matches: match set of each outcome, [outcomes, strategies] or [inputs, outcomes, strategies];
            None where outcome s is strategy s.
        declared: which strategies are declared [inputs, strategies].
        valid, correct: probability that a draw with this outcome is valid / correct
            [inputs, outcomes], or None.
        names: the inputs' names, as a tuple; `ids` gives them as an array.
    """

    router: Float[np.ndarray, "inputs latents"]
    generator: Float[np.ndarray, "inputs latents outcomes"]
    matches: Bool[np.ndarray, "*inputs outcomes strategies"] | None
    declared: Bool[np.ndarray, "inputs strategies"]
    valid: Float[np.ndarray, "inputs outcomes"] | None
    correct: Float[np.ndarray, "inputs outcomes"] | None
    names: tuple[object, ...] = eqx.field(static=True)

    def __init__(
        self,
        router: Any,
        generator: Any,
        matches: Any = None,
        ids: Sequence[object] | np.ndarray | None = None,
        declared: Any = None,
        valid: Any = None,
        correct: Any = None,
    ) -> None:
        """Check and keep a router and a generator.

        Args:
            router: probability of each latent [inputs, latents]; rows sum to 1 (float32 rounding is
                normalised away). A latent may have probability 0.
            generator: probability of each outcome given a latent [inputs, latents, outcomes].
            matches: bool [outcomes, strategies] or [inputs, outcomes, strategies]; when None the outcomes
                are the strategies.
            ids: distinct names of the inputs, which also name their random streams.
            declared: bool [strategies] or [inputs, strategies]; all strategies when None.
            valid, correct: flag or probability for each outcome, [outcomes] or [inputs, outcomes].

        Raises:
            InputError: naming the input and the latent, outcome or strategy.
        """
        given = parts.probabilities("router", router, ("input", "latent"), ids)
        self.router = parts.normalised_router(given, ids)
        axes = ("input", "latent", "strategy" if matches is None else "outcome")
        self.generator = parts.probabilities("generator", generator, axes, ids)
        inputs, latents = self.router.shape
        if self.generator.shape[:2] != (inputs, latents):
            raise InputError(
                f"generator: must be [{inputs}, {latents}, outcomes], a row for every input and latent of "
                f"the router; got shape {self.generator.shape}"
            )
        width = self.generator.shape[-1]
        names = input_ids(ids, inputs)
        self.matches = None if matches is None else parts.match_sets(matches, inputs, width)
        strategies = width if self.matches is None else self.matches.shape[-1]
        self.declared = parts.declared_mask(declared, inputs, strategies)
        self.valid = parts.flag_probabilities("valid", valid, inputs, width, names)
        self.correct = parts.flag_probabilities("correct", correct, inputs, width, names)
        self.names = tuple(names.tolist())

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
    def latents(self) -> int:
        """Number of latents."""
        return int(self.router.shape[-1])

    @property
    def strategies(self) -> int:
        """Number of strategy columns, declared or not."""
        return int(self.declared.shape[-1])

    @property
    def outcomes(self) -> int:
        """Number of outcomes."""
        return int(self.generator.shape[-1])

    @property
    def declared_count(self) -> np.ndarray:
        """M, the number of declared strategies of each input, int64 [inputs]."""
        return self.declared.sum(axis=1)

    def marginal(self) -> OutcomeLaw:
        """Return the base law p(o | x) = sum_z r(z | x) g(o | x, z): what iid sampling draws from."""
        probs = (self.router[:, None] @ self.generator)[:, 0]
        return OutcomeLaw(probs, self.matches, self.declared, self.valid, self.correct, self.names)

    def strategy_table(self) -> Float[np.ndarray, "inputs latents strategies"]:
        """Return W[z, s] = P(s in match set | x, z), 0 for strategies that are not declared."""
        return parts.containment(self.generator, self.matches, self.declared)

    def take(self, indices: Any) -> "RouterGenerator":
        """Return the model of some inputs, by index or bool mask, in the order given."""
        rows = parts.rows_of(indices, self.inputs)
        return RouterGenerator(
            self.router[rows],
            self.generator[rows],
            matches=parts.take_sets(self.matches, rows),
            ids=[self.names[row] for row in rows],
            declared=self.declared[rows],
            valid=None if self.valid is None else self.valid[rows],
            correct=None if self.correct is None else self.correct[rows],
        )

    def counting(self, coverage: str) -> "RouterGenerator":
        """Return the model in which only draws of one kind ("valid", "correct") match anything.

        The other draws have spent their budget and count as off-strategy. "raw" is the model itself.

        Raises:
            InputError: the model holds no such flag.
        """
        if one_of("coverage", coverage, KINDS) == "raw":
            return self
        flag = parts.require_flag(coverage, getattr(self, coverage))
        generator = self.generator * flag[:, None]
        return RouterGenerator(self.router, generator, self.matches, self.names, self.declared)
