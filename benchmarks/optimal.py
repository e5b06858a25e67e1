"""The optimal adaptive policy: backward dynamic program over the subset lattice."""

import jax
import numpy as np

import coverjax as cj
from benchmarks.harness import Row, against


def numpy_optimal(table: np.ndarray, draws: int) -> np.ndarray:
    """AUC of the optimal policy of single-label generators [inputs, latents, strategies] at once.

    V_t(S) = max_z sum_s W[z, s] (new(s, S) weight + V_{t+1}(S + s)) + (1 - sum_s W[z, s]) V_{t+1}(S).
    """
    inputs, _, strategies = table.shape
    subsets = np.arange(1 << strategies)
    value = np.zeros((inputs, len(subsets)))
    rest = 1.0 - table.sum(axis=2)
    for t in range(draws - 1, -1, -1):
        total = rest[:, :, None] * value[:, None, :]
        for s in range(strategies):
            new = ((subsets >> s) & 1) == 0
            after = value[:, subsets | (1 << s)] + new * (draws - t) / (draws * strategies)
            total += table[:, :, s, None] * after[:, None, :]
        value = total.max(axis=1)
    return value[:, 0]


def rows(smoke: bool) -> list[Row]:
    """Return the row for the optimal policy."""
    inputs = 20 if smoke else 1_000
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.full(8, 0.3), size=(inputs, 8))
    model = cj.RouterGenerator(np.full((inputs, 8), 1 / 8), table)
    jax.block_until_ready(jax.numpy.zeros(1))
    return [
        against(
            f"optimal adaptive policy and its curves, {inputs:,} inputs, 8 strategies, 8 latents, 32 draws",
            lambda: cj.exact(cj.OptimalLatent(), model, 32, include=()),
            "NumPy dynamic program vectorised over inputs (its value only)",
            lambda: numpy_optimal(table, 32),
            target=0 if smoke else 10,
            pairs=3,
            difference=lambda ours, theirs: float(np.abs(cj.auc(ours) - theirs).max()),
        )
    ]
