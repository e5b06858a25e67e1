"""Objectives that split a mixture of strategies into a router and a generator, without labels.

All of them are losses, lower is better, of numbers that the network gives on a batch of texts:
S[b, z] = -log g(y_b | x_b, z) with its parts S[b, z, t] per token, log r(z | x_b) of the router, and, for
those that need it, log q(z | x_b, y_b) of an encoder and the surprisals b[b, t] of the base model.

    marginal       -log sum_z r g                                             exact, no encoder
    elbo           sum_z q S + KL(q || r)                                     q the encoder's
    beta_elbo      sum_z q S + beta KL(q || r)
    global         sum_z q S / B + beta KL(q || r), B = sum_t b_t             1 = no better than the base
    global_token   sum_z q (a . S) / (a . b) + beta KL(q || r)                likewise, where the base is
                   a_t = alpha / T + (1 - alpha) w_t, w_t ~ b_t^gamma         surprised, tokens count more
    balanced       sum_z q (w S - log r), q ~ exp(beta (-S' + (1 - lambda) log R) + lambda f) held fixed;
                   S' = S + lambda e log r, e = `EVENLY`; f_z by Sinkhorn iterations, so that the texts of
                   this batch and of those before it use all latents equally; R_z the mean of r(z | x_b) over
                   the batch; w_z ~ R_z^(lambda - 1), so that rare latents learn as much as frequent ones

In `balanced` the latents must share the texts while lambda is 1, which breaks the symmetry that a fitted
base model starts with: equally on the whole, by f; and they are pushed towards it on every input, because a
text pays for a latent that the router often draws there. Without that they may divide the inputs instead of
the strategies. As lambda falls to 0 (with beta 1) q becomes a posterior with one weight for each latent, and
the updates those of expectation maximisation, from a start that has split. With beta above 1 a text that two
latents write equally well goes to the one that has more texts, on all inputs the same one: so twins become
one, and what a latent writes only on some inputs is left to the one that writes it on all.

Where every text was told its latent, the loss is -log g(y_b | x_b, z_b) - log r(z_b | x_b): `TOLD`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from coverjax.sequences.language_model import LanguageModel, latent_logs, text_surprisals, with_latent
from coverjax.sequences.transformer import stream

TOLD = "told"
"""Name of the objective of texts whose latent is known."""

OBJECTIVES = ("marginal", "elbo", "beta_elbo", "global", "global_token", "balanced")

RARE = 0.02
"""Share of the texts below which a latent is not given more weight."""

EVENLY = 4.0
"""Nats that a text pays for a latent, for each nat of log r on its input. With 0, 1 and 4 of them .79, .86
and .87 of the texts of `grid_pathfinding` were with their latent's main strategy after 1,200 updates; with 0
and 1 the rarest strategy was divided between goals above and goals below, with 4 it had one latent."""

SINKHORN = 100
"""Iterations; each makes the use of the latents equal and then the rows sum to 1."""


class Texts(NamedTuple):
    """A batch of texts, or a corpus, as arrays of JAX or of NumPy.

    Attributes:
        tokens: ``<begin> x <separator> <none> y <end>``, padded on the right [texts, length].
        slots, ends: the places of `<none>` and of `<end>` [texts].
        base: surprisals under the base model, 0 outside y [texts, length]; zeros where no objective asks.
        weight: what a text counts for in means over a batch, the less the more often it is drawn; 1 where
            texts are drawn as they come. What `told_loss` teaches the generator is no such mean.
    """

    tokens: Any
    slots: Any
    ends: Any
    base: Any
    weight: Any

    def some(self, rows: Any) -> "Texts":
        """Return the texts of some rows: a slice, or their numbers."""
        return Texts(*(part[rows] for part in self))

    def with_slots(self, tokens: "Int[np.ndarray, ' texts'] | int") -> "Texts":
        """Return the texts, arrays of NumPy, with other tokens in their slots."""
        changed = self.tokens.copy()
        changed[np.arange(len(changed)), self.slots] = tokens
        return self._replace(tokens=changed)


class Weights(NamedTuple):
    """The numbers in the objectives.

    Attributes:
        beta: weight of the KL, or of the likelihood in `balanced`.
        alpha, gamma: of `global_token`.
        balance: lambda of `balanced` and of `gaussian`.
        free: nats of each dimension of `gaussian` that cost nothing.
    """

    beta: Any = 1.0
    alpha: Any = 0.5
    gamma: Any = 1.0
    balance: Any = 1.0
    free: Any = 0.0


# -- the objectives, of arrays ---------------------------------------------------------------------


def marginal_loss(
    surprisal: Float[jax.Array, "texts latents"], router: Float[jax.Array, "texts latents"]
) -> Float[jax.Array, " texts"]:
    """Return -log sum_z r(z) g(y | z)."""
    return -jax.nn.logsumexp(router - surprisal, axis=-1)


def elbo_loss(
    surprisal: Float[jax.Array, "texts latents"],
    router: Float[jax.Array, "texts latents"],
    encoder: Float[jax.Array, "texts latents"],
    beta: Any = 1.0,
) -> Float[jax.Array, " texts"]:
    """Return sum_z q S + beta KL(q || r); `router` and `encoder` are log-probabilities."""
    share = jnp.exp(encoder)
    return jnp.sum(share * (surprisal + beta * (encoder - router)), axis=-1)


def relative_surprisal(
    surprisals: Float[jax.Array, "texts latents length"],
    base: Float[jax.Array, "texts length"],
    inside: Float[jax.Array, "texts length"],
    alpha: Any = 1.0,
    gamma: Any = 1.0,
) -> Float[jax.Array, "texts latents"]:
    """Return (a . S) / (a . b): below 1 where a latent tells more about y than the base model knew.

    Args:
        surprisals: of each token, under each latent.
        base: of each token, under the base model.
        inside: 1 for the tokens of y, else 0.
        alpha: share of the weight that all T tokens get alike; 1 is `global`.
        gamma: how much the surprising tokens stand out in the rest: w_t ~ b_t^gamma.
    """
    known = jnp.where(inside > 0, jnp.maximum(base, 1e-6), 1.0)
    powers = inside * known**gamma
    weights = alpha * inside / jnp.sum(inside, axis=-1, keepdims=True)
    weights += (1.0 - alpha) * powers / jnp.sum(powers, axis=-1, keepdims=True)
    told = jnp.einsum("bt,bzt->bz", weights, surprisals)
    return told / jnp.sum(weights * inside * known, axis=-1, keepdims=True)


def log_mean(
    router: Float[jax.Array, "texts latents"], weight: Float[jax.Array, " texts"]
) -> Float[jax.Array, " latents"]:
    """Return log R, R the mean of r(z | x) over texts, each counted by its weight; `router` is log r."""
    return jax.nn.logsumexp(router, axis=0, b=weight[:, None]) - jnp.log(weight.sum())


def evened(
    surprisal: Float[jax.Array, "texts latents"],
    router: Float[jax.Array, "texts latents"],
    balance: Any = 1.0,
) -> Float[jax.Array, "texts latents"]:
    """Return S' = S + lambda e log r: texts cost less under latents that are seldom drawn on their input.

    Args:
        surprisal: S.
        router: log r of each text's input.
        balance: lambda.
    """
    return surprisal + balance * EVENLY * router


def responsibilities(
    surprisal: Float[jax.Array, "texts latents"],
    shared: Float[jax.Array, " latents"],
    beta: Any = 1.0,
    balance: Any = 1.0,
    memory: Float[jax.Array, "before latents"] | None = None,
) -> Float[jax.Array, "texts latents"]:
    """Return q ~ exp(beta (-S + (1 - lambda) log R) + lambda f).

    f is found by Sinkhorn iterations for the kernel exp(-beta S), so that with lambda = 1 each latent has
    the same total over the texts and those of `memory`, each counted once. No derivative goes through it.

    Args:
        surprisal: S, or S' from `evened`.
        shared: log R, from `log_mean`.
        beta, balance: lambda is `balance`.
        memory: the same of other texts, of earlier batches. A strategy that a fourteenth of the texts follow
            is 4.6 +- 2.1 of 64: with one batch alone, latents would have to give up or take in texts by
            chance.
    """
    kernel = -beta * surprisal
    latents = surprisal.shape[1]
    counted = kernel if memory is None else jnp.concatenate([kernel, -beta * memory])
    target = jnp.log(jnp.asarray(len(counted) / latents, kernel.dtype))

    def equal(potential: jax.Array, _: None) -> tuple[jax.Array, None]:
        rows = jax.nn.log_softmax(counted + potential, axis=-1)
        return potential + target - jax.nn.logsumexp(rows, axis=0), None

    none = jnp.zeros(latents, kernel.dtype)
    potential = jax.lax.cond(
        balance > 0.0,
        lambda: jax.lax.scan(equal, none, None, length=SINKHORN)[0],
        lambda: none,
    )
    scores = kernel + balance * potential + (1.0 - balance) * beta * shared
    return jax.lax.stop_gradient(jax.nn.softmax(scores, axis=-1))


def attention(shared: Float[jax.Array, " latents"], balance: Any = 0.0) -> Float[jax.Array, " latents"]:
    """Return R^-(1 - lambda) from log R: what a text of each latent counts in what the generator learns.

    With lambda = 0 a latent with a fourteenth of the texts has as large a part in the loss as one with half
    of them: what each latent should write stays the same, but the rare ones no longer learn it last. A
    latent with less than `RARE` counts as one with that.
    """
    return jax.lax.stop_gradient(jnp.maximum(jnp.exp(shared), RARE) ** (balance - 1.0))


# -- the objectives, of a model --------------------------------------------------------------------


def batch_loss(
    model: LanguageModel,
    texts: Texts,
    key: jax.Array,
    objective: str,
    weights: Weights,
    memory: Float[jax.Array, "before latents"] | None = None,
) -> tuple[Float[jax.Array, ""], dict[str, jax.Array]]:
    """Return the mean loss of a batch and facts about it.

    Args:
        model: with latents.
        texts: the batch.
        key: `balanced` draws one latent a text from q, instead of computing the derivative under all.
        objective: one of `OBJECTIVES`.
        weights: the numbers in it.
        memory: of `balanced`, see `responsibilities`.

    Returns:
        the loss, and "use" [latents], the share of the texts that each latent has; of `balanced` also
        "evened" [texts, latents], S'.
    """
    each, share, facts = _LOSSES[objective](model, texts, key, weights, memory)
    used = jnp.average(share, axis=0, weights=texts.weight)
    return jnp.average(each, weights=texts.weight), {"use": used, **facts}


def told_loss(model: LanguageModel, texts: Texts) -> tuple[Float[jax.Array, ""], dict[str, jax.Array]]:
    """Return the mean loss of texts whose latent is known, and "use" [latents].

    Each counts once in -log g(y | x, z), what the generator learns, and by its weight in -log r(z | x).

    Args:
        model: with latents.
        texts: a latent stands in the slot of each, instead of `<none>`.
    """
    rows = jnp.arange(len(texts.slots))
    z = texts.tokens[rows, texts.slots] - model.tokenizer.first_latent
    told, above = text_surprisals(model, texts.tokens, texts.slots, texts.ends)
    router = latent_logs(model, above[rows, texts.slots - 1])[rows, z]
    used = jnp.average(jax.nn.one_hot(z, model.latents), axis=0, weights=texts.weight)
    loss = told.sum(axis=-1).mean() - jnp.average(router, weights=texts.weight)
    return loss, {"use": used}


def surprisals_and_router(
    model: LanguageModel, texts: Texts
) -> tuple[Float[jax.Array, "texts latents length"], Float[jax.Array, "texts latents"]]:
    """Return the surprisals of each text's tokens under each latent, and log r(z | x)."""
    rows = jnp.arange(len(texts.slots))

    def under(z: jax.Array) -> tuple[jax.Array, jax.Array]:
        tokens = with_latent(model, texts.tokens, texts.slots, z)
        told, above = text_surprisals(model, tokens, texts.slots, texts.ends)
        return told, above[rows, texts.slots - 1]

    # One latent after the other: what is computed on the way of one fits into a CPU's cache.
    told, above = jax.lax.map(jax.checkpoint(under), jnp.arange(model.latents))
    # The stream before the latent has not seen it, nor y: it is that of any of them.
    return jnp.swapaxes(told, 0, 1), latent_logs(model, above[0])


