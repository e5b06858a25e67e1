"""`CountTable`: how many samples of each input match each label; the samples themselves are not kept."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from coverjax.foundation.checks import InputError, input_ids, one_of, shown

KINDS = ("raw", "valid", "correct")
"""Kinds of coverage: all samples, those flagged valid, those flagged correct."""


@dataclasses.dataclass(frozen=True, eq=False)
class CountTable:
    """Counts of exchangeable samples: of an input's n samples, c match a label.

    The counts tell coverage, distinct and novelty (count) at every budget within n, exactly as the samples
    do. They don't tell which labels came together, in what order, or in which trial.

    Attributes:
        counts: number of samples that match a label [inputs, labels]; 0 in the padding.
        n: number of samples of each row [inputs].
        declared: which labels are declared strategies [inputs, labels]; their number is M.
        labels: the names of a row's labels, in column order, one tuple a row.
        ids: the name of each row's input, object [inputs].
        method: the method of each row, object [inputs], or None where there is no method column.
        counts_valid, counts_correct: number of samples that match a label and are flagged valid (correct)
            [inputs, labels], or None where there are no such flags.
        labelers: who labelled, sorted.
        declared_given: False where no declared strategies were given: M is then the number of distinct
            labels seen on the input over all methods, a denominator that depends on the data.
        copies_latent: the labels are only a copy of the samples' latents, so that they show no strategies.
        provenance: plain facts: files, hashes, format.
    """

    counts: Int[np.ndarray, "inputs labels"]
    n: Int[np.ndarray, " inputs"]
    declared: Bool[np.ndarray, "inputs labels"]
    labels: tuple[tuple[str, ...], ...]
    ids: np.ndarray
    method: np.ndarray | None = None
    counts_valid: Int[np.ndarray, "inputs labels"] | None = None
    counts_correct: Int[np.ndarray, "inputs labels"] | None = None
    labelers: tuple[str, ...] = ()
    declared_given: bool = True
    copies_latent: bool = False
    provenance: dict[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_arrays(
        cls,
        counts: Any,
        n: Any,
        declared: Any = None,
        *,
        ids: Sequence[object] | None = None,
        labels: Sequence[Sequence[str]] | None = None,
    ) -> "CountTable":
        """Build a table from arrays.

        Args:
            counts: number of samples that match each label [inputs, labels], or [inputs] for one label
                (correct samples, say: coverage is then pass@k).
            n: number of samples of each input, [inputs] or one number for all.
            declared: which labels are declared strategies, bool [labels] or [inputs, labels]; all when None.
            ids: names of the inputs; 0, 1, ... when None.
            labels: names of the labels, one sequence an input; "0", "1", ... when None.

        Raises:
            InputError: shapes disagree, a count is no whole number, negative or above n.

        Example:
            >>> import coverjax as cj
            >>> cj.CountTable.from_arrays([[3, 0], [1, 4]], n=4).declared_count.tolist()
            [2, 2]
        """
        array = _whole("counts", counts)
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2 or len(array) == 0:
            raise InputError(
                f"counts: must be [inputs, labels] with at least one input; got shape {array.shape}"
            )
        inputs, width = array.shape
        total = _whole("n", n)
        if total.shape not in ((), (inputs,)):
            raise InputError(f"n: must be one number or have shape [{inputs}]; got shape {total.shape}")
        total = np.broadcast_to(total, (inputs,)).copy()
        if (array > total[:, None]).any():
            row = int(np.argmax((array > total[:, None]).any(axis=1)))
            raise InputError(
                f"counts: must be at most n; row {row} has {array[row].max()} matches of {total[row]} samples"
            )
        mask = np.ones(width, bool) if declared is None else np.asarray(declared)
        if mask.dtype != bool or mask.shape not in ((width,), (inputs, width)):
            raise InputError(
                f"declared: must be bool [{width}] or [{inputs}, {width}]; got shape {mask.shape}"
            )
        names = tuple(map(str, range(width)))
        if labels is not None and (len(labels) != inputs or any(len(row) != width for row in labels)):
            raise InputError(f"labels: must give each of the {inputs} inputs {width} names, one a column")
        return cls(
            counts=array,
            n=total,
            declared=np.broadcast_to(mask, (inputs, width)).copy(),
            labels=(names,) * inputs if labels is None else tuple(tuple(map(str, row)) for row in labels),
            ids=input_ids(ids, inputs),
        )

    @property
    def inputs(self) -> int:
        """Number of rows."""
        return len(self.ids)

    @property
    def declared_count(self) -> Int[np.ndarray, " inputs"]:
        """M, the number of declared strategies of each row, int64 [inputs]."""
        return self.declared.sum(axis=1)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines that a reader of the numbers should see, from the reading of the files."""
        return tuple(self.provenance.get("notes", ()))

    @property
    def smallest_n(self) -> int:
        """The smallest number of samples of any row that has samples; 0 when there is none."""
        present = self.n[self.n > 0]
        return int(present.min()) if present.size else 0

    def take(self, rows: Any) -> "CountTable":
        """Return the table of some rows, in the order given."""
        rows = row_numbers(rows, self.inputs)
        names = ("counts", "n", "declared", "ids", "method", "counts_valid", "counts_correct")
        held = {name: getattr(self, name) for name in names}
        picked: dict[str, Any] = {
            name: None if array is None else array[rows] for name, array in held.items()
        }
        return dataclasses.replace(self, labels=tuple(self.labels[i] for i in rows), **picked)

    def by_method(self) -> dict[str, "CountTable"]:
        """Split a table that has a method column, in order of first appearance."""
        if self.method is None:
            raise InputError("method: this table has no method column; give one to compare methods")
        tables = {}
        for name in dict.fromkeys(self.method.tolist()):
            part = self.take(self.method == name)
            facts = {**self.provenance, "method": name}
            tables[name] = dataclasses.replace(part, method=None, provenance=facts)
        return tables

    def kept(self, coverage: str) -> Int[np.ndarray, "inputs labels"]:
        """Return the counts of the samples that count for a kind of coverage; n stays, it was spent."""
        one_of("coverage", coverage, KINDS)
        counts = self.counts if coverage == "raw" else getattr(self, f"counts_{coverage}")
        if counts is None:
            raise InputError(
                f"coverage: must be a kind that the table can tell; it has no counts of {coverage} samples: "
                f"count a log that has a `{coverage}` column, or use coverage='raw'"
            )
        return counts

    def repeats_latent(self) -> bool:
        """Whether the labels are only a copy of the latents of the samples that were counted."""
        return by_latents(self.labelers) or (self.copies_latent and not self.labelers)


