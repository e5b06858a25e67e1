"""Networks that give a learned policy its logits: tables, a plain network, one for new models.

A network is an `equinox.Module` that maps what a policy may look at (`Sight`) to one logit per latent, for
ONE input at ONE moment. Any module with that call works in `LearnedLatent`. Everything is computed in
float32, whatever the precision around it.
"""

import itertools
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

DTYPE = jnp.float32

SHARPNESS = 10.0
"""Factor on the last layer of the networks: the best choices are nearly certain ones, and logits of that size
are out of reach of small steps from a unit scale."""


class Sight(NamedTuple):
    """What a network may look at; None where the policy neither knows nor sees it.

    Attributes:
        draw: number of draws made so far.
        latents: number of latents.
        declared: the strategies to be covered.
        router: r(z).
        table: W[z, s].
        features: the caller's own numbers about the input.
        row: the input's place among the inputs that the policy was made for.
        seen: strategies seen so far.
        used: how often each latent was taken.
        hits: how many draws from latent z matched strategy s.
    """

    draw: Int[jax.Array, ""]
    latents: int
    declared: Bool[jax.Array, " strategies"]
    router: Float[jax.Array, " latents"] | None = None
    table: Float[jax.Array, "latents strategies"] | None = None
    features: Float[jax.Array, " features"] | None = None
    row: Int[jax.Array, ""] | None = None
    seen: Bool[jax.Array, " strategies"] | None = None
    used: Int[jax.Array, " latents"] | None = None
    hits: Int[jax.Array, "latents strategies"] | None = None


class Dense(eqx.Module):
    """x @ weights + bias over the last axis."""

    weights: Float[jax.Array, "inputs outputs"]
    bias: Float[jax.Array, " outputs"]

    def __call__(self, x: Float[jax.Array, "... inputs"]) -> Float[jax.Array, "... outputs"]:
        """Apply the layer."""
        return x @ self.weights + self.bias


@partial(jax.jit, static_argnames=("sizes",))
def dense_layers(key: jax.Array, sizes: tuple[tuple[int, int], ...]) -> tuple[Dense, ...]:
    """Draw layers of (inputs, outputs): weights of variance 1 / inputs, biases 0.

    One program for all: drawn apart, each size would be compiled.
    """
    numbers = jax.random.normal(key, (sum(i * o for i, o in sizes),), DTYPE)
    layers, start = [], 0
    for inputs, outputs in sizes:
        weights = numbers[start : start + inputs * outputs].reshape(inputs, outputs)
        layers.append(Dense(weights / max(inputs, 1) ** 0.5, jnp.zeros(outputs, DTYPE)))
        start += inputs * outputs
    return tuple(layers)


class TabularLogits(eqx.Module):
    """One row of logits per input and draw, looked up: nothing generalises, everything can be represented.

    Attributes:
        logits: [inputs, draws, latents]; one row of inputs serves all inputs, the last draw all later ones.
            With one draw it is a router, with more a schedule.
    """

    logits: Float[jax.Array, "inputs draws latents"]

    @property
    def rows(self) -> int:
        """Number of inputs that it holds logits for; 1 serves any."""
        return int(self.logits.shape[-3])

    def __call__(self, sight: Sight) -> Float[jax.Array, " latents"]:
        """Return the logits of the input's draw."""
        inputs, draws, _ = self.logits.shape
        row = 0 if inputs == 1 or sight.row is None else sight.row
        return self.logits[row, jnp.minimum(sight.draw, draws - 1)]


