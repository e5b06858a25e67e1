"""Continuous latents: densities against SciPy, the objective against its parts, files and settings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from coverjax.foundation.checks import InputError
from coverjax.sequences import continuous
from coverjax.sequences.factorization import Texts, Weights, base_surprisals
from coverjax.sequences.fitting import factorize, fit_base
from coverjax.sequences.gaussian import LIMIT, Normal, divergence
from coverjax.sequences.generation import draw, generate, router_normal, router_probs
from coverjax.sequences.language_model import LanguageModel, start_model
from coverjax.sequences.roles import inputs_of
from coverjax.sequences.tasks.registry import task
from coverjax.sequences.tokenizer import Tokenizer, pairs
from coverjax.sequences.transformer import Size, stream

WORDS = ("a", "b", "c", "=")
PAIRS = [("ab", "a=b"), ("c", "cc"), ("abc", "b=c=a"), ("ba", "")]
SIZE = Size(width=8, layers=1, heads=1, hidden=8)
TINY = {"size": SIZE, "batch": 8, "texts": 40, "held_out": 8, "warmup": 2, "progress": False}

gaussian_loss = jax.jit(continuous.gaussian_loss)
normal_laws = jax.jit(continuous.normal_laws)
surprisals_at = jax.jit(continuous.surprisals_at)
importance_bound = jax.jit(continuous.importance_bound, static_argnums=3)


def noisy(model, key):
    """Return the model with every number moved, so that none of its laws is a special one."""
    leaves, structure = jax.tree.flatten(model)
    keys = jax.random.split(key, len(leaves))
    moved = [
        leaf + 0.3 * jax.random.normal(k, leaf.shape, leaf.dtype)
        for leaf, k in zip(leaves, keys, strict=True)
    ]
    return jax.tree.unflatten(structure, moved)


def model_of(dimensions):
    start, gaussian, moving = jax.random.split(jax.random.key(2), 3)
    model = start_model(start, "none", WORDS, SIZE, (6, 12))
    return noisy(model.with_gaussian(gaussian, dimensions), moving)


@pytest.fixture(scope="module")
def model():
    return model_of(2)


@pytest.fixture(scope="module")
def texts():
    tokens, slots, ends = (jnp.asarray(part) for part in pairs(Tokenizer(WORDS), PAIRS))
    return Texts(tokens, slots, ends, jnp.zeros((len(PAIRS), 1), jnp.float32), jnp.ones(len(PAIRS)))


def normal(mean, scale):
    return Normal(jnp.asarray(mean, jnp.float32), jnp.log(jnp.asarray(scale, jnp.float32)))


@pytest.mark.parametrize(
    ("q", "r"),
    [((0.0, 1.0), (0.0, 1.0)), ((0.7, 0.5), (0.0, 1.0)), ((-1.0, 2.0), (0.5, 0.8)), ((0.1, 0.3), (0.2, 3.0))],
)
def test_divergence_is_the_integral(q, r):
    def density(x):
        return stats.norm.pdf(x, *q) * (stats.norm.logpdf(x, *q) - stats.norm.logpdf(x, *r))

    reach = 12 * q[1]
    wanted, _ = integrate.quad(density, q[0] - reach, q[0] + reach)
    found = divergence(normal(*([v] for v in q)), normal(*([v] for v in r)))
    np.testing.assert_allclose(found, [wanted], rtol=1e-5, atol=1e-6)


def test_divergence_is_the_known_formula_by_dimension(rng):
    (m, s), (n, t) = ((rng.normal(size=(5, 3)), rng.uniform(0.3, 3.0, (5, 3))) for _ in range(2))
    wanted = np.log(t / s) + (s**2 + (m - n) ** 2) / (2 * t**2) - 0.5
    np.testing.assert_allclose(divergence(normal(m, s), normal(n, t)), wanted, rtol=1e-4, atol=1e-5)


def test_densities_are_scipy_s(rng):
    mean, scale, z = rng.normal(size=(5, 3)), rng.uniform(0.3, 3.0, (5, 3)), rng.normal(size=(5, 3))
    wanted = stats.norm.logpdf(z, mean, scale).sum(axis=-1)
    np.testing.assert_allclose(
        normal(mean, scale).log_density(jnp.asarray(z, jnp.float32)), wanted, rtol=1e-4
    )


def test_scales_stay_within_their_limits(model):
    far = 1e4 * jnp.ones((3, 8), jnp.float32)
    for law in (model.gaussian.routed(far), model.gaussian.encoded(-far)):
        assert np.abs(law.log_scale).max() <= LIMIT


@pytest.mark.parametrize(("balance", "free"), [(0.0, 0.0), (0.7, 0.0), (0.0, 2.0)])
def test_the_objective_is_surprisal_and_priced_divergence(model, texts, balance, free):
    key = jax.random.key(3)
    loss, facts = gaussian_loss(model, texts, key, Weights(0.5, 0.5, 1.0, balance, free))
    router, encoder = normal_laws(model, texts)
    noise = jax.random.normal(jax.random.clone(key), (len(PAIRS), 2), jnp.float32)
    z = np.asarray(encoder.mean) + np.exp(encoder.log_scale) * np.asarray(noise)
    kl = np.asarray(divergence(encoder, router)).mean(axis=0)
    assert kl.min() < 2.0 < kl.max()
    told = np.asarray(surprisals_at(model, texts, jnp.asarray(z, jnp.float32)))
    wanted = told.mean() + 0.5 * (1.0 - balance) * np.maximum(kl, free).sum()
    np.testing.assert_allclose(loss, wanted, rtol=1e-5)
    np.testing.assert_allclose(facts["use"], kl, rtol=1e-5)


def test_the_reparameterised_gradient_is_that_of_finite_differences(model, texts):
    weights = Weights(0.5, 0.5, 1.0, 0.0, 0.0)

    @jax.jit
    def loss(gaussian):
        held = LanguageModel(model.network, model.tokenizer, "none", 6, 12, gaussian)
        return continuous.gaussian_loss(held, texts, jax.random.key(3), weights)[0]

    slope = jax.grad(loss)(model.gaussian)
    step = 1e-2
    for name in ("entry", "shift", "router", "router_shift", "encoder", "encoder_shift"):
        toward = getattr(slope, name)
        length = float(jnp.linalg.norm(toward))
        assert length > 1e-3, name

        def moved(size, name=name, toward=toward, length=length):
            leaves = {**vars(model.gaussian), name: getattr(model.gaussian, name) + size * toward / length}
            return float(loss(type(model.gaussian)(**leaves)))

        np.testing.assert_allclose((moved(step) - moved(-step)) / (2 * step), length, rtol=2e-2)


def test_the_router_has_not_read_the_answer_and_the_encoder_has(model, texts):
    changed = texts._replace(tokens=texts.tokens.at[jnp.arange(4), texts.slots + 1].set(2))
    (router, encoder), (again, other) = normal_laws(model, texts), normal_laws(model, changed)
    np.testing.assert_array_equal(router.mean, again.mean)
    np.testing.assert_array_equal(router.log_scale, again.log_scale)
    assert np.abs(encoder.mean[:3] - other.mean[:3]).max() > 1e-3


def test_the_bound_nears_the_integral_over_z(texts):
    """One dimension, the mixture by quadrature; the bound with one draw is above it, on average."""
    model = model_of(1)
    held = model.gaussian
    # An encoder a little wider than the router: the weights are bounded, and 2,000 draws are many.
    wider = jnp.asarray([0.1, 0.2], jnp.float32)
    still = {"router": 0 * held.router, "encoder": 0 * held.encoder}
    near = type(held)(**{**vars(held), **still, "encoder_shift": held.router_shift + wider})
    model = LanguageModel(model.network, model.tokenizer, "none", 6, 12, near)
    router, _ = normal_laws(model, texts)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    shares = weights / weights.sum()
    each = [
        surprisals_at(model, texts, router.at(jnp.full((len(PAIRS), 1), node, jnp.float32))) for node in nodes
    ]
    exact = -np.log(np.exp(-np.asarray(each, np.float64)).T @ shares)
    np.testing.assert_allclose(importance_bound(model, texts, jax.random.key(1), 2000), exact, atol=0.03)
    keys = jax.random.split(jax.random.key(2), 1000)
    few = jax.jit(jax.vmap(lambda key: continuous.importance_bound(model, texts, key, 1)))(keys)
    gap = np.asarray(few).mean(axis=1) - exact.mean()
    assert gap.mean() > 3 * gap.std() / np.sqrt(len(gap))


def test_a_latent_that_tells_nothing_leaves_the_base_model_its_loss(model, texts):
    """No entry, and an encoder that is the router: KL 0, and the bound with any draws is the base model's."""
    held = model.gaussian
    mute = type(held)(
        entry=0 * held.entry,
        shift=0 * held.shift,
        router=0 * held.router,
        router_shift=held.router_shift,
        encoder=0 * held.encoder,
        encoder_shift=held.router_shift,
    )
    collapsed = LanguageModel(model.network, model.tokenizer, "none", 6, 12, mute)
    wanted = jax.jit(base_surprisals)(collapsed, texts).sum(axis=-1)
    np.testing.assert_allclose(importance_bound(collapsed, texts, jax.random.key(0), 3), wanted, rtol=1e-5)
    loss, facts = gaussian_loss(collapsed, texts, jax.random.key(0), Weights(1.0, 0.5, 1.0, 0.0, 0.0))
    np.testing.assert_allclose(facts["use"], 0.0, atol=1e-6)
    np.testing.assert_allclose(loss, wanted.mean(), rtol=1e-5)


