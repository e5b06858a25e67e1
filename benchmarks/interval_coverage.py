"""Measured coverage of every interval and band over inputs, on named populations of inputs.

    python -m benchmarks.interval_coverage                                 print the tables
    python -m benchmarks.interval_coverage --write docs/intervals.md       write them into the document
    ... --deepscaler DIR                                                   and those on real counts

Each cell draws `--replications` samples of N inputs from a population whose mean is known, computes the
interval with the library's own code, and counts how often it holds that mean. A cell has its own random
stream, named by the seed and the cell, so that one cell can be re-run alone.
"""

import argparse
import dataclasses
import os
import pathlib
import zlib
from collections.abc import Callable, Iterable, Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small products: threads only wait for each other

import numpy as np
from tqdm import tqdm

from benchmarks.pages import replaced
from benchmarks.populations import STRATEGIES, Population, deepscaler, laws, rarefied
from coverjax.estimators.resampling import sample_interval
from coverjax.inference.bands import critical_value, mean_band
from coverjax.inference.bounded import bounded_band, bounded_interval
from coverjax.inference.cautions import at_the_bounds
from coverjax.inference.intervals import mean_interval
from coverjax.inference.units import moments
from coverjax.logs.log import SampleLog

SIZES = (5, 10, 30, 100)
SAMPLES = (4, 16, 64)
BLOCK = 500
RESAMPLES = 2_000
BAND_DRAWS = 1_000
FAMILY = 5
"""Inputs of a family, on average."""


def stream(seed: int, *cell: object) -> np.random.Generator:
    """The random stream of one cell."""
    return np.random.default_rng([seed, zlib.crc32("|".join(map(str, cell)).encode())])


@dataclasses.dataclass(frozen=True)
class Cell:
    """One row of a table: what it is about, and the shares that were measured."""

    names: tuple[str, ...]
    shares: tuple[float, ...]

    @property
    def line(self) -> str:
        """The row in Markdown."""
        numbers = [f"{100 * share:.1f} %" for share in self.shares]
        return "| " + " | ".join([*self.names, *numbers]) + " |"


def held(found: object, truth: float | np.ndarray) -> np.ndarray:
    """Where an interval holds the truth; nowhere where there is none."""
    return (found.low <= truth) & (truth <= found.high)  # type: ignore[attr-defined]


POINTWISE_HEADER = (
    "| population | n | k | N | inputs at a bound | warned | no interval | t | bootstrap | bounded |"
    " width of bounded to t |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
)


def measure(population: Population, point: int, units: int, replications: int, seed: int) -> Cell:
    """Measure the intervals at one budget; the replications of a block are the points of one call.

    t, bootstrap and warned are shares of the replications with an interval, bounded of all.
    """
    k, truth = population.budgets[point], population.truth[point]
    rng = stream(seed, population.name, population.samples, k, units)
    at, warned, refused, hits, widths = 0.0, 0, 0, np.zeros(3), np.zeros(2)
    for start in range(0, replications, BLOCK):
        size = min(BLOCK, replications - start)
        values = population.draw(rng, (units, size))[..., point]
        doubt, share = at_the_bounds(values, population.bounds)
        at += share.sum()
        t = mean_interval(values, bounds=population.bounds)
        bootstrap = mean_interval(values, method="bootstrap", seed=seed + start, replicates=RESAMPLES)
        bounded = bounded_interval(values, seed=seed + start, limits=population.limits, draws=RESAMPLES)
        hits += [held(found, truth).sum() for found in (t, bootstrap, bounded)]
        widths += [np.nansum(np.where(t.flagged, np.nan, found.high - found.low)) for found in (t, bounded)]
        refused += int(t.flagged.sum())
        warned += int((doubt & ~t.flagged).sum())
    given = max(1, replications - refused)
    shares = (at / replications, warned / given, refused / replications, *(hits[:2] / given))
    names = (population.name, str(population.samples), str(k), str(units))
    return Cell(names, (*map(float, shares), float(hits[2] / replications), float(widths[1] / widths[0])))