class SubsetLogits(eqx.Module):
    """One row of logits per input, draw and set of strategies seen so far, looked up.

    Every policy that depends on (draw, seen set) can be represented, the optimal one included.

    Attributes:
        logits: [inputs, draws, subsets, latents], subsets of all strategy columns, numbered by the bit mask
            whose bit s says whether strategy s was seen. The last draw serves all later ones.
    """

    logits: Float[jax.Array, "inputs draws subsets latents"]

    @property
    def rows(self) -> int:
        """Number of inputs that it holds logits for; 1 serves any."""
        return int(self.logits.shape[-4])

    def __call__(self, sight: Sight) -> Float[jax.Array, " latents"]:
        """Return the logits of the input's draw and seen set."""
        assert sight.seen is not None
        inputs, draws = self.logits.shape[:2]
        row = 0 if inputs == 1 or sight.row is None else sight.row
        place = jnp.arange(sight.seen.shape[0], dtype=jnp.int32)
        subset = jnp.sum(sight.seen.astype(jnp.int32) << place)
        return self.logits[row, jnp.minimum(sight.draw, draws - 1), subset]


class MLP(eqx.Module):
    """A plain network over everything there is to see, laid side by side.

    For latents that mean the same on every input (a latent has its own output); numbers of latents and
    strategies are fixed.

    Attributes:
        layers: dense layers with GELU between them.
        horizon: the budget that time is measured against.
    """

    layers: tuple[Dense, ...]
    horizon: int = eqx.field(static=True)

    @classmethod
    def random(cls, key: jax.Array, sight: Sight, horizon: int, width: int) -> "MLP":
        """Draw two hidden layers for inputs of the kind of `sight`."""
        sizes = (_beside(sight, horizon).shape[0], width, width, sight.latents)
        return cls(dense_layers(key, tuple(itertools.pairwise(sizes))), horizon)

    def __call__(self, sight: Sight) -> Float[jax.Array, " latents"]:
        """Return one logit per latent."""
        x = _beside(sight, self.horizon)
        for layer in self.layers[:-1]:
            x = jax.nn.gelu(layer(x))
        return SHARPNESS * self.layers[-1](x)


class SetNetwork(eqx.Module):
    """A network that treats latents and strategies as sets: renaming either renames its answer.

    So it carries over to models that it was not trained on, also of other sizes. Every pair (z, s) becomes a
    vector, from its own numbers (W[z, s], hits) and from those of the other latents on s; each latent adds up
    the vectors of the strategies that are still to be found (and, where it counts hits, apart from these the
    vectors of those already found); a head compares it with the other latents' sums, given the time left.
    What is worth adding up is learned: the network is given W and the seen set, not an expected gain.

    Attributes:
        pair, context, mixed, summand: layers on pairs.
        head: layers on latents, the last one without activation.
        horizon: the budget that time is measured against.
    """

    pair: Dense
    context: Dense
    mixed: Dense
    summand: Dense
    head: tuple[Dense, ...]
    horizon: int = eqx.field(static=True)

    @classmethod
    def random(cls, key: jax.Array, sight: Sight, horizon: int, width: int) -> "SetNetwork":
        """Draw the weights for inputs of the kind of `sight`."""
        times = _times(sight, horizon).shape[0]
        inputs = (_pairs(sight).shape[-1], 2 * width, 2 * width + times, width)
        sums = width * (1 if sight.hits is None else 2)
        sizes = (4 * (sums + _own(sight).shape[-1]) + times, 2 * width, 2 * width, 1)
        shapes = (*((size, width) for size in inputs), *itertools.pairwise(sizes))
        pair, context, mixed, summand, *head = dense_layers(key, shapes)
        return cls(pair, context, mixed, summand, tuple(head), horizon)

    def __call__(self, sight: Sight) -> Float[jax.Array, " latents"]:
        """Return one logit per latent."""
        time = _times(sight, self.horizon)
        sums = self._sums(self._vectors(sight, time), sight)
        each = jnp.concatenate([sums, _own(sight)], axis=-1)
        mean, largest = each.mean(axis=0, keepdims=True), each.max(axis=0, keepdims=True)
        around = [jnp.broadcast_to(other, each.shape) for other in (mean, largest)]
        x = jnp.concatenate([each, *around, each - largest, _repeated(time, each)], axis=-1)
        x = jax.nn.gelu(self.head[1](jax.nn.gelu(self.head[0](x))))
        return SHARPNESS * self.head[2](x)[:, 0]

    def _vectors(self, sight: Sight, time: jax.Array) -> Float[jax.Array, "latents strategies width"]:
        """Return the vector of every pair; without `hits` it does not depend on what was seen."""
        x = jax.nn.gelu(self.pair(_pairs(sight)))
        others = jnp.concatenate([x.mean(axis=0), x.max(axis=0)], axis=-1)
        others = jnp.broadcast_to(jax.nn.gelu(self.context(others))[None], x.shape)
        mixed = self.mixed(jnp.concatenate([x, others, _repeated(time, x)], axis=-1))
        return self.summand(jax.nn.gelu(mixed))

    def _sums(self, vectors: jax.Array, sight: Sight) -> Float[jax.Array, "latents sums"]:
        seen = jnp.zeros_like(sight.declared) if sight.seen is None else sight.seen
        left = jnp.einsum("s,zsw->zw", (sight.declared & ~seen).astype(DTYPE), vectors)
        if sight.hits is None:
            return left
        found = jnp.einsum("s,zsw->zw", (sight.declared & seen).astype(DTYPE), vectors)
        return jnp.concatenate([left, found], axis=-1)


