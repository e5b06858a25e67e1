"""`Competence`: the curve of each concept, and what is read off it."""

import dataclasses
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.corrections.journal import read_records
from coverjax.curves import Curves
from coverjax.foundation.checks import InputError, listed, shown

REPLAY_GATE = 0.95
"""The one structural gate: below this share of equal replays, a curve is not the system's but one run's."""

GRADED = "graded"


@dataclasses.dataclass(frozen=True, eq=False)
class Competence:
    """How many reviewed corrections it takes until a concept is competent, concept by concept.

    A row is a concept, or one variant of it where a sweep ran several. Columns are k = 0..K corrections, K
    the length of the longest curriculum. "Never" is NaN (null in files): such a concept is censored at the
    end of its curriculum, which means over the others do not show.

    Attributes:
        hits: number of expected tokens in the answer after k corrections [concepts, K + 1]; NaN beyond a
            concept's own curriculum, and for concepts that are not graded. A snapshot that failed has 0.
        concepts, splits: name and split of each row [concepts].
        graded: whether every correction was accepted [concepts].
        expected: M, the number of expected tokens [concepts].
        lengths: n, the number of corrections [concepts].
        failed: snapshots that gave no answer, or one without a trace hash [concepts, K + 1].
        replay_same: snapshots whose replay gave the same record in full [concepts, K + 1].
        records: everything that was recorded, a dict for each row.
        provenance: what was run: system, settings, token rule, sweep, hashes of the inputs.
    """

    hits: Float[np.ndarray, "concepts points"]
    concepts: np.ndarray
    splits: np.ndarray
    graded: Bool[np.ndarray, " concepts"]
    expected: Int[np.ndarray, " concepts"]
    lengths: Int[np.ndarray, " concepts"]
    failed: Bool[np.ndarray, "concepts points"]
    replay_same: Bool[np.ndarray, "concepts points"]
    records: tuple[dict[str, Any], ...]
    provenance: dict[str, Any]

    @property
    def system(self) -> str:
        """Name of the system."""
        return str(self.provenance["system"]["name"])

    @property
    def first_hit(self) -> Float[np.ndarray, " concepts"]:
        """Least k with a hit, 0 included: what was known before shows there [concepts]."""
        return self._column("corrections_to_first_hit")

    @property
    def first_hit_sustained(self) -> Float[np.ndarray, " concepts"]:
        """Least k from which on every snapshot has a hit [concepts]."""
        return self._column("corrections_to_first_hit_sustained")

    @property
    def saturation(self) -> Float[np.ndarray, " concepts"]:
        """Least k with all expected tokens, the first crossing: a later drop does not undo it [concepts]."""
        return self._column("corrections_to_saturation")

    @property
    def saturation_sustained(self) -> Float[np.ndarray, " concepts"]:
        """Least k from which on every snapshot has all expected tokens [concepts]."""
        return self._column("corrections_to_saturation_sustained")

    @property
    def saturation_score(self) -> Float[np.ndarray, " concepts"]:
        """Fraction of the expected tokens after the last correction, h(n) / M [concepts]."""
        return self._column("saturation_score")

    @property
    def peak_score(self) -> Float[np.ndarray, " concepts"]:
        """Largest fraction of the expected tokens at any k [concepts]."""
        return self._column("peak_score")

    @property
    def largest_drop(self) -> Float[np.ndarray, " concepts"]:
        """How many tokens the curve ever falls below its highest value so far [concepts]."""
        return self._column("largest_drop")

    @property
    def prior_knowledge(self) -> Float[np.ndarray, " concepts"]:
        """Hits before any correction, h(0) [concepts]."""
        return self._column("prior_knowledge")

    @property
    def area(self) -> Float[np.ndarray, " concepts"]:
        """Mean of h(k) / M over k = 1..n, a fraction [concepts]."""
        return self._column("area")

    def _column(self, name: str) -> Float[np.ndarray, " concepts"]:
        return np.array([np.nan if r[name] is None else r[name] for r in self.records], dtype=np.float64)

    @property
    def there(self) -> Bool[np.ndarray, "concepts points"]:
        """Which columns belong to a row: k = 0..n [concepts, K + 1]."""
        return np.arange(self.hits.shape[1]) <= self.lengths[:, None]

    @property
    def replay_determinism(self) -> float:
        """Share of the snapshots, of all rows, whose replay gave the same record in full.

        The whole answer is compared, and what was accepted; a failure or an empty trace hash agrees with
        nothing. NaN without a row.
        """
        total = int(self.there.sum())
        return float((self.replay_same & self.there).sum() / total) if total else np.nan

    @property
    def replay_gate(self) -> bool:
        """Whether at least 0.95 of the replays agree: below it a curve shows one run, and not the system."""
        return self.replay_determinism >= REPLAY_GATE

    @property
    def replay_differs(self) -> list[tuple[str, int]]:
        """The snapshots whose replay differs, as (concept, number of corrections taught)."""
        rows, points = np.nonzero(self.there & ~self.replay_same)
        return [(str(self.concepts[row]), int(k)) for row, k in zip(rows, points, strict=True)]

    @property
    def horizon(self) -> int:
        """Length of the shortest curriculum of a graded row: so far every mean is over the same concepts."""
        return int(self.lengths[self.graded].min()) if self.graded.any() else 0

    @property
    def units(self) -> Int[np.ndarray, " concepts"]:
        """Number of the concept that each row is a variant of, in order of appearance [concepts]."""
        seen: dict[tuple[str, str], int] = {}
        pairs = zip(self.splits.tolist(), self.concepts.tolist(), strict=True)
        return np.array([seen.setdefault(pair, len(seen)) for pair in pairs], dtype=np.int64)

    @property
    def split_names(self) -> list[str]:
        """Names of the splits, in order of appearance."""
        return list(dict.fromkeys(self.splits.tolist()))

    def take(self, rows: "np.ndarray | Sequence[int]") -> "Competence":
        """Return some rows, by number or mask."""
        at = np.asarray(rows)
        at = np.flatnonzero(at) if at.dtype == bool else at.astype(np.int64)
        parts = {
            name: getattr(self, name)[at]
            for name in (
                "hits",
                "concepts",
                "splits",
                "graded",
                "expected",
                "lengths",
                "failed",
                "replay_same",
            )
        }
        return Competence(**parts, records=tuple(self.records[i] for i in at), provenance=self.provenance)

    def split(self, name: str) -> "Competence":
        """Return the rows of a split.

        Raises:
            InputError: there is no such split.
        """
        if name not in self.split_names:
            raise InputError(f"split: must be one of {listed(self.split_names)}; got {shown(name)}")
        return self.take(self.splits == name)

    def curves(self) -> Curves:
        """Return the graded concepts as `Curves`, so that what works on coverage works on competence.

        Budgets are k = 0..horizon corrections, `distinct` the hits, `coverage` the hits over M. Variants of a
        concept are averaged: an input is a concept.
        """
        fine = self.take(self.graded)
        points = self.horizon + 1
        units = fine.units
        first = np.array([np.flatnonzero(units == unit)[0] for unit in range(units.max(initial=-1) + 1)], int)
        ids = np.empty(len(first), dtype=object)
        ids[:] = [f"{fine.splits[row]}: {fine.concepts[row]}" for row in first]
        hits = by_concept(fine.hits[:, :points], units)
        return Curves(
            budgets=np.arange(points),
            coverage=hits / fine.expected[first][:, None],
            distinct=hits,
            declared=fine.expected[first],
            ids=ids,
            method=self.system,
            provenance={"kind": "corrections", **self.provenance},
        )


