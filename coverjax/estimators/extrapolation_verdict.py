"""How far an extrapolation may be trusted: `reliable`, `caution` or `not comparable`, and why."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from coverjax.curves import VERDICTS
from coverjax.estimators.empirical_bayes import Tallies
from coverjax.estimators.richness import Frequencies
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog


@dataclasses.dataclass(frozen=True)
class Facts:
    """What a verdict is passed on, at the largest budget K.

    Attributes:
        method: the estimator.
        budget: K.
        inputs: number of inputs in use.
        samples: the least number of samples of one.
        nothing: share of declared strategies, averaged over inputs, that no sample matched.
        matches: matches in all.
        seen: Good-Turing sample coverage, averaged over the inputs that have one; NaN where none has.
        gap: half of the distance between the models.
        backtest: error of predicting the samples there are from fewer of them; NaN where it can't be told.
        kept: the share of the samples that the back-test kept.
        declared_given: whether declared strategies were given.
    """

    method: str
    budget: int
    inputs: int
    samples: int
    nothing: float
    matches: int
    seen: float
    gap: float
    backtest: float
    kept: float
    declared_given: bool

    @classmethod
    def of(
        cls,
        log: SampleLog | CountTable,
        tallies: Tallies,
        n: np.ndarray,
        method: str,
        budget: int,
        gap: float,
        backtest: float,
        kept: float,
    ) -> "Facts":
        """Gather them; `n` are the samples of each input in use."""
        seen = Frequencies.of(tallies.n, tallies.counts).covered
        told = seen[~np.isnan(seen)]
        nothing = (tallies.declared & (tallies.counts == 0)).sum(axis=1)
        return cls(
            method=method,
            budget=budget,
            inputs=len(n),
            samples=int(n.min(initial=np.iinfo(np.int64).max)) if len(n) else 0,
            nothing=float(tallies.share @ nothing),
            matches=int(tallies.counts.sum()),
            seen=float(told.mean()) if len(told) else math.nan,
            gap=float(gap),
            backtest=float(backtest),
            kept=float(kept),
            declared_given=log.declared_given,
        )

    @property
    def ratio(self) -> float:
        """K / n."""
        return self.budget / self.samples if self.samples else math.inf


@dataclasses.dataclass(frozen=True)
class Check:
    """A question, and up to (or from) which answer it is reliable, or calls for caution."""

    what: str
    value: Callable[[Facts], float]
    reliable_to: float
    caution_to: float
    more_is_better: bool = False

    def asked(self, facts: Facts) -> dict[str, Any]:
        """Return question, answer, thresholds and verdict."""
        value = self.value(facts)
        sign = -1.0 if self.more_is_better else 1.0
        if math.isnan(value):
            verdict = "caution"
        elif sign * value <= sign * self.reliable_to:
            verdict = "reliable"
        else:
            verdict = "caution" if sign * value <= sign * self.caution_to else "not comparable"
        return {
            "what": self.what,
            "value": None if math.isnan(value) else value,
            "reliable_to": self.reliable_to,
            "caution_to": self.caution_to,
            "at_least": self.more_is_better,
            "verdict": verdict,
        }


OVER_INPUTS = (
    Check("K / n, samples asked for to samples there are", lambda facts: facts.ratio, 8.0, 32.0),
    Check("samples of the input that has fewest", lambda facts: facts.samples, 8, 4, True),
    Check("inputs", lambda facts: facts.inputs, 30, 10, True),
    Check("half of the distance between the two models", lambda facts: facts.gap, 0.025, 0.06),
    Check("error of the back-test", lambda facts: abs(facts.backtest), 0.02, 0.05),
)
INPUT_BY_INPUT = (
    Check("K / n, samples asked for to samples there are", lambda facts: facts.ratio, 2.0, 3.0),
    Check("samples of the input that has fewest", lambda facts: facts.samples, 10, 5, True),
    Check("Good-Turing sample coverage, mean over inputs", lambda facts: facts.seen, 0.8, 0.5, True),
)


def judged(facts: Facts) -> tuple[str, tuple[dict[str, Any], ...], tuple[str, ...]]:
    """Return the verdict (the worst of the checks), the checks, and warnings."""
    if facts.ratio <= 1.0:
        return "reliable", (), ()
    over_inputs = facts.method not in ("chao2", "good_toulmin")
    asked = tuple(check.asked(facts) for check in (OVER_INPUTS if over_inputs else INPUT_BY_INPUT))
    worst = max((VERDICTS.index(check["verdict"]) for check in asked), default=0)
    lines = []
    if facts.matches == 0:
        worst = 2
        lines.append("no sample matched any declared strategy: there is nothing to extrapolate from")
    if not over_inputs and facts.ratio > 2.0:
        lines.append(
            f"{facts.method} is meant up to twice the samples; K = {facts.budget:,} is {facts.ratio:.3g} "
            f"times the {facts.samples:,} samples of some input"
        )
    if not facts.declared_given:
        lines.append(
            "no declared strategies were given: the denominator is the labels seen in this log, which more "
            "samples would raise; read `distinct`, or give the declared strategies"
        )
    return VERDICTS[worst], asked, tuple(lines)
