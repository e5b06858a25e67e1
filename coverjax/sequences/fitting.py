"""`fit_base` and `factorize`: a model of a task's texts, and its split into a router and a generator."""

import dataclasses
import math
import os
import sys
import time
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
from jaxtyping import Float
from tqdm import tqdm

from coverjax.foundation.checks import InputError, one_of, shown
from coverjax.learning.checkpoints import fingerprint, read_checkpoint, write_checkpoint
from coverjax.sequences.factorization import (
    OBJECTIVES,
    Texts,
    Weights,
    base_surprisals,
    batch_loss,
    fixed_weights,
)
from coverjax.sequences.language_model import LanguageModel, start_model
from coverjax.sequences.roles import role
from coverjax.sequences.tasks.base import Sample, Task
from coverjax.sequences.tokenizer import Tokenizer, pairs
from coverjax.sequences.transformer import DTYPE, PRESETS, Size, preset

ADAM_SHARE = 0.15

JUDGED = 256
"""Texts whose loss is computed at once where nothing is fitted."""


@dataclasses.dataclass(frozen=True)
class FitConfig:
    """How a network is fitted to texts.

    Attributes:
        steps: number of updates.
        batch: texts of one update, drawn anew for each.
        learning_rate: of Muon, which moves the matrices of the blocks, at its largest; it falls to 0 as a
            cosine. Adam moves the rest, `ADAM_SHARE` of it.
        warmup: updates over which it rises from 0.
        texts: number of texts, each an input to be fitted (`role`), a strategy by its frequency, and the
            trace; which strategy it was is not kept.
        held_out: texts that are not fitted; the loss is told on them.
        every: updates between two of those (and checkpoints).
        size: of a network that starts from nothing: a name of `PRESETS`, or a `Size`.
        checkpoint: a file that is written on the way; when it is there, fitting goes on from it, bit for bit.
            A file of another fit is refused.
        progress: whether to show a bar on stderr; None where someone looks at it.
    """

    steps: int = 2000
    batch: int = 128
    learning_rate: float = 0.02
    warmup: int = 100
    texts: int = 20_000
    held_out: int = 512
    every: int = 100
    size: str | Size = "quick"
    checkpoint: str | os.PathLike[str] | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        """Refuse values without a meaning."""
        for name, least in (
            ("steps", 1),
            ("batch", 1),
            ("warmup", 0),
            ("texts", 1),
            ("held_out", 1),
            ("every", 1),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{name}: must be a whole number >= {least}; got {shown(value)}")
        if not (isinstance(self.learning_rate, int | float) and 0.0 < self.learning_rate < math.inf):
            raise InputError(f"learning_rate: must be above 0; got {shown(self.learning_rate)}")
        if not isinstance(self.size, Size):
            one_of("size", self.size, tuple(PRESETS))

    def network(self) -> Size:
        """Return the size of the network."""
        return self.size if isinstance(self.size, Size) else preset(self.size)

    def told(self) -> dict[str, Any]:
        """Return the settings that bear on the result."""
        values = dataclasses.asdict(self)
        for name in ("checkpoint", "progress"):
            del values[name]
        return values


@dataclasses.dataclass(frozen=True)
class SplitConfig:
    """How texts are split among latents.

    Attributes:
        objective: one of `OBJECTIVES`; see `coverjax.sequences.factorization`.
        latents: their number; None takes half as many again as the task declares strategies, and one more.
        beta, alpha, gamma: numbers in the objective.
        hold: share of the updates in which `balanced` holds the latents equal (lambda = 1).
        fade: share of the updates after which lambda has fallen to 0, in a straight line from `hold` on;
            1 and `hold` = 1 never let go.
    """

    objective: str = "balanced"
    latents: int | None = None
    beta: float | None = None
    alpha: float = 0.5
    gamma: float = 1.0
    hold: float = 0.3
    fade: float = 0.6

    def __post_init__(self) -> None:
        """Refuse values without a meaning."""
        one_of("objective", self.objective, OBJECTIVES)
        if self.latents is not None and (not isinstance(self.latents, int) or self.latents < 1):
            raise InputError(f"latents: must be a whole number >= 1; got {shown(self.latents)}")
        for name, high in (("alpha", 1.0), ("gamma", math.inf), ("hold", 1.0), ("fade", 1.0)):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and 0.0 <= value <= high):
                raise InputError(f"{name}: must be a number from 0 to {high:g}; got {shown(value)}")
        if self.fade < self.hold:
            raise InputError(f"fade: must not be below hold = {self.hold}; got {self.fade}")
        if self.beta is not None and not (isinstance(self.beta, int | float) and 0.0 <= self.beta < math.inf):
            raise InputError(f"beta: must be a number >= 0; got {shown(self.beta)}")

    def weights(self) -> Weights:
        """Return the numbers in the objective."""
        usual = {"beta_elbo": 0.3, "global": 0.02, "global_token": 0.02}
        beta = usual.get(self.objective, 1.0) if self.beta is None else self.beta
        return fixed_weights(self.objective, Weights(beta, self.alpha, self.gamma, 1.0))


