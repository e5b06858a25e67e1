"""`exact` against brute force: every policy, 500 random models."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
import reference_models
import reference_policies as brute

from coverjax.closed_form.forms import exact
from coverjax.model.router_generator import RouterGenerator
from coverjax.policy.base import Policy
from coverjax.policy.greedy import TIE, GreedyLatent
from coverjax.policy.iid import IID
from coverjax.policy.latent import LatentIID, LatentNoRepeat
from coverjax.policy.no_repeat import BaseNoRepeat
from coverjax.policy.oracle import OracleNoRepeat
from coverjax.policy.schedule import LatentSchedule

BUDGET = 6
SCHEDULE = np.random.default_rng(7).normal(0.0, 2.0, (BUDGET, reference_models.LATENTS))
SCHEDULE[2, 1] = -np.inf


class Contrary(Policy):
    """A user's policy: softmax of a bonus for latents that give what was seen, changing with the draw."""

    strength: float = 1.5

    sees = "outcomes"
    knows = "true_W"
    acts_on = "latents"
    markov = True

    def init(self, known):
        return jnp.zeros_like(known.declared)

    def choose(self, known, state, draw):
        back = jnp.sum(jnp.where(state, known.table, 0.0), axis=-1)
        return self.strength * back + jnp.where(jnp.arange(known.latents) == draw % 3, 1.0, 0.0)

    def update(self, known, state, draw, action, matched):
        return state | matched


class NamesOutcomes(Policy):
    """A user's policy that names outcomes blindly."""

    sees = "blind"
    knows = "nothing"
    acts_on = "outcomes"
    markov = True

    def init(self, known):
        return ()

    def choose(self, known, state, draw):
        return jnp.where(jnp.arange(5) == draw, 1.0, 0.0)

    def update(self, known, state, draw, action, matched):
        return state


def softmax(row):
    weights = np.exp(row - row.max())
    return (weights / weights.sum()).tolist()


def contrary(table, declared):
    def choose(seen, k):
        backs = [sum(p * len(m & declared & seen) for p, m in atoms) for atoms in table]
        logits = np.array([1.5 * back + (z == k % 3) for z, back in enumerate(backs)])
        return list(zip(softmax(logits), range(len(table)), strict=True))

    return brute.by_seen_set(choose)


def named_strategies(weights):
    """Strategies named without repeats; an action is a strategy, matched for certain."""
    return brute.no_repeat(weights), [[(1.0, frozenset([s]))] for s in range(len(weights))]


def marginals(law, declared):
    return [
        sum(p for p, m in law if s in m) if s in declared else 0.0 for s in range(reference_models.STRATEGIES)
    ]


def mixture(router, table):
    law = {}
    for r, atoms in zip(router, table, strict=True):
        for p, match in atoms:
            law[match] = law.get(match, 0.0) + r * p
    return [(p, match) for match, p in law.items() if p > 0]


def plan(policy, router, table, declared):
    """The reference policy and its action table for one input."""
    base = mixture(router, table)
    q = marginals(base, declared)
    return {
        "IID": lambda: (brute.memoryless([1.0]), [base]),
        "LatentIID": lambda: (brute.memoryless(router), table),
        "OracleNoRepeat": lambda: named_strategies(
            [float(s in declared) for s in range(reference_models.STRATEGIES)]
        ),
        "BaseNoRepeat": lambda: named_strategies(q),
        "LatentNoRepeat": lambda: (brute.no_repeat(_weights(policy, router)), table),
        "LatentSchedule": lambda: (brute.scheduled([softmax(row) for row in SCHEDULE]), table),
        "GreedyLatent": lambda: (brute.greedy(table, declared, TIE), table),
        "Contrary": lambda: (contrary(table, declared), table),
    }[type(policy).__name__]()


def _weights(policy, router):
    live = [r if r > policy.support else 0.0 for r in router]
    return live if policy.order == "router" else [float(r > 0) for r in live]


def assert_equals_brute(curves, row, run, declared, latents):
    exactly = {"rtol": 0.0, "atol": 2e-13}
    size = len(declared)
    np.testing.assert_allclose(curves.distinct[row], run["distinct"], **exactly)
    np.testing.assert_allclose(curves.coverage[row], np.array(run["distinct"]) / size, **exactly)
    np.testing.assert_allclose(curves.novelty_count[row], run["novelty_count"], **exactly)
    np.testing.assert_allclose(curves.novelty_any[row], run["novelty_any"], **exactly)
    np.testing.assert_allclose(curves.full_coverage[row], run["full"], **exactly)
    law = curves.count_law[row]
    np.testing.assert_allclose(law[:, : size + 1], run["law"], **exactly)
    assert not law[:, size + 1 :].any()
    for s in range(reference_models.STRATEGIES):
        if s in declared:
            mean = math.fsum(seen[s] for seen in run["seen"]) / BUDGET
            assert curves.strategy_auc[row, s] == pytest.approx(mean, abs=2e-13)
        else:
            assert np.isnan(curves.strategy_auc[row, s])
    if curves.latent_coverage is not None:
        np.testing.assert_allclose(curves.latent_coverage[row], np.array(run["used"]) / latents, **exactly)


POLICIES = [
    IID(),
    LatentIID(),
    OracleNoRepeat(),
    BaseNoRepeat(),
    LatentNoRepeat(),
    LatentNoRepeat("router"),
    LatentNoRepeat("router", support=0.05),
    LatentSchedule(SCHEDULE),
    GreedyLatent(),
    Contrary(),
]


@pytest.fixture(scope="module", params=[False, True], ids=["single", "sets"])
def models(request):
    rng = np.random.default_rng(20 + request.param)
    arrays = reference_models.random_models(rng, 250, request.param)
    router, generator, matches, declared = arrays
    model = RouterGenerator(router, generator, matches, declared=declared)
    tables = reference_models.atom_lists(generator, matches, declared)
    return model, router.tolist(), tables, [frozenset(np.flatnonzero(row).tolist()) for row in declared]


@pytest.mark.parametrize(
    "policy", POLICIES, ids=lambda policy: type(policy).__name__ + str(vars(policy).get("order", ""))
)
def test_exact_is_brute_force(models, policy):
    model, routers, tables, declared = models
    curves = exact(policy, model, BUDGET, include="all")
    assert curves.provenance["kind"] == "exact"
    assert curves.provenance["form"]
    assert (curves.latent_coverage is None) == (policy.acts_on != "latents")
    for row in range(model.inputs):
        reference, table = plan(policy, routers[row], tables[row], declared[row])
        run = brute.run(reference, table, declared[row], BUDGET)
        assert_equals_brute(curves, row, run, declared[row], reference_models.LATENTS)
