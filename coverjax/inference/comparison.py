"""Paired comparison of two methods on the same inputs, with a simultaneous band."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.curves import VERDICTS, Curves
from coverjax.foundation.checks import InputError, counted, fraction, one_of
from coverjax.inference.bands import MULTIPLIERS, critical_value
from coverjax.inference.bounded import bounded_band
from coverjax.inference.cautions import TIE, cautions
from coverjax.inference.of_curves import FRACTIONS, fit_influence, model_gap
from coverjax.inference.pairing import common_rows, paired_rows
from coverjax.inference.units import Moments, cluster_codes, moments


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """Mean paired difference a - b over the inputs that both have, at each budget.

    Attributes:
        budgets: numbers of draws k [B].
        difference: mean over the paired inputs of a - b [B].
        band: (low, high), each [B]: holds the whole curve of mean differences at once; NaN where `flagged`.
        stderr: paired standard error of the difference [B]; NaN where `flagged`.
        critical_value: low and high are difference -+ critical_value x stderr; NaN for "bounded band".
        wins: budgets at which the band lies above 0: a is better.
        losses: budgets at which it lies below 0: b is better.
        undecided: all others, the flagged ones included.
        inputs: number of paired inputs.
        left_out: number of inputs that are in one only, or short or without declared strategies in either.
        flagged: budgets at which the difference is the same for all inputs, bool [B].
        a, b: names of the two methods.
        quantity: the curve that is compared.
        level: nominal probability that the band holds the whole curve, a fraction.
        multipliers, seed: number of draws of the supremum, and their seed.
        warnings: what a reader must know, one line each.
        method: "band" or "bounded band".
    """

    budgets: Int[np.ndarray, " budgets"]
    difference: Float[np.ndarray, " budgets"]
    band: tuple[Float[np.ndarray, " budgets"], Float[np.ndarray, " budgets"]]
    stderr: Float[np.ndarray, " budgets"]
    critical_value: float
    wins: Int[np.ndarray, " wins"]
    losses: Int[np.ndarray, " losses"]
    undecided: Int[np.ndarray, " undecided"]
    inputs: int
    left_out: int
    flagged: Bool[np.ndarray, " budgets"]
    a: str
    b: str
    quantity: str
    level: float
    multipliers: int
    seed: int
    warnings: tuple[str, ...]
    method: str = "band"


def compare(
    a: Curves,
    b: Curves,
    level: float = 0.95,
    multipliers: int = MULTIPLIERS,
    seed: int = 0,
    *,
    quantity: str = "coverage",
    clusters: "Sequence[Any] | np.ndarray | None" = None,
    method: str = "band",
) -> Comparison:
    """Compare two methods on the inputs that both have, budget by budget, with a simultaneous band.

    The units are paired differences, input by input (paired by id, in any order); the band holds the mean
    difference at all budgets at once with probability about `level`, so every budget at which it misses 0
    may be read off together: a `wins` there, or `losses`. Nothing is decided at the other budgets.

    Args:
        a, b: curves at the same budgets.
        level: nominal simultaneous level, a fraction.
        multipliers: number of draws of the supremum; at least 1e5 where the first or last budget that is
            decided gets reported.
        seed: of the draws; the same seed gives the same band.
        quantity: a curve with one number per input and budget.
        clusters: a label for each input of `a` [inputs of a]; whole clusters are then the draws.
        method: "band", or "bounded band" for fractions: it covers where most inputs tie, and is wide where
            few do (`multipliers` are then its draws).

    Returns:
        A `Comparison`. Inputs that are in one only, or short or without declared strategies in either, are
        left out and counted.

    Raises:
        InputError: the budgets differ, no input is in both, a curve was not asked for, or curves that are
            already a mean.

    Approximate, like `mean_band`, which it is on differences.
    """
    level = fraction("level", level)
    rows_a, rows_b, left_out = _checked_pairs(a, b, quantity)
    first, second = a.curve(quantity)[rows_a], b.curve(quantity)[rows_b]
    labels = None if clusters is None else _labels(clusters, a)[rows_a]
    values = first - second + _fits(a, b, quantity, rows_a, rows_b)
    scale = np.maximum(np.abs(first).max(axis=0), np.abs(second).max(axis=0))
    stats = moments(values, cluster_codes(labels, len(values)), scale)
    if one_of("method", method, ("band", "bounded band")) == "band":
        critical = critical_value(stats.scores, stats.flagged, stats.clusters - 1, level, multipliers, seed)
        low, high = (stats.mean + sign * critical * stats.stderr for sign in (-1.0, 1.0))
    else:
        critical, (low, high) = np.nan, _bounded_ends(values, labels, quantity, level, multipliers, seed)
    gap = np.hypot(model_gap(a, quantity), model_gap(b, quantity))
    low, high = low - gap, high + gap
    names = a.method or "a", b.method or "b"
    return Comparison(
        budgets=a.budgets,
        difference=stats.mean,
        band=(low, high),
        stderr=stats.stderr,
        critical_value=critical,
        wins=a.budgets[low > 0.0],
        losses=a.budgets[high < 0.0],
        undecided=a.budgets[~((low > 0.0) | (high < 0.0))],
        inputs=len(values),
        left_out=left_out,
        flagged=stats.flagged,
        a=names[0],
        b=names[1],
        quantity=quantity,
        level=level,
        multipliers=multipliers,
        seed=seed,
        warnings=(*_unlike(a, b, rows_a, rows_b, names), *_cautions(values, stats, method)),
        method=method,
    )


def _fits(a: Curves, b: Curves, quantity: str, rows_a: np.ndarray, rows_b: np.ndarray) -> np.ndarray | float:
    """What paired inputs add to each other's differences through the fits of extrapolated curves."""
    if a.extrapolation is None and b.extrapolation is None:
        return 0.0
    added = fit_influence(a, quantity)[rows_a] - fit_influence(b, quantity)[rows_b]
    return added - added.mean(axis=0)