def base_surprisals(model: LanguageModel, texts: Texts) -> Float[jax.Array, "texts length"]:
    """Return the surprisals of each text's tokens with `<none>` in the latent's place."""
    return text_surprisals(model, texts.tokens, texts.slots, texts.ends)[0]


# Each returns the loss of each text, the share of it that each latent has, and other facts.


def _marginal(model: LanguageModel, texts: Texts, key: jax.Array, weights: Weights, memory: None) -> tuple:
    each, router = surprisals_and_router(model, texts)
    surprisal = each.sum(axis=-1)
    return marginal_loss(surprisal, router), jax.nn.softmax(router - surprisal, axis=-1), {}


def _elbo(model: LanguageModel, texts: Texts, key: jax.Array, weights: Weights, memory: None) -> tuple:
    return _encoded(model, texts, surprisals_and_router(model, texts)[0].sum(axis=-1), weights.beta)


def _global(model: LanguageModel, texts: Texts, key: jax.Array, weights: Weights, memory: None) -> tuple:
    place = jnp.arange(texts.tokens.shape[1])
    inside = (place >= texts.slots[:, None]) & (place < texts.ends[:, None])
    base = jax.lax.stop_gradient(texts.base)
    each = surprisals_and_router(model, texts)[0]
    told = relative_surprisal(each, base, inside.astype(each.dtype), weights.alpha, weights.gamma)
    return _encoded(model, texts, told, weights.beta)


