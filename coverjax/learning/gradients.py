"""What training climbs, for one input: exactly, from runs with baselines, or from runs with regrets."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float

from coverjax.learning.forms import Adaptive, Independent, Scheduled
from coverjax.learning.objectives import FLOOR, OF_ONE_INPUT
from coverjax.learning.problem import Problem
from coverjax.learning.rollouts import penalty, runs
from coverjax.learning.subset_values import holds_all, members, regrets, values
from coverjax.policy.learned import LearnedLatent
from coverjax.policy.networks import DTYPE, TabularLogits

LATTICE_BY_ITSELF = 10
"""The most strategies for which "auto" takes the dynamic program: 1,024 seen sets for every draw."""


class Climb(NamedTuple):
    """A gradient's method: what is compiled, hashable.

    Attributes:
        objective: its name.
        gradient: "exact", "score" or "regret".
        draws: K.
        trials: runs of each input.
        costs: weights of KL and entropy.
    """

    objective: str
    gradient: str
    draws: int
    trials: int
    costs: tuple[float, float]


class Estimate(NamedTuple):
    """Of one input.

    Attributes:
        surrogate: whose derivative is (an unbiased estimate of) the derivative of `value`; its own size means
            nothing.
        value: the objective minus what is held against it.
        objective: the objective itself.
    """

    surrogate: Float[jax.Array, ""]
    value: Float[jax.Array, ""]
    objective: Float[jax.Array, ""]


def estimate_one(policy: Any, one: Problem, key: jax.Array, climb: Climb) -> Estimate:
    """Estimate the objective of a policy on one input, in the way of its gradient."""
    found = _WAYS[climb.gradient](policy, one, key, climb)
    cost = found.objective - found.value
    objective = one.scale * found.objective + one.offset
    return Estimate(found.surrogate, objective - cost, objective)


# -- exact -----------------------------------------------------------------------------------------


def _exact(policy: Any, one: Problem, key: jax.Array, climb: Climb) -> Estimate:
    blind = policy.sees == "blind"
    objective, cost = (_blind if blind else _adaptive)(policy, one, climb)
    return Estimate(one.scale * objective - cost, objective - cost, objective)


def _blind(policy: Any, one: Problem, climb: Climb) -> tuple[jax.Array, jax.Array]:
    """By the closed form of a schedule, or of independent draws where all draws are alike."""
    draws = 1 if _same_every_draw(policy) else climb.draws
    choose = jax.vmap(lambda draw: policy.choose(one.known, policy.init(one.known), draw))
    logs = jax.nn.log_softmax(choose(jnp.arange(draws, dtype=jnp.int32)).astype(DTYPE), axis=-1)
    cost = jnp.mean(penalty(logs, one.router, climb.costs))
    chances = jnp.exp(logs)
    if climb.objective == "full_coverage":
        assert one.rows is not None
        assert one.bit_shares is not None
        chances = jnp.broadcast_to(chances, (climb.draws, chances.shape[1]))
        scheduled = Scheduled(chances, one.rows, one.rows, one.masks)
        return scheduled.full(climb.draws, one.bit_shares), cost
    form: Independent | Scheduled = Scheduled(chances, one.table, one.table, None)
    if draws == 1:
        q = jnp.matmul(chances[0], one.table, precision="highest")
        form = Independent(jnp.clip(q, 0.0, 1.0), q, None)
    return _core(climb.objective)(form, one.shares, climb.draws), cost


def _adaptive(policy: Any, one: Problem, climb: Climb) -> tuple[jax.Array, jax.Array]:
    """By the dynamic programs over (draw, seen set)."""
    assert one.rows is not None
    assert one.bit_shares is not None
    seen = _seen_sets(one)
    at = jax.vmap(jax.vmap(policy.choose, in_axes=(None, 0, None)), in_axes=(None, None, 0))
    logits = at(one.known, seen, jnp.arange(climb.draws, dtype=jnp.int32)).astype(DTYPE)
    logs = jax.nn.log_softmax(logits, axis=-1)
    form = Adaptive(jnp.exp(logs), one.rows, one.masks)
    objective = _core(climb.objective)(form, one.bit_shares, climb.draws)
    if climb.objective == "log_coverage":
        out_of_reach = 1.0 - one.bit_shares.sum()
        objective = objective + out_of_reach * (math.log(FLOOR) - math.log1p(FLOOR))
    if climb.costs == (0.0, 0.0):
        return objective, jnp.zeros((), DTYPE)
    costs = penalty(logs, one.router, climb.costs) / climb.draws

    def pick(draw: jax.Array, q: jax.Array) -> jax.Array:
        return jnp.sum(form.choice[draw].T * q, axis=0) + costs[draw]

    nothing = jnp.zeros(seen.shape[0], DTYPE)
    return objective, values(pick, one.rows, one.masks, nothing, nothing, climb.draws, one.bits)[0]


def _core(objective: str) -> Any:
    return OF_ONE_INPUT["auc" if objective == "gain" else objective]


def _same_every_draw(policy: Any) -> bool:
    """Whether a blind policy is a router: one row of logits for all draws."""
    net = policy.params if isinstance(policy, LearnedLatent) else None
    return isinstance(net, TabularLogits) and net.logits.shape[1] == 1


def _seen_sets(one: Problem) -> jax.Array:
    """Return the seen set of every subset over all strategy columns."""
    columns = one.columns
    assert columns is not None
    at = (columns[:, None] == jnp.arange(one.shares.shape[-1], dtype=columns.dtype)).astype(DTYPE)
    return jnp.matmul(members(one.bits, DTYPE), at, precision="highest") > 0.5


# -- from runs -------------------------------------------------------------------------------------


def _score(policy: Any, one: Problem, key: jax.Array, climb: Climb) -> Estimate:
    """Weigh every choice by what came after it, less what came after it in the other runs.

    sum_t (G_t - mean over the other runs of G_t) grad log pi(a_t), G_t the rewards from draw t on. The other
    runs know nothing of this one's choice, so that the baseline leaves the mean as it is.
    """
    seen = runs(policy, one, key, climb.draws, climb.trials, climb.objective, climb.costs)
    paid = seen.penalty / climb.draws
    earned = one.scale * seen.reward
    later = jnp.cumsum((earned - paid)[:, ::-1], axis=1)[:, ::-1] + paid
    others = (later.sum(axis=0) - later) / (climb.trials - 1)
    weighed = jax.lax.stop_gradient(later - others) * seen.log_chance
    objective = seen.reward.sum(axis=1).mean()
    cost = paid.sum(axis=1).mean()
    return Estimate(weighed.sum(axis=1).mean() - cost, objective - cost, objective)


def _regret(policy: Any, one: Problem, key: jax.Array, climb: Climb) -> Estimate:
    """The optimal value less the regrets met along the policy's own runs, which is its value without bias.

    The derivative leaves out that other choices lead to other states. There the regrets are those of going on
    optimally; at the optimum nothing is left out.
    """
    assert one.rows is not None
    each, last = _rewards(one, climb)
    best, table = regrets(one.rows, one.masks, each, last, climb.draws, one.bits)
    table = jax.lax.stop_gradient(table)
    seen = runs(policy, one, key, climb.draws, climb.trials, climb.objective, regrets=table)
    objective = best - seen.regret.sum(axis=1).mean()
    return Estimate(one.scale * objective, objective, objective)


def _rewards(one: Problem, climb: Climb) -> tuple[jax.Array, jax.Array]:
    """Return the reward of every seen set after each draw, and at the end."""
    assert one.bit_shares is not None
    inside = members(one.bits, DTYPE)
    held = jnp.matmul(inside, one.bit_shares, precision="highest")
    if climb.objective in ("auc", "gain"):
        return held / climb.draws, jnp.zeros_like(held)
    last = held if climb.objective == "coverage" else holds_all(one.bit_shares, one.bits)
    return jnp.zeros_like(held), last


_WAYS = {"exact": _exact, "score": _score, "regret": _regret}