# -- numbers about an input, scaled to about 1 -----------------------------------------------------


def _times(sight: Sight, horizon: int) -> Float[jax.Array, " times"]:
    """The share of draws left, how near the end is, and the share of strategies found."""
    left = jnp.maximum(horizon - sight.draw, 0).astype(DTYPE)
    times = [left / horizon, 1.0 / (1.0 + left)]
    if sight.seen is not None:
        found = jnp.sum((sight.seen & sight.declared).astype(DTYPE))
        times.append(found / jnp.maximum(jnp.sum(sight.declared.astype(DTYPE)), 1.0))
    return jnp.stack(times)


def _pairs(sight: Sight) -> Float[jax.Array, "latents strategies numbers"]:
    """Numbers of a pair (z, s)."""
    shape = (sight.latents, sight.declared.shape[0])
    numbers = [jnp.broadcast_to(sight.declared.astype(DTYPE), shape)]
    if sight.table is not None:
        w = sight.table.astype(DTYPE)
        numbers += [w, jnp.sqrt(w), jnp.log(w + 1e-3) / 7.0]
    if sight.hits is not None and sight.used is not None:
        hits, used = sight.hits.astype(DTYPE), sight.used.astype(DTYPE)[:, None]
        once = (sight.hits == 1).astype(DTYPE)
        numbers += [hits / jnp.maximum(used, 1.0), once, jnp.log1p(hits), once / jnp.maximum(used, 1.0)]
    return jnp.stack(numbers, axis=-1)


def _own(sight: Sight) -> Float[jax.Array, "latents numbers"]:
    """Numbers of a latent."""
    numbers = []
    if sight.router is not None:
        router = sight.router.astype(DTYPE)
        numbers += [router, jnp.log(router + 1e-4) / 9.0]
    if sight.used is not None:
        used = sight.used.astype(DTYPE)
        numbers += [jnp.log1p(used), 1.0 / (1.0 + used)]
    return jnp.stack(numbers, axis=-1) if numbers else jnp.zeros((sight.latents, 0), DTYPE)


def _beside(sight: Sight, horizon: int) -> Float[jax.Array, " numbers"]:
    """All numbers of a sight in one row."""
    parts = [_times(sight, horizon), _own(sight).reshape(-1)]
    if sight.table is not None or sight.hits is not None:
        parts.append(_pairs(sight).reshape(-1))
    if sight.seen is not None:
        parts.append((sight.seen & sight.declared).astype(DTYPE))
    if sight.features is not None:
        parts.append(sight.features.astype(DTYPE))
    return jnp.concatenate(parts)


def _repeated(row: Float[jax.Array, " numbers"], like: jax.Array) -> jax.Array:
    return jnp.broadcast_to(row, (*like.shape[:-1], row.shape[0]))
