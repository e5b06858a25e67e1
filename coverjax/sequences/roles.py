"""Which inputs are fitted, which choose settings, which are reported: the input itself decides."""

import hashlib
from typing import Any

import jax
import numpy as np

from coverjax.foundation.checks import InputError, fraction, one_of, whole_number
from coverjax.sequences.tasks.base import Task

ROLES = ("fit", "development", "test")

PATIENCE = 400
"""Inputs drawn for each that is asked for, before there are none left to find."""


def role(x_text: str) -> str:
    """Return the role of an input: "fit" for 8 of 10, "development" and "test" for one each, by its hash.

    So no model ever read a trace of a held-out input, whatever its corpus, seed or size.

    >>> role("sum 3,5,2,8"), role("sum 3,5,2,9"), role("sum 3,5,5,7")
    ('fit', 'test', 'development')
    """
    number = hashlib.blake2b(x_text.encode(), digest_size=4).digest()
    return {0: "development", 1: "test"}.get(int.from_bytes(number, "little") % 10, "fit")


def inputs_of(task: Task, rng: np.random.Generator, count: int, wanted: str) -> list[Any]:
    """Draw distinct inputs of a role; the first n of a longer list are the same.

    Raises:
        InputError: the task has not so many.
    """
    one_of("role", wanted, ROLES)
    whole_number("inputs", count)
    found: dict[str, Any] = {}
    for _ in range(PATIENCE * count):
        if len(found) == count:
            break
        x = task.sample_input(rng)
        text = task.render_x(x)
        if role(text) == wanted:
            found.setdefault(text, x)
    if len(found) < count:
        raise InputError(
            f"inputs: {task.name} seems to have only {len(found)} {wanted} inputs; ask for fewer than {count}"
        )
    return list(found.values())


def held_out_inputs(
    key: jax.Array, task: Task, development: int, test: int, level: float
) -> tuple[list[Any], list[Any]]:
    """Draw what a model is judged on: inputs of development and of test.

    Raises:
        InputError: a number below 1, more inputs than the task has, or a level that is none.
    """
    whole_number("development", development)
    whole_number("test", test)
    fraction("level", level)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    return inputs_of(task, rng, development, "development"), inputs_of(task, rng, test, "test")
