"""What wrong labels do to C(k): the curve under a given confusion, its correction, and phantom strategies."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coverjax.curves import Curves
from coverjax.estimators.avoidance import avoidance_sums
from coverjax.estimators.rarefaction import estimate
from coverjax.estimators.runs import Runs
from coverjax.foundation.checks import InputError, listed, shown
from coverjax.foundation.hypergeometric import marked_law
from coverjax.logs.log import SampleLog
from coverjax.logs.needs import need_samples

Rates = float | Mapping[str, float]
"""One rate for all strategies, or one for each by name."""

WILD = 10.0
"""A corrected curve whose terms are larger than this rests on the cancellation of large errors."""


def noisy_coverage(
    log: SampleLog,
    false_positive: Rates = 0.0,
    false_negative: Rates = 0.0,
    budget: "int | Sequence[int] | np.ndarray | None" = None,
) -> Curves | dict[str, Curves]:
    """Estimate the coverage that the log would show if its (true) labels were given with errors.

    Independently in each sample, a strategy that is there is missed with probability `false_negative` and
    one that is not is given with probability `false_positive`. With c of n samples matching s, k of them are
    free of its label with probability sum_j H(j) fn^j (1 - fp)^(k - j), H the hypergeometric law of how many
    of the k match. Unbiased for the curve of the noisy labels.

    Args:
        log: an exchangeable log.
        false_positive, false_negative: a rate, or a mapping from strategy to its rate (all must be there).
        budget: as in `estimate`.

    Returns:
        `Curves` with coverage and distinct; a dict by method where the log has methods.

    Raises:
        InputError: a rate is no probability or missing, or the log is ordered.

    Example:
        >>> import coverjax as cj
        >>> log = cj.SampleLog.from_arrays([[[1, 0], [1, 0]]])
        >>> cj.noisy_coverage(log, false_positive=0.1).coverage.round(3).tolist()
        [[0.55, 0.595]]
    """
    return _changed(log, false_positive, false_negative, budget, "noisy")


def corrected_coverage(
    log: SampleLog,
    false_positive: Rates = 0.0,
    false_negative: Rates = 0.0,
    budget: "int | Sequence[int] | np.ndarray | None" = None,
) -> Curves | dict[str, Curves]:
    """Estimate the coverage of the true strategies from labels with known error rates.

    The inverse of `noisy_coverage`: with d = 1 - fp - fn, a sample without the label counts (1 - fn)/d and
    one with it -fn/d, whose means are 1 where the strategy is absent and 0 where it is there; the chance that
    k samples lack it is the mean product over all k-subsets. Unbiased, so single inputs may leave [0, 1]; its
    error grows like ((1 - fn)/d)^k, and provenance["warnings"] says where it is of no use.

    Arguments, result and errors are those of `noisy_coverage`; also where fp + fn >= 1, which says nothing.
    """
    return _changed(log, false_positive, false_negative, budget, "corrected")


def phantom_coverage(
    log: SampleLog,
    false_positive: Rates,
    budget: "int | Sequence[int] | np.ndarray | None" = None,
) -> Curves | dict[str, Curves]:
    """Bound the share of C(k) that may be phantoms: strategies found by wrong labels alone.

    A strategy that none of k samples has is labelled in some with probability 1 - (1 - fp)^k, and at most all
    of its coverage is that: mean over s of min(C_s(k), 1 - (1 - fp_s)^k). An upper bound on what false
    positives can have added. Where a method's coverage is above another's by less, phantoms could explain it.

    Arguments, result and errors are those of `noisy_coverage`.
    """
    return _changed(log, false_positive, 0.0, budget, "phantom")


def _changed(log: SampleLog, fp: Rates, fn: Rates, budget: Any, what: str) -> Curves | dict[str, Curves]:
    need_samples(log)
    if log.ordered:
        raise InputError("ordered: rates of wrong labels change averages over subsets; this log is ordered")
    found = estimate(log, budget, include=())
    if isinstance(found, Curves):
        return _curves(log, found, fp, fn, what)
    return {name: _curves(log.by_method()[name], curves, fp, fn, what) for name, curves in found.items()}


def _curves(log: SampleLog, curves: Curves, fp: Rates, fn: Rates, what: str) -> Curves:
    rates = [_rates(log, name, rate) for name, rate in (("false_positive", fp), ("false_negative", fn))]
    runs = Runs.of(log, "raw", curves.enough)
    positive, negative = (rate[runs.row] for rate in rates)
    if what == "phantom":
        found = _phantom(runs, positive, curves.budgets)
        warnings: list[str] = []
    else:
        marked, other = _values(positive, negative, what, runs.declared)
        declared = runs.declared.sum(axis=1)[:, None]
        found = declared - _mean_products(runs, marked, other, curves.budgets)
        warnings = _cautions(other, runs.declared, curves.budgets) if what == "corrected" else []
    distinct = runs.average(found)
    of = np.where(log.declared_count > 0, log.declared_count, np.nan)[:, None]
    facts = {**curves.provenance, "labels": what, "warnings": warnings}
    return dataclasses.replace(curves, distinct=distinct, coverage=distinct / of, provenance=facts)


def _rates(log: SampleLog, name: str, rate: Rates) -> Float[np.ndarray, "inputs labels"]:
    """The rate of each label column."""
    if isinstance(rate, Mapping):
        used = {label for row, names in enumerate(log.labels) for label in _declared(log, row, names)}
        missing = sorted(used - rate.keys())
        if missing:
            raise InputError(f"{name}: must give a rate for every strategy; {listed(missing)} has none")
        table = np.zeros(log.declared.shape)
        for row, names in enumerate(log.labels):
            for place, label in enumerate(names):
                table[row, place] = rate.get(label, 0.0)
    else:
        table = np.full(log.declared.shape, float(rate))
    wrong = table[~((table >= 0.0) & (table <= 1.0))]
    if wrong.size:
        raise InputError(f"{name}: must be probabilities; got {shown(float(wrong[0]))}")
    return table


def _declared(log: SampleLog, row: int, names: Sequence[str]) -> list[str]:
    return [names[place] for place in np.flatnonzero(log.declared[row]).tolist()]


def _values(
    positive: np.ndarray, negative: np.ndarray, what: str, declared: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What a sample with and without the label counts in the product, each [runs, labels]."""
    if what == "noisy":
        return negative, 1.0 - positive
    told = 1.0 - positive - negative
    if (declared & (told <= 0.0)).any():
        raise InputError(
            "false_positive + false_negative: must be below 1; labels with more errors than that say nothing"
        )
    told = np.where(declared, told, 1.0)
    return -negative / told, (1.0 - negative) / told


