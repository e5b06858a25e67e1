"""Sampling texts: a batch of prompts is continued in one compiled loop that stops when all have ended.

The random numbers of a text are named by its own key and the place of the token, so a text does not change
with the batch it is drawn in.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, UInt

from coverjax.foundation.checks import InputError, shown
from coverjax.sequences.transformer import (
    DTYPE,
    Added,
    Cache,
    Transformer,
    continue_cache,
    logits_of,
    start_cache,
    stream,
)

CHUNKS = {"cpu": 256}
"""Texts drawn at once: on a CPU as many as have their keys and values in the cache; elsewhere `CHUNK`."""

CHUNK = 4096


def sample_tokens(
    network: Transformer,
    prompts: Int[np.ndarray, "texts length"],
    pads: Int[np.ndarray, " texts"],
    keys: jax.Array,
    longest: int,
    text_size: int,
    *,
    temperature: float = 1.0,
    top_p: float = 1.0,
    added: Float[np.ndarray, "texts width"] | None = None,
    cached: bool = True,
    chunk: int | None = None,
) -> Int[np.ndarray, "texts longest"]:
    """Continue each prompt until it ends; return the tokens, 0 (`<end>`) from the end on.

    Args:
        network: the network.
        prompts: padded on the left.
        pads: how much padding each has.
        keys: one JAX key a text.
        longest: tokens that a text may have; one that has not ended by then is cut.
        text_size: the first so many tokens of the vocabulary may come next; token 0 ends a text.
        temperature: logits are divided by it; 0 takes the most probable token.
        top_p: tokens beyond the smallest set that holds this probability are never drawn.
        added: to the embedding of each prompt's last token, where something is.
        cached: False computes every text anew for every token: to check and to measure against.
        chunk: texts drawn at once.

    Raises:
        InputError: a temperature below 0, a share outside (0, 1], or no room for a token.
    """
    if not (np.isfinite(temperature) and temperature >= 0.0):
        raise InputError(f"temperature: must be a number >= 0; got {shown(temperature)}")
    if not 0.0 < top_p <= 1.0:
        raise InputError(f"top_p: must be a share in (0, 1]; got {shown(top_p)}")
    if longest < 1:
        raise InputError(f"longest: must be at least 1 token; got {shown(longest)}")
    chunk = chunk or CHUNKS.get(jax.default_backend(), CHUNK)
    chunk = min(chunk, 1 << max(len(prompts) - 1, 0).bit_length())
    words = np.asarray(jax.random.key_data(keys))
    said = []
    for first in range(0, len(prompts), chunk):
        rows = np.arange(first, first + chunk) % len(prompts)  # the last chunk is filled up: one program
        part = (jnp.asarray(prompts[rows]), jnp.asarray(pads[rows]), jnp.asarray(words[rows]))
        heat = jnp.asarray(temperature, DTYPE), jnp.asarray(top_p, DTYPE)
        more = None if added is None else jnp.asarray(added[rows])
        found = _sample(network, *part, more, *heat, longest, text_size, top_p < 1.0, cached)
        said.append(np.asarray(found)[: len(prompts) - first])
    return np.concatenate(said) if said else np.zeros((0, longest), np.int32)


@partial(jax.jit, static_argnames=("longest", "text_size", "nucleus", "cached"))
def _sample(
    network: Transformer,
    prompts: Int[jax.Array, "texts length"],
    pads: Int[jax.Array, " texts"],
    words: UInt[jax.Array, "texts 2"],
    vectors: Float[jax.Array, "texts width"] | None,
    temperature: Float[jax.Array, ""],
    top_p: Float[jax.Array, ""],
    longest: int,
    text_size: int,
    nucleus: bool,
    cached: bool,
) -> Int[jax.Array, "texts longest"]:
    texts, asked = prompts.shape
    keys = jax.random.wrap_key_data(words)
    added = None if vectors is None else Added(jnp.full(texts, asked - 1), vectors)
    draw = partial(_draw, temperature=temperature, top_p=top_p, nucleus=nucleus)

    def next_token(above: jax.Array, done: jax.Array, said: jax.Array, step: jax.Array) -> tuple:
        logits = logits_of(network, above, 0, text_size)
        token = jnp.where(done, 0, jax.vmap(draw, in_axes=(0, 0, None))(logits, keys, step))
        said = jax.lax.dynamic_update_slice_in_dim(said, token[:, None], step, axis=1)
        return token, done | (token == 0), said

    def more(carry: tuple) -> Bool[jax.Array, ""]:
        step, _, done, *_ = carry
        return (step < longest) & ~jnp.all(done)

    def with_cache(carry: tuple) -> tuple:
        step, token, done, said, cache = carry
        place = asked + step - 1
        along = jax.vmap(continue_cache, in_axes=(None, 0, 0, None, 0))
        above, cache = along(network, cache, token, place, pads)
        return step + 1, *next_token(above, done, said, step), cache

    def anew(carry: tuple) -> tuple:
        step, token, done, said, row = carry
        place = asked + step - 1
        row = jax.lax.dynamic_update_slice_in_dim(row, token[:, None], place, axis=1)
        above = jax.vmap(stream, in_axes=(None, 0, 0, 0))(network, row, pads, added)
        above = jax.lax.dynamic_index_in_dim(above, place, axis=1, keepdims=False)
        return step + 1, *next_token(above, done, said, step), row

    store: Cache | jax.Array
    starts = jax.vmap(start_cache, in_axes=(None, 0, 0, None, 0))
    above, store = starts(network, prompts, pads, asked + longest, added)
    if not cached:
        store = jnp.pad(prompts, ((0, 0), (0, longest)))
    nothing = jnp.zeros((texts, longest), jnp.int32)
    first = next_token(above, jnp.zeros(texts, bool), nothing, jnp.int32(0))
    start = (jnp.int32(1), *first, store)
    return jax.lax.while_loop(more, with_cache if cached else anew, start)[3]


def _draw(
    logits: Float[jax.Array, " tokens"],
    key: jax.Array,
    step: Int[jax.Array, ""],
    temperature: Float[jax.Array, ""],
    top_p: Float[jax.Array, ""],
    nucleus: bool,
) -> Int[jax.Array, ""]:
    """Draw one token: the largest of logit / temperature + Gumbel noise."""
    cold = temperature == 0.0
    scores = logits / jnp.where(cold, 1.0, temperature)
    if nucleus:
        scores = jnp.where(within_top_p(scores, top_p), scores, -jnp.inf)
    noise = jax.random.gumbel(jax.random.fold_in(key, step), scores.shape, DTYPE)
    return jnp.argmax(scores + jnp.where(cold, 0.0, noise)).astype(jnp.int32)


def within_top_p(scores: Float[jax.Array, " tokens"], top_p: Any) -> Bool[jax.Array, " tokens"]:
    """Return which tokens belong to the smallest set of the most probable ones that holds `top_p`.

    Ties go to the lower token. The most probable token always belongs.
    """
    order = jnp.argsort(-scores, stable=True)
    share = jax.nn.softmax(scores)[order]
    before = jnp.cumsum(share) - share
    return jnp.zeros(scores.shape, bool).at[order].set((before < top_p).at[0].set(True))
