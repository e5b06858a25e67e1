"""The parts that laws and router-generators share: checked probabilities, match sets, masks, flags."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from coverjax.foundation.checks import InputError, shown

ROUNDING = 1e-6
"""A row may exceed 1 by this much (float32 rounding) and is then normalised in float64."""

EXACT = 16 * float(np.finfo(np.float64).eps)
"""A sum this near to 1 is 1: normalising it again would only move bits (and `take` must not)."""


def probabilities(
    name: str, values: Any, axes: Sequence[str], ids: "Sequence[object] | np.ndarray | None" = None
) -> Float[np.ndarray, "..."]:
    """Return checked probabilities in float64 whose last axis sums to at most 1.

    A row whose sum exceeds 1 by rounding is divided by its sum in float64: an excess of 8e-9, usual in
    float32, would make the law of a million draws sum to 1.008.

    Args:
        name: the argument's name, for messages.
        values: numbers, one axis for each of `axes`.
        axes: what the axes count, in the singular; the first is always "input".
        ids: the names of the inputs, for messages; not checked here.

    Raises:
        InputError: another number of axes, an empty axis, a probability that is negative, NaN or above
            one, or a row that sums to more than 1.
    """
    given = _array(name, values)
    wanted = ", ".join(_plural(axis) for axis in axes)
    if given.dtype == object or not np.can_cast(given.dtype, np.float64, "same_kind"):
        raise InputError(f"{name}: must hold numbers, [{wanted}]; got {shown(values)}")
    if given.ndim != len(axes):
        raise InputError(
            f"{name}: must be [{wanted}]; got shape {given.shape}"
            + ("; write one input as an array of one row" if given.ndim == len(axes) - 1 else "")
        )
    if 0 in given.shape:
        empty = _plural(axes[given.shape.index(0)])
        raise InputError(f"{name}: must hold at least one input and one {axes[-1]}; got no {empty}")
    array = given.astype(np.float64)
    names = name_array(range(len(array)) if ids is None or len(ids) != len(array) else ids)
    _refuse_entries(name, array, axes, names)
    totals = array.sum(axis=-1, keepdims=True)
    if totals.max() > 1.0 + ROUNDING:
        place = np.unravel_index(totals.argmax(), totals.shape)[:-1]
        raise InputError(
            f"{name}: probabilities must sum to at most 1 over the {_plural(axes[-1])}; got "
            f"{totals[place].item():.9g} at {_place(axes[:-1], place, names)}; divide the row by its sum"
        )
    return array / np.where(totals > 1.0 + EXACT, totals, 1.0)


def _refuse_entries(name: str, array: np.ndarray, axes: Sequence[str], names: np.ndarray) -> None:
    wrong = ~((array >= 0.0) & (array <= 1.0 + ROUNDING))
    if not wrong.any():
        return
    place = np.unravel_index(wrong.argmax(), array.shape)
    raise InputError(
        f"{name}: a probability must lie between 0 and 1; got {array[place].item():.9g} at "
        f"{_place(axes, place, names)}"
    )


def _plural(axis: str) -> str:
    return axis[:-1] + "ies" if axis.endswith("y") else axis + "s"


def _place(axes: Sequence[str], place: Sequence[Any], names: np.ndarray) -> str:
    rest = [f"{axis} {at}" for axis, at in zip(axes[1:], place[1:], strict=True)]
    return ", ".join([f"{axes[0]} {shown(names[place[0]])}", *rest])


def _array(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError:  # NumPy's message about ragged lists names no argument
        raise InputError(f"{name}: rows must have the same length; got {shown(values)}") from None


def off_strategy_mass(probs: Float[np.ndarray, "... outcomes"]) -> Float[np.ndarray, "..."]:
    """Return 1 minus the sum over outcomes; exactly 0 where only rounding is missing."""
    missing = 1.0 - probs.sum(axis=-1)
    return np.where(missing > EXACT, missing, 0.0)


def match_sets(matches: Any, inputs: int, outcomes: int) -> Bool[np.ndarray, "*inputs outcomes strategies"]:
    """Return the checked match sets of the outcomes, bool [outcomes, strategies] or [inputs, ...].

    Raises:
        InputError: entries that are no flags, or a shape that disagrees with the probabilities.
    """
    array = _flags("matches", matches)
    if array.shape[:-1] not in ((outcomes,), (inputs, outcomes)) or array.ndim < 2:
        raise InputError(
            f"matches: must be [{outcomes}, strategies] or [{inputs}, {outcomes}, strategies], one match set "
            f"for every outcome that has a probability; got shape {array.shape}"
        )
    if array.shape[-1] == 0:
        raise InputError("matches: must hold at least one strategy; got none")
    return array


def declared_mask(declared: Any, inputs: int, strategies: int) -> Bool[np.ndarray, "inputs strategies"]:
    """Return which strategies are declared for each input; all of them when None is given."""
    if declared is None:
        return np.ones((inputs, strategies), bool)
    array = _flags("declared", declared)
    if array.shape not in ((strategies,), (inputs, strategies)):
        raise InputError(
            f"declared: must be bool [{strategies}] or [{inputs}, {strategies}], a flag for every strategy; "
            f"got shape {array.shape}"
        )
    return np.broadcast_to(array, (inputs, strategies)).copy()


def flag_probabilities(
    name: str, values: Any, inputs: int, outcomes: int, names: np.ndarray
) -> Float[np.ndarray, "inputs outcomes"] | None:
    """Return the probability of a flag (valid, correct) given each outcome; None when none is given."""
    if values is None:
        return None
    array = _array(name, values)
    if array.dtype == object or not np.can_cast(array.dtype, np.float64, "same_kind"):
        raise InputError(f"{name}: must hold flags or probabilities; got {shown(values)}")
    array = array.astype(np.float64)
    if array.shape not in ((outcomes,), (inputs, outcomes)):
        raise InputError(
            f"{name}: must be [{outcomes}] or [{inputs}, {outcomes}], a flag or a probability for every "
            f"outcome; got shape {array.shape}"
        )
    array = np.broadcast_to(array, (inputs, outcomes)).copy()
    _refuse_entries(name, array, ("input", "outcome"), names)
    return np.minimum(array, 1.0)


def containment(
    probs: Float[np.ndarray, "inputs *latents outcomes"],
    matches: Bool[np.ndarray, "*inputs outcomes strategies"] | None,
    declared: Bool[np.ndarray, "inputs strategies"],
) -> Float[np.ndarray, "inputs *latents strategies"]:
    """Return P(s in match set) for declared strategies, 0 for the others.

    q_s = sum over outcomes o of P(o) [s in match set of o]; the outcome is the strategy where
    `matches` is None.
    """
    mask = declared if probs.ndim == 2 else declared[:, None]
    if matches is None:
        return np.where(mask, probs, 0.0)
    table = matches.astype(np.float64)
    per_input = probs.ndim == 2 and table.ndim == 3
    marginals = (probs[:, None] @ table)[:, 0] if per_input else probs @ table
    return np.where(mask, np.minimum(marginals, 1.0), 0.0)


def matches_something(
    outcomes: int,
    matches: Bool[np.ndarray, "*inputs outcomes strategies"] | None,
    declared: Bool[np.ndarray, "inputs strategies"],
) -> Bool[np.ndarray, "inputs outcomes"]:
    """Return which outcomes match at least one declared strategy."""
    if matches is None:
        return declared
    return (matches & declared[:, None]).any(axis=-1)


def rows_of(indices: Any, inputs: int) -> np.ndarray:
    """Return row numbers from indices, a bool mask or a slice."""
    return np.atleast_1d(np.arange(inputs)[np.asarray(indices) if isinstance(indices, list) else indices])


def name_array(names: Sequence[object] | np.ndarray) -> np.ndarray:
    """Return names as an object array, one entry a name whatever the names are."""
    array = np.empty(len(names), dtype=object)
    array[:] = list(names)
    return array


def take_sets(matches: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Return the match sets of some inputs; shared ones stay shared."""
    return matches[rows] if matches is not None and matches.ndim == 3 else matches


