"""Continuous latents: the objective that fits a router N(mu(x), sigma(x)^2) over z in R^d, and its bound.

    gaussian       E_q[-log g(y | x, z)] + beta (1 - lambda) sum_i max(KL_i(q || r), free)

q(z | x, y) is a diagonal Gaussian that reads y in a pass without latent; the same pass gives the router,
which has not seen y. z = mean + scale x noise is drawn once a text, so the gradient goes through it. KL_i is
the mean over the batch of dimension i, closed; below `free` nats it costs nothing more, and lambda falls from
1 to 0 as in `balanced`, so that a KL that would close the latent is not there from the start.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Float

from coverjax.sequences.factorization import Texts, Weights
from coverjax.sequences.gaussian import Gaussian, Normal, divergence
from coverjax.sequences.language_model import LanguageModel, text_surprisals
from coverjax.sequences.transformer import stream

GAUSSIAN = "gaussian"
"""Name of the objective."""

BOUND_DRAWS = 16
"""Draws of z a text in the importance-weighted bound that a fit is judged by."""


def normal_laws(model: LanguageModel, texts: Texts) -> tuple[Normal, Normal]:
    """Return r(z | x) and q(z | x, y) of each text, [texts, dimensions], from one pass without latent."""
    gaussian = _gaussian(model)
    above = stream(model.network, texts.tokens)
    rows = jnp.arange(len(texts.slots))
    return gaussian.routed(above[rows, texts.slots - 1]), gaussian.encoded(above[rows, texts.ends])


def surprisals_at(
    model: LanguageModel, texts: Texts, z: Float[jax.Array, "texts dimensions"]
) -> Float[jax.Array, " texts"]:
    """Return -log g(y | x, z) of each text with its own z, in nats."""
    told, _ = text_surprisals(model, texts.tokens, texts.slots, texts.ends, z)
    return told.sum(axis=-1)


def gaussian_loss(
    model: LanguageModel, texts: Texts, key: jax.Array, weights: Weights
) -> tuple[Float[jax.Array, ""], dict[str, jax.Array]]:
    """Return the mean loss of a batch, and "use" [dimensions], the KL of each dimension in nats.

    Args:
        model: with continuous latents.
        texts: the batch.
        key: of the noise of each text's z.
        weights: `beta`, `balance` (lambda) and `free` of the objective.
    """
    router, encoder = normal_laws(model, texts)
    noise = jax.random.normal(key, encoder.mean.shape, encoder.mean.dtype)
    told = surprisals_at(model, texts, encoder.at(noise))
    kl = jnp.average(divergence(encoder, router), axis=0, weights=texts.weight)
    price = weights.beta * (1.0 - weights.balance)
    return jnp.average(told, weights=texts.weight) + price * jnp.maximum(kl, weights.free).sum(), {"use": kl}


def importance_bound(
    model: LanguageModel, texts: Texts, key: jax.Array, draws: int = BOUND_DRAWS
) -> Float[jax.Array, " texts"]:
    """Return -log of the mean over draws z ~ q of g(y | x, z) r(z | x) / q(z | x, y), in nats a text.

    On average it is above -log p(y | x), falls with the number of draws and reaches it in the limit (Burda,
    Grosse, Salakhutdinov, Importance weighted autoencoders, 2016).
    """
    router, encoder = normal_laws(model, texts)
    shape = (draws, *encoder.mean.shape)
    noise = jax.random.normal(key, shape, encoder.mean.dtype)

    def weighed(noise: jax.Array) -> jax.Array:
        z = encoder.at(noise)
        return router.log_density(z) - encoder.log_density(z) - surprisals_at(model, texts, z)

    logs = jax.lax.map(weighed, noise)
    return math.log(draws) - jax.nn.logsumexp(logs, axis=0)


def _gaussian(model: LanguageModel) -> Gaussian:
    assert model.gaussian is not None
    return model.gaussian