def _bounded_ends(
    values: np.ndarray, labels: np.ndarray | None, quantity: str, level: float, draws: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    if quantity not in FRACTIONS:
        raise InputError(
            f"method: 'bounded band' is for differences of fractions; {quantity} has no limits: use 'band'"
        )
    found = bounded_band(values, level, labels, seed, limits=(-1.0, 1.0), draws=draws)
    return found.low, found.high


def _cautions(values: np.ndarray, stats: Moments, method: str) -> tuple[str, ...]:
    return cautions(values, stats, method, TIE) if method == "band" else ()


def _checked_pairs(a: Curves, b: Curves, quantity: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows of the inputs that both can show, in a's order, and how many inputs were left out."""
    for curves in (a, b):
        curves.curve(quantity)
        if "aggregate" in curves.provenance:
            raise InputError(
                "compare: needs a row for each input; pass the curves that the mean was made from"
            )
    if not np.array_equal(a.budgets, b.budgets):
        raise InputError(
            f"compare: both must be at the same budgets; got {_told(a.budgets)} and {_told(b.budgets)}: "
            f"produce "
            "both with the same budget"
        )
    common = len(common_rows(a.ids, b.ids)[0])
    rows_a, rows_b = paired_rows(a, b, quantity)
    if not len(rows_a):
        why = "all of these short or without declared strategies" if common else "check the ids"
        raise InputError(
            f"compare: needs inputs in use in both; {common} of {a.inputs} and {b.inputs} inputs "
            f"share an id, {why}"
        )
    return rows_a, rows_b, a.inputs + b.inputs - common - len(rows_a)


def _told(budgets: np.ndarray) -> str:
    """Budgets in words: "k = 1..8", or how many there are up to which."""
    if len(budgets) == budgets[-1]:
        return f"k = 1..{budgets[-1]}"
    return f"{counted(len(budgets), 'budget')} from {budgets[0]} to {budgets[-1]}"


def _labels(clusters: "Sequence[Any] | np.ndarray", a: Curves) -> np.ndarray:
    labels = np.asarray(clusters, dtype=object)
    if labels.shape != (a.inputs,):
        raise InputError(
            f"clusters: must give one label for each of the {a.inputs} inputs of a; got shape {labels.shape}"
        )
    return labels


def _unlike(
    a: Curves, b: Curves, rows_a: np.ndarray, rows_b: np.ndarray, names: tuple[str, str]
) -> list[str]:
    """Lines about comparing unlike with unlike."""
    lines = []
    differ = int((a.declared[rows_a] != b.declared[rows_b]).sum())
    if differ:
        lines.append(
            f"{counted(differ, 'input')} with other numbers of declared strategies in {names[0]} than in "
            f"{names[1]}: their fractions have different denominators"
        )
    for curves, name in ((a, names[0]), (b, names[1])):
        told = curves.extrapolation
        if told is not None and told.verdict != VERDICTS[0]:
            lines.append(f"{name} is extrapolated beyond its samples by {told.method}: {told.verdict}")
    for fact in ("sees", "knows", "coverage", "labelers"):
        one, other = a.provenance.get(fact), b.provenance.get(fact)
        if one is not None and other is not None and one != other:
            lines.append(
                f"unlike is compared with unlike: {fact} is {one} in {names[0]}, {other} in {names[1]}"
            )
    return lines
