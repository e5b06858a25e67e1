"""Errors of extrapolated coverage: real counts and simulated populations, every estimator in one table.

    python -m benchmarks.extrapolation_error --deepscaler DIR --write docs/extrapolation.md

The estimator was chosen on the tables "choice" alone: the base model and simulated populations. "report"
holds the rl model too. Each cell: `--subsamples` draws of n samples of every input (of the real counts,
hypergeometric, without replacement), and the error of mean coverage at K against the truth: pass@K of all
128 samples, or the law's own value.
"""

import argparse
import json
import os
import pathlib
import zlib
from collections.abc import Callable, Iterable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from tqdm import tqdm

import coverjax as cj
from benchmarks.pages import replaced
from coverjax.estimators.priors import Units, fit_prior

CELLS = ((8, 64), (16, 64), (16, 128), (32, 64), (32, 128))
PENALTIES = (1.001, 2.0, 4.0, 10.0)
SIMULATED_CELLS = ((8, 64), (16, 128), (32, 64))
INPUTS = 1_000
STRATEGIES = 8

Draw = Callable[[np.random.Generator, int, int], tuple[np.ndarray, float]]
"""From a generator, n and K: counts [inputs, strategies] and the true mean coverage at K."""


def real(counts: np.ndarray) -> Draw:
    """Inputs of a file, each with 128 samples."""
    whole = cj.CountTable.from_arrays(counts, n=128)

    def draw(rng: np.random.Generator, n: int, budget: int) -> tuple[np.ndarray, float]:
        truth = cj.estimate(whole, [budget], include=()).mean().coverage[0, 0]
        return rng.hypergeometric(counts, 128 - counts, n)[:, None], float(truth)

    return draw


def simulated(chances: Callable[[np.random.Generator], np.ndarray]) -> Draw:
    """Inputs with chances of this population."""

    def draw(rng: np.random.Generator, n: int, budget: int) -> tuple[np.ndarray, float]:
        p = chances(rng)
        return rng.binomial(n, p), float((1.0 - (1.0 - p) ** budget).mean())

    return draw


def logistic(center: float, spread: float) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: 1.0 / (1.0 + np.exp(-(center + spread * rng.standard_normal((INPUTS, 1)))))


def never(share: float, chances: Callable[[np.random.Generator], np.ndarray]) -> Draw:
    """The same with a share of inputs that are never solved."""
    return simulated(lambda rng: np.where(rng.random((INPUTS, 1)) < share, 0.0, chances(rng)))


ZIPF = (1.0 / np.arange(1, STRATEGIES + 1)) / (1.0 / np.arange(1, STRATEGIES + 1)).sum()

