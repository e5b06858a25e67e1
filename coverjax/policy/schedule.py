"""A fixed plan: each draw has its own router, whatever happens."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError
from coverjax.policy.base import Known, Policy


def _as_array(values: Any) -> Any:
    return values if hasattr(values, "shape") else np.asarray(values)


class LatentSchedule(Policy):
    """Draw i takes its latent from its own router, softmax(logits[i]), whatever came before.

    It looks at nothing while it runs. The logits may have been fitted to the true W (training does so), so
    it counts as knowing it; a schedule made from less is not told apart.

    Attributes:
        logits: unnormalised log-probabilities, -inf for never: [draws, latents], or one schedule for every
            input, [inputs, draws, latents]. A budget beyond its draws is refused.
    """

    logits: Float[jax.Array, "*inputs draws latents"] = eqx.field(converter=_as_array)

    sees = "blind"
    knows = "true_W"
    acts_on = "latents"
    markov = True

    def __check_init__(self) -> None:
        shape = np.shape(self.logits)
        if len(shape) not in (2, 3) or 0 in shape:
            raise InputError(
                "logits: must be [draws, latents] or [inputs, draws, latents], a row of log-probabilities "
                f"for every draw; got shape {shape}"
            )

    def prepare(self, law_or_model: Any, budget: int) -> Float[np.ndarray, "inputs draws latents"]:
        """Return the logits of every input's first `budget` draws.

        Raises:
            InputError: the schedule is shorter than the budget, its shape does not fit the model, or a row
                is no distribution.
        """
        logits = np.asarray(self.logits)
        wanted = (law_or_model.inputs, logits.shape[-2], law_or_model.latents)
        if logits.shape not in (wanted, wanted[1:]):
            raise InputError(
                f"logits: must be [draws, {wanted[2]}] or [{wanted[0]}, draws, {wanted[2]}] for this model; "
                f"got shape {logits.shape}"
            )
        if logits.shape[-2] < budget:
            raise InputError(
                f"logits: must hold a row for every draw; got {logits.shape[-2]} rows for a budget "
                f"of {budget}"
            )
        used = logits[..., :budget, :]
        if not (used < np.inf).all() or not np.isfinite(used).any(axis=-1).all():
            raise InputError(
                "logits: must be numbers or -inf, with at least one number in every row; got NaN, +inf "
                "or a row of -inf"
            )
        return np.broadcast_to(used, (wanted[0], *used.shape[-2:]))

    def init(self, known: Known) -> tuple[()]:
        """Return the empty state."""
        return ()

    def choose(self, known: Known, state: Any, draw: Int[jax.Array, ""]) -> Float[jax.Array, " actions"]:
        """Return the draw's own logits."""
        return jnp.take(known.plan, draw, axis=0, mode="clip")

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
