"""A policy's actions on the subset lattice of the strategies that can occur at all."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation import lattice
from coverjax.foundation.checks import InputError, shown
from coverjax.policy.stage import Actions


class Compact(NamedTuple):
    """Actions reduced to strategies that can occur and to distinct match sets (atoms).

    Attributes:
        columns: the strategy column of each bit of the lattice, -1 where an input has fewer [inputs, bits].
        rows: P(atom | action); the rest of a row matches nothing [inputs, actions, atoms].
        masks: the subset of each atom [inputs, atoms]; None where atom j is the strategy of bit j.
    """

    columns: Int[np.ndarray, "inputs bits"]
    rows: Float[np.ndarray, "inputs actions atoms"]
    masks: Int[np.ndarray, "inputs atoms"] | None

    @property
    def bits(self) -> int:
        """Number of lattice bits."""
        return int(self.columns.shape[1])


def reachable(actions: Actions) -> Bool[np.ndarray, "inputs strategies"]:
    """Return the declared strategies that some action can give."""
    if actions.rows is None and actions.matches is None:
        return actions.declared
    if actions.rows is None:
        possible = np.ones((len(actions.declared), actions.number), bool)
    else:
        possible = np.any(actions.rows > 0, axis=1)
    if actions.matches is None:
        return actions.declared & possible
    if actions.matches.ndim == 2:
        return actions.declared & (possible.astype(np.float32) @ actions.matches.astype(np.float32) > 0)
    return actions.declared & (actions.matches & possible[..., None]).any(axis=1)


def lattice_bits(actions: Actions) -> int:
    """Return how many bits the lattice needs: the most strategies that can occur on one input."""
    return max(1, int(reachable(actions).sum(axis=1).max()))


def require_lattice(name: str, actions: Actions, ids: np.ndarray, largest: int = lattice.LARGEST) -> None:
    """Raise when more strategies can occur than the lattice holds, saying how many and what to do."""
    live = reachable(actions).sum(axis=1)
    worst = int(live.argmax())
    if live[worst] > largest:
        raise InputError(
            f"{name}: exact curves need the lattice of all subsets, at most {largest} strategies that can "
            f"occur; input {shown(ids[worst])} has {live[worst]}; use simulate"
        )


def compact(actions: Actions, bits: int | None = None) -> Compact:
    """Reduce actions to the lattice; `bits` (at least `lattice_bits`) fixes its size."""
    live = reachable(actions)
    bits = lattice_bits(actions) if bits is None else bits
    order = np.argsort(~live, axis=1, kind="stable")[:, :bits]
    order = np.pad(order, ((0, 0), (0, max(0, bits - order.shape[1]))))
    columns = np.where(np.arange(bits) < live.sum(axis=1, keepdims=True), order, -1)
    if actions.matches is None:
        return Compact(columns, _strategy_rows(actions, columns), None)
    masks = _outcome_masks(actions.matches, columns)
    rows = actions.rows
    if rows is None:
        eye = np.eye(actions.number)
        rows = np.broadcast_to(eye, (len(columns), *eye.shape))
    return Compact(columns, *_merged(rows, masks))


def _strategy_rows(actions: Actions, columns: np.ndarray) -> np.ndarray:
    if actions.rows is None:
        return (columns[:, None, :] == np.arange(actions.number)[None, :, None]).astype(np.float64)
    there = columns >= 0
    picked = np.take_along_axis(actions.rows, np.where(there, columns, 0)[:, None, :], axis=2)
    return np.where(there[:, None, :], picked, 0.0)


def _outcome_masks(matches: np.ndarray, columns: np.ndarray) -> np.ndarray:
    there = (columns >= 0)[:, None, :]
    picked = np.where(columns >= 0, columns, 0)
    if matches.ndim == 2:
        members = matches[:, picked].transpose(1, 0, 2)
    else:
        members = np.take_along_axis(matches, picked[:, None, :], axis=2)
    return lattice.masks(members & there)


def _merged(rows: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add up outcomes with the same match set; the empty one is dropped. Ordered by mask."""
    order = np.argsort(masks, axis=1, kind="stable")
    ordered = np.take_along_axis(masks, order, axis=1)
    new = np.ones(ordered.shape, bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    new &= ordered > 0
    group = np.cumsum(new, axis=1) - 1
    atoms = max(1, int(group.max()) + 1)
    inputs = np.arange(len(masks))
    merged_masks = np.zeros((len(masks), atoms), np.int64)
    merged = np.zeros((len(masks), atoms, rows.shape[1]))
    shares = np.take_along_axis(rows, order[:, None, :], axis=2).transpose(0, 2, 1)
    for outcome in range(masks.shape[1]):  # one outcome at a time: no copy of rows per atom
        at = group[:, outcome]
        kept = at >= 0
        merged_masks[inputs[kept], at[kept]] = ordered[kept, outcome]
        merged[inputs[kept], at[kept]] += shares[kept, outcome]
    return np.ascontiguousarray(merged.transpose(0, 2, 1)), merged_masks
