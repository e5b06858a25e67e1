"""How many strategies independent single-label draws have covered: a contour integral in polynomials.

With w_s = p_s z, P(|S_k| = m) = k! [z^k u^m] e^{p_0 z} prod_s (1 + u (e^{w_s} - 1)). On the circle
|z| = r every factor is divided by e^{p_s r} and becomes A_s + u (B_s - A_s), A_s = e^{-p_s r},
B_s = e^{w_s - p_s r}, and the product is multiplied out in u, strategy by strategy. Since
A_s + |B_s - A_s| <= 1, with equality on the positive axis, the coefficients of all steps are bounded by
probabilities and no digits are lost (evaluating at roots of unity in u and transforming back costs more and
is no more accurate). z - r is r (-2 sin^2(theta/2) + i sin theta), never a difference.

A circle serves the budgets within two standard deviations of r. The accuracy is ABSOLUTE: measured 2e-13
up to k = 4000. The ends m = 0 and m = M come from forms with relative accuracy.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex, Float

from coverjax.closed_form.occupancy import full_coverage
from coverjax.closed_form.tiles import in_threads, over_tiles, tile_size
from coverjax.foundation import checks
from coverjax.foundation.checks import InputError
from coverjax.foundation.numerics import log_poisson
from coverjax.foundation.precision import float64_kernel
from coverjax.foundation.shapes import blocks, bucket, pad_axis

LARGEST = 512
"""The most strategies for which the count law is offered: cost grows with strategies^2 x budget."""

_WIDTH = 2.0

_BLOCK = 32
"""Nodes in one call of the kernel: its arrays then stay in a core's cache, and one program serves all."""

_NEGLIGIBLE = 1e-18
"""Nodes that cannot change any probability by this much are left out."""


