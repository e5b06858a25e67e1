"""What the covered strategies are worth."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coverjax.curves import Curves
from coverjax.estimators import sample_worth as worth
from coverjax.estimators.rarefaction import estimate
from coverjax.estimators.runs import Runs, average_by_row
from coverjax.estimators.sample_orders import first_appearances
from coverjax.foundation.checks import InputError, fraction, listed, shown
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog
from coverjax.logs.needs import need_log, need_one_method, need_samples

UTILITIES = {
    "pass_at_k": ("correct",),
    "pass_all_k": ("correct",),
    "cover_at_tau": ("correct",),
    "majority_at_k": ("correct", "strategies"),
    "best_of_k": ("score",),
    "best_of_k_correct": ("score", "correct"),
    "distinct_k": ("strategies",),
    "patience_utility": ("score", "strategies"),
}
"""The utilities and the columns that each needs."""

FROM_COUNTS = ("pass_at_k", "pass_all_k", "cover_at_tau")
"""What counts of one label "correct" can tell."""

VOTES_UNASKED, VOTES_ASKED = 5e7, 2e10
"""Multiplications up to which votes are counted out: when all utilities are asked for, or these by name."""


def utility_curves(
    log: SampleLog | CountTable,
    budget: "int | Sequence[int] | np.ndarray | None" = None,
    names: "str | Sequence[str]" = "available",
    *,
    tau: float = 0.5,
    patience: float = 0.8,
) -> Curves | dict[str, Curves]:
    """Estimate what k samples of a log are worth: `Curves` whose `utility` holds a curve for each name.

    With n samples of a trial, c of them correct; averages over all k-subsets, unbiased for k <= n:

    * ``pass_at_k``: at least one of k is correct, 1 - C(n-c, k) / C(n, k).
    * ``pass_all_k`` (pass^k): all k are correct, C(c, k) / C(n, k).
    * ``cover_at_tau``: at least ceil(tau k) of k are correct. At k = n that is Cover@tau as it is usually
      computed, [c / n >= tau], a plug-in value: averaged over inputs, the share solved that reliably.
    * ``majority_at_k``: expected correctness of the most frequent answer among k, ties at random. Samples
      give the same answer where their match sets are equal; an empty match set does not vote.
    * ``best_of_k``: expected highest score among k, sum_i score_(i) C(i-1, k-1) / C(n, k), in its units.
    * ``best_of_k_correct``: whether the sample with the highest score among k is correct.
    * ``distinct_k``: expected number of distinct labels among k, declared or not.
    * ``patience_utility``: as in `patience_utility`, of k samples; mean over all orders.

    *Ordered* log: the first k samples of each trial. Trials are averaged.

    Args:
        log: samples; or counts of the one label "correct" (`{id, c, n}`).
        budget: as in `estimate`.
        names: "available" (all that the log's columns can tell) or names. With "available" majority votes
            that take long are left out, and provenance["left_out"] says why.
        tau: of ``cover_at_tau``, a fraction above 0, at most 1.
        patience: of ``patience_utility``, a fraction.

    Returns:
        `Curves` with raw `coverage` and `distinct` beside `utility` (names to [inputs, B]), so that
        `interval(curves, "pass_at_k")`, `compare(a, b, quantity="pass_at_k")` and `.mean()` work on each.
        Inputs without declared strategies have utilities all the same. Exactly when the log has a method
        column, a dict from method to `Curves`.

    Raises:
        InputError: a name is unknown, or needs a column that the log has not; as in `estimate`.

    References:
        pass@k: Chen et al. 2021 (arXiv 2107.03374). pass^k: Yao et al. 2024 (arXiv 2406.12045). Cover@tau:
        Dragoi et al. 2025 (arXiv 2510.08325). Patience: Zhang et al. 2025 (arXiv 2504.05228).

    Example:
        >>> import coverjax as cj
        >>> log = cj.SampleLog.from_arrays([[[1, 0], [1, 0], [0, 1]]], correct=[[1, 1, 0]])
        >>> curves = cj.utility_curves(log, names=["pass_at_k", "majority_at_k"])
        >>> curves.utility["pass_at_k"].round(3).tolist(), curves.utility["majority_at_k"].round(3).tolist()
        ([[0.667, 1.0, 1.0]], [[0.667, 0.667, 1.0]])
    """
    need_log(log)
    tau, patience = float(tau), fraction("patience", patience)
    if not 0.0 < tau <= 1.0:
        raise InputError(f"tau: must be a fraction above 0 and at most 1; got {tau!r}")
    asked = _asked(log, names)
    found = estimate(log, budget, include=())
    settings = {"tau": tau, "patience": patience}
    if isinstance(found, Curves):
        return _with_utility(log, found, asked, names == "available", settings)
    parts = log.by_method()
    return {
        name: _with_utility(parts[name], curves, asked, names == "available", settings)
        for name, curves in found.items()
    }


def available(log: SampleLog | CountTable) -> list[str]:
    """Return the names of the utilities that a log's columns can tell."""
    if isinstance(log, CountTable):
        one = log.counts_correct is not None and log.declared_given and (log.declared_count == 1).all()
        return list(FROM_COUNTS) if one and _only_correct(log) else []
    there = {"strategies"} | {name for name in ("correct", "score") if getattr(log, name) is not None}
    if _bound_scores(log):
        there.discard("score")
    return [name for name, columns in UTILITIES.items() if there.issuperset(columns)]


def _bound_scores(log: SampleLog) -> str:
    """Why the scores mean something in the observed order only, or nothing."""
    return "" if log.ordered or log.score is None else str(log.provenance.get("no_min_score", ""))


def _only_correct(table: CountTable) -> bool:
    return all(names == ("correct",) for names in table.labels)


def _asked(log: SampleLog | CountTable, names: "str | Sequence[str]") -> list[str]:
    can = available(log)
    if names == "available":
        return can
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in UTILITIES:
            raise InputError(
                f"names: must be 'available' or among {listed(UTILITIES, len(UTILITIES))}; got {shown(name)}"
            )
        if name in can:
            continue
        if isinstance(log, CountTable):
            raise InputError(
                f"names: counts tell {listed(FROM_COUNTS)}, and only of one label 'correct'; {name} needs "
                "the samples"
            )
        if "score" in UTILITIES[name] and _bound_scores(log):
            raise InputError(f"names: {name} can't take samples out of their order: {_bound_scores(log)}")
        missing = [c for c in UTILITIES[name] if c != "strategies" and getattr(log, c) is None]
        raise InputError(
            f"names: {name} needs a `{missing[0]}` column; this log has none: add it, or leave {name} out"
        )
    return wanted


def _with_utility(
    log: SampleLog | CountTable, curves: Curves, names: list[str], lenient: bool, settings: dict[str, float]
) -> Curves:
    left_out: dict[str, str] = {}
    if isinstance(log, CountTable):
        values = _from_counts(log, curves, names, settings["tau"])
    else:
        if lenient and _bound_scores(log):
            why = f"its scores can't be taken out of their order: {_bound_scores(log)}"
            left_out |= {
                name: why for name, columns in UTILITIES.items() if columns == ("score", "strategies")
            }
        values = _from_samples(log, curves, names, lenient, settings, left_out)
    facts = {**curves.provenance, "utility": {**settings, "names": list(values)}, "left_out": left_out}
    return dataclasses.replace(curves, utility=values, provenance=facts)


def _from_samples(
    log: SampleLog,
    curves: Curves,
    names: list[str],
    lenient: bool,
    settings: dict[str, float],
    left_out: dict[str, str],
) -> dict[str, np.ndarray]:
    runs = Runs.of(log, "raw", curves.enough)
    batch = worth.Batch(
        matches=runs.matches,
        n=runs.n,
        correct=None if log.correct is None else (log.correct & log.inside)[runs.row, runs.trial],
        score=None if log.score is None else np.nan_to_num(log.score)[runs.row, runs.trial],
        budgets=curves.budgets,
        ordered=log.ordered,
    )
    found: dict[str, np.ndarray] = {}
    for name in names:
        why = _too_much(name, batch, lenient)
        if why and not lenient:
            raise InputError(f"{name}: {why}")
        if why:
            left_out[name] = why
        else:
            found[name] = runs.average(_KERNELS[name](batch, settings))
    return found


_KERNELS: dict[str, Callable[[worth.Batch, dict[str, Any]], np.ndarray]] = {
    "pass_at_k": lambda batch, _: worth.some_right(batch),
    "pass_all_k": lambda batch, _: worth.all_right(batch),
    "cover_at_tau": lambda batch, settings: worth.share_right(batch, settings["tau"]),
    "majority_at_k": lambda batch, _: worth.majority(batch),
    "best_of_k": lambda batch, _: worth.best_of(batch, batch.score),
    "best_of_k_correct": lambda batch, _: worth.best_of(batch, batch.correct),
    "distinct_k": lambda batch, _: worth.distinct_labels(batch),
    "patience_utility": lambda batch, settings: worth.patient_user(batch, settings["patience"]),
}


def _too_much(name: str, batch: worth.Batch, lenient: bool) -> str:
    """Return why a utility is not computed, or nothing."""
    if name == "majority_at_k":
        work = worth.votes_work(batch)
        if work > (VOTES_UNASKED if lenient else VOTES_ASKED):
            hint = "ask for it by name, or lower the budget" if lenient else "lower the budget"
            return f"counting out the votes takes {work:.0e} multiplications; {hint}"
    if name == "patience_utility" and not batch.ordered:
        most = int(batch.matches.sum(axis=2).max(initial=0))
        if most > worth.LARGEST_SET:
            return (
                f"its mean over all orders is computed for match sets of up to {worth.LARGEST_SET} labels; "
                f"one here has {most}"
            )
    return ""


def _from_counts(log: CountTable, curves: Curves, names: list[str], tau: float) -> dict[str, np.ndarray]:
    """Utilities of counts of the one label "correct": its samples are the correct ones."""
    keep = curves.enough
    right, n = log.counts[keep, 0], log.n[keep]
    nothing = np.zeros((len(n), 0, 1), bool)
    batch = worth.Batch(nothing, n, None, None, curves.budgets, ordered=False, counted=right)
    row = np.flatnonzero(keep)
    return {name: average_by_row(_KERNELS[name](batch, {"tau": tau}), row, log.inputs) for name in names}


def patience_utility(log: SampleLog, patience: float = 0.8) -> Float[np.ndarray, "inputs"]:
    """Compute the utility of a sequence of samples to a user who loses patience.

    The user looks at sample i + 1 with probability `patience` after sample i, and gains a sample's score
    when it brings a label not seen before:

        (1 - p) / (1 - p^n) x sum_i p^(i-1) [sample i brings a new label] score_i,

    in the observed order, averaged over trials; a score in the units of `score`. Labels outside the
    declared set count too: they are new to the user.

    Args:
        log: samples with a `score`.
        patience: p, a fraction.

    Returns:
        One utility an input, NaN where it has no samples.

    Raises:
        InputError: the log has no score, or has several methods.

    References:
        Zhang et al. 2025, NoveltyBench, section 3 (arXiv 2504.05228).
    """
    need_samples(log)
    p = fraction("patience", patience)
    if log.score is None:
        raise InputError("score: patience utility needs a `score` column; this log has none")
    need_one_method(log)
    samples = log.matches.shape[2]
    first = first_appearances(log.matches)
    new = (first[..., None, :] == np.arange(1, samples + 1)[:, None]).any(axis=-1)
    gains = (np.where(new, np.nan_to_num(log.score), 0.0) * p ** np.arange(samples)).sum(axis=-1)
    run = np.nonzero(log.n > 0)
    return average_by_row(gains[run] * (1.0 - p) / (1.0 - p ** log.n[run]), run[0], log.inputs)
