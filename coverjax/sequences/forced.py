"""Samples of a generator whose latent was forced, and the table W that they give."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError, input_ids, listed, shown
from coverjax.inference.bounded import bounded_interval
from coverjax.logs.log import SampleLog
from coverjax.model.router_generator import RouterGenerator
from coverjax.sequences.tasks.base import Task, match_matrix, result_flags


@dataclasses.dataclass(frozen=True, eq=False)
class GeneratorTable:
    """W[z, s]: how often the generator writes strategy s when it is given latent z.

    Attributes:
        strategies: the strategies, in column order.
        mean: share of samples that match s, [..., latents, strategies]; `...` is the input, or nothing.
        low, high: interval for it, over the samples of an input, or over the inputs of a family.
        units: number of units that the interval is over.
        level: nominal level.
    """

    strategies: tuple[str, ...]
    mean: Float[np.ndarray, "*inputs latents strategies"]
    low: Float[np.ndarray, "*inputs latents strategies"]
    high: Float[np.ndarray, "*inputs latents strategies"]
    units: int
    level: float


@dataclasses.dataclass(frozen=True, eq=False)
class ForcedSamples:
    """Samples drawn with each latent forced, the same number for every input and latent.

    Attributes:
        matches: whether a sample matches a strategy of its input [inputs, latents, samples, strategies].
            A family's strategies stand in the same columns on all its inputs; padded with False.
        names: the declared strategies of each input, in column order; their number is M.
        families: the family of each input.
        ids: the inputs' names.
        parsed, valid, correct: flags of each sample [inputs, latents, samples], or None.
    """

    matches: Bool[np.ndarray, "inputs latents samples strategies"]
    names: tuple[tuple[str, ...], ...]
    families: tuple[str, ...]
    ids: np.ndarray
    parsed: Bool[np.ndarray, "inputs latents samples"] | None = None
    valid: Bool[np.ndarray, "inputs latents samples"] | None = None
    correct: Bool[np.ndarray, "inputs latents samples"] | None = None

    @classmethod
    def from_arrays(
        cls,
        matches: Any,
        *,
        names: "Sequence[Sequence[str]] | None" = None,
        families: "Sequence[str] | None" = None,
        ids: "Sequence[object] | None" = None,
        parsed: Any = None,
        valid: Any = None,
        correct: Any = None,
    ) -> "ForcedSamples":
        """Check and keep arrays.

        Args:
            matches: bool [inputs, latents, samples, strategies], at least one of each.
            names: the declared strategies of each input, in column order; "0", "1", ... for all when None.
            families: the family of each input; when None inputs with the same strategies are a family, named
                by what stands before "/" in their names, else "all".
            ids: names of the inputs; 0, 1, ... when None.
            parsed, valid, correct: bool [inputs, latents, samples].

        Raises:
            InputError: shapes disagree, a family has not one list of strategies, or a match is undeclared.
        """
        array = _flags("matches", matches, None)
        if array.ndim != 4 or not array.size:
            raise InputError(
                "matches: must be [inputs, latents, samples, strategies], at least one of each; got shape "
                f"{array.shape}"
            )
        inputs, width = array.shape[0], array.shape[-1]
        rows = [tuple(map(str, range(width)))] * inputs if names is None else [tuple(row) for row in names]
        if len(rows) != inputs or not all(0 < len(row) <= width for row in rows):
            raise InputError(
                f"names: must list 1 to {width} strategies for each of the {inputs} inputs; got "
                f"{shown([len(row) for row in rows])}"
            )
        outside = np.arange(width) >= np.array([len(row) for row in rows])[:, None]
        if (array.any(axis=(1, 2)) & outside).any():
            raise InputError("matches: must be False beyond the strategies that `names` lists; it is not")
        own = _families_of(rows) if families is None else tuple(map(str, families))
        _check_families(own, rows)
        flags = {
            name: None if value is None else _flags(name, value, array.shape[:3])
            for name, value in (("parsed", parsed), ("valid", valid), ("correct", correct))
        }
        return cls(array, tuple(rows), own, input_ids(ids, inputs), **flags)

    @classmethod
    def from_results(cls, results: Any, task: Task, inputs: Sequence[Any]) -> "ForcedSamples":
        """Take what a task said of generated texts.

        Args:
            results: `ValidationResult`s [inputs, latents, samples].
            task: whose inputs these are.
            inputs: the inputs.
        """
        table = np.asarray(results, dtype=object)
        if table.ndim != 3 or len(table) != len(inputs):
            raise InputError(
                f"results: must be [inputs, latents, samples], {len(inputs)} inputs; got shape {table.shape}"
            )
        names = [task.strategies(x) for x in inputs]
        return cls.from_arrays(
            match_matrix(table, names),
            names=names,
            families=[task.family(x) for x in inputs],
            ids=[task.render_x(x) for x in inputs],
            parsed=result_flags(table, "parse_success"),
            valid=result_flags(table, "structurally_valid"),
            correct=result_flags(table, "answer_correct"),
        )

    @classmethod
    def from_log(cls, log: SampleLog, families: "Sequence[str] | None" = None) -> "ForcedSamples":
        """Sort the samples of a log by their latents. Labels outside the declared set are left out.

        Raises:
            InputError: the log has no latents or no declared strategies, several methods, or not the same
                number of samples for each input and latent.
        """
        if log.latent is None:
            raise InputError("log: must have the latent of each sample in its column `latent`; it has none")
        if not log.declared_given:
            raise InputError(
                "log: must come with its declared strategies, the denominator: read it with `declared`"
            )
        if log.method is not None and len(set(log.method.tolist())) > 1:
            raise InputError(
                f"log: must hold one method; got {listed(sorted(set(log.method.tolist())))}: take its rows"
            )
        codes = np.where(log.inside, log.latent, -1).reshape(log.inputs, -1)
        latents = max(len(log.latents), int(codes.max(initial=-1)) + 1)
        order, samples = _by_latent(codes, latents, log.ids)
        names = [
            tuple(name for name, kept in zip(row, flag, strict=False) if kept)
            for row, flag in zip(log.labels, log.declared, strict=True)
        ]
        width = max(map(len, names))
        matches = np.zeros((log.inputs, latents * samples, width), bool)
        flat = log.matches.reshape(log.inputs, codes.shape[1], -1)
        for row in range(log.inputs):
            matches[row, :, : len(names[row])] = flat[row][order[row]][:, np.flatnonzero(log.declared[row])]
        shape = (log.inputs, latents, samples)

        def sorted_flags(flags: "np.ndarray | None") -> "np.ndarray | None":
            if flags is None:
                return None
            return np.take_along_axis(flags.reshape(log.inputs, -1), order, axis=1).reshape(shape)

        return cls.from_arrays(
            matches.reshape(*shape, width),
            names=names,
            families=families,
            ids=log.ids.tolist(),
            valid=sorted_flags(log.valid),
            correct=sorted_flags(log.correct),
        )

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return int(self.matches.shape[0])

    @property
    def latents(self) -> int:
        """Number of latents."""
        return int(self.matches.shape[1])

    @property
    def declared(self) -> Bool[np.ndarray, "inputs strategies"]:
        """Which columns are declared strategies of an input."""
        width = self.matches.shape[-1]
        return np.arange(width) < np.array([len(row) for row in self.names])[:, None]

    def rows(self, family: str) -> Int[np.ndarray, " inputs"]:
        """Return the numbers of a family's inputs."""
        return np.flatnonzero(np.array(self.families) == family)

    def sets(
        self,
    ) -> "tuple[Bool[np.ndarray, 'outcomes strategies'], Float[np.ndarray, 'inputs latents outcomes']]":
        """Return the distinct match sets, the empty one first, and how often each latent gave each."""
        width = self.matches.shape[-1]
        empty = np.zeros((1, width), bool)
        flat = np.concatenate([empty, self.matches.reshape(-1, width)])
        sets, codes = np.unique(flat, axis=0, return_inverse=True)
        codes = codes.ravel()[1:].reshape(self.matches.shape[:3])
        return sets, np.stack([(codes == code).mean(axis=2) for code in range(len(sets))], axis=2)

    def input_table(self, family: str | None = None, level: float = 0.95) -> GeneratorTable:
        """Return W of each input of a family, with Clopper and Pearson's intervals over its samples.

        Args:
            family: its name; None where there is one only.
            level: nominal level, a fraction.
        """
        counts, names = self._counts(family)
        samples = self.matches.shape[2]
        matching = np.arange(samples)[:, None] < np.arange(samples + 1)  # column c: c of the samples match
        ends = bounded_interval(matching, level)
        return GeneratorTable(names, counts / samples, ends.low[counts], ends.high[counts], samples, level)

    def family_table(self, family: str | None = None, level: float = 0.95) -> GeneratorTable:
        """Return W of a family: the mean over its inputs, with intervals over inputs (`bounded_interval`).

        Args:
            family: its name; None where there is one only.
            level: nominal level, a fraction.
        """
        counts, names = self._counts(family)
        shares = counts / self.matches.shape[2]
        found = bounded_interval(shares.reshape(len(shares), -1), level)
        mean, low, high = (part.reshape(shares.shape[1:]) for part in (found.mean, found.low, found.high))
        return GeneratorTable(names, mean, low, high, len(shares), level)

    def _counts(
        self, family: str | None
    ) -> "tuple[Int[np.ndarray, 'inputs latents strategies'], tuple[str, ...]]":
        """Return the matching samples of a family's inputs, and its strategies."""
        known = sorted(set(self.families))
        name = known[0] if family is None and len(known) == 1 else family
        if name not in known:
            raise InputError(f"family: must be one of {listed(known)}; got {shown(family)}")
        rows = self.rows(name)
        names = self.names[rows[0]]
        return self.matches[rows].sum(axis=2)[..., : len(names)], names

    def model(self, router: Any) -> RouterGenerator:
        """Return the router-generator whose generator gives what was seen: what W predicts is exact in it.

        Args:
            router: r(z | x) [inputs, latents].
        """
        sets, probs = self.sets()
        return RouterGenerator(router, probs, matches=sets, ids=self.ids.tolist(), declared=self.declared)


