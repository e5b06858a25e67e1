"""Diagonal Gaussians, and the numbers by which a network reads and writes latents z in R^d."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

ARITHMETIC = "gaussian-1"
"""What the numbers of a `Gaussian` mean; as that of `language_model`."""

LIMIT = 4.0
"""Scales lie between exp(-LIMIT) and exp(LIMIT): no update can make one 0 or infinite."""

ENTRY = 0.5
"""Length of what a z of length 1 adds to an embedding at first, in units of an embedding."""

NARROW = -2.0
"""Logarithm of the encoder's scales at first: below the router's, so that z tells something of the text."""


class Normal(NamedTuple):
    """Independent normal variables.

    Attributes:
        mean: of each.
        log_scale: logarithm of the standard deviation of each.
    """

    mean: Float[jax.Array, "*shape dimensions"]
    log_scale: Float[jax.Array, "*shape dimensions"]

    def at(self, noise: Float[jax.Array, "*shape dimensions"]) -> Float[jax.Array, "*shape dimensions"]:
        """Return mean + scale x noise: a draw where the noise is standard normal, differentiable in both."""
        return self.mean + jnp.exp(self.log_scale) * noise

    def log_density(self, z: Float[jax.Array, "*shape dimensions"]) -> Float[jax.Array, "*shape"]:
        """Return the logarithm of the density at z."""
        standard = (z - self.mean) * jnp.exp(-self.log_scale)
        each = -0.5 * (jnp.square(standard) + math.log(2.0 * math.pi)) - self.log_scale
        return each.sum(axis=-1)


def divergence(q: Normal, r: Normal) -> Float[jax.Array, "*shape dimensions"]:
    """Return KL(q || r) of each dimension in nats.

    log s_r / s_q + (s_q^2 + (m_q - m_r)^2) / (2 s_r^2) - 1/2
    """
    wider = r.log_scale - q.log_scale
    apart = (q.mean - r.mean) * jnp.exp(-r.log_scale)
    return wider + 0.5 * (jnp.exp(-2.0 * wider) + jnp.square(apart) - 1.0)


class Gaussian(eqx.Module):
    """How z enters a network, and how its laws are read from the network's stream.

    Attributes:
        entry, shift: z enters as z @ entry + shift, on top of the embedding of `<none>`.
        router, router_shift: from the stream before the slot to mean and log-scale of r(z | x).
        encoder, encoder_shift: from the stream at `<end>` to those of q(z | x, y).
    """

    entry: Float[jax.Array, "dimensions width"]
    shift: Float[jax.Array, " width"]
    router: Float[jax.Array, "width two_dimensions"]
    router_shift: Float[jax.Array, " two_dimensions"]
    encoder: Float[jax.Array, "width two_dimensions"]
    encoder_shift: Float[jax.Array, " two_dimensions"]

    @classmethod
    def random(cls, key: jax.Array, width: int, dimensions: int) -> "Gaussian":
        """Draw numbers to start from: the router standard normal, the encoder a narrow one that reads y."""
        entering, reading = jax.random.split(key)
        nothing = jnp.zeros((width, dimensions), jnp.float32)
        reads = width**-0.5 * jax.random.normal(reading, (width, dimensions), jnp.float32)
        levels = jnp.repeat(jnp.asarray([0.0, NARROW], jnp.float32), dimensions)
        return cls(
            entry=ENTRY * jax.random.normal(entering, (dimensions, width), jnp.float32),
            shift=jnp.zeros(width, jnp.float32),
            router=jnp.concatenate([nothing, nothing], axis=1),
            router_shift=jnp.zeros(2 * dimensions, jnp.float32),
            encoder=jnp.concatenate([reads, nothing], axis=1),
            encoder_shift=levels,
        )

    @property
    def dimensions(self) -> int:
        """Number of dimensions d of z."""
        return self.entry.shape[0]

    def entered(self, z: Float[jax.Array, "*shape dimensions"]) -> Float[jax.Array, "*shape width"]:
        """Return what z adds to the embedding of `<none>`."""
        return z @ self.entry + self.shift

    def routed(self, above: Float[jax.Array, "*shape width"]) -> Normal:
        """Return r(z | x) from the stream before the slot."""
        return _normal(above, self.router, self.router_shift)

    def encoded(self, above: Float[jax.Array, "*shape width"]) -> Normal:
        """Return q(z | x, y) from the stream at `<end>` of a text without latent."""
        return _normal(above, self.encoder, self.encoder_shift)


def _normal(above: jax.Array, weights: jax.Array, shift: jax.Array) -> Normal:
    mean, raw = jnp.split(above.astype(weights.dtype) @ weights + shift, 2, axis=-1)
    return Normal(mean, LIMIT * jnp.tanh(raw / LIMIT))
