"""`Run`: updates of one model by one objective, told and kept on the way; a fit is one or several of them."""

import dataclasses
import math
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

from coverjax.foundation.checks import InputError
from coverjax.learning.checkpoints import fingerprint, read_checkpoint, write_checkpoint
from coverjax.sequences.corpora import in_parts
from coverjax.sequences.factorization import Texts, Weights
from coverjax.sequences.language_model import LanguageModel
from coverjax.sequences.settings import FitConfig, SplitConfig
from coverjax.sequences.transformer import DTYPE
from coverjax.sequences.updates import Program, Schedule, State, advance, begun, chosen, judge

AT_ONCE = 400
"""Updates whose texts are chosen at once, at most: what they take of memory does not grow with `every`."""

HISTORY = ("step", "loss", "held_out", "seconds", "use")


class Run:
    """Updates of a model, as many as its settings say.

    `drawn`, where it is given, is what batches are drawn from instead of the corpus: its texts, some of them
    more often. `objective`, where it is given, is made small instead of what the split says.
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
        objective: str | None = None,
    ) -> None:
        self.settings, self.key = settings, key
        hold, fade = (0.0, 0.0) if split is None else split.schedule
        objective = objective or ("base" if split is None else split.objective)
        rate, decay = settings.rate_and_decay(objective)
        self.program = Program(objective, settings.batch)
        schedule = Schedule(settings.steps, settings.warmup, rate, decay, hold, fade)
        self.schedule = Schedule(*(jnp.asarray(value, DTYPE) for value in schedule))
        weights = Weights() if split is None else split.weights()
        self.weights = Weights(*(jnp.asarray(value, DTYPE) for value in weights))
        self.corpus, self.held = corpus if drawn is None else drawn, held
        self.state = begun(model, self.program, self.schedule)
        facts = {**settings.told(), **({} if split is None else dataclasses.asdict(split))}
        facts |= {"task": model.task, "words": model.tokenizer.words, "objective": objective}
        self.name = fingerprint(facts, (jax.random.key_data(key), corpus, held, model))

    def run(self) -> tuple[LanguageModel, dict[str, np.ndarray]]:
        """Make all updates, telling and keeping the state on the way."""
        settings = self.settings
        history: dict[str, Any] = {name: [] for name in HISTORY}
        step, state, history = self._resumed(history)
        since = time.perf_counter() - (history["seconds"][-1] if history["seconds"] else 0.0)
        with bar(settings.progress, self.program.objective, settings.steps, "updates", step) as line:
            while step < settings.steps:
                block = min(settings.every, settings.steps - step)
                state, loss, use = self._updated(state, step, block)
                step += block
                held = self._held_out(state.model)
                told = (step, loss, held, time.perf_counter() - since, np.asarray(use).tolist())
                if not math.isfinite(told[1]):
                    raise InputError(f"learning_rate: the loss became {told[1]} by update {step}; lower it")
                for name, value in zip(HISTORY, told, strict=True):
                    history[name].append(value)
                if settings.checkpoint is not None:
                    write_checkpoint(settings.checkpoint, self.name, step, state, history)
                line.set_postfix_str(f"{held:.3f} nats a text", refresh=False)
                line.update(block)
        return state.model, {name: np.asarray(values) for name, values in history.items()}

    def _updated(self, state: State, step: int, count: int) -> tuple[State, float, jax.Array]:
        """Make `count` updates; return the state, their mean loss, and the use of the latents in the last."""
        settings, total, use = self.settings, 0.0, jnp.zeros(0)
        length = min(settings.every, AT_ONCE)
        for first in range(step, step + count, length):
            last = min(first + length, step + count)
            state, loss, use = advance(
                state,
                chosen(self.corpus, self.key, first, length, settings.batch),
                self.key,
                jnp.int32(first),
                jnp.int32(last),
                self.weights,
                self.schedule,
                self.program,
            )
            total += float(loss) * (last - first)
        return state, total / count, use

    def _resumed(self, history: dict[str, Any]) -> tuple[int, State, dict[str, Any]]:
        if self.settings.checkpoint is None:
            return 0, self.state, history
        found = read_checkpoint(self.settings.checkpoint, self.name, self.state, history)
        return (0, self.state, history) if found is None else found

    def _held_out(self, model: LanguageModel) -> float:
        """Mean of -log p(y | x) on the held-out texts."""
        told = np.concatenate([judge(model, part) for part in in_parts(self.held)])
        return float(told[: len(self.held.slots)].mean())


def bar(wanted: bool | None, told: str, total: int, unit: str, initial: int = 0) -> Any:
    """Return a bar on stderr; one that shows nothing unless it is wanted, or None and someone looks."""
    seen = sys.stderr.isatty() if wanted is None else wanted
    return tqdm(desc=told, unit=f" {unit}", total=total, initial=initial, file=sys.stderr, disable=not seen)
