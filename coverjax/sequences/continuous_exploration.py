"""`explore_continuous`: what choosing continuous latents on purpose brings, measured by generating.

The draws look at the draws before them and never at outcomes, and nothing is trained: no development inputs
are needed. What is covered are strategies, decided by the validator of each text; how well the latents cover
R^d is no part of any number here.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from coverjax.closed_form.forms import exact
from coverjax.curves import Curves
from coverjax.foundation.checks import InputError, one_of, shown, whole_number
from coverjax.logs.log import SampleLog
from coverjax.metrics import GainReport, gain_report
from coverjax.model.law import OutcomeLaw
from coverjax.policy.oracle import OracleNoRepeat
from coverjax.sequences.exploration import BASE, ROUTER, estimate_one
from coverjax.sequences.generation import (
    as_log,
    draw,
    generate,
    router_normal,
    standard_normal,
    standard_uniform,
    text_keys,
    validated,
)
from coverjax.sequences.language_model import LanguageModel
from coverjax.sequences.latent_draws import farthest_points, low_discrepancy, normal_quantiles
from coverjax.sequences.tasks.base import Task

LOW_DISCREPANCY, FARTHEST = "low discrepancy", "farthest point"

DRAWS = (LOW_DISCREPANCY, FARTHEST)
"""The ways of drawing z that look at the draws before."""

POOL = 64
"""Draws of the router that farthest points are picked from."""


@dataclasses.dataclass(frozen=True, eq=False)
class ContinuousExploration:
    """What `explore_continuous` found.

    Attributes:
        curves: measured curves by method, one row an input.
        gains: each method's gain over independent sampling (from the base model where one was given), the
            oracle being one strategy a draw.
        logs: what was generated, validated, by method; those of `DRAWS` are ordered.
    """

    curves: dict[str, Curves]
    gains: dict[str, GainReport]
    logs: dict[str, SampleLog]


def explore_continuous(
    key: jax.Array,
    model: LanguageModel,
    task: Task,
    inputs: Sequence[Any],
    *,
    base: LanguageModel | None = None,
    budget: int | None = None,
    trials: int = 8,
    methods: Sequence[str] = DRAWS,
    pool: int = POOL,
    temperature: float = 1.0,
    top_p: float = 1.0,
) -> ContinuousExploration:
    """Explore inputs by drawing z in several ways, generating and validating.

    Args:
        key: a JAX key.
        model: with continuous latents.
        task: what the inputs are of.
        inputs: what to report on.
        base: the base model, sampled independently, as what is to be beaten; without it the router's draws
            are.
        budget: draws K; the largest number of strategies of an input when None.
        trials: runs of each method on each input; of each independent method `trials` x K texts.
        methods: which of `DRAWS`, beside independent draws.
        pool: draws of the router that farthest points are picked from, at least K.
        temperature, top_p: of the tokens.

    Raises:
        InputError: a model without continuous latents, a base with latents, no inputs, an unknown method, or
            a number without a meaning.
    """
    model.require_continuous()
    if not inputs:
        raise InputError("inputs: must be distinct, at least one; got none")
    if base is not None:
        base.require_base(task)
    for name in methods:
        one_of("methods", name, DRAWS)
    draws = max(len(task.strategies(x)) for x in inputs) if budget is None else whole_number("budget", budget)
    whole_number("trials", trials)
    whole_number("pool", pool, draws if FARTHEST in methods else 1)
    basing, routing, placing, telling = jax.random.split(key, 4)
    heat: dict[str, Any] = {"temperature": float(temperature), "top_p": float(top_p)}
    logs = {
        name: draw(part, source, task, inputs, trials * draws, **heat).log
        for name, source, part in ((BASE, base, basing), (ROUTER, model, routing))
        if source is not None
    }
    for name in methods:
        z = latents_of(jax.random.clone(placing), model, task, inputs, name, draws, trials, pool=pool)
        logs[name] = draw_runs(jax.random.clone(telling), model, task, inputs, z, **heat)
    curves = {name: estimate_one(log, draws) for name, log in logs.items()}
    below = curves[ROUTER if base is None else BASE]
    oracle = exact(OracleNoRepeat(), _declared(task, inputs), draws)
    gains = {name: gain_report(found, below, oracle) for name, found in curves.items()}
    return ContinuousExploration(curves, gains, logs)


def latents_of(
    key: jax.Array,
    model: LanguageModel,
    task: Task,
    inputs: Sequence[Any],
    method: str,
    draws: int,
    trials: int = 1,
    *,
    pool: int = POOL,
) -> Float[np.ndarray, "inputs trials draws dimensions"]:
    """Return the z of each draw, made of points of `latent_draws` by the router's mean and scale.

    Args:
        key: a JAX key. The points depend on it, the prompt and the trial only.
        model: with continuous latents.
        task, inputs: what is asked.
        method: one of `DRAWS`.
        draws: of a run.
        trials: runs of each input.
        pool: draws of the router that farthest points are picked from.

    Raises:
        InputError: an unknown method, a model without continuous latents, or a pool below the draws.
    """
    one_of("method", method, DRAWS)
    x_texts = tuple(task.render_x(x) for x in inputs)
    mean, scale = router_normal(model, x_texts)
    row, trial = (part.ravel() for part in np.indices((len(x_texts), trials)))
    keys = text_keys(key, x_texts, row, trial)
    if method == LOW_DISCREPANCY:
        points = normal_quantiles(low_discrepancy(draws, standard_uniform(keys, model.dimensions)))
    else:
        many = standard_normal(keys, pool * model.dimensions).reshape(len(row), pool, model.dimensions)
        points = np.take_along_axis(many, farthest_points(many, draws)[..., None], axis=1)
    noise = points.reshape(len(x_texts), trials, draws, model.dimensions)
    return mean[:, None, None] + scale[:, None, None] * noise


def draw_runs(
    key: jax.Array,
    model: LanguageModel,
    task: Task,
    inputs: Sequence[Any],
    z: Float[np.ndarray, "inputs trials draws dimensions"],
    *,
    temperature: float = 1.0,
    top_p: float = 1.0,
    method: str | None = None,
) -> SampleLog:
    """Generate and validate a text for every z; return an ordered log [inputs, trials, draws].

    A text depends on the key, its prompt, trial, number and z only. Arguments are those of `latents_of` and
    of `draw`.

    Raises:
        InputError: a model without continuous latents, or z of another shape or not finite.
    """
    model.require_continuous()
    z = np.asarray(z)
    if z.ndim != 4 or (len(z), z.shape[3]) != (len(inputs), model.dimensions) or not np.isfinite(z).all():
        raise InputError(
            f"z: must be finite, [{len(inputs)} inputs, trials, draws, {model.dimensions} dimensions]; got "
            f"{shown(z)} of shape {z.shape}"
        )
    x_texts = tuple(task.render_x(x) for x in inputs)
    row, trial, number = (part.ravel() for part in np.indices(z.shape[:-1]))
    keys = jax.vmap(jax.random.fold_in)(text_keys(key, x_texts, row, trial), jnp.asarray(number, jnp.uint32))
    asked = row.tolist()
    each = z.reshape(len(asked), model.dimensions)
    texts = generate(model, [x_texts[at] for at in asked], each, keys, temperature=temperature, top_p=top_p)
    results = validated(task, [inputs[at] for at in asked], texts).reshape(z.shape[:-1])
    return as_log(task, inputs, x_texts, results, z, 0, ordered=True, method=method)


def _declared(task: Task, inputs: Sequence[Any]) -> OutcomeLaw:
    """Return a law over the strategies of each input: what the oracle knows, their number."""
    counts = np.array([len(task.strategies(x)) for x in inputs])
    if (counts == 0).any():
        raise InputError("inputs: must have at least one strategy each")
    declared = np.arange(counts.max()) < counts[:, None]
    names = [task.render_x(x) for x in inputs]
    return OutcomeLaw.from_probs(declared / counts[:, None], ids=names, declared=declared)
