"""One cell that is too large for one machine: its inputs shared among the processes of `jax.distributed`."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from coverjax.curves import Curves, Spread
from coverjax.foundation.checks import InputError
from coverjax.policy.stage import LawOrModel


def on_hosts(produce: Callable[[LawOrModel], Curves], law_or_model: LawOrModel) -> Curves:
    """Make the curves of one law with its inputs shared among all processes of `jax.distributed`.

    Every process runs the same program (`jax.distributed.initialize()` first) and calls this with the same
    law; each makes the curves of its own inputs, on its own devices, and all of them return all curves.
    Simulated curves are the same bits as in one process, since their random numbers are named by the input;
    exact ones may differ by a few ulp.

    Args:
        produce: from a law to its curves, `lambda law: cj.simulate(key, policy, law, budget, trials)`, say.
        law_or_model: with at least one input a process.

    Returns:
        The curves of all inputs, in every process.

    Raises:
        InputError: there are fewer inputs than processes; or what `produce` raises.
    """
    count, own = jax.process_count(), jax.process_index()
    inputs = law_or_model.inputs
    if inputs < count:
        raise InputError(
            f"law_or_model: must have an input for each of the {count} processes; got {inputs}: start fewer"
        )
    if count == 1:
        return produce(law_or_model)
    share = -(-inputs // count)
    first = min(own * share, inputs - 1)
    curves = produce(law_or_model.take(np.arange(first, max(first + 1, min((own + 1) * share, inputs)))))
    return _gathered(curves, law_or_model, share)


def _gathered(curves: Curves, law_or_model: LawOrModel, share: int) -> Curves:
    """Put the inputs of all processes together, in order."""

    def whole(value: Any) -> Any:
        if isinstance(value, Spread):
            return Spread(**{f.name: whole(value[f.name]) for f in dataclasses.fields(Spread)})
        return _all(value, share)[: law_or_model.inputs] if _is_numbers(value) else value

    fields = (field.name for field in dataclasses.fields(Curves) if field.name not in ("budgets", "ids"))
    found = {name: whole(getattr(curves, name)) for name in fields}
    return dataclasses.replace(curves, ids=law_or_model.ids, **found)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype != object


def _all(own: np.ndarray, share: int) -> np.ndarray:
    """Gather an array of every process along its first axis, as raw bytes: 64 bits survive x64 being off."""
    from jax.experimental import multihost_utils

    padded = np.concatenate([own, np.repeat(own[-1:], share - len(own), axis=0)])
    raw = np.frombuffer(np.ascontiguousarray(padded).tobytes(), np.uint8)
    gathered = np.asarray(multihost_utils.process_allgather(raw))
    return np.frombuffer(gathered.tobytes(), own.dtype).reshape(-1, *own.shape[1:])
