"""`explore`: what choosing latents on purpose brings, measured by generating, beside what W predicts.

Development inputs give the table W (forced latents), train the schedule and the learned router, and say
which policy is best. Test inputs, which no part of this has seen, give the curves.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from coverjax.closed_form.forms import exact
from coverjax.curves import Curves
from coverjax.estimators.rarefaction import estimate
from coverjax.foundation.checks import InputError, shown, whole_number
from coverjax.learning.training import train_policy
from coverjax.logs.log import SampleLog
from coverjax.metrics import GainReport, auc, gain_report
from coverjax.model.router_generator import RouterGenerator
from coverjax.montecarlo.scan import simulate
from coverjax.policy.good_ucb import GoodUCB
from coverjax.policy.greedy import GreedyLatent
from coverjax.policy.iid import IID
from coverjax.policy.latent import LatentIID, LatentNoRepeat
from coverjax.policy.learned import LearnedLatent
from coverjax.policy.oracle import OracleNoRepeat
from coverjax.policy.schedule import LatentSchedule
from coverjax.sequences.forced import ForcedSamples
from coverjax.sequences.generation import Drawn, draw, router_probs
from coverjax.sequences.language_model import LanguageModel
from coverjax.sequences.rollouts import roll_out
from coverjax.sequences.tasks.base import Task

BASE, ROUTER = "base iid", "router iid"
"""The names of independent sampling: from the base model, and from the router's mixture."""

POLICIES = ("no repeat", "no repeat, alive", "schedule", "good ucb", "greedy on W", "learned on W")
"""Those that choose latents; "alive" leaves out the latents that the router gives at most `ALIVE`."""

ALIVE = 0.02

SIMULATED = 2_000
"""Trials of a prediction that has no closed form."""


@dataclasses.dataclass(frozen=True, eq=False)
class Exploration:
    """What `explore` found, on test inputs.

    Attributes:
        curves: measured curves by method, one row a test input.
        predicted: the same from the table W of the development inputs.
        gains: each method's gain over independent sampling (from the base model where one was given), the
            oracle being one strategy a draw.
        chosen: the method that W says is best on the development inputs.
        chosen_unseeing: the best one of those that do not look at outcomes.
        logs: what was generated, validated, by method.
        sees, knows: what each method sees while it runs and knows beforehand.
        table: router-generator of the test inputs with the table W of the development inputs.
        forced: the samples that W was estimated from.
    """

    curves: dict[str, Curves]
    predicted: dict[str, Curves]
    gains: dict[str, GainReport]
    chosen: str
    chosen_unseeing: str
    logs: dict[str, SampleLog]
    sees: dict[str, str]
    knows: dict[str, str]
    table: RouterGenerator
    forced: ForcedSamples


def forced_samples(
    key: jax.Array,
    model: LanguageModel,
    task: Task,
    inputs: Sequence[Any],
    samples: int,
    *,
    temperature: float = 1.0,
    top_p: float = 1.0,
) -> tuple[ForcedSamples, Drawn]:
    """Draw `samples` texts of every latent on every input; what W is estimated from.

    Raises:
        InputError: a model without latents, less than one sample, or no inputs.
    """
    model.require_latents()
    whole_number("samples", samples)
    latents = np.repeat(np.arange(model.latents), samples)
    drawn = draw(
        key, model, task, inputs, len(latents), latents=latents, temperature=temperature, top_p=top_p
    )
    results = drawn.results.reshape(len(inputs), model.latents, samples)
    return ForcedSamples.from_results(results, task, inputs), drawn