def _flags(name: str, value: Any, shape: "tuple[int, ...] | None") -> np.ndarray:
    array = np.asarray(value)
    if array.dtype != bool or shape not in (None, array.shape):
        wanted = "bool" if shape is None else f"bool {list(shape)}"
        raise InputError(f"{name}: must be {wanted}; got {array.dtype} of shape {array.shape}")
    return array


def _families_of(rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Name the family of each input by its strategies: what stands before "/" in all of them."""
    heads = [{name.partition("/")[0] if "/" in name else "all" for name in row} for row in rows]
    return tuple(head.pop() if len(head) == 1 else "all" for head in heads)


def _check_families(families: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
    if len(families) != len(rows):
        raise InputError(f"families: must name that of each of the {len(rows)} inputs; got {len(families)}")
    first: dict[str, tuple[str, ...]] = {}
    for family, row in zip(families, rows, strict=True):
        if first.setdefault(family, row) != row:
            raise InputError(
                f"families: must have one list of strategies each; {family!r} has {listed(first[family])} "
                f"and {listed(row)}: name the families, or give the strategies in one order"
            )


def _by_latent(
    codes: Int[np.ndarray, "inputs samples"], latents: int, ids: np.ndarray
) -> tuple[np.ndarray, int]:
    """Return the samples of each input sorted by latent [inputs, latents x samples], and samples a latent."""
    counts = np.stack([np.bincount(row[row >= 0], minlength=latents) for row in codes])
    samples = int(counts.max(initial=0))
    if samples == 0 or (counts != samples).any():
        row, latent = np.argwhere(counts != samples)[0] if samples else (0, 0)
        raise InputError(
            f"log: must hold equally many samples of every latent on every input; input {shown(ids[row])} "
            f"has {counts[row, latent]} of latent {latent}, and {samples} elsewhere: draw with latents forced"
        )
    unforced = codes < 0
    order = np.argsort(np.where(unforced, latents, codes), axis=1, kind="stable")
    return order[:, : latents * samples], samples
