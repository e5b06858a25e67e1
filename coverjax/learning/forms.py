"""How draws cover strategies, in the forms that have a derivative: what the objectives are functions of.

A form holds the arrays of ONE input and answers three questions about a run of `draws` draws:

    mean_seen   the mean over k = 1..draws of P(strategy s in S_k)     [strategies]
    last_seen   P(strategy s in S_draws)                               [strategies]
    full        P(S_draws holds every strategy with a positive share)  at most 16 strategies

The functions of `coverjax.objectives` make them, with leading axes too.
"""

import abc
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float, Int

from coverjax.closed_form import iid, latent, markov, orders
from coverjax.foundation import lattice
from coverjax.foundation.checks import InputError
from coverjax.foundation.numerics import hit
from coverjax.learning.subset_values import holds_all, values

CLOCK_NODES = 384
"""Nodes of the integral over clock times: enough where router probabilities are in a ratio of up to 1e12."""


class Form(eqx.Module):
    """What an objective needs; concrete forms are final.

    `leading` and `strategies` read the arrays before an objective maps over their leading axes.
    """

    @property
    @abc.abstractmethod
    def leading(self) -> tuple[int, ...]:
        """Return the leading axes that all arrays have."""

    @property
    @abc.abstractmethod
    def strategies(self) -> int:
        """Return the number of strategies."""

    @abc.abstractmethod
    def mean_seen(self, draws: int) -> Float[jax.Array, " strategies"]:
        """Return the mean over k = 1..draws of P(s in S_k)."""

    @abc.abstractmethod
    def last_seen(self, draws: int) -> Float[jax.Array, " strategies"]:
        """Return P(s in S_draws)."""

    @abc.abstractmethod
    def full(self, draws: int, shares: Float[jax.Array, " strategies"]) -> Float[jax.Array, ""]:
        """Return P(S_draws holds every s with shares[s] > 0)."""


class Independent(Form):
    """Independent draws from one law.

    Attributes:
        q: P(draw matches s); 0 masks a strategy.
        atoms: P(match set), for `full`.
        masks: the subset that each atom matches; None where atom s is strategy s.
    """

    q: Float[jax.Array, " strategies"]
    atoms: Float[jax.Array, " atoms"]
    masks: Int[jax.Array, " atoms"] | None

    @property
    def leading(self) -> tuple[int, ...]:
        """Return the axes before those of one input."""
        return self.q.shape[:-1]

    @property
    def strategies(self) -> int:
        """Return the number of strategies."""
        return self.q.shape[-1]

    def mean_seen(self, draws: int) -> Float[jax.Array, " strategies"]:
        """Return it in log2(draws) steps."""
        before, odd, count = (jnp.asarray(part, self.q.dtype) for part in iid.doubling_steps(draws))
        return iid.mean_hit(self.q, before, odd, count)

    def last_seen(self, draws: int) -> Float[jax.Array, " strategies"]:
        """Return 1 - (1 - q)^draws."""
        return hit(self.q, jnp.asarray(draws, self.q.dtype))

    def full(self, draws: int, shares: Float[jax.Array, " strategies"]) -> Float[jax.Array, ""]:
        """Return it by the lattice."""
        return _full(lambda draw, q: q[0], self.atoms[None], self.masks, draws, shares)


