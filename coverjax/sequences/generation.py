"""`draw`: samples of a model as a log of the project, every text validated by its task."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from coverjax._version import __version__
from coverjax.foundation import rng
from coverjax.foundation.checks import InputError, shown, whole_number
from coverjax.logs.log import SampleLog
from coverjax.sequences.decoding import sample_tokens
from coverjax.sequences.gaussian import Gaussian
from coverjax.sequences.language_model import LanguageModel, latent_logs
from coverjax.sequences.tasks.base import Task, ValidationResult, match_matrix, result_flags
from coverjax.sequences.tokenizer import prompts
from coverjax.sequences.transformer import DTYPE, stream

ROOM = 8
"""Tokens that a generated text may have beyond the longest text that the model was fitted to."""

ROUTED = 256
"""Prompts whose router is computed at once."""


class Drawn(NamedTuple):
    """Samples of a model.

    Attributes:
        log: one row an input, with the latent of every sample where the model has latents.
        texts: what was generated, object [inputs, samples].
        results: what the task says of each, object [inputs, samples].
        x_texts: the prompts [inputs].
        latents: the latent of each sample: whole numbers [inputs, samples], -1 for none; or, where they are
            continuous, z [inputs, samples, dimensions].
    """

    log: SampleLog
    texts: np.ndarray
    results: np.ndarray
    x_texts: tuple[str, ...]
    latents: np.ndarray


def draw(
    key: jax.Array,
    model: LanguageModel,
    task: Task,
    inputs: Sequence[Any],
    samples: int,
    *,
    latents: Any = None,
    temperature: float = 1.0,
    top_p: float = 1.0,
    method: str | None = None,
) -> Drawn:
    """Draw texts for inputs, validate each, and return them as a log.

    Args:
        key: a JAX key. A text depends on the key, its prompt and its number only: more samples or inputs
            leave the others as they are.
        model: a base model, or one with latents.
        task: what the inputs are of; it says what each text matches.
        inputs: the inputs, distinct, as the task draws them.
        samples: texts of each input.
        latents: which latent each text has, whole numbers [inputs, samples] or [samples]; where latents are
            continuous, z [inputs, samples, dimensions] or [samples, dimensions]. None: drawn from the router,
            independently, which is sampling from the mixture.
        temperature, top_p: of the tokens (not of the router).
        method: name of the method in the log.

    Raises:
        InputError: latents for a base model, one that there is none of, inputs that stand twice, or a task
            with words that the model hasn't.
    """
    whole_number("samples", samples)
    model.require_words(task)
    x_texts = tuple(task.render_x(x) for x in inputs)
    if not x_texts or len(set(x_texts)) < len(x_texts):
        raise InputError(f"inputs: must be distinct, at least one; got {len(x_texts)} with repeats")
    routing, telling = jax.random.split(key)
    shape = (len(x_texts), int(samples))
    chosen = _latents(routing, model, x_texts, shape, latents)
    row, number = (part.ravel() for part in np.indices(shape))
    keys = text_keys(telling, x_texts, row, number)
    asked = row.tolist()
    each = chosen.reshape(len(asked), *chosen.shape[2:])
    said = generate(model, [x_texts[at] for at in asked], each, keys, temperature=temperature, top_p=top_p)
    texts = np.array(said, dtype=object).reshape(shape)
    results = validated(task, [inputs[at] for at in asked], said).reshape(shape)
    log = as_log(task, inputs, x_texts, results[:, None], chosen[:, None], model.latents, method=method)
    facts = {"temperature": float(temperature), "top_p": float(top_p)}
    log = dataclasses.replace(log, provenance={**log.provenance, **facts})
    return Drawn(log, texts, results, x_texts, chosen)


def router_probs(model: LanguageModel, x_texts: Sequence[str]) -> Float[np.ndarray, "inputs latents"]:
    """Return r(z | x) of each prompt, float64.

    Raises:
        InputError: the model has no latents to choose from.
    """
    model.require_latents()
    probs = np.exp(_routed(model, x_texts))
    return probs / probs.sum(axis=-1, keepdims=True)


def router_normal(
    model: LanguageModel, x_texts: Sequence[str]
) -> tuple[Float[np.ndarray, "inputs dimensions"], Float[np.ndarray, "inputs dimensions"]]:
    """Return mean and standard deviation of r(z | x) of each prompt, float64.

    Raises:
        InputError: the model has no continuous latents.
    """
    model.require_continuous()
    mean, log_scale = np.split(_routed(model, x_texts), 2, axis=-1)
    return mean, np.exp(log_scale)


def _routed(model: LanguageModel, x_texts: Sequence[str]) -> Float[np.ndarray, "inputs numbers"]:
    """Return what the router says of each prompt: log-probabilities, or means and then log-scales."""
    tokens, pads = _prompts(model, x_texts)
    found = []
    for first in range(0, len(tokens), ROUTED):
        rows = np.arange(first, first + ROUTED) % len(tokens)
        found.append(np.asarray(_router(model, jnp.asarray(tokens[rows]), jnp.asarray(pads[rows]))))
    return np.concatenate(found)[: len(tokens)].astype(np.float64)


@jax.jit
def _router(model: LanguageModel, tokens: jax.Array, pads: jax.Array) -> jax.Array:
    above = jax.vmap(partial(stream, model.network))(tokens, pads)[:, -2]  # <separator>, before the latent
    if model.gaussian is not None:
        return jnp.concatenate(model.gaussian.routed(above), axis=-1)
    return latent_logs(model, above)


def text_keys(
    key: jax.Array, x_texts: Sequence[str], row: Int[np.ndarray, " texts"], number: Int[np.ndarray, " texts"]
) -> jax.Array:
    """Return one key a text, named by its prompt and its number among the texts of that prompt."""
    of_input = jax.random.key_data(rng.input_keys(key, x_texts))[row]
    fold = jax.vmap(jax.random.fold_in)
    return fold(jax.random.wrap_key_data(of_input), jnp.asarray(number, jnp.uint32))


def generate(
    model: LanguageModel,
    x_texts: Sequence[str],
    latents: "Int[np.ndarray, ' texts'] | Float[np.ndarray, 'texts dimensions']",
    keys: jax.Array,
    *,
    temperature: float = 1.0,
    top_p: float = 1.0,
    cached: bool = True,
) -> list[str]:
    """Return one text for each prompt and latent (-1: no latent, the base model; z where it is continuous).

    A text that does not end in the room it has is cut there, and validated as it stands.
    """
    tokens, pads = _prompts(model, x_texts)
    added = None
    if model.gaussian is not None:
        added = np.asarray(_entered(model.gaussian, jnp.asarray(latents, DTYPE)))
    else:
        tokens[:, -1] = model.tokenizer.first_latent + np.asarray(latents)  # -1 is <none>
    longest = model.text_length - model.prompt_length + ROOM
    said = sample_tokens(
        model.network,
        tokens,
        pads,
        keys,
        longest,
        model.tokenizer.text_size,
        temperature=temperature,
        top_p=top_p,
        added=added,
        cached=cached,
    )
    return [model.tokenizer.decode(row) for row in said.tolist()]


_entered = jax.jit(Gaussian.entered)


def validated(task: Task, inputs: Sequence[Any], texts: Sequence[str]) -> np.ndarray:
    """Return what the task says of each text, object [texts]."""
    results = np.empty(len(texts), dtype=object)
    known: dict[Any, ValidationResult] = {}
    for place, pair in enumerate(zip(inputs, texts, strict=True)):
        if pair not in known:
            known[pair] = task.validate_y_text(*pair)
        results[place] = known[pair]
    return results


def as_log(
    task: Task,
    inputs: Sequence[Any],
    x_texts: Sequence[str],
    results: np.ndarray,
    latents: Int[np.ndarray, "inputs trials samples"],
    latent_count: int,
    *,
    ordered: bool = False,
    method: str | None = None,
) -> SampleLog:
    """Return validated samples as a log; the declared strategies are those of each input.

    Args:
        task, inputs, x_texts: what was asked.
        results: object [inputs, trials, samples].
        latents: the latent of each sample, -1 for none.
        latent_count: number of latents; 0 for a base model and for continuous latents, whose log has no
            column for them: no two samples have the same one.
        ordered: whether only the order of the samples means anything.
        method: name of the method.
    """
    names = [task.strategies(x) for x in inputs]
    matches = match_matrix(results, names)
    declared = np.arange(matches.shape[-1]) < np.array([len(row) for row in names])[:, None]
    log = SampleLog.from_arrays(
        matches,
        declared=declared,
        valid=result_flags(results, "structurally_valid"),
        correct=result_flags(results, "answer_correct"),
        ordered=ordered,
        ids=x_texts,
        labels=names,
        latent=latents if latent_count else None,
        labeler="rule",
        method=None if method is None else [method] * len(x_texts),
    )
    facts = {"kind": "generated", "version": __version__, "task": task.name}
    return dataclasses.replace(
        log, latents=tuple(str(z) for z in range(latent_count)), provenance={**log.provenance, **facts}
    )


def _latents(
    key: jax.Array, model: LanguageModel, x_texts: Sequence[str], shape: tuple[int, int], given: Any
) -> Int[np.ndarray, "inputs samples"]:
    """Return the latent of each sample: as given, from the router, or -1 for a base model."""
    if model.dimensions:
        return _points(key, model, x_texts, (*shape, model.dimensions), given)
    if given is not None:
        chosen = np.asarray(given)
        fits = np.issubdtype(chosen.dtype, np.integer) and chosen.shape in (shape, shape[1:])
        if not fits or (chosen < 0).any() or (chosen >= model.latents).any():
            raise InputError(
                f"latents: must be whole numbers from 0 to {model.latents - 1}, {shape} or {shape[1:]} of "
                f"them; got {shown(given)}"
            )
        return np.broadcast_to(chosen, shape)
    if not model.latents:
        return np.full(shape, -1)
    row, number = (part.ravel() for part in np.indices(shape))
    noise = standard_uniform(text_keys(key, x_texts, row, number), 1).reshape(shape)
    edges = np.cumsum(router_probs(model, x_texts), axis=-1)
    return np.minimum((noise[..., None] >= edges[:, None]).sum(axis=-1), model.latents - 1)


def _points(
    key: jax.Array, model: LanguageModel, x_texts: Sequence[str], shape: tuple[int, int, int], given: Any
) -> Float[np.ndarray, "inputs samples dimensions"]:
    """Return the continuous latent of each sample: as given, or from the router."""
    if given is not None:
        z = np.asarray(given)
        fits = z.dtype.kind in "fiu" and z.shape in (shape, shape[1:])
        if not fits or not np.isfinite(z).all():
            raise InputError(
                f"latents: must be finite numbers, {shape} or {shape[1:]} of them, as the model's are "
                f"continuous; got {shown(given)}"
            )
        return np.broadcast_to(z, shape)
    row, number = (part.ravel() for part in np.indices(shape[:2]))
    noise = standard_normal(text_keys(key, x_texts, row, number), shape[2]).reshape(shape)
    mean, scale = router_normal(model, x_texts)
    return mean[:, None] + scale[:, None] * noise


def standard_normal(keys: jax.Array, count: int) -> Float[np.ndarray, "keys count"]:
    """Return `count` standard normal numbers of each key, float64 made of float32."""
    return np.asarray(_normal(keys, count), np.float64)


def standard_uniform(keys: jax.Array, count: int) -> Float[np.ndarray, "keys count"]:
    """Return `count` numbers of each key, uniform in [0, 1), float64 made of float32."""
    return np.asarray(_uniform(keys, count), np.float64)


@partial(jax.jit, static_argnames="count")
def _uniform(keys: jax.Array, count: int) -> jax.Array:
    return jax.vmap(lambda key: jax.random.uniform(key, (count,), DTYPE))(keys)


@partial(jax.jit, static_argnames="count")
def _normal(keys: jax.Array, count: int) -> jax.Array:
    return jax.vmap(lambda key: jax.random.normal(key, (count,), DTYPE))(keys)


def _prompts(model: LanguageModel, x_texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    return prompts(model.tokenizer, x_texts, model.prompt_length)
