"""A factorization that finds how many latents the texts need: in four parts, each a run of updates.

equal   more latents than are needed share the texts equally, which makes them part; then those that are not
        missed are dropped (`pruning`)
free    the others take what they write best: what two of them divide by the input goes to the one that has
        more; then those that lost their texts to a twin are dropped
told    latents that exchange what they write by the input are put in order (`exchanges`), those that divide
        a strategy among them are made one (`merging`), and every text is told its latent (`telling`), for
        long enough that neither comes back
even    the latents again take what they write best, which mends what was told wrongly; as in the part before
        texts of rare latents are drawn as often as those of the others, so that they are written with as few
        faults
"""

import dataclasses
import itertools
import os
import pathlib
from collections.abc import Sequence

import jax
import numpy as np

from coverjax.foundation.checks import InputError
from coverjax.sequences.corpora import JUDGED, in_parts
from coverjax.sequences.exchanges import ordered_latents
from coverjax.sequences.factorization import TOLD, Texts
from coverjax.sequences.language_model import LanguageModel
from coverjax.sequences.merging import input_numbers, merged_latents
from coverjax.sequences.pruning import DEAD, latent_of_each, needed_latents
from coverjax.sequences.runs import Run, bar
from coverjax.sequences.settings import FitConfig, SplitConfig
from coverjax.sequences.telling import told_apart
from coverjax.sequences.updates import under_latents

PRUNED_BY = 1024
"""Texts that latents are pruned by."""

APART_BY = 16_384
"""Texts that are told apart, at least, where there are so many."""

TWIN = 0.1
"""Share of the price below which what a latent saves is nothing."""

PARTS = ("", "free-", "told-", "even-")
"""What the name of each part's checkpoint begins with."""

EQUAL, FREE, TELLING, EVEN = range(len(PARTS))


def updates_of_parts(settings: FitConfig, split: SplitConfig) -> tuple[int, ...]:
    """Return the number of updates of each part; those between the first and the last may have none. () where
    none is pruned.

    Raises:
        InputError: none are left before or after latents are pruned, or a part has a checkpoint and one
            before it has none.
    """
    # One update can't be cut in two; whoever gives `hold` is told so.
    if not split.price or (settings.steps == 1 and split.hold is None):
        return ()
    first = round(split.schedule[0] * settings.steps)
    if not 0 < first < settings.steps:
        raise InputError(
            f"hold: must leave updates before and after latents are pruned; got {split.schedule[0]:g} of "
            f"{settings.steps} updates"
        )
    rest = settings.steps - first
    parts = first, rest // 3, rest // 4, rest - rest // 3 - rest // 4
    if settings.checkpoint is not None:
        there = [path for path, count in zip(checkpoints(settings.checkpoint), parts, strict=True) if count]
        for before, later in itertools.pairwise(there):
            if later.exists() and not before.exists():
                raise InputError(f"{later}: goes on from {before.name}, which is not there; remove it")
    return parts


def checkpoints(checkpoint: str | os.PathLike[str]) -> tuple[pathlib.Path, ...]:
    """Return where each part of a factorization that prunes keeps its state."""
    path = pathlib.Path(checkpoint)
    return tuple(path.with_name(begin + path.name) for begin in PARTS)