def _mean_products(
    runs: Runs, marked: np.ndarray, other: np.ndarray, budgets: np.ndarray
) -> Float[np.ndarray, "runs budgets"]:
    """Sum over declared strategies of the mean over k-subsets of the product over samples, [runs, B]."""
    counts = runs.counts
    keys = np.stack([np.broadcast_to(runs.n[:, None], counts.shape), counts, marked, other], axis=2)
    cases, place = np.unique(keys[runs.declared], axis=0, return_inverse=True)
    means = np.empty((len(cases), len(budgets)))
    for row, (n, c, with_label, without) in enumerate(cases.tolist()):
        law = marked_law(int(n), int(c), budgets)
        j = np.arange(law.shape[1])
        rest = np.clip(budgets[:, None] - j, 0, None)
        means[row] = (law * with_label**j * without**rest).sum(axis=1)
    sums = np.zeros((len(counts), len(budgets)))
    np.add.at(sums, np.nonzero(runs.declared)[0], means[place.reshape(-1)])
    return sums


def _phantom(runs: Runs, positive: np.ndarray, budgets: np.ndarray) -> Float[np.ndarray, "runs budgets"]:
    """Sum over declared strategies of the bound on phantoms, [runs, B]."""
    counts = runs.counts
    total = np.zeros((len(counts), len(budgets)))
    for label in range(counts.shape[1]):
        seen = avoidance_sums(runs.n, counts[:, label : label + 1], None, budgets, hit=True)
        alone = 1.0 - (1.0 - positive[:, label : label + 1]) ** budgets
        total += runs.declared[:, label : label + 1] * np.minimum(seen, alone)
    return total


def _cautions(other: np.ndarray, declared: np.ndarray, budgets: np.ndarray) -> list[str]:
    largest = float(np.max(other, where=declared, initial=1.0))
    if largest ** float(budgets[-1]) <= WILD:
        return []
    most = int(np.log(WILD) / np.log(largest))
    return [
        f"corrected coverage beyond k = {most} is a small difference of terms up to "
        f"{largest ** float(budgets[-1]):.0e}: at these error rates the labels say little about it"
    ]