POPULATIONS: dict[str, Draw] = {
    "Beta(0.3, 0.2)": simulated(lambda rng: rng.beta(0.3, 0.2, (INPUTS, 1))),
    "Beta(0.15, 0.3)": simulated(lambda rng: rng.beta(0.15, 0.3, (INPUTS, 1))),
    "Beta(0.5, 0.5), 10 % never": never(0.1, lambda rng: rng.beta(0.5, 0.5, (INPUTS, 1))),
    "logistic normal (0, 3)": simulated(logistic(0.0, 3.0)),
    "logistic normal (-2, 2), 10 % never": never(0.1, logistic(-2.0, 2.0)),
    "Dirichlet 0.3": simulated(lambda rng: rng.dirichlet(np.full(STRATEGIES, 0.3), INPUTS // STRATEGIES)),
    "Zipf, the same strategies": simulated(lambda rng: np.tile(ZIPF, (INPUTS // STRATEGIES, 1))),
    "Zipf, shuffled strategies": simulated(
        lambda rng: rng.permuted(np.tile(ZIPF, (INPUTS // STRATEGIES, 1)), axis=1)
    ),
    "two-tier": simulated(
        lambda rng: np.tile(np.repeat([0.475, 0.05 / 6], [2, 6]), (INPUTS // STRATEGIES, 1))
    ),
}


def flat_prior(counts: np.ndarray, n: int, budget: int) -> float:
    """Posterior predictive under Beta(1, 1) for each input and strategy alone."""
    return float(1.0 - (counts == 0).mean() * (n + 1) / (budget + 1))


def rng_of(seed: int, *cell: object) -> np.random.Generator:
    """The random stream of one cell."""
    return np.random.default_rng([seed, zlib.crc32("|".join(map(str, cell)).encode())])


OVER_INPUTS = ("beta_binomial", "beta_binomial_atom", "empirical_bayes")
AS_ONE = ("chao2", "good_toulmin")
"""What has no prior sees each pair of input and strategy as one species of a single large input."""

REPORT_HEADER = (
    "| population | n | K | truth | coverjax | held, these inputs | half width | held, population |"
    " verdicts | Beta alone | with atom alone | plug-in C(n) | Chao2 | Good-Toulmin | flat prior |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|",
)


def report(name: str, draw: Draw, n: int, budget: int, subsamples: int, seed: int) -> str:
    """One row: root mean squared errors; how often the intervals held the truth; the verdicts passed."""
    rng = rng_of(seed, name, n, budget)
    errors: dict[str, list[float]] = {name: [] for name in (*OVER_INPUTS, *AS_ONE, "plug-in", "flat")}
    held, wide, half, verdicts, truths = 0, 0, 0.0, {}, []
    for _ in range(subsamples):
        counts, truth = draw(rng, n, budget)
        truths.append(truth)
        table = cj.CountTable.from_arrays(counts, n=n)
        found = {how: cj.extrapolate(table, [budget], method=how) for how in OVER_INPUTS}
        one = cj.CountTable.from_arrays(counts.reshape(1, -1), n=n)
        found |= {how: cj.extrapolate(one, [budget], method=how) for how in AS_ONE}
        for how, curves in found.items():
            errors[how].append(float(curves.mean().coverage[0, 0]) - truth)
        errors["plug-in"].append(float((counts > 0).mean()) - truth)
        errors["flat"].append(flat_prior(counts, n, budget) - truth)
        told = found["empirical_bayes"].extrapolation
        assert told is not None
        held += int(told.low[0] <= truth <= told.high[0])
        half += 0.5 * float(told.high[0] - told.low[0])
        low, high = cj.interval(found["empirical_bayes"])
        wide += int(low[0] <= truth <= high[0])
        verdicts[told.verdict] = verdicts.get(told.verdict, 0) + 1
    rmse = {how: float(np.sqrt(np.mean(np.square(values)))) for how, values in errors.items()}
    cells = [
        name,
        str(n),
        str(budget),
        f"{np.mean(truths):.4f}",
        f"**{rmse['empirical_bayes']:.4f}**",
        f"{100 * held / subsamples:.0f} %",
        f"{half / subsamples:.4f}",
        f"{100 * wide / subsamples:.0f} %",
        ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())),
        *(
            f"{rmse[how]:.4f}"
            for how in ("beta_binomial", "beta_binomial_atom", "plug-in", "chao2", "good_toulmin", "flat")
        ),
    ]
    return "| " + " | ".join(cells) + " |"


CHOICE_HEADER = (
    "| population | n | K | Beta |"
    + "".join(f" average with atom, penalty {f'{p:.0f}' if p > 1.01 else 'none'} |" for p in PENALTIES),
    "|---|---:|---:|---:|" + "---:|" * len(PENALTIES),
)


def choice(name: str, draw: Draw, n: int, budget: int, subsamples: int, seed: int) -> str:
    """One row: errors by the strength of the penalty, each strategy with a prior of its own."""
    rng = rng_of(seed, "choice", name, n, budget)
    errors: list[list[float]] = []
    for _ in range(subsamples):
        counts, truth = draw(rng, n, budget)
        values = np.zeros(1 + len(PENALTIES))
        for column in counts.T:
            units, _ = Units.of(np.full(len(column), n), column)
            for i, penalty in enumerate((None, *PENALTIES)):
                prior = fit_prior(units, penalty is not None, penalty or 1.0)
                log_none = prior.log_none(np.array([n, budget]))[0]
                values[i] += 1.0 - (column == 0).mean() * np.exp(log_none[1] - log_none[0])
        values /= counts.shape[1]
        values[1:] = 0.5 * (values[0] + values[1:])
        errors.append((values - truth).tolist())
    rmse = np.sqrt(np.mean(np.square(errors), axis=0))
    return "| " + " | ".join([name, str(n), str(budget), *(f"{x:.4f}" for x in rmse)]) + " |"


def counts_of(folder: pathlib.Path, model: str) -> np.ndarray:
    rows = [json.loads(line) for line in (folder / f"{model}.jsonl").read_text().splitlines()]
    assert {row["n"] for row in rows} == {128}
    return np.array([row["c"] for row in rows])


def table(header: tuple[str, str], rows: Iterable[str]) -> str:
    return "\n".join([*header, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deepscaler", type=pathlib.Path, metavar="DIR", required=True)
    parser.add_argument("--write", type=pathlib.Path, help="document with marked blocks")
    parser.add_argument("--only", nargs="*", default=("report", "choice", "simulated"))
    parser.add_argument("--subsamples", type=int, default=20)
    parser.add_argument("--simulations", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    base, rl = (real(counts_of(args.deepscaler, model)) for model in ("base", "rl"))
    populations = {
        "choice": {"base": base, **POPULATIONS},
        "report": {"base": base, "rl": rl},
        "simulated": POPULATIONS,
    }
    if args.write:
        for name in args.only:
            replaced(args.write.read_text(), name, "")  # before anything is computed
    for name in args.only:
        row, header = (choice, CHOICE_HEADER) if name == "choice" else (report, REPORT_HEADER)
        plan = [
            (p, draw, *cell, args.simulations if p in POPULATIONS else args.subsamples)
            for p, draw in populations[name].items()
            for cell in (SIMULATED_CELLS if p in POPULATIONS else CELLS)
        ]
        lines = table(header, [row(*cell, args.seed) for cell in tqdm(plan, desc=name)])
        if args.write:
            args.write.write_text(replaced(args.write.read_text(), name, lines))
        else:
            print(f"{name}\n\n{lines}\n", flush=True)


if __name__ == "__main__":
    main()
