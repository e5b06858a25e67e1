"""From lists of label sets to the arrays that `coverage_advantages` takes."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError, shown


class EncodedLabels(NamedTuple):
    """Label sets as arrays; columns mean what `labels` says, group by group.

    Attributes:
        matches: which strategies a sample matches [groups, samples, strategies].
        mask: which samples exist; groups are padded to the largest [groups, samples].
        weights: 1 for the group's strategies, 0 for padding [groups, strategies].
        labels: the label of each column of a group, in order.
        undeclared: number of distinct labels of a group that are not declared; they count for nothing.
    """

    matches: Bool[np.ndarray, "groups samples strategies"]
    mask: Bool[np.ndarray, "groups samples"]
    weights: Float[np.ndarray, "groups strategies"]
    labels: tuple[tuple[Hashable, ...], ...]
    undeclared: Int[np.ndarray, " groups"]


def encode_labels(groups: Sequence[Sequence[Any]], declared: Any = None) -> EncodedLabels:
    """Encode the label sets of groups of samples.

    Args:
        groups: for each input the samples drawn on it; for each sample the labels that it matches: a list,
            tuple or set of labels, None or an empty one for no match, or a single string for one label.
        declared: the strategies that count: a list of labels for every group, or one list per group (a list
            of lists). Without it, all labels seen in `groups`, sorted as text: enough to try things, but in
            training the objective would then change from batch to batch, and strategies that were never
            seen would not be missed.

    Returns:
        arrays for `coverage_advantages(matches, k, mask=mask, weights=weights)`, NumPy.

    Raises:
        InputError: no groups, a label set that is none, a label that is declared twice.

    >>> encoded = encode_labels([[["a", "b"], "b", None], [["c"]]], declared=["a", "b", "c"])
    >>> encoded.matches[0].astype(int).tolist(), encoded.mask.tolist()
    ([[1, 1, 0], [0, 1, 0], [0, 0, 0]], [[True, True, True], [True, False, False]])
    """
    if isinstance(groups, str) or not len(groups):
        raise InputError(f"groups: must be a list of groups of samples; got {shown(groups)}")
    sets = [
        [_label_set(sample, at, number) for at, sample in enumerate(group)]
        for number, group in enumerate(groups)
    ]
    labels = _columns(declared, sets)
    width = max(1, max(map(len, labels)))
    matches = np.zeros((len(sets), max(1, max(map(len, sets))), width), bool)
    mask = np.zeros(matches.shape[:2], bool)
    undeclared = np.zeros(len(sets), np.int64)
    for number, (group, names) in enumerate(zip(sets, labels, strict=True)):
        column = {label: place for place, label in enumerate(names)}
        mask[number, : len(group)] = True
        for at, found in enumerate(group):
            matches[number, at, [column[label] for label in found if label in column]] = True
        undeclared[number] = len(set().union(*group) - set(names))
    sizes = np.array([len(names) for names in labels])
    weights = (np.arange(width) < sizes[:, None]).astype(np.float64)
    return EncodedLabels(matches, mask, weights, labels, undeclared)


def _label_set(sample: Any, at: int, group: int) -> frozenset[Hashable]:
    if sample is None:
        return frozenset()
    if isinstance(sample, str):
        return frozenset([sample])
    try:
        return frozenset(sample)
    except TypeError:
        raise InputError(
            f"groups: a sample must be a set of labels, None or one string; got {shown(sample)} at group "
            f"{group}, sample {at}"
        ) from None


def _columns(declared: Any, sets: list[list[frozenset]]) -> tuple[tuple[Hashable, ...], ...]:
    """Return the labels of each group's columns."""
    if declared is None:
        seen: set[Hashable] = set().union(*(found for group in sets for found in group))
        return (tuple(sorted(seen, key=str)),) * len(sets)
    if isinstance(declared, str):
        raise InputError(f"declared: must be a list of labels, or one list per group; got {shown(declared)}")
    given = list(declared)
    nested = [isinstance(entry, Collection) and not isinstance(entry, str | tuple) for entry in given]
    if not any(nested):
        return (_distinct(given),) * len(sets)
    if not all(nested) or len(given) != len(sets):
        raise InputError(
            f"declared: must be one list of labels, or {len(sets)} lists, one per group; got "
            f"{shown(declared)}"
        )
    return tuple(_distinct(entry) for entry in given)


def _distinct(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    names = tuple(labels)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"declared: labels must be distinct; {shown(twice)} stands twice")
    return names
