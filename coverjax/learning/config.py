"""How a policy is trained: every choice in one frozen record."""

import dataclasses
import os
import sys
from typing import Any

import numpy as np

from coverjax.foundation.checks import InputError, one_of, shown, whole_number

OBJECTIVES = ("auc", "coverage", "log_coverage", "full_coverage", "gain")
GRADIENTS = ("auto", "exact", "score", "regret")
DECAYS = ("cosine", "constant")
KINDS = ("raw", "valid", "correct")

MOST, MOST_SEEDS = (1 << 31) - 1, 1 << 16
"""The largest whole number of a setting, and the most seeds side by side."""

_LARGEST = sys.float_info.max


@dataclasses.dataclass(frozen=True, eq=False)
class TrainConfig:
    """The settings of `train_policy`, all of them optional.

    Attributes:
        steps: number of updates.
        learning_rate: of Adam, at its largest. None: 0.4 for tables of logits, 0.003 for networks.
        decay: "cosine", to 0 at the last step; or "constant".
        warmup: updates over which the learning rate rises from 0.
        batch: inputs of one update, drawn anew for each; None takes all. A table of one row per input takes
            all.
        held_out: share of the inputs that is not trained on; what is kept is the best policy on them. 0
            keeps the best on the training inputs.
        every: updates between two evaluations (and checkpoints).
        patience: stop after so many evaluations without a better one; None runs all steps.
        seeds: independent runs side by side; the best is returned. With a table of one row per input the
            best is chosen input by input.
        gradient: "exact", through the closed form of blind policies or the dynamic program over (draw, seen
            set); "score", from simulated runs, with the other runs of the input as baseline (leave one
            out): any policy; "regret", from simulated runs too, with the exact loss of every choice against
            the optimal plan: for policies that see outcomes, at most 16 strategies that can occur. "auto":
            exact where the policy is blind, or Markov with at most 10 strategies that can occur; else score.
        trials: simulated runs of each input in one update ("score" and "regret").
        kl: weight of the mean over draws of KL(choice || base router), subtracted.
        entropy: weight of the mean over draws of the choice's entropy in nats, added.
        weights: what a strategy counts, [strategies] or [inputs, strategies], >= 0; only ratios matter.
        input_weights: what an input counts [inputs], >= 0.
        coverage: "raw", or "valid" / "correct": other draws match nothing.
        checkpoint: a file that is written at every evaluation; when it is there, training goes on from it,
            bit for bit. A file of another training is refused.
        progress: whether to show a bar on stderr; None where someone looks at it.
    """

    steps: int = 1000
    learning_rate: float | None = None
    decay: str = "cosine"
    warmup: int = 0
    batch: int | None = None
    held_out: float = 0.0
    every: int = 50
    patience: int | None = None
    seeds: int = 1
    gradient: str = "auto"
    trials: int = 16
    kl: float = 0.0
    entropy: float = 0.0
    weights: Any = None
    input_weights: Any = None
    coverage: str = "raw"
    checkpoint: str | os.PathLike[str] | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        """Refuse values without a meaning."""
        one_of("decay", self.decay, DECAYS)
        one_of("gradient", self.gradient, GRADIENTS)
        one_of("coverage", self.coverage, KINDS)
        for name, least in (("steps", 1), ("every", 1), ("seeds", 1), ("trials", 2), ("warmup", 0)):
            _whole(name, getattr(self, name), least, MOST_SEEDS if name == "seeds" else MOST)
        for name in ("batch", "patience"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name), 1, MOST)
        for name in ("kl", "entropy"):
            _number(name, getattr(self, name), 0.0)
        if self.learning_rate is not None and not _number("learning_rate", self.learning_rate, 0.0) > 0:
            raise InputError(f"learning_rate: must be above 0; got {shown(self.learning_rate)}")
        if not 0.0 <= _number("held_out", self.held_out, 0.0) < 1.0:
            raise InputError(
                f"held_out: must be a share of the inputs, 0 or below 1; got {shown(self.held_out)}"
            )

    def told(self) -> dict[str, Any]:
        """Return the settings that bear on the result as plain values."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        for name in ("checkpoint", "progress"):
            del values[name]
        for name in ("weights", "input_weights"):
            values[name] = None if values[name] is None else np.asarray(values[name], float).tolist()
        return values


def _whole(name: str, value: Any, least: int, most: int) -> None:
    if whole_number(name, value, least) > most:
        raise InputError(f"{name}: must be at most {most:,}; got {shown(value)}")


def _number(name: str, value: Any, least: float) -> float:
    fits = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not fits or not least <= value <= _LARGEST:
        raise InputError(f"{name}: must be a number >= {least:g}; got {shown(value)}")
    return float(value)
