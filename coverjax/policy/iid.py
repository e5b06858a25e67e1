"""Independent draws from the base law: what every policy is measured against."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from coverjax.policy.base import Known, Policy


class IID(Policy):
    """Draw independently from the base law p(o | x), each draw the same.

    On a router-generator that is the marginal sum_z r(z) g(o | z). Sees nothing, knows nothing.
    """

    sees = "blind"
    knows = "nothing"
    acts_on = "base"
    markov = True

    def init(self, known: Known) -> tuple[()]:
        """Return the empty state."""
        return ()

    def choose(self, known: Known, state: Any, draw: Int[jax.Array, ""]) -> Float[jax.Array, " actions"]:
        """Return the logit of the only action, a draw from the base law."""
        return jnp.zeros(1)

    def update(
        self,
        known: Known,
        state: Any,
        draw: Int[jax.Array, ""],
        action: Int[jax.Array, ""],
        matched: Bool[jax.Array, " strategies"],
    ) -> Any:
        """Return the empty state."""
        return state
