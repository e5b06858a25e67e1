"""Simulated runs, with what a gradient needs of them: the chance of every choice, its reward, its cost.

`montecarlo` counts packed bits of very many runs; here few runs keep every draw, differentiably.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from coverjax.learning.problem import Problem
from coverjax.policy.networks import DTYPE


class Runs(NamedTuple):
    """Runs of one input, [trials, draws].

    Attributes:
        log_chance: log probability of the choice that was made.
        reward: what the draw added to the objective; its sum over the draws is unbiased for it.
        penalty: kl * KL(choice || base router) - entropy * H(choice), before the choice was made.
        regret: expected loss of the choice against the optimal plan; 0 where no regrets were given.
    """

    log_chance: Float[jax.Array, "trials draws"]
    reward: Float[jax.Array, "trials draws"]
    penalty: Float[jax.Array, "trials draws"]
    regret: Float[jax.Array, "trials draws"]


def runs(
    policy: Any,
    one: Problem,
    key: jax.Array,
    draws: int,
    trials: int,
    objective: str,
    costs: tuple[float, float] = (0.0, 0.0),
    regrets: Float[jax.Array, "draws subsets latents"] | None = None,
) -> Runs:
    """Simulate a policy on one input; the derivative goes through the chances, penalties and regrets.

    Args:
        policy: a policy that chooses latents.
        one: the problem's arrays of this input.
        key: the input's random stream.
        draws, trials: their numbers.
        objective: "auc", "coverage", "gain" (as AUC) or "full_coverage".
        costs: weights of KL and of entropy.
        regrets: what every choice loses in every (draw, subset).
    """

    latents, outcomes = one.draws.shape
    # All at once: a generator of random bits inside the loop would take most of the compiling.
    noise = jax.random.gumbel(key, (trials, draws, latents + outcomes), DTYPE)

    def trial(noise: jax.Array) -> Runs:
        def step(carry: tuple, moment: tuple[jax.Array, jax.Array]) -> tuple[tuple, Runs]:
            (state, seen), (draw, noise) = carry, moment
            logits = policy.choose(one.known, state, draw).astype(DTYPE)
            log_chances = jax.nn.log_softmax(logits)
            action = jnp.argmax(jax.lax.stop_gradient(logits) + noise[:latents]).astype(jnp.int32)
            matched = _matched(one, jnp.argmax(jnp.log(one.draws[action]) + noise[latents:]))
            after = seen | matched
            found = Runs(
                log_chance=log_chances[action],
                reward=_reward(one, objective, seen, after, (draws - draw).astype(DTYPE) / draws),
                penalty=penalty(log_chances, one.router, costs),
                regret=jnp.zeros((), DTYPE)
                if regrets is None
                else jnp.exp(log_chances) @ regrets[draw, _subset(one, seen)],
            )
            told = action if policy.sees != "blind" else jnp.int32(-1)
            shown = matched if policy.sees in ("outcomes", "oracle") else jnp.zeros_like(matched)
            return (policy.update(one.known, state, draw, told, shown), after), found

        start = (policy.init(one.known), jnp.zeros(one.shares.shape[-1], bool))
        return jax.lax.scan(step, start, (jnp.arange(draws, dtype=jnp.int32), noise))[1]

    return jax.vmap(trial)(noise)


def penalty(
    log_chances: Float[jax.Array, "... latents"],
    router: Float[jax.Array, " latents"],
    costs: tuple[float, float],
) -> Float[jax.Array, "..."]:
    """Return kl * KL(choice || router) - entropy * H(choice) over the last axis."""
    kl, entropy = costs
    if kl == 0.0 and entropy == 0.0:
        return jnp.zeros(log_chances.shape[:-1], log_chances.dtype)
    possible = log_chances > -jnp.inf
    logs = jnp.where(possible, log_chances, 0.0)
    chances = jnp.where(possible, jnp.exp(logs), 0.0)
    cost = (kl + entropy) * logs
    if kl != 0.0:
        cost = cost - kl * jnp.log(router)
    return jnp.sum(chances * cost, axis=-1)


def _matched(one: Problem, outcome: jax.Array) -> Bool[jax.Array, " strategies"]:
    """Return the declared strategies that an outcome matches."""
    if one.sets is not None:
        return one.sets[outcome] & one.known.declared
    strategies = jnp.arange(one.shares.shape[-1], dtype=outcome.dtype)
    return (strategies == outcome) & one.known.declared


def _reward(one: Problem, objective: str, seen: jax.Array, after: jax.Array, left: jax.Array) -> jax.Array:
    """Return what a draw adds: new strategies, times the share of k = 1..K at which they count."""
    if objective == "full_coverage":
        missing, still = (jnp.any(~found & (one.shares > 0)) for found in (seen, after))
        return (missing & ~still).astype(DTYPE)
    new = jnp.sum(jnp.where(after & ~seen, one.shares, 0.0))
    return new if objective == "coverage" else new * left


def _subset(one: Problem, seen: Bool[jax.Array, " strategies"]) -> jax.Array:
    """Return the number of the seen set on the lattice."""
    columns = one.columns
    assert columns is not None
    there = (columns >= 0) & seen[jnp.maximum(columns, 0)]
    return jnp.sum(there.astype(jnp.int32) << jnp.arange(columns.shape[0], dtype=jnp.int32))
