"""The three ways to climb: exact derivatives, score functions, regrets; each against the exact one."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_policies import tiny

import coverjax as cj
from coverjax.learning import objectives
from coverjax.learning.gradients import Climb, estimate_one
from coverjax.learning.problem import problem
from coverjax.learning.starting import parted, start_policy
from coverjax.policy.networks import TabularLogits

K = 4
KEYS = 2000


def small_model(rng, sets=False):
    outcomes = 5 if sets else 3
    generator = rng.dirichlet(np.ones(outcomes + 1), size=(1, 3))[..., :outcomes]
    matches = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]], bool) if sets else None
    return cj.RouterGenerator(rng.dirichlet(np.ones(3), size=1), generator, matches=matches)


def setup(key, model, objective, **options):
    """One input's problem, a policy with logits of size about 1, and its parameters apart."""
    policy = tiny(scale=2.0, hurry=-0.3)
    if options:
        policy = start_policy(key, cj.LearnedLatent, model, K, {"width": 3, **options})
        policy = jax.tree.map(lambda x: 0.3 * x if eqx.is_inexact_array(x) else x, policy)
    whole = problem(policy, model, K, objective)
    one = jax.tree.map(lambda leaf: leaf[0], whole)
    return *parted(policy), one


@partial(jax.jit, static_argnames=("static", "climb"))
def slope_and_value(params, numbers, one, key, static, climb):
    def surrogate(params):
        policy = eqx.combine(params, eqx.combine(numbers, static.tree))
        found = estimate_one(policy, one, key, climb)
        return found.surrogate, (found.value, found.objective)

    return jax.grad(surrogate, has_aux=True)(params)


class Static:
    """A policy's parts that are no arrays, hashable by identity."""

    def __init__(self, tree):
        self.tree = tree


def projections(key, params):
    """Four random directions in the space of parameters."""
    return [
        jax.tree.map(
            lambda leaf, k=k: jax.random.normal(jax.random.fold_in(k, leaf.size), leaf.shape), params
        )
        for k in jax.random.split(key, 4)
    ]


def along(slope, direction):
    return sum(jax.tree.leaves(jax.tree.map(lambda a, b: jnp.sum(a * b), slope, direction)))


CASES = [
    pytest.param("auc", {"network": "set"}, False, (0.0, 0.0), marks=pytest.mark.slow),
    ("auc", {}, True, (0.3, 0.2)),
    pytest.param("gain", {"knows": "router", "network": "mlp"}, False, (0.0, 0.0), marks=pytest.mark.slow),
    pytest.param("coverage", {"sees": "blind", "network": "mlp"}, False, (0.2, 0.1), marks=pytest.mark.slow),
    ("full_coverage", {}, True, (0.0, 0.0)),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("objective", "options", "sets", "costs"), CASES)
def test_score_gradient_is_the_exact_one_in_the_mean(rng, key, objective, options, sets, costs):
    """False alarms: 6 normal z beyond 5 per case, 3e-6 a run."""
    start, directing, running, unused = jax.random.split(key, 4)
    params, rest, one = setup(start, small_model(rng, sets), objective, **options)
    numbers, other = eqx.partition(rest, eqx.is_array)
    static = Static(other)
    exact, (value, reached) = slope_and_value(
        params, numbers, one, unused, static, Climb(objective, "exact", K, 2, costs)
    )
    climb = Climb(objective, "score", K, 4, costs)
    directions = projections(directing, params)

    def sample(k):
        slope, (value, reached) = slope_and_value(params, numbers, one, k, static, climb)
        return jnp.stack([along(slope, d) for d in directions] + [value, reached])

    seen = np.asarray(jax.lax.map(sample, jax.random.split(running, KEYS), batch_size=500), np.float64)
    truth = np.array([along(exact, d) for d in directions] + [value, reached], np.float64)
    error = seen.std(axis=0, ddof=1) / np.sqrt(KEYS)
    assert (np.abs(truth[:4]) > 10 * 1e-6).any()
    assert (np.abs(seen.mean(axis=0) - truth) < 5 * error + 1e-6).all()