def explore(
    key: jax.Array,
    model: LanguageModel,
    task: Task,
    development: Sequence[Any],
    test: Sequence[Any],
    *,
    base: LanguageModel | None = None,
    budget: int | None = None,
    trials: int = 8,
    samples: int = 8,
    policies: Sequence[str] = POLICIES,
    steps: int = 300,
    temperature: float = 1.0,
    top_p: float = 1.0,
    forced: ForcedSamples | None = None,
) -> Exploration:
    """Explore test inputs with every policy, by generating and validating, and predict it from W.

    Args:
        key: a JAX key.
        model: a factorized model.
        task: what the inputs are of.
        development: inputs to estimate W on, and to train and choose policies.
        test: inputs to report on; none of the development inputs.
        base: the base model, sampled independently, as what is to be beaten; without it the router's mixture
            is.
        budget: draws K; the largest number of strategies of an input when None.
        trials: runs of each policy on each test input.
        samples: texts of each latent on each development input, and in all of each independent method's
            test input `trials` x K.
        policies: which of `POLICIES`.
        steps: updates in the training of the schedule and of the learned router.
        temperature, top_p: of the tokens.
        forced: samples of the development inputs with each latent forced, where they are there already.

    Raises:
        InputError: a model without latents or a base with them, inputs on both sides or none on one, or an
            unknown policy.
    """
    require_settings(policies, trials, budget)
    _require(model, task, development, test)
    if base is not None:
        base.require_base(task)
    forcing, training, basing, routing, running = jax.random.split(key, 5)
    heat = Heat(float(temperature), float(top_p))
    if forced is None:
        forced, _ = forced_samples(
            forcing, model, task, development, samples, temperature=heat.temperature, top_p=heat.top_p
        )
    family, table, first, second = _tables(model, task, forced, development, test)
    draws = max(len(task.strategies(x)) for x in test) if budget is None else budget
    made = trained_policies(training, family, draws, policies, steps)
    applied = {name: _for_rows(policy, second) for name, policy in made.items()}
    logs = {
        name: _independent(part, source, task, test, trials * draws, heat)
        for name, source, part in ((BASE, base, basing), (ROUTER, model, routing))
        if source is not None
    }
    for name, policy in applied.items():
        again = jax.random.clone(running)  # common random numbers
        logs[name] = _run(again, model, task, test, policy, table, draws, trials, heat)
    curves = {name: estimate_one(log, draws) for name, log in logs.items()}
    every = {name: applied.get(name, LatentIID() if name == ROUTER else IID()) for name in logs}
    oracle = exact(OracleNoRepeat(), table, draws)
    below = curves[BASE if base is not None else ROUTER]
    chosen, unseeing = _best(made, family, draws, np.bincount(first, minlength=family.inputs))
    return Exploration(
        curves=curves,
        predicted={name: predict(policy, table, draws) for name, policy in every.items()},
        gains={name: gain_report(found, below, oracle) for name, found in curves.items()},
        chosen=chosen,
        chosen_unseeing=unseeing,
        logs=logs,
        sees={name: policy.sees for name, policy in every.items()},
        knows={name: _known_word(policy) for name, policy in every.items()},
        table=table,
        forced=forced,
    )


def estimate_one(log: SampleLog, budget: int) -> Curves:
    """Return the curves of a log without methods."""
    found = estimate(log, budget)
    assert isinstance(found, Curves)
    return found


class Heat(NamedTuple):
    """How tokens are drawn."""

    temperature: float
    top_p: float


def _run(
    key: jax.Array,
    model: LanguageModel,
    task: Task,
    inputs: Sequence[Any],
    policy: Any,
    table: RouterGenerator,
    draws: int,
    trials: int,
    heat: Heat,
) -> SampleLog:
    return roll_out(
        key,
        model,
        task,
        inputs,
        policy,
        table,
        draws,
        trials,
        temperature=heat.temperature,
        top_p=heat.top_p,
    )


def _independent(
    key: jax.Array, source: LanguageModel, task: Task, inputs: Sequence[Any], samples: int, heat: Heat
) -> SampleLog:
    drawn = draw(key, source, task, inputs, samples, temperature=heat.temperature, top_p=heat.top_p)
    return drawn.log


def _tables(
    model: LanguageModel,
    task: Task,
    forced: ForcedSamples,
    development: Sequence[Any],
    test: Sequence[Any],
) -> tuple[RouterGenerator, RouterGenerator, np.ndarray, np.ndarray]:
    """Return the families' table, that of the test inputs, and the family of each input on both sides."""
    names = list(dict.fromkeys(task.family(x) for x in development))
    first, second = (np.array([names.index(task.family(x)) for x in side]) for side in (development, test))
    ours, theirs = (tuple(task.render_x(x) for x in side) for side in (development, test))
    family = _family_model(forced.model(router_probs(model, ours)), first)
    return family, _table_of(family, second, router_probs(model, theirs), theirs), first, second


def _best(
    made: dict[str, Any], family: RouterGenerator, budget: int, shares: Int[np.ndarray, " families"]
) -> tuple[str, str]:
    """Return the policy of which W promises most on the development inputs; and of those that see nothing."""
    ranked = {name: _promise(policy, family, budget, shares) for name, policy in made.items()}
    blind = {name: value for name, value in ranked.items() if made[name].sees != "outcomes"}
    best = [max(each, key=each.__getitem__) if each else ROUTER for each in (ranked, blind)]
    return best[0], best[1]


