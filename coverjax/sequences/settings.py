"""How a network is fitted, and how texts are split among latents: every choice in two frozen records."""

import dataclasses
import math
import os
from typing import Any

from coverjax.foundation.checks import InputError, one_of, shown, whole_number
from coverjax.sequences.continuous import GAUSSIAN
from coverjax.sequences.factorization import OBJECTIVES, Weights, fixed_weights
from coverjax.sequences.pruning import PRICE
from coverjax.sequences.transformer import PRESETS, Size, preset

USUAL_STEP = {"base": (0.02, 0.1), "balanced": (0.04, 0.0)}
"""Learning rate and decay that are not those of the others, 0.02 and 0."""


@dataclasses.dataclass(frozen=True)
class FitConfig:
    """How a network is fitted to texts.

    Attributes:
        steps: number of updates.
        batch: texts of one update, drawn anew for each.
        learning_rate: of Muon, which moves the matrices of the blocks, at its largest; Adam moves the rest,
            `ADAM_SHARE` of it. It falls to 0 as a cosine, for `balanced` in a straight line at the end; where
            latents are pruned it falls in each part, after the first from half of it. None takes 0.02, for
            `balanced` 0.04.
        warmup: updates over which it rises from 0.
        decay: every update takes off this times its learning rate from each number, so that what is learned
            by heart costs more than a rule. None takes 0.1 where a base model is fitted, else 0. Where there
            are few inputs 0.1 to 0.2 is good, where there are many 0.
        texts: number of texts, each an input to be fitted (`role`), a strategy by its frequency, and the
            trace; which strategy it was is not kept.
        held_out: texts that are not fitted; the loss is told on them.
        every: updates between two of those (and checkpoints).
        size: of a network that starts from nothing: a name of `PRESETS`, or a `Size`.
        checkpoint: a file that is written on the way; when it is there, fitting goes on from it, bit for bit.
            A file of another fit is refused. Where latents are pruned there are three more, "free-", "told-"
            and "even-" before its name, of the parts after that (`parting`).
        progress: whether to show a bar on stderr; None where someone looks at it.
    """

    steps: int = 2000
    batch: int = 64
    learning_rate: float | None = None
    warmup: int = 100
    decay: float | None = None
    texts: int = 40_000
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
            whole_number(name, getattr(self, name), least)
        rate, decay = self.learning_rate, self.decay
        if rate is not None and not (isinstance(rate, int | float) and 0.0 < rate < math.inf):
            raise InputError(f"learning_rate: must be above 0; got {shown(rate)}")
        if decay is not None and not (isinstance(decay, int | float) and 0.0 <= decay < math.inf):
            raise InputError(f"decay: must be a number >= 0; got {shown(decay)}")
        if not isinstance(self.size, Size):
            one_of("size", self.size, tuple(PRESETS))

    def network(self) -> Size:
        """Return the size of the network."""
        return self.size if isinstance(self.size, Size) else preset(self.size)

    def rate_and_decay(self, objective: str) -> tuple[float, float]:
        """Return both, as given or as is usual for an objective, "base" or one of a `SplitConfig`."""
        rate, decay = USUAL_STEP.get(objective, (0.02, 0.0))
        return (
            rate if self.learning_rate is None else float(self.learning_rate),
            decay if self.decay is None else float(self.decay),
        )

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
        objective: one of `OBJECTIVES`, see `coverjax.sequences.factorization`; or "gaussian", for continuous
            latents, see `coverjax.sequences.continuous`.
        latents: their number, at the start where they are pruned; None takes `default_latents`.
        prune: nats a text that a latent of `balanced` must save, or it is dropped when lambda leaves 1; the
            updates that are left then begin anew, with lambda = 0 (`parting` tells how). 0 keeps all.
            None takes `PRICE` where `latents` is None, else 0: whoever asks for a number gets it.
        beta, alpha, gamma: numbers in the objective. `elbo`, where beta is 1, and `marginal` take no beta.
        hold: share of the updates in which `balanced` holds the latents equal, and `gaussian` leaves the KL
            out (lambda = 1); None takes 0.4 where latents are pruned, else 0.25.
        fade: share of the updates after which lambda has fallen to 0, in a straight line from `hold` on;
            1 and `hold` = 1 never let go. None takes `hold` + 0.2, at most 1. Where latents are pruned it
            falls at once.
        dimensions: of a latent of `gaussian`.
        free: nats of each of them that cost nothing, against latents that tell nothing (collapse).
    """

    objective: str = "balanced"
    latents: int | None = None
    prune: float | None = None
    beta: float | None = None
    alpha: float = 0.5
    gamma: float = 1.0
    hold: float | None = None
    fade: float | None = None
    dimensions: int = 4
    free: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values without a meaning."""
        one_of("objective", self.objective, (*OBJECTIVES, GAUSSIAN))
        if self.latents is not None:
            whole_number("latents", self.latents)
            if self.objective == GAUSSIAN:
                raise InputError("latents: must be left out of 'gaussian'; it has dimensions instead")
        whole_number("dimensions", self.dimensions)
        shares = ("alpha", 1.0), ("gamma", math.inf), ("hold", 1.0), ("fade", 1.0), ("free", math.inf)
        for name, high in (*shares, ("prune", math.inf)):
            value = getattr(self, name)
            if value is None and name in ("hold", "fade", "prune"):
                continue
            if not (isinstance(value, int | float) and 0.0 <= value <= high and math.isfinite(value)):
                raise InputError(f"{name}: must be a number from 0 to {high:g}; got {shown(value)}")
        if self.prune and self.objective != "balanced":
            raise InputError(f"prune: must be left out of {self.objective!r}; only 'balanced' drops latents")
        if self.price and self.fade is not None:
            raise InputError("fade: must be left out where latents are pruned; prune = 0 keeps all")
        if self.schedule[1] < self.schedule[0]:
            raise InputError(f"fade: must not be below hold = {self.schedule[0]}; got {self.fade}")
        if self.beta is not None:
            self._require_beta(self.beta)

    def _require_beta(self, beta: float) -> None:
        if not (isinstance(beta, int | float) and 0.0 <= beta < math.inf):
            raise InputError(f"beta: must be a number >= 0; got {shown(beta)}")
        if self.objective in ("elbo", "marginal"):
            other = "; 'beta_elbo' takes one" if self.objective == "elbo" else ""
            raise InputError(f"beta: must be left out of {self.objective!r}{other}")

    @property
    def price(self) -> float:
        """Nats a text that a latent must save to be kept; 0 where all are."""
        if self.prune is not None:
            return float(self.prune)
        return PRICE if self.objective == "balanced" and self.latents is None else 0.0

    @property
    def schedule(self) -> tuple[float, float]:
        """Shares of the updates up to which lambda is 1, and from which on it is 0."""
        hold = (0.4 if self.price else 0.25) if self.hold is None else float(self.hold)
        return hold, min(hold + 0.2, 1.0) if self.fade is None else float(self.fade)

    def weights(self) -> Weights:
        """Return the numbers in the objective."""
        usual = {"beta_elbo": 0.3, "global": 0.02, "global_token": 0.02, "balanced": 8.0}
        beta = usual.get(self.objective, 1.0) if self.beta is None else self.beta
        return fixed_weights(self.objective, Weights(beta, self.alpha, self.gamma, 1.0, self.free))