BAND_HEADER = (
    "| population | n = K | N | inputs at a bound | warned | band | bounded band |",
    "|---|---:|---:|---:|---:|---:|---:|",
)


def measure_band(population: Population, units: int, replications: int, seed: int) -> Cell:
    """Count how often the whole curve lies in the band.

    Points without variance have no band and are left out; the bounded band has no such points.
    """
    rng = stream(seed, population.name, population.samples, "band", units)
    given, warned, at, hits, bounded = 0, 0, 0.0, 0, 0
    for replication in range(replications):
        values = population.draw(rng, (units,))
        doubt, share = at_the_bounds(values, population.bounds)
        at += share.max()
        around = bounded_band(values, seed=replication, limits=population.limits, draws=BAND_DRAWS)
        bounded += bool(held(around, population.truth).all())
        stats = moments(values, np.arange(units))
        live = ~stats.flagged
        if not live.any():
            continue
        given += 1
        warned += bool((doubt & live).any())
        far = (np.abs(stats.mean - population.truth) / stats.stderr)[live].max()
        hits += far <= critical_value(stats.scores, stats.flagged, units - 1, 0.95, BAND_DRAWS, replication)
    shares = (warned / max(1, given), float(hits / max(1, given)), bounded / replications)
    names = (population.name, str(population.samples), str(units))
    return Cell(names, (at / replications, *shares))


FAMILY_HEADER = (
    "| sizes of the families | n | N | families | t without clusters | t | bootstrap | bounded | band |"
    " bounded band |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
)


