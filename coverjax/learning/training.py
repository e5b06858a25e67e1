"""`train_policy`: fit a policy to coverage on a known model."""

import dataclasses
import sys
import time
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

from coverjax.foundation.checks import InputError, one_of
from coverjax.foundation.checks import budgets as checked_budgets
from coverjax.learning.checkpoints import described, fingerprint, read_checkpoint, write_checkpoint
from coverjax.learning.config import OBJECTIVES, TrainConfig
from coverjax.learning.gradients import LATTICE_BY_ITSELF, Climb
from coverjax.learning.problem import Problem, on_device, problem
from coverjax.learning.starting import finished, is_table, own_rows, parted, start_policy
from coverjax.learning.updates import Fixed, Pace, Program, advance, evaluate, optimiser, rate_at
from coverjax.model.router_generator import RouterGenerator
from coverjax.policy.stage import require_fit, split

GRADIENT_BYTES = 256 << 20
"""Memory that the gradient of the inputs computed at once may take."""

MOST_BYTES = 64 << 30
"""What the gradient of one input may take; larger ones are refused instead of tried."""

HISTORY = ("step", "learning_rate", "seconds", "train", "held_out")


class State(NamedTuple):
    """What a checkpoint holds; all arrays have seeds as their first axis.

    Attributes:
        params, opt: parameters and the optimiser's state.
        best: the parameters of the best evaluation.
        value: its value; -inf before the first one.
        at: the update it was made after.
        stale: evaluations since.
    """

    params: Any
    opt: Any
    best: Any
    value: Any
    at: Any
    stale: Any


def train_policy(
    key: jax.Array,
    policy_class: Any,
    model: RouterGenerator,
    budget: int,
    objective: str = "auc",
    **config: Any,
) -> tuple[Any, dict[str, np.ndarray]]:
    """Fit a policy to coverage on a known router-generator; return it with the history of its training.

    What is climbed is the mean over inputs of the objective (less what `kl` and `entropy` cost), by Adam,
    along its exact derivative where there is one, otherwise along an estimate from simulated runs; see
    `TrainConfig.gradient`.

    Args:
        key: a JAX key. The result is a function of it and of the other arguments.
        policy_class: what to train:
            `LearnedLatent`, a network (its settings, as of `LearnedLatent.start`, go into `config`);
            `LatentIID`, a router for every input, returned as a `LearnedLatent` that sees nothing;
            `LatentSchedule`, a router for every input and draw;
            a class of your own with a classmethod ``start(key, model, budget, ...)``; or a policy, whose
            arrays of floats are then the parameters it starts from.
        model: the `RouterGenerator` to train on.
        budget: number of draws K.
        objective: "auc", "coverage" (at K), "log_coverage", "full_coverage" (at K) or "gain", as in
            `coverjax.objectives`.
        config: settings of `TrainConfig`, and of the policy.

    Returns:
        the policy of the best evaluation, and a dict of arrays: "step" [evaluations] (updates made),
        "learning_rate", "seconds" [evaluations], "train" [seeds, evaluations] (mean objective met in the
        updates since the evaluation before; NaN at the start, and where no input met has a weight),
        "held_out" [seeds, evaluations] (the objective on the held-out inputs, or on all when none are),
        "judged" [judged] (the places of these inputs in the model), "best_step" [seeds] (updates before each
        seed's best evaluation), "best" [seeds] (the objective then), "best_seed" (whose is the best of them),
        "kept_seed" [judged] (whose policy is returned for each of these inputs: the best one, but chosen
        input by input where each has a row of its own), "at_start" and "kept" (the objective of what is
        returned, before training and now). Objectives are weighted means over inputs. The best is that of
        the objective less what `kl` and `entropy` cost.

    Raises:
        InputError: a setting without a meaning, a gradient or an objective that this policy can't have.

    >>> from coverjax.policy.latent import LatentIID
    >>> twins = RouterGenerator([[0.8, 0.1, 0.1]], [[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    >>> policy, history = train_policy(jax.random.key(0), LatentIID, twins, 2, steps=100)
    >>> history["held_out"][0].round(3).tolist()        # from a uniform router, 1/3 on the rare one, to 1/2
    [0.611, 0.625, 0.625]
    """
    settings, options = _settings(config)
    one_of("objective", objective, OBJECTIVES)
    draws = int(checked_budgets(budget)[-1])
    if not isinstance(model, RouterGenerator):
        raise InputError(
            "model: must be a RouterGenerator, training chooses among its latents; got "
            f"{type(model).__name__}"
        )
    job = _Job(key, policy_class, model.counting(settings.coverage), draws, objective, settings, options)
    return job.run()


