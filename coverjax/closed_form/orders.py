"""Means of products along a random order without repeats, without enumerating orders.

Everything is the mean of a product along a random order z_1, z_2, ... of the latents. For weights
a (what a latent must not do) and v (what the next one does), both per latent and target,

    E_k = E[a(z_1) ... a(z_k)]    and    F_k = E[a(z_1) ... a(z_k) v(z_{k+1})].

With targets = strategies, a = 1 - W and v = W these are P(s unseen after k draws) and P(s first seen in
draw k + 1). With targets = subsets T of the strategies and a_z(T) = P(match set inside T | z), E_k(T) =
P(S_k inside T), whence by a Moebius transform the count law; with v_z(T) = P(match set contains all that T
lacks | z), inclusion and exclusion over F_k(T) gives P(draw k + 1 brings something new).

- Uniform order: recurrences on the MEANS over subsets, adding one latent at a time; positive terms only.
- Router (Plackett-Luce) order: latent z gets an exponential clock of rate r_z. The next one rings at t,

    F_k = integral of [u^k] sum_z r_z e^{-r_z t} v_z prod_{y != z} (e^{-r_y t} + u a_y (1 - e^{-r_y t})) dt,

  by the trapezoid rule in log t, whose integrand decays doubly exponentially on both sides. Absolute error
  about 1e-15 for ratios of router probabilities up to 1e12.

A finished pass is followed by an independent one: a run of n passes and j draws has E_L^n E_j.
"""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

_STEP = 0.2
"""Step of the trapezoid rule in log t: 0.25 reaches 1e-15 for every router tried, 0.35 loses 2e-14."""

_FIRST, _LAST = math.log(1e-17), math.log(45.0)
"""Clock times below 1e-17 / max r and above 45 / min r carry no weight in float64."""

_NODE_TARGETS = 4096
"""Clock times x targets that are handled at once."""


class Clock(NamedTuple):
    """Exponential clocks of the latents.

    Attributes:
        rates: clock rates, 0 for latents that are left out.
        times, weights: nodes and weights of integrals over clock times.
    """

    rates: Any
    times: Any
    weights: Any


# -- means along an order, for one input -----------------------------------------------------------


def uniform_order(
    avoid: Float[jax.Array, "latents targets"],
    gain: Float[jax.Array, "latents targets"],
    live: Bool[jax.Array, " latents"],
) -> tuple[Float[jax.Array, "drawn targets"], Float[jax.Array, "drawn targets"]]:
    """Return E_k and F_k for k = 0..latents in uniformly random order over the live latents.

    E_k is right up to the number L of live latents, F_k below it. Adding the i-th latent:
    E_k <- ((i-k)/i) E_k + (k/i) a E_{k-1}, F_k <- ((i-1-k)/i) F_k + (k/i) a F_{k-1} + (1/i) v E_k(before).
    """
    latents, targets = avoid.shape
    k = jnp.arange(latents + 1, dtype=avoid.dtype)[:, None]

    def add(carry: tuple, latent: tuple) -> tuple:
        mean, following, i = carry
        a, v, there = latent
        n = i + 1.0
        longer = jnp.maximum((n - k) / n, 0.0) * mean + (k / n) * a * _shifted(mean)
        after = jnp.maximum((n - 1.0 - k) / n, 0.0) * following + (k / n) * a * _shifted(following)
        after = after + v * mean / n
        kept = k <= n
        new = (jnp.where(kept, longer, 0.0), jnp.where(kept, after, 0.0), n)
        return jax.tree.map(functools.partial(jnp.where, there), new, carry), None

    empty = jnp.zeros((latents + 1, targets), avoid.dtype)
    start = (empty.at[0].set(1.0), empty, jnp.zeros((), avoid.dtype))
    (mean, following, _), _ = jax.lax.scan(add, start, (avoid, gain, live))
    return mean, following


