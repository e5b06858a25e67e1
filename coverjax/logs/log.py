"""`SampleLog`: labelled samples of a set of inputs, as padded and masked arrays."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError, input_ids, one_of, shown
from coverjax.logs.counts import KINDS, CountTable, by_latents, row_numbers, several_trials

MOST_LATENTS = 1 << 20


@dataclasses.dataclass(frozen=True, eq=False)
class SampleLog:
    """Labelled samples: for every input and trial a sequence of match sets.

    A sample matches a SET of labels, possibly empty (parse failure, invalid, off-strategy). An empty
    one has spent budget and is never dropped. A row is an input, or a pair of a method and an input where the
    log compares methods.

    Attributes:
        matches: whether a sample matches a label, [inputs, trials, samples, labels]. An input's labels are
            its declared strategies and, after them, labels outside the declared set; padded with False.
        n: number of samples of each trial [inputs, trials]; 0 where there is no such trial. Samples
            beyond n are padding.
        declared: which labels are declared strategies [inputs, labels]; their number is M.
        labels: the names of an input's labels, in column order, one tuple an input.
        ids: the name of each row's input, object [inputs].
        method: the method of each row, object [inputs], or None where the log has no method column.
        valid, correct: flags of each sample [inputs, trials, samples], or None.
        score: a number of each sample [inputs, trials, samples], NaN in the padding, or None.
        latent: the code of each sample's latent [inputs, trials, samples], -1 where there is none, or None.
        latents: the names of the latent codes.
        labelers: who labelled (ground_truth, rule, rubric, classifier, human, latent), sorted.
        ordered: False: the samples of a trial are exchangeable (independent draws, say); True: only the
            observed order means anything (an adaptive policy).
        declared_given: False where no declared strategies were given: M is then the number of distinct
            labels seen on the input over all methods and trials, a denominator that depends on the data.
        provenance: plain facts: files, hashes, format.
    """

    matches: Bool[np.ndarray, "inputs trials samples labels"]
    n: Int[np.ndarray, "inputs trials"]
    declared: Bool[np.ndarray, "inputs labels"]
    labels: tuple[tuple[str, ...], ...]
    ids: np.ndarray
    method: np.ndarray | None = None
    valid: Bool[np.ndarray, "inputs trials samples"] | None = None
    correct: Bool[np.ndarray, "inputs trials samples"] | None = None
    score: Float[np.ndarray, "inputs trials samples"] | None = None
    latent: Int[np.ndarray, "inputs trials samples"] | None = None
    latents: tuple[str, ...] = ()
    labelers: tuple[str, ...] = ()
    ordered: bool = False
    declared_given: bool = True
    provenance: dict[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_arrays(
        cls,
        matches: Any,
        n: Any = None,
        declared: Any = None,
        valid: Any = None,
        correct: Any = None,
        ordered: bool = False,
        *,
        ids: Sequence[object] | None = None,
        labels: Sequence[Sequence[str]] | None = None,
        score: Any = None,
        latent: Any = None,
        labeler: str | Sequence[str] = (),
        method: Sequence[str] | None = None,
    ) -> "SampleLog":
        """Build a log from arrays.

        Args:
            matches: bool [inputs, samples, labels], or [inputs, trials, samples, labels].
            n: number of samples of each input, [inputs] or [inputs, trials]; all of them when None.
            declared: which labels are declared strategies, bool [labels] or [inputs, labels]; when None
                all labels are taken as declared.
            valid, correct: bool [inputs, samples] or [inputs, trials, samples].
            ordered: whether only the observed order means anything.
            ids: names of the inputs; 0, 1, ... when None.
            labels: names of the labels, one sequence an input; "0", "1", ... when None.
            score: numbers, shaped like `valid`.
            latent: whole numbers >= 0 or -1, shaped like `valid`. Named "z0", "z1", ..., or "0", "1", ...
                where `labels` names the labels.
            labeler: who labelled.
            method: the method of each row, when the log compares methods.

        Raises:
            InputError: shapes disagree, an entry is no flag, or n exceeds the number of samples.
        """
        array = _flags("matches", matches)
        if array.ndim == 3:
            array = array[:, None]
        if array.ndim != 4:
            raise InputError(
                "matches: must be [inputs, samples, labels] or [inputs, trials, samples, labels]; "
                f"got shape {array.shape}"
            )
        inputs, trials, samples, width = array.shape
        if inputs == 0:
            raise InputError("matches: must hold at least one input; got none")
        counts = _sample_counts(n, inputs, trials, samples)
        names = _label_names(labels, inputs, width)
        named = np.arange(width) < np.array([len(row) for row in names])[:, None]
        mask = named if declared is None else _flags("declared", declared)
        if mask.shape not in ((width,), (inputs, width)):
            raise InputError(
                f"declared: must be bool [{width}] or [{inputs}, {width}], a flag a label of `matches`; "
                f"got shape {mask.shape}"
            )
        shape = (inputs, trials, samples)
        _require_named(np.asarray(array.any(axis=(1, 2))), np.broadcast_to(mask, (inputs, width)), named)
        inside = np.arange(samples) < counts[..., None]
        rows = None if method is None else _row_methods(method, inputs)
        return cls(
            matches=array & inside[..., None],
            n=counts,
            declared=np.broadcast_to(mask, (inputs, width)).copy(),
            labels=names,
            ids=input_ids(ids, inputs) if rows is None else _row_ids(ids, rows),
            method=rows,
            valid=None if valid is None else _per_sample("valid", _flags("valid", valid), shape),
            correct=None if correct is None else _per_sample("correct", _flags("correct", correct), shape),
            score=None if score is None else _scores(score, shape, inside),
            latent=None if latent is None else _latents(latent, shape, inside),
            latents=() if latent is None else _latent_names(latent, inside, "z" if labels is None else ""),
            labelers=(labeler,) if isinstance(labeler, str) else tuple(sorted(set(labeler))),
            ordered=bool(ordered),
        )

    @property
    def inputs(self) -> int:
        """Number of rows."""
        return len(self.ids)

    @property
    def declared_count(self) -> np.ndarray:
        """M, the number of declared strategies of each input, int64 [inputs]."""
        return self.declared.sum(axis=1)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines that a reader of the numbers should see, from the reading of the files."""
        return tuple(self.provenance.get("notes", ()))

    @property
    def smallest_n(self) -> int:
        """The smallest number of samples of any trial that has samples; 0 when there is none."""
        present = self.n[self.n > 0]
        return int(present.min()) if present.size else 0

    @property
    def inside(self) -> Bool[np.ndarray, "inputs trials samples"]:
        """Which entries are samples and not padding."""
        return np.arange(self.matches.shape[2]) < self.n[..., None]

    def take(self, rows: Any) -> "SampleLog":
        """Return the log of some rows, in the order given."""
        rows = row_numbers(rows, self.inputs)
        names = ("matches", "n", "declared", "ids", "method", "valid", "correct", "score", "latent")
        held = {name: getattr(self, name) for name in names}
        picked: dict[str, Any] = {
            name: None if array is None else array[rows] for name, array in held.items()
        }
        return dataclasses.replace(self, labels=tuple(self.labels[i] for i in rows), **picked)

    def by_method(self) -> dict[str, "SampleLog"]:
        """Split a log that has a method column, in order of first appearance."""
        if self.method is None:
            raise InputError("method: this log has no method column; give one to compare methods")
        logs = {}
        for name in dict.fromkeys(self.method.tolist()):
            part = self.take(self.method == name)
            logs[name] = dataclasses.replace(
                part, method=None, provenance={**self.provenance, "method": name}
            )
        return logs

    def kept(self, coverage: str) -> Bool[np.ndarray, "inputs trials samples labels"]:
        """Return the matches that count for a kind of coverage.

        The labels of the other samples are emptied and the samples stay: their budget was spent.
        """
        one_of("coverage", coverage, KINDS)
        if coverage == "raw":
            return self.matches
        flags = getattr(self, coverage)
        if flags is None:
            raise InputError(
                f"coverage: must be a kind that the log can tell; it has no `{coverage}` column, so "
                f"{coverage} coverage is unknown: add the column or use coverage='raw'"
            )
        return self.matches & flags[..., None]

    def counts(self) -> CountTable:
        """Count the samples that match each label, forgetting the samples.

        Raises:
            InputError: the log is ordered, or some row has several trials: a count table knows neither.
        """
        if self.ordered:
            raise InputError(
                "ordered: counts forget the order of the samples, and this log's order means something"
            )
        several = (self.n > 0).sum(axis=1) > 1
        if several.any():
            raise several_trials(self.ids[int(np.argmax(several))])
        kinds = {
            kind: None if getattr(self, kind) is None else self.kept(kind).sum(axis=(1, 2))
            for kind in ("valid", "correct")
        }
        return CountTable(
            counts=self.matches.sum(axis=(1, 2)),
            n=self.n.sum(axis=1),
            declared=self.declared,
            labels=self.labels,
            ids=self.ids,
            method=self.method,
            counts_valid=kinds["valid"],
            counts_correct=kinds["correct"],
            labelers=self.labelers,
            declared_given=self.declared_given,
            copies_latent=self.repeats_latent(),
            provenance=self.provenance,
        )

    def with_min_score(self, threshold: float) -> "SampleLog":
        """Return the log with a sample counted as correct exactly when its score is >= threshold."""
        if "no_min_score" in self.provenance:
            raise InputError(f"min_score: {self.provenance['no_min_score']}")
        if self.score is None:
            raise InputError("score: a minimum score needs a `score` column; this log has none")
        return dataclasses.replace(self, correct=np.nan_to_num(self.score, nan=-np.inf) >= threshold)

    def repeats_latent(self) -> bool:
        """Whether the labels are only a copy of the latents: each sample matches its latent's own name.

        Where someone is named who labelled the outputs, equal names are agreement: a generator that always
        does what its latent says.
        """
        if self.labelers or self.latent is None or not (self.latent >= 0).any():
            return by_latents(self.labelers)
        rows, trials, samples = np.nonzero(self.inside)
        sizes = self.matches.sum(axis=-1)[rows, trials, samples]
        if not np.array_equal(sizes, self.latent[rows, trials, samples] >= 0):
            return False
        column = self.matches.argmax(axis=-1)[rows, trials, samples]
        code = self.latent[rows, trials, samples]
        return all(
            size == 0 or self.labels[row][label] == self.latents[latent]
            for row, label, latent, size in zip(rows, column, code, sizes, strict=True)
        )


