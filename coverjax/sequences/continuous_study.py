"""`judged_continuous`: what continuous latents became, and what drawing them on purpose brings."""

import dataclasses
from collections.abc import Sequence

import jax

from coverjax.foundation.checks import whole_number
from coverjax.inference.bounded import bounded_interval
from coverjax.inference.units import Interval
from coverjax.sequences.collapse import LatentAgreement, LatentUse, latent_agreement, latent_use
from coverjax.sequences.continuous_exploration import (
    DRAWS,
    POOL,
    ContinuousExploration,
    explore_continuous,
)
from coverjax.sequences.language_model import LanguageModel
from coverjax.sequences.roles import held_out_inputs
from coverjax.sequences.tasks.base import Task


@dataclasses.dataclass(frozen=True, eq=False)
class ContinuousStudy:
    """What was measured on a model with continuous latents.

    Attributes:
        task: what the texts are about.
        model: with continuous latents.
        use: what the dimensions tell of held-out texts; whether they collapsed.
        agreement: whether z decides the strategy, on development inputs.
        exploration: curves of generated text on test inputs.
        fidelity: by method, P(a text of the test inputs matches at least one strategy).
    """

    task: Task
    model: LanguageModel
    use: LatentUse
    agreement: LatentAgreement
    exploration: ContinuousExploration
    fidelity: dict[str, Interval]


def judged_continuous(
    key: jax.Array,
    subject: Task,
    model: LanguageModel,
    base: LanguageModel | None = None,
    *,
    development: int = 48,
    test: int = 64,
    trials: int = 8,
    methods: Sequence[str] = DRAWS,
    budget: int | None = None,
    pool: int | None = None,
    level: float = 0.95,
) -> ContinuousStudy:
    """Say what the latents tell, and explore test inputs with them.

    Args:
        key: a JAX key.
        subject: the task.
        model: with continuous latents.
        base: what independent sampling is measured with; the router's draws when None.
        development, test: numbers of inputs of these roles.
        trials, methods, budget: as of `explore_continuous`.
        pool: as there; None takes `POOL`, or the budget where that is larger.
        level: nominal level of the intervals.

    Raises:
        InputError: as of `held_out_inputs` and `explore_continuous`.
    """
    if pool is None:
        pool = POOL if budget is None else max(POOL, whole_number("budget", budget))
    using, agreeing, exploring = jax.random.split(key, 3)
    known, unseen = held_out_inputs(key, subject, development, test, level)
    explored = explore_continuous(
        exploring,
        model,
        subject,
        unseen,
        base=base,
        budget=budget,
        trials=trials,
        methods=methods,
        pool=pool,
    )
    matching = {name: log.matches.any(axis=-1).mean(axis=(1, 2)) for name, log in explored.logs.items()}
    return ContinuousStudy(
        task=subject,
        model=model,
        use=latent_use(using, model, subject),
        agreement=latent_agreement(agreeing, model, subject, known, level=level),
        exploration=explored,
        fidelity={name: bounded_interval(shares[:, None], level) for name, shares in matching.items()},
    )