def trained_policies(
    key: jax.Array, family: RouterGenerator, budget: int, names: Sequence[str], steps: int
) -> dict[str, Any]:
    """Return policies by name; those that are trained are trained on the families' tables."""
    scheduling, learning = jax.random.split(key)

    def trained(key: jax.Array, kind: Any) -> Any:
        return train_policy(key, kind, family, budget, steps=steps, progress=False)[0]

    every = {
        "no repeat": LatentNoRepeat,
        "no repeat, alive": lambda: LatentNoRepeat(support=ALIVE),
        "schedule": lambda: trained(scheduling, LatentSchedule),
        "good ucb": lambda: GoodUCB(c=0.5),
        "greedy on W": GreedyLatent,
        "learned on W": lambda: trained(learning, LearnedLatent),
    }
    return {name: every[name]() for name in names}


def predict(policy: Any, table: RouterGenerator, budget: int) -> Curves:
    """Return the curves that W promises: exact where there is a closed form, else simulated."""
    if getattr(policy, "markov", False) or isinstance(policy, LatentNoRepeat):
        return exact(policy, table, budget)
    return simulate(jax.random.key(0), policy, table, budget, SIMULATED)


def require_settings(policies: Sequence[str], trials: int, budget: int | None) -> None:
    """Raise where one of these settings of `explore` has no meaning, before anything is drawn.

    Raises:
        InputError: an unknown policy, or less than one trial or draw.
    """
    unknown = [name for name in policies if name not in POLICIES]
    if unknown:
        raise InputError(f"policies: must be of {', '.join(POLICIES)}; got {shown(unknown[0])}")
    whole_number("trials", trials)
    if budget is not None:
        whole_number("budget", budget)


def _require(model: LanguageModel, task: Task, development: Sequence[Any], test: Sequence[Any]) -> None:
    model.require_latents()
    for name, side in (("development", development), ("test", test)):
        if not side:
            raise InputError(f"{name}: must be at least one input; got none")
    common = {task.render_x(x) for x in development} & {task.render_x(x) for x in test}
    if common:
        raise InputError(
            f"test: must hold none of the development inputs; {shown(min(common))} is in both: take them "
            "by role"
        )
    lacking = {task.family(x) for x in test} - {task.family(x) for x in development}
    if lacking:
        raise InputError(
            f"development: must hold inputs of every family that is tested; there are none of {min(lacking)}"
        )


def _family_model(dev: RouterGenerator, family: Int[np.ndarray, " inputs"]) -> RouterGenerator:
    """Return one row a family: the mean router and the mean table of its development inputs."""
    count = int(family.max()) + 1
    rows = [np.flatnonzero(family == number) for number in range(count)]
    router = np.stack([dev.router[row].mean(axis=0) for row in rows])
    generator = np.stack([dev.generator[row].mean(axis=0) for row in rows])
    return RouterGenerator(
        router, generator, matches=dev.matches, declared=np.stack([dev.declared[row[0]] for row in rows])
    )


def _table_of(
    family: RouterGenerator,
    own: Int[np.ndarray, " inputs"],
    router: Float[np.ndarray, "inputs latents"],
    names: tuple[str, ...],
) -> RouterGenerator:
    """Return the model of inputs that have their own router and the table of their family."""
    return RouterGenerator(
        router, family.generator[own], matches=family.matches, ids=names, declared=family.declared[own]
    )


def _for_rows(policy: Any, own: Int[np.ndarray, " inputs"]) -> Any:
    """Return a policy that was made for one row a family for inputs of these families."""
    if isinstance(policy, LatentSchedule) and np.ndim(policy.logits) == 3:
        return LatentSchedule(np.asarray(policy.logits)[own])
    return policy


def _promise(
    policy: Any, family: RouterGenerator, budget: int, shares: Int[np.ndarray, " families"]
) -> float:
    """Return the AUC that W promises on average over the development inputs."""
    return float(np.average(auc(predict(policy, family, budget)), weights=shares))


def _known_word(policy: Any) -> str:
    """What the policy knows here: what it takes for the true W is an estimate from development inputs."""
    return {"true_W": "estimated_W"}.get(policy.knows, policy.knows)