def _settings(config: dict[str, Any]) -> tuple[TrainConfig, dict[str, Any]]:
    """Part the keyword arguments into those of training and those of the policy."""
    known = {field.name for field in dataclasses.fields(TrainConfig)}
    mine = {name: value for name, value in config.items() if name in known}
    return TrainConfig(**mine), {name: value for name, value in config.items() if name not in known}


class _Job:
    """One call of `train_policy`."""

    def __init__(
        self,
        key: jax.Array,
        policy_class: Any,
        model: RouterGenerator,
        draws: int,
        objective: str,
        settings: TrainConfig,
        options: dict[str, Any],
    ) -> None:
        self.settings, self.policy_class = settings, policy_class
        streams = jax.vmap(lambda seed: jax.random.fold_in(key, seed))(jnp.arange(settings.seeds))
        starting, self.running, self.judging, dividing = jax.vmap(lambda k: jax.random.split(k, 4))(streams).T
        starts = [start_policy(k, policy_class, model, draws, options) for k in starting]
        policy = starts[0]
        require_fit(policy, model)
        self.apart = own_rows(policy)
        whole = problem(policy, model, draws, objective, settings.weights, settings.input_weights)
        trained, judged = self._division(model.inputs, dividing[0])
        climb = _climb(policy, whole, objective, draws, settings)
        params = [parted(start)[0] for start in starts]
        self.rest = parted(policy)[1]
        numbers, frozen = split(self.rest)
        numbers = jax.tree.map(on_device, numbers)
        batch = min(settings.batch or len(trained), len(trained))
        pace = _pace(policy, settings, climb)
        chunk = min(batch, _chunk(policy, whole, climb, settings.seeds))
        self.program = Program(climb, frozen, pace, len(trained), batch, chunk, self.apart)
        self.fixed = Fixed(_rows(whole, trained), numbers)
        self.judge, self.judged = Fixed(_rows(whole, judged), numbers), judged
        self._require_weight()
        self.state = _first_state(jax.tree.map(lambda *leaves: jnp.stack(leaves), *params), pace)
        facts = {**settings.told(), "objective": objective, "draws": draws, "policy": described(frozen)}
        self.name = fingerprint(facts, (jax.random.key_data(key), self.fixed, self.judge, self.state.params))

    def _division(self, inputs: int, key: jax.Array) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows to train on, and those to judge by."""
        settings = self.settings
        if self.apart and (settings.held_out or settings.batch):
            raise InputError(
                "held_out, batch: must be left out where every input has a row of its own to train: nothing "
                "carries over from one input to another"
            )
        held = round(settings.held_out * inputs)
        if settings.held_out and not 0 < held < inputs:
            raise InputError(
                f"held_out: must leave inputs on both sides; {settings.held_out} of {inputs} inputs does not"
            )
        everyone = np.arange(inputs)
        if not held:
            return everyone, everyone
        order = np.asarray(jax.random.permutation(key, inputs))
        return np.sort(order[held:]), np.sort(order[:held])

    def run(self) -> tuple[Any, dict[str, np.ndarray]]:
        """Train to the end, or until nothing gets better."""
        settings = self.settings
        history: dict[str, Any] = {name: [] for name in HISTORY}
        step, state, history = self._resumed(history)
        begun = time.perf_counter() - (history["seconds"][-1] if history["seconds"] else 0.0)
        if not history["step"]:
            state = self._judged(state, 0, np.full(settings.seeds, np.nan), 0.0, history)
        with self._bar(step) as bar:
            while step < settings.steps and not self._stalled(state):
                block = min(settings.every, settings.steps - step)
                span = jnp.int32(step), jnp.int32(step + block)
                params, opt, met = advance(
                    state.params, state.opt, self.fixed, self.running, *span, self.program
                )
                step += block
                state = state._replace(params=params, opt=opt)
                state = self._judged(state, step, np.asarray(met), time.perf_counter() - begun, history)
                if settings.checkpoint is not None:
                    write_checkpoint(settings.checkpoint, self.name, step, state, history)
                bar.set_postfix_str(f"{max(history['held_out'][-1]):.5f}", refresh=False)
                bar.update(block)
        return self._result(state, history)

    def _resumed(self, history: dict[str, Any]) -> tuple[int, State, dict[str, Any]]:
        if self.settings.checkpoint is None:
            return 0, self.state, history
        found = read_checkpoint(self.settings.checkpoint, self.name, self.state, history)
        return (0, self.state, history) if found is None else found

    def _judged(
        self, state: State, step: int, met: np.ndarray, seconds: float, history: dict[str, Any]
    ) -> State:
        """Evaluate, keep what is better, write the history."""
        value, objective = (self._mean(each) for each in self._evaluated(state.params))
        better = value > np.asarray(state.value)
        if np.isnan(value).any():
            raise InputError(
                f"{type(self.rest).__name__}: the objective became NaN at update {step}; lower "
                "learning_rate, or look at the logits that `choose` gives"
            )
        history["step"].append(step)
        history["learning_rate"].append(float(rate_at(self.program.pace, step)))
        history["seconds"].append(seconds)
        history["train"].append([float(x) for x in met])
        history["held_out"].append([float(x) for x in objective])
        flag = jnp.asarray(better)

        def kept(new: jax.Array, old: jax.Array) -> jax.Array:
            return jnp.where(flag.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

        return state._replace(
            best=jax.tree.map(kept, state.params, state.best),
            value=jnp.asarray(np.where(better, value, state.value), jnp.float32),
            at=jnp.asarray(np.where(better, step, state.at), jnp.int32),
            stale=jnp.asarray(np.where(better, 0, np.asarray(state.stale) + 1), jnp.int32),
        )

    def _require_weight(self) -> None:
        for side, fixed in (("hold", self.judge), ("leave", self.fixed)):
            if not np.asarray(fixed.problem.weight).sum() > 0:
                raise InputError(
                    f"held_out: must {side} an input that counts; choose another key or another share"
                )

    def _evaluated(self, params: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return value and objective of each seed on each input that is judged [seeds, judged]."""
        found = evaluate(params, self.judge, self.judging, self.program)
        return np.asarray(found[0], np.float64), np.asarray(found[1], np.float64)

    def _mean(self, each: np.ndarray) -> np.ndarray:
        """Return the weighted mean over the inputs that are judged, the last axis."""
        weight = np.asarray(self.judge.problem.weight, np.float64)
        seen = weight > 0
        return each[..., seen] @ (weight / weight.sum())[seen]

    def _stalled(self, state: State) -> bool:
        patience = self.settings.patience
        return patience is not None and bool((np.asarray(state.stale) >= patience).all())

    def _bar(self, step: int) -> Any:
        wanted = self.settings.progress
        seen = sys.stderr.isatty() if wanted is None else wanted
        told = {"desc": "train", "unit": " updates", "file": sys.stderr, "disable": not seen}
        return tqdm(total=self.settings.steps, initial=step, **told)

    def _result(self, state: State, history: dict[str, Any]) -> tuple[Any, dict[str, np.ndarray]]:
        told = {name: np.asarray(values, np.float64) for name, values in history.items()}
        told["step"] = told["step"].astype(np.int64)
        told["train"], told["held_out"] = told["train"].T, told["held_out"].T
        told["judged"] = self.judged
        best = int(np.argmax(np.asarray(state.value)))
        told["best_step"], told["best_seed"] = np.asarray(state.at, np.int64), np.asarray(best)
        at = np.searchsorted(told["step"], told["best_step"])
        told["best"] = told["held_out"][np.arange(len(at)), at]
        if self.apart and self.settings.seeds > 1:
            params = self._best_rows(state, told)
        else:
            params = jax.tree.map(lambda leaf: leaf[best], state.best)
            told["kept_seed"] = np.full(len(self.judged), best)
            told["at_start"], told["kept"] = told["held_out"][best, 0], told["best"][best]
        policy = eqx.combine(params, self.rest)
        return finished(policy, self.policy_class), told

    def _best_rows(self, state: State, told: dict[str, np.ndarray]) -> Any:
        """Choose the best seed input by input, and say so in the history."""
        values, objectives = self._evaluated(state.best)
        seed, rows = values.argmax(axis=0), np.arange(values.shape[1])
        told["kept_seed"], told["kept"] = seed, self._mean(objectives[seed, rows])
        told["at_start"] = self._mean(self._evaluated(self.state.params)[1][seed, rows])
        return jax.tree.map(lambda leaf: leaf[seed, rows], state.best)


