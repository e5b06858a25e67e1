"""Two systems that come with coverjax: a memory that keeps everything, and one that loses some of it."""

import dataclasses
import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coverjax.corrections.tokens import tokens_of
from coverjax.foundation.checks import InputError, shown

_COMMON = frozenset(
    tokens_of(
        "a an and are as at be by can do does for from has have how in is it its not of on or say tell that "
        "the their this to was what when where which who why will with you"
    )
)
"""Words that link nothing: any two English sentences share some."""


@dataclasses.dataclass
class _Trace:
    """A stored turn, its words, and until which turn it is remembered."""

    text: str
    words: frozenset[str]
    until: float = math.inf


class AssociativeMemory:
    """A deterministic memory that answers with what it was taught, found by shared words.

    `surface` holds the turns that share a word with the probe, `walk_surface` those that are reached from
    these through further shared words, both in the order taught. It accepts everything and forgets nothing.
    """

    def __init__(self) -> None:
        self._traces: list[_Trace] = []

    def teach(self, text: str) -> tuple[bool, str]:
        """Store a turn."""
        self._traces.append(_Trace(text, _words(text)))
        return True, ""

    def probe(self, text: str) -> Mapping[str, Any]:
        """Answer with the turns that the probe leads to."""
        return _answer(text, self._traces, str(len(self._traces)))


class NoisyMemory:
    """A lossy memory: turns are missed, forgotten and left out at rates whose expected curve is known.

    A turn is missed with probability `loss` when it is taught. At every later turn, what is stored is
    forgotten with probability `forgetting`, each trace for itself. A trace that is remembered is left out
    of an answer with probability `slip`. Else as `AssociativeMemory`; `expected_hits` is the expected curve.

    Chance is a hash of (seed, turn number, text): a replay repeats it, and one curve's snapshots belong to
    one history. With `seed=None` it is fresh each time: such a system fails the replay gate.

    Args:
        forgetting, loss, slip: probabilities in [0, 1].
        seed: any whole number, or None.
    """

    def __init__(
        self, forgetting: float = 0.1, loss: float = 0.0, slip: float = 0.0, seed: int | None = 0
    ) -> None:
        self._forgetting = _probability("forgetting", forgetting)
        self._loss = _probability("loss", loss)
        self._slip = _probability("slip", slip)
        self._seed = os.urandom(16).hex() if seed is None else str(int(seed))
        self._traces: list[_Trace] = []
        self._turn = 0

    def teach(self, text: str) -> tuple[bool, str]:
        """Store a turn, or miss it, and go on forgetting."""
        self._turn += 1
        if self._chance("store", self._turn, text) >= self._loss:
            until = self._turn + self._lifetime(self._chance("keep", self._turn, text))
            self._traces.append(_Trace(text, _words(text), until))
        return True, ""

    def probe(self, text: str) -> Mapping[str, Any]:
        """Answer with what is remembered, found by shared words, less what slips."""
        kept = [trace for trace in self._traces if trace.until >= self._turn]
        said = [trace for trace in kept if self._chance("say", self._turn, trace.text) >= self._slip]
        return _answer(text, said, f"{self._seed}|{self._turn}")

    def _lifetime(self, chance: float) -> float:
        """Return how many later turns a trace survives: P(at least t) = (1 - forgetting)^t.

        One draw of the geometric law has the same effect as a draw at each turn.
        """
        if self._forgetting in (0.0, 1.0):
            return math.inf if self._forgetting == 0.0 else 0.0
        return math.floor(math.log(chance) / math.log1p(-self._forgetting))

    def _chance(self, what: str, turn: int, text: str) -> float:
        """Return a number uniform in (0, 1) that the arguments and the seed decide."""
        named = f"{self._seed}|{what}|{turn}|{text}".encode("utf-8", "backslashreplace")
        digest = hashlib.blake2b(named, digest_size=8).digest()
        return (int.from_bytes(digest, "little") + 0.5) * 2.0**-64


def expected_hits(
    corrections: int,
    forgetting: float = 0.1,
    loss: float = 0.0,
    slip: float = 0.0,
    distractors: int = 0,
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    """Compute mean and variance of `NoisyMemory`'s hits after k = 0..n corrections.

    Correction j is in the answer after k >= j corrections with probability
    p_j(k) = (1 - loss)(1 - slip) phi^(k-j), phi = (1 - forgetting)^(1 + distractors): there are k - j later
    corrections, each with its distractors. One new token a correction, and independence between traces, give

        E h(k) = sum_{j=1..k} p_j(k) = (1 - loss)(1 - slip) (1 - phi^k) / (1 - phi)
        Var h(k) = sum_{j=1..k} p_j(k) (1 - p_j(k)).

    Exact where every correction shares a word with the probe and no other turn holds an expected token.

    Args:
        corrections: n, the length of the curriculum.
        forgetting, loss, slip: as in `NoisyMemory`.
        distractors: number of other turns taught before each correction.

    Returns:
        mean, variance [n + 1], in tokens and tokens squared.

    >>> expected_hits(3, forgetting=0.5)[0].tolist()
    [0.0, 1.0, 1.5, 1.75]
    """
    reach = (1.0 - _probability("loss", loss)) * (1.0 - _probability("slip", slip))
    keep = (1.0 - _probability("forgetting", forgetting)) ** (1 + distractors)
    chance = reach * keep ** np.arange(corrections, dtype=np.float64)
    spread = chance * (1.0 - chance)
    return np.concatenate([[0.0], np.cumsum(chance)]), np.concatenate([[0.0], np.cumsum(spread)])


def _answer(probe: str, traces: Sequence[_Trace], state: str) -> dict[str, Any]:
    """Recall by shared words, directly and by way of what was recalled."""
    surface, rest = _linked(_words(probe), traces)
    walk: list[_Trace] = []
    front = surface
    while front and rest:
        front, rest = _linked(frozenset().union(*(trace.words for trace in front)), rest)
        walk += front
    texts = {"surface": _joined(surface), "walk_surface": _joined(walk)}
    everything = "\x1f".join([state, probe, *texts.values()]).encode("utf-8", "backslashreplace")
    return {
        **texts,
        "vault_hits": len(surface) + len(walk),
        "trace_hash": hashlib.sha256(everything).hexdigest(),
    }


def _linked(words: frozenset[str], traces: Sequence[_Trace]) -> tuple[list[_Trace], list[_Trace]]:
    near = [trace for trace in traces if words & trace.words]
    return near, [trace for trace in traces if not words & trace.words]


def _joined(traces: Sequence[_Trace]) -> str:
    return " ".join(trace.text for trace in traces)


def _words(text: str) -> frozenset[str]:
    return frozenset(tokens_of(text)) - _COMMON


def _probability(name: str, value: float) -> float:
    if not 0.0 <= float(value) <= 1.0:
        raise InputError(f"{name}: must be a probability, 0 to 1; got {shown(value)}")
    return float(value)