def _flags(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype == bool:
        return array
    if array.dtype == object or not np.isin(array, (0, 1)).all():
        raise InputError(
            f"{name}: must hold flags (bool, or 0 and 1); got {shown(array.ravel()[:4].tolist())}"
        )
    return array.astype(bool)


def _sample_counts(n: Any, inputs: int, trials: int, samples: int) -> np.ndarray:
    if n is None:
        return np.full((inputs, trials), samples, dtype=np.int64)
    counts = np.asarray(n)
    if counts.ndim == 1 and trials == 1:
        counts = counts[:, None]
    if counts.shape != (inputs, trials):
        raise InputError(f"n: must have shape [{inputs}] or [{inputs}, {trials}]; got {counts.shape}")
    if not np.all(counts == np.floor(counts)) or counts.min() < 0 or counts.max() > samples:
        raise InputError(
            f"n: must be whole numbers from 0 to {samples}, the samples of `matches`; got {shown(n)}"
        )
    return counts.astype(np.int64)


def _per_sample(name: str, array: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    if array.ndim == 2 and shape[1] == 1:
        array = array[:, None]
    if array.shape != shape:
        raise InputError(f"{name}: must have one entry for each sample, shape {shape}; got {array.shape}")
    return array


def _scores(values: Any, shape: tuple[int, int, int], inside: np.ndarray) -> np.ndarray:
    score = _per_sample("score", np.asarray(values, dtype=np.float64), shape)
    if np.isnan(score[inside]).any():
        raise InputError("score: must be a number for every sample; got NaN")
    return np.where(inside, score, np.nan)


def _latents(values: Any, shape: tuple[int, int, int], inside: np.ndarray) -> np.ndarray:
    latent = _per_sample("latent", np.asarray(values), shape)
    if not np.issubdtype(latent.dtype, np.integer) or latent[inside].min(initial=0) < -1:
        raise InputError("latent: must be whole numbers >= 0, or -1 for a sample without a latent")
    return np.where(inside, latent, -1)


def _label_names(
    labels: Sequence[Sequence[str]] | None, inputs: int, width: int
) -> tuple[tuple[str, ...], ...]:
    if labels is None:
        return (tuple(str(i) for i in range(width)),) * inputs
    if len(labels) != inputs or any(len(names) > width for names in labels):
        raise InputError(f"labels: must give each of the {inputs} inputs at most {width} names, one a column")
    rows = tuple(tuple(str(name) for name in names) for names in labels)
    for row, names in enumerate(rows):
        if len(set(names)) < len(names):
            raise InputError(f"labels: must be distinct; input {row} names {shown(list(names))}")
    return rows


def _require_named(matched: np.ndarray, declared: np.ndarray, named: np.ndarray) -> None:
    """Raise where a label that is matched or declared has no name."""
    for array, does in ((matched, "matches"), (declared, "declares")):
        if (array & ~named).any():
            row = int(np.argmax((array & ~named).any(axis=1)))
            raise InputError(
                f"labels: input {row} {does} a column that has no name; name every column in use"
            )


def _latent_names(latent: Any, inside: np.ndarray, start: str) -> tuple[str, ...]:
    """Names of the codes: labels that have no names of their own must not be mistaken for them."""
    most = int(np.where(inside, np.asarray(latent).reshape(inside.shape), -1).max(initial=-1))
    if most >= MOST_LATENTS:
        raise InputError(f"latent: must be codes 0, 1, ... below {MOST_LATENTS:,}; got {most:,}")
    return tuple(f"{start}{code}" for code in range(most + 1))


def _row_methods(method: Sequence[str], inputs: int) -> np.ndarray:
    if len(method) != inputs:
        raise InputError(f"method: must name the method of each of the {inputs} rows; got {len(method)}")
    rows = np.empty(inputs, dtype=object)
    rows[:] = [str(name) for name in method]
    return rows


def _row_ids(ids: Sequence[object] | None, method: np.ndarray) -> np.ndarray:
    """Names of the rows of a log with methods, distinct within a method; 0, 1, ... in each when None."""
    if ids is not None and len(ids) != len(method):
        raise InputError(f"ids: must name each of the {len(method)} rows; got {len(ids)} names")
    rows = np.empty(len(method), dtype=object)
    for name in dict.fromkeys(method.tolist()):
        of = np.flatnonzero(method == name)
        rows[of] = input_ids(None if ids is None else [ids[row] for row in of.tolist()], len(of))
    return rows
