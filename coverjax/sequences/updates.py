"""The compiled part of fitting: blocks of updates, and the loss on texts that are not fitted."""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
from jaxtyping import Float

from coverjax.sequences.continuous import GAUSSIAN, gaussian_loss, importance_bound
from coverjax.sequences.factorization import (
    TOLD,
    Texts,
    Weights,
    base_surprisals,
    batch_loss,
    marginal_loss,
    surprisals_and_router,
    told_loss,
)
from coverjax.sequences.language_model import LanguageModel
from coverjax.sequences.transformer import DTYPE

ADAM_SHARE = 0.15
"""Learning rate of what Adam moves, as a share of that of Muon."""

FALLING = 0.25
"""Share of the updates of `balanced`, the last ones, in which the learning rate falls, in a straight line:
latents that still write the same part as long as it is high."""

NEWTON_SCHULZ = ((3.4445, -4.7750, 2.0315),) * 5
"""Coefficients of the iterations of Muon (Jordan, 2024), given for each, though they are the same: so they
are a loop, instead of five pieces of program for every matrix."""

REMEMBERED = 8
"""Batches before this one whose texts count when `balanced` makes the use of its latents equal."""


class Program(NamedTuple):
    """What is compiled, hashable; a batch is of so many texts."""

    objective: str
    batch: int


class Schedule(NamedTuple):
    """How large the steps of a run are, and how its objective changes on the way; not compiled in.

    Attributes:
        steps: updates of the run.
        warmup: updates in which the learning rate rises.
        rate, decay: the highest learning rate, and weight decay.
        hold, fade: shares of the updates up to which lambda is 1, and from which on it is 0.
    """

    steps: Any
    warmup: Any
    rate: Any
    decay: Any
    hold: Any
    fade: Any


class State(NamedTuple):
    """What a checkpoint holds.

    Attributes:
        model, opt: the model's numbers and the optimiser's.
        memory: S' of `factorization.evened` [texts, latents], of the texts of the last batches, the earliest
            first, each with the lambda of its update; of as many zeros at the start, as if all latents wrote
            them alike. No rows where the objective needs none.
    """

    model: Any
    opt: Any
    memory: jax.Array


def begun(model: LanguageModel, program: Program, schedule: Schedule) -> State:
    """Return the state before the first update."""
    rows = REMEMBERED * program.batch if program.objective == "balanced" else 0
    opt = optimiser(program, schedule).init(model)
    return State(model, opt, jnp.zeros((rows, model.latents), DTYPE))


def optimiser(program: Program, schedule: Schedule) -> optax.GradientTransformation:
    """Return Muon for the matrices of the blocks and Adam for the rest, the gradient clipped.

    Against Adam alone the same loss takes a third of the updates (400 updates of `quick` on list_summation:
    1.8 against 4.8 nats a text).
    """
    rate_of = partial(rate_at, program, schedule)
    muon = optax.contrib.muon(
        partial(rate_of, schedule.rate),
        ns_coeffs=NEWTON_SCHULZ,
        adam_learning_rate=partial(rate_of, ADAM_SHARE * schedule.rate),
        adam_b2=0.98,
        weight_decay=schedule.decay,
        adam_weight_decay=schedule.decay,
        muon_weight_dimension_numbers=_block_matrices,
    )
    return optax.chain(optax.clip_by_global_norm(1.0), muon)


def rate_at(program: Program, schedule: Schedule, highest: jax.Array, count: jax.Array) -> jax.Array:
    """Return the learning rate of an update: it rises, and falls as a cosine, of `balanced` at the end."""
    done = count.astype(DTYPE)
    rise = highest * jnp.minimum((done + 1.0) / jnp.maximum(schedule.warmup, 1.0), 1.0)
    if program.objective == "balanced":
        return rise * jnp.minimum((schedule.steps - done) / (FALLING * schedule.steps), 1.0)
    return rise * 0.5 * (1.0 + jnp.cos(math.pi * done / schedule.steps))