class Scheduled(Form):
    """Draw i takes its latent from its own router.

    Attributes:
        routers: r_i(z).
        table: W[z, s].
        atoms: P(match set | z), for `full`.
        masks: the subset that each atom matches; None where atom s is strategy s.
    """

    routers: Float[jax.Array, "draws latents"]
    table: Float[jax.Array, "latents strategies"]
    atoms: Float[jax.Array, "latents atoms"]
    masks: Int[jax.Array, " atoms"] | None

    @property
    def leading(self) -> tuple[int, ...]:
        """Return the axes before those of one input."""
        return self.table.shape[:-2]

    @property
    def strategies(self) -> int:
        """Return the number of strategies."""
        return self.table.shape[-1]

    def mean_seen(self, draws: int) -> Float[jax.Array, " strategies"]:
        """Return it by products over the draws."""
        return latent.schedule_curves(self._first(draws), self.table)[2]

    def last_seen(self, draws: int) -> Float[jax.Array, " strategies"]:
        """Return 1 minus the product over the draws of missing s."""
        return 1.0 - jnp.prod(1.0 - jnp.minimum(self._first(draws) @ self.table, 1.0), axis=0)

    def full(self, draws: int, shares: Float[jax.Array, " strategies"]) -> Float[jax.Array, ""]:
        """Return it by the lattice."""
        routers = self._first(draws)
        return _full(lambda draw, q: routers[draw] @ q, self.atoms, self.masks, draws, shares)

    def _first(self, draws: int) -> Float[jax.Array, "draws latents"]:
        if self.routers.shape[0] < draws:
            raise InputError(
                f"routers: must hold a row for every draw; got {self.routers.shape[0]} rows for {draws} draws"
            )
        return self.routers[:draws]


class NoRepeat(Form):
    """Every latent once before any is used again.

    Attributes:
        table: W[z, s].
        rates: router probabilities of the Plackett-Luce order, 0 for latents that are left out; None for
            the uniform order over all latents.
        atoms: P(match set | z), for `full`.
        masks: the subset that each atom matches; None where atom s is strategy s.
    """

    table: Float[jax.Array, "latents strategies"]
    rates: Float[jax.Array, " latents"] | None
    atoms: Float[jax.Array, "latents atoms"]
    masks: Int[jax.Array, " atoms"] | None

    @property
    def leading(self) -> tuple[int, ...]:
        """Return the axes before those of one input."""
        return self.table.shape[:-2]

    @property
    def strategies(self) -> int:
        """Return the number of strategies."""
        return self.table.shape[-1]

    def mean_seen(self, draws: int) -> Float[jax.Array, " strategies"]:
        """Return it by the mean over the orders."""
        unseen, live = self._along(1.0 - self.table)
        return 1.0 - orders.mean_over_draws(unseen, live, jnp.int32(draws))

    def last_seen(self, draws: int) -> Float[jax.Array, " strategies"]:
        """Return it by the mean over the orders."""
        unseen, live = self._along(1.0 - self.table)
        return 1.0 - orders.over_passes(unseen, live, jnp.full(1, draws, jnp.int32))[0]

    def full(self, draws: int, shares: Float[jax.Array, " strategies"]) -> Float[jax.Array, ""]:
        """Return it by inclusion and exclusion over P(S inside T) of the subsets T."""
        atoms, masks, bits = _wanted_only(self.atoms, self.masks, shares)
        where = _powers(bits) if masks is None else masks
        exactly = jnp.zeros((atoms.shape[0], 1 << bits), atoms.dtype).at[:, where].add(atoms)
        exactly = exactly.at[:, 0].add(jnp.maximum(1.0 - atoms.sum(axis=1), 0.0))
        within, live = self._along(lattice.subset_sums(exactly))
        inside = orders.over_passes(within, live, jnp.full(1, draws, jnp.int32))[0]
        return lattice.moebius(inside) @ holds_all(shares, bits)

    def _along(self, avoid: Float[jax.Array, "latents targets"]) -> tuple[jax.Array, jax.Array]:
        """Return the mean product of `avoid` along k latents, and the number of latents that take part."""
        if self.rates is None:
            there = jnp.ones(avoid.shape[0], bool)
            return orders.uniform_order(avoid, avoid, there)[0], jnp.int32(avoid.shape[0])
        mean, _ = orders.router_order(avoid, avoid, _clock(self.rates), degree=avoid.shape[0])
        return mean, jnp.sum((self.rates > 0).astype(jnp.int32))


