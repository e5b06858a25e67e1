"""`extrapolate`: coverage curves that go on beyond the samples of a log, with what they stand on."""

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

import coverjax._version
from coverjax.curves import Curves, Extrapolation
from coverjax.estimators.count_statistics import count_curves
from coverjax.estimators.empirical_bayes import MODELS, Beyond, Tallies, beyond_samples
from coverjax.estimators.extrapolation_verdict import Facts, judged
from coverjax.estimators.richness import (
    Frequencies,
    Richness,
    chao_distinct,
    chao_richness,
    good_toulmin_distinct,
)
from coverjax.estimators.runs import Runs, average_by_row
from coverjax.foundation import checks
from coverjax.foundation.checks import InputError, fraction, one_of, shown
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog
from coverjax.logs.needs import need_log, need_one_method, need_strategies

METHODS = ("auto", "empirical_bayes", "beta_binomial", "beta_binomial_atom", "chao2", "good_toulmin")

MOST_BUDGET = 1 << 22
"""Sums over the samples are taken one by one; nobody should believe a curve there anyway."""

FEWEST_UNITS, FEWEST_SAMPLES = 30, 4
"""Inputs times strategies, and samples of most of them, from which "auto" fits priors."""


def extrapolate(
    log: SampleLog | CountTable,
    budget: "int | Sequence[int] | np.ndarray",
    coverage: str = "raw",
    method: str = "auto",
    level: float = 0.95,
) -> Curves | dict[str, Curves]:
    """Estimate coverage at budgets beyond the samples of a log too.

    Up to an input's n samples the curve is the unbiased one of `estimate`. Beyond:

    * "empirical_bayes": over all inputs together. How often strategies were matched tells with what chances
      they are matched; a strategy that n samples did not match has one of the lower ones. A Beta prior and a
      Beta prior with an atom at 0 are fitted to (n, c) of every input and strategy, and what each predicts is
      averaged; their distance goes into every interval. A strategy that 30 inputs declare has priors of its
      own, others share one. "beta_binomial" and "beta_binomial_atom" are the two alone.
    * "chao2": input by input, S_obs + Q0 [1 - (1 - Q1 / (n Q0 + Q1))^(k - n)], at most the declared number.
      Meant up to 2 n.
    * "good_toulmin": input by input, the smoothed series; for means over many inputs only.
    * "auto": "empirical_bayes" where there are at least 30 pairs of input and declared strategy, most with 4
      samples or more; else "chao2".

    Extrapolation assumes more than rarefaction does; docs/extrapolation.md has what was measured.

    Args:
        log: an exchangeable log, or a count table.
        budget: K for 1..K, or increasing budgets.
        coverage: which samples count: "raw", "valid" or "correct".
        method: one of these.
        level: nominal level of `extrapolation.low` and `.high`, a fraction.

    Returns:
        `Curves` with coverage and distinct, whose `extrapolation` holds marks, interval, verdict, warnings.
        No input is short of samples. `interval` and `compare` take the fit's and the models' uncertainty into
        account. Exactly when the log has a method column, a dict from method to `Curves`.

    Raises:
        InputError: the log is ordered (an adaptive sampler's next samples are no draws like the last), or
            priors are asked for and no declared strategies were given.

    References:
        Beta-binomial pass@k: Kazdan et al. 2025 (arXiv 2510.05197). Chao2: Chao 1987; Chao et al. 2014.
        Smoothing: Orlitsky, Suresh, Wu 2016.

    Example:
        >>> import coverjax as cj
        >>> table = cj.CountTable.from_arrays([0, 0, 0, 1, 1, 2, 3, 5, 7, 8] * 4, n=8)
        >>> curves = cj.extrapolate(table, [4, 8, 16])
        >>> curves.extrapolation.marks[0].tolist()
        ['rarefied', 'observed', 'extrapolated']
        >>> curves.mean().coverage.round(2).tolist(), curves.extrapolation.verdict
        ([[0.57, 0.7, 0.76]], 'caution')
    """
    need_log(log)
    one_of("method", method, METHODS)
    level = fraction("level", level)
    why = "so far a log of samples tells nothing"
    budgets = checks.budgets(budget, MOST_BUDGET, why)
    if log.method is None:
        name = str(log.provenance.get("method", ""))
        return _extrapolate(log, budgets, coverage, method, level, name)
    parts = log.by_method()
    return {name: _extrapolate(part, budgets, coverage, method, level, name) for name, part in parts.items()}


@dataclasses.dataclass(frozen=True, eq=False)
class _Found:
    """What a method found, [runs, B] and [B] arrays; `models` are means over the inputs in use."""

    distinct: Float[np.ndarray, "runs budgets"]
    influence: Float[np.ndarray, "inputs budgets"]
    models: dict[str, np.ndarray]
    variance: Float[np.ndarray, " budgets"]
    backtest: float = np.nan
    kept: float = 0.0
    priors: tuple[dict[str, Any], ...] = ()


