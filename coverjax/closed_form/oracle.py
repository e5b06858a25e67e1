"""Exact curves of the oracles, and of strategies drawn without replacement."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.closed_form.orders import Clock, clocks, router_order
from coverjax.closed_form.tiles import over_tiles, tile_size
from coverjax.foundation import lattice
from coverjax.foundation.precision import float64_kernel
from coverjax.policy.compact import compact, lattice_bits, reachable
from coverjax.policy.stage import Actions


class Certain(NamedTuple):
    """A run whose number of distinct strategies is no random variable.

    Attributes:
        distinct: |S_k| [inputs, budgets].
        law: P(|S_k| = m), zeros and ones [inputs, budgets, M + 1].
        new: number of new strategies in draw k [inputs, budgets].
    """

    distinct: Float[np.ndarray, "inputs budgets"]
    law: Float[np.ndarray, "inputs budgets counts"]
    new: Float[np.ndarray, "inputs budgets"]


def one_a_draw(count: Int[np.ndarray, " inputs"], budgets: Int[np.ndarray, " budgets"], size: int) -> Certain:
    """Return the curves of one new strategy a draw until `count` are found: |S_k| = min(k, count)."""
    found = np.minimum(budgets[None, :], count[:, None])
    law = (found[..., None] == np.arange(size + 1)).astype(np.float64)
    new = (budgets[None, :] <= count[:, None]).astype(np.float64)
    return Certain(found.astype(np.float64), law, new)


def oracle_strategy_auc(
    declared: Bool[np.ndarray, "inputs strategies"], draws: int
) -> Float[np.ndarray, "inputs strategies"]:
    """Return the mean over k = 1..draws of min(k, M) / M: in random order all strategies are alike."""
    count = declared.sum(axis=1)
    whole = np.minimum(draws, count).astype(np.float64)
    mean = (whole * (whole + 1) / 2 + np.maximum(draws - count, 0) * count) / (draws * np.maximum(count, 1))
    return np.where(declared, mean[:, None], 0.0)


# -- strategies without replacement in proportion to q ---------------------------------------------


def no_repeat_strategy_auc(
    q: Float[np.ndarray, "inputs strategies"], draws: int
) -> Float[np.ndarray, "inputs strategies"]:
    """Return the mean over k = 1..draws of P(strategy among the first k), drawn in proportion to q.

    The rank of s is 1 + the number of strategies whose exponential clock rings before its own. When all
    positive strategies are drawn within `draws`, only its mean matters, 1 + sum of q_t / (q_s + q_t);
    otherwise its law up to `draws` does, by an integral over clock times (`orders`). Cost per input:
    strategies^2, or some 300 x strategies^2 x draws. Exact, absolute error about 1e-15.
    """
    found = np.zeros(q.shape)
    done = (q > 0).sum(axis=1) <= draws
    if done.any():
        tile = tile_size(int(done.sum()), 8.0 * q.shape[1] ** 2)
        found[done] = over_tiles(lambda rows: _by_mean_rank(rows, np.float64(draws)), (q[done],), tile)[0]
    if not done.all():
        some = q[~done]
        tile = tile_size(len(some), 8.0 * 3 * max(4096, q.shape[1]) * (draws + 1))
        found[~done] = over_tiles(lambda *rows: _by_rank_law(*rows, draws=draws), clocks(some), tile)[0]
    return found


def rank_work(q: Float[np.ndarray, "inputs strategies"], draws: int) -> float:
    """Return about how many multiplications `no_repeat_strategy_auc` does."""
    short = (q > 0).sum(axis=1) > draws
    return q.shape[1] ** 2 * float(len(q) + 320.0 * 3 * draws * short.sum())


@float64_kernel
def _by_mean_rank(q: Float[jax.Array, "inputs strategies"], draws: Float[jax.Array, ""]) -> tuple[jax.Array]:
    both = q[:, :, None] + q[:, None, :]
    before = jnp.where(both > 0, q[:, None, :] / jnp.where(both > 0, both, 1.0), 0.0)
    others = before.sum(axis=2) - jnp.where(q > 0, 0.5, 0.0)
    return (jnp.where(q > 0, (draws - others) / draws, 0.0),)


@float64_kernel(static=("draws",))
def _by_rank_law(
    q: Float[jax.Array, "inputs strategies"],
    times: Float[jax.Array, "inputs nodes"],
    weights: Float[jax.Array, "inputs nodes"],
    draws: int,
) -> tuple[jax.Array]:
    others = 1.0 - jnp.eye(q.shape[1])

    def one(row: Clock) -> jax.Array:
        unseen, _ = router_order(others, others, row, draws)
        return jnp.where(row.rates > 0, 1.0 - unseen[1:].mean(axis=0), 0.0)

    return (jax.lax.map(one, Clock(q, times, weights)),)


# -- the envelope ----------------------------------------------------------------------------------


def envelope(
    actions: Actions, budgets: Int[np.ndarray, " budgets"]
) -> tuple[Float[np.ndarray, "inputs budgets"], Bool[np.ndarray, " inputs"]]:
    """Return the largest number of strategies that k possible outcomes cover, and where that is exact.

    Exact for single labels and where at most 16 strategies can occur (all unions of k match sets are
    followed); elsewhere greedy, which covers at least 1 - (1 - 1/k)^k of the maximum.

    Args:
        actions: the base law as the only action.
        budgets: increasing numbers of draws.
    """
    live = reachable(actions).sum(axis=1)
    if actions.matches is None:
        return np.minimum(budgets[None, :], live[:, None]).astype(np.float64), np.ones(len(live), bool)
    exact = live <= lattice.LARGEST
    found = np.zeros((len(live), len(budgets)))
    for index in range(len(live)):
        one = _take(actions, index)
        steps = _exact_steps(one) if exact[index] else _greedy_steps(one)
        found[index] = steps[np.minimum(budgets, len(steps)) - 1]
    return found, exact


def _take(actions: Actions, index: int) -> Actions:
    rows = slice(index, index + 1)
    matches = actions.matches
    assert matches is not None
    assert actions.rows is not None
    return Actions(
        actions.rows[rows],
        matches[rows] if matches.ndim == 3 else matches,
        actions.declared[rows],
        actions.number,
    )


def _exact_steps(actions: Actions) -> np.ndarray:
    """Largest union of k atoms, k = 1, 2, ... until it stops growing, over all unions on the lattice."""
    bits = lattice_bits(actions)
    reduced = compact(actions, bits)
    assert reduced.masks is not None
    atoms = reduced.masks[0][reduced.rows[0, 0] > 0]
    sizes = lattice.sizes(bits)
    unions = np.zeros(1, np.int64)
    best: list[int] = []
    while not best or len(best) == 1 or best[-1] > best[-2]:
        unions = _without_subsets(np.unique(unions[:, None] | np.append(atoms, 0)[None, :]), bits)
        best.append(int(sizes[unions].max()))
    return np.array(best, dtype=np.float64)


def _without_subsets(unions: np.ndarray, bits: int) -> np.ndarray:
    """Drop unions that another one contains: they cannot lead to more."""
    there = np.zeros(1 << bits, np.int64)
    there[unions] = 1
    above = np.zeros(1 << bits, np.int64)  # number of unions that contain a set, itself included
    above += there
    for element in range(bits):
        pair = above.reshape(-1, 2, 1 << element)
        pair[:, 0] += pair[:, 1]
    return unions[above[unions] == 1]


def _greedy_steps(actions: Actions) -> np.ndarray:
    """Union of atoms taken greedily, k = 1, 2, ... until nothing is added."""
    assert actions.matches is not None
    assert actions.rows is not None
    matches = actions.matches[0] if actions.matches.ndim == 3 else actions.matches
    sets = matches[actions.rows[0, 0] > 0] & actions.declared[0]
    left = np.ones(sets.shape[1], bool)
    steps: list[float] = []
    while True:
        gains = (sets & left).sum(axis=1)
        best = int(gains.argmax()) if len(gains) else 0
        if len(gains) == 0 or gains[best] == 0:
            return np.array(steps or [0.0])
        steps.append((steps[-1] if steps else 0.0) + float(gains[best]))
        left &= ~sets[best]