def test_new_continuous_latents_leave_the_base_as_it_is():
    base = start_model(jax.random.key(0), "none", WORDS, SIZE, (6, 12))
    model = base.with_gaussian(jax.random.key(1), 3)
    assert (model.latents, model.dimensions, base.dimensions) == (0, 3, 0)
    assert model.parameters == base.parameters + 3 * 8 + 8 + 2 * (8 * 6 + 6)
    for one, other in zip(jax.tree.leaves(base.network), jax.tree.leaves(model.network), strict=True):
        np.testing.assert_array_equal(one, other)
    mean, scale = router_normal(model, ["ab", "c"])
    np.testing.assert_array_equal(mean, np.zeros((2, 3)))
    np.testing.assert_array_equal(scale, np.ones((2, 3)))


def test_z_is_added_to_the_embedding_of_its_slot(model, texts):
    """The same stream as of a vocabulary in which `<none>` itself has been moved."""
    z = jnp.asarray([0.7, -1.2], jnp.float32)
    slot, tokens = texts.slots[0], texts.tokens[0]
    none = model.tokenizer.special("<none>")
    moved = model.network.embedding.at[none].add(z @ model.gaussian.entry + model.gaussian.shift)
    leaves = {**vars(model.network), "embedding": moved}
    network = type(model.network)(**leaves)
    read = jax.jit(stream)
    _, above = jax.jit(continuous.text_surprisals)(model, tokens, slot, texts.ends[0], z)
    np.testing.assert_allclose(above, read(network, tokens), rtol=1e-5, atol=1e-6)
    assert np.abs(np.asarray(above - read(model.network, tokens))).max() > 1e-2


