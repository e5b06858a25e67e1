"""Full coverage of independent single-label draws, any number of strategies: a contour integral.

With strategy probabilities p_s and off-strategy mass p_0 = 1 - sum_s p_s,

    F(k) = P(|S_k| = M) = k! [z^k] e^{p_0 z} prod_s (e^{p_s z} - 1),

read off circles |z| = r. One circle serves a window of budgets, and its radius is the saddle point of
the window's middle, sum_s p_s r / (1 - e^{-p_s r}) + p_0 r = k: there the integrand is a bell around the
positive axis, nothing cancels, and the result keeps RELATIVE accuracy, in the far tail just above
k = M as well (measured: 1e-13). Write w_s = p_s z. Since |sinh w| <= sinh |w|,

    |e^{w} - 1| / (e^{|w|} - 1) <= e^{-|w| (1 - cos theta) / 2}    for w = |w| e^{i theta},

for every law the integrand falls at least like e^{-r (1 - cos theta) / 2}, so that the same few nodes
(`NODES`) suffice on circles of any radius. Three roundings that would grow with r never arise: factors are
taken relative to their value on the axis, e^{z - r} z^{-k} is combined into
e^{-2 r sin^2(theta/2)} e^{-i [r (theta - sin theta) + (k - r) theta]}, and k! r^{-k} e^r is a reciprocal
Poisson probability. Saddle radii lie between j and 2 j, j = k - M, and window widths follow from
that alone: one plan serves all inputs.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from coverjax.closed_form.tiles import over_tiles, tile_size
from coverjax.foundation import checks
from coverjax.foundation.numerics import log_poisson, sin_cos, sine_deficit
from coverjax.foundation.precision import float64_kernel
from coverjax.foundation.shapes import bucket, pad_axis

NODES = 40
"""Nodes on the upper half of a circle; `_angles` spaces them."""

_PER_ROOT, _AT_LEAST = 5.4, 8.0
"""Half the number of nodes around a full circle is 5.4 sqrt(r) + 8: aliases are below 1e-17 of the value."""

_WIDTH = 3.0
"""Half-width of a window in standard deviations sqrt(r / 2): the ends lose e^{4.5}, two digits at most."""

_AT_ONCE = 16
"""Strategies whose factors are computed in one step of the loop."""

_SMALLEST = 1e-300
"""Probabilities below this count as this much: F is below k times that anyway."""


@dataclasses.dataclass(frozen=True)
class Windows:
    """Which circle serves which number of draws beyond M.

    Attributes:
        middles: j = k - M in the middle of each circle's window, float64 [circles].
        reach: largest distance from a middle that any window has, padded up.
        circle, offset: for each j asked for, its circle and its distance from the middle plus `reach`.
    """

    middles: np.ndarray
    reach: int
    circle: np.ndarray
    offset: np.ndarray


def windows(beyond: Int[np.ndarray, " points"]) -> Windows:
    """Cover increasing numbers j >= 0 of draws beyond M with windows; only the circles that are needed."""
    middles: list[int] = []
    first: list[int] = []
    at = 0
    while at < len(beyond):
        low = int(beyond[at])
        middle = _widest_middle(low)
        stop = int(np.searchsorted(beyond, middle + _half_width(middle), side="right"))
        middles.append(max(1, (low + int(beyond[stop - 1])) // 2))
        first.append(at)
        at = stop
    circle = np.repeat(np.arange(len(first)), np.diff([*first, len(beyond)]))
    distance = beyond - np.asarray(middles, np.int64)[circle]
    reach = bucket(int(np.abs(distance).max(initial=0)), smallest=4)
    count = -(-len(middles) // 8) * 8
    padded = np.asarray(middles + [middles[-1]] * (count - len(middles)), dtype=np.float64)
    return Windows(padded, reach, circle, distance + reach)


def _half_width(middle: int) -> int:
    return int(_WIDTH * math.sqrt(middle / 2.0))


def _widest_middle(low: int) -> int:
    """Return the largest middle whose window still reaches down to `low`."""
    middle = low + _half_width(low)
    while middle + 1 - _half_width(middle + 1) <= low:
        middle += 1
    return middle


# -- kernels on one input --------------------------------------------------------------------------


def _saddle_radius(
    p: Float[jax.Array, " strategies"], beyond: Float[jax.Array, " circles"]
) -> Float[jax.Array, " circles"]:
    """Solve sum_s [p_s r / (1 - e^{-p_s r}) - 1] + p_0 r = j by Newton steps from r = 2j.

    The left side is convex with a slope in [1/2, 1], so the steps fall to the root; a radius that is a
    little off costs nothing.
    """
    off = jnp.maximum(1.0 - jnp.sum(p), 0.0)

    def step(_: int, r: jax.Array) -> jax.Array:
        a = p[None] * r[:, None]
        positive = a > 0.0
        fall = jnp.where(positive, -jnp.expm1(-a), 1.0)
        ratio = jnp.where(positive, a / fall, 1.0)
        excess = jnp.sum(ratio - 1.0, axis=1) + off * r
        slope = jnp.sum(p[None] * (1.0 - ratio * (1.0 - fall)) / fall, axis=1) + off
        return jnp.clip(r - (excess - beyond) / jnp.clip(slope, 0.5, 1.0), beyond, 2.0 * beyond)

    return jax.lax.fori_loop(0, 8, step, 2.0 * beyond)


def _angles(
    r: Float[jax.Array, " circles"],
) -> tuple[Float[jax.Array, "circles nodes"], Float[jax.Array, "circles nodes"]]:
    """Return the nodes' angles from 0 upward and their weights in the mean over the circle.

    An odd number of equidistant nodes, by conjugate symmetry only the upper ones; beyond NODES the
    integrand is below 1e-17 of its top.
    """
    half = jnp.ceil(_PER_ROOT * jnp.sqrt(r) + _AT_LEAST)
    around = (2.0 * half + 1.0)[:, None]
    node = jnp.arange(NODES, dtype=r.dtype)[None]
    weight = jnp.where(node == 0.0, 1.0, jnp.where(node <= half[:, None], 2.0, 0.0))
    return jnp.minimum(2.0 * jnp.pi / around * node, jnp.pi), weight / around


def _times(
    left: tuple[jax.Array, jax.Array], right: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    """Multiply complex numbers kept as (real, imaginary): XLA's complex loops do not vectorise."""
    return left[0] * right[0] - left[1] * right[1], left[0] * right[1] + left[1] * right[0]


