"""Who finds what: strategy by strategy, which methods find it within K samples, and what nobody finds."""

import dataclasses
from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.estimators.avoidance import each_hit
from coverjax.estimators.runs import Runs
from coverjax.estimators.sample_orders import first_appearances
from coverjax.evaluation.against import Log
from coverjax.foundation.checks import whole_number
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog
from coverjax.logs.needs import logs_by_method, need_strategies


@dataclasses.dataclass(frozen=True, eq=False)
class Discoveries:
    """Declared strategies of all inputs, and what became of them.

    Attributes:
        methods: names, in order.
        inputs: the input of each (input, strategy) pair, object [pairs].
        strategies: its strategy, object [pairs].
        within: chance that K samples of a method find it [pairs, methods]; NaN where the method lacks the
            input or has fewer than K samples there.
        matches: samples of a method that match it, all trials [pairs, methods].
        samples: samples of a method on the input, all trials [pairs, methods].
        budget: K.
    """

    methods: tuple[str, ...]
    inputs: np.ndarray
    strategies: np.ndarray
    within: Float[np.ndarray, "pairs methods"]
    matches: Int[np.ndarray, "pairs methods"]
    samples: Int[np.ndarray, "pairs methods"]
    budget: int

    @property
    def found(self) -> Bool[np.ndarray, "pairs methods"]:
        """Whether any sample of a method matches."""
        return self.matches > 0

    def only(self) -> dict[str, int]:
        """Return how many pairs each method alone has found, in all its samples."""
        alone = self.found.sum(axis=1) == 1
        return {name: int((alone & self.found[:, m]).sum()) for m, name in enumerate(self.methods)}

    def nobody(self) -> int:
        """Return how many pairs no method has found in any sample."""
        return int((~self.found.any(axis=1)).sum())

    def by_strategy(self) -> "list[StrategyRow]":
        """Return a row for each name of a strategy, those that declare most inputs first."""
        rows = []
        names, place = np.unique(self.strategies.astype(str), return_inverse=True)
        for number, name in enumerate(names.tolist()):
            pairs = place == number
            within = self.within[pairs]
            known = np.isfinite(within)
            expected = np.where(known, within, 0.0).sum(axis=0)
            rows.append(
                StrategyRow(
                    strategy=name,
                    inputs=int(pairs.sum()),
                    expected=np.where(known.any(axis=0), expected, np.nan),
                    found=self.found[pairs].sum(axis=0),
                    nobody=int((~self.found[pairs].any(axis=1)).sum()),
                )
            )
        return sorted(rows, key=lambda row: (-row.inputs, row.strategy))


@dataclasses.dataclass(frozen=True, eq=False)
class StrategyRow:
    """One strategy over the inputs that declare it.

    Attributes:
        strategy: its name.
        inputs: how many inputs declare it.
        expected: expected number of inputs on which K samples of a method find it [methods].
        found: number of inputs on which some sample of a method matches it [methods].
        nobody: number of inputs on which no method has found it.
    """

    strategy: str
    inputs: int
    expected: Float[np.ndarray, " methods"]
    found: Int[np.ndarray, " methods"]
    nobody: int


def strategy_discoveries(logs: Log | Mapping[str, Log], budget: int, coverage: str = "raw") -> Discoveries:
    """List every declared strategy of every input with what each method made of it.

    The chance to find a strategy within K samples is 1 - C(n - c, K) / C(n, K), the mean over all subsets, or
    in an ordered log the share of the trials whose first K samples have it. It does not depend on how many
    samples a method has; whether ANY sample matches does, and is told beside it.

    Args:
        logs: by method, or one log with a method column; inputs are paired by id.
        budget: K.
        coverage: which samples count.

    Raises:
        InputError: the budget is no whole number or below 1, something is no log, or labels only repeat the
            latent.
    """
    budget = whole_number("budget", budget)
    parts = logs_by_method(logs)
    for log in parts.values():
        need_strategies(log)
    tables = {name: _table(log, budget, coverage) for name, log in parts.items()}
    pairs = list(dict.fromkeys(pair for table in tables.values() for pair in table))
    shape = (len(pairs), len(tables))
    within, matches, samples = np.full(shape, np.nan), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for column, table in enumerate(tables.values()):
        for row, pair in enumerate(pairs):
            if pair in table:
                within[row, column], matches[row, column], samples[row, column] = table[pair]
    ids, names = np.empty(len(pairs), object), np.empty(len(pairs), object)
    ids[:], names[:] = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return Discoveries(tuple(tables), ids, names, within, matches, samples, budget)


def _table(log: Log, budget: int, coverage: str) -> dict[tuple[object, str], tuple[float, int, int]]:
    within, matches, samples = _numbers(log, budget, coverage)
    return {
        (log.ids[row], log.labels[row][place]): (within[row, place], matches[row, place], samples[row])
        for row, place in np.argwhere(log.declared).tolist()
    }


def _numbers(log: Log, budget: int, coverage: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chance within K and matching samples [inputs, labels], samples [inputs]."""
    if isinstance(log, CountTable):
        counts, enough = log.kept(coverage), log.n >= budget
        within = np.full(counts.shape, np.nan)
        within[enough] = each_hit(log.n[enough], counts[enough], budget)
        return within, counts, log.n
    assert isinstance(log, SampleLog)
    keep = ((log.n >= budget) | (log.n == 0)).all(axis=1) & (log.n > 0).any(axis=1)
    runs = Runs.of(log, coverage, keep)
    if log.ordered:
        hit = (first_appearances(runs.matches) <= budget).astype(np.float64)
    else:
        hit = each_hit(runs.n, runs.counts, budget)
    return runs.average(hit), log.kept(coverage).sum(axis=(1, 2)), log.n.sum(axis=1)
