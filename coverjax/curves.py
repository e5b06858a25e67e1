"""`Curves`: the one result type of every producer, exact, simulated or estimated."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from coverjax.foundation.checks import InputError, listed, one_of, shown
from coverjax.foundation.files import whole_file

PER_BUDGET = (
    "coverage",
    "distinct",
    "novelty_any",
    "novelty_count",
    "full_coverage",
    "latent_coverage",
    "undeclared",
)
"""The curves that hold one number per input and budget, [inputs, budgets]."""

ALWAYS = frozenset({"coverage", "distinct"})
DEFAULT = frozenset(PER_BUDGET) | {"strategy_auc", "mc_stderr", "subset_sd"}
COSTLY = frozenset({"count_law"})
"""Asked for by name only: inputs x budgets x (M + 1) numbers."""


def included(include: "str | Sequence[str]") -> frozenset[str]:
    """Return the names of the curves that are asked for.

    "default" stands for everything but the costly `count_law`, "all" for everything; a name or a
    sequence of names (which may hold "default") for these and no others. `coverage` and
    `distinct` are always there.
    """
    names = [include] if isinstance(include, str) else list(include)
    chosen: set[str] = set(ALWAYS)
    for name in names:
        if name == "default":
            chosen |= DEFAULT
        elif name == "all":
            chosen |= DEFAULT | COSTLY
        elif name in DEFAULT | COSTLY:
            chosen.add(name)
        else:
            known = ", ".join(["default", "all", *sorted(DEFAULT | COSTLY)])
            raise InputError(f"include: must be among {known}; got {shown(name)}")
    return frozenset(chosen)


@dataclasses.dataclass(frozen=True, eq=False)
class Spread:
    """One standard deviation beside each curve, under the curve's name; None where there is none."""

    coverage: np.ndarray | None = None
    distinct: np.ndarray | None = None
    novelty_any: np.ndarray | None = None
    novelty_count: np.ndarray | None = None
    full_coverage: np.ndarray | None = None
    latent_coverage: np.ndarray | None = None
    undeclared: np.ndarray | None = None
    count_law: np.ndarray | None = None
    strategy_auc: np.ndarray | None = None

    def __getitem__(self, name: str) -> np.ndarray | None:
        return getattr(self, name)


VERDICTS = ("reliable", "caution", "not comparable")
"""How far curves beyond the samples may be trusted."""