def _circles(points: np.ndarray) -> list[tuple[int, int, int]]:
    """Cover increasing budgets with circles: (radius, first and last position of its budgets)."""
    circles = []
    at = 0
    while at < len(points):
        low = int(points[at])
        radius = low
        while radius + 1 - _WIDTH * math.sqrt(radius + 1) <= low:
            radius += 1
        stop = int(np.searchsorted(points, radius + _WIDTH * math.sqrt(radius), side="right"))
        circles.append((max(1, (low + int(points[stop - 1])) // 2), at, stop))
        at = stop
    return circles


def _half_nodes(radius: int) -> int:
    """Nodes above the positive axis of a circle with an odd number of nodes; aliases are below 1e-17."""
    return math.ceil(5.4 * math.sqrt(radius) + 8.0)


@float64_kernel
def _log_bounds(
    p: Float[jax.Array, "inputs strategies"],
    radius: Float[jax.Array, " nodes"],
    theta: Float[jax.Array, " nodes"],
) -> tuple[Float[jax.Array, "inputs nodes"]]:
    """Return log of prod_s (A_s + |B_s - A_s|): a bound for all coefficients."""

    def one(row: jax.Array) -> jax.Array:
        a = row[None] * radius[:, None]
        inward = -2.0 * jnp.sin(0.5 * theta)[:, None] ** 2
        stay, size = jnp.exp(-a), jnp.exp(a * inward)
        half = jnp.sin(0.5 * a * jnp.sin(theta)[:, None])
        gap = jnp.sqrt((size - stay) ** 2 + 4.0 * size * stay * half**2)
        off = jnp.maximum(1.0 - jnp.sum(row), 0.0)
        return jnp.sum(jnp.log(stay + gap), axis=1) + off * radius * inward[:, 0]

    return (jax.lax.map(one, p),)


@float64_kernel
def _coefficients(
    p: Float[jax.Array, "inputs strategies"],
    radius: Float[jax.Array, " nodes"],
    theta: Float[jax.Array, " nodes"],
) -> tuple[Complex[jax.Array, "inputs counts nodes"]]:
    """Return e^{p_0 (z - r)} prod_s (A_s + u (B_s - A_s)) by power of u."""
    shift = jax.lax.complex(-2.0 * radius * jnp.sin(0.5 * theta) ** 2, radius * jnp.sin(theta))

    def one(row: jax.Array) -> jax.Array:
        off = jnp.maximum(1.0 - jnp.sum(row), 0.0)
        stay = jnp.exp(-row[:, None] * radius[None])
        gain = jnp.exp(row[:, None] * shift[None]) - stay
        # Tables first: fused into the loop, the exponentials would be taken again for each coefficient.
        stay, gain = jax.lax.optimization_barrier((stay, gain))
        start = jnp.zeros((len(row) + 1, len(theta)), gain.dtype).at[0].set(jnp.exp(off * shift))

        def step(index: int, product: jax.Array) -> jax.Array:
            below = jnp.pad(product[:-1], ((1, 0), (0, 0)))
            return stay[index][None] * product + gain[index][None] * below

        return jax.lax.fori_loop(0, len(row), step, start)

    return (jax.vmap(one)(p),)


@float64_kernel
def _poisson_logs(
    draws: Float[jax.Array, " budgets"], mean: Float[jax.Array, " budgets"]
) -> Float[jax.Array, " budgets"]:
    return log_poisson(draws, mean)


def _scales(points: np.ndarray, circles: list[tuple[int, int, int]]) -> np.ndarray:
    """Return k! r^-k e^r for each budget k on its circle r."""
    radius = np.repeat([float(r) for r, _, _ in circles], [stop - first for _, first, stop in circles])
    padded = (
        pad_axis(values, bucket(len(points)), fill=1.0) for values in (points.astype(np.float64), radius)
    )
    return np.exp(-_poisson_logs(*padded)[: len(points)])


def count_law(
    p: Float[np.ndarray, "inputs strategies"], budgets: "int | np.ndarray"
) -> Float[np.ndarray, "inputs budgets counts"]:
    """Return P(|S_k| = m), m = 0..strategies, of independent draws that match at most one strategy each.

    Args:
        p: probability of each declared strategy, 0 elsewhere; what a row lacks to 1 is off-strategy mass.
        budgets: K for 1..K, or increasing numbers of draws.

    Returns:
        the law at each budget, [inputs, budgets, strategies + 1]. Exact: absolute error below 1e-12 (m = 0
        and m = M relative), exactly 0 where m > k. Cost: strategies^2 x 11 budgets multiplications for
        consecutive budgets.

    Raises:
        InputError: more strategies than `LARGEST`.
    """
    points = checks.budgets(budgets)
    p = np.asarray(p, np.float64)
    strategies = p.shape[1]
    if strategies > LARGEST:
        raise InputError(
            f"count_law: the exact count law is offered up to {LARGEST} strategies; got {strategies}: leave "
            "count_law out (coverage, novelty and full coverage have no such limit) or use simulate"
        )
    # Equal inputs are computed once.
    p, place = np.unique(p, axis=0, return_inverse=True)
    return _distinct_inputs(p, points)[place.reshape(-1)]


def _distinct_inputs(p: Float[np.ndarray, "inputs strategies"], points: np.ndarray) -> np.ndarray:
    strategies = p.shape[1]
    rows = pad_axis(p, -(-strategies // 8) * 8, axis=1)
    result = np.zeros((len(p), len(points), strategies + 1))
    circles = _circles(points)
    scales = _scales(points, circles)
    for radius, first, stop in circles:
        law = _on_circle(rows, points[first:stop], scales[first:stop], radius)
        result[:, first:stop] = law[:, :, : strategies + 1]
    np.clip(result, 0.0, 1.0, out=result)
    result *= np.arange(strategies + 1) <= points[:, None]
    off = np.maximum(1.0 - p.sum(axis=1), 0.0)
    result[:, :, 0] = off[:, None] ** points[None]
    active = (p > 0.0).sum(axis=1)
    some = active > 0
    result[some, :, active[some]] = full_coverage(p[some], active[some], points)
    return result


def _on_circle(
    rows: Float[np.ndarray, "inputs strategies"], draws: np.ndarray, scale: np.ndarray, radius: int
) -> Float[np.ndarray, "inputs budgets counts"]:
    """Return the law at the budgets that one circle serves."""
    half = _half_nodes(radius)
    around = 2 * half + 1
    node = np.arange(half + 1)
    nodes = _needed_nodes(rows, radius, node, around, scale.max())
    coefficients = _at_nodes(rows, radius, 2.0 * np.pi * nodes / around)
    # Whole turns are taken out of k theta in integers: no rounding that grows with k.
    angle = 2.0 * np.pi * ((draws[:, None] * nodes) % around) / around
    weight = scale[:, None] * np.where(nodes == 0, 1.0, 2.0) / around
    law = coefficients.real @ (weight * np.cos(angle)).T + coefficients.imag @ (weight * np.sin(angle)).T
    return np.swapaxes(law, 1, 2)


def _needed_nodes(rows: np.ndarray, radius: int, node: np.ndarray, around: int, scale: float) -> np.ndarray:
    """Return the nodes that matter to any input."""
    kept = []
    tile = tile_size(len(rows), 8.0 * 6 * _BLOCK * rows.shape[1])
    for part in blocks(len(node), _BLOCK):
        place = np.full(_BLOCK, float(radius)), pad_axis(2.0 * np.pi * node[part] / around, _BLOCK)
        (bounds,) = over_tiles(partial(_log_bounds, radius=place[0], theta=place[1]), (rows,), tile)
        largest = bounds.max(axis=0)[: part.stop - part.start]
        kept.append(node[part][largest + math.log(scale) > math.log(_NEGLIGIBLE)])
    return np.concatenate(kept)


def _at_nodes(rows: np.ndarray, radius: int, theta: np.ndarray) -> Complex[np.ndarray, "inputs counts nodes"]:
    """Return the coefficients at some nodes of a circle."""
    result = np.empty((len(rows), rows.shape[1] + 1, len(theta)), np.complex128)
    tile = tile_size(len(rows), 16.0 * 4 * _BLOCK * result.shape[1])

    def compute(part: slice) -> None:
        nodes = np.full(_BLOCK, float(radius)), pad_axis(theta[part], _BLOCK)
        (values,) = over_tiles(lambda some: _coefficients(some, *nodes), (rows,), tile)
        result[:, :, part] = values[:, :, : part.stop - part.start]

    in_threads([partial(compute, part) for part in blocks(len(theta), _BLOCK)])
    return result
