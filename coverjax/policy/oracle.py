"""The best that sampling could do if strategies, or outcomes, could be called by name."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError
from coverjax.policy.base import Known, Policy


class OracleNoRepeat(Policy):
    """Name one declared strategy a draw, never one twice: C(k) = min(k, M) / M.

    The order is uniformly random; a named strategy is matched for certain, also one that the law never
    gives. With match sets a draw of the base law may cover several strategies at once, so that
    this oracle can be below iid sampling; `EnvelopeOracle` is the bound there.
    """

    sees = "oracle"
    knows = "true_W"
    acts_on = "strategies"
    markov = True

    def init(self, known: Known) -> Bool[jax.Array, " strategies"]:
        """Return that nothing was named yet."""
        return jnp.zeros_like(known.declared)

    def choose(
        self, known: Known, state: Bool[jax.Array, " strategies"], draw: Int[jax.Array, ""]
    ) -> Float[jax.Array, " actions"]:
        """Return equal logits for the declared strategies that were not named, or for all at the end."""
        return unnamed_logits(jnp.zeros(known.declared.shape), known.declared, state)

    def update(
        self,
        known: Known,
        state: Bool[jax.Array, " strategies"],
        draw: Int[jax.Array, ""],
        action: Int[jax.Array, ""],
        matched: Bool[jax.Array, " strategies"],
    ) -> Bool[jax.Array, " strategies"]:
        """Add the named strategy."""
        return state | matched


class EnvelopeOracle(Policy):
    """Bound coverage at each k by the largest union of k outcomes that the base law can give.

    Exact over the subset lattice where at most 16 strategies can occur, otherwise greedy (at least
    1 - 1/e of the bound), and the result says which. The best k outcomes for one k need not contain the
    best k - 1, so no single sequence of draws reaches the envelope at every k: there is nothing to
    simulate. Strategies that no outcome of positive probability matches stay uncovered, unlike under
    `OracleNoRepeat`.
    """

    sees = "oracle"
    knows = "true_W"
    acts_on = "outcomes"
    no_sequence = "no single sequence of draws reaches the envelope at every k; use exact"

    def init(self, known: Known) -> Any:
        """Refuse: there is no sequence."""
        raise InputError(f"EnvelopeOracle: {self.no_sequence}")

    def choose(self, known: Known, state: Any, draw: Int[jax.Array, ""]) -> Float[jax.Array, " actions"]:
        """Refuse: there is no sequence."""
        raise InputError(f"EnvelopeOracle: {self.no_sequence}")

    def update(
        self,
        known: Known,
        state: Any,
        draw: Int[jax.Array, ""],
        action: Int[jax.Array, ""],
        matched: Bool[jax.Array, " strategies"],
    ) -> Any:
        """Refuse: there is no sequence."""
        raise InputError(f"EnvelopeOracle: {self.no_sequence}")


def unnamed_logits(
    logits: Float[jax.Array, " strategies"],
    allowed: Bool[jax.Array, " strategies"],
    named: Bool[jax.Array, " strategies"],
) -> Float[jax.Array, " strategies"]:
    """Keep the logits of what is allowed and was not named; when nothing is left, of all allowed."""
    left = allowed & ~named
    return jnp.where(jnp.where(jnp.any(left), left, allowed), logits, -jnp.inf)