class Program(NamedTuple):
    """What is compiled, hashable."""

    objective: str
    batch: int
    steps: int
    warmup: int
    rate: float
    hold: float
    fade: float


class State(NamedTuple):
    """What a checkpoint holds: the model's numbers and the optimiser's."""

    model: Any
    opt: Any


HISTORY = ("step", "loss", "held_out", "seconds", "use")


def fit_base(key: jax.Array, task: Task, **config: Any) -> tuple[LanguageModel, dict[str, np.ndarray]]:
    """Fit a base model p(y | x) to the mixture of a task's texts.

    Args:
        key: a JAX key; the result is a function of it and of the other arguments.
        task: what the texts are about, from `coverjax.sequences.task`.
        config: settings of `FitConfig`.

    Returns:
        the model, and a dict of arrays over evaluations: "step", "loss" (mean over the updates since the one
        before, nats a text), "held_out" (nats a text), "seconds".

    Raises:
        InputError: a setting without a meaning, or a checkpoint of another fit.
    """
    settings = FitConfig(**config)
    drawing, starting, running = jax.random.split(key, 3)
    corpus, held, lengths = corpora(drawing, task, settings)
    model = start_model(starting, task.name, task.vocabulary(), settings.network(), lengths)
    return _Fit(model, corpus, held, running, settings, None).run()


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
        the model, and a history as of `fit_base`, with "use" [evaluations, latents], the share of the
        texts that each latent has.

    Raises:
        InputError: a setting without a meaning, a base model of another task, or an objective that
            measures against a base model where there is none.
    """
    fitting = {field.name for field in dataclasses.fields(FitConfig)}
    settings = FitConfig(**{name: value for name, value in config.items() if name in fitting})
    split = SplitConfig(**{name: value for name, value in config.items() if name not in fitting})
    drawing, starting, running = jax.random.split(key, 3)
    corpus, held, lengths = corpora(drawing, task, settings)
    latents = split.latents or default_latents(task)
    if base is None:
        if split.objective.startswith("global"):
            raise InputError(
                f"base: {split.objective!r} measures against a base model; fit one with fit_base"
            )
        model = start_model(starting, task.name, task.vocabulary(), settings.network(), lengths, latents)
    else:
        _require_fit(base, task)
        corpus, held = (_with_base(base, texts) for texts in (corpus, held))
        model = base.with_latents(starting, latents)
    return _Fit(model, corpus, held, running, settings, split).run()


def default_latents(task: Task) -> int:
    """Return half as many latents again as strategies, and one more: as many as strategies leave one dead."""
    return len(task.strategies()) * 3 // 2 + 1


def corpora(key: jax.Array, task: Task, settings: FitConfig) -> tuple[Texts, Texts, tuple[int, int]]:
    """Draw texts to fit, and of other inputs to judge by; also the lengths of the longest prompt and text."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    drawn = _texts(rng, task, settings.texts, True) + _texts(rng, task, settings.held_out, False)
    cut = settings.texts
    tokens, slots, ends = pairs(Tokenizer(task.vocabulary()), [(text.x_text, text.y_text) for text in drawn])
    made = [jnp.asarray(part) for part in (tokens, slots, ends, np.zeros((len(tokens), 1), np.float32))]
    first, rest = (Texts(*(part[rows] for part in made)) for rows in (slice(cut), slice(cut, None)))
    return first, rest, (int(slots.max()) + 1, int(tokens.shape[1]))


