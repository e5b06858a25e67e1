"""The optimal adaptive policy: backward dynamic program over the subset lattice."""

import jax
import numpy as np

import coverjax as cj
from benchmarks.harness import Row, against, arithmetic


def numpy_optimal(table: np.ndarray, draws: int) -> np.ndarray:
    """Coverage of the optimal policy of single-label generators [inputs, latents, strategies] at each draw.

    Backward: V_t(S) = max_z sum_s W[z, s] (new(s, S) weight + V_{t+1}(S + s)) + (1 - sum_s W[z, s])
    V_{t+1}(S); forward: the law of the seen set under the best z. Vectorised over inputs and subsets.
    """
    inputs, _, strategies = table.shape
    subsets = np.arange(1 << strategies)
    value = np.zeros((inputs, len(subsets)))
    rest = 1.0 - table.sum(axis=2)
    best = np.empty((draws, inputs, len(subsets)), dtype=np.int64)
    for t in range(draws - 1, -1, -1):
        total = rest[:, :, None] * value[:, None, :]
        for s in range(strategies):
            new = ((subsets >> s) & 1) == 0
            after = value[:, subsets | (1 << s)] + new * (draws - t) / (draws * strategies)
            total += table[:, :, s, None] * after[:, None, :]
        best[t] = total.argmax(axis=1)
        value = total.max(axis=1)
    sizes = np.bitwise_count(subsets)
    law = np.zeros((inputs, len(subsets)))
    law[:, 0] = 1.0
    rows = np.arange(inputs)[:, None]
    coverage = np.empty((inputs, draws))
    for t in range(draws):
        following = law * rest[rows, best[t]]
        for s in range(strategies):
            mass = law * table[rows, best[t], s]
            low, high = subsets[(subsets >> s) & 1 == 0], subsets[(subsets >> s) & 1 == 1]
            following[:, high] += mass[:, high] + mass[:, low]
        law = following
        coverage[:, t] = law @ sizes / strategies
    return coverage


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
            "NumPy, backward and forward programs vectorised over inputs",
            lambda: numpy_optimal(table, 32),
            target=0 if smoke else 10,
            pairs=3,
            # Backward: every draw, seen set, latent and strategy; forward: without the latents.
            floor=arithmetic(4.0 * inputs * 32 * 2**8 * 8 * (8 + 1)),
            difference=lambda ours, theirs: float(np.abs(ours.coverage - theirs).max()),
        )
    ]