@pytest.mark.statistical
@pytest.mark.parametrize("sets", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_regrets_give_the_value_and_less_noise(rng, key, sets):
    """False alarms: one normal z beyond 5 per case, 6e-7."""
    objective = "full_coverage" if sets else "auc"
    start, *streams = jax.random.split(key, 4)
    params, rest, one = setup(start, small_model(rng, sets), objective)
    numbers, other = eqx.partition(rest, eqx.is_array)

    def values(way, keys):
        climb = Climb(objective, way, K, 4, (0.0, 0.0))
        return jax.lax.map(
            lambda k: slope_and_value(params, numbers, one, k, Static(other), climb)[1][1],
            keys,
            batch_size=250,
        )

    regret = np.asarray(values("regret", jax.random.split(streams[0], 1000)), np.float64)
    score = np.asarray(values("score", jax.random.split(streams[1], 1000)), np.float64)
    exact = values("exact", streams[2][None])[0]
    assert abs(regret.mean() - exact) < 5 * regret.std() / np.sqrt(1000) + 1e-6
    assert regret.std() < score.std()


def test_regrets_vanish_for_the_optimal_plan(rng, key):
    from coverjax.learning.gradients import _rewards
    from coverjax.learning.subset_values import regrets

    model = small_model(rng)
    for name, planned in (("auc", "auc"), ("coverage", "final")):
        _, _, one = setup(jax.random.clone(key), model, name)
        climb = Climb(name, "regret", K, 2, (0.0, 0.0))
        best, table = regrets(one.rows, one.masks, *_rewards(one, climb), K, one.bits)
        curves = cj.exact(cj.OptimalLatent(planned), model, K)
        expected = cj.auc(curves)[0] if name == "auc" else curves.coverage[0, -1]
        np.testing.assert_allclose(best, expected, rtol=1e-6)
        assert table.shape == (K, 8, 3)
        np.testing.assert_allclose(table.min(axis=2), 0.0, atol=1e-7)
        assert (np.asarray(table) >= 0).all()


def test_the_exact_climb_is_the_objective_of_exact_curves(rng, key):
    """Adaptive and blind policies, on inputs with undeclared strategies."""
    generator = rng.dirichlet(np.ones(5), size=(2, 3))[..., :4]
    declared = np.array([[1, 1, 1, 0], [0, 1, 1, 1]], bool)
    model = cj.RouterGenerator(rng.dirichlet(np.ones(3), size=2), generator, declared=declared)
    table = TabularLogits(jax.random.normal(jax.random.clone(key), (2, K, 3)))
    for policy in (tiny(scale=2.0, hurry=-0.3), cj.LearnedLatent(table, sees="blind")):
        curves = cj.exact(policy, model, K)
        whole = problem(policy, model, K, "auc")

        def climbed(objective, costs=(0.0, 0.0), policy=policy, whole=whole):
            climb = Climb(objective, "exact", K, 2, costs)
            return jax.vmap(lambda one: estimate_one(policy, one, jax.random.clone(key), climb))(whole)

        np.testing.assert_allclose(climbed("auc").objective, cj.auc(curves), atol=2e-6)
        np.testing.assert_allclose(climbed("coverage").objective, curves.coverage[:, -1], atol=2e-6)
        np.testing.assert_allclose(climbed("full_coverage").objective, curves.full_coverage[:, -1], atol=2e-6)
        priced = climbed("auc", (1.0, 0.0))
        assert (priced.objective - priced.value > 0).all()


def test_the_cost_of_a_router_is_its_divergence(rng, key):
    model = small_model(rng)
    policy = start_policy(key, cj.LearnedLatent, model, K, {"sees": "blind", "network": "table"})
    whole = problem(policy, model, K, "auc")
    one = jax.tree.map(lambda leaf: leaf[0], whole)
    found = estimate_one(policy, one, key, Climb("auc", "exact", K, 2, (0.5, 0.25)))
    even = np.full(3, 1 / 3)
    expected = 0.5 * objectives.kl(even, model.router[0]) - 0.25 * objectives.entropy(even)
    np.testing.assert_allclose(found.objective - found.value, expected, rtol=1e-4)
