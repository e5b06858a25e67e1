"""Krippendorff's alpha of label sets: agreement of any number of labelers, corrected for chance."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coverjax.foundation.checks import InputError, one_of
from coverjax.inference.jackknife import jackknife_interval
from coverjax.inference.units import Interval, summed_by_cluster

DISTANCES = ("masi", "jaccard", "nominal")

MOST_SETS = 4_096
"""Distinct label sets whose pairs are all compared."""


def set_distance(a: Collection[str], b: Collection[str], distance: str = "masi") -> float:
    """Return how far two label sets are apart, 0 to 1.

    With J = |A & B| / |A | B| (1 where both are empty): "jaccard" 1 - J; "masi" 1 - J m, m = 1 where the sets
    are equal, 2/3 where one holds the other, 1/3 where they overlap, 0 where they do not; "nominal" 0 or 1.

    >>> round(set_distance({"a"}, {"a", "b"}), 4), set_distance({"a"}, {"a", "b"}, "jaccard")
    (0.6667, 0.5)
    """
    one, other = set(a), set(b)
    if one == other:
        return 0.0
    share = len(one & other)
    if distance == "nominal" or not share:
        return 1.0
    jaccard = share / len(one | other)
    if distance == "jaccard":
        return 1.0 - jaccard
    return 1.0 - jaccard * (2.0 / 3.0 if one <= other or other <= one else 1.0 / 3.0)


def krippendorff_alpha(coders: "Sequence[Sequence[Collection[str] | None]]", distance: str = "masi") -> float:
    """Compute Krippendorff's alpha of label sets: 1 - observed / expected disagreement.

    Observed: the mean distance of two coders' sets of one sample. Expected: the mean distance of two sets
    drawn from all that were given. 1 where all agree, 0 as by chance; NaN where all sets are the same.

    Args:
        coders: for each coder the label set of each sample, None where it gave none. Samples with fewer
            than two sets do not count.
        distance: see `set_distance`.

    >>> krippendorff_alpha([[{"a"}, {"b"}, None], [{"a"}, {"b"}, {"b"}]])
    1.0

    References:
        Krippendorff 2004, Content Analysis, chapter 11; MASI: Passonneau 2006 (LREC).
    """
    one_of("distance", distance, DISTANCES)
    if len({len(coder) for coder in coders}) != 1 or len(coders) < 2:
        raise InputError("coders: must be at least two, with an entry for each sample")
    parts = _coincidences(coders, distance)
    observed, counts = parts.observed.sum(), parts.counts.sum(axis=0)
    return float(_alpha(np.array([observed]), counts[None], parts.distances)[0])


@dataclasses.dataclass(frozen=True, eq=False)
class _Coincidences:
    """By sample: its pairs' mean distance times its sets, and how often it holds each distinct set."""

    observed: Float[np.ndarray, " samples"]
    counts: Float[np.ndarray, "samples sets"]
    distances: Float[np.ndarray, "sets sets"]


def _coincidences(coders: Any, distance: str) -> _Coincidences:
    place: dict[frozenset[str], int] = {}
    codes = np.array(
        [
            [-1 if labels is None else place.setdefault(frozenset(labels), len(place)) for labels in coder]
            for coder in coders
        ],
        dtype=np.int64,
    )
    if len(place) > MOST_SETS:
        raise InputError(
            f"alpha: compares up to {MOST_SETS:,} distinct label sets; these are {len(place):,}: label by "
            "fewer strategies, or take a part of the samples"
        )
    sets = list(place)
    distances = np.array([[set_distance(one, other, distance) for other in sets] for one in sets])
    counts = np.zeros((codes.shape[1], len(sets)))
    for coder in codes:
        given = np.flatnonzero(coder >= 0)
        counts[given, coder[given]] += 1.0
    several = counts.sum(axis=1)
    counts[several < 2] = 0.0
    observed = np.einsum("sa,ab,sb->s", counts, distances, counts, optimize=True)
    return _Coincidences(observed / np.maximum(several - 1.0, 1.0), counts, distances)


def _alpha(observed: np.ndarray, counts: np.ndarray, distances: np.ndarray) -> np.ndarray:
    total = counts.sum(axis=1)
    expected = np.einsum("ra,ab,rb->r", counts, distances, counts, optimize=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0.0, 1.0 - observed * (total - 1.0) / expected, np.nan)


def alpha_interval(coders: Any, codes: np.ndarray, distance: str, level: float) -> Interval:
    """Compute alpha with an interval that leaves out one unit (an input's samples) at a time.

    Args:
        coders: as in `krippendorff_alpha`.
        codes: the unit of each sample, 0, 1, ...
        distance, level: of the sets; of the interval.
    """
    parts = _coincidences(coders, distance)
    columns = np.concatenate([parts.observed[:, None], parts.counts], axis=1)

    def function(sums: np.ndarray) -> np.ndarray:
        return _alpha(sums[:, 0], sums[:, 1:], parts.distances)[:, None]

    return jackknife_interval(summed_by_cluster(columns, codes), function, level)
