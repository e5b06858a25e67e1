"""`fit_base` and `factorize`: a model of a task's texts, and its split into a router and a generator."""

import dataclasses
import math
import os
import pathlib
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

from coverjax.foundation.checks import InputError
from coverjax.learning.checkpoints import fingerprint, read_checkpoint, write_checkpoint
from coverjax.sequences.continuous import GAUSSIAN
from coverjax.sequences.factorization import Texts, Weights, base_surprisals
from coverjax.sequences.language_model import LanguageModel, start_model
from coverjax.sequences.pruning import DEAD, needed_latents
from coverjax.sequences.resampling import evenly
from coverjax.sequences.roles import role
from coverjax.sequences.settings import FitConfig, SplitConfig
from coverjax.sequences.tasks.base import Sample, Task
from coverjax.sequences.tokenizer import Tokenizer, pairs
from coverjax.sequences.transformer import DTYPE
from coverjax.sequences.updates import Program, State, advance, begun, judge, under_latents

JUDGED = 256
"""Texts whose loss is computed at once where nothing is fitted."""

PRUNED_BY = 1024
"""Texts that latents are pruned by."""

IN_VAIN = 4_000
"""Texts drawn one after the other whose inputs are all to be held out, or none is, before it is given up."""

LOOKED_AT = 64
"""Inputs that are asked how many strategies they have."""

HISTORY = ("step", "loss", "held_out", "seconds", "use")


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
        the model, and a history as of `fit_base`, where "held_out" is of the mixture whatever the objective,
        with "use" [evaluations, latents], the share of the texts that each latent has. Where latents were
        pruned, the first columns are those of the model, then come those that were dead at the end, then
        those that were dropped on the way, 0 from then on. With continuous latents (objective "gaussian")
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
    first = _first_part(settings, split)
    drawing, starting, running = jax.random.split(key, 3)
    corpus, held, lengths = corpora(drawing, task, settings)
    model = _split_model(starting, task, base, settings, split, lengths)
    if base is not None and split.objective.startswith("global"):
        corpus, held = (_with_base(base, texts) for texts in (corpus, held))
    if first:
        return _pruned(model, corpus, held, running, settings, split, first)
    return _Fit(model, corpus, held, running, settings, split).run()


def _first_part(settings: FitConfig, split: SplitConfig) -> int:
    """Return the number of updates before latents are pruned, 0 where none are.

    Raises:
        InputError: none are left before or after that, or only the second part has a checkpoint.
    """
    # One update can't be cut in two; whoever gives `hold` is told so.
    if not split.price or (settings.steps == 1 and split.hold is None):
        return 0
    first = round(split.schedule[0] * settings.steps)
    if not 0 < first < settings.steps:
        raise InputError(
            f"hold: must leave updates before and after latents are pruned; got {split.schedule[0]:g} of "
            f"{settings.steps} updates"
        )
    if settings.checkpoint is not None:
        first_part, later = pathlib.Path(settings.checkpoint), second_checkpoint(settings.checkpoint)
        if later.exists() and not first_part.exists():
            raise InputError(f"{later}: goes on from {first_part.name}, which is not there; remove it")
    return first


def _pruned(
    model: LanguageModel,
    corpus: Texts,
    held: Texts,
    key: jax.Array,
    settings: FitConfig,
    split: SplitConfig,
    first: int,
) -> tuple[LanguageModel, dict[str, np.ndarray]]:
    """Share the texts equally for the first updates, drop the latents that are not missed, and go on with the
    others, each drawn as often.

    What then lost its texts to a twin is dropped at the end.
    """
    sharing, going = jax.random.split(key)
    equal = dataclasses.replace(split, prune=0.0, hold=1.0, fade=1.0)
    before = dataclasses.replace(settings, steps=first)
    model, shared = _Fit(model, corpus, held, sharing, before, equal).run()
    some = Texts(*(part[:PRUNED_BY] for part in corpus))
    kept, _ = needed_latents(_told(model, some)[0], split.price)
    model = model.with_only(kept)
    free = dataclasses.replace(split, prune=0.0, hold=0.0, fade=0.0)
    # What parted at the higher rate stays apart at half of it, and is written with fewer faults.
    after = dataclasses.replace(
        settings,
        steps=settings.steps - first,
        learning_rate=settings.rate_and_decay(split.objective)[0] / 2.0,
        checkpoint=None if settings.checkpoint is None else second_checkpoint(settings.checkpoint),
    )
    known = Texts(*(part[: after.steps * after.batch] for part in corpus))
    known = evenly(known, _told(model, known, settings.progress)[0])
    model, gone_on = _Fit(model, corpus, held, going, after, free, known).run()
    alive = _alive(model, some, split.price)
    return model.with_only(alive), _joined(shared, gone_on, kept, alive)


