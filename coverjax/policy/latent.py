"""Latents from the router, with and without repeats. They look at no outcome."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError, one_of, shown
from coverjax.policy.base import Known, Policy

ORDERS = ("uniform", "router")


class LatentIID(Policy):
    """Draw a latent from the router, then an outcome, each draw the same.

    The same law as IID: a router alone gains nothing.
    """

    sees = "blind"
    knows = "router"
    acts_on = "latents"
    markov = True

    def init(self, known: Known) -> tuple[()]:
        """Return the empty state."""
        return ()

    def choose(self, known: Known, state: Any, draw: Int[jax.Array, ""]) -> Float[jax.Array, " actions"]:
        """Return log r(z)."""
        assert known.router is not None
        return jnp.log(known.router)

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


class LatentNoRepeat(Policy):
    """Use every latent once before any is used again.

    Pass after pass over the latents in the support, each pass in a new independent order.

    Attributes:
        order: "uniform", all orders equally likely; or "router", without replacement in proportion to
            r(z) (Plackett-Luce).
        support: latents with r(z) <= support are left out; 0 leaves out only those that the router never
            gives.
    """

    order: str = eqx.field(static=True, default="uniform")
    support: float = eqx.field(static=True, default=0.0)

    sees = "latents"
    knows = "router"
    acts_on = "latents"

    def __check_init__(self) -> None:
        one_of("order", self.order, ORDERS)
        if not 0.0 <= self.support < 1.0:
            raise InputError(f"support: must be a probability below 1; got {shown(self.support)}")

    def init(self, known: Known) -> Bool[jax.Array, " latents"]:
        """Return that no latent was used in this pass."""
        return jnp.zeros(known.latents, bool)

    def choose(
        self, known: Known, state: Bool[jax.Array, " latents"], draw: Int[jax.Array, ""]
    ) -> Float[jax.Array, " actions"]:
        """Return log r(z), or equal logits, of the latents that this pass has not used."""
        assert known.router is not None
        weights = jnp.log(known.router) if self.order == "router" else jnp.zeros_like(known.router)
        return jnp.where(self._support(known) & ~state, weights, -jnp.inf)

    def update(
        self,
        known: Known,
        state: Bool[jax.Array, " latents"],
        draw: Int[jax.Array, ""],
        action: Int[jax.Array, ""],
        matched: Bool[jax.Array, " strategies"],
    ) -> Bool[jax.Array, " latents"]:
        """Mark the latent as used; a finished pass is forgotten."""
        used = state | (jnp.arange(known.latents) == action)
        return used & jnp.any(self._support(known) & ~used)

    def _support(self, known: Known) -> Bool[jax.Array, " latents"]:
        assert known.router is not None
        return known.router > self.support
