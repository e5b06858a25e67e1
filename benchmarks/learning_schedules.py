"""Open-loop schedules: does training find the best fixed plan? Exhaustive search says which it is."""

import itertools

import jax
import numpy as np

import coverjax as cj

LATENTS, STRATEGIES, DRAWS = 4, 6, 6
CONCENTRATIONS = (0.1, 0.3)


def random_models(number: int, concentration: float) -> cj.RouterGenerator:
    """Draw small models: 4 latents, 6 strategies."""
    rng = np.random.default_rng(round(1_000 * concentration))
    generator = rng.dirichlet(np.full(STRATEGIES, concentration), size=(number, LATENTS))
    return cj.RouterGenerator(np.full((number, LATENTS), 1 / LATENTS), generator)


def best_schedules(model: cj.RouterGenerator) -> np.ndarray:
    """Return the largest AUC over all latents^draws fixed plans; a random plan is a mixture of them."""
    plans = np.array(list(itertools.product(range(LATENTS), repeat=DRAWS)))
    miss = 1.0 - model.generator
    best = np.empty(model.inputs)
    for row in range(model.inputs):
        covered = 1.0 - np.cumprod(miss[row][plans], axis=1)
        best[row] = covered.mean(axis=(1, 2)).max()
    return best


def measured(number: int, concentration: float, steps: int, seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the AUC of trained schedules, and of the best ones."""
    model = random_models(number, concentration)
    policy, _ = cj.train_policy(
        jax.random.key(0), cj.LatentSchedule, model, DRAWS, steps=steps, seeds=seeds, every=steps
    )
    return cj.auc(cj.exact(policy, model, DRAWS, include=())), best_schedules(model)


def report(smoke: bool) -> str:
    """Return what was measured, as Markdown."""
    number, steps, seeds = (3, 5, 2) if smoke else (200, 300, 64)
    lines = [
        "## Learning: open-loop schedules against exhaustive search",
        "",
        f"{number} random models of {LATENTS} latents, {STRATEGIES} strategies, {DRAWS} draws; the best of "
        f"the {LATENTS**DRAWS:,} fixed plans by trying all; training from {seeds} random starts a model, "
        f"{steps} updates.",
        "",
        "| Dirichlet | trained AUC | best AUC | mean shortfall | largest | models within 1e-4 |",
        "|---|---|---|---|---|---|",
    ]
    for concentration in CONCENTRATIONS:
        reached, best = measured(number, concentration, steps, seeds)
        short = best - reached
        lines.append(
            f"| {concentration} | {reached.mean():.5f} | {best.mean():.5f} | {short.mean():.1e} | "
            f"{short.max():.1e} | {(short < 1e-4).mean():.1%} |"
        )
    return "\n".join(lines)