# -- choices made before training ------------------------------------------------------------------


def _climb(policy: Any, whole: Problem, objective: str, draws: int, settings: TrainConfig) -> Climb:
    """Choose the gradient, or refuse the one that was asked for."""
    blind, markov = policy.sees == "blind", getattr(policy, "markov", False)
    name = type(policy).__name__
    needs_lattice = not blind or objective == "full_coverage"
    asked = settings.gradient
    if asked == "auto":
        small = whole.bits and whole.bits <= LATTICE_BY_ITSELF
        asked = "exact" if (blind or markov) and (small or not needs_lattice) else "score"
    if asked == "exact" and not (blind or markov):
        raise InputError(
            f"gradient: 'exact' needs a policy that is blind or depends on (draw, seen set) only; {name} "
            "does not; use gradient='score'"
        )
    if (asked == "regret" or (asked == "exact" and needs_lattice)) and not whole.bits:
        raise InputError(
            f"gradient: {asked!r} needs the lattice of all subsets, at most 16 strategies that can occur; "
            "use gradient='score'"
        )
    if asked == "regret" and policy.sees != "outcomes":
        raise InputError(f"gradient: 'regret' needs a policy that sees outcomes; {name} sees {policy.sees}")
    if asked == "regret" and (settings.kl or settings.entropy):
        raise InputError("kl, entropy: must be 0 with gradient='regret': its optimal plan knows no such cost")
    if asked != "exact" and objective == "log_coverage":
        raise InputError(
            "objective: log_coverage is no mean over runs, it needs gradient='exact'; use 'coverage' or 'auc'"
        )
    if settings.kl and not (np.asarray(whole.router) > 0).all():
        raise InputError("kl: the base router must give every latent a positive probability; it does not")
    return Climb(objective, asked, draws, int(settings.trials), (float(settings.kl), float(settings.entropy)))


