"""Measured coverage of the intervals over inputs, on named populations of inputs.

    python benchmarks/interval_coverage.py                                 print the tables
    python benchmarks/interval_coverage.py --write docs/intervals.md       write them into the document
    ... --deepscaler DIR                                                   and those on real counts

Each cell draws `--replications` samples of N inputs from a population whose mean is known, computes the
interval with the library's own code, and counts how often it holds that mean. A cell has its own random
stream, named by the seed and the cell, so that one cell can be re-run alone.
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import zlib
from collections.abc import Callable, Iterable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small products: threads only wait for each other

import numpy as np
from tqdm import tqdm

from coverjax.inference.bands import critical_value
from coverjax.inference.cautions import TIE, UNIT, at_the_bounds
from coverjax.inference.intervals import mean_interval
from coverjax.inference.units import moments

SIZES = (5, 10, 30, 100)
STRATEGIES, SAMPLES = 8, 32
BLOCK = 500
RESAMPLES = 2_000
BAND_MULTIPLIERS = 2_000
MANY = 100_000

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Population:
    """Inputs with values at some budgets: `draw(rng, shape)` gives [*shape, budgets], `truth` the mean."""

    name: str
    budgets: tuple[int, ...]
    truth: np.ndarray
    draw: Draw
    bounds: tuple[float, ...] = UNIT


def rarefied(n: int, budgets: Iterable[int]) -> np.ndarray:
    """Return 1 - C(n - c, k) / C(n, k) for c = 0..n, [n + 1, budgets], from whole numbers."""
    return np.array([[1.0 - math.comb(n - c, k) / math.comb(n, k) for k in budgets] for c in range(n + 1)])


def sampled(name: str, budgets: tuple[int, ...], probabilities: Draw, truth: np.ndarray) -> Population:
    """Inputs with laws from `probabilities` (its last axis the strategies), each seen through a log."""
    table = rarefied(SAMPLES, budgets)

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        counts = rng.multinomial(SAMPLES, probabilities(rng, shape))
        return table[counts].mean(axis=-2)

    return Population(name, budgets, truth, draw)


def dirichlet(concentration: float, budgets: tuple[int, ...]) -> Population:
    """Laws of 8 strategies from a symmetric Dirichlet distribution: counts are Dirichlet-multinomial."""
    rest = concentration * (STRATEGIES - 1)
    unseen = [math.prod((rest + j) / (concentration + rest + j) for j in range(k)) for k in budgets]
    return sampled(
        f"Dirichlet {concentration:g}",
        budgets,
        lambda rng, shape: rng.dirichlet(np.full(STRATEGIES, concentration), size=shape),
        1.0 - np.array(unseen),
    )


def two_tier(budgets: tuple[int, ...]) -> Population:
    """Every input: 2 common strategies with 95 % of the mass, 6 rare ones; inputs differ by sampling only."""
    law = np.repeat([0.95 / 2, 0.05 / 6], [2, 6])
    truth = [1.0 - np.mean((1.0 - law) ** k) for k in budgets]
    return sampled(
        "two-tier", budgets, lambda rng, shape: np.broadcast_to(law, (*shape, STRATEGIES)), np.array(truth)
    )


def solved_or_not(budgets: tuple[int, ...]) -> Population:
    """pass@k of inputs that are never (20 %), always (60 %) or sometimes (rate uniform) solved."""
    table = rarefied(SAMPLES, budgets)
    truth = np.array([0.6 + 0.2 * (1.0 - 1.0 / (k + 1)) for k in budgets])

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        kind = rng.random(shape)
        rate = np.where(kind < 0.2, 0.0, np.where(kind < 0.8, 1.0, rng.random(shape)))
        return table[rng.binomial(SAMPLES, rate)]

    return Population("solved or not", budgets, truth, draw)


def resampled(
    name: str, budgets: tuple[int, ...], values: np.ndarray, bounds: tuple[float, ...]
) -> Population:
    """Real inputs drawn with replacement: the population is the file."""
    return Population(
        name,
        budgets,
        values.mean(axis=0),
        lambda rng, shape: values[rng.integers(len(values), size=shape)],
        bounds,
    )


def deepscaler(folder: pathlib.Path, budgets: tuple[int, ...]) -> list[Population]:
    """pass@k of two models, and their paired difference, from {id, c, n} counts."""
    counts = {}
    for model in ("base", "rl"):
        rows = [json.loads(line) for line in (folder / f"{model}.jsonl").read_text().splitlines()]
        counts[model] = {row["id"]: row["c"] for row in rows}
        assert {row["n"] for row in rows} == {128}
    table = rarefied(128, budgets)
    values = {model: table[[per_id[name] for name in counts["base"]]] for model, per_id in counts.items()}
    return [
        *(resampled(f"deepscaler {model}", budgets, values[model], UNIT) for model in values),
        resampled("deepscaler rl - base", budgets, values["rl"] - values["base"], TIE),
    ]


def stream(seed: int, *cell: object) -> np.random.Generator:
    """The random stream of one cell."""
    return np.random.default_rng([seed, zlib.crc32("|".join(map(str, cell)).encode())])


@dataclasses.dataclass(frozen=True)
class Cell:
    """One row of the table; `warned`, `t`, `bootstrap` are shares of the replications with an interval."""

    population: str
    k: int
    units: int
    at_bounds: float
    warned: float
    refused: float
    t: float
    bootstrap: float


def measure(population: Population, point: int, units: int, replications: int, seed: int) -> Cell:
    """Measure one cell; the replications of a block are the points of one call."""
    k, truth = population.budgets[point], population.truth[point]
    rng = stream(seed, population.name, k, units)
    at, warned, refused, hits = 0.0, 0, 0, np.zeros(2)
    for start in range(0, replications, BLOCK):
        size = min(BLOCK, replications - start)
        values = population.draw(rng, (units, size))[..., point]
        doubt, share = at_the_bounds(values, population.bounds)
        at += share.sum()
        for i, method in enumerate(("t", "bootstrap")):
            found = mean_interval(
                values, method=method, seed=seed + start, replicates=RESAMPLES, bounds=population.bounds
            )
            hits[i] += int(((found.low <= truth) & (truth <= found.high)).sum())
        refused += int(found.flagged.sum())
        warned += int((doubt & ~found.flagged).sum())
    given = max(1, replications - refused)
    return Cell(
        population.name,
        k,
        units,
        at / replications,
        warned / given,
        refused / replications,
        *(hits / given).tolist(),
    )


@dataclasses.dataclass(frozen=True)
class BandCell:
    """One row of the table of bands; `gaussian`: without studentising."""

    population: str
    last: int
    units: int
    warned: float
    band: float
    gaussian: float


def measure_band(population: Population, units: int, replications: int, seed: int) -> BandCell:
    """Count how often the whole curve lies in the band (points without variance, flagged, left out).

    A great number of degrees of freedom is no studentising.
    """
    rng = stream(seed, population.name, "band", units)
    given, warned, hits = 0, 0, np.zeros(2)
    for replication in range(replications):
        values = population.draw(rng, (units,))
        stats = moments(values, np.arange(units))
        live = ~stats.flagged
        if not live.any():
            continue
        given += 1
        warned += bool((at_the_bounds(values, population.bounds)[0] & live).any())
        far = (np.abs(stats.mean - population.truth) / stats.stderr)[live].max()
        for i, degrees in enumerate((units - 1, MANY)):
            c = critical_value(stats.scores, stats.flagged, degrees, 0.95, BAND_MULTIPLIERS, replication)
            hits[i] += far <= c
    return BandCell(
        population.name, population.budgets[-1], units, *(float(x) / max(1, given) for x in (warned, *hits))
    )


def interval_table(cells: list[Cell]) -> str:
    lines = [
        "| population | k | N | inputs at a bound | warned | no interval | t | bootstrap |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for cell in cells:
        shares = (cell.at_bounds, cell.warned, cell.refused, cell.t, cell.bootstrap)
        numbers = " | ".join(f"{100 * share:.1f} %" for share in shares)
        lines.append(f"| {cell.population} | {cell.k} | {cell.units} | {numbers} |")
    return "\n".join(lines)


def band_table(cells: list[BandCell]) -> str:
    lines = [
        "| population | budgets | N | warned | band | without studentising |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for cell in cells:
        numbers = " | ".join(f"{100 * share:.1f} %" for share in (cell.warned, cell.band, cell.gaussian))
        lines.append(f"| {cell.population} | 1..{cell.last} | {cell.units} | {numbers} |")
    return "\n".join(lines)


def replaced(text: str, name: str, table: str) -> str:
    """Return the document with one marked block replaced."""
    begin, end = f"<!-- {name}: begin -->\n", f"\n<!-- {name}: end -->"
    before, rest = text.split(begin)
    return before + begin + table + end + rest.split(end)[1]


def laws(budgets: tuple[int, ...]) -> list[Population]:
    return [*(dirichlet(c, budgets) for c in (0.3, 1.0, 3.0)), two_tier(budgets)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", type=pathlib.Path, help="document with marked blocks to write the tables into"
    )
    parser.add_argument(
        "--deepscaler", type=pathlib.Path, metavar="DIR", help="folder of base.jsonl and rl.jsonl"
    )
    parser.add_argument("--replications", type=int, default=10_000)
    parser.add_argument("--band-replications", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    groups = {"laws": ([*laws((4, 16)), solved_or_not((1, 8))], laws(tuple(range(1, SAMPLES + 1))))}
    if args.deepscaler:
        real = deepscaler(args.deepscaler, (1, 8, 64)), deepscaler(args.deepscaler, tuple(range(1, 129)))
        groups["deepscaler"] = real
    tables = {}
    for name, (pointwise, whole) in groups.items():
        plan = [(p, i, n) for p in pointwise for i in range(len(p.budgets)) for n in SIZES]
        tables[f"intervals {name}"] = interval_table(
            [measure(*cell, args.replications, args.seed) for cell in tqdm(plan, desc=f"intervals, {name}")]
        )
        bands = [(p, n) for p in whole for n in SIZES]
        tables[f"bands {name}"] = band_table(
            [
                measure_band(p, n, args.band_replications, args.seed)
                for p, n in tqdm(bands, desc=f"bands, {name}")
            ]
        )
    text = args.write.read_text() if args.write else ""
    for name, table in tables.items():
        text = replaced(text, name, table) if args.write else f"{text}\n{name}\n\n{table}\n"
    if args.write:
        args.write.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
