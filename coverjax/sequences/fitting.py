"""`fit_base` and `factorize`: a model of a task's texts, and its split into a router and a generator."""

import dataclasses
from typing import Any

import jax
import numpy as np

from coverjax.foundation.checks import InputError
from coverjax.sequences.continuous import GAUSSIAN
from coverjax.sequences.corpora import corpora, in_parts
from coverjax.sequences.factorization import Texts, base_surprisals
from coverjax.sequences.language_model import LanguageModel, start_model
from coverjax.sequences.parting import parted, updates_of_parts
from coverjax.sequences.runs import Run
from coverjax.sequences.settings import FitConfig, SplitConfig
from coverjax.sequences.tasks.base import Task

LOOKED_AT = 64
"""Inputs that are asked how many strategies they have."""


def fit_base(key: jax.Array, task: Task, **config: Any) -> tuple[LanguageModel, dict[str, np.ndarray]]:
    """Fit a base model p(y | x) to the mixture of a task's texts.

    Args:
        key: a JAX key; the result is a function of it and of the other arguments.
        task: what the texts are about, from `coverjax.sequences.task`.
        config: settings of `FitConfig`.

    Returns:
        the model, and a dict of arrays over evaluations: "step", "loss" (mean over the updates since the one
        before, nats a text), "held_out" (mean of -log p(y | x), nats a text), "seconds".

    Raises:
        InputError: a setting without a meaning, or a checkpoint of another fit.
    """
    settings = FitConfig(**config)
    drawing, starting, running = jax.random.split(key, 3)
    corpus, held, lengths = corpora(drawing, task, settings)
    model = start_model(starting, task.name, task.vocabulary(), settings.network(), lengths)
    return Run(model, corpus, held, running, settings, None).run()


def factorize(
    key: jax.Array, task: Task, base: LanguageModel | None = None, **config: Any
) -> tuple[LanguageModel, dict[str, np.ndarray]]:
    """Split a mixture of strategies into a router r(z | x) and a generator g(y | x, z), without labels.

    Args:
        key: a JAX key; the result is a function of it and of the other arguments.
        task: what the texts are about.
        base: a fitted base model to start from; None starts from nothing.
        config: settings of `FitConfig` and `SplitConfig`.

    Returns:
        the model, and a history as of `fit_base`, where "held_out" is of the mixture whatever the objective,
        with "use" [evaluations, latents], the share of the texts that each latent has. Where latents were
        pruned, the first columns are those of the model, then come those that were dropped, the last ones
        first, 0 from then on. With continuous latents (objective "gaussian")
        "held_out" is the importance-weighted bound with `BOUND_DRAWS` draws, and "use" [evaluations,
        dimensions] is the KL of each dimension in nats.

    Raises:
        InputError: a setting without a meaning, a base model of another task or one that has latents, or an
            objective that measures against a base model where there is none.
    """
    fitting = {field.name for field in dataclasses.fields(FitConfig)}
    settings = FitConfig(**{name: value for name, value in config.items() if name in fitting})
    split = SplitConfig(**{name: value for name, value in config.items() if name not in fitting})
    if base is not None:
        _require_fit(base, task)
    elif split.objective.startswith("global"):
        raise InputError(f"base: {split.objective!r} measures against a base model; fit one with fit_base")
    updates = updates_of_parts(settings, split)
    drawing, starting, running = jax.random.split(key, 3)
    corpus, held, lengths = corpora(drawing, task, settings)
    model = _split_model(starting, task, base, settings, split, lengths)
    if base is not None and split.objective.startswith("global"):
        corpus, held = (_with_base(base, texts) for texts in (corpus, held))
    if updates:
        return parted(model, corpus, held, running, settings, split, updates)
    return Run(model, corpus, held, running, settings, split).run()


def _split_model(
    key: jax.Array,
    task: Task,
    base: LanguageModel | None,
    settings: FitConfig,
    split: SplitConfig,
    lengths: tuple[int, int],
) -> LanguageModel:
    """Return the model that a factorization starts from."""
    latents = split.latents or default_latents(task, pruned=split.price > 0)
    named = (task.name, task.vocabulary(), settings.network(), lengths)
    if split.objective == GAUSSIAN:
        starting, entering = jax.random.split(key)
        start = start_model(starting, *named) if base is None else base
        return start.with_gaussian(entering, split.dimensions)
    return start_model(key, *named, latents) if base is None else base.with_latents(key, latents)


def default_latents(task: Task, *, pruned: bool = False) -> int:
    """Return how many latents a factorization of a task starts with, unless it is told.

    Half as many again as the task declares strategies in all, and one more: as many as strategies leave one
    dead. A mixture has those of all its families, 35 for the 23 strategies of `multi_task`: then each can
    have latents of its own. Where they are `pruned`, three for each strategy that an input has: equal shares
    are then fine enough that every strategy gets a latent which writes nothing else.
    """
    if not pruned:
        return len(task.strategies()) * 3 // 2 + 1
    some = task.sample_inputs(np.random.default_rng(0), LOOKED_AT)
    return 3 * max(len(task.strategies(x)) for x in some)


def _require_fit(base: LanguageModel, task: Task) -> None:
    if base.tokenizer.words != tuple(task.vocabulary()):
        raise InputError(
            f"base: must be a model of {task.name}, over its vocabulary; it was fitted to {base.task}"
        )
    base.require_base(task)


def _with_base(base: LanguageModel, texts: Texts) -> Texts:
    found = [_base_part(base, part) for part in in_parts(texts)]
    return texts._replace(base=np.concatenate(found)[: len(texts.slots)])


_base_part = jax.jit(base_surprisals)
