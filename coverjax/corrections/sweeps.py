"""From cases to what is run: as written, or in several orders, among distractors, with several seeds."""

import dataclasses
import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from coverjax.corrections.cases import Case
from coverjax.corrections.tokens import found
from coverjax.foundation.checks import InputError, shown, whole_number


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Which variants of each case are run; the default is each case as it is written, once.

    Attributes:
        orders: number of orders of each curriculum: as written, then distinct random ones.
        distractors: number of corrections of other concepts that are taught before each correction. They
            hold none of the case's expected tokens and are not counted in k.
        seeds: what the factory is called with, as `seed`, one variant each; empty: it is called without.
        seed_turn: whether the seed turns of the cases are taught; without them, what they do shows.
        seed: of the random orders and the choice of distractors.
    """

    orders: int = 1
    distractors: int = 0
    seeds: tuple[int, ...] = ()
    seed_turn: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("orders", 1), ("distractors", 0), ("seed", 0)):
            whole_number(name, getattr(self, name), least)
        if len(set(self.seeds)) < len(self.seeds):
            raise InputError(f"seeds: must be distinct; got {shown(self.seeds)}")


@dataclasses.dataclass(frozen=True)
class Turn:
    """One text to be taught; `correction` is its number in the curriculum as written, from 1, or 0."""

    text: str
    correction: int


@dataclasses.dataclass(frozen=True)
class Unit:
    """One variant of one case: what a worker needs to run it.

    Attributes:
        case: the case.
        turns: the corrections in the order taught, each with the distractors before it.
        variant: number of the order (0: as written), of distractors, and the factory's seed or None.
        seed_turn: what is taught first, or None.
    """

    case: Case
    turns: tuple[tuple[Turn, ...], ...]
    variant: dict[str, Any]
    seed_turn: str | None

    @property
    def length(self) -> int:
        """Number of corrections n."""
        return len(self.turns)


def units_of(cases: Sequence[Case], sweep: Sweep) -> list[Unit]:
    """Return the variants of the cases, those of one case one after the other.

    Raises:
        InputError: distractors are asked for, and a case finds none among the other cases.
    """
    pool = [(case.concept, text) for case in cases for text in case.curriculum]
    return [unit for case in cases for unit in _units_of(case, pool, sweep)]


def _units_of(case: Case, pool: Sequence[tuple[str, str]], sweep: Sweep) -> Iterator[Unit]:
    written = [Turn(text, number) for number, text in enumerate(case.curriculum, start=1)]
    orders = _orders(written, sweep, case.concept)
    for number, order in enumerate(orders):
        turns = _among_distractors(order, case, pool, sweep, number)
        for seed in sweep.seeds or (None,):
            variant = {"order": number, "distractors": sweep.distractors, "seed": seed}
            yield Unit(case, turns, variant, case.seed if sweep.seed_turn else None)


def _orders(written: list[Turn], sweep: Sweep, concept: str) -> list[list[Turn]]:
    """The order as written and distinct random ones, fewer where a short curriculum has no more."""
    rng = random.Random(f"orders|{sweep.seed}|{concept}")
    orders = {tuple(turn.correction for turn in written): written}
    possible = 1
    for size in range(2, len(written) + 1):
        possible = min(possible * size, sweep.orders)
    while len(orders) < min(possible, sweep.orders):
        order = rng.sample(written, len(written))
        orders.setdefault(tuple(turn.correction for turn in order), order)
    return list(orders.values())


def _among_distractors(
    order: list[Turn], case: Case, pool: Sequence[tuple[str, str]], sweep: Sweep, number: int
) -> tuple[tuple[Turn, ...], ...]:
    if not sweep.distractors:
        return tuple((turn,) for turn in order)
    rng = random.Random(f"distractors|{sweep.seed}|{number}|{case.concept}")
    picks = _distractors(rng, case, pool, sweep.distractors * len(order))
    parts = [picks[i : i + sweep.distractors] for i in range(0, len(picks), sweep.distractors)]
    return tuple((*(Turn(text, 0) for text in part), turn) for part, turn in zip(parts, order, strict=True))


def _distractors(rng: random.Random, case: Case, pool: Sequence[tuple[str, str]], count: int) -> list[str]:
    """Draw corrections of other concepts without an expected token by either rule, again if all are used."""
    picks: list[str] = []
    # A random start and a random stride visit each once, without a shuffle of the whole pool for each case.
    size, at = len(pool), rng.randrange(len(pool))
    stride = rng.choice([step for step in range(1, min(size, 4_096) + 1) if math.gcd(step, size) == 1])
    for _ in range(size):
        concept, text = pool[at]
        at = (at + stride) % size
        if concept != case.concept and not _holds(case, text):
            picks.append(text)
        if len(picks) == count:
            return picks
    if not picks:
        raise InputError(
            f"distractors: must come from other concepts, without the expected tokens of "
            f"{shown(case.concept)}; there are none: add cases, or leave distractors out"
        )
    return [picks[i % len(picks)] for i in range(count)]


def _holds(case: Case, text: str) -> bool:
    return any(found(case.expected_tokens, [text], rule) for rule in ("unicode", "ascii"))
