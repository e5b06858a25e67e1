"""How cost grows with each size: exponents of time, fitted.

python -m benchmarks.scaling --write benchmarks/SCALING.md

One size is doubled again and again, the others stay. Each call is made once to compile and then timed, the
least of several. The exponent is the slope of log time over log size, by least squares over the upper half
of the sizes, where what every call costs no longer counts; beside it, what the method should cost.
"""

import argparse
import dataclasses
import os
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

import coverjax as cj
from benchmarks import reading, sweeping
from benchmarks.harness import machine, seconds
from coverjax.inference.resampling import resampled_means
from coverjax.sweep import read_sweep

Call = Callable[[], Any]


@dataclasses.dataclass(frozen=True)
class Study:
    """One size of one kind of work.

    Attributes:
        work: what is done, with the sizes that stay.
        size: the name of the size that grows.
        expected: the exponent that the method should have.
        sizes: its values.
        call: from a value to the call that is timed.
        least: from a value to the number of repeats.
    """

    work: str
    size: str
    expected: str
    sizes: list[int]
    call: Callable[[int], Call]
    repeats: int = 5


@dataclasses.dataclass(frozen=True)
class Fit:
    """What was measured: seconds at each size, the exponent and its standard error."""

    study: Study
    times: list[float]
    exponent: float
    stderr: float


def slope(sizes: list[int], times: list[float]) -> tuple[float, float]:
    """Return slope and standard error of log time over log size; NaN where there are too few.

    >>> slope([1, 2, 4], [3.0, 12.0, 48.0])
    (2.0, 0.0)
    """
    if len(sizes) < 2:
        return float("nan"), float("nan")
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(times, float))
    centred = x - x.mean()
    exponent = float(centred @ y / (centred @ centred))
    rest = y - y.mean() - exponent * centred
    free = len(x) - 2
    error = float(np.sqrt(rest @ rest / free / (centred @ centred))) if free > 0 else float("nan")
    return round(exponent, 12), round(error, 12)


def measure(study: Study) -> Fit:
    """Time every size and fit the upper half."""
    times = []
    for size in study.sizes:
        call = study.call(size)
        seconds(call)
        times.append(min(seconds(call)[0] for _ in range(study.repeats)))
    upper = len(study.sizes) // 2
    return Fit(study, times, *slope(study.sizes[upper:], times[upper:]))


def doubling(first: int, count: int) -> list[int]:
    """Return sizes that double."""
    return [first << step for step in range(count)]


def exact_studies(steps: int) -> Iterator[Study]:
    """Closed forms."""

    def iid(inputs: int, strategies: int, budget: int) -> Call:
        law = cj.families.zipf(inputs, strategies)
        return lambda: cj.exact(cj.IID(), law, budget, include="novelty_count")

    def full(strategies: int, budget: int) -> Call:
        law = cj.families.zipf(1, strategies)
        return lambda: cj.exact(cj.IID(), law, budget, include="full_coverage")

    def latent(order: str, latents: int) -> Call:
        model = cj.families.confusion(16, 16, 0.1, latents=latents)
        return lambda: cj.exact(cj.LatentNoRepeat(order=order), model, 64, include=())

    def greedy(strategies: int, budget: int) -> Call:
        model = cj.families.confusion(4, strategies, 0.1)
        return lambda: cj.exact(cj.GreedyLatent(), model, budget, include=())

    work = "exact iid C and N"
    yield Study(
        f"{work}, 64 strategies, 256 budgets", "inputs", "1", doubling(64, steps), lambda n: iid(n, 64, 256)
    )
    yield Study(
        f"{work}, 512 inputs, 256 budgets", "strategies", "1", doubling(16, steps), lambda n: iid(512, n, 256)
    )
    yield Study(
        f"{work}, 256 inputs, 64 strategies", "budgets", "1", doubling(128, steps), lambda n: iid(256, 64, n)
    )
    work = "full-coverage curve"
    yield Study(f"{work}, k = 1..2,000", "strategies", "1", doubling(32, steps), lambda n: full(n, 2_000))
    yield Study(
        f"{work}, 64 strategies", "budgets", "0.5 to 1", doubling(1_000, steps), lambda n: full(64, n)
    )
    work = "no-repeat latents, 16 inputs x 16 strategies"
    yield Study(f"{work}, uniform order", "latents", "2", doubling(16, steps), lambda n: latent("uniform", n))
    yield Study(f"{work}, router order", "latents", "2", doubling(4, steps), lambda n: latent("router", n))
    work = "any Markov policy on the subset lattice, 4 inputs"
    yield Study(
        f"{work}, 16 draws (per strategy: x 2)",
        "2^strategies",
        "1 to 1.4",
        doubling(256, min(5, steps)),
        lambda n: greedy(n.bit_length() - 1, 16),
        repeats=2,
    )
    yield Study(f"{work}, 8 strategies", "draws", "1", doubling(32, steps), lambda n: greedy(8, n))


