"""Texts to fit, and texts of other inputs to judge by; drawn from a task."""

import jax
import numpy as np

from coverjax.foundation.checks import InputError
from coverjax.sequences.factorization import Texts
from coverjax.sequences.roles import role
from coverjax.sequences.settings import FitConfig
from coverjax.sequences.tasks.base import Sample, Task
from coverjax.sequences.tokenizer import Tokenizer, pairs
from coverjax.sequences.transformer import DTYPE

JUDGED = 256
"""Texts whose loss is computed at once where nothing is fitted."""

IN_VAIN = 4_000
"""Texts drawn one after the other whose inputs are all to be held out, or none is, before it is given up."""


def corpora(key: jax.Array, task: Task, settings: FitConfig) -> tuple[Texts, Texts, tuple[int, int]]:
    """Draw texts to fit, and of other inputs to judge by; also the length of the longest prompt, and of that
    with the longest trace after it. The texts are arrays of NumPy: they are chosen from, nothing is computed.

    Raises:
        InputError: the task seems to have no inputs of one of both.
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    drawn = _texts(rng, task, settings.texts, True) + _texts(rng, task, settings.held_out, False)
    cut = settings.texts
    tokens, slots, ends = pairs(Tokenizer(task.vocabulary()), [(text.x_text, text.y_text) for text in drawn])
    numbers = np.zeros((len(tokens), 1), DTYPE), np.ones(len(tokens), DTYPE)
    made = Texts(tokens, slots, ends, *numbers)
    first, rest = (made.some(rows) for rows in (slice(cut), slice(cut, None)))
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


def in_parts(texts: Texts) -> list[Texts]:
    """Cut texts into parts of `JUDGED`, the last one filled up from the front."""
    count = len(texts.slots)
    rows = [np.arange(first, first + JUDGED) % count for first in range(0, count, JUDGED)]
    return [texts.some(row) for row in rows]
