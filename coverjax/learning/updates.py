"""The compiled part of training: blocks of updates, and evaluations, for several seeds side by side."""

import math
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Float, Int

from coverjax.learning.gradients import Climb, Estimate, estimate_one
from coverjax.learning.problem import Problem
from coverjax.policy.networks import DTYPE
from coverjax.policy.stage import Frozen, joined


class Pace(NamedTuple):
    """How large the updates are.

    Attributes:
        rate: Adam's learning rate at its largest.
        decay: how it falls.
        warmup: updates over which it rises.
        steps: updates in all.
        memory: Adam's b1, b2 and epsilon.
    """

    rate: float
    decay: str
    warmup: int
    steps: int
    memory: tuple[float, float, float]


def rate_at(pace: Pace, done: Any, xp: Any = np) -> Any:
    """Return the learning rate of the update that comes after `done` others.

    Args:
        pace: how large the updates are.
        done: their number, a float.
        xp: the array library of `done`, NumPy or jax.numpy.
    """
    size = pace.rate
    if pace.decay == "cosine":
        size = size * 0.5 * (1.0 + xp.cos(math.pi * done / pace.steps))
    if pace.warmup:
        size = size * xp.minimum((done + 1.0) / pace.warmup, 1.0)
    return size


class Program(NamedTuple):
    """What is compiled, hashable.

    Attributes:
        climb: what is climbed, and how.
        frozen: the policy without its numbers.
        pace: the learning rates.
        rows: number of inputs trained on.
        batch: inputs of one update.
        chunk: inputs whose gradient is computed at once.
        apart: whether every input has parameters of its own: then gradients are added up, not averaged, so
            that an update does not depend on how many inputs there are.
    """

    climb: Climb
    frozen: Frozen
    pace: Pace
    rows: int
    batch: int
    chunk: int
    apart: bool


class Fixed(NamedTuple):
    """What does not change while training: the inputs, the numbers of the policy that are not trained."""

    problem: Problem
    numbers: Any


def optimiser(pace: Pace) -> optax.GradientTransformation:
    """Return Adam with the learning rates of `pace`."""
    b1, b2, eps = pace.memory
    return optax.adam(lambda count: rate_at(pace, count.astype(DTYPE), jnp), b1=b1, b2=b2, eps=eps)


@partial(jax.jit, static_argnames=("program",))
def advance(
    params: Any, opt: Any, fixed: Fixed, keys: jax.Array, first: jax.Array, last: jax.Array, program: Program
) -> tuple[Any, Any, Float[jax.Array, " seeds"]]:
    """Make updates number first..last - 1; return parameters, optimiser state, mean objective met in them.

    A batch in which no input has a weight meets no objective and is left out of the mean; NaN where all are
    such. The random numbers of an update are named by the seed's key and the update's number. How many there
    are is no part of the program: the last few of a training don't compile it again.
    """
    rest = joined(fixed.numbers, program.frozen)
    tool = optimiser(program.pace)

    def of_seed(params: Any, opt: Any, key: jax.Array) -> tuple[Any, Any, jax.Array]:
        def update(number: jax.Array, carry: tuple) -> tuple:
            params, opt, total, batches = carry
            own = jax.random.fold_in(key, number)
            slope, (met, weight) = _slope(params, rest, fixed.problem, own, program)
            change, opt = tool.update(jax.tree.map(jnp.negative, slope), opt, params)
            counts = weight > 0
            total = total + jnp.where(counts, met / jnp.where(counts, weight, 1.0), 0.0)
            return optax.apply_updates(params, change), opt, total, batches + counts.astype(DTYPE)

        start = (params, opt, jnp.zeros((), DTYPE), jnp.zeros((), DTYPE))
        params, opt, total, batches = jax.lax.fori_loop(first, last, update, start)
        return params, opt, total / batches

    return jax.vmap(of_seed)(params, opt, keys)


def _slope(
    params: Any, rest: Any, problem: Problem, key: jax.Array, program: Program
) -> tuple[Any, Float[jax.Array, " 2"]]:
    """The derivative of the mean (or sum) over a batch; the sums of its weighted objectives and weights."""
    drawing, running = jax.random.split(key)
    size = program.batch
    parts = -(-size // program.chunk)

    def total(params: Any, part: Problem, keys: jax.Array, there: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = _estimates(params, rest, part, keys, program.climb)
        weight = part.weight * there
        met = jnp.stack([jnp.sum(weight * found.objective), jnp.sum(weight)])
        return jnp.sum(weight * found.surrogate), met

    both = jax.grad(total, has_aux=True)
    if parts == 1 and size == program.rows:
        keys = _keys(running, jnp.arange(size, dtype=jnp.int32))
        slope, sums = both(params, problem, keys, jnp.ones(size, DTYPE))
    else:
        index = jax.random.permutation(drawing, program.rows)[:size].astype(jnp.int32)
        there = (jnp.arange(parts * program.chunk) < size).astype(DTYPE)
        index = jnp.pad(index, (0, parts * program.chunk - size))

        def add(carry: tuple, part: tuple) -> tuple[tuple, None]:
            index, there = part
            found = both(params, _taken(problem, index), _keys(running, index), there)
            return jax.tree.map(jnp.add, carry, found), None

        zero = (jax.tree.map(jnp.zeros_like, params), jnp.zeros(2, DTYPE))
        split = (index.reshape(parts, -1), there.reshape(parts, -1))
        (slope, sums), _ = jax.lax.scan(add, zero, split)
    scale = 1.0 if program.apart else 1.0 / size
    return jax.tree.map(lambda leaf: scale * leaf, slope), sums


@partial(jax.jit, static_argnames=("program",))
def evaluate(
    params: Any, fixed: Fixed, keys: jax.Array, program: Program
) -> tuple[Float[jax.Array, "seeds inputs"], Float[jax.Array, "seeds inputs"]]:
    """Return each input's value and objective, estimated as in training, with random numbers that stay."""
    rest = joined(fixed.numbers, program.frozen)
    inputs = fixed.problem.weight.shape[0]

    def of_seed(params: Any, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        policy = eqx.combine(params, rest)

        def one(row: tuple[Problem, jax.Array]) -> tuple[jax.Array, jax.Array]:
            problem, number = row
            found = estimate_one(policy, problem, jax.random.fold_in(key, number), program.climb)
            return found.value, found.objective

        numbers = jnp.arange(inputs, dtype=jnp.int32)
        return jax.lax.map(one, (fixed.problem, numbers), batch_size=program.chunk)

    return jax.vmap(of_seed)(params, keys)


def _estimates(params: Any, rest: Any, part: Problem, keys: jax.Array, climb: Climb) -> Estimate:
    policy = eqx.combine(params, rest)
    return jax.vmap(lambda one, key: estimate_one(policy, one, key, climb))(part, keys)


def _keys(key: jax.Array, index: Int[jax.Array, " inputs"]) -> jax.Array:
    return jax.vmap(lambda number: jax.random.fold_in(key, number))(index)


def _taken(problem: Problem, index: Int[jax.Array, " inputs"]) -> Problem:
    return jax.tree.map(lambda leaf: leaf[index], problem)