def parted(
    model: LanguageModel,
    corpus: Texts,
    held: Texts,
    key: jax.Array,
    settings: FitConfig,
    split: SplitConfig,
    updates: tuple[int, ...],
) -> tuple[LanguageModel, dict[str, np.ndarray]]:
    """Make the updates of all parts; return the model with the latents that are left, and one history."""
    keys = jax.random.split(key, len(PARTS))
    paths: Sequence[pathlib.Path | None] = [None] * len(PARTS)
    if settings.checkpoint is not None:
        paths = checkpoints(settings.checkpoint)
    equal, free = (dataclasses.replace(split, prune=0.0, hold=end, fade=end) for end in (1.0, 0.0))
    # What parted at the higher rate stays apart at half of it, and is written with fewer faults.
    rate = settings.rate_and_decay(split.objective)[0]
    some = corpus.some(slice(PRUNED_BY))
    numbers = np.arange(model.latents)
    histories, written = [], []
    drawn: Texts | None = None
    for part, count in enumerate(updates):
        first = part == EQUAL
        if not count:
            continue
        now = dataclasses.replace(
            settings, steps=count, checkpoint=paths[part], learning_rate=rate if first else rate / 2.0
        )
        if part in (TELLING, EVEN) and drawn is None:
            drawn, left = _told_apart(model, corpus, updates[TELLING] + updates[EVEN], now)
            model, numbers = model.with_only(left), numbers[left]
        goal = TOLD if part == TELLING else None
        model, history = Run(
            model, corpus, held, keys[part], now, equal if first else free, drawn, goal
        ).run()
        histories.append(history)
        written.append(numbers)
        if drawn is not None:  # the latents choose again in the next part
            drawn = drawn.with_slots(model.tokenizer.latent(-1))
        left = (_needed if first else _alive)(model, some, split.price)
        model, numbers = model.with_only(left), numbers[left]
    return model, _joined(histories, [*written, numbers])


def _told_apart(
    model: LanguageModel, corpus: Texts, updates: int, settings: FitConfig
) -> tuple[Texts, list[int]]:
    """Return what batches are drawn from: of as many texts as there are draws, and at least so many that some
    have the same input, each latent's as often; and the latents that are left, by whose numbers they are
    told."""
    known = corpus.some(slice(max(updates * settings.batch, APART_BY)))
    surprisal, router = _told(model, known, settings.progress)
    latent = latent_of_each(np.take_along_axis(surprisal, ordered_latents(router), axis=1))
    whole = merged_latents(latent, input_numbers(known.tokens, known.slots), model.latents)
    left, latent = np.unique(whole[latent], return_inverse=True)
    return told_apart(known, latent, len(left), model.tokenizer.first_latent), left.tolist()


def _told(model: LanguageModel, texts: Texts, progress: bool | None = False) -> tuple[np.ndarray, np.ndarray]:
    """Return -log g(y | x, z) of texts under each latent, and log r(z | x), both [texts, latents]."""
    found = []
    with bar(progress, "telling texts apart", len(texts.slots), "texts") as line:
        for part in in_parts(texts):
            found.append(under_latents(model, part))
            line.update(min(JUDGED, len(texts.slots) - line.n))
    surprisal, router = (np.concatenate(parts)[: len(texts.slots)] for parts in zip(*found, strict=True))
    return surprisal, router


def _needed(model: LanguageModel, texts: Texts, price: float) -> list[int]:
    """Return the latents that the texts need."""
    return needed_latents(_told(model, texts)[0], price)[0]


def _alive(model: LanguageModel, texts: Texts, price: float) -> list[int]:
    """Return the latents that are not dead, and those that are but that the texts need all the same; without
    those that others could stand for, whatever the router draws: nothing is written worse without a twin."""
    surprisal, router = _told(model, texts)
    shares = np.exp(router).mean(axis=0)
    left = needed_latents(surprisal, price, np.flatnonzero(shares >= DEAD).tolist())[0]
    needed = needed_latents(surprisal[:, left], TWIN * price)[0]
    return [left[z] for z in needed]


def _joined(
    histories: Sequence[dict[str, np.ndarray]], written: Sequence[np.ndarray]
) -> dict[str, np.ndarray]:
    """Return one history of all parts.

    First come the latents of the model, then those that were dropped, the last ones first.

    Args:
        histories: of the parts.
        written: the latents of each part, by their numbers in the first, and those of the model.
    """
    order = list(dict.fromkeys(int(z) for numbers in reversed(written) for z in numbers))
    uses = []
    for history, numbers in zip(histories, written[:-1], strict=True):
        uses.append(np.zeros((len(history["use"]), len(order))))
        uses[-1][:, [order.index(z) for z in numbers]] = history["use"]
    joined = {name: np.concatenate([part[name] for part in histories]) for name in ("loss", "held_out")}
    for name in ("step", "seconds"):
        before = np.cumsum([0, *(part[name][-1] for part in histories[:-1])])
        joined[name] = np.concatenate(
            [start + part[name] for start, part in zip(before, histories, strict=True)]
        )
    return joined | {"use": np.concatenate(uses)}
