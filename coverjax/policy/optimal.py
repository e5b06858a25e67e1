"""The best choice of latents for somebody who knows W and sees every outcome."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError, one_of
from coverjax.policy.base import Known, Policy, only
from coverjax.policy.compact import compact, lattice_bits, require_lattice
from coverjax.policy.planning import OBJECTIVES, plans
from coverjax.policy.stage import actions

PLAN_BYTES = 2 << 30
"""The largest table of choices that `prepare` makes at once."""


class OptimalLatent(Policy):
    """Take the latent that maximises the expected AUC, or the coverage at the end, over the whole budget.

    The ceiling of every policy that chooses latents knowing W and seeing its match sets: a backward dynamic
    program over (draw, seen set), V_t(S) = max_z E[reward + V_{t+1}(S')]. At most 16 strategies can occur.
    The plan is made for one budget: a longer run need not begin with the best shorter one. Ties go to the
    lowest latent.

    Attributes:
        objective: "auc", the mean of C(1..K); "final", C(K).
    """

    objective: str = eqx.field(static=True, default="auc")

    sees = "outcomes"
    knows = "true_W"
    acts_on = "latents"
    markov = True

    def __check_init__(self) -> None:
        one_of("objective", self.objective, OBJECTIVES)

    def prepare(self, law_or_model: Any, budget: int) -> dict[str, Any]:
        """Return the best latent for every draw and seen set, and which strategies the sets are of.

        Raises:
            InputError: more strategies can occur than the lattice holds, or the table would exceed 2 GB.
        """
        acts = actions(self, law_or_model)
        require_lattice("OptimalLatent", acts, law_or_model.ids)
        bits = lattice_bits(acts)
        needed = law_or_model.inputs * budget << bits
        if needed > PLAN_BYTES:
            raise InputError(
                f"budget: the table of choices must fit in {PLAN_BYTES >> 30} GB; {law_or_model.inputs} "
                f"inputs x {budget} draws x 2^{bits} seen sets need {needed / 2**30:.0f}; take fewer "
                "inputs at once (law.take) or a smaller budget"
            )
        reduced = compact(acts, bits)
        _, plan = plans(reduced.rows, reduced.masks, budget, bits, self.objective)
        return {"latent": plan, "columns": reduced.columns.astype(np.int32)}

    def init(self, known: Known) -> Bool[jax.Array, " strategies"]:
        """Return that nothing was seen yet."""
        return jnp.zeros_like(known.declared)

    def choose(
        self, known: Known, state: Bool[jax.Array, " strategies"], draw: Int[jax.Array, ""]
    ) -> Float[jax.Array, " actions"]:
        """Return the certain choice of the planned latent."""
        columns = known.plan["columns"]
        bits = (columns >= 0) & state[jnp.maximum(columns, 0)]
        subset = jnp.sum(bits.astype(jnp.int32) << jnp.arange(columns.shape[0], dtype=jnp.int32))
        row = jnp.minimum(draw, known.plan["latent"].shape[0] - 1)
        return only(known.plan["latent"][row, subset].astype(jnp.int32), known.latents)

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