def _extrapolate(
    log: SampleLog | CountTable, budgets: np.ndarray, coverage: str, method: str, level: float, name: str
) -> Curves:
    _refuse(log, method)
    tallies = tallies_of(log, coverage)
    method = _chosen(log, tallies) if method == "auto" else method
    within = _rarefied(tallies, budgets)
    ahead = budgets[None, :] > tallies.n[:, None]
    if method in ("chao2", "good_toulmin"):
        found = _input_by_input(tallies, budgets, method, cap=log.declared_given)
    else:
        names = tuple(MODELS) if method == "empirical_bayes" else (method,)
        found = _over_inputs(tallies, budgets, names, within, ahead)
    declared = log.declared_count.astype(np.int64)
    distinct = average_by_row(np.where(ahead, found.distinct, within), tallies.row, tallies.rows)
    short = np.isnan(distinct).all(axis=1)
    of_declared = distinct / np.where(declared > 0, declared, np.nan)[:, None]
    used = ~short & (declared > 0)
    told = _told(log, tallies, budgets, method, level, found, of_declared, used)
    return Curves(
        budgets=budgets,
        coverage=of_declared,
        distinct=distinct,
        declared=declared,
        ids=log.ids,
        short=short,
        method=name,
        extrapolation=told,
        provenance={
            "kind": "estimated",
            "version": coverjax._version.__version__,
            "coverage": coverage,
            "order": "exchangeable",
            "extrapolated_by": method,
            "priors": list(found.priors),
            "verdict": told.verdict,
            "labelers": list(log.labelers),
            "declared_given": log.declared_given,
            "no_strategies": int((declared == 0).sum()),
            "log": log.provenance,
        },
    )


def _refuse(log: SampleLog | CountTable, method: str) -> None:
    need_strategies(log)
    if getattr(log, "ordered", False):
        raise InputError(
            "log: only the observed order of its samples means anything, so the next ones are no draws like "
            "them; extrapolate needs exchangeable samples"
        )
    if not log.declared_given and method not in ("auto", "chao2", "good_toulmin"):
        raise InputError(
            f"method: {shown(method)} needs declared strategies, those that nothing matched too; give "
            "declared=..., or use 'chao2'"
        )


def tallies_of(log: SampleLog | CountTable, coverage: str) -> Tallies:
    """Count the declared strategies of each run of a log of one method."""
    if isinstance(log, CountTable):
        row = np.flatnonzero(log.n > 0)
        n, counts = log.n[row], log.kept(coverage)[row]
    else:
        runs = Runs.of(log, coverage, np.ones(log.inputs, bool))
        row, n, counts = runs.row, runs.n, runs.counts
    numbers: dict[str, int] = {}
    kind = np.full(log.declared.shape, -1, np.int64)
    for i, labels in enumerate(log.labels):
        kind[i, : len(labels)] = [numbers.setdefault(label, len(numbers)) for label in labels]
    kind = np.where(log.declared, kind, -1)
    declared = log.declared[row]
    return Tallies(n, np.where(declared, counts, 0), declared, kind[row], row, log.inputs)


def need_one_trial(tallies: Tallies, who: str) -> None:
    """Raise where an input has several trials; `who` needs that there is one."""
    if len(np.unique(tallies.row)) < len(tallies.row):
        raise InputError(f"{who} needs one trial an input; got several: split the log by trial")


def _chosen(log: SampleLog | CountTable, tallies: Tallies) -> str:
    units = tallies.declared.sum(axis=1)
    enough = units[tallies.n >= FEWEST_SAMPLES].sum()
    fits = log.declared_given and enough >= FEWEST_UNITS and 2 * enough >= units.sum()
    return "empirical_bayes" if fits else "chao2"


def _rarefied(tallies: Tallies, budgets: Int[np.ndarray, " budgets"]) -> Float[np.ndarray, "runs budgets"]:
    """Expected distinct strategies among k <= n samples; from n on what was seen [runs, B]."""
    out = np.empty((len(tallies.n), len(budgets)))
    for size in np.unique(tallies.n):
        rows = np.flatnonzero(tallies.n == size)
        inside = budgets <= size
        counts, declared = tallies.counts[rows], tallies.declared[rows]
        out[rows] = (counts > 0).sum(axis=1)[:, None]
        if inside.any():
            found = count_curves(tallies.n[rows], counts, declared, budgets[inside], frozenset())
            out[np.ix_(rows, inside)] = found["distinct"]
    return out


