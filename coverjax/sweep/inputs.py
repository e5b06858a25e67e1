"""Curves by their inputs: every array that has inputs as its first axis, cut or put together."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from coverjax.curves import Curves, Spread


def with_inputs(curves: Curves, change: Callable[[np.ndarray], np.ndarray]) -> Curves:
    """Return curves with every array by inputs changed, `ids` too.

    Args:
        curves: exact or simulated; an extrapolation, which is of all inputs together, is dropped.
        change: from an array [inputs, ...] to another one.
    """

    def changed(value: Any) -> Any:
        if isinstance(value, Spread):
            return Spread(**{f.name: changed(value[f.name]) for f in dataclasses.fields(Spread)})
        return change(value) if isinstance(value, np.ndarray) else value

    fields = (field.name for field in dataclasses.fields(Curves) if field.name != "budgets")
    found = {name: changed(getattr(curves, name)) for name in fields}
    found["utility"] = {name: change(values) for name, values in curves.utility.items()}
    return dataclasses.replace(curves, **found | {"extrapolation": None})


def inputs_of(curves: Curves, rows: slice) -> Curves:
    """Return the curves of some inputs."""
    return with_inputs(curves, lambda values: values[rows])