def test_a_text_of_z_is_the_same_with_and_without_the_cache(model):
    keys = jax.random.split(jax.random.key(4), 6)
    z = np.linspace(-6, 6, 12).reshape(6, 2)
    asked = ["ab", "c", "abc"] * 2
    said = generate(model, asked, z, keys)
    assert generate(model, asked, z, jax.random.clone(keys), cached=False) == said
    assert generate(model, asked, -z, jax.random.clone(keys)) != said


def test_a_model_comes_back_from_its_file(model, tmp_path):
    path = tmp_path / "model.npz"
    model.save(path)
    found = LanguageModel.read(path)
    assert jax.tree.structure(found) == jax.tree.structure(model)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(model), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dimensions": 3}, "its arrays do not fit together"),
        ({"dimensions": 0}, r"its numbers are for decoder-1\+gaussian-1, this version computes decoder-1"),
        ({"arithmetic": "decoder-1+gaussian-0"}, r"this version computes decoder-1\+gaussian-1: fit it anew"),
        ({"dimensions": 1.5}, "dimensions: must be a whole number >= 0; got 1.5"),
    ],
)
def test_a_damaged_file_is_named_in_one_line(model, tmp_path, change, said):
    import json

    path = tmp_path / "model.npz"
    model.save(path)
    with np.load(path) as file:
        held = dict(file)
    facts = json.loads(str(held["facts"])) | change
    np.savez(path, **{**held, "facts": np.array(json.dumps(facts))})
    with pytest.raises(InputError, match=said) as caught:
        LanguageModel.read(path)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def subject():
    return task("list_summation")