def _input_by_input(tallies: Tallies, budgets: np.ndarray, method: str, cap: bool) -> _Found:
    frequencies = Frequencies.of(tallies.n, tallies.counts)
    of = chao_distinct if method == "chao2" else good_toulmin_distinct
    distinct = of(frequencies, budgets)
    if method == "chao2" and cap:
        distinct = np.minimum(distinct, tallies.declared.sum(axis=1)[:, None])
    nothing = np.zeros(len(budgets))
    return _Found(distinct, np.zeros((tallies.rows, len(budgets))), {}, np.full_like(nothing, np.nan))


def _over_inputs(
    tallies: Tallies, budgets: np.ndarray, names: Sequence[str], within: np.ndarray, ahead: np.ndarray
) -> _Found:
    """Average what the priors say."""
    parts: list[Beyond] = [beyond_samples(tallies, budgets, MODELS[name]) for name in names]
    share = tallies.share
    means = [share @ np.where(ahead, part.distinct, within) for part in parts]
    return _Found(
        distinct=np.mean([part.distinct for part in parts], axis=0),
        influence=np.mean([part.influence for part in parts], axis=0),
        models=dict(zip(names, means, strict=True)),
        variance=np.mean([part.variance for part in parts], axis=0),
        backtest=float(np.mean([part.backtest for part in parts])),
        kept=parts[0].kept,
        priors=tuple(
            {"model": name, "a": prior.a, "b": prior.b, "atom": prior.atom}
            for name, part in zip(names, parts, strict=True)
            for prior in part.priors
        ),
    )


def _told(
    log: SampleLog | CountTable,
    tallies: Tallies,
    budgets: np.ndarray,
    method: str,
    level: float,
    found: _Found,
    coverage: np.ndarray,
    used: Bool[np.ndarray, " inputs"],
) -> Extrapolation:
    """Say how far each point may be trusted."""
    n = np.full(tallies.rows, np.iinfo(np.int64).max)
    np.minimum.at(n, tallies.row, tallies.n)
    marks = np.where(budgets > n[:, None], "extrapolated", "rarefied").astype(object)
    marks[budgets == n[:, None]] = "observed"
    inputs = max(1, int(used.sum()))
    gap = np.zeros(len(budgets))
    if found.models:
        gap = 0.5 * np.ptp(np.stack(list(found.models.values())), axis=0)
    z = statistics.NormalDist().inv_cdf(0.5 + 0.5 * level)
    # The atom's penalty leaves a small sum, and means over inputs must not move by it.
    influence = np.where(used[:, None], found.influence, 0.0)
    influence[used] -= influence[used].sum(axis=0) / inputs
    fitted = (influence**2).sum(axis=0) / inputs**2
    half = z * np.sqrt(found.variance + fitted) + gap
    middle = coverage[used].mean(axis=0) if used.any() else np.full(len(budgets), np.nan)
    ahead = (marks[used] == "extrapolated").any(axis=0)
    low, high = (np.where(ahead, middle + sign * half, np.nan) for sign in (-1.0, 1.0))
    facts = Facts.of(log, tallies, n[used], method, int(budgets[-1]), gap[-1], found.backtest, found.kept)
    verdict, checks_, warnings = judged(facts)
    return Extrapolation(
        method=method,
        marks=marks,
        influence=influence,
        models=found.models,
        gap=gap,
        low=low,
        high=high,
        level=level,
        verdict=verdict,
        checks=checks_,
        warnings=warnings,
    )


def chao2(log: SampleLog | CountTable, coverage: str = "raw", level: float = 0.95) -> Richness:
    """Estimate, input by input, how many strategies there are at least, from those seen once and twice.

    Chao2 = S_obs + Q0, Q0 = (n-1)/n Q1^2 / (2 Q2), or (n-1)/n Q1 (Q1 - 1) / 2 where Q2 = 0. It knows nothing
    of the declared number: that it exceeds it is news about the declared set.

    Args:
        log: an exchangeable log of one method, one trial an input; or a count table.
        coverage: which samples count: "raw", "valid" or "correct".
        level: nominal level of the interval, a fraction.

    Returns:
        `Richness`, in the order of the log's inputs; NaN for an input without samples.

    Raises:
        InputError: the log is ordered, has methods, or several trials of an input.

    References:
        Chao 1987, Biometrics 43:783.

    Example:
        >>> import coverjax as cj
        >>> found = cj.chao2(cj.CountTable.from_arrays([[1, 1, 1, 2, 2, 5]], n=10))
        >>> found.estimate.round(3).tolist(), found.stderr.round(2).tolist()
        ([8.025], [3.09])
    """
    need_log(log)
    _refuse(log, "chao2")
    need_one_method(log)
    tallies = tallies_of(log, coverage)
    need_one_trial(tallies, "trial: Chao2")
    found = chao_richness(Frequencies.of(tallies.n, tallies.counts), fraction("level", level))
    rows = {
        field.name: average_by_row(getattr(found, field.name), tallies.row, tallies.rows)
        for field in dataclasses.fields(found)
        if field.name != "level"
    }
    return Richness(level=level, **rows)
