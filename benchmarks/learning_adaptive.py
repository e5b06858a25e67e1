"""How much of the gap between greedy and optimal exploration can be learned?

Random router-generators: 8 latents, 8 strategies, 16 draws, rows of W from a symmetric Dirichlet law, the
router from a flat one. GreedyLatent and OptimalLatent bound what there is to learn: greedy is within 1.3 %.

    across models   one network, trained on thousands of models, meets 200 models that it never saw. It is
                    given W, the seen set and the time left: no expected gain, no look ahead.
    per model       a table of logits over (draw, seen set) for each of the 200 models, climbed along the
                    exact derivative of the AUC through the dynamic program: no knowledge of the optimal plan.

The network learns by gradient="regret": on its own simulated runs, what every choice loses against the
optimal plan OF THE TRAINING MODELS. That is imitation of OptimalLatent, weighted by what a mistake costs.
"""

import dataclasses
import pathlib
import time
from typing import Any

import jax
import numpy as np

import coverjax as cj
from coverjax.inference.student import student_quantile

LATENTS = STRATEGIES = 8
DRAWS = 16
CONCENTRATIONS = (0.1, 0.3)

LEARNED = pathlib.Path(__file__).with_name("learned_policy.npz")
"""Where the network is kept: `coverjax exact --policy benchmarks/learned_policy.npz` takes it."""


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is trained on, for how long, and how many held-out models there are of each concentration."""

    models: int = 4_000
    steps: int = 1_000
    batch: int = 32
    width: int = 16
    table_steps: int = 160
    held_out: int = 200


SMOKE = Size(models=8, steps=2, batch=2, width=3, table_steps=2, held_out=3)


@dataclasses.dataclass(frozen=True)
class Gap:
    """One policy on the held-out models of one concentration.

    Attributes:
        learned, greedy, optimal: AUC of each model.
        seconds: of training.
    """

    concentration: float
    learned: np.ndarray
    greedy: np.ndarray
    optimal: np.ndarray
    seconds: float

    @property
    def closed(self) -> float:
        """Share of the mean gap that is closed."""
        return float((self.learned - self.greedy).mean() / (self.optimal - self.greedy).mean())

    @property
    def half_width(self) -> float:
        """Half the width of its 95 % t-interval over models (ratio of means, linearised)."""
        count = len(self.greedy)
        gap = self.optimal - self.greedy
        residual = (self.learned - self.greedy) - self.closed * gap
        return float(student_quantile(0.95, count - 1) * residual.std(ddof=1) / count**0.5 / gap.mean())


def random_models(seed: int, number: int, concentration: float) -> cj.RouterGenerator:
    """Draw router-generators."""
    rng = np.random.default_rng([seed, round(1_000 * concentration)])
    generator = rng.dirichlet(np.full(STRATEGIES, concentration), size=(number, LATENTS))
    return cj.RouterGenerator(rng.dirichlet(np.ones(LATENTS), size=number), generator)


def key(seed: int) -> jax.Array:
    """Return a JAX key."""
    return jax.random.key(seed)


def training_models(number: int) -> cj.RouterGenerator:
    """Draw the models to train on, half of them of each concentration."""
    parts = [random_models(1, number // 2, concentration) for concentration in CONCENTRATIONS]
    return cj.RouterGenerator(
        np.concatenate([part.router for part in parts]), np.concatenate([part.generator for part in parts])
    )


def held_out_models(number: int, concentration: float) -> cj.RouterGenerator:
    """Draw the models that nothing was trained or chosen on."""
    return random_models(2, number, concentration)


def train_across(size: Size, **settings: Any) -> tuple[Any, float]:
    """Train one network on many models; return it with the seconds it took."""
    start = time.perf_counter()
    policy, _ = cj.train_policy(
        key(0), cj.LearnedLatent, training_models(size.models), DRAWS,
        gradient="regret", trials=4, steps=size.steps, batch=size.batch, width=size.width,
        learning_rate=0.01, warmup=20, held_out=0.02 if size.models > 100 else 0.25,
        every=max(1, size.steps // 15), **settings,
    )  # fmt: skip
    return policy, time.perf_counter() - start


def train_each(model: cj.RouterGenerator, size: Size) -> tuple[Any, float]:
    """Train a table for every model; return them with the seconds it took."""
    start = time.perf_counter()
    policy, _ = cj.train_policy(
        key(0), cj.LearnedLatent, model, DRAWS,
        network="table", gradient="exact", steps=size.table_steps, every=size.table_steps,
    )  # fmt: skip
    return policy, time.perf_counter() - start


def area(policy: Any, model: cj.RouterGenerator) -> np.ndarray:
    """Return the exact AUC on every model."""
    return cj.auc(cj.exact(policy, model, DRAWS, include=()))


def gaps(size: Size, across: Any, seconds: float) -> dict[str, list[Gap]]:
    """Measure a network trained across models in so many seconds, and tables trained on each model."""
    found: dict[str, list[Gap]] = {"across models": [], "per model": []}
    for concentration in CONCENTRATIONS:
        model = held_out_models(size.held_out, concentration)
        bounds = area(cj.GreedyLatent(), model), area(cj.OptimalLatent(), model)
        table, spent = train_each(model, size)
        for name, learned, taken in (("across models", across, seconds), ("per model", table, spent)):
            found[name].append(Gap(concentration, area(learned, model), *bounds, taken))
    return found


def report(smoke: bool, keep: bool = False) -> str:
    """Return what was measured, as Markdown; `keep` measures the network in LEARNED, and trains none."""
    size = SMOKE if smoke else Size()
    lines = [
        "## Learning: adaptive policies between greedy and optimal",
        "",
        f"{size.held_out} held-out random models of {LATENTS} latents and {STRATEGIES} strategies for each "
        f"concentration, {DRAWS} draws, exact AUC; 95 % t-intervals over models. *Across models*: one "
        f"network (`SetNetwork`, width {size.width}) trained on {size.models:,} other models by what each "
        "choice loses against THEIR optimal plan; it is given W, the seen set and the time left, no expected "
        "gain. *Per model*: a table of logits over (draw, seen set) for each model, by exact gradients "
        "through the dynamic program, from zero.",
        "",
        "| trained | Dirichlet | greedy | learned | optimal | share of the gap closed | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    across, seconds = (cj.LearnedLatent(LEARNED), float("nan")) if keep else train_across(size)
    if not smoke and not keep:
        across.save(LEARNED)
    for name, found in gaps(size, across, seconds).items():
        for gap in found:
            lines.append(
                f"| {name} | {gap.concentration} | {gap.greedy.mean():.5f} | {gap.learned.mean():.5f} | "
                f"{gap.optimal.mean():.5f} | {gap.closed:.1%} ± {gap.half_width:.1%} | "
                f"{'kept' if np.isnan(gap.seconds) else round(gap.seconds)} |"
            )
    return "\n".join(lines)
