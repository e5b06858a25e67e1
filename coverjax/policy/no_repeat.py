"""Strategies of the base law without replacement."""

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from coverjax.policy.base import Known, Policy
from coverjax.policy.oracle import unnamed_logits


class BaseNoRepeat(Policy):
    """Draw strategies without replacement in proportion to the base law (Plackett-Luce).

    What iid sampling becomes when every repeat is rejected at no cost: the next strategy is drawn in
    proportion to q_s among those not drawn yet. Strategies with q_s = 0 are never drawn; when all others
    were, it starts again. It names strategies and gets them, so it sees as an oracle.
    """

    sees = "oracle"
    knows = "true_W"
    acts_on = "strategies"
    markov = True

    def init(self, known: Known) -> Bool[jax.Array, " strategies"]:
        """Return that nothing was drawn yet."""
        return jnp.zeros_like(known.declared)

    def choose(
        self, known: Known, state: Bool[jax.Array, " strategies"], draw: Int[jax.Array, ""]
    ) -> Float[jax.Array, " actions"]:
        """Return log q_s of the strategies not drawn yet, or of all when none is left."""
        assert known.base is not None
        return unnamed_logits(jnp.log(known.base), known.base > 0, state)

    def update(
        self,
        known: Known,
        state: Bool[jax.Array, " strategies"],
        draw: Int[jax.Array, ""],
        action: Int[jax.Array, ""],
        matched: Bool[jax.Array, " strategies"],
    ) -> Bool[jax.Array, " strategies"]:
        """Add the drawn strategy."""
        return state | matched
