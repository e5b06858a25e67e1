"""What training needs of every input, as float32 arrays on the device."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.closed_form.iid import iid_strategy_auc
from coverjax.foundation import lattice
from coverjax.foundation.checks import InputError, shown
from coverjax.model.router_generator import RouterGenerator
from coverjax.policy.base import Known
from coverjax.policy.compact import compact, lattice_bits
from coverjax.policy.networks import DTYPE
from coverjax.policy.stage import actions, knowledge


class Problem(eqx.Module):
    """The inputs to train on; every array has inputs as its first axis.

    Attributes:
        known: what the policy knows.
        router: the base router r(z).
        table: W[z, s], 0 for strategies that are not declared.
        draws: P(outcome | z), and as the last outcome what is missing to 1.
        sets: match sets of these outcomes, of the last the empty one; None where outcome s is strategy s.
        shares: what each strategy counts, 0 for those that are not declared; rows sum to 1.
        scale, offset: what turns AUC into Gain; scale 0 where F can't be but 0; else 1 and 0.
        weight: what the input counts.
        rows, masks, bit_shares: the latents on the lattice of the strategies that can occur, and what these
            count; None where they are too many.
    """

    known: Known
    router: Float[jax.Array, "inputs latents"]
    table: Float[jax.Array, "inputs latents strategies"]
    draws: Float[jax.Array, "inputs latents outcomes"]
    sets: Bool[jax.Array, "inputs outcomes strategies"] | None
    shares: Float[jax.Array, "inputs strategies"]
    scale: Float[jax.Array, " inputs"]
    offset: Float[jax.Array, " inputs"]
    weight: Float[jax.Array, " inputs"]
    columns: Int[jax.Array, "inputs bits"] | None
    rows: Float[jax.Array, "inputs latents atoms"] | None
    masks: Int[jax.Array, "inputs atoms"] | None
    bit_shares: Float[jax.Array, "inputs bits"] | None

    @property
    def bits(self) -> int:
        """Number of strategies on the lattice, 0 where there is none."""
        return 0 if self.columns is None else int(self.columns.shape[-1])


def problem(
    policy: Any,
    model: RouterGenerator,
    budget: int,
    objective: str,
    weights: Any = None,
    input_weights: Any = None,
) -> Problem:
    """Gather the arrays of a policy's training on a model.

    Inputs that can't be trained on (no strategy that counts, or a Gain without room) get weight 0.

    Raises:
        InputError: weights of the wrong shape, or no input that can be trained on.
    """
    shares = _shares(model, weights)
    scale, offset = np.ones(model.inputs), np.zeros(model.inputs)
    weight = _input_weights(model, input_weights) * (shares.sum(axis=1) > 0)
    if objective == "gain":
        scale, offset, room = _gain(model, shares, budget)
        weight = weight * room
    elif objective == "full_coverage":
        # Where a strategy that counts is out of reach F is 0 whatever is chosen.
        scale = ((shares == 0) | (model.strategy_table() > 0).any(axis=1)).all(axis=1).astype(np.float64)
        weight = weight * scale
    if not weight.sum() > 0:
        raise InputError(
            f"model: no input can be trained for {objective}: each has weight 0, no declared strategy that "
            "counts, (gain) an oracle no better than independent draws, or (full_coverage) a strategy that "
            "no latent gives"
        )
    acts = actions(policy, model)
    bits = lattice_bits(acts)
    reduced = compact(acts, bits) if bits <= lattice.LARGEST else None
    known = knowledge(policy, model, budget)
    on_bits = None
    if reduced is not None:
        there = reduced.columns >= 0
        on_bits = np.where(there, np.take_along_axis(shares, np.maximum(reduced.columns, 0), axis=1), 0.0)
    given: dict[str, Any] = {
        "known": known,
        "router": model.router,
        "table": model.strategy_table(),
        "draws": _with_rest(model.generator),
        "sets": _with_empty(model),
        "shares": shares,
        "scale": scale,
        "offset": offset,
        "weight": weight / weight.mean(),
        "columns": None if reduced is None else reduced.columns,
        "rows": None if reduced is None else reduced.rows,
        "masks": None if reduced is None else reduced.masks,
        "bit_shares": on_bits,
    }
    return jax.tree.map(on_device, Problem(**given))


def on_device(array: Any) -> jax.Array:
    """Return an array in the dtypes of training: float32, int32 and bool."""
    given = np.asarray(array)
    if given.dtype == bool:
        return jnp.asarray(given)
    return jnp.asarray(given.astype(DTYPE if np.issubdtype(given.dtype, np.floating) else np.int32))


def _shares(model: RouterGenerator, weights: Any) -> Float[np.ndarray, "inputs strategies"]:
    shape = (model.inputs, model.strategies)
    given = np.ones(shape) if weights is None else np.asarray(weights, np.float64)
    if given.shape not in (shape, shape[1:]):
        raise InputError(
            f"weights: must be [{shape[1]}] or [{shape[0]}, {shape[1]}], a number for every strategy; got "
            f"shape {given.shape}"
        )
    if not (np.isfinite(given) & (given >= 0)).all():
        raise InputError("weights: must be finite numbers >= 0; got one that is not")
    counted = np.broadcast_to(given, shape) * model.declared
    total = counted.sum(axis=1, keepdims=True)
    return counted / np.where(total > 0, total, 1.0)


def _input_weights(model: RouterGenerator, weights: Any) -> Float[np.ndarray, " inputs"]:
    if weights is None:
        return np.ones(model.inputs)
    given = np.asarray(weights, np.float64)
    if given.shape != (model.inputs,) or not (np.isfinite(given) & (given >= 0)).all():
        raise InputError(
            f"input_weights: must be [{model.inputs}] finite numbers >= 0; got {shown(given.tolist())}"
        )
    return given


def _gain(model: RouterGenerator, shares: np.ndarray, budget: int) -> tuple[np.ndarray, ...]:
    """Gain as scale * AUC + offset, and where it is defined."""
    low = np.sum(shares * iid_strategy_auc(model.marginal().marginals(), budget), axis=1)
    best = np.cumsum(-np.sort(-shares, axis=1), axis=1)
    high = best[:, np.minimum(np.arange(budget), shares.shape[1] - 1)].mean(axis=1)
    room = high > low + 1e-12
    scale = 1.0 / np.where(room, high - low, 1.0)
    return scale, -low * scale, room


def _with_rest(generator: np.ndarray) -> np.ndarray:
    rest = np.maximum(1.0 - generator.sum(axis=2, keepdims=True), 0.0)
    return np.concatenate([generator, rest], axis=2)


def _with_empty(model: RouterGenerator) -> np.ndarray | None:
    if model.matches is None:
        return None
    sets = np.broadcast_to(model.matches, (model.inputs, *model.matches.shape[-2:]))
    return np.concatenate([sets, np.zeros_like(sets[:, :1])], axis=1)