def _block_matrices(params: Any) -> Any:
    """Mark the matrices inside the blocks."""

    def kind(path: Any, leaf: jax.Array) -> Any:
        inside = any(getattr(step, "name", "") == "blocks" for step in path)
        return optax.contrib.MuonDimensionNumbers() if inside and leaf.ndim == 2 else None

    return jax.tree_util.tree_map_with_path(kind, params)


def chosen(corpus: Texts, key: jax.Array, first: int, count: int, batch: int) -> Texts:
    """Return the texts of `count` updates, those from number `first` on [updates, batch, ...]: drawn from the
    corpus, an update's by its number."""
    return corpus.some(np.asarray(_rows(key, jnp.int32(first), jnp.int32(len(corpus.slots)), count, batch)))


@partial(jax.jit, static_argnames=("count", "batch"))
def _rows(key: jax.Array, first: jax.Array, texts: jax.Array, count: int, batch: int) -> jax.Array:
    def of(number: jax.Array) -> jax.Array:
        return jax.random.randint(_keys(key, number)[0], (batch,), 0, texts)

    return jax.vmap(of)(first + jnp.arange(count))


def _keys(key: jax.Array, number: jax.Array) -> jax.Array:
    """Return two keys of an update, for the choice of its texts and for its latents."""
    return jax.random.split(jax.random.fold_in(key, number))


@partial(jax.jit, static_argnames="program")
def advance(
    state: State,
    batches: Texts,
    key: jax.Array,
    first: jax.Array,
    last: jax.Array,
    weights: Weights,
    schedule: Schedule,
    program: Program,
) -> tuple[State, Float[jax.Array, ""], jax.Array]:
    """Make the updates from number `first` to before `last`, at least one; return the state, their mean
    loss, and the use of the latents in the last one.

    The random numbers of an update are named by the key and the update's number. How many they are is not
    compiled in, nor is what they are drawn from, nor the schedule: each would cost a compilation.

    Args:
        batches: from `chosen`, of these updates, or of more.
    """
    tool = optimiser(program, schedule)

    def update(number: jax.Array, before: tuple[State, jax.Array, jax.Array]) -> tuple:
        state, total, _ = before
        batch = batches.some(number - first)
        now = weights._replace(balance=_balance(number, schedule))
        of_model = jax.value_and_grad(_loss, has_aux=True)
        (loss, facts), slope = of_model(state.model, batch, _keys(key, number)[1], now, program, state.memory)
        change, opt = tool.update(slope, state.opt, state.model)
        memory = state.memory
        if len(memory):
            memory = jnp.concatenate([memory, facts["evened"]])[program.batch :]
        return State(optax.apply_updates(state.model, change), opt, memory), total + loss, facts["use"]

    used = state.model.latents or state.model.dimensions
    start = state, jnp.zeros((), DTYPE), jnp.zeros(used, DTYPE)
    state, total, use = jax.lax.fori_loop(first, last, update, start)
    return state, total / (last - first), use


def _balance(number: jax.Array, schedule: Schedule) -> jax.Array:
    """Lambda at an update: 1, then falling in a straight line, then 0; with `hold` = 1 it never falls."""
    done = number.astype(DTYPE) / schedule.steps
    width = jnp.maximum(schedule.fade - schedule.hold, 1e-6)
    return jnp.where(schedule.hold >= 1.0, 1.0, jnp.clip((schedule.fade - done) / width, 0.0, 1.0))


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
    each, router = surprisals_and_router(model, texts)
    return each.sum(axis=-1), router


_mixed = jax.jit(marginal_loss)


@jax.jit
def _without_latents(model: LanguageModel, texts: Texts) -> jax.Array:
    if model.dimensions:
        return importance_bound(model, texts, jax.random.key(0))
    return base_surprisals(model, texts).sum(axis=-1)