def _factors(
    p: Float[jax.Array, " some"], r: Float[jax.Array, " circles"], theta: Float[jax.Array, "circles nodes"]
) -> tuple[jax.Array, jax.Array]:
    """Return (1 - e^{-p z}) / (1 - e^{-p r}) at z = r e^{i theta}, [some, circles, nodes]; 1 where p = 0."""
    active = (p > 0.0)[:, None, None]
    a = (jnp.maximum(p, _SMALLEST)[:, None] * r[None])[..., None]
    scale = -1.0 / jnp.expm1(-a)
    real = jnp.expm1(-a * jnp.cos(theta)[None])
    sine, cosine = sin_cos(a * (0.5 * jnp.sin(theta))[None])
    top = 2.0 * (1.0 + real) * sine
    return jnp.where(active, (top * sine - real) * scale, 1.0), jnp.where(active, top * cosine * scale, 0.0)


def _products(
    p: Float[jax.Array, " strategies"],
    r: Float[jax.Array, " circles"],
    theta: Float[jax.Array, "circles nodes"],
) -> tuple[jax.Array, jax.Array]:
    """Multiply the factors of all strategies, a few at a time so that no array is [strategies, nodes]."""
    groups = p.reshape(-1, min(_AT_ONCE, len(p)))

    def step(index: int, product: tuple) -> tuple:
        # Fused into the multiplications, real and imaginary part would each compute all factors.
        real, imaginary = jax.lax.optimization_barrier(_factors(groups[index], r, theta))
        for factor in range(groups.shape[1]):
            product = _times(product, (real[factor], imaginary[factor]))
        return product

    return jax.lax.fori_loop(0, len(groups), step, (jnp.ones_like(theta), jnp.zeros_like(theta)))