def second_checkpoint(checkpoint: str | os.PathLike[str]) -> pathlib.Path:
    """Return where a fit that prunes keeps what it does after that; what it did before is in the first."""
    path = pathlib.Path(checkpoint)
    return path.with_name(f"pruned-{path.name}")


def _told(model: LanguageModel, texts: Texts, progress: bool | None = False) -> tuple[np.ndarray, np.ndarray]:
    """Return -log g(y | x, z) of texts under each latent, and log r(z | x), both [texts, latents]."""
    parts = in_parts(texts)
    with _bar(progress, "telling texts apart", JUDGED * len(parts), "texts") as bar:
        found = []
        for part in parts:
            found.append(under_latents(model, part))
            bar.update(JUDGED)
    surprisal, router = (np.concatenate(parts)[: len(texts.slots)] for parts in zip(*found, strict=True))
    return surprisal, router


def _alive(model: LanguageModel, texts: Texts, price: float) -> list[int]:
    """Return the latents that are not dead, and those that are but that the texts need all the same."""
    surprisal, router = _told(model, texts)
    shares = np.exp(router).mean(axis=0)
    return needed_latents(surprisal, price, np.flatnonzero(shares >= DEAD).tolist())[0]


def _joined(
    begun: dict[str, np.ndarray], gone_on: dict[str, np.ndarray], kept: list[int], alive: list[int]
) -> dict[str, np.ndarray]:
    """Return one history of both parts.

    First come the latents of the model, then what was kept of the first part and is dead, then the others.
    """
    latents = begun["use"].shape[1]
    second = [*alive, *(i for i in range(len(kept)) if i not in alive)]
    order = [*(kept[i] for i in second), *(z for z in range(latents) if z not in kept)]
    later = np.pad(gone_on["use"][:, second], ((0, 0), (0, latents - len(kept))))
    joined = {name: np.concatenate([begun[name], gone_on[name]]) for name in ("loss", "held_out")}
    joined |= {name: np.concatenate([begun[name], begun[name][-1] + gone_on[name]]) for name in _COUNTED}
    return joined | {"use": np.concatenate([begun["use"][:, order], later])}


_COUNTED = ("step", "seconds")


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


