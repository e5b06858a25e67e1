"""Objectives against the exact curves of the policies they describe; derivatives against differences."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import coverjax as cj
from coverjax.closed_form import forms
from coverjax.learning import objectives
from coverjax.policy.iid import IID
from coverjax.policy.latent import LatentNoRepeat
from coverjax.policy.learned import LearnedLatent
from coverjax.policy.schedule import LatentSchedule

K = 5


def exact(policy, law, budget, coverage="raw"):
    return forms.exact(policy, law, budget, coverage, include=("full_coverage", "strategy_auc"))


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def random_model(rng, sets=False, inputs=3, latents=3, strategies=4, zeros=True):
    outcomes = 6 if sets else strategies
    generator = rng.dirichlet(np.ones(outcomes + 1), size=(inputs, latents))[..., :outcomes]
    generator[:, 0, 0] = 0.0
    router = rng.dirichlet(np.ones(latents), size=inputs)
    if zeros:
        router[0] = np.eye(latents)[1]
    matches = rng.random((outcomes, strategies)) < 0.45 if sets else None
    return cj.RouterGenerator(router, generator, matches=matches)


def forms_and_curves(rng, sets):
    """Each form with the exact curves of the policy that it describes."""
    model = random_model(rng, sets)
    w, m, inputs = model.generator, model.matches, model.inputs
    routers = rng.dirichlet(np.ones(3), size=(inputs, K))
    law = model.marginal()
    yield objectives.iid(law.probs, m), exact(IID(), law, K)
    yield objectives.latent_iid(model.router, w, m), exact(IID(), law, K)
    yield objectives.no_repeat(w, matches=m), exact(LatentNoRepeat(), _all_live(model), K)
    yield objectives.no_repeat(w, model.router, m), exact(LatentNoRepeat("router"), model, K)
    scheduled = exact(LatentSchedule(np.log(routers)), model, K)
    yield objectives.schedule(routers, w, m), scheduled
    unaware = np.repeat(np.log(routers)[:, :, None], 16, axis=2)
    yield objectives.markov(unaware, w, m), scheduled


def _all_live(model):
    even = np.full(model.router.shape, 1 / model.latents)
    return cj.RouterGenerator(even, model.generator, matches=model.matches)


SETS = [True, pytest.param(False, marks=pytest.mark.slow)]


@pytest.mark.parametrize("sets", SETS)
def test_values_are_those_of_the_exact_curves(rng, sets):
    for form, curves in forms_and_curves(rng, sets):
        kind = type(form).__name__
        np.testing.assert_allclose(objectives.auc(form, K), cj.auc(curves), atol=1e-12, err_msg=kind)
        np.testing.assert_allclose(objectives.coverage(form, K), curves.coverage[:, -1], atol=1e-12)
        np.testing.assert_allclose(objectives.full_coverage(form, K), curves.full_coverage[:, -1], atol=1e-12)


@pytest.mark.parametrize("sets", [False, True])
def test_a_choice_by_seen_set_is_the_policy_of_that_choice(rng, sets):
    model = random_model(rng, sets)
    logits = rng.normal(size=(model.inputs, K, 16, model.latents)) * 2

    class BySeenSet(eqx.Module):
        """Row `draw * 16 + subset` of a table."""

        logits: jax.Array

        def __call__(self, sight):
            powers = 1 << jnp.arange(4, dtype=jnp.int32)
            subset = jnp.sum(sight.seen.astype(jnp.int32) * powers)
            return self.logits[sight.row, sight.draw * 16 + subset]

    policy = LearnedLatent(BySeenSet(jnp.asarray(logits).reshape(model.inputs, K * 16, model.latents)))
    curves = exact(policy, model, K)
    form = objectives.markov(logits, model.generator, model.matches)
    np.testing.assert_allclose(objectives.auc(form, K), cj.auc(curves), atol=1e-12)
    np.testing.assert_allclose(objectives.coverage(form, K), curves.coverage[:, -1], atol=1e-12)
    np.testing.assert_allclose(objectives.full_coverage(form, K), curves.full_coverage[:, -1], atol=1e-12)


@pytest.mark.parametrize("sets", SETS)
def test_weights_are_the_weighted_mean_over_strategies(rng, sets):
    weights = np.array([[1.0, 0.0, 4.0, 2.0], [0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    share = weights / weights.sum(1, keepdims=True)
    for form, curves in forms_and_curves(rng, sets):
        expected = np.sum(share * curves.strategy_auc, axis=1)
        np.testing.assert_allclose(objectives.auc(form, K, weights=weights), expected, atol=1e-12)
        np.testing.assert_allclose(objectives.auc(form, K, weights=7 * weights), expected, atol=1e-12)


def test_full_coverage_asks_for_the_weighted_strategies_only(rng):
    weights = np.array([2.0, 0.0, 1.0, 0.0])
    for sets in (False, True):
        model = random_model(rng, sets)
        declared = cj.RouterGenerator(
            model.router, model.generator, matches=model.matches, declared=weights > 0
        )
        for form, policy in (
            (objectives.latent_iid(model.router, model.generator, model.matches), IID()),
            (objectives.no_repeat(model.generator, model.router, model.matches), LatentNoRepeat("router")),
        ):
            expected = exact(policy, declared, K).full_coverage[:, -1]
            np.testing.assert_allclose(objectives.full_coverage(form, K, weights), expected, atol=1e-12)


def test_product_form_and_log_coverage_are_what_they_say(rng):
    q = rng.random((2, 20)) * 0.4
    seen = 1 - (1 - q) ** K
    np.testing.assert_allclose(objectives.full_coverage(q, K, form="product"), seen.prod(1), rtol=1e-12)
    floor = 1e-6
    expected = np.log((seen + floor) / (1 + floor)).mean(1)
    np.testing.assert_allclose(objectives.log_coverage(q, K), expected, rtol=1e-12)
    unreachable = np.array([0.5, 0.0])
    expected = (np.log((1 - 0.5**K + floor) / (1 + floor)) + np.log(floor / (1 + floor))) / 2
    np.testing.assert_allclose(objectives.log_coverage(unreachable, K), expected, rtol=1e-12)
    assert np.isfinite(jax.grad(lambda p: objectives.log_coverage(p, K))(jnp.asarray(unreachable))).all()


def test_gain_is_that_of_the_curves(rng):
    model = random_model(rng)
    better = objectives.no_repeat(model.generator, model.router)
    base = model.marginal().marginals()
    curves = exact(LatentNoRepeat("router"), model, K), exact(IID(), model, K)
    from coverjax.policy.oracle import OracleNoRepeat

    expected = cj.gain(*curves, exact(OracleNoRepeat(), model, K))
    np.testing.assert_allclose(objectives.gain(better, K, base), expected, atol=1e-12)
    np.testing.assert_allclose(objectives.gain(base, K, base), 0.0, atol=1e-12)


def test_gain_is_nan_without_room_and_its_derivative_zero():
    sure = jnp.array([1.0, 0.0])
    both = objectives.iid(jnp.array([1.0]), [[True, True]])
    assert np.isnan(objectives.gain(both, 1, both))
    assert not np.isnan(objectives.gain(sure, 2, sure))
    slope = jax.grad(lambda p: objectives.gain(p, 1, sure))(sure)
    assert np.isfinite(slope).all()


OBJECTIVES = [
    ("auc", {}),
    ("full_coverage", {}),
    *(
        pytest.param(name, options, marks=pytest.mark.slow)
        for name, options in (("coverage", {}), ("log_coverage", {}), ("full_coverage", {"form": "product"}))
    ),
]


@pytest.mark.parametrize(("name", "options"), OBJECTIVES)
def test_derivatives_agree_with_differences(rng, name, options):
    model = random_model(rng, name == "full_coverage", inputs=1, zeros=False)
    w, m = model.generator[0], model.matches
    makers = {
        "latent_iid": ((3,), lambda x: objectives.latent_iid(jax.nn.softmax(x), w, m)),
        "schedule": ((K, 3), lambda x: objectives.schedule(jax.nn.softmax(x), w, m)),
        "no_repeat": ((3,), lambda x: objectives.no_repeat(w, jax.nn.softmax(x), m)),
        "markov": ((K, 16, 3), lambda x: objectives.markov(x, w, m)),
    }
    for kind, (shape, make) in makers.items():
        x, direction = jnp.asarray(rng.normal(size=shape)), jnp.asarray(rng.normal(size=shape))
        points = x + jnp.array([0.0, 1e-5, -1e-5]).reshape(3, *(1,) * x.ndim) * direction
        value = jax.value_and_grad(lambda x, make=make: getattr(objectives, name)(make(x), K, **options))
        values, slopes = jax.jit(lambda points, value=value: jax.lax.map(value, points))(points)
        numeric = (values[1] - values[2]) / 2e-5
        np.testing.assert_allclose(
            jnp.vdot(slopes[0], direction), numeric, rtol=1e-6, atol=1e-9, err_msg=kind
        )


def test_derivatives_exist_at_the_edges():
    for q in ([0.0, 1.0, 0.5], [1e-300, 1 - 1e-16, 0.0], [0.0, 0.0, 0.0]):
        for name in ("auc", "coverage", "log_coverage", "full_coverage"):
            slope = jax.grad(lambda p, name=name: getattr(objectives, name)(p, 7))(jnp.asarray(q))
            assert np.isfinite(slope).all(), (name, q)
    certain = jnp.eye(3)
    table = jnp.eye(3)[:, :2]
    slope = jax.grad(lambda r: objectives.auc(objectives.schedule(r, table), 3))(certain)
    assert np.isfinite(slope).all()


def test_counted_outcomes_spend_their_draw(rng):
    probs, matches = rng.dirichlet(np.ones(5), size=2), rng.random((5, 3)) < 0.5
    correct = rng.random(5)
    law = cj.OutcomeLaw.from_match_sets(probs, matches, correct=correct)
    curves = exact(IID(), law, K, coverage="correct")
    form = objectives.iid(probs, matches, counted=correct)
    np.testing.assert_allclose(objectives.auc(form, K), cj.auc(curves), atol=1e-13)
    np.testing.assert_allclose(objectives.full_coverage(form, K), curves.full_coverage[:, -1], atol=1e-13)


def test_auc_of_a_router_is_concave(rng):
    w = rng.dirichlet(np.ones(4), size=3)
    for name in ("auc", "coverage", "log_coverage"):

        def value(r, name=name):
            return getattr(objectives, name)(objectives.latent_iid(r, w), K)

        a, b = rng.dirichlet(np.ones(3), size=2)
        ends = (value(a) + value(b)) / 2
        assert value((a + b) / 2) >= ends - 1e-15


def test_kl_and_entropy(rng):
    r, b = rng.dirichlet(np.ones(4), size=2)
    np.testing.assert_allclose(objectives.kl(r, b), np.sum(r * np.log(r / b)), rtol=1e-12)
    np.testing.assert_allclose(objectives.entropy(r), -np.sum(r * np.log(r)), rtol=1e-12)
    corner, even = jnp.array([1.0, 0.0]), jnp.array([0.5, 0.5])
    np.testing.assert_allclose(objectives.kl(corner, even), np.log(2), rtol=1e-12)
    assert objectives.entropy(corner) == 0
    assert np.isinf(objectives.kl(even, corner))
    assert np.isfinite(jax.grad(lambda x: objectives.kl(x, even))(corner)).all()


def test_composes_with_jit_vmap_and_a_users_network(rng):
    features, w = jnp.asarray(rng.normal(size=(6, 2))), jnp.asarray(rng.dirichlet(np.ones(4), size=(6, 3)))

    def loss(theta):
        routers = jax.vmap(lambda f: jax.nn.softmax(theta @ f))(features)
        each = jax.vmap(lambda r, table: objectives.auc(objectives.latent_iid(r, table), K))(routers, w)
        together = objectives.auc(objectives.latent_iid(routers, w), K)
        return each.mean(), jnp.abs(each - together).max()

    theta = jnp.zeros((3, 2))
    (_, difference), slope = jax.jit(jax.value_and_grad(loss, has_aux=True))(theta)
    assert difference < 1e-14
    assert np.abs(slope).max() > 0


def test_single_precision_stays_single(rng):
    q = jnp.asarray(rng.dirichlet(np.ones(5)), jnp.float32)
    assert objectives.auc(q, 64).dtype == jnp.float32
    np.testing.assert_allclose(objectives.auc(q, 64), objectives.auc(np.float64(q), 64), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda q, w: objectives.auc(q, 0), "draws: must be a whole number"),
        (lambda q, w: objectives.auc(q, 2.5), "draws: must be a whole number"),
        (lambda q, w: objectives.auc(q, 3, weights=[1.0]), r"weights: must be \[2\]"),
        (lambda q, w: objectives.latent_iid(q, w), "router: must end in the 3 latents"),
        (
            lambda q, w: objectives.auc(objectives.schedule(np.ones((2, 3)) / 3, w), 3),
            "got 2 rows for 3 draws",
        ),
        (
            lambda q, w: objectives.markov(np.zeros((3, 5, 3)), w),
            "logits: must be .* 4 strategies|\\[draws, 4",
        ),
        (lambda q, w: objectives.full_coverage(np.ones(17) / 17, 3), "at most 16 strategies; got 17"),
        (lambda q, w: objectives.full_coverage(q, 3, form="soft"), "form: must be one of"),
        (lambda q, w: objectives.iid(q, np.ones((3, 2), bool)), "matches: must be bool \\[2"),
    ],
)
def test_wrong_input_is_refused(call, message):
    with pytest.raises(cj.InputError, match=message):
        call(np.array([0.5, 0.5]), np.full((3, 2), 0.5))