def simulation_studies(steps: int) -> Iterator[Study]:
    """Monte Carlo."""
    key = jax.random.key(0)

    def run(inputs: int, strategies: int, trials: int, budget: int, engine: str) -> Call:
        law = cj.families.zipf(inputs, strategies)
        return lambda: cj.simulate(key, cj.IID(), law, budget, trials, include=(), engine=engine)

    scan, jump = "simulation by the scan", "simulation by the jump chain"
    yield Study(
        f"{scan}, 64 strategies, budget 128", "trials x inputs", "1", doubling(1 << 12, steps),
        lambda n: run(n >> 8, 64, 256, 128, "scan"),
    )  # fmt: skip
    yield Study(
        f"{scan}, 64 inputs, 64 trials, 64 strategies", "budget", "1", doubling(64, steps),
        lambda n: run(64, 64, 64, n, "scan"),
    )  # fmt: skip
    yield Study(
        f"{jump}, 64 strategies, budget 10,000", "trials x inputs", "1", doubling(1 << 12, steps),
        lambda n: run(n >> 8, 64, 256, 10_000, "jump chain"),
    )  # fmt: skip
    yield Study(
        f"{jump}, 16 inputs, 256 trials, budget 10,000", "strategies", "1 to 2", doubling(16, steps),
        lambda n: run(16, n, 256, 10_000, "jump chain"),
    )  # fmt: skip
    yield Study(
        f"{jump}, 16 inputs, 256 trials, 64 strategies; 32 budgets", "largest budget", "0",
        doubling(1 << 10, steps), lambda n: _sparse(key, n),
    )  # fmt: skip


def _sparse(key: jax.Array, largest: int) -> Call:
    law = cj.families.zipf(16, 64)
    budgets = np.unique(np.geomspace(1, largest, 32).astype(int))
    return lambda: cj.simulate(key, cj.IID(), law, budgets, 256, include=(), engine="jump chain")


def log_studies(steps: int, folder: pathlib.Path) -> Iterator[Study]:
    """Logs, resampling, sweeps."""
    rng = np.random.default_rng(0)

    def estimate(inputs: int, samples: int, strategies: int) -> Call:
        log = cj.SampleLog.from_arrays(rng.random((inputs, samples, strategies)) < 0.1)
        return lambda: cj.estimate(log, include=())

    def read(rows: int) -> Call:
        log = reading.write(folder / f"{rows}.jsonl", rows, max(1, rows // 100))
        return lambda: cj.read_log(log, counts=True)

    def bootstrap(tasks: int, replicates: int) -> Call:
        values = rng.integers(-1, 2, (tasks, 4)).astype(np.float64)
        return lambda: resampled_means(values, None, replicates, 1)

    def sweep(cells: int) -> Call:
        path = folder / f"{cells}.toml"
        path.write_text(sweeping.text(round(cells**0.5)))
        return lambda: sweeping.swept(read_sweep(path))

    work = "C(k) from a log"
    yield Study(
        f"{work}, 128 samples x 6 strategies",
        "inputs",
        "1",
        doubling(500, steps),
        lambda n: estimate(n, 128, 6),
    )
    yield Study(
        f"{work}, 200 inputs x 6 strategies",
        "samples",
        "1 to 2",
        doubling(64, steps),
        lambda n: estimate(200, n, 6),
    )
    yield Study(
        f"{work}, 200 inputs x 128 samples",
        "strategies",
        "1",
        doubling(8, steps),
        lambda n: estimate(200, 128, n),
    )
    yield Study("JSONL log to count table", "rows", "1", doubling(20_000, steps), read, repeats=2)
    yield Study(
        "paired bootstrap, 200 tasks", "replicates", "1", doubling(2_000, steps), lambda n: bootstrap(200, n)
    )
    yield Study(
        "paired bootstrap, 4,000 replicates", "tasks", "1", doubling(64, steps), lambda n: bootstrap(n, 4_000)
    )
    sizes = [(8 << step) ** 2 for step in range(min(steps, 4))]
    yield Study("exact sweep, 32 strategies, budget 256, 5 policies", "cells", "1", sizes, sweep, repeats=2)


def markdown(fits: list[Fit]) -> str:
    """Return the fits as a table."""
    lines = ["| work | size | from, to | seconds | exponent | by the method |", "|---|---|---|---|---|---|"]
    for fit in fits:
        sizes = fit.study.sizes
        error = "" if np.isnan(fit.stderr) else f" ± {fit.stderr:.2f}"
        lines.append(
            f"| {fit.study.work} | {fit.study.size} | {sizes[0]:,}, {sizes[-1]:,} | {fit.times[0]:.3g}, "
            f"{fit.times[-1]:.3g} | {fit.exponent:.2f}{error} | {fit.study.expected} |"
        )
    return "\n".join(lines)


def page(fits: list[Fit], took: float) -> str:
    """Return the whole page."""
    assert __doc__ is not None
    told = __doc__.partition("\n")[2].strip().replace("python -m", "    python -m")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return (
        f"# How cost grows\n\n{told}\n\n{machine()}; {took:.0f} s, load {load:.1f} at the end\n\n"
        f"{markdown(fits)}\n"
    )


def main() -> None:
    """Measure every size; print the page, or write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--smoke", action="store_true", help="the smallest size of each: does every study run?"
    )
    parser.add_argument("--steps", type=int, default=6, help="sizes of each study")
    parser.add_argument("--write", type=pathlib.Path, help="the page to write")
    args = parser.parse_args()
    steps = 1 if args.smoke else args.steps
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="coverjax-scaling-") as folder:
        studies = [
            *exact_studies(steps),
            *simulation_studies(steps),
            *log_studies(steps, pathlib.Path(folder)),
        ]
        fits = []
        for study in studies:
            fits.append(measure(study))
            print(f"{fits[-1].exponent:5.2f}  {study.work}: {study.size}", flush=True)
    text = page(fits, time.perf_counter() - start)
    if args.write:
        args.write.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