def _window_values(
    p: Float[jax.Array, " strategies"], beyond: Float[jax.Array, " circles"], reach: int
) -> Float[jax.Array, "circles offsets"]:
    """Return F(M + j) for j = middle - reach .. middle + reach of each circle (more offsets may follow)."""
    count = jnp.sum(p > 0.0).astype(p.dtype)
    r = _saddle_radius(p, beyond)
    theta, weight = _angles(r)
    middle = count + beyond
    size = weight * jnp.exp(-2.0 * r[:, None] * jnp.sin(0.5 * theta) ** 2)
    phase = -(r[:, None] * sine_deficit(theta) + (middle - r)[:, None] * theta)
    sine, cosine = sin_cos(phase)
    bell = _times(_products(p, r, theta), (size * cosine, size * sine))

    inner = 1 << ((2 * reach + 1).bit_length() // 2)
    outer = -(-(2 * reach + 1) // inner)
    # e^{-i d theta} for d = inner a + b - reach, from two short tables and one product of real matrices.
    coarse = theta[:, None] * (reach - inner * jnp.arange(outer, dtype=p.dtype))[None, :, None]
    fine = theta[:, None] * jnp.arange(inner, dtype=p.dtype)[None, :, None]
    real, imaginary = _times((bell[0][:, None], bell[1][:, None]), sin_cos(coarse)[::-1])
    left = jnp.concatenate([real, imaginary], axis=2)
    right = jnp.concatenate(sin_cos(fine)[::-1], axis=2)
    mean = jnp.einsum("can,cbn->cab", left, right).reshape(len(theta), -1)

    offset = jnp.arange(inner * outer, dtype=p.dtype)[None] - reach
    draws = jnp.maximum(middle[:, None] + offset, 1.0)
    a = jnp.maximum(p, _SMALLEST)[None] * r[:, None]
    on_axis = jnp.sum(jnp.where(p[None] > 0.0, jnp.log(-jnp.expm1(-a)), 0.0), axis=1)
    return mean * jnp.exp(on_axis[:, None] - log_poisson(draws, r[:, None]))


@float64_kernel(static=("reach",))
def _full_values(
    p: Float[jax.Array, "inputs strategies"], beyond: Float[jax.Array, " circles"], reach: int
) -> tuple[Float[jax.Array, "inputs values"]]:
    values = jax.vmap(_window_values, in_axes=(0, None, None))(p, beyond, reach)
    return (values.reshape(len(p), -1),)


# -- whole arrays ----------------------------------------------------------------------------------


def full_coverage(
    p: Float[np.ndarray, "inputs strategies"],
    declared_count: Int[np.ndarray, " inputs"],
    budgets: "int | np.ndarray",
) -> Float[np.ndarray, "inputs budgets"]:
    """Return F(k) = P(|S_k| = M) of independent draws that match at most one strategy each.

    Args:
        p: probability of each declared strategy, 0 elsewhere; what a row lacks to 1 is off-strategy mass.
        declared_count: M of each input. Where fewer strategies have p > 0, F = 0.
        budgets: K for 1..K, or increasing numbers of draws.

    Returns:
        F, NaN where M = 0. Exact: relative error below 1e-12 (below 1e-13 as a rule), exactly 0 for
        k < M, within [0, 1] and increasing. Cost: about sqrt(K - M) / 2 circles for consecutive budgets
        (one for each budget when they lie far apart), 40 nodes x strategies each.
    """
    points = checks.budgets(budgets)
    p = np.asarray(p, np.float64)
    declared_count = np.asarray(declared_count, np.int64)
    # Equal inputs (families are full of them) are computed once.
    rows, place = np.unique(np.column_stack([declared_count, p]), axis=0, return_inverse=True)
    return _distinct_inputs(rows[:, 1:], rows[:, 0].astype(np.int64), points)[place.reshape(-1)]


def _distinct_inputs(p: np.ndarray, declared: np.ndarray, points: np.ndarray) -> np.ndarray:
    result = np.where(declared[:, None] == 0, np.nan, np.zeros((len(p), len(points))))
    reachable = (declared > 0) & ((p > 0.0).sum(axis=1) == declared) & (declared <= points[-1])
    dense = points[-1] - points[0] < 4 * len(points)
    groups = [reachable] if dense else [reachable & (declared == m) for m in np.unique(declared)]
    for group in groups:
        if group.any():
            result[group] = _one_plan(p[group], declared[group], points)
    return result


def _one_plan(p: np.ndarray, declared: np.ndarray, points: np.ndarray) -> np.ndarray:
    """F for inputs that share a plan: all with the same M, or budgets close together."""
    beyond = np.unique(points[:, None] - np.unique(declared)[None])
    beyond = beyond[beyond >= 0]
    plan = windows(beyond)
    strategies = p.shape[1]
    width = -(-strategies // _AT_ONCE) * _AT_ONCE if strategies > _AT_ONCE else bucket(strategies, smallest=4)
    padded = pad_axis(p, width, axis=1)
    per_input = 8.0 * NODES * len(plan.middles) * (2 * min(width, _AT_ONCE) + 8)
    tile = tile_size(len(p), per_input)
    values = over_tiles(lambda rows: _full_values(rows, plan.middles, reach=plan.reach), (padded,), tile)[0]
    places = plan.circle * (values.shape[1] // len(plan.middles)) + plan.offset
    draws = points[None] - declared[:, None]
    position = np.searchsorted(beyond, np.maximum(draws, beyond[0]))
    found = np.take_along_axis(values, places[position], axis=1)
    found = np.where(draws < 0, 0.0, np.clip(found, 0.0, 1.0))
    # Rounding may turn the last digit of neighbours around.
    return np.maximum.accumulate(found, axis=1)
