"""What training starts from: a policy, and which of its numbers are parameters."""

import inspect
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from coverjax.foundation.checks import InputError
from coverjax.model.router_generator import RouterGenerator
from coverjax.policy.latent import LatentIID
from coverjax.policy.learned import LearnedLatent
from coverjax.policy.networks import DTYPE, SubsetLogits, TabularLogits
from coverjax.policy.schedule import LatentSchedule
from coverjax.policy.stage import require_protocol

START = "offer a classmethod start(key, model, budget, ...) that returns a policy, or give a policy"


def start_policy(
    key: jax.Array, policy_class: Any, model: RouterGenerator, budget: int, options: dict[str, Any]
) -> Any:
    """Return the policy that training starts from.

    LatentIID becomes a router of its own for every input, LatentSchedule one for every input and draw, both
    as `LearnedLatent` that sees nothing; other classes are asked by their `start`; a policy is taken as it
    is.

    Raises:
        InputError: it can't be started, an option that it does not have, or nothing to train.
    """
    if policy_class in (LatentIID, LatentSchedule):
        _refuse(policy_class.__name__, options, ())
        shape = (model.inputs, 1 if policy_class is LatentIID else budget, model.latents)
        # Equal rows would get equal derivatives, and stay equal.
        noise = 0.0 if policy_class is LatentIID else 0.5 * jax.random.normal(key, shape, DTYPE)
        return LearnedLatent(TabularLogits(jnp.zeros(shape, DTYPE) + noise), sees="blind")
    if not isinstance(policy_class, type):
        policy = policy_class
        _refuse(type(policy).__name__, options, ())
    else:
        start = getattr(policy_class, "start", None)
        if not callable(start):
            raise InputError(f"policy_class: {policy_class.__name__} can't be trained: {START}")
        _refuse(policy_class.__name__, options, tuple(inspect.signature(start).parameters)[3:])
        policy = start(key, model, budget, **options)
    require_protocol(policy)
    if policy.acts_on != "latents":
        raise InputError(
            f"policy_class: must choose latents; {type(policy).__name__} acts on {policy.acts_on}"
        )
    return policy


def finished(policy: Any, policy_class: Any) -> Any:
    """Return a trained policy as the class that was asked for, where that can hold what was learned."""
    if policy_class is LatentSchedule:
        return LatentSchedule(jax.device_get(policy.params.logits))
    return policy


def parted(policy: Any) -> tuple[Any, Any]:
    """Part a policy into its parameters and the rest: of a `LearnedLatent` the network's arrays."""
    if isinstance(policy, LearnedLatent):
        trained = jax.tree.map(lambda leaf: False, policy)
        numbers = jax.tree.map(eqx.is_inexact_array, policy.params)
        trained = eqx.tree_at(lambda tree: tree.params, trained, numbers)
    else:
        trained = jax.tree.map(eqx.is_inexact_array_like, policy)
    params, rest = eqx.partition(policy, trained)
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf, DTYPE), params)
    if not jax.tree.leaves(params):
        raise InputError(
            f"policy_class: {type(policy).__name__} must hold arrays of floats to train; it holds none"
        )
    return params, rest


def own_rows(policy: Any) -> bool:
    """Whether every input has parameters of its own."""
    return is_table(policy) and policy.params.rows > 1


def is_table(policy: Any) -> bool:
    """Whether the parameters are logits themselves."""
    return isinstance(policy, LearnedLatent) and isinstance(policy.params, TabularLogits | SubsetLogits)


def _refuse(name: str, options: dict[str, Any], known: tuple[str, ...]) -> None:
    """Raise on options that neither training nor the policy has."""
    for option in options:
        if option not in known:
            has = f"{name} has {', '.join(known)}" if known else f"{name} has no settings"
            raise InputError(
                f"{option}: must be a setting of TrainConfig or of the policy; {has}; see "
                "help(coverjax.TrainConfig)"
            )