def _texts(rng: np.random.Generator, task: Task, count: int, fitted: bool) -> list[Sample]:
    """Draw texts whose inputs are to be fitted, or are not."""
    kept: list[Sample] = []
    while len(kept) < count:
        some = task.sample_corpus(rng, 1 + (count - len(kept)) * 5 // (4 if fitted else 1))
        kept += [text for text in some if (role(text.x_text) == "fit") == fitted]
    return kept[:count]


def _require_fit(base: LanguageModel, task: Task) -> None:
    if base.tokenizer.words != tuple(task.vocabulary()):
        raise InputError(
            f"base: must be a model of {task.name}, over its vocabulary; it was fitted to {base.task}"
        )


def _with_base(base: LanguageModel, texts: Texts) -> Texts:
    found = [_base_part(base, part) for part in _parts(texts)]
    return texts._replace(base=jnp.concatenate(found)[: len(texts.slots)])


_base_part = jax.jit(base_surprisals)


def _parts(texts: Texts) -> list[Texts]:
    """Cut texts into parts of `JUDGED`, the last one filled up from the front."""
    count = len(texts.slots)
    rows = [np.arange(first, first + JUDGED) % count for first in range(0, count, JUDGED)]
    return [Texts(*(part[row] for part in texts)) for row in rows]


class _Fit:
    """One call of `fit_base` or `factorize`."""

    def __init__(
        self,
        model: LanguageModel,
        corpus: Texts,
        held: Texts,
        key: jax.Array,
        settings: FitConfig,
        split: SplitConfig | None,
    ) -> None:
        self.settings, self.key = settings, key
        hold, fade = (0.0, 0.0) if split is None else (split.hold, split.fade)
        self.program = Program(
            objective="base" if split is None else split.objective,
            batch=settings.batch,
            steps=settings.steps,
            warmup=settings.warmup,
            rate=float(settings.learning_rate),
            hold=float(hold),
            fade=float(fade),
        )
        weights = Weights() if split is None else split.weights()
        self.weights = Weights(*(jnp.asarray(value, DTYPE) for value in weights))
        self.corpus, self.held = corpus, held
        self.state = State(model, optimiser(self.program).init(model))
        facts = {**settings.told(), **({} if split is None else dataclasses.asdict(split))}
        facts |= {"task": model.task, "words": model.tokenizer.words}
        self.name = fingerprint(facts, (jax.random.key_data(key), self.corpus, held, model))

    def run(self) -> tuple[LanguageModel, dict[str, np.ndarray]]:
        """Make all updates, telling and keeping the state on the way."""
        settings = self.settings
        history: dict[str, Any] = {name: [] for name in HISTORY}
        step, state, history = self._resumed(history)
        begun = time.perf_counter() - (history["seconds"][-1] if history["seconds"] else 0.0)
        with self._bar(step) as bar:
            while step < settings.steps:
                block = min(settings.every, settings.steps - step)
                state, loss, use = advance(
                    state, self.corpus, self.key, jnp.int32(step), self.weights, self.program, block
                )
                step += block
                held = self._held_out(state.model)
                told = (step, float(loss), held, time.perf_counter() - begun, np.asarray(use).tolist())
                if not math.isfinite(told[1]):
                    raise InputError(f"learning_rate: the loss became {told[1]} by update {step}; lower it")
                for name, value in zip(HISTORY, told, strict=True):
                    history[name].append(value)
                if settings.checkpoint is not None:
                    write_checkpoint(settings.checkpoint, self.name, step, state, history)
                bar.set_postfix_str(f"{held:.3f} nats a text", refresh=False)
                bar.update(block)
        return state.model, {name: np.asarray(values) for name, values in history.items()}

    def _resumed(self, history: dict[str, Any]) -> tuple[int, State, dict[str, Any]]:
        if self.settings.checkpoint is None:
            return 0, self.state, history
        found = read_checkpoint(self.settings.checkpoint, self.name, self.state, history)
        return (0, self.state, history) if found is None else found

    def _held_out(self, model: LanguageModel) -> float:
        """The mean loss on the held-out texts (those that fill up the last part count twice)."""
        weights = self.weights._replace(balance=_balance(jnp.int32(self.settings.steps), self.program))
        losses = [float(_judge(model, part, self.key, weights, self.program)) for part in _parts(self.held)]
        return float(np.mean(losses))

    def _bar(self, step: int) -> Any:
        wanted = self.settings.progress
        seen = sys.stderr.isatty() if wanted is None else wanted
        told = {"desc": self.program.objective, "unit": " updates", "file": sys.stderr, "disable": not seen}
        return tqdm(total=self.settings.steps, initial=step, **told)


def optimiser(program: Program) -> optax.GradientTransformation:
    """Return Muon for the matrices of the blocks and Adam for the rest, the gradient clipped.

    Against Adam alone the same loss takes a third of the updates (400 updates of `quick` on list_summation:
    1.8 against 4.8 nats a text).
    """

    def rate(size: float, count: jax.Array) -> jax.Array:
        done = count.astype(DTYPE)
        rise = jnp.minimum((done + 1.0) / max(program.warmup, 1), 1.0)
        return size * rise * 0.5 * (1.0 + jnp.cos(math.pi * done / program.steps))

    muon = optax.contrib.muon(
        partial(rate, program.rate),
        adam_learning_rate=partial(rate, ADAM_SHARE * program.rate),
        adam_b2=0.98,
        muon_weight_dimension_numbers=_block_matrices,
    )
    return optax.chain(optax.clip_by_global_norm(1.0), muon)


def _block_matrices(params: Any) -> Any:
    """Mark the matrices inside the blocks."""

    def kind(path: Any, leaf: jax.Array) -> Any:
        inside = any(getattr(step, "name", "") == "blocks" for step in path)
        return optax.contrib.MuonDimensionNumbers() if inside and leaf.ndim == 2 else None

    return jax.tree_util.tree_map_with_path(kind, params)


@partial(jax.jit, static_argnames=("program", "block"))
def advance(
    state: State,
    corpus: Texts,
    key: jax.Array,
    first: jax.Array,
    weights: Weights,
    program: Program,
    block: int,
) -> tuple[State, Float[jax.Array, ""], jax.Array]:
    """Make `block` updates from number `first` on; return the state, mean loss, and use of the latents.

    The random numbers of an update are named by the key and the update's number.
    """
    tool = optimiser(program)

    def update(state: State, number: jax.Array) -> tuple[State, tuple]:
        choosing, drawing = jax.random.split(jax.random.fold_in(key, number))
        rows = jax.random.randint(choosing, (program.batch,), 0, corpus.slots.shape[0])
        batch = Texts(*(part[rows] for part in corpus))
        now = weights._replace(balance=_balance(number, program))
        of_model = jax.value_and_grad(_loss, has_aux=True)
        (loss, use), slope = of_model(state.model, batch, drawing, now, program)
        change, opt = tool.update(slope, state.opt, state.model)
        return State(optax.apply_updates(state.model, change), opt), (loss, use)

    numbers = first + jnp.arange(block, dtype=jnp.int32)
    state, (losses, use) = jax.lax.scan(update, state, numbers)
    return state, losses.mean(), use[-1]


def _balance(number: jax.Array, program: Program) -> jax.Array:
    """Lambda at an update: 1, then falling in a straight line, then 0."""
    if program.hold >= 1.0:
        return jnp.ones((), DTYPE)
    done = number.astype(DTYPE) / program.steps
    width = max(program.fade - program.hold, 1e-6)
    return jnp.clip((program.fade - done) / width, 0.0, 1.0)


def _loss(
    model: LanguageModel, batch: Texts, key: jax.Array, weights: Weights, program: Program
) -> tuple[jax.Array, jax.Array]:
    if program.objective == "base":
        return base_surprisals(model, batch).sum(axis=-1).mean(), jnp.zeros(0, DTYPE)
    loss, facts = batch_loss(model, batch, key, program.objective, weights)
    return loss, facts["use"]


_judge = jax.jit(lambda *args: _loss(*args)[0], static_argnums=4)
