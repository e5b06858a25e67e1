"""Networks that score teams from cards, all of about the same number of parameters.

Each maps (task card [pieces], worker cards [workers, pieces], teams as 0/1 rows [teams, workers]) to a
score for each team, in a way that does not change when workers are renamed.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

KINDS = ("set", "leave_one_out", "pair", "capability")


def _mlp(inputs: int, outputs: int, width: int, key: PRNGKeyArray) -> eqx.nn.MLP:
    return eqx.nn.MLP(inputs, outputs, width, depth=1, activation=jax.nn.relu, key=key, dtype=jnp.float32)


def triangle(workers: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both workers of every pair a < b."""
    first, second = np.triu_indices(workers, 1)
    return first, second


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

    def _worth(
        self, task: Float[Array, "pieces"], cards: Float[Array, "workers pieces"]
    ) -> Float[Array, "pairs"]:
        """Score the pairs a < b, in the order of `triangle`."""
        own = self.encoder(task, cards)
        first, second = (own[place] for place in triangle(own.shape[0]))
        both = jnp.concatenate([first + second, first * second], axis=-1)
        return jax.vmap(self.judge)(both)[:, 0]

    def pairs(
        self, task: Float[Array, "pieces"], cards: Float[Array, "workers pieces"]
    ) -> Float[Array, "workers workers"]:
        """Score pairs, symmetric; the diagonal is 0."""
        worth = self._worth(task, cards)
        first, second = triangle(cards.shape[0])
        upper = jnp.zeros((cards.shape[0], cards.shape[0]), worth.dtype).at[first, second].set(worth)
        return upper + upper.T

    def __call__(
        self,
        task: Float[Array, "pieces"],
        cards: Float[Array, "workers pieces"],
        members: Float[Array, "teams workers"],
    ) -> Float[Array, "teams"]:
        """Score teams."""
        first, second = triangle(cards.shape[0])
        return (members[:, first] * members[:, second]) @ self._worth(task, cards)


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
    return parameters_of(jax.tree.leaves(network))


def _count(kind: str, pieces: int, width: int) -> int:
    """The number of parameters of a kind at a width, without making one."""

    def mlp(inputs: int, outputs: int) -> int:
        return (inputs + 1) * width + (width + 1) * outputs

    judge = {
        "set": mlp(width + pieces, 1),
        "leave_one_out": mlp(2 * width + pieces, 1) + 1,
        "pair": mlp(2 * width, 1),
        "capability": (pieces + 1) * width,
    }
    return mlp(3 * pieces, width) + judge[kind]


def width_for(kind: str, pieces: int, parameters: int) -> int:
    """Return the width at which a network has nearly `parameters` parameters."""
    width = 1
    while _count(kind, pieces, width) < parameters:
        width += 1
    return min((max(1, width - 1), width), key=lambda width: abs(_count(kind, pieces, width) - parameters))


def new_network(kind: str, pieces: int, parameters: int, key: PRNGKeyArray) -> eqx.Module:
    """Return a network of a kind with nearly `parameters` parameters and random weights.

    Weights are uniform within 1/sqrt(inputs) of 0, biases 0, a level 1. They are cut from one draw: layer
    by layer each would compile a draw of its own, which takes longer than training.
    """
    width = width_for(kind, pieces, parameters)
    shapes = eqx.filter_eval_shape(_CLASSES[kind], pieces, width, key)
    leaves, structure = jax.tree.flatten(shapes)
    draws = np.asarray(jax.random.uniform(key, (parameters_of(leaves),), jnp.float32, -1.0, 1.0))
    made, start = [], 0
    for leaf in leaves:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            made.append(leaf)
            continue
        part = draws[start : start + leaf.size].reshape(leaf.shape)
        start += leaf.size
        if leaf.ndim == 2:
            made.append(jnp.asarray(part / np.float32(np.sqrt(leaf.shape[1]))))
        else:
            made.append(jnp.full(leaf.shape, 0.0 if leaf.ndim else 1.0, jnp.float32))
    return jax.tree.unflatten(structure, made)


def parameters_of(leaves: list[Any]) -> int:
    """Return the number of numbers in arrays, or in the shapes of arrays."""
    return sum(leaf.size for leaf in leaves if isinstance(leaf, jax.ShapeDtypeStruct | jax.Array))
