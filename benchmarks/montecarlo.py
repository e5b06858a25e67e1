"""Simulated coverage against drawing in NumPy, label by label and from discovery to discovery."""

import jax
import numpy as np

import coverjax as cj
from benchmarks.harness import Row, against, arithmetic


def drawn_labels(p: np.ndarray, budget: int, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Mean distinct after each draw by drawing every label, vectorised over trials; [inputs, budget]."""
    inputs, strategies = p.shape
    out = np.empty((inputs, budget))
    rows = np.arange(trials)[:, None]
    for i in range(inputs):
        labels = np.searchsorted(np.cumsum(p[i])[:-1], rng.random((trials, budget)))
        first = np.full((trials, strategies), budget, dtype=np.int64)
        np.minimum.at(first, (rows, labels), np.arange(budget)[None, :])
        new = np.bincount(first.ravel(), minlength=budget + 1)[:budget]
        out[i] = np.cumsum(new) / trials
    return out


def numpy_jumps(p: np.ndarray, budget: int, trials: int, rng: np.random.Generator) -> np.ndarray:
    """The same from discovery to discovery: exponential order, geometric waits; vectorised over trials."""
    inputs, strategies = p.shape
    out = np.empty((inputs, budget))
    for i in range(inputs):
        order = np.argsort(rng.exponential(size=(trials, strategies)) / p[i], axis=1)
        ordered = p[i][order]
        unseen = np.minimum(np.cumsum(ordered[:, ::-1], axis=1)[:, ::-1], 1.0)
        when = np.cumsum(rng.geometric(unseen), axis=1)
        new = np.bincount(np.minimum(when, budget + 1).ravel(), minlength=budget + 2)[1 : budget + 1]
        out[i] = np.cumsum(new) / trials
    return out


def _gap(ours: cj.Curves, theirs: np.ndarray) -> float:
    """Largest difference of mean curves over inputs: two Monte Carlo errors, no rounding."""
    return float(np.abs(ours.distinct[: len(theirs)].mean(axis=0) - theirs.mean(axis=0)).max())


def rows(smoke: bool) -> list[Row]:
    """Return the rows for simulation."""
    inputs, trials, long = (8, 64, 2_000) if smoke else (256, 256, 100_000)
    law = cj.families.zipf(inputs, 64, 1.0)
    p = law.marginals()
    key = jax.random.key(0)
    rng = np.random.default_rng(0)
    part = max(1, inputs // 64)
    size = f"{inputs} inputs x 64 Zipf strategies, {trials} trials"

    # A word a draw; for jumps two of 32 bits for each strategy: its place in the order, its waiting time.
    drawn = arithmetic(0.0, 8.0 * inputs * 256, words=inputs * trials * 256.0)
    jumped = arithmetic(0.0, 8.0 * inputs * long, words=inputs * trials * 64.0)

    def jump(budget: int) -> cj.Curves:
        return cj.simulate(key, cj.IID(), law, budget, trials, include=(), engine="jump chain")

    return [
        against(
            f"simulated coverage, {size}, budget {long:,} (jump chain)",
            lambda: jump(long),
            f"NumPy drawing every label ({part} inputs, scaled)",
            lambda: drawn_labels(p[:part], long, trials, rng),
            target=0 if smoke else 300,
            pairs=3,
            scale=inputs / part,
            floor=jumped,
            difference=_gap,
        ),
        against(
            f"simulated coverage, {size}, budget 256 (scan)",
            lambda: cj.simulate(key, cj.IID(), law, 256, trials, include=(), engine="scan"),
            "NumPy drawing every label",
            lambda: drawn_labels(p, 256, trials, rng),
            target=0 if smoke else 1.5,
            floor=drawn,
            difference=_gap,
        ),
        against(
            f"simulated coverage, {size}, budget {long:,} (jump chain)",
            lambda: jump(long),
            "NumPy jump chain",
            lambda: numpy_jumps(p, long, trials, rng),
            target=0 if smoke else 2,
            floor=jumped,
            difference=_gap,
        ),
    ]
