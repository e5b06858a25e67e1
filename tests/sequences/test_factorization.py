"""Each objective against plain NumPy, and those of a model against brute force over latents."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coverjax.sequences import factorization
from coverjax.sequences.factorization import (
    OBJECTIVES,
    RARE,
    Texts,
    Weights,
    attention,
    elbo_loss,
    evened,
    fixed_weights,
    log_mean,
    marginal_loss,
    relative_surprisal,
    responsibilities,
    told_loss,
)
from coverjax.sequences.language_model import start_model, text_surprisals, with_latent
from coverjax.sequences.tokenizer import Tokenizer, pairs
from coverjax.sequences.transformer import Size, stream

WORDS = ("a", "b", "c", "=")
LATENTS = 3
SIZE = Size(width=8, layers=1, heads=1, hidden=8)
# Compiled: op by op each would be a program of its own.
all_surprisals = jax.jit(lambda *args: factorization.surprisals_and_router(*args)[0])
base_surprisals = jax.jit(factorization.base_surprisals)
router_logs = jax.jit(lambda *args: factorization.surprisals_and_router(*args)[1])
batch_loss = jax.jit(factorization.batch_loss, static_argnums=3)

PAIRS = [("ab", "a=b"), ("c", "cc"), ("abc", "b=c=a"), ("ba", "")]


@pytest.fixture(scope="module")
def model():
    return start_model(jax.random.key(2), "none", WORDS, SIZE, (6, 12), LATENTS)


@pytest.fixture(scope="module")
def texts():
    tokens, slots, ends = (jnp.asarray(part) for part in pairs(Tokenizer(WORDS), PAIRS))
    base = jnp.abs(jax.random.normal(jax.random.key(3), tokens.shape, jnp.float32)) + 0.1
    place = jnp.arange(tokens.shape[1])
    inside = (place >= slots[:, None]) & (place < ends[:, None])
    return Texts(tokens, slots, ends, jnp.where(inside, base, 0.0), jnp.ones(len(PAIRS)))


@pytest.fixture
def numbers(rng):
    """Surprisals, and log-probabilities of a router and an encoder; [texts, latents]."""
    logs = np.log(rng.dirichlet(np.ones(LATENTS), (2, 5)))
    return rng.gamma(2.0, 2.0, (5, LATENTS)), logs[0], logs[1]


def on_device(*arrays):
    return [jnp.asarray(array, jnp.float32) for array in arrays]


def test_marginal_is_minus_the_log_of_the_mixture(numbers):
    surprisal, router, _ = numbers
    wanted = [
        -np.log(sum(np.exp(r - s) for r, s in zip(*row, strict=True)))
        for row in zip(router, surprisal, strict=True)
    ]
    np.testing.assert_allclose(marginal_loss(*on_device(surprisal, router)), wanted, rtol=1e-5)


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_elbo_is_surprisal_and_divergence(numbers, beta):
    surprisal, router, encoder = numbers
    q = np.exp(encoder)
    wanted = (q * surprisal).sum(1) + beta * (q * np.log(q / np.exp(router))).sum(1)
    np.testing.assert_allclose(elbo_loss(*on_device(surprisal, router, encoder), beta), wanted, rtol=1e-5)


def test_elbo_of_the_posterior_is_the_marginal_and_any_other_is_above(numbers):
    surprisal, router, encoder = numbers
    posterior = router - surprisal - np.log(np.exp(router - surprisal).sum(1, keepdims=True))
    exact = marginal_loss(*on_device(surprisal, router))
    np.testing.assert_allclose(elbo_loss(*on_device(surprisal, router, posterior)), exact, rtol=1e-4)
    assert (elbo_loss(*on_device(surprisal, router, encoder)) > exact).all()


@pytest.mark.parametrize(("alpha", "gamma"), [(1.0, 1.0), (0.5, 1.0), (0.0, 2.0), (0.3, 0.0)])
def test_relative_surprisal_weighs_tokens_by_what_the_base_did_not_know(rng, alpha, gamma):
    surprisals, base = rng.gamma(2.0, 1.0, (4, LATENTS, 7)), rng.gamma(2.0, 1.0, (4, 7))
    inside = np.arange(7) < np.array([7, 5, 3, 1])[:, None]
    found = relative_surprisal(*on_device(surprisals, base * inside, inside), alpha, gamma)
    for text in range(4):
        b = base[text, inside[text]]
        weight = alpha / len(b) + (1 - alpha) * b**gamma / (b**gamma).sum()
        wanted = surprisals[text][:, inside[text]] @ weight / (weight @ b)
        np.testing.assert_allclose(found[text], wanted, rtol=1e-5)


def test_relative_surprisal_of_the_base_itself_is_1(rng):
    base = rng.gamma(2.0, 1.0, (4, 7))
    same = np.repeat(base[:, None], LATENTS, axis=1)
    found = relative_surprisal(*on_device(same, base, np.ones((4, 7))), 0.2, 1.5)
    np.testing.assert_allclose(found, 1.0, rtol=1e-5)


def plain_mean(router):
    """Log of the mean of r over texts that count alike."""
    return log_mean(router, jnp.ones(len(router)))


@pytest.mark.parametrize("beta", [0.5, 1.0, 4.0])
def test_balanced_responsibilities_use_all_latents_equally(rng, beta):
    surprisal, shared = on_device(rng.gamma(2.0, 2.0, (60, LATENTS)), np.zeros(LATENTS))
    share = np.asarray(responsibilities(surprisal, shared, beta, 1.0))
    np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(share.sum(axis=0), 20.0, rtol=5e-3)
    # Sinkhorn only scales columns: within a column, odds of two texts are those of the kernel.
    odds = np.log(share) + beta * np.asarray(surprisal)
    np.testing.assert_allclose(odds - odds[:, :1], np.tile((odds - odds[:, :1])[0], (60, 1)), atol=2e-3)


def test_latents_that_divide_the_inputs_exchange_their_texts():
    """Both latents write all texts; the router tells that one had those of some inputs, the other the rest.

    Equal use on the whole leaves it so where they write their own a little better. The log odds of the
    router, .4 nats, four times outweigh one nat of surprisal; what a latent can't write is not moved.
    """
    surprisal = np.array([[1.0, 2.0]] * 3 + [[2.0, 1.0]] * 3)
    router = np.log([[0.6, 0.4]] * 3 + [[0.4, 0.6]] * 3)
    surprisal, router, shared = on_device(surprisal, router, np.log([0.5, 0.5]))
    as_before = np.asarray(responsibilities(surprisal, shared, 8.0, 1.0))
    assert (as_before.argmax(axis=1) == [0, 0, 0, 1, 1, 1]).all()
    moved = np.asarray(responsibilities(evened(surprisal, router), shared, 8.0, 1.0))
    assert (moved.argmax(axis=1) == [1, 1, 1, 0, 0, 0]).all()
    far = jnp.asarray([[1.0, 20.0]] * 3 + [[20.0, 1.0]] * 3)
    kept = np.asarray(responsibilities(evened(far, router), shared, 8.0, 1.0))
    assert (kept.argmax(axis=1) == [0, 0, 0, 1, 1, 1]).all()
    np.testing.assert_array_equal(evened(surprisal, router, 0.0), surprisal)


def test_texts_of_earlier_batches_count_in_the_use(rng):
    """With them a batch is shared as it would be in one batch of all."""
    now, before, shared = on_device(
        rng.gamma(2.0, 2.0, (20, LATENTS)), rng.gamma(1.0, 3.0, (150, LATENTS)), np.zeros(LATENTS)
    )
    together = jnp.concatenate([now, before])
    wanted = responsibilities(together, shared, 2.0, 1.0)[:20]
    found = responsibilities(now, shared, 2.0, 1.0, before)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    assert np.abs(np.asarray(found).sum(axis=0) - 20 / LATENTS).max() > 0.1


def test_a_rare_strategy_that_a_batch_lacks_keeps_its_latent():
    """One latent writes what a tenth of the texts are; a batch without any must not be shared with it."""
    common, rare = [1.0, 30.0], [30.0, 1.0]
    batch, memory = on_device(np.array([common] * 8), np.array([common] * 90 + [rare] * 90))
    shared = jnp.zeros(2)
    alone = np.asarray(responsibilities(batch, shared, 4.0, 1.0))
    np.testing.assert_allclose(alone, 0.5, atol=0.01)
    kept = np.asarray(responsibilities(batch, shared, 4.0, 1.0, memory))
    assert kept[:, 1].max() < 0.05


@pytest.mark.parametrize("beta", [1.0, 4.0])
def test_responsibilities_that_let_go_are_a_posterior_with_one_weight_for_each_latent(numbers, beta):
    surprisal, router = on_device(*numbers[:2])
    found = responsibilities(surprisal, plain_mean(router), beta, 0.0)
    weights = np.exp(np.asarray(router, np.float64)).mean(axis=0)
    power = (weights * np.exp(-np.asarray(surprisal, np.float64))) ** beta
    np.testing.assert_allclose(found, power / power.sum(axis=1, keepdims=True), rtol=1e-4)


def test_of_twins_the_larger_one_gets_the_texts():
    """On every input, whatever its own router says there."""
    surprisal = np.array([[1.0, 1.0, 9.0], [1.0, 1.0, 9.0], [9.0, 9.0, 1.0]])
    router = np.log(np.array([[0.2, 0.5, 0.3], [0.8, 0.1, 0.1], [0.5, 0.1, 0.4]]))
    surprisal, router = on_device(surprisal, router)
    share = np.asarray(responsibilities(surprisal, plain_mean(router), 4.0, 0.0))
    assert (share[:2, 0] > 0.9).all()
    assert share[2, 2] > 0.99


def test_rare_latents_learn_as_much_as_frequent_ones():
    shared = plain_mean(jnp.log(jnp.asarray([[0.5, 0.4, 0.1, 0.0], [0.9, 0.0, 0.1, 0.0]])))
    np.testing.assert_allclose(attention(shared, 1.0), 1.0)
    np.testing.assert_allclose(attention(shared, 0.0), [1 / 0.7, 1 / 0.2, 1 / 0.1, 1 / RARE], rtol=1e-5)
    np.testing.assert_allclose(attention(shared, 0.5) ** 2, attention(shared, 0.0), rtol=1e-5)


def test_no_derivative_goes_through_the_responsibilities(numbers):
    surprisal, router = on_device(*numbers[:2])
    slope = jax.grad(lambda s: responsibilities(s, plain_mean(router)).sum(where=jnp.arange(LATENTS) == 0))(
        surprisal
    )
    assert not np.asarray(slope).any()


@pytest.fixture(scope="module")
def brute(model, texts):
    """Surprisals of each text under each latent by reading the softmax token by token, one text at a time."""
    above = jax.jit(stream)
    size = model.tokenizer.text_size
    found = np.zeros((len(PAIRS), LATENTS + 1))
    for row, (x, y) in enumerate(PAIRS):
        codes = [*model.tokenizer.encode(y), 0]
        start = len(x) + 2
        for z in range(-1, LATENTS):
            tokens = texts.tokens[row].at[start].set(model.tokenizer.latent(z))
            scores = (
                np.asarray(above(model.network, tokens), np.float64)
                @ np.asarray(model.network.head)[:, :size]
            )
            for place, code in enumerate(codes):
                line = scores[start + place]
                found[row, z] += np.log(np.exp(line).sum()) - line[code]
    return found


def test_surprisals_are_those_of_the_text_read_token_by_token(model, texts, brute):
    np.testing.assert_allclose(all_surprisals(model, texts).sum(-1), brute[:, :LATENTS], rtol=1e-4)
    np.testing.assert_allclose(base_surprisals(model, texts).sum(-1), brute[:, -1], rtol=1e-4)


def test_the_router_has_not_read_the_answer(model, texts):
    changed = texts.tokens.at[jnp.arange(4), texts.slots + 1].set(2)
    whole = router_logs(model, texts)
    np.testing.assert_array_equal(router_logs(model, texts._replace(tokens=changed)), whole)
    np.testing.assert_allclose(np.exp(whole).sum(axis=-1), 1.0, rtol=1e-5)
    asked = texts.tokens.at[:, 1].set(4)
    assert np.abs(router_logs(model, texts._replace(tokens=asked)) - whole).max(axis=1).min() > 1e-3


@pytest.mark.slow
def test_gradient_of_the_marginal_is_that_of_brute_force(model, texts):
    """One text and one latent at a time, probabilities added up as they are."""

    def one_by_one(model):
        total = 0.0
        logs = router_logs(model, texts)
        for row in range(len(PAIRS)):
            mixture = 0.0
            for z in range(LATENTS):
                told = with_latent(model, texts.tokens[row], texts.slots[row], z)
                surprisal = text_surprisals(model, told, texts.slots[row], texts.ends[row])[0].sum()
                mixture += jnp.exp(logs[row, z]) * jnp.exp(-surprisal)
            total -= jnp.log(mixture) / len(PAIRS)
        return total

    @jax.jit
    @jax.value_and_grad
    def ours(model):
        return factorization.batch_loss(model, texts, jax.random.key(0), "marginal", Weights())[0]

    loss, slope = ours(model)
    wanted, expected = jax.jit(jax.value_and_grad(one_by_one))(model)
    np.testing.assert_allclose(loss, wanted, rtol=1e-5)
    for found, known in zip(jax.tree.leaves(slope), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("objective", ["elbo", "beta_elbo", "global", "global_token"])
def test_objectives_of_a_model_are_those_of_its_numbers(model, texts, objective):
    weights = fixed_weights(objective, Weights(jnp.float32(0.4), jnp.float32(0.3), jnp.float32(1.5)))
    # The names that fix a number run the same program with that number.
    program = {"elbo": "beta_elbo", "global": "global_token"}.get(objective, objective)
    loss, facts = batch_loss(model, texts, jax.random.key(0), program, weights)
    above = np.asarray(jax.jit(jax.vmap(stream, in_axes=(None, 0)))(model.network, texts.tokens), np.float64)
    first = model.tokenizer.first_latent
    head = np.asarray(model.network.head, np.float64)[:, first:]
    logs = [
        above[np.arange(4), place] @ head for place in (np.asarray(texts.slots) - 1, np.asarray(texts.ends))
    ]
    router, encoder = (log - np.log(np.exp(log).sum(-1, keepdims=True)) for log in logs)
    each, base = np.asarray(all_surprisals(model, texts), np.float64), np.asarray(texts.base, np.float64)
    told = each.sum(-1)
    if objective.startswith("global"):
        alpha, gamma = (1.0, 1.0) if objective == "global" else (0.3, 1.5)
        told = np.zeros((4, LATENTS))
        for row in range(4):
            inside = slice(int(texts.slots[row]), int(texts.ends[row]))
            b = base[row, inside]
            weight = alpha / len(b) + (1 - alpha) * b**gamma / (b**gamma).sum()
            told[row] = each[row][:, inside] @ weight / (weight @ b)
    beta = 1.0 if objective == "elbo" else 0.4
    q = np.exp(encoder)
    wanted = (q * (told + beta * (encoder - router))).sum(-1).mean()
    np.testing.assert_allclose(loss, wanted, rtol=1e-4)
    np.testing.assert_allclose(facts["use"], q.mean(0), rtol=1e-4)


@pytest.mark.slow
@pytest.mark.statistical
def test_balanced_draws_latents_without_bias(model, texts, key):
    """Mean over 3,000 draws against the sum over latents; |z| < 5, false alarms below 1e-5."""
    weights = Weights(*map(jnp.float32, (1.0, 0.5, 1.0, 0.6)))
    keys = jax.random.split(key, 3000)
    drawn = jax.jit(jax.vmap(lambda k: factorization.batch_loss(model, texts, k, "balanced", weights)[0]))(
        keys
    )
    surprisal, router = all_surprisals(model, texts).sum(-1), router_logs(model, texts)
    shared = plain_mean(router)
    share = responsibilities(
        evened(surprisal, router, weights.balance), shared, weights.beta, weights.balance
    )
    effort = attention(shared, weights.balance)
    effort /= (share.mean(axis=0) * effort).sum()
    wanted = float((share * (effort * surprisal - router)).sum(-1).mean())
    drawn = np.asarray(drawn, np.float64)
    assert abs(drawn.mean() - wanted) < 5 * drawn.std() / np.sqrt(len(drawn))


@pytest.mark.parametrize("objective", ["marginal", "elbo", "global", "balanced"])
def test_a_text_that_counts_half_is_half_a_text(model, texts, objective):
    """Twice in a batch and counting half each time, or once: the same loss, gradient and use."""
    often = np.array([0, 1, 1, 2, 3, 3, 3])
    weight = jnp.asarray([1.0, 0.5, 0.5, 1.0, 1 / 3, 1 / 3, 1 / 3])
    repeated = Texts(*(part[often] for part in texts))._replace(weight=weight)
    # With a beta like this one latent has all of a text: what `balanced` draws is no chance.
    beta = 1e5 if objective == "balanced" else 0.4
    weights = fixed_weights(objective, Weights(*map(jnp.float32, (beta, 0.3, 1.5, 0.0))))

    @jax.jit
    @partial(jax.value_and_grad, has_aux=True)
    def ours(model, texts):
        return batch_loss(model, texts, jax.random.key(0), objective, weights)

    (loss, facts), slope = ours(model, texts)
    (other, same), others = ours(model, repeated)
    np.testing.assert_allclose(other, loss, rtol=1e-5)
    np.testing.assert_allclose(same["use"], facts["use"], rtol=1e-4)
    for found, known in zip(jax.tree.leaves(others), jax.tree.leaves(slope), strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-3, atol=1e-5)


def test_texts_that_were_told_their_latent(model, texts):
    """Each counts once for the generator and by its weight for the router, whatever the other latents say."""
    z, weight = np.array([2, 0, 1, 1]), np.array([0.5, 1.5, 1.0, 1.0])
    told = texts._replace(
        tokens=with_latent(model, texts.tokens, texts.slots, jnp.asarray(z)), weight=jnp.asarray(weight)
    )
    loss, facts = jax.jit(told_loss)(model, told)
    rows = np.arange(4)
    surprisal = np.asarray(all_surprisals(model, texts).sum(-1), np.float64)[rows, z]
    router = np.asarray(router_logs(model, texts), np.float64)[rows, z]
    assert float(loss) == pytest.approx(surprisal.mean() - np.average(router, weights=weight), rel=1e-5)
    np.testing.assert_allclose(facts["use"], [1.5 / 4, 2.0 / 4, 0.5 / 4], rtol=1e-6)


def test_only_the_numbers_that_a_name_leaves_open_are_free():
    free = Weights(0.1, 0.2, 3.0, 1.0)
    assert fixed_weights("elbo", free).beta == 1.0
    assert fixed_weights("global", free).alpha == 1.0
    assert fixed_weights("global_token", free) == free
    assert set(OBJECTIVES) == {"marginal", "elbo", "beta_elbo", "global", "global_token", "balanced"}
