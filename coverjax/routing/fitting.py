"""Training of team scorers: every kind by the same loss, steps, settings and choice among them."""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

TEMPERATURE = 0.1
"""Scores this far apart count as e-fold preferred in the ranking part of the loss."""

RANKING = 0.1
"""Weight of the ranking part beside the squared error."""


@dataclasses.dataclass(frozen=True)
class TrainingBudget:
    """What every kind of router may spend.

    Attributes:
        parameters: of a network, met as nearly as its width allows.
        settings: (learning rate, weight decay) pairs that are tried; the lowest validation loss is kept.
        checkpoints, steps: validation looks, and gradient steps before each; the best look is kept.
        batch: tasks in a step.
        items: teams (or pairs) of a step, drawn anew each time; all where there are fewer.
    """

    parameters: int = 6_000
    settings: tuple[tuple[float, float], ...] = ((1e-3, 1e-3), (3e-3, 1e-2), (1e-2, 1e-1))
    checkpoints: int = 8
    steps: int = 40
    batch: int = 32
    items: int = 48


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
    """Tasks with known targets, float32: cards, and the target of each item (team or pair) of workers.

    Attributes:
        tasks: task cards [tasks, pieces].
        cards: worker cards [tasks, workers, pieces].
        targets: what the score of each item shall be [tasks, items].
    """

    tasks: Float[np.ndarray, "tasks pieces"]
    cards: Float[np.ndarray, "tasks workers pieces"]
    targets: Float[np.ndarray, "tasks items"]


@dataclasses.dataclass(frozen=True, eq=False)
class Fit:
    """A trained network and how it was chosen.

    Attributes:
        network: the best one.
        setting: its (learning rate, weight decay).
        validation_loss: its loss on the validation tasks.
        losses: the best validation loss of each setting [settings].
    """

    network: Any
    setting: tuple[float, float]
    validation_loss: float
    losses: Float[np.ndarray, "settings"]


def scoring_loss(
    predicted: Float[Array, "tasks items"], targets: Float[Array, "tasks items"]
) -> Float[Array, ""]:
    """Return squared error plus a listwise ranking loss, mean over tasks.

    The ranking part is the cross entropy between softmax(target / 0.1) and softmax(predicted / 0.1) over
    the items of a task, less its least value, the entropy of the targets.
    """
    error = jnp.mean((predicted - targets) ** 2)
    wanted = jax.nn.log_softmax(targets / TEMPERATURE, axis=-1)
    given = jax.nn.log_softmax(predicted / TEMPERATURE, axis=-1)
    ranking = jnp.mean(jnp.sum(jnp.exp(wanted) * (wanted - given), axis=-1))
    return error + RANKING * ranking


def predicted_scores(
    network: Any,
    tasks: Float[Array, "tasks pieces"],
    cards: Float[Array, "tasks workers pieces"],
    members: Float[Array, "items workers"],
) -> Float[Array, "tasks items"]:
    """Score the items of every task."""
    return jax.vmap(network, in_axes=(0, 0, None))(tasks, cards, members)


@functools.partial(jax.jit, static_argnames=("static", "budget"))
def _fit_all(
    params: Any,
    static: Any,
    train: tuple[Array, Array, Array],
    validation: tuple[Array, Array, Array],
    members: Float[Array, "items workers"],
    rates: Float[Array, "settings"],
    decays: Float[Array, "settings"],
    key: PRNGKeyArray,
    budget: TrainingBudget,
) -> tuple[Float[Array, "settings"], Any]:
    """Train one network by every setting, in the same batches; return the best loss and parameters of
    each."""

    def loss_of(params: Any, data: tuple[Array, Array, Array], items: Array) -> Array:
        tasks, cards, targets = data
        return scoring_loss(predicted_scores(eqx.combine(params, static), tasks, cards, items), targets)

    def fit_one(rate: Array, decay: Array) -> tuple[Array, Any]:
        optimiser = optax.adamw(rate, weight_decay=decay)

        def step(carry: Any, key: PRNGKeyArray) -> tuple[Any, None]:
            params, state = carry
            first, second = jax.random.split(key)
            rows = jax.random.randint(first, (budget.batch,), 0, train[0].shape[0])
            columns = jax.random.permutation(second, members.shape[0])[: budget.items]
            data = (train[0][rows], train[1][rows], train[2][rows][:, columns])
            gradient = jax.grad(loss_of)(params, data, members[columns])
            update, state = optimiser.update(gradient, state, params)
            return (optax.apply_updates(params, update), state), None

        def look(carry: Any, key: PRNGKeyArray) -> tuple[Any, None]:
            params, state, least, best = carry
            (params, state), _ = jax.lax.scan(step, (params, state), jax.random.split(key, budget.steps))
            loss = loss_of(params, validation, members)
            better = loss < least
            best = jax.tree.map(lambda new, old: jnp.where(better, new, old), params, best)
            return (params, state, jnp.minimum(loss, least), best), None

        start = (params, optimiser.init(params), jnp.full((), jnp.inf, jnp.float32), params)
        (_, _, least, best), _ = jax.lax.scan(look, start, jax.random.split(key, budget.checkpoints))
        return least, best

    return jax.vmap(fit_one)(rates, decays)


def fit_network(
    network: Any,
    train: Examples,
    validation: Examples,
    members: Float[np.ndarray, "items workers"],
    budget: TrainingBudget,
    key: PRNGKeyArray,
) -> Fit:
    """Train a network within a budget; settings and moment are chosen by the loss on the validation tasks.

    Args:
        network: with its first weights.
        train, validation: examples of different sources.
        members: the items, 0/1 rows over workers.
        budget: what may be spent.
        key: of batches.
    """
    params, static = eqx.partition(network, eqx.is_array)
    rates, decays = (np.array(column, np.float32) for column in zip(*budget.settings, strict=True))
    losses, best = _fit_all(
        params,
        static,
        _arrays(train),
        _arrays(validation),
        np.asarray(members, np.float32),
        rates,
        decays,
        key,
        budget,
    )
    found = np.asarray(losses)
    place = int(np.nanargmin(found))
    chosen = eqx.combine(jax.tree.map(lambda leaf: leaf[place], best), static)
    return Fit(chosen, budget.settings[place], float(found[place]), found)


def _arrays(examples: Examples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(np.asarray(part, np.float32) for part in (examples.tasks, examples.cards, examples.targets))  # type: ignore[return-value]