def normalised_router(router: np.ndarray, ids: "Sequence[object] | np.ndarray | None") -> np.ndarray:
    """Return router rows that sum to 1, normalised in float64; raise where more than rounding is missing."""
    totals = router.sum(axis=-1, keepdims=True)
    short = int(totals[:, 0].argmin())
    if totals[short, 0] < 1.0 - ROUNDING:
        name = short if ids is None or len(ids) != len(router) else ids[short]
        raise InputError(
            f"router: probabilities must sum to 1 over the latents; got {totals[short, 0]:.9g} at input "
            f"{shown(name)}; give the missing mass to a latent of its own, whose generator row is 0 if draws "
            "are lost there"
        )
    return router / np.where(np.abs(totals - 1.0) > EXACT, totals, 1.0)


def require_flag(coverage: str, flag: np.ndarray | None) -> np.ndarray:
    """Return the flag's probabilities, or raise because the law cannot tell this kind of coverage."""
    if flag is None:
        raise InputError(
            f"coverage: must be a kind that the law can tell; it holds no `{coverage}` probabilities, so "
            f"{coverage} coverage is unknown: build the law with {coverage}=... or use coverage='raw'"
        )
    return flag


def _flags(name: str, values: Any) -> np.ndarray:
    array = _array(name, values)
    if array.dtype == bool:
        return array
    if array.dtype == object or not np.isin(array, (0, 1)).all():
        raise InputError(
            f"{name}: must hold flags (bool, or 0 and 1); got {shown(array.ravel()[:4].tolist())}"
        )
    return array.astype(bool)