def by_latents(labelers: "tuple[str, ...]") -> bool:
    """Whether some labels are latents by what their labeler is called: its kind, or kind:name."""
    return any(name.partition(":")[0] == "latent" for name in labelers)


def row_numbers(rows: Any, count: int) -> np.ndarray:
    """Return row numbers, or the places of the flags that are set, as whole numbers; none is allowed.

    Raises:
        InputError: neither numbers of rows that there are nor a flag for each row.
    """
    array = np.asarray(rows)
    if array.dtype == bool:
        if array.shape != (count,):
            raise InputError(f"rows: must be a flag for each of the {count} rows; got shape {array.shape}")
        return np.flatnonzero(array)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise InputError(f"rows: must be row numbers or a flag for each row; got {shown(rows)}")
    array = np.atleast_1d(array).astype(np.int64)
    if array.min() < -count or array.max() >= count:
        raise InputError(f"rows: must be numbers of the {count} rows; got {shown(rows)}")
    return array


def several_trials(name: object) -> InputError:
    """The error for samples of several trials that are to be counted."""
    return InputError(
        f"trial: a count table has no trials, and the input {shown(name)} has several; keep the samples, or "
        "leave the trials out of the log where all samples are exchangeable"
    )


def _whole(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all() or (array != np.floor(array)).any():
        raise InputError(f"{name}: must hold whole numbers; got {shown(values)}")
    if (array < 0).any():
        raise InputError(f"{name}: must not be negative; got {array.min()}")
    return array.astype(np.int64)
