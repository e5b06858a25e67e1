"""The frequencies of strategies that a model was fitted to, in the columns of its samples."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from coverjax.foundation.checks import InputError, listed, shown
from coverjax.sequences.forced import ForcedSamples


def references_of(reference: Any, samples: ForcedSamples) -> dict[str, np.ndarray]:
    """Return the reference of each family that has one, by input, [inputs, strategies and off-strategy]."""
    if reference is None:
        return {}
    names = dict.fromkeys(samples.families)
    if isinstance(reference, Mapping) and all(np.ndim(share) == 0 for share in reference.values()):
        return references_of(_by_strategy(reference, samples), samples)
    if not isinstance(reference, Mapping):
        if len(names) > 1 and np.ndim(reference) < 2:
            raise InputError(
                f"reference: must be one a family by name: there are {listed(names)}; got {shown(reference)}"
            )
        whole = np.asarray(reference, dtype=np.float64)
        if whole.ndim == 2 and len(whole) != samples.inputs:
            raise InputError(
                f"reference: must have a row for each of the {samples.inputs} inputs; got shape {whole.shape}"
            )
        widths = {name: len(samples.names[samples.rows(name)[0]]) for name in names}
        reference = {
            name: whole[samples.rows(name), : widths[name]] if whole.ndim == 2 else whole for name in names
        }
    strange = set(reference) - set(names)
    if strange:
        raise InputError(
            f"reference: must name families that were drawn; there is no {listed(sorted(strange))}"
        )
    return {name: _reference(name, shares, samples) for name, shares in reference.items()}


def _by_strategy(shares: Mapping[str, Any], samples: ForcedSamples) -> dict[str, list[Any]]:
    """Return the shares in column order, by family, from shares by the strategies' names."""
    columns = {family: samples.names[samples.rows(family)[0]] for family in dict.fromkeys(samples.families)}
    every = {name for names in columns.values() for name in names}
    if set(shares) != every:
        missing, unknown = (
            listed(sorted(part)) or "none" for part in (every - set(shares), set(shares) - every)
        )
        raise InputError(
            f"reference: must give a share for each strategy; missing: {missing}; unknown: {unknown}"
        )
    return {family: [shares[name] for name in names] for family, names in columns.items()}


def _reference(name: str, shares: Any, samples: ForcedSamples) -> Float[np.ndarray, "inputs parts"]:
    rows = samples.rows(name)
    width = len(samples.names[rows[0]])
    given = np.asarray(shares, dtype=np.float64)
    if given.shape[-1:] != (width,) or given.shape[:-1] not in ((), (len(rows),)):
        raise InputError(
            f"reference: must be [{width}] or [{len(rows)}, {width}] for {name}; got shape {given.shape}"
        )
    if not ((given >= 0.0).all() and (given.sum(axis=-1) <= 1.0 + 1e-6).all()):
        raise InputError(f"reference: must be shares that sum to at most 1; got {shown(given.tolist())}")
    table = np.broadcast_to(given, (len(rows), width))
    return np.concatenate([table, np.maximum(1.0 - table.sum(axis=1, keepdims=True), 0.0)], axis=1)
