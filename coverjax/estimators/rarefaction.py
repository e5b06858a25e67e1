"""`estimate`: coverage curves of a log, unbiased for every budget within the data."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

import coverjax._version
from coverjax.curves import Curves, Spread, included
from coverjax.estimators.count_statistics import count_curves, subset_deviation
from coverjax.estimators.runs import Runs, average_by_row
from coverjax.estimators.sample_orders import observed_order_curves
from coverjax.estimators.set_forms import set_forms
from coverjax.foundation import checks
from coverjax.foundation.checks import InputError
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog
from coverjax.logs.needs import need_log, need_strategies
from coverjax.logs.sizes import need_room

ALSO = frozenset({"distinct", "strategy_probability"})
"""What comes with other curves and has no name of its own in `include`."""

CURVES = 6
"""About how many curves an estimate holds at a time."""

_SETS = frozenset({"full_coverage", "novelty_any", "count_law"})


def estimate(
    log: SampleLog | CountTable,
    budget: int | Sequence[int] | np.ndarray | None = None,
    coverage: str = "raw",
    include: str | Sequence[str] = "default",
) -> Curves | dict[str, Curves]:
    """Estimate the coverage curves of a log's sampler, input by input.

    *Exchangeable* log: the average over all k-subsets of a trial's n samples, which is unbiased for k <= n
    independent draws. With c_s of the n samples matching strategy s,

        C(k) = mean_s 1 - C(n - c_s, k) / C(n, k).

    Full coverage, novelty (any) and the count law come from the subset lattice (at most 16 strategies
    that are sometimes matched), from a chain over the samples (a sample matches at most one strategy), or
    else from 2,000 random orders with a standard error in `mc_stderr`; provenance["forms"] says which.
    *Ordered* log: the running union in the observed order. Trials of an input are averaged and never mixed.
    A sample with an empty match set, or one that is not valid (correct) when coverage="valid" ("correct"),
    has spent budget and adds nothing; it is never dropped.

    Args:
        log: samples, or a count table. Counts tell no match sets: of several strategies they give
            coverage, novelty (count) and AUC; of one strategy, everything.
        budget: K for the budgets 1..K, an increasing array of budgets, or None for the smallest number of
            samples of any trial in the log. Inputs with a trial below the largest budget leave at ALL
            budgets and are counted in `n_short`.
        coverage: which samples count: "raw", "valid" or "correct".
        include: "default", "all" (also count_law) or names of curves; see `curves.included`.

    Returns:
        `Curves`; exactly when the log has a method column, a dict from method to `Curves`, at the same
        budgets.

    Raises:
        InputError: a budget above every n, flags that the log does not have, or labels that only repeat
            the latent: latent coverage is no strategy coverage.

    References:
        Sets: inclusion and exclusion over k-subsets. Single labels: Hurlbert 1971 (rarefaction); pass@k is
        the case of one label (Chen et al. 2021, arXiv 2107.03374).

    Example:
        >>> import coverjax as cj
        >>> log = cj.SampleLog.from_arrays([[[1, 0], [0, 0], [1, 1]]])
        >>> cj.estimate(log).coverage.round(4).tolist()
        [[0.5, 0.8333, 1.0]]
    """
    need_log(log)
    if log.method is None:
        return estimate_method(log, budget, coverage, include)
    names, budgets = included(include), _budgets(log, budget)
    return {name: _estimate(part, budgets, coverage, names, name) for name, part in log.by_method().items()}


def estimate_method(
    log: SampleLog | CountTable,
    budget: int | Sequence[int] | np.ndarray | None = None,
    coverage: str = "raw",
    include: str | Sequence[str] = "default",
) -> Curves:
    """Do what `estimate` does for a log of one method."""
    method = str(log.provenance.get("method", ""))
    return _estimate(log, _budgets(log, budget), coverage, included(include), method)


def _budgets(log: SampleLog | CountTable, budget: Any) -> np.ndarray:
    if budget is None:
        if log.smallest_n == 0:
            raise InputError("budget: the log has no samples; there is no budget to estimate at")
        _need_room(log, log.smallest_n)
        return checks.budgets(log.smallest_n)
    if isinstance(budget, int | np.integer):
        _need_room(log, int(budget))
    most = int(log.n.max(initial=0))
    why = "the number of samples of some input; beyond the data an unbiased estimate can't go"
    return checks.budgets(budget, most, why)


def _need_room(log: SampleLog | CountTable, budget: int) -> None:
    sizes = {"inputs": log.inputs, "budgets": budget}
    need_room(sizes, CURVES * 8, "give some budgets, as in budget=[1, 10, 100], or a smaller one")


def _estimate(
    log: SampleLog | CountTable, budgets: np.ndarray, coverage: str, names: frozenset[str], method: str
) -> Curves:
    """Estimate one method at checked budgets."""
    need_strategies(log)
    n = log.n.reshape(log.inputs, -1)
    present = n > 0
    short = ~present.any(axis=1) | (present & (n < budgets[-1])).any(axis=1)
    if isinstance(log, CountTable):
        parts = _from_table(log, budgets, coverage, names, ~short)
    elif log.ordered:
        parts = _from_order(log, Runs.of(log, coverage, ~short), budgets, names)
    else:
        parts = _from_samples(log, Runs.of(log, coverage, ~short), budgets, names)
    if "latent_coverage" in names and isinstance(log, SampleLog) and log.latents and log.latent is not None:
        parts.fields["latent_coverage"] = _latent_coverage(log, budgets, ~short)
    return _curves(log, budgets, coverage, method, short, parts)


@dataclasses.dataclass
class _Parts:
    """What an estimate found: curves by name, spreads by name, and the forms used."""

    fields: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    subset_sd: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    mc_stderr: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    forms: dict[str, int] = dataclasses.field(default_factory=dict)


def _curves(
    log: SampleLog | CountTable,
    budgets: np.ndarray,
    coverage: str,
    method: str,
    short: np.ndarray,
    parts: _Parts,
) -> Curves:
    """Turn numbers of strategies into fractions, and say what was done."""
    declared = log.declared_count.astype(np.int64)
    of = np.where(declared > 0, declared, np.nan)[:, None]
    fields: dict[str, Any] = dict(parts.fields)
    fields["coverage"] = fields["distinct"] / of
    if "full_coverage" in fields:
        fields["full_coverage"] = np.where(declared[:, None] > 0, fields["full_coverage"], np.nan)
    if "strategy_auc" in fields:
        for name in ("strategy_auc", "strategy_probability"):
            fields[name] = np.where(log.declared, fields[name], np.nan)
    for spread in (parts.subset_sd, parts.mc_stderr):
        if "distinct" in spread:
            spread["coverage"] = spread["distinct"] / of
    provenance = {
        "kind": "estimated",
        "version": coverjax._version.__version__,
        "coverage": coverage,
        "order": "observed" if getattr(log, "ordered", False) else "exchangeable",
        "forms": parts.forms,
        "labelers": list(log.labelers),
        "declared_given": log.declared_given,
        "no_strategies": int((declared == 0).sum()),
        "log": log.provenance,
    }
    return Curves(
        budgets=budgets,
        declared=declared,
        ids=log.ids,
        short=short,
        method=method,
        provenance=provenance,
        subset_sd=Spread(**parts.subset_sd) if parts.subset_sd else None,
        mc_stderr=Spread(**parts.mc_stderr) if parts.mc_stderr else None,
        **fields,
    )


def _from_samples(log: SampleLog, runs: Runs, budgets: np.ndarray, names: frozenset[str]) -> _Parts:
    """Estimate from exchangeable samples: averages over k-subsets."""
    fields = count_curves(runs.n, runs.counts, runs.declared, budgets, names)
    parts = _Parts({name: runs.average(values) for name, values in fields.items()})
    if "subset_sd" in names:
        deviation = subset_deviation(runs.n, runs.matches, runs.declared, budgets)
        if deviation is not None:
            parts.subset_sd["distinct"] = runs.average_spread(deviation)
    want = names & _SETS
    if want:
        streams = [f"{log.ids[row]}:{trial}" for row, trial in zip(runs.row, runs.trial, strict=True)]
        found = set_forms(runs, streams, budgets, want, int(log.declared_count.max(initial=0)))
        parts.fields |= {name: runs.average(values) for name, values in found.fields.items()}
        parts.mc_stderr |= {name: runs.average_spread(values) for name, values in found.mc_stderr.items()}
        parts.forms |= found.runs_by_form
    return parts


def _from_order(log: SampleLog, runs: Runs, budgets: np.ndarray, names: frozenset[str]) -> _Parts:
    """Estimate from runs whose order means something: the running union, averaged over trials."""
    most = int(log.declared_count.max(initial=0))
    found = observed_order_curves(runs.matches, runs.declared, budgets, law="count_law" in names)
    fields = {name: values for name, values in found.items() if name in names}
    if "count_law" in fields:
        fields["count_law"] = fields["count_law"][..., : most + 1]
    if "undeclared" in names:
        others = observed_order_curves(runs.matches, ~runs.declared, budgets, law=False)
        fields["undeclared"] = others["distinct"]
    if "strategy_auc" in fields:
        fields["strategy_probability"] = runs.counts / runs.n[:, None]
    forms = {"running union in the observed order": len(runs.n)}
    return _Parts({name: runs.average(values) for name, values in fields.items()}, forms=forms)


def _from_table(
    log: CountTable, budgets: np.ndarray, coverage: str, names: frozenset[str], keep: np.ndarray
) -> _Parts:
    """Estimate from counts, which tell no match sets unless there is one strategy only."""
    counts, n = log.kept(coverage)[keep], log.n[keep]
    one = log.declared_count.max(initial=0) == 1
    asked = names | {"novelty_count"} if one and "novelty_any" in names else names
    found = count_curves(n, counts, log.declared[keep], budgets, asked)
    spread: dict[str, np.ndarray] = {}
    if one:
        found |= _one_strategy(found, names)
        if "subset_sd" in names:
            chance = np.clip(found["distinct"], 0.0, 1.0)
            spread["distinct"] = np.sqrt(chance * (1.0 - chance))
    found = {name: values for name, values in found.items() if name in names or name in ALSO}
    row = np.flatnonzero(keep)
    whole, spread = (
        {name: average_by_row(values, row, log.inputs) for name, values in part.items()}
        for part in (found, spread)
    )
    return _Parts(whole, subset_sd=spread, forms={"counts": int(keep.sum())})


def _one_strategy(found: dict[str, np.ndarray], names: frozenset[str]) -> dict[str, np.ndarray]:
    """With one declared strategy counts tell everything: F = C (pass@k), and the subset deviation."""
    chance = found["distinct"]
    curves = {"full_coverage": chance, "novelty_any": found.get("novelty_count")}
    curves["count_law"] = np.stack([1.0 - chance, chance], axis=2)
    return {name: values for name, values in curves.items() if name in names and values is not None}


def _latent_coverage(log: SampleLog, budgets: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Expected fraction of the log's latents used by k samples [inputs, B]."""
    assert log.latent is not None
    matches = log.latent[..., None] == np.arange(len(log.latents))
    declared = np.ones((log.inputs, len(log.latents)), bool)
    used = dataclasses.replace(log, matches=matches, declared=declared)
    runs = Runs.of(used, "raw", keep)
    if log.ordered:
        distinct = observed_order_curves(runs.matches, runs.declared, budgets, law=False)["distinct"]
    else:
        distinct = count_curves(runs.n, runs.counts, runs.declared, budgets, frozenset())["distinct"]
    return runs.average(distinct) / max(1, len(log.latents))
