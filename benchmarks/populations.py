"""Populations of inputs whose mean is known: named laws, and real counts drawn again."""

import dataclasses
import json
import math
import pathlib
from collections.abc import Callable, Iterable

import numpy as np

from coverjax.inference.cautions import TIE, UNIT

STRATEGIES = 8

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Population:
    """Inputs with values at some budgets: `draw(rng, shape)` gives [*shape, budgets], `truth` the mean.

    `samples` is how many samples of each input are seen.
    """

    name: str
    samples: int
    budgets: tuple[int, ...]
    truth: np.ndarray
    draw: Draw
    bounds: tuple[float, ...] = UNIT

    @property
    def limits(self) -> tuple[float, float]:
        """Least and largest value: of a fraction, or of a difference of two."""
        return (-1.0, 1.0) if self.bounds == TIE else (0.0, 1.0)


def rarefied(n: int, budgets: Iterable[int]) -> np.ndarray:
    """Return 1 - C(n - c, k) / C(n, k) for c = 0..n, [n + 1, budgets], from whole numbers."""
    return np.array([[1.0 - math.comb(n - c, k) / math.comb(n, k) for k in budgets] for c in range(n + 1)])


def sampled(
    name: str, samples: int, budgets: tuple[int, ...], probabilities: Draw, truth: np.ndarray
) -> Population:
    """Inputs with laws from `probabilities` (its last axis the strategies), each seen through a log."""
    table = rarefied(samples, budgets)

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        counts = rng.multinomial(samples, probabilities(rng, shape))
        return table[counts].mean(axis=-2)

    return Population(name, samples, budgets, truth, draw)


def dirichlet(concentration: float, samples: int, budgets: tuple[int, ...]) -> Population:
    """Laws of 8 strategies from a symmetric Dirichlet distribution: counts are Dirichlet-multinomial."""
    rest = concentration * (STRATEGIES - 1)
    unseen = [math.prod((rest + j) / (concentration + rest + j) for j in range(k)) for k in budgets]
    return sampled(
        f"Dirichlet {concentration:g}",
        samples,
        budgets,
        lambda rng, shape: rng.dirichlet(np.full(STRATEGIES, concentration), size=shape),
        1.0 - np.array(unseen),
    )


def two_tier(samples: int, budgets: tuple[int, ...]) -> Population:
    """Every input: 2 common strategies with 95 % of the mass, 6 rare ones; inputs differ by sampling only."""
    law = np.repeat([0.95 / 2, 0.05 / 6], [2, 6])
    truth = [1.0 - np.mean((1.0 - law) ** k) for k in budgets]
    return sampled(
        "two-tier",
        samples,
        budgets,
        lambda rng, shape: np.broadcast_to(law, (*shape, STRATEGIES)),
        np.array(truth),
    )


def solved_or_not(samples: int, budgets: tuple[int, ...]) -> Population:
    """pass@k of inputs that are never (20 %), always (60 %) or sometimes (rate uniform) solved."""
    table = rarefied(samples, budgets)
    truth = np.array([0.6 + 0.2 * (1.0 - 1.0 / (k + 1)) for k in budgets])

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        kind = rng.random(shape)
        rate = np.where(kind < 0.2, 0.0, np.where(kind < 0.8, 1.0, rng.random(shape)))
        return table[rng.binomial(samples, rate)]

    return Population("solved or not", samples, budgets, truth, draw)


def deepscaler(folder: pathlib.Path, samples: int, budgets: tuple[int, ...]) -> list[Population]:
    """pass@k of two models, and their paired difference, from {id, c, n} counts.

    The population is the file: inputs are drawn with replacement, and of each `samples` of its 128 samples
    without; the truth is pass@k of all.
    """
    counts = {}
    for model in ("base", "rl"):
        rows = [json.loads(line) for line in (folder / f"{model}.jsonl").read_text().splitlines()]
        counts[model] = {row["id"]: row["c"] for row in rows}
        assert {row["n"] for row in rows} == {128}
    table, whole = rarefied(samples, budgets), rarefied(128, budgets)
    base, rl = (np.array([counts[model][name] for name in counts["base"]]) for model in ("base", "rl"))

    def values(rng: np.random.Generator, c: np.ndarray) -> np.ndarray:
        return table[rng.hypergeometric(c, 128 - c, samples)]

    def alone(c: np.ndarray) -> Draw:
        return lambda rng, shape: values(rng, c[rng.integers(len(c), size=shape)])

    def difference(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        rows = rng.integers(len(base), size=shape)
        return values(rng, rl[rows]) - values(rng, base[rows])

    truth = {"base": whole[base].mean(axis=0), "rl": whole[rl].mean(axis=0)}
    return [
        Population("deepscaler base", samples, budgets, truth["base"], alone(base)),
        Population("deepscaler rl", samples, budgets, truth["rl"], alone(rl)),
        Population("deepscaler rl - base", samples, budgets, truth["rl"] - truth["base"], difference, TIE),
    ]


def laws(samples: int, budgets: tuple[int, ...]) -> list[Population]:
    return [
        *(dirichlet(c, samples, budgets) for c in (0.3, 1.0, 3.0)),
        two_tier(samples, budgets),
        solved_or_not(samples, budgets),
    ]
