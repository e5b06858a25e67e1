"""Does coverage as the reward keep rare correct strategies alive? A sampler trained by policy gradients.

A categorical sampler over 32 strategies, its logits the parameters; 4 strategies are correct, and rare at
first. Three rewards, all with a leave-one-out baseline and the same optimiser:

    plain        1 for a correct sample
    pass@8       the gradient of P(at least one of 8 samples is correct)
    coverage@8   the gradient of C(8), the fraction of the correct strategies among 8 samples
"""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

import coverjax as cj
from coverjax.inference.student import student_quantile

STRATEGIES, CORRECT, SAMPLES, GROUPS, K = 32, 4, 16, 8, 8
FIRST = np.array([0.02, 0.01, 0.005, 0.0025])
"""Probability of the correct strategies before training; the wrong ones share the rest by Zipf's law."""

REWARDS = ("plain", "pass@8", "coverage@8")
RATE = 0.05


@dataclasses.dataclass(frozen=True)
class Run:
    """Of one reward, [seeds, steps + 1].

    Attributes:
        coverage: C(8) of the correct strategies, of the sampler itself (no sampling error).
        passed: pass@1, the probability that a sample is correct.
    """

    coverage: np.ndarray
    passed: np.ndarray


def first_logits() -> np.ndarray:
    """Return the logits before training."""
    wrong = 1.0 / np.arange(1, STRATEGIES - CORRECT + 1)
    return np.log(np.concatenate([FIRST, (1.0 - FIRST.sum()) * wrong / wrong.sum()])).astype(np.float32)


def advantages(reward: str, samples: jax.Array) -> jax.Array:
    """Return the weight of every sample's gradient, [groups, samples]."""
    found = samples[..., None] == jnp.arange(CORRECT)
    if reward == "coverage@8":
        return cj.coverage_advantages(found, K, baseline="loo")
    right = found.any(axis=-1)
    if reward == "pass@8":
        return cj.coverage_advantages(right[..., None], K, baseline="loo")
    plain = right.astype(jnp.float32)
    others = (plain.sum(axis=-1, keepdims=True) - plain) / (SAMPLES - 1)
    return (plain - others) / SAMPLES


@partial(jax.jit, static_argnames=("reward", "steps"))
def _train(keys: jax.Array, reward: str, steps: int) -> jax.Array:
    """Return the probabilities of the correct strategies along training, [seeds, steps + 1, correct]."""
    tool = optax.adam(RATE)

    def one(key: jax.Array) -> jax.Array:
        logits = jnp.asarray(first_logits())

        def update(carry: tuple, number: jax.Array) -> tuple[tuple, jax.Array]:
            logits, state = carry
            draw = jax.random.fold_in(key, number)
            samples = jax.random.categorical(draw, logits, shape=(GROUPS, SAMPLES))
            weight = advantages(reward, samples)

            def surrogate(logits: jax.Array) -> jax.Array:
                return -jnp.sum(weight * jax.nn.log_softmax(logits)[samples]) / GROUPS

            change, state = tool.update(jax.grad(surrogate)(logits), state, logits)
            return (logits + change, state), jax.nn.softmax(logits)[:CORRECT]

        numbers = jnp.arange(steps, dtype=jnp.int32)
        (logits, _), seen = jax.lax.scan(update, (logits, tool.init(logits)), numbers)
        return jnp.concatenate([seen, jax.nn.softmax(logits)[None, :CORRECT]])

    return jax.vmap(one)(keys)


def train(reward: str, seeds: int, steps: int) -> Run:
    """Train from `seeds` different random streams."""
    keys = jax.random.split(jax.random.key(0), seeds)
    p = np.asarray(_train(keys, reward, steps), np.float64)
    return Run(coverage=(1.0 - (1.0 - p) ** K).mean(axis=-1), passed=p.sum(axis=-1))


def report(smoke: bool) -> str:
    """Return what was measured, as Markdown."""
    seeds, steps = (2, 4) if smoke else (10, 2_000)
    marks = [0, *(steps * share // 100 for share in (5, 25, 100))]
    lines = [
        "## Learning: rewards, plain, pass@8, coverage@8",
        "",
        f"A categorical sampler over {STRATEGIES} strategies; {CORRECT} are correct, with probabilities "
        f"{', '.join(f'{p:g}' for p in FIRST)} before training. {GROUPS} groups of {SAMPLES} samples an "
        f"update, Adam at {RATE:g}, leave-one-out baselines; {seeds} seeds, mean ± half a 95 % t-interval, "
        f"both numbers exact from the sampler's probabilities. The most that C({K}) can be is "
        f"{1 - (1 - 1 / CORRECT) ** K:.3f}, with all four alike.",
        "",
        "| reward | updates | C(8) of the correct strategies | pass@1 |",
        "|---|---|---|---|",
    ]
    for reward in REWARDS:
        run = train(reward, seeds, steps)
        for step in marks:
            told = [_told(values[:, step]) for values in (run.coverage, run.passed)]
            lines.append(f"| {reward} | {step:,} | {told[0]} | {told[1]} |")
    return "\n".join(lines)


def _told(values: np.ndarray) -> str:
    quantile = student_quantile(0.95, len(values) - 1)
    return f"{values.mean():.3f} ± {quantile * values.std(ddof=1) / len(values) ** 0.5:.3f}"