def _pace(policy: Any, settings: TrainConfig, climb: Climb) -> Pace:
    """Choose what the settings leave open.

    Along exact derivatives of tables Adam forgets fast: a latent that was pushed down has a tiny derivative,
    and a long memory of larger ones would keep it there.
    """
    table = is_table(policy)
    given = settings.learning_rate
    rate = float(given) if given is not None else (0.4 if table else 0.003)
    fast = table and climb.gradient == "exact"
    memory = (0.8, 0.9, 1e-12) if fast else (0.9, 0.999, 1e-8)
    return Pace(rate, settings.decay, settings.warmup, settings.steps, memory)


def _chunk(policy: Any, whole: Problem, climb: Climb, seeds: int) -> int:
    """Return how many inputs fit in memory at once, for all seeds side by side.

    For every latent of every choice a network keeps about 300 numbers, a table 20; a program over the lattice
    some 3 for every latent, draw and subset.
    """
    choices = climb.draws * (1 if policy.sees == "blind" else 1 << whole.bits)
    lattice = 0
    if climb.gradient != "exact":
        choices = climb.draws * climb.trials
        lattice = 2 * choices * (1 + whole.draws.shape[2] // whole.router.shape[1])  # random numbers
    walks = policy.sees != "blind" or climb.objective == "full_coverage"
    if climb.gradient == "regret" or (climb.gradient == "exact" and walks):
        lattice += 3 * climb.draws << whole.bits
    numbers = whole.router.shape[1] * ((20 if is_table(policy) else 300) * choices + lattice)
    needed = 4 * numbers * seeds
    if needed > MOST_BYTES:
        trials = "" if climb.gradient == "exact" else f", {climb.trials:,} trials"
        raise InputError(
            f"budget: an input must need at most {MOST_BYTES >> 30} GiB at once; {climb.draws:,} draws"
            f"{trials} and {seeds:,} seeds side by side need about {needed >> 30:,}: take fewer"
        )
    return max(1, GRADIENT_BYTES // needed)


def _rows(whole: Problem, rows: np.ndarray) -> Problem:
    """Return the problem of some inputs."""
    return jax.tree.map(lambda leaf: leaf[jnp.asarray(rows)], whole)


def _first_state(params: Any, pace: Pace) -> State:
    seeds = jax.tree.leaves(params)[0].shape[0]
    opt = jax.vmap(optimiser(pace).init)(params)
    nothing = jnp.full(seeds, -jnp.inf, jnp.float32)
    zero = jnp.zeros(seeds, jnp.int32)
    return State(params, opt, params, nothing, zero, zero)