class Adaptive(Form):
    """Choices that depend on the draw and the seen set.

    Attributes:
        choice: P(z | draw, seen set).
        atoms: P(match set | z).
        masks: the subset that each atom matches; None where atom s is strategy s.
    """

    choice: Float[jax.Array, "draws subsets latents"]
    atoms: Float[jax.Array, "latents atoms"]
    masks: Int[jax.Array, " atoms"] | None

    @property
    def leading(self) -> tuple[int, ...]:
        """Return the axes before those of one input."""
        return self.choice.shape[:-3]

    @property
    def strategies(self) -> int:
        """Return the number of strategies."""
        return self.choice.shape[-2].bit_length() - 1

    def mean_seen(self, draws: int) -> Float[jax.Array, " strategies"]:
        """Return it by the forward dynamic program."""
        bits = self.strategies
        return markov.forward(lambda draw: self.choice[draw].T, self.atoms, self.masks, draws, bits).seen

    def last_seen(self, draws: int) -> Float[jax.Array, " strategies"]:
        """Return draws x mean(draws) - (draws - 1) x mean(draws - 1)."""
        before = (draws - 1) * self.mean_seen(draws - 1) if draws > 1 else 0.0
        return draws * self.mean_seen(draws) - before

    def full(self, draws: int, shares: Float[jax.Array, " strategies"]) -> Float[jax.Array, ""]:
        """Return it by the backward dynamic program."""

        def pick(draw: jax.Array, q: jax.Array) -> jax.Array:
            return jnp.sum(self.choice[draw].T * q, axis=0)

        last = holds_all(shares, self.strategies)
        return values(pick, self.atoms, self.masks, jnp.zeros_like(last), last, draws, self.strategies)[0]


# -- the lattice -----------------------------------------------------------------------------------


def _full(
    pick: Callable[[jax.Array, jax.Array], jax.Array],
    atoms: Float[jax.Array, "latents atoms"],
    masks: Int[jax.Array, " atoms"] | None,
    draws: int,
    shares: Float[jax.Array, " strategies"],
) -> Float[jax.Array, ""]:
    """P(all wanted) of choices that don't depend on the seen set."""
    atoms, masks, bits = _wanted_only(atoms, masks, shares)
    last = holds_all(shares, bits)
    return values(pick, atoms, masks, jnp.zeros_like(last), last, draws, bits)[0]


def _wanted_only(
    atoms: Float[jax.Array, "latents atoms"],
    masks: Int[jax.Array, " atoms"] | None,
    shares: Float[jax.Array, " strategies"],
) -> tuple[jax.Array, jax.Array | None, int]:
    """Empty the match sets of strategies that don't count."""
    bits = shares.shape[0]
    if bits > lattice.LARGEST:
        raise InputError(
            f"full_coverage: the exact form needs the lattice of all subsets, at most {lattice.LARGEST} "
            f"strategies; got {bits}; use full_coverage(..., form='product')"
        )
    if masks is None:
        return jnp.where(shares > 0, atoms, 0.0), None, bits
    wanted = jnp.sum(jnp.where(shares > 0, _powers(bits), 0))
    return atoms, masks & wanted.astype(masks.dtype), bits


def _powers(bits: int) -> Int[jax.Array, " bits"]:
    """Return the subsets of one strategy each."""
    return 1 << jnp.arange(bits, dtype=jnp.int32)


def _clock(rates: Float[jax.Array, " latents"]) -> orders.Clock:
    """Return clocks whose rates may be traced; the nodes of the integral carry no derivative."""
    fixed = jax.lax.stop_gradient(rates)
    largest = jnp.max(fixed)
    smallest = jnp.min(jnp.where(fixed > 0, fixed, largest))
    low, high = math.log(1e-17) - jnp.log(largest), math.log(45.0) - jnp.log(smallest)
    step = (high - low) / (CLOCK_NODES - 1)
    times = jnp.exp(low + step * jnp.arange(CLOCK_NODES, dtype=rates.dtype))
    return orders.Clock(rates, times, times * step)
