"""The compiled part of fitting: blocks of updates, and the loss on texts that are not fitted."""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
import optax.contrib
from jaxtyping import Float

from coverjax.sequences.continuous import GAUSSIAN, gaussian_loss, importance_bound
from coverjax.sequences.factorization import (
    TOLD,
    Texts,
    Weights,
    all_surprisals,
    base_surprisals,
    batch_loss,
    marginal_loss,
    router_logs,
    told_loss,
)
from coverjax.sequences.language_model import LanguageModel
from coverjax.sequences.transformer import DTYPE

ADAM_SHARE = 0.15
"""Learning rate of what Adam moves, as a share of that of Muon."""

FALLING = 0.25
"""Share of the updates of `balanced`, the last ones, in which the learning rate falls, in a straight line:
latents that still write the same part as long as it is high."""

REMEMBERED = 8
"""Batches before this one whose texts count when `balanced` makes the use of its latents equal."""


class Program(NamedTuple):
    """What is compiled, hashable."""

    objective: str
    batch: int
    steps: int
    warmup: int
    rate: float
    decay: float
    hold: float
    fade: float


class State(NamedTuple):
    """What a checkpoint holds.

    Attributes:
        model, opt: the model's numbers and the optimiser's.
        memory: surprisals [texts, latents] of the texts of the last batches, the earliest first; of as many
            zeros at the start, as if all latents wrote them alike. No rows where the objective needs none.
    """

    model: Any
    opt: Any
    memory: jax.Array


def begun(model: LanguageModel, program: Program) -> State:
    """Return the state before the first update."""
    rows = REMEMBERED * program.batch if program.objective == "balanced" else 0
    return State(model, optimiser(program).init(model), jnp.zeros((rows, model.latents), DTYPE))


def optimiser(program: Program) -> optax.GradientTransformation:
    """Return Muon for the matrices of the blocks and Adam for the rest, the gradient clipped.

    Against Adam alone the same loss takes a third of the updates (400 updates of `quick` on list_summation:
    1.8 against 4.8 nats a text).
    """
    muon = optax.contrib.muon(
        partial(rate_at, program, program.rate),
        adam_learning_rate=partial(rate_at, program, ADAM_SHARE * program.rate),
        adam_b2=0.98,
        weight_decay=program.decay,
        adam_weight_decay=program.decay,
        muon_weight_dimension_numbers=_block_matrices,
    )
    return optax.chain(optax.clip_by_global_norm(1.0), muon)


def rate_at(program: Program, highest: float, count: jax.Array) -> jax.Array:
    """Return the learning rate of an update: it rises, and falls as a cosine, of `balanced` at the end."""
    done = count.astype(DTYPE)
    rise = highest * jnp.minimum((done + 1.0) / max(program.warmup, 1), 1.0)
    if program.objective == "balanced":
        return rise * jnp.minimum((program.steps - done) / (FALLING * program.steps), 1.0)
    return rise * 0.5 * (1.0 + jnp.cos(math.pi * done / program.steps))


def _block_matrices(params: Any) -> Any:
    """Mark the matrices inside the blocks."""

    def kind(path: Any, leaf: jax.Array) -> Any:
        inside = any(getattr(step, "name", "") == "blocks" for step in path)
        return optax.contrib.MuonDimensionNumbers() if inside and leaf.ndim == 2 else None

    return jax.tree_util.tree_map_with_path(kind, params)


@partial(jax.jit, static_argnames="program")
def advance(
    state: State,
    corpus: Texts,
    key: jax.Array,
    first: jax.Array,
    last: jax.Array,
    weights: Weights,
    program: Program,
) -> tuple[State, Float[jax.Array, ""], jax.Array]:
    """Make the updates from number `first` to before `last`, at least one; return the state, their mean
    loss, and the use of the latents in the last one.

    The random numbers of an update are named by the key and the update's number. How many they are is not
    compiled in: a shorter last block would cost a compilation.
    """
    tool = optimiser(program)

    def update(number: jax.Array, before: tuple[State, jax.Array, jax.Array]) -> tuple:
        state, total, _ = before
        choosing, drawing = jax.random.split(jax.random.fold_in(key, number))
        rows = jax.random.randint(choosing, (program.batch,), 0, corpus.slots.shape[0])
        batch = corpus.some(rows)
        now = weights._replace(balance=_balance(number, program))
        of_model = jax.value_and_grad(_loss, has_aux=True)
        (loss, facts), slope = of_model(state.model, batch, drawing, now, program, state.memory)
        change, opt = tool.update(slope, state.opt, state.model)
        memory = state.memory
        if len(memory):
            memory = jnp.concatenate([memory, facts["surprisal"]])[program.batch :]
        return State(optax.apply_updates(state.model, change), opt, memory), total + loss, facts["use"]

    used = state.model.latents or state.model.dimensions
    start = state, jnp.zeros((), DTYPE), jnp.zeros(used, DTYPE)
    state, total, use = jax.lax.fori_loop(first, last, update, start)
    return state, total / (last - first), use


def _balance(number: jax.Array, program: Program) -> jax.Array:
    """Lambda at an update: 1, then falling in a straight line, then 0."""
    if program.hold >= 1.0:
        return jnp.ones((), DTYPE)
    done = number.astype(DTYPE) / program.steps
    width = max(program.fade - program.hold, 1e-6)
    return jnp.clip((program.fade - done) / width, 0.0, 1.0)


def _loss(
    model: LanguageModel,
    batch: Texts,
    key: jax.Array,
    weights: Weights,
    program: Program,
    memory: jax.Array,
) -> tuple[jax.Array, dict[str, jax.Array]]:
    if program.objective == "base":
        told = base_surprisals(model, batch).sum(axis=-1)
        return jnp.average(told, weights=batch.weight), {"use": jnp.zeros(0, DTYPE)}
    if program.objective == TOLD:
        return told_loss(model, batch)
    if program.objective == GAUSSIAN:
        return gaussian_loss(model, batch, key, weights)
    return batch_loss(model, batch, key, program.objective, weights, memory if len(memory) else None)


def judge(model: LanguageModel, texts: Texts) -> Float[jax.Array, " texts"]:
    """Return -log p(y | x) of texts, of the mixture where there are latents, whatever is fitted.

    Where they are continuous it is the importance-weighted bound with `BOUND_DRAWS` draws of one noise.
    """
    if not model.latents:
        return _without_latents(model, texts)
    return _mixed(*under_latents(model, texts))


@jax.jit
def under_latents(
    model: LanguageModel, texts: Texts
) -> tuple[Float[jax.Array, "texts latents"], Float[jax.Array, "texts latents"]]:
    """Return -log g(y | x, z) of texts under each latent, and log r(z | x)."""
    return all_surprisals(model, texts).sum(axis=-1), router_logs(model, texts)


_mixed = jax.jit(marginal_loss)


@jax.jit
def _without_latents(model: LanguageModel, texts: Texts) -> jax.Array:
    if model.dimensions:
        return importance_bound(model, texts, jax.random.key(0))
    return base_surprisals(model, texts).sum(axis=-1)