def router_order(
    avoid: Float[jax.Array, "latents targets"],
    gain: Float[jax.Array, "latents targets"],
    clock: "Clock",
    degree: int,
) -> tuple[Float[jax.Array, "drawn targets"], Float[jax.Array, "drawn targets"]]:
    """Return E_k and F_k for k = 0..degree in Plackett-Luce order; latents with rate 0 are left out.

    E_k for k = number of live latents comes from the plain product, since no latent follows.

    Args:
        avoid, gain: a and v.
        clock: rates in proportion to the router, and the nodes of the integral (`clocks`).
        degree: the largest k wanted, at most the number of latents.
    """
    rates, times, weights = clock
    targets = avoid.shape[1]
    live = rates > 0

    def group(nodes: tuple) -> tuple[jax.Array, jax.Array]:
        t, weight = nodes

        def add(carry: tuple, latent: tuple) -> tuple:
            product, ringing, gaining = carry
            a, v, rate = latent
            not_yet = jnp.exp(-rate * t)[:, None, None]
            already = -jnp.expm1(-rate * t)[:, None, None] * a
            density = rate * not_yet
            return (
                not_yet * product + already * _shifted(product, 1),
                not_yet * ringing + already * _shifted(ringing, 1) + density * product,
                not_yet * gaining + already * _shifted(gaining, 1) + density * v * product,
            ), None

        empty = jnp.zeros((t.shape[0], degree + 1, targets), avoid.dtype)
        start = (empty.at[:, 0].set(1.0), empty, empty)
        (_, ringing, gaining), _ = jax.lax.scan(add, start, (avoid, gain, rates))
        return jnp.einsum("n,nkt->kt", weight, ringing), jnp.einsum("n,nkt->kt", weight, gaining)

    together = max(1, min(times.shape[0], _NODE_TARGETS // targets))
    parts = -(-times.shape[0] // together)
    padding = (0, parts * together - times.shape[0])
    split = tuple(
        jnp.pad(array, padding, constant_values=fill).reshape(parts, together)
        for array, fill in ((times, 1.0), (weights, 0.0))
    )

    def accumulate(total: tuple, nodes: tuple) -> tuple:
        return jax.tree.map(jnp.add, total, group(nodes)), None

    zero = jnp.zeros((degree + 1, targets), avoid.dtype)
    (mean, following), _ = jax.lax.scan(accumulate, (zero, zero), split)
    everything = jnp.prod(jnp.where(live[:, None], avoid, 1.0), axis=0)
    at_end = jnp.arange(degree + 1)[:, None] == jnp.sum(live.astype(jnp.int32))
    return jnp.where(at_end, everything[None], mean), following


def clocks(rates: Float[np.ndarray, "inputs latents"]) -> Clock:
    """Return the clocks of every input: the trapezoid rule in log t.

    From 1e-17 / max r to 45 / min r over the positive rates; as many nodes for all inputs as the widest range
    needs, rounded up to a multiple of 64 so that programs are shared.
    """
    some = rates > 0
    largest = np.where(some.any(axis=1), rates.max(axis=1), 1.0)
    smallest = np.where(some, rates, np.inf).min(axis=1)
    smallest = np.where(np.isfinite(smallest), smallest, largest)
    low, high = _FIRST - np.log(largest), _LAST - np.log(smallest)
    count = 64 * math.ceil(((high - low).max() / _STEP + 1) / 64)
    step = (high - low) / (count - 1)
    times = np.exp(low[:, None] + step[:, None] * np.arange(count))
    return Clock(rates, times, times * step[:, None])


def _shifted(values: jax.Array, axis: int = 0) -> jax.Array:
    """Move one place up along the axis of k: the coefficient of k - 1 at k."""
    padding = [(0, 0)] * values.ndim
    padding[axis] = (1, 0)
    return jax.lax.slice_in_dim(jnp.pad(values, padding), 0, values.shape[axis], axis=axis)


# -- passes after passes ---------------------------------------------------------------------------


def over_passes(
    mean: Float[jax.Array, "drawn targets"],
    live: Int[jax.Array, ""],
    draws: Int[jax.Array, " budgets"],
    following: Float[jax.Array, "drawn targets"] | None = None,
) -> Float[jax.Array, "budgets targets"]:
    """Return E after `draws` draws, or, with `following`, F of the next draw.

    Passes of `live` draws are independent; without live latents nothing is ever drawn.
    """
    length = jnp.maximum(live, 1)
    passes, rest = draws // length, draws % length
    once = jnp.take(mean, length, axis=0, mode="clip")
    finished = jnp.where(
        passes[:, None] > 0, once[None] ** jnp.maximum(passes, 1)[:, None].astype(mean.dtype), 1.0
    )
    values = finished * (mean if following is None else following)[rest]
    return jnp.where(live > 0, values, 1.0 if following is None else 0.0)


def mean_over_draws(
    mean: Float[jax.Array, "drawn targets"], live: Int[jax.Array, ""], draws: Int[jax.Array, ""]
) -> Float[jax.Array, " targets"]:
    """Return the mean of E over 1..draws, by a geometric series over the finished passes."""
    length = jnp.maximum(live, 1)
    passes, rest = draws // length, draws % length
    once = jnp.take(mean, length, axis=0, mode="clip")
    k = jnp.arange(mean.shape[0])[:, None]
    whole = jnp.sum(jnp.where((k >= 1) & (k <= length), mean, 0.0), axis=0)
    part = jnp.sum(jnp.where((k >= 1) & (k <= rest), mean, 0.0), axis=0)
    n = passes.astype(mean.dtype)
    inside = (once > 0.0) & (once < 1.0)
    base = jnp.where(inside, once, 0.5)
    series = -jnp.expm1(n * jnp.log(base)) / (1.0 - base)
    series = jnp.where(inside, series, jnp.where(once >= 1.0, n, jnp.minimum(n, 1.0)))
    finished = jnp.where(passes > 0, once ** jnp.maximum(n, 1.0), 1.0)
    total = (series * whole + finished * part) / draws.astype(mean.dtype)
    return jnp.where(live > 0, total, 1.0)
