"""One cell that is too large for one machine: its inputs shared among the processes of `jax.distributed`."""

import dataclasses
from collections.abc import Callable

import jax
import numpy as np

from coverjax.curves import Curves
from coverjax.foundation.checks import InputError
from coverjax.policy.stage import LawOrModel
from coverjax.sweep.inputs import with_inputs


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

    def whole(own: np.ndarray) -> np.ndarray:
        # names are no bytes to be gathered, and every process knows them all
        return own if own.dtype == object else _all(own, share)[: law_or_model.inputs]

    return dataclasses.replace(with_inputs(curves, whole), ids=law_or_model.ids)


def _all(own: np.ndarray, share: int) -> np.ndarray:
    """Gather an array of every process along its first axis, as raw bytes: 64 bits survive x64 being off."""
    from jax.experimental import multihost_utils

    padded = np.concatenate([own, np.repeat(own[-1:], share - len(own), axis=0)])
    raw = np.frombuffer(np.ascontiguousarray(padded).tobytes(), np.uint8)
    gathered = np.asarray(multihost_utils.process_allgather(raw))
    return np.frombuffer(gathered.tobytes(), own.dtype).reshape(-1, *own.shape[1:])
