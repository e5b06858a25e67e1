"""Any policy of latents through real generation: choose, generate, validate, tell the policy, and again."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from coverjax.foundation.checks import InputError, shown, whole_number
from coverjax.learning.problem import on_device
from coverjax.logs.log import SampleLog
from coverjax.model.router_generator import RouterGenerator
from coverjax.policy.stage import Frozen, joined, knowledge, require_fit, split
from coverjax.sequences.generation import as_log, generate, text_keys, validated
from coverjax.sequences.language_model import LanguageModel
from coverjax.sequences.tasks.base import Task, match_matrix


def roll_out(
    key: jax.Array,
    model: LanguageModel,
    task: Task,
    inputs: Sequence[Any],
    policy: Any,
    known: RouterGenerator,
    budget: int,
    trials: int = 1,
    *,
    temperature: float = 1.0,
    top_p: float = 1.0,
    method: str | None = None,
) -> SampleLog:
    """Run a policy on inputs: each draw's latent is the policy's choice, its text the model's.

    Args:
        key: a JAX key. A draw depends on the key, its prompt, trial and number only; two policies that choose
            the same latent at the same draw of the same trial get the same text.
        model: with latents.
        task, inputs: what is asked, and what texts match.
        policy: of the registry, or your own; it acts on latents.
        known: what the policy may know, of the same inputs in the same order, named by their prompts: the
            router and an estimate of W. Policies that know nothing take only the number of latents from it.
        budget: draws of a run.
        trials: runs of each input.
        temperature, top_p: of the tokens.
        method: name of the method in the log.

    Returns:
        an ordered log [inputs, trials, draws].

    Raises:
        InputError: the policy doesn't act on latents or doesn't fit, `known` is of other inputs, or less than
            one draw or trial.
    """
    whole_number("budget", budget)
    whole_number("trials", trials)
    x_texts = tuple(task.render_x(x) for x in inputs)
    _require(policy, model, known, x_texts)
    numbers, frozen = split(policy)
    facts = jax.tree.map(on_device, knowledge(policy, known, budget))
    state = _start(numbers, facts, frozen, trials)
    shape = (len(x_texts), trials)
    row, trial = (part.ravel() for part in np.indices(shape))
    choosing, telling = (text_keys(part, x_texts, row, trial) for part in jax.random.split(key))
    names = [task.strategies(x) for x in inputs]
    said: list[np.ndarray] = []
    latents: list[np.ndarray] = []
    for draw in range(budget):
        number = jnp.int32(draw)
        noise = _noise(jax.random.clone(choosing), number, model.latents).reshape(*shape, -1)
        chosen = _choose(numbers, facts, state, number, noise, frozen)
        z = np.asarray(chosen).ravel()
        keys = jax.vmap(jax.random.fold_in, in_axes=(0, None))(jax.random.clone(telling), draw)
        results = _said(model, task, inputs, x_texts, row, z, keys, (temperature, top_p)).reshape(shape)
        matched = match_matrix(results, names, known.strategies)
        shown_to = matched if policy.sees in ("outcomes", "oracle") else np.zeros_like(matched)
        state = _update(numbers, facts, state, number, chosen, jnp.asarray(shown_to), frozen)
        said.append(results)
        latents.append(z.reshape(shape))
    results, z = np.stack(said, axis=-1), np.stack(latents, axis=-1)
    return as_log(task, inputs, x_texts, results, z, model.latents, ordered=True, method=method)


def _require(policy: Any, model: LanguageModel, known: RouterGenerator, x_texts: tuple[str, ...]) -> None:
    require_fit(policy, known)
    if policy.acts_on != "latents":
        raise InputError(
            f"policy: must act on latents to be run through generation; {type(policy).__name__} acts on "
            f"{policy.acts_on}; draw(...) samples the base law"
        )
    if known.latents != model.latents:
        raise InputError(f"known: must have the model's {model.latents} latents; got {known.latents}")
    if tuple(known.names) != x_texts:
        raise InputError(
            f"known: must be of the same inputs in the same order, named by their prompts; got "
            f"{shown(known.names[:3])} for {shown(x_texts[:3])}"
        )


def _said(
    model: LanguageModel,
    task: Task,
    inputs: Sequence[Any],
    x_texts: tuple[str, ...],
    row: Int[np.ndarray, " runs"],
    z: Int[np.ndarray, " runs"],
    keys: jax.Array,
    heat: tuple[float, float],
) -> np.ndarray:
    """Generate and validate one text a run; where nothing was chosen nothing is said."""
    asked = row.tolist()
    texts = generate(
        model, [x_texts[at] for at in asked], np.maximum(z, 0), keys, temperature=heat[0], top_p=heat[1]
    )
    texts = [text if latent >= 0 else "" for text, latent in zip(texts, z, strict=True)]
    return validated(task, [inputs[at] for at in asked], texts)


@partial(jax.jit, static_argnames="latents")
def _noise(keys: jax.Array, draw: jax.Array, latents: int) -> Float[jax.Array, "runs latents"]:
    """Return the noise of a draw's choices; apart from `_choose`, so that all policies share its program."""
    own = jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, draw)
    return jax.vmap(lambda key: jax.random.gumbel(key, (latents,), jnp.float32))(own)


@partial(jax.jit, static_argnames=("frozen", "trials"))
def _start(numbers: Any, facts: Any, frozen: Frozen, trials: int) -> Any:
    """Return the state of every run [inputs, trials, ...]."""
    state = jax.vmap(joined(numbers, frozen).init)(facts)
    return jax.tree.map(lambda leaf: jnp.repeat(jnp.asarray(leaf)[:, None], trials, axis=1), state)


@partial(jax.jit, static_argnames=("frozen",))
def _choose(
    numbers: Any, facts: Any, state: Any, draw: jax.Array, noise: jax.Array, frozen: Frozen
) -> Int[jax.Array, "inputs trials"]:
    """Return each run's latent, -1 where none may be chosen."""
    policy = joined(numbers, frozen)

    def one(fact: Any, own: Any, noise: jax.Array) -> jax.Array:
        logits = policy.choose(fact, own, draw)
        best = jnp.argmax(logits.astype(jnp.float32) + noise).astype(jnp.int32)
        return jnp.where(jnp.any(logits > -jnp.inf), best, -1)

    return jax.vmap(lambda fact, own, noise: jax.vmap(partial(one, fact))(own, noise))(facts, state, noise)


@partial(jax.jit, static_argnames=("frozen",))
def _update(
    numbers: Any,
    facts: Any,
    state: Any,
    draw: jax.Array,
    chosen: jax.Array,
    matched: jax.Array,
    frozen: Frozen,
) -> Any:
    """Return the state of every run after a draw."""
    policy = joined(numbers, frozen)
    told = -1 if policy.sees == "blind" else None

    def one(fact: Any, own: Any, z: jax.Array, match: jax.Array) -> Any:
        return policy.update(fact, own, draw, z if told is None else jnp.int32(told), match)

    runs = jax.vmap(lambda fact, own, z, match: jax.vmap(partial(one, fact))(own, z, match))
    return runs(facts, state, chosen, matched)
