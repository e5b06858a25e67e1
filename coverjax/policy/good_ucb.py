"""Good-UCB: explore by how many strategies a latent has shown only once."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError
from coverjax.policy.base import Known, Policy, only


class GoodUCB(Policy):
    """Take the latent with the largest Good-Turing upper bound of unseen mass.

    In draw t the index of latent z is

        (strategies matched once in the WHOLE run so far, and by z) / n_z + c sqrt(log(4 t) / n_z),

    n_z the number of its draws; every latent is drawn once first, lowest index first, as ties are decided. It
    knows nothing beforehand and sees what its draws matched. At small t the second term dominates and it is
    nearly round-robin: report c beside its results.

    Attributes:
        c: weight of the confidence term, >= 0; 1 + sqrt(2) follows the analysis.

    Source: Bubeck, Ernst, Garivier, "Optimal discovery with probabilistic expert advice", JMLR 14 (2013).
    """

    c: float = 1.0 + math.sqrt(2.0)

    sees = "outcomes"
    knows = "nothing"
    acts_on = "latents"

    def __check_init__(self) -> None:
        if isinstance(self.c, float | int) and not (math.isfinite(self.c) and self.c >= 0.0):
            raise InputError(f"c: must be a finite number >= 0; got {self.c!r}")

    def init(self, known: Known) -> dict[str, jax.Array]:
        """Return zero counts."""
        strategies = known.declared.shape[0]
        return {
            "matched": jnp.zeros(strategies, jnp.int32),
            "by": jnp.zeros(strategies, jnp.int32),
            "draws": jnp.zeros(known.latents, jnp.int32),
        }

    def choose(
        self, known: Known, state: dict[str, jax.Array], draw: Int[jax.Array, ""]
    ) -> Float[jax.Array, " actions"]:
        """Return the certain choice of the latent with the largest index."""
        once = state["matched"] == 1
        by = state["by"][None, :] == jnp.arange(known.latents)[:, None]
        singles = jnp.sum((once[None, :] & by).astype(jnp.int32), axis=-1)
        draws = state["draws"].astype(jnp.float32)
        tried = draws > 0
        share = jnp.where(tried, draws, 1.0)
        wide = jnp.sqrt(jnp.log(4.0 * (draw.astype(jnp.float32) + 1.0)) / share)
        index = singles.astype(jnp.float32) / share + self.c * wide
        return only(jnp.argmax(jnp.where(tried, index, jnp.inf)), known.latents)

    def update(
        self,
        known: Known,
        state: dict[str, jax.Array],
        draw: Int[jax.Array, ""],
        action: Int[jax.Array, ""],
        matched: Bool[jax.Array, " strategies"],
    ) -> dict[str, jax.Array]:
        """Count the draw and what it matched; remember by which latent."""
        return {
            "matched": state["matched"] + matched.astype(jnp.int32),
            "by": jnp.where(matched, action, state["by"]),
            "draws": state["draws"] + (jnp.arange(known.latents) == action).astype(jnp.int32),
        }