def corpora(key: jax.Array, task: Task, settings: FitConfig) -> tuple[Texts, Texts, tuple[int, int]]:
    """Draw texts to fit, and of other inputs to judge by; also the length of the longest prompt, and of that
    with the longest trace after it.

    Raises:
        InputError: the task seems to have no inputs of one of both.
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    drawn = _texts(rng, task, settings.texts, True) + _texts(rng, task, settings.held_out, False)
    cut = settings.texts
    tokens, slots, ends = pairs(Tokenizer(task.vocabulary()), [(text.x_text, text.y_text) for text in drawn])
    numbers = np.zeros((len(tokens), 1), DTYPE), np.ones(len(tokens), DTYPE)
    made = Texts(*map(jnp.asarray, (tokens, slots, ends, *numbers)))
    first, rest = (Texts(*(part[rows] for part in made)) for rows in (slice(cut), slice(cut, None)))
    longest = int(slots.max()) + 1
    return first, rest, (longest, longest + int((ends - slots).max()))


def _texts(rng: np.random.Generator, task: Task, count: int, fitted: bool) -> list[Sample]:
    """Draw texts whose inputs are to be fitted, or are not."""
    kept: list[Sample] = []
    vain = 0
    while len(kept) < count:
        some = task.sample_corpus(rng, 1 + (count - len(kept)) * 5 // (4 if fitted else 1))
        found = [text for text in some if (role(text.x_text) == "fit") == fitted]
        kept += found
        vain = 0 if found else vain + len(some)
        if vain > IN_VAIN:
            which = "to fit" if fitted else "that are held out"
            raise InputError(f"texts: {task.name} seems to have no inputs {which}: none of {vain} drawn")
    return kept[:count]


def _require_fit(base: LanguageModel, task: Task) -> None:
    if base.tokenizer.words != tuple(task.vocabulary()):
        raise InputError(
            f"base: must be a model of {task.name}, over its vocabulary; it was fitted to {base.task}"
        )
    base.require_base(task)


def _with_base(base: LanguageModel, texts: Texts) -> Texts:
    found = [_base_part(base, part) for part in in_parts(texts)]
    return texts._replace(base=jnp.concatenate(found)[: len(texts.slots)])


_base_part = jax.jit(base_surprisals)


def in_parts(texts: Texts) -> list[Texts]:
    """Cut texts into parts of `JUDGED`, the last one filled up from the front."""
    count = len(texts.slots)
    rows = [np.arange(first, first + JUDGED) % count for first in range(0, count, JUDGED)]
    return [Texts(*(part[row] for part in texts)) for row in rows]


class _Fit:
    """One call of `fit_base` or `factorize`, or a part of it.

    `drawn`, where it is given, is what batches are drawn from: texts of the corpus, some of them more often.
    """

    def __init__(
        self,
        model: LanguageModel,
        corpus: Texts,
        held: Texts,
        key: jax.Array,
        settings: FitConfig,
        split: SplitConfig | None,
        drawn: Texts | None = None,
    ) -> None:
        self.settings, self.key = settings, key
        hold, fade = (0.0, 0.0) if split is None else split.schedule
        objective = "base" if split is None else split.objective
        rate, decay = settings.rate_and_decay(objective)
        self.program = Program(
            objective=objective,
            batch=settings.batch,
            steps=settings.steps,
            warmup=settings.warmup,
            rate=rate,
            decay=decay,
            hold=hold,
            fade=fade,
        )
        weights = Weights() if split is None else split.weights()
        self.weights = Weights(*(jnp.asarray(value, DTYPE) for value in weights))
        self.corpus, self.held = corpus if drawn is None else drawn, held
        self.state = begun(model, self.program)
        facts = {**settings.told(), **({} if split is None else dataclasses.asdict(split))}
        facts |= {"task": model.task, "words": model.tokenizer.words}
        self.name = fingerprint(facts, (jax.random.key_data(key), corpus, held, model))

    def run(self) -> tuple[LanguageModel, dict[str, np.ndarray]]:
        """Make all updates, telling and keeping the state on the way."""
        settings = self.settings
        history: dict[str, Any] = {name: [] for name in HISTORY}
        step, state, history = self._resumed(history)
        since = time.perf_counter() - (history["seconds"][-1] if history["seconds"] else 0.0)
        with _bar(settings.progress, self.program.objective, settings.steps, "updates", step) as bar:
            while step < settings.steps:
                block = min(settings.every, settings.steps - step)
                first, last = jnp.int32(step), jnp.int32(step + block)
                state, loss, use = advance(
                    state, self.corpus, self.key, first, last, self.weights, self.program
                )
                step += block
                held = self._held_out(state.model)
                told = (step, float(loss), held, time.perf_counter() - since, np.asarray(use).tolist())
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
        """Mean of -log p(y | x) on the held-out texts."""
        told = np.concatenate([judge(model, part) for part in in_parts(self.held)])
        return float(told[: len(self.held.slots)].mean())


def _bar(wanted: bool | None, told: str, total: int, unit: str, initial: int = 0) -> Any:
    """Return a bar on stderr; one that shows nothing unless it is wanted, or None and someone looks."""
    seen = sys.stderr.isatty() if wanted is None else wanted
    return tqdm(desc=told, unit=f" {unit}", total=total, initial=initial, file=sys.stderr, disable=not seen)