def test_draws_of_the_router_are_named_by_their_input_and_number(subject):
    start, gaussian = jax.random.split(jax.random.key(5))
    base = start_model(start, subject.name, subject.vocabulary(), SIZE, (14, 24))
    model = base.with_gaussian(gaussian, 2)
    inputs = inputs_of(subject, np.random.default_rng(0), 3, "test")
    many = draw(jax.random.key(6), model, subject, inputs, 5)
    few = draw(jax.random.key(6), model, subject, inputs[1:], 3)
    assert many.latents.shape == (3, 5, 2)
    np.testing.assert_array_equal(many.latents[1:, :3], few.latents)
    assert many.texts[1:, :3].tolist() == few.texts.tolist()
    assert many.log.latent is None
    given = draw(jax.random.key(6), model, subject, inputs, 5, latents=many.latents)
    assert given.texts.tolist() == many.texts.tolist()
    for wrong in (np.zeros((5, 3)), np.full((5, 2), np.nan), np.zeros((4, 2)), [["a", "b"]] * 5):
        with pytest.raises(InputError, match="latents: must be finite numbers"):
            draw(jax.random.key(6), model, subject, inputs, 5, latents=wrong)
    with pytest.raises(InputError, match="this one's are continuous, 2 dimensions: explore them with"):
        router_probs(model, ["sum 3,5,2,8"])
    with pytest.raises(InputError, match="must have continuous latents; this is a base model"):
        router_normal(base, ["sum 3,5,2,8"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dimensions": 0}, "dimensions: must be a whole number >= 1; got 0"),
        ({"free": -0.5}, "free: must be a number from 0 to inf; got -0.5"),
        ({"free": float("inf")}, "free: must be a number from 0 to inf; got inf"),
        ({"latents": 3}, "latents: must be left out"),
    ],
)
def test_settings_without_a_meaning_are_refused(subject, settings, said):
    with pytest.raises(InputError, match=said):
        factorize(jax.random.key(0), subject, None, objective="gaussian", **TINY, **settings)


@pytest.mark.slow
def test_an_interrupted_fit_ends_with_the_bits_of_one_that_was_not(subject, tmp_path, monkeypatch):
    """From a base model; and the held-out loss of the start is no better than its own bound."""
    from coverjax.sequences import runs

    base, _ = fit_base(jax.random.key(1), subject, steps=2, every=2, **TINY)

    def fit(checkpoint):
        given = {"objective": "gaussian", "dimensions": 2, "steps": 8, "every": 4, "checkpoint": checkpoint}
        return factorize(jax.random.key(2), subject, base, **given, **TINY)

    class StoppedError(Exception):
        pass

    def write_and_stop(*args):
        write(*args)
        raise StoppedError

    write = runs.write_checkpoint
    whole, told = fit(None)
    path = tmp_path / "unfinished.npz"
    monkeypatch.setattr(runs, "write_checkpoint", write_and_stop)
    with pytest.raises(StoppedError):
        fit(path)
    monkeypatch.undo()
    resumed, history = fit(path)
    for one, other in zip(jax.tree.leaves(resumed), jax.tree.leaves(whole), strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.any(np.asarray(whole.gaussian.router))
    for name in ("step", "loss", "held_out", "use"):
        np.testing.assert_array_equal(history[name], told[name])
    assert told["use"].shape == (2, 2)
    assert (told["use"] >= 0).all()


def test_a_text_of_no_weight_counts_for_nothing(model, texts):
    """As if the others were all; the noise of each is its own."""
    weight = jnp.asarray([1.0] * (len(PAIRS) - 1) + [0.0])

    def loss(texts):
        weights = Weights(*map(jnp.float32, (1.0, 0.5, 1.0, 0.0, 0.0)))
        return gaussian_loss(model, texts, jax.random.key(5), weights)

    changed = texts.tokens.at[-1].set(jnp.flip(texts.tokens[-1]))
    found, facts = loss(texts._replace(weight=weight))
    other, same = loss(texts._replace(weight=weight, tokens=changed))
    np.testing.assert_array_equal(found, other)
    np.testing.assert_array_equal(facts["use"], same["use"])
    assert float(found) != float(loss(texts)[0])