def _encoded(model: LanguageModel, texts: Texts, told: jax.Array, beta: Any) -> tuple:
    """Average over the encoder, which reads y with no latent; one pass gives it and the router."""
    above = stream(model.network, texts.tokens)
    rows = jnp.arange(len(texts.slots))
    router = latent_logs(model, above[rows, texts.slots - 1])
    encoder = latent_logs(model, above[rows, texts.ends])
    return elbo_loss(told, router, encoder, beta), jnp.exp(encoder), {}


def _balanced(
    model: LanguageModel, texts: Texts, key: jax.Array, weights: Weights, memory: jax.Array | None
) -> tuple:
    fixed = jax.tree.map(jax.lax.stop_gradient, model)
    told, before = surprisals_and_router(fixed, texts)
    shared = log_mean(before, texts.weight)
    cost = evened(told.sum(axis=-1), before, weights.balance)
    share = responsibilities(cost, shared, weights.beta, weights.balance, memory)
    z = jax.random.categorical(key, jnp.log(share), axis=-1)
    tokens = with_latent(model, texts.tokens, texts.slots, z)
    each, above = text_surprisals(model, tokens, texts.slots, texts.ends)
    router = latent_logs(model, above[jnp.arange(len(z)), texts.slots - 1])
    effort = attention(shared, weights.balance)
    effort = effort[z] / jnp.sum(jnp.average(share, axis=0, weights=texts.weight) * effort)
    loss = effort * each.sum(axis=-1) - jnp.sum(share * router, axis=-1)
    return loss, share, {"evened": cost}


_LOSSES: dict[str, Callable[..., tuple]] = {
    "marginal": _marginal,
    "elbo": _elbo,
    "beta_elbo": _elbo,
    "global": _global,
    "global_token": _global,
    "balanced": _balanced,
}


def fixed_weights(objective: str, weights: Weights) -> Weights:
    """Return the weights with those that the objective's name fixes."""
    if objective == "elbo":
        return weights._replace(beta=1.0)
    return weights._replace(alpha=1.0) if objective == "global" else weights
