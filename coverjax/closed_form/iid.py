"""Independent draws from a known law: distinct strategies and novelty at every budget.

With q_s = P(s in match set): E|S_k| = sum_s 1 - (1 - q_s)^k and N_count(i) = sum_s q_s (1 - q_s)^(i-1), for
single labels and for sets alike. Exact up to rounding, with RELATIVE accuracy about 1e-14 for tiny q
too: everything is a sum of positive terms.

All consecutive budgets come from two short tables of powers: with i - 1 = G a + c,

    N_count(i) = sum_s [q_s (1 - q_s)^(G a)] [(1 - q_s)^c],

a product of two small matrices instead of inputs x budgets x strategies exponentials; E|S_k| is its
running total, in two levels.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from coverjax.closed_form.tiles import over_tiles, tile_size
from coverjax.foundation import checks
from coverjax.foundation.numerics import hit, log1p, miss
from coverjax.foundation.precision import float64_kernel

_DENSE = 8
"""A grid of budgets that holds one of every so many is cut from the consecutive curve: an entry of the
matrix product costs about an eighth of an exponential."""


# -- kernels on one input, in the caller's precision, safe under grad ------------------------------


@partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3))
def _power_table(
    q: Float[jax.Array, " strategies"], step: int, count: int, offset: int = 0
) -> Float[jax.Array, "powers strategies"]:
    """Return (1 - q)^(offset + step j) for j = 0..count-1, with 0^0 = 1.

    By doubling, with log2(count) exponentials: an entry is a product of few rounded exponentials, so its
    relative error is about 1e-16 (|log of it| + 2 log2(count)); repeated multiplication would lose `count`
    roundings of 1 - q. The derivative is such a table too, right at q = 0 and q = 1 to every order.
    """
    log_miss = log1p(-q)
    table = (jnp.exp(offset * log_miss) if offset else jnp.ones_like(q))[None]
    while (have := len(table)) < count:
        table = jnp.concatenate([table, table * jnp.exp(have * step * log_miss)[None]])
    return table[:count]


@_power_table.defjvp
def _power_table_jvp(
    step: int, count: int, offset: int, primals: tuple, tangents: tuple
) -> tuple[jax.Array, jax.Array]:
    (q,), (dq,) = primals, tangents
    exponents = jnp.arange(offset, offset + step * count, step, dtype=q.dtype)[:, None]
    if offset:
        lower = _power_table(q, step, count, offset - 1)
    else:
        lower = jnp.concatenate([jnp.zeros_like(q)[None], _power_table(q, step, count - 1, step - 1)])[:count]
    return _power_table(q, step, count, offset), -exponents * lower * dq[None]


def _block(draws: int) -> int:
    """Length G of the inner table: the largest power of two up to sqrt(draws)."""
    return 1 << ((max(draws, 1).bit_length() - 1) // 2)


def power_sums(
    q: Float[jax.Array, " strategies"], weights: Float[jax.Array, " strategies"], powers: int
) -> Float[jax.Array, " powers"]:
    """Return sum_s w_s (1 - q_s)^j for j = 0..powers-1, with 0^0 = 1; linear in the weights."""
    inner = _block(powers)
    left = weights[None] * _power_table(q, inner, -(-powers // inner))
    right = _power_table(q, 1, inner)
    # Fused into the product, the tables would be computed again for each of its entries. (Two barriers:
    # a joint one would tie the known table to the tangents that `left` carries under grad.)
    left, right = jax.lax.optimization_barrier(left), jax.lax.optimization_barrier(right)
    return (left @ right.T).reshape(-1)[:powers]


def running_totals(values: Float[jax.Array, " draws"]) -> Float[jax.Array, " draws"]:
    """Return cumulative sums in two levels: about 2 sqrt(draws) roundings instead of `draws`."""
    draws = values.shape[0]
    inner = _block(draws)
    table = jnp.pad(values, (0, -draws % inner)).reshape(-1, inner)
    within = table @ jnp.triu(jnp.ones((inner, inner), values.dtype))
    before = jnp.cumsum(within[:, -1]) - within[:, -1]
    return (within + before[:, None]).reshape(-1)[:draws]


def novelty_curve(q: Float[jax.Array, " strategies"], draws: int) -> Float[jax.Array, " draws"]:
    """Return N_count(i) = sum_s q_s (1 - q_s)^(i-1) for i = 1..draws; q = 0 masks a strategy."""
    return power_sums(q, q, draws)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def distinct_curve(q: Float[jax.Array, " strategies"], draws: int) -> Float[jax.Array, " draws"]:
    """Return E|S_k| = sum_s 1 - (1 - q_s)^k for k = 1..draws; q = 0 masks a strategy.

    Its derivative is sum_s k (1 - q_s)^(k-1) dq_s, without the cancellation of a total of N_count's.
    """
    return running_totals(novelty_curve(q, draws))


@distinct_curve.defjvp
def _distinct_curve_jvp(draws: int, primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    (q,), (dq,) = primals, tangents
    k = jnp.arange(1, draws + 1, dtype=q.dtype)
    return distinct_curve(q, draws), k * power_sums(q, dq, draws)


def mean_hit(
    q: Float[jax.Array, " strategies"],
    before: Float[jax.Array, " steps"],
    odd: Float[jax.Array, " steps"],
    draws: Float[jax.Array, ""],
) -> Float[jax.Array, " strategies"]:
    """Return the mean over k = 1..draws of 1 - (1 - q)^k, in log2(draws) steps (`doubling_steps`).

    With A_n = sum of the first n terms, A_{2n} = A_n + (1 - q)^n A_n + n (1 - (1 - q)^n): positive terms
    only, where the closed form 1 - (1 - q)(1 - (1 - q)^K) / (K q) loses all digits of a tiny q.
    """

    def step(carry: tuple, digit: tuple) -> tuple:
        total, met, missed = carry
        n, bit = digit
        longer = 2.0 * n + bit
        met_next, missed_next = hit(q, longer), miss(q, longer)
        total = total + missed * total + n * met + bit * met_next
        return (total, met_next, missed_next), None

    start = (jnp.zeros_like(q), jnp.zeros_like(q), jnp.ones_like(q))
    (total, _, _), _ = jax.lax.scan(step, start, (before, odd))
    return total / draws


def doubling_steps(draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the binary digits of `draws` for `mean_hit`: prefixes, digits and `draws` itself, float64.

    Leading zeros fill up to a multiple of 8 digits, so that budgets share programs.
    """
    digits = -(-draws.bit_length() // 8) * 8
    odd = np.array([(draws >> (digits - 1 - j)) & 1 for j in range(digits)], dtype=np.float64)
    before = np.array([draws >> (digits - j) for j in range(digits)], dtype=np.float64)
    return before, odd, np.asarray(draws, dtype=np.float64)


# -- whole arrays in float64 -----------------------------------------------------------------------


@float64_kernel(static=("draws", "distinct"))
def _consecutive(
    q: Float[jax.Array, "inputs strategies"], draws: int, distinct: bool
) -> tuple[Float[jax.Array, "inputs draws"], ...]:
    novelty = jax.vmap(lambda row: novelty_curve(row, draws))(q)
    return (jax.vmap(running_totals)(novelty), novelty) if distinct else (novelty,)


@float64_kernel(static=("distinct",))
def _at_budgets(
    q: Float[jax.Array, "inputs strategies"], budgets: Float[jax.Array, " budgets"], distinct: bool
) -> tuple[Float[jax.Array, "inputs budgets"], ...]:
    probability, draws = q[:, None, :], budgets[None, :, None]
    novelty = jnp.sum(probability * miss(probability, draws - 1.0), axis=-1)
    return (jnp.sum(hit(probability, draws), axis=-1), novelty) if distinct else (novelty,)


@float64_kernel
def _mean_hits(
    q: Float[jax.Array, "inputs strategies"],
    before: Float[jax.Array, " steps"],
    odd: Float[jax.Array, " steps"],
    draws: Float[jax.Array, ""],
) -> tuple[Float[jax.Array, "inputs strategies"]]:
    return (jax.vmap(mean_hit, in_axes=(0, None, None, None))(q, before, odd, draws),)


def iid_curves(
    q: Float[np.ndarray, "inputs strategies"], budgets: "int | np.ndarray"
) -> tuple[Float[np.ndarray, "inputs budgets"], Float[np.ndarray, "inputs budgets"]]:
    """Return E|S_k| and N_count(k) of independent draws at each budget.

    Args:
        q: probability that one draw matches a strategy; 0 masks one.
        budgets: K for 1..K, or increasing numbers of draws. Between log-spaced ones nothing is computed.

    Returns:
        expected number of distinct strategies, and expected number of new strategies in draw k. Exact;
        relative error about 1e-14. Cost: inputs x K x strategies multiplications for consecutive
        budgets, as many exponentials otherwise; memory near that of the result.
    """
    distinct, novelty = _curves(np.asarray(q, np.float64), checks.budgets(budgets), distinct=True)
    return distinct, novelty


def iid_coverage(
    q: Float[np.ndarray, "inputs strategies"], budgets: "int | np.ndarray"
) -> Float[np.ndarray, "inputs budgets"]:
    """Return E|S_k| = sum_s 1 - (1 - q_s)^k at each budget (divide by M for the fraction covered)."""
    return iid_curves(q, budgets)[0]


def iid_novelty(
    q: Float[np.ndarray, "inputs strategies"], budgets: "int | np.ndarray"
) -> Float[np.ndarray, "inputs budgets"]:
    """Return N_count(k) = sum_s q_s (1 - q_s)^(k-1) at each budget."""
    return _curves(np.asarray(q, np.float64), checks.budgets(budgets), distinct=False)[0]


def iid_strategy_auc(
    q: Float[np.ndarray, "inputs strategies"], draws: int
) -> Float[np.ndarray, "inputs strategies"]:
    """Return the mean over k = 1..draws of 1 - (1 - q_s)^k for each strategy, 0 where q = 0.

    Closed: log2(draws) steps whatever the budget. Relative error about 1e-14.
    """
    q = np.asarray(q, np.float64)
    steps = doubling_steps(int(draws))
    tile = tile_size(len(q), 8.0 * 6 * q.shape[1])
    return over_tiles(lambda rows: _mean_hits(rows, *steps), (q,), tile)[0]


def _curves(q: np.ndarray, budgets: np.ndarray, distinct: bool) -> tuple[np.ndarray, ...]:
    strategies = q.shape[1]
    last = int(budgets[-1])
    if last > _DENSE * len(budgets):
        tile = tile_size(len(q), 8.0 * len(budgets) * (strategies + 2))
        points = budgets.astype(np.float64)
        return over_tiles(lambda rows: _at_budgets(rows, points, distinct=distinct), (q,), tile)
    draws = _rounded_draws(last)
    inner = _block(draws)
    tile = tile_size(len(q), 8.0 * (2 * strategies * (inner + draws // inner) + 3 * draws))
    whole = last == len(budgets)
    columns: slice | np.ndarray = slice(last) if whole else budgets - 1

    def kernel(rows: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(curve[:, columns] for curve in _consecutive(rows, draws=draws, distinct=distinct))

    return over_tiles(kernel, (q,), tile)


def _rounded_draws(draws: int) -> int:
    """Round a budget up by at most an eighth, so that near budgets share a program."""
    unit = 1 << max(0, draws.bit_length() - 4)
    return -(-draws // unit) * unit
