"""Networks that score teams from cards, all of about the same number of parameters.

Each maps (task card [pieces], worker cards [workers, pieces], teams as 0/1 rows [teams, workers]) to a
score for each team, in a way that does not change when workers are renamed.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

KINDS = ("set", "leave_one_out", "pair", "capability")


def _mlp(inputs: int, outputs: int, width: int, key: PRNGKeyArray) -> eqx.nn.MLP:
    return eqx.nn.MLP(inputs, outputs, width, depth=1, activation=jax.nn.relu, key=key, dtype=jnp.float32)


class Encoder(eqx.Module):
    """What a worker is to a task: from its card, the task's card and their product."""

    layers: eqx.nn.MLP

    def __init__(self, pieces: int, width: int, key: PRNGKeyArray):
        self.layers = _mlp(3 * pieces, width, width, key)

    def __call__(
        self, task: Float[Array, "pieces"], cards: Float[Array, "workers pieces"]
    ) -> Float[Array, "workers width"]:
        """Encode all workers of a task."""
        beside = jnp.broadcast_to(task, cards.shape)
        return jax.vmap(self.layers)(jnp.concatenate([cards, beside, cards * beside], axis=-1))


class SetScorer(eqx.Module):
    """A function of the sum of the members' encodings: any function of a set, given width enough."""

    encoder: Encoder
    judge: eqx.nn.MLP

    def __init__(self, pieces: int, width: int, key: PRNGKeyArray):
        first, second = jax.random.split(key)
        self.encoder = Encoder(pieces, width, first)
        self.judge = _mlp(width + pieces, 1, width, second)

    def __call__(
        self,
        task: Float[Array, "pieces"],
        cards: Float[Array, "workers pieces"],
        members: Float[Array, "teams workers"],
    ) -> Float[Array, "teams"]:
        """Score teams."""
        pooled = members @ self.encoder(task, cards)
        beside = jnp.broadcast_to(task, (members.shape[0], task.shape[0]))
        return jax.vmap(self.judge)(jnp.concatenate([pooled, beside], axis=-1))[:, 0]


class LeaveOneOutScorer(eqx.Module):
    """What is lost when a worker is left out, from its encoding and the mean of all; losses add up."""

    encoder: Encoder
    loss: eqx.nn.MLP
    level: Float[Array, ""]

    def __init__(self, pieces: int, width: int, key: PRNGKeyArray):
        first, second = jax.random.split(key)
        self.encoder = Encoder(pieces, width, first)
        self.loss = _mlp(2 * width + pieces, 1, width, second)
        self.level = jnp.ones((), jnp.float32)

    def __call__(
        self,
        task: Float[Array, "pieces"],
        cards: Float[Array, "workers pieces"],
        members: Float[Array, "teams workers"],
    ) -> Float[Array, "teams"]:
        """Score teams."""
        own = self.encoder(task, cards)
        everybody = jnp.broadcast_to(own.mean(axis=0), own.shape)
        beside = jnp.broadcast_to(task, (own.shape[0], task.shape[0]))
        lost = jax.vmap(self.loss)(jnp.concatenate([own, everybody, beside], axis=-1))[:, 0]
        return self.level - (1.0 - members) @ lost


class PairScorer(eqx.Module):
    """Compatibility of every pair of workers, symmetric; a team is worth the sum over its pairs."""

    encoder: Encoder
    judge: eqx.nn.MLP

    def __init__(self, pieces: int, width: int, key: PRNGKeyArray):
        first, second = jax.random.split(key)
        self.encoder = Encoder(pieces, width, first)
        self.judge = _mlp(2 * width, 1, width, second)

    def pairs(
        self, task: Float[Array, "pieces"], cards: Float[Array, "workers pieces"]
    ) -> Float[Array, "workers workers"]:
        """Score pairs; the diagonal is 0."""
        own = self.encoder(task, cards)
        first, second = own[:, None, :], own[None, :, :]
        shape = (own.shape[0], own.shape[0], own.shape[1])
        first, second = jnp.broadcast_to(first, shape), jnp.broadcast_to(second, shape)
        both = jnp.concatenate([first + second, first * second], axis=-1)
        found = jax.vmap(jax.vmap(self.judge))(both)[..., 0]
        return jnp.where(jnp.eye(own.shape[0], dtype=bool), jnp.zeros_like(found), found)

    def __call__(
        self,
        task: Float[Array, "pieces"],
        cards: Float[Array, "workers pieces"],
        members: Float[Array, "teams workers"],
    ) -> Float[Array, "teams"]:
        """Score teams."""
        return 0.5 * jnp.sum((members @ self.pairs(task, cards)) * members, axis=-1)


class CapabilityMatcher(eqx.Module):
    """Needs of the task met by the members' capabilities: sum_d need_d [1 - prod (1 - capability_wd)]."""

    encoder: Encoder
    need: eqx.nn.Linear

    def __init__(self, pieces: int, width: int, key: PRNGKeyArray):
        first, second = jax.random.split(key)
        self.encoder = Encoder(pieces, width, first)
        self.need = eqx.nn.Linear(pieces, width, key=second, dtype=jnp.float32)

    def __call__(
        self,
        task: Float[Array, "pieces"],
        cards: Float[Array, "workers pieces"],
        members: Float[Array, "teams workers"],
    ) -> Float[Array, "teams"]:
        """Score teams."""
        missed = members @ jax.nn.log_sigmoid(-self.encoder(task, cards))
        return -jnp.expm1(missed) @ jax.nn.softmax(self.need(task))


_CLASSES: dict[str, Callable[[int, int, PRNGKeyArray], eqx.Module]] = {
    "set": SetScorer,
    "leave_one_out": LeaveOneOutScorer,
    "pair": PairScorer,
    "capability": CapabilityMatcher,
}


def parameter_count(network: eqx.Module) -> int:
    """Return the number of numbers that training may change."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_array)))


def width_for(kind: str, pieces: int, parameters: int) -> int:
    """Return the width at which a network has nearly `parameters` parameters."""

    def count(width: int) -> int:
        shapes = eqx.filter_eval_shape(_CLASSES[kind], pieces, width, jax.random.key(0))
        return sum(leaf.size for leaf in jax.tree.leaves(shapes) if hasattr(leaf, "size"))

    low, high = 1, 2
    while count(high) < parameters:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < parameters else (low, middle)
    return min((low, high), key=lambda width: abs(count(width) - parameters))


def new_network(kind: str, pieces: int, parameters: int, key: PRNGKeyArray) -> eqx.Module:
    """Return a network of a kind with random weights and nearly `parameters` parameters."""
    return _CLASSES[kind](pieces, width_for(kind, pieces, parameters), key)
