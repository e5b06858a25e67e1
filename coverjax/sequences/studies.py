"""From a fitted base model to curves: factorize, evaluate, explore; small enough for a demonstration."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from coverjax.foundation.checks import whole_number
from coverjax.sequences.evaluation import Evaluation, evaluate
from coverjax.sequences.exploration import POLICIES, Exploration, explore, forced_samples, require_settings
from coverjax.sequences.fitting import factorize
from coverjax.sequences.generation import router_probs
from coverjax.sequences.language_model import LanguageModel
from coverjax.sequences.pruning import PRICE
from coverjax.sequences.roles import held_out_inputs
from coverjax.sequences.tasks.base import Task
from coverjax.sequences.tasks.registry import task

FITTED = pathlib.Path(__file__).parent / "fitted"
"""Base models that come with the package; `make fitted` makes them anew."""

QUICK: dict[str, Any] = {
    "objective": "balanced",
    "latents": 8,
    "prune": PRICE,
    "steps": 480,
    "batch": 64,
    "warmup": 30,
    "every": 80,
    "texts": 20_000,
    "held_out": 256,
    "hold": 0.45,
}
"""Settings of a factorization that a demonstration has time for."""

QUICK_LOOK: dict[str, Any] = {
    "development": 16,
    "test": 32,
    "trials": 8,
    "samples": 8,
    "policies": ("no repeat, alive", "schedule", "greedy on W"),
}
"""And of the look at what came of it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Study:
    """A factorized model and what was measured on it.

    Attributes:
        task: what the texts are about.
        base, model: the base model and the factorized one.
        history: of the factorization.
        evaluation: what the latents became, on development inputs.
        exploration: curves of generated text on test inputs.
        traces: for each latent some (prompt, text, strategies) of development inputs.
    """

    task: Task
    base: LanguageModel | None
    model: LanguageModel
    history: dict[str, np.ndarray]
    evaluation: Evaluation
    exploration: Exploration
    traces: dict[int, list[tuple[str, str, tuple[str, ...]]]]


def fitted_base(name: str) -> LanguageModel:
    """Return the base model of a task that comes with the package.

    Raises:
        InputError: there is none.
    """
    return LanguageModel.read(FITTED / f"{name}.npz")


def quick_study(seed: int = 0, name: str = "list_summation", **settings: Any) -> Study:
    """Factorize the package's base model of a task, live, and explore held-out inputs with it.

    One to three minutes on two cores, compilations included.

    Args:
        seed: of everything random.
        name: the task; one whose base model comes with the package.
        settings: of `judged`, beside `QUICK_LOOK`.
    """
    given = QUICK_LOOK | settings
    return study_of(jax.random.key(seed), task(name), fitted_base(name), fit=QUICK, **given)


def study_of(
    key: jax.Array, subject: Task, base: LanguageModel | None, *, fit: Mapping[str, Any], **judging: Any
) -> Study:
    """Factorize, and judge what came of it.

    Args:
        key: a JAX key.
        subject: the task.
        base: the base model to start from, or None.
        fit: settings of `factorize`.
        judging: settings of `judged`.
    """
    fitting, rest = jax.random.split(key)
    model, history = factorize(fitting, subject, base, **fit)
    return dataclasses.replace(judged(rest, subject, model, base, **judging), history=history)


def judged(
    key: jax.Array,
    subject: Task,
    model: LanguageModel,
    base: LanguageModel | None = None,
    *,
    development: int = 48,
    test: int = 64,
    trials: int = 8,
    samples: int = 16,
    policies: Sequence[str] = POLICIES,
    budget: int | None = None,
    level: float = 0.95,
) -> Study:
    """Evaluate a factorized model on development inputs, and explore test inputs with it.

    Args:
        key: a JAX key.
        subject: the task.
        model: with latents.
        base: what independent sampling is measured with; the model's mixture when None.
        development, test: numbers of inputs of these roles.
        trials, samples, policies, budget: as of `explore`.
        level: nominal level of the intervals of the evaluation.

    Raises:
        InputError: a model without latents or a base with them, a number below 1, an unknown policy, or more
            inputs than the task has.
    """
    whole_number("samples", samples)
    require_settings(policies, trials, budget)
    if base is not None:
        base.require_base(subject)
    forcing, exploring = jax.random.split(key)
    known, unseen = held_out_inputs(key, subject, development, test, level)
    forced, drawn = forced_samples(forcing, model, subject, known, samples)
    reference: dict[str, list[Any]] = {}
    for x in known:
        reference.setdefault(subject.family(x), []).append(subject.frequencies_of(x))
    return Study(
        task=subject,
        base=base,
        model=model,
        history={},
        evaluation=evaluate(forced, router_probs(model, drawn.x_texts), reference, level=level),
        exploration=explore(
            exploring,
            model,
            subject,
            known,
            unseen,
            base=base,
            budget=budget,
            trials=trials,
            policies=policies,
            forced=forced,
        ),
        traces={z: _traces(drawn, z, samples) for z in range(model.latents)},
    )


def _traces(drawn: Any, z: int, samples: int) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the first text of latent z on each of the first inputs."""
    found = []
    for row in range(min(4, len(drawn.x_texts))):
        matches = drawn.results[row, z * samples].strategy_matches or ()
        found.append((drawn.x_texts[row], drawn.texts[row, z * samples], tuple(sorted(matches))))
    return found