def by_concept(values: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Average rows by concept, [rows, points] -> [concepts, points].

    Rows that are NaN anywhere are left out, and a concept without another row with them: for "never".
    """
    fine = ~np.isnan(values).any(axis=1)
    kept, codes = values[fine], units[fine]
    names, places = np.unique(codes, return_inverse=True)
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, places, kept)
    return sums / np.bincount(places, minlength=len(names))[:, None]


def read_competence(path: "str | os.PathLike[str]") -> Competence:
    """Read a finished run from its `records.jsonl`, or the folder that holds it.

    Raises:
        InputError: there is none, or it is not complete.
    """
    header, records = read_records(path)
    return _competence(header, records)


def competence_of(header: dict[str, Any], lines: Sequence[str], ran: str) -> Competence:
    """Put the records of a run together."""
    return _competence({**header, "ran": ran}, [json.loads(line) for line in lines])


def _competence(provenance: dict[str, Any], records: list[dict[str, Any]]) -> Competence:
    lengths = np.array([len(record["curve"]) - 1 for record in records], dtype=np.int64)
    graded = np.array([record["status"] == GRADED for record in records], dtype=bool)
    shape = (len(records), int(lengths.max(initial=0)) + 1)
    hits, failed, same = np.full(shape, np.nan), np.zeros(shape, bool), np.zeros(shape, bool)
    for row, record in enumerate(records):
        curve, points = record["curve"], slice(0, lengths[row] + 1)
        if graded[row]:
            hits[row, points] = [point["cumulative_token_hit_count"] for point in curve]
        failed[row, points] = [point["error"] is not None for point in curve]
        same[row, points] = [point["replay"] == "same" for point in curve]
    return Competence(
        hits=hits,
        concepts=_objects(record["concept"] for record in records),
        splits=_objects(record["split"] for record in records),
        graded=graded,
        expected=np.array([len(record["expected_tokens"]) for record in records], dtype=np.int64),
        lengths=lengths,
        failed=failed,
        replay_same=same,
        records=tuple(records),
        provenance=provenance,
    )


def _objects(values: Any) -> np.ndarray:
    listed_values = list(values)
    array = np.empty(len(listed_values), dtype=object)
    array[:] = listed_values
    return array
