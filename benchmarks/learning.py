"""Learning: routers against SciPy, and what policies learn.

python -m benchmarks.learning --write benchmarks/RESULTS.md

The speed of router training is a row of the speed table (`rows`). This command runs the experiments, all
or `--only` some, and writes their numbers between markers of their own.
"""

import argparse
import pathlib
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import coverjax as cj
from benchmarks import learning_adaptive, learning_ladder, learning_rl, learning_schedules
from benchmarks.harness import Row, against, arithmetic, machine
from benchmarks.pages import between

INPUTS, LATENTS, STRATEGIES, DRAWS = 1_000, 8, 8, 16
STEPS = 150
TOLERANCE = 1e-4

EXPERIMENTS: dict[str, Callable[..., str]] = {
    "adaptive": learning_adaptive.report,
    "schedules": learning_schedules.report,
    "rl": learning_rl.report,
    "ladder": learning_ladder.report,
}


def random_routers(inputs: int) -> cj.RouterGenerator:
    """Draw models, rows of W from a Dirichlet law of concentration 0.3, with uniform routers."""
    rng = np.random.default_rng(0)
    generator = rng.dirichlet(np.full(STRATEGIES, 0.3), size=(inputs, LATENTS))
    return cj.RouterGenerator(np.full((inputs, LATENTS), 1 / LATENTS), generator)


def slsqp(generator: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the largest AUC over routers of every input, by SciPy with the analytic gradient."""
    k = np.arange(1, DRAWS + 1)[:, None]
    simplex = {"type": "eq", "fun": lambda r: r.sum() - 1.0, "jac": lambda r: np.ones(LATENTS)}

    def best(table: np.ndarray) -> float:
        def loss(router: np.ndarray) -> tuple[float, np.ndarray]:
            miss = 1.0 - np.clip(router @ table, 0.0, 1.0)
            power = miss[None] ** (k - 1)
            return (power * miss).mean() - 1.0, -(table @ (k * power).mean(axis=0)) / STRATEGIES

        start = np.full(LATENTS, 1 / LATENTS)
        options = {"ftol": tolerance, "maxiter": 500}
        bounds = [(0.0, 1.0)] * LATENTS
        found = minimize(
            loss, start, jac=True, method="SLSQP", bounds=bounds, constraints=[simplex], options=options
        )
        return -found.fun

    return np.array([best(table) for table in generator])


def train_routers(model: cj.RouterGenerator) -> np.ndarray:
    """Return the AUC of the routers that `train_policy` finds."""
    policy, _ = cj.train_policy(
        learning_adaptive.key(0), cj.LatentIID, model, DRAWS, steps=STEPS, every=STEPS
    )
    return cj.auc(cj.exact(policy, model, DRAWS, include=()))


def rows(smoke: bool) -> list[Row]:
    """Return the row of router training: to 1e-4 of the optimum on every input, checked apart."""
    inputs = 10 if smoke else INPUTS
    model = random_routers(inputs)
    optimum = slsqp(model.generator, 1e-12)

    def worst(ours: np.ndarray, theirs: np.ndarray) -> float:
        short = [float((optimum - values).max()) for values in (ours, theirs)]
        if max(short) > TOLERANCE:
            raise AssertionError(f"not within {TOLERANCE} of the optimum: ours, peer {short}")
        return short[0]

    return [
        against(
            f"router training to 1e-4 of the concave optimum, {inputs:,} inputs, {LATENTS} latents, "
            f"{STRATEGIES} strategies, {DRAWS} draws (difference: farthest from the optimum)",
            lambda: train_routers(model),
            "SciPy SLSQP an input, analytic gradient, ftol 1e-7",
            lambda: slsqp(model.generator, 1e-7),
            target=0 if smoke else 5,
            pairs=3,
            # Each step: the mixture and its gradient, and a power for each draw and strategy.
            floor=arithmetic(4.0 * STEPS * inputs * STRATEGIES * (LATENTS + DRAWS)),
            difference=worst,
        )
    ]


def main() -> None:
    """Run the experiments; print their results, and write them between their markers when asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does every experiment run?")
    parser.add_argument("--only", nargs="*", default=list(EXPERIMENTS), choices=list(EXPERIMENTS))
    parser.add_argument("--write", type=pathlib.Path, help="the page that holds the results")
    parser.add_argument("--keep", action="store_true", help="adaptive: measure the network that is kept")
    args = parser.parse_args()
    parts = []
    for name in args.only:
        start = time.perf_counter()
        kept = {"keep": True} if args.keep and name == "adaptive" else {}
        text = EXPERIMENTS[name](args.smoke, **kept)
        words = f"--only {name}{' --keep' if kept else ''}"
        command = f"`python -m benchmarks.learning {words}`, {time.perf_counter() - start:.0f} s"
        parts.append(f"{text}\n\n{command}; {machine()}")
        print(f"{parts[-1]}\n", flush=True)
        if args.write:
            write(args.write, name, parts[-1])


def write(page: pathlib.Path, name: str, text: str) -> None:
    """Put an experiment's results between its markers; at the end of the page where there are none."""
    begin, end = (
        f"<!-- learning {name}: written by benchmarks.learning -->",
        f"<!-- end of learning {name} -->",
    )
    text_before = page.read_text()
    if begin not in text_before:
        text_before = text_before.rstrip("\n") + f"\n\n{begin}\n{end}\n"
    page.write_text(between(text_before, begin, end, text))


if __name__ == "__main__":
    main()