@dataclasses.dataclass(frozen=True, eq=False)
class Extrapolation:
    """How curves go on beyond a log's samples, and how far they may be trusted there.

    Attributes:
        method: the estimator.
        marks: "rarefied", "observed" or "extrapolated" (a budget below, at or above the samples of an input),
            object [inputs, B].
        influence: what is added to an input's coverage for the spread over inputs, since inputs also bear on
            each other through what is fitted to all of them; its sum over the inputs in use is 0 [inputs, B].
        models: mean coverage over the inputs in use under each model that the estimate averages, [B] each.
        gap: half of the distance between the models [B]; intervals carry it.
        low, high: interval for the mean over THESE inputs, had each been sampled without end [B]; where
            nothing is extrapolated it is NaN. (`interval` is for a population of inputs, and wider.)
        level: nominal level of low and high, a fraction.
        verdict: "reliable", "caution" or "not comparable", at the largest budget.
        checks: what the verdict stands on, one dict a check: what, value, reliable_to, caution_to, verdict.
        warnings: what a reader must know, one line each.
    """

    method: str
    marks: np.ndarray
    influence: np.ndarray
    models: dict[str, np.ndarray]
    gap: np.ndarray
    low: np.ndarray
    high: np.ndarray
    level: float
    verdict: str
    checks: tuple[dict[str, Any], ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Extrapolation(method={self.method!r}, verdict={self.verdict!r}, warnings={self.warnings!r})"


@dataclasses.dataclass(frozen=True, eq=False)
class Curves:
    """Coverage curves of a set of inputs at a set of budgets.

    All arrays are NumPy float64 and have `inputs` as their first axis; a curve that was not asked
    for is None. Write M for an input's number of declared strategies and S_k for the union of the
    match sets of its first k draws, cut to the declared strategies.

    Attributes:
        budgets: numbers of draws k, increasing, int64 [B].
        coverage: C(k) = E|S_k| / M, a fraction of the declared strategies; NaN where M = 0.
        distinct: E|S_k|, a number of declared strategies.
        novelty_any: probability that draw k brings at least one strategy that is not in S_{k-1}.
        novelty_count: E|S_k| - E|S_{k-1}|, the expected number of new strategies in draw k; equal to
            `novelty_any` only where a draw matches at most one strategy.
        full_coverage: F(k) = P(|S_k| = M).
        latent_coverage: expected fraction of the LATENTS used by k draws. Never a strategy coverage.
        undeclared: expected number of distinct labels outside the declared set among k draws.
        count_law: P(|S_k| = m) for m = 0..M, [inputs, B, M + 1], zero beyond an input's own M.
        strategy_auc: mean over k = 1..K of the probability that a strategy is covered by k draws,
            [inputs, M]; NaN beyond an input's own strategies.
        strategy_probability: probability that one draw matches a strategy, [inputs, M], where the
            producer knows or estimates it; what `gain_split` calls rare or common.
        utility: what samples are worth by name (pass@k, ...), each [inputs, B]; `utility_curves` fills it.
            An input without declared strategies has these all the same.
        mc_stderr: standard errors of simulated curves (a Monte Carlo error, not an interval for a
            population).
        subset_sd: standard deviation over k-subsets of the samples of a log. It is 0 at k = n and is
            no interval for the population.
        declared: M of each input [inputs].
        ids: name of each input [inputs].
        n_short: number of inputs with fewer samples than the largest budget: they leave at ALL budgets
            (their rows are NaN), so that the set of inputs never changes along a curve.
        short: which inputs these are, bool [inputs].
        extrapolation: how curves go on beyond the samples of a log; None where they don't (`extrapolate`).
        method: name of the policy or of the log's method.
        provenance: plain facts about how the curves were made (kind, form, seed, version, what the
            policy saw and knew, who labelled, ...).
    """

    budgets: np.ndarray
    coverage: np.ndarray
    distinct: np.ndarray
    declared: np.ndarray
    ids: np.ndarray
    novelty_any: np.ndarray | None = None
    novelty_count: np.ndarray | None = None
    full_coverage: np.ndarray | None = None
    latent_coverage: np.ndarray | None = None
    undeclared: np.ndarray | None = None
    count_law: np.ndarray | None = None
    strategy_auc: np.ndarray | None = None
    strategy_probability: np.ndarray | None = None
    utility: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    mc_stderr: Spread | None = None
    subset_sd: Spread | None = None
    short: np.ndarray | None = None
    extrapolation: Extrapolation | None = None
    method: str = ""
    provenance: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return len(self.ids)

    @property
    def n_short(self) -> int:
        """Number of inputs that left because they have fewer samples than the largest budget."""
        return 0 if self.short is None else int(self.short.sum())

    @property
    def consecutive(self) -> bool:
        """Whether the budgets are 1, 2, ..., K."""
        return bool(self.budgets[0] == 1 and self.budgets[-1] == len(self.budgets))

    @property
    def enough(self) -> np.ndarray:
        """Inputs with enough samples, bool [inputs]."""
        return np.ones(self.inputs, bool) if self.short is None else ~self.short

    @property
    def used(self) -> np.ndarray:
        """Inputs that enter means: enough samples and at least one declared strategy, bool [inputs]."""
        return self.enough & (self.declared > 0)

    def used_for(self, name: str) -> np.ndarray:
        """Inputs that enter the mean of one curve: a utility needs no declared strategy, bool [inputs]."""
        return self.enough if name in self.utility else self.used

    def curve(self, name: str) -> np.ndarray:
        """Return a curve with one number per input and budget by its name, [inputs, B], else raise."""
        if name in self.utility:
            return self.utility[name]
        one_of("quantity", name, (*PER_BUDGET, *self.utility))
        self.need(name)
        return getattr(self, name)

    def need(self, *names: str) -> None:
        """Raise unless these curves are there, saying how to ask for them."""
        missing = [name for name in names if getattr(self, name) is None]
        if missing:
            raise InputError(
                f"{missing[0]}: these curves of {shown(self.method)} hold no {listed(missing)}; "
                f"ask for it with include=('default', '{missing[0]}') where the producer offers it"
            )

    def mean(self) -> "Curves":
        """Average over the inputs in use: one row, every input with the same weight.

        `declared` becomes the total number of declared strategies, `distinct` a number per input.
        """
        keep = self.used
        row = {name: _mean_row(getattr(self, name), keep) for name in (*PER_BUDGET, "count_law")}
        worth = {name: _some_mean(values, self.enough) for name, values in self.utility.items()}
        return dataclasses.replace(self._one_row("mean", row), utility=worth)

    def pooled(self) -> "Curves":
        """Sum over the inputs in use: coverage is found strategies over declared strategies.

        Inputs weigh by their number of declared strategies. Novelty (any), full coverage and the
        count law have no pooled reading and are None.
        """
        keep = self.used
        summed = ("distinct", "novelty_count", "undeclared")
        row = {name: _sum_row(getattr(self, name), keep) for name in summed}
        total = float(self.declared[keep].sum())
        found = row["distinct"]
        assert found is not None
        row["coverage"] = found / total if total else np.full_like(found, np.nan)
        return self._one_row("pooled", row)

    def _one_row(self, name: str, row: dict[str, np.ndarray | None]) -> "Curves":
        keep = self.used
        ids = np.empty(1, dtype=object)
        ids[0] = name
        facts = {**self.provenance, "aggregate": name, "inputs": int(keep.sum())}
        return Curves(
            budgets=self.budgets,
            declared=np.array([int(self.declared[keep].sum())]),
            ids=ids,
            method=self.method,
            provenance=facts,
            **row,  # type: ignore[arg-type]
        )

    def columns(self) -> dict[str, np.ndarray]:
        """Return the curves as a long table: a dict of columns of length inputs x budgets."""
        count = len(self.budgets)
        table: dict[str, np.ndarray] = {
            "method": np.repeat(np.array([self.method], dtype=object), self.inputs * count),
            "input": np.repeat(self.ids, count),
            "declared": np.repeat(self.declared, count),
            "k": np.tile(self.budgets, self.inputs),
        }
        for name in PER_BUDGET:
            values = getattr(self, name)
            if values is not None:
                table[name] = values.reshape(-1)
        table |= {name: values.reshape(-1) for name, values in self.utility.items()}
        for suffix, spread in (("mc_stderr", self.mc_stderr), ("subset_sd", self.subset_sd)):
            for name in PER_BUDGET:
                values = None if spread is None else spread[name]
                if values is not None:
                    table[f"{name}_{suffix}"] = values.reshape(-1)
        return table

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one dict per input and budget, with the curves under their names."""
        table = self.columns()
        lists = [column.tolist() for column in table.values()]
        return [dict(zip(table, values, strict=True)) for values in zip(*lists, strict=True)]

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the long table to a Parquet file, under a temporary name that is then renamed.

        Names of inputs and methods are text there.

        Raises:
            InputError: the path can't be written to.
        """
        import duckdb

        table = self.columns()
        for name in ("method", "input"):
            table[name] = np.array([str(value) for value in table[name]])
        casts = ", ".join(f"{name}::VARCHAR AS {name}" for name in ("method", "input"))
        rest = ", ".join(f'"{name}"' for name in table if name not in ("method", "input"))
        query = f"SELECT {casts}, {rest} FROM curves"
        with whole_file(path) as part, duckdb.connect() as connection:
            connection.register("curves", table)
            quoted = str(part).replace("'", "''")
            connection.execute(f"COPY ({query}) TO '{quoted}' (FORMAT parquet)")

    def to_pandas(self) -> Any:
        """Return the long table as a pandas DataFrame (pandas must be installed)."""
        import pandas

        return pandas.DataFrame(self.columns())


def _mean_row(values: np.ndarray | None, keep: np.ndarray) -> np.ndarray | None:
    if values is None:
        return None
    return _some_mean(values, keep)


def _some_mean(values: np.ndarray, keep: np.ndarray) -> np.ndarray:
    if not keep.any():
        return np.full((1, *values.shape[1:]), np.nan)
    return values[keep].mean(axis=0, keepdims=True)


def _sum_row(values: np.ndarray | None, keep: np.ndarray) -> np.ndarray | None:
    return None if values is None else values[keep].sum(axis=0, keepdims=True)
