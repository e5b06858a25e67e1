"""Training of team scorers: every kind by the same loss, steps, settings and choice among them."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

Data = tuple[Array, Array, Array]
"""Task cards, worker cards and targets."""

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


@functools.partial(jax.jit, static_argnames=("static", "unravel"))
def _fit_all(
    start: Float[Array, "parameters"],
    static: Any,
    unravel: Callable[[Array], Any],
    train: Data,
    validation: Data,
    members: Float[Array, "items workers"],
    rates: Float[Array, "settings"],
    decays: Float[Array, "settings"],
    rows: Int[Array, "checkpoints steps batch"],
    columns: Int[Array, "checkpoints steps drawn"],
) -> tuple[Float[Array, "settings"], Float[Array, "settings parameters"]]:
    """Train one network by every setting, in the same batches; return the best loss and parameters of each.

    Parameters are one vector: the optimiser is then a few operations instead of as many for every layer.
    """

    def loss_of(params: Array, data: Data, items: Array) -> Array:
        tasks, cards, targets = data
        network = eqx.combine(unravel(params), static)
        return scoring_loss(predicted_scores(network, tasks, cards, items), targets)

    def fit_one(rate: Array, decay: Array) -> tuple[Array, Array]:
        optimiser = optax.adamw(rate, weight_decay=decay)

        def step(carry: Any, batch: tuple[Array, Array]) -> tuple[Any, None]:
            params, state = carry
            rows, columns = batch
            data = (train[0][rows], train[1][rows], train[2][rows][:, columns])
            gradient = jax.grad(loss_of)(params, data, members[columns])
            update, state = optimiser.update(gradient, state, params)
            return (optax.apply_updates(params, update), state), None

        def look(carry: Any, batches: tuple[Array, Array]) -> tuple[Any, None]:
            params, state, least, best = carry
            (params, state), _ = jax.lax.scan(step, (params, state), batches)
            loss = loss_of(params, validation, members)
            return (params, state, jnp.minimum(loss, least), jnp.where(loss < least, params, best)), None

        carry = (start, optimiser.init(start), jnp.full((), jnp.inf, jnp.float32), start)
        (_, _, least, best), _ = jax.lax.scan(look, carry, (rows, columns))
        return least, best

    return jax.vmap(fit_one)(rates, decays)


@functools.lru_cache(maxsize=64)
def _unraveller(structure: Any, shapes: tuple[tuple[int, ...], ...]) -> Callable[[Array], Any]:
    """Return the inverse of laying all arrays end to end: the same function for the same shapes."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes]).tolist()

    def unravel(vector: Array) -> Any:
        parts = [vector[end - int(np.prod(s)) : end].reshape(s) for end, s in zip(ends, shapes, strict=True)]
        return jax.tree.unflatten(structure, parts)

    return unravel


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
    leaves, structure = jax.tree.flatten(params)
    unravel = _unraveller(structure, tuple(leaf.shape for leaf in leaves))
    start = np.concatenate([np.asarray(leaf, np.float32).ravel() for leaf in leaves])
    rates, decays = (np.array(column, np.float32) for column in zip(*budget.settings, strict=True))
    rows, columns = _batches(budget, len(train.tasks), len(members), key)
    items = np.asarray(members, np.float32)
    losses, best = _fit_all(
        start, static, unravel, _arrays(train), _arrays(validation), items, rates, decays, rows, columns
    )
    found = np.asarray(losses)
    place = int(np.nanargmin(found))
    chosen = eqx.combine(unravel(best[place]), static)
    return Fit(chosen, budget.settings[place], float(found[place]), found)


def _batches(
    budget: TrainingBudget, tasks: int, items: int, key: PRNGKeyArray
) -> tuple[Int[np.ndarray, "checkpoints steps batch"], Int[np.ndarray, "checkpoints steps drawn"]]:
    """Draw the tasks and the items of every step."""
    rng = np.random.Generator(np.random.Philox(np.asarray(jax.random.key_data(key)).astype(np.uint64)))
    steps = (budget.checkpoints, budget.steps)
    rows = rng.integers(tasks, size=(*steps, budget.batch), dtype=np.int32)
    order = rng.random((*steps, items), dtype=np.float32).argsort(axis=-1)
    return rows, order[..., : budget.items].astype(np.int32)


def _arrays(examples: Examples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(np.asarray(part, np.float32) for part in (examples.tasks, examples.cards, examples.targets))  # type: ignore[return-value]