def measure_families(uneven: bool, samples: int, units: int, replications: int, seed: int) -> Cell:
    """Measure intervals with clusters at k = n / 2, and bands over 1..n.

    The inputs of a family share their law, Dirichlet 1; families have 5 inputs each, or 1 to 9.
    """
    kind = "1 to 9 inputs" if uneven else "5 inputs"
    rng = stream(seed, "families", kind, samples, units)
    budgets = band_budgets(samples)
    population = dirichlet(1.0, samples, budgets)
    point = int(np.searchsorted(budgets, samples // 2))
    table, hits = rarefied(samples, budgets), np.zeros(6)
    families = units // FAMILY
    sizes = np.full(families, FAMILY)
    if uneven:
        sizes = np.resize([1, 9, 3, 7, 5], families)
    labels = np.repeat(np.arange(families), sizes)
    for replication in range(replications):
        laws = rng.dirichlet(np.ones(STRATEGIES), size=families)[labels]
        values = table[rng.multinomial(samples, laws)].mean(axis=-2)
        one, truth = values[:, [point]], population.truth
        found = (
            mean_interval(one),
            mean_interval(one, clusters=labels),
            mean_interval(one, method="bootstrap", clusters=labels, seed=replication, replicates=RESAMPLES),
            bounded_interval(one, clusters=labels, seed=replication, draws=RESAMPLES),
        )
        hits[:4] += [bool(held(each, truth[point]).all()) for each in found]
        bands = (
            mean_band(values, clusters=labels, seed=replication, multipliers=BAND_DRAWS),
            bounded_band(values, clusters=labels, seed=replication, draws=BAND_DRAWS),
        )
        hits[4:] += [bool((held(each, truth) | each.flagged).all()) for each in bands]
    return Cell(
        (kind, str(samples), str(int(sizes.sum())), str(families)), tuple((hits / replications).tolist())
    )


WITHIN_HEADER = (
    "| law of the input | n | k | sample_interval | no interval |",
    "|---|---:|---:|---:|---:|",
)


def measure_within(name: str, law: np.ndarray, samples: int, k: int, replications: int, seed: int) -> Cell:
    """Measure `sample_interval`, which is for the curve of one input: its truth is the law's own C(k)."""
    rng = stream(seed, "within", name, samples, k)
    truth = 1.0 - np.mean((1.0 - law) ** k)
    codes = rng.choice(len(law), size=(replications, samples), p=law)
    log = SampleLog.from_arrays(codes[..., None] == np.arange(len(law)))
    found = sample_interval(log, [k], replicates=400, seed=seed)
    none = np.isnan(found.low[:, 0])
    inside = held(found, truth)[:, 0]
    return Cell((name, str(samples), str(k)), (inside.sum() / max(1, (~none).sum()), none.mean()))


def quarter_and_all(samples: int) -> tuple[int, ...]:
    """The budgets of the tables at one budget."""
    return max(2, samples // 4), samples


def band_budgets(samples: int) -> tuple[int, ...]:
    """Up to 10 of 1..n, evenly spaced in logarithm, and n / 2: neighbouring budgets say the same."""
    spaced = np.rint(np.geomspace(1, samples, 10)).astype(int)
    return tuple(np.unique([*spaced, samples // 2]).tolist())


def of_inputs(
    name: str, populations: Callable[[int, tuple[int, ...]], list[Population]], args: argparse.Namespace
) -> Iterator[tuple[str, str]]:
    """Measure intervals and bands over inputs of these populations; yield a table as soon as it is made."""
    plan = [
        (p, i, units)
        for n in SAMPLES
        for p in populations(n, quarter_and_all(n))
        for i in range(2)
        for units in SIZES
    ]
    intervals = [
        measure(*cell, args.replications, args.seed) for cell in tqdm(plan, desc=f"intervals, {name}")
    ]
    yield f"intervals {name}", table(POINTWISE_HEADER, intervals)
    whole = [(p, units) for n in SAMPLES for p in populations(n, band_budgets(n)) for units in SIZES]
    bands = [
        measure_band(*cell, args.band_replications, args.seed) for cell in tqdm(whole, desc=f"bands, {name}")
    ]
    yield f"bands {name}", table(BAND_HEADER, bands)


def of_families(args: argparse.Namespace) -> Iterator[tuple[str, str]]:
    plan = [(uneven, n, units) for uneven in (False, True) for n in SAMPLES for units in (25, 50, 100)]
    cells = [
        measure_families(*cell, args.band_replications, args.seed) for cell in tqdm(plan, desc="families")
    ]
    yield "families", table(FAMILY_HEADER, cells)


def of_one_input(args: argparse.Namespace) -> Iterator[tuple[str, str]]:
    named = {
        "8 equal": np.full(8, 1 / 8),
        "8 Zipf": (1 / np.arange(1, 9)) / (1 / np.arange(1, 9)).sum(),
        "two-tier": np.repeat([0.95 / 2, 0.05 / 6], [2, 6]),
    }
    plan = [
        (name, law, n, k)
        for name, law in named.items()
        for n in SAMPLES
        for k in (max(2, n // 4), max(3, n // 2))
    ]
    cells = [
        measure_within(*cell, args.band_replications, args.seed) for cell in tqdm(plan, desc="within inputs")
    ]
    yield "within", table(WITHIN_HEADER, cells)


def table(header: tuple[str, str], cells: Iterable[Cell]) -> str:
    return "\n".join([*header, *(cell.line for cell in cells)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", type=pathlib.Path, help="document with marked blocks to write the tables into"
    )
    parser.add_argument(
        "--deepscaler", type=pathlib.Path, metavar="DIR", help="folder of base.jsonl and rl.jsonl"
    )
    parser.add_argument(
        "--only", nargs="*", default=("deepscaler", "laws", "families", "within"), help="some of the tables"
    )
    parser.add_argument("--replications", type=int, default=2_000)
    parser.add_argument("--band-replications", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    made = {
        "laws": lambda: of_inputs("laws", laws, args),
        "deepscaler": lambda: of_inputs(
            "deepscaler", lambda n, budgets: deepscaler(args.deepscaler, n, budgets), args
        ),
        "families": lambda: of_families(args),
        "within": lambda: of_one_input(args),
    }
    for part in args.only:
        if part == "deepscaler" and not args.deepscaler:
            continue
        for name, lines in made[part]():
            if args.write:
                args.write.write_text(replaced(args.write.read_text(), name, lines))
            else:
                print(f"{name}\n\n{lines}\n", flush=True)


if __name__ == "__main__":
    main()
