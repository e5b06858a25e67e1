"""The latent with the most new strategies to be expected, one draw ahead."""

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from coverjax.policy.base import Known, Policy, first_best, only

TIE = 1e-5
"""Relative difference of scores that counts as a tie: above the rounding of float32 sums, so that exact and
simulated runs decide alike."""


class GreedyLatent(Policy):
    """Take the latent with the largest expected number of new strategies in the next draw.

    argmax_z sum over unseen s of W[z, s]; ties (within a relative 1e-5) go to the lowest latent. It knows
    W and sees what its draws matched.
    """

    sees = "outcomes"
    knows = "true_W"
    acts_on = "latents"
    markov = True

    def init(self, known: Known) -> Bool[jax.Array, " strategies"]:
        """Return that nothing was seen yet."""
        return jnp.zeros_like(known.declared)

    def choose(
        self, known: Known, state: Bool[jax.Array, " strategies"], draw: Int[jax.Array, ""]
    ) -> Float[jax.Array, " actions"]:
        """Return the certain choice of the best latent."""
        assert known.table is not None
        # A matrix product would lose digits on accelerators that round its inputs.
        scores = jnp.sum(jnp.where(state, 0.0, known.table), axis=-1)
        return only(first_best(scores, TIE), known.latents)

    def update(
        self,
        known: Known,
        state: Bool[jax.Array, " strategies"],
        draw: Int[jax.Array, ""],
        action: Int[jax.Array, ""],
        matched: Bool[jax.Array, " strategies"],
    ) -> Bool[jax.Array, " strategies"]:
        """Add what the draw matched."""
        return state | matched
