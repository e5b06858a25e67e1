"""One number an input from its curves: area under the curve, gain over iid, time to coverage."""

import dataclasses
import math

import numpy as np
from jaxtyping import Float, Int

from coverjax.curves import Curves
from coverjax.foundation.checks import InputError, listed, shown
from coverjax.foundation.shapes import pad_axis
from coverjax.foundation.shares import need

NO_ROOM = 1e-12
"""An oracle that is better than iid by no more than this (an AUC, a fraction) leaves nothing to gain."""

_AT_HALF = 1e-12
"""A probability this little below 1/2 has reached it: two equal strategies are both found with probability
exactly 1/2 after 2 draws, whatever the rounding."""


def auc(curves: Curves) -> Float[np.ndarray, " inputs"]:
    """Compute the mean of C(1), ..., C(K) of each input, the area under its coverage curve.

    AUC(K) = (1/K) sum_{k=1..K} C(k), a fraction of the declared strategies: the plain mean over every
    budget up to the largest. The trapezoid rule used elsewhere gives another number. Where the budgets skip
    some k, the producer's closed form is used (`strategy_auc`, averaged over the declared strategies): a
    mean over the budgets that are there would be another quantity. Exact, unbiased or simulated as the
    curves are.

    Returns:
        AUC of each input [inputs]; NaN for an input that is short or has no declared strategies.

    Raises:
        InputError: the budgets are not 1..K and the curves hold no `strategy_auc`.
    """
    if curves.consecutive:
        return curves.coverage.mean(axis=1)
    if curves.strategy_auc is None:
        raise InputError(
            f"auc: needs every budget from 1 to {curves.budgets[-1]}, or the closed form `strategy_auc`; "
            f"{shown(curves.method)} has {len(curves.budgets)} budgets and none: pass budget="
            f"{curves.budgets[-1]} to the producer, or ask for include=('default', 'strategy_auc')"
        )
    own = ~np.isnan(curves.strategy_auc)
    complete = (own.sum(axis=1) == curves.declared) & (curves.declared > 0)
    total = np.where(own, curves.strategy_auc, 0.0).sum(axis=1)
    return np.where(complete, total / np.maximum(curves.declared, 1), np.nan)


@dataclasses.dataclass(frozen=True, eq=False)
class GainReport:
    """Gain of each input and of all together.

    Attributes:
        values: (AUC - AUC_iid) / (AUC_oracle - AUC_iid) of each input [inputs], NaN with a reason.
        reasons: why a value is NaN, "" where it is a number, object [inputs].
        pooled: ratio of the means over the paired inputs, mean(AUC - AUC_iid) / mean(AUC_oracle - AUC_iid);
            NaN where the oracle has no room on average.
        stderr: paired standard error over inputs of `pooled`, by linearising the ratio; NaN below two inputs.
        inputs: number of paired inputs: those that have all three AUCs, an undefined gain of their own
            included, as leaving them out would choose the inputs by their outcome.
        left_out: number of inputs of the curves that are not among these.
        auc, auc_iid, auc_oracle: the three AUCs [inputs], NaN where one is missing.
    """

    values: Float[np.ndarray, " inputs"]
    reasons: np.ndarray
    pooled: float
    stderr: float
    inputs: int
    left_out: int
    auc: Float[np.ndarray, " inputs"]
    auc_iid: Float[np.ndarray, " inputs"]
    auc_oracle: Float[np.ndarray, " inputs"]


def gain(curves: Curves, iid: Curves, oracle: Curves) -> Float[np.ndarray, " inputs"]:
    """Compute which share of the oracle's advantage over iid sampling each input's curve reaches.

    Gain(K) = (AUC - AUC_iid) / (AUC_oracle - AUC_iid), 0 as good as iid, 1 as good as the oracle, negative
    below iid. Inputs are paired by id, in any order.

    Args:
        curves: what is judged.
        iid, oracle: the same inputs under iid sampling and under the oracle, to the same largest budget.

    Returns:
        Gain of each input of `curves` [inputs]; NaN where AUC_oracle <= AUC_iid (with match sets an oracle of
        one strategy a draw can be below iid), where an AUC is NaN, or where the input is in one only.
        `gain_report` has the reasons, and the pooled gain with its standard error.

    Raises:
        InputError: the largest budgets differ, no input is common, or an AUC can't be computed.
    """
    return gain_report(curves, iid, oracle).values


def gain_report(curves: Curves, iid: Curves, oracle: Curves) -> GainReport:
    """Compute the gain of each input, with the reason of each NaN, and the pooled gain.

    Arguments and errors are those of `gain`.
    """
    rows_iid, rows_oracle = _rows(curves, iid, "iid"), _rows(curves, oracle, "oracle")
    own = auc(curves)
    below, above = _picked(auc(iid), rows_iid), _picked(auc(oracle), rows_oracle)
    reasons = _reasons(curves, (iid, rows_iid, "iid"), (oracle, rows_oracle, "oracle"))
    paired = reasons == ""
    paired &= np.isfinite(own) & np.isfinite(below) & np.isfinite(above)
    reasons[(reasons == "") & ~paired] = "an AUC is NaN"
    room = above - below
    reasons[paired & ~(room > NO_ROOM)] = "the oracle is not better than iid (AUC_oracle <= AUC_iid)"
    fine = reasons == ""
    values = np.full(curves.inputs, np.nan)
    values[fine] = (own - below)[fine] / room[fine]
    pooled, stderr = _pooled_ratio((own - below)[paired], room[paired])
    count = int(paired.sum())
    return GainReport(values, reasons, pooled, stderr, count, curves.inputs - count, own, below, above)


def _rows(curves: Curves, other: Curves, name: str) -> np.ndarray:
    """Row of each input of `curves` in `other`, -1 where there is none."""
    if curves.budgets[-1] != other.budgets[-1]:
        raise InputError(
            f"{name}: AUCs are compared at one largest budget; got {other.budgets[-1]} and the curves have "
            f"{curves.budgets[-1]}: produce both to the same budget"
        )
    place = {label: row for row, label in enumerate(other.ids.tolist())}
    rows = np.array([place.get(label, -1) for label in curves.ids.tolist()], dtype=np.int64)
    if not (rows >= 0).any():
        raise InputError(
            f"{name}: must hold the inputs of the curves, paired by id; none of {listed(curves.ids, 3)} "
            f"is among {listed(other.ids, 3)}: give both the same ids"
        )
    return rows


def _picked(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows of `values`, NaN where the row is -1."""
    missing = (rows < 0).reshape(-1, *(1,) * (values.ndim - 1))
    return np.where(missing, np.nan, values[rows])


def _reasons(curves: Curves, *others: tuple[Curves, np.ndarray, str]) -> np.ndarray:
    reasons = np.full(curves.inputs, "", dtype=object)
    for other, rows, name in ((curves, np.arange(curves.inputs), "the curves"), *others):
        there = rows >= 0
        short = np.zeros(curves.inputs, bool) if other.short is None else other.short[rows]
        causes = (
            (~there, f"no such input in {name}"),
            (there & (other.declared[rows] == 0), "no declared strategies (M = 0)"),
            (there & short, f"short in {name}: fewer samples than the largest budget"),
            (
                there & (other.declared[rows] != curves.declared),
                f"another number of declared strategies in {name}",
            ),
        )
        for where, cause in causes:
            reasons[where & (reasons == "")] = cause
    return reasons


def _pooled_ratio(gained: np.ndarray, room: np.ndarray) -> tuple[float, float]:
    """Ratio of the two means and its standard error by linearisation."""
    count = len(room)
    if count == 0 or not room.mean() > NO_ROOM:
        return np.nan, np.nan
    ratio = float(gained.mean() / room.mean())
    if count < 2:
        return ratio, np.nan
    rest = gained - ratio * room
    return ratio, float(math.sqrt(rest @ rest / (count * (count - 1))) / room.mean())


def gain_split(
    curves: Curves, iid: Curves, oracle: Curves, rare_below: float = 1.0
) -> tuple[Float[np.ndarray, " inputs"], Float[np.ndarray, " inputs"]]:
    """Split each input's gain into what common and what rare strategies bring.

    A strategy is rare where iid sampling expects it fewer than `rare_below` times among the K draws: its
    probability in one draw x K < rare_below. With A_s the mean over k = 1..K of the probability that s is
    covered (`strategy_auc`), each part is the sum over its strategies of (A_s - A_s,iid) / M, divided by
    AUC_oracle - AUC_iid. Common strategies gain by fewer repeats, rare ones by being found at all.

    Args:
        curves, iid, oracle: as in `gain`; `curves` and `iid` with `strategy_auc` (columns of an input in
            the same order in both), `iid` with `strategy_probability`.
        rare_below: expected number of times, positive.

    Returns:
        common, rare [inputs]: their sum is `gain`, up to rounding; NaN where it is.

    Raises:
        InputError: as in `gain`; or curves without `strategy_auc` or `strategy_probability`.
    """
    if not rare_below > 0.0:
        raise InputError(f"rare_below: must be a positive number of expected draws; got {shown(rare_below)}")
    curves.need("strategy_auc")
    iid.need("strategy_auc", "strategy_probability")
    assert curves.strategy_auc is not None
    assert iid.strategy_auc is not None
    assert iid.strategy_probability is not None
    report = gain_report(curves, iid, oracle)
    rows = _rows(curves, iid, "iid")
    width = max(curves.strategy_auc.shape[1], iid.strategy_auc.shape[1])
    own = pad_axis(curves.strategy_auc, width, axis=1, fill=np.nan)
    base = _picked(pad_axis(iid.strategy_auc, width, axis=1, fill=np.nan), rows)
    expected = curves.budgets[-1] * _picked(
        pad_axis(iid.strategy_probability, width, axis=1, fill=np.nan), rows
    )
    change = np.where(np.isnan(own) | np.isnan(base), 0.0, own - base)
    rare = expected < rare_below
    defined = np.isfinite(report.values)
    alike = (np.isnan(own) == np.isnan(base)).all(axis=1)
    if (defined & ~alike).any():
        name = curves.ids[defined & ~alike][0]
        raise InputError(
            f"strategy_auc: its columns must be the same strategies in the curves and in iid; those of input "
            f"{shown(name)} differ: make both from the same law or log"
        )
    scale = np.where(defined, curves.declared * (report.auc_oracle - report.auc_iid), np.nan)
    return np.where(rare, 0.0, change).sum(axis=1) / scale, np.where(rare, change, 0.0).sum(axis=1) / scale


@dataclasses.dataclass(frozen=True, eq=False)
class TimeToCoverage:
    """Law of T = min{k : |S_k| >= need}, the first draw after which enough strategies are covered.

    K is the largest budget. In `pooled` there is no input axis: it is the T of an input drawn at
    random among those in use.

    Attributes:
        tau: fraction of the declared strategies.
        budgets: k [B].
        survival: P(T > k) [inputs, B].
        censored: P(T > K), the share that never gets there within the budget [inputs].
        mean: restricted mean E min(T, K) = sum_{k=0..K-1} P(T > k), in draws [inputs]. It is the mean of T
            only where `censored` is 0, and below it else. Where the budgets skip some k, an upper bound.
        mean_low: lower bound of the same; equal to `mean` where the budgets are 1..K.
        median: smallest budget k with P(T <= k) >= 1/2 [inputs]; NaN where that is not reached by K.
        median_low: the budget before it (0 before the first): the median of T lies in (median_low, median].
        need: number of strategies that count as covered [inputs]; 0 where M = 0; None in `pooled`.
        pooled: the same of the average survival over the inputs in use; None in itself.
    """

    tau: float
    budgets: Int[np.ndarray, " budgets"]
    survival: Float[np.ndarray, "*inputs budgets"]
    censored: Float[np.ndarray, "*inputs"] | float
    mean: Float[np.ndarray, "*inputs"] | float
    mean_low: Float[np.ndarray, "*inputs"] | float
    median: Float[np.ndarray, "*inputs"] | float
    median_low: Float[np.ndarray, "*inputs"] | float
    need: Int[np.ndarray, "*inputs"] | None = None
    pooled: "TimeToCoverage | None" = None


def time_to_coverage(curves: Curves, tau: float) -> TimeToCoverage:
    """Compute the law of the number of draws until a fraction of the declared strategies is covered.

    T(tau) = min{k : |S_k| >= need(tau, M)}, P(T <= k) = P(|S_k| >= need), from the count law; or from full
    coverage alone where every input needs all of its strategies. The law is exact, unbiased or simulated
    as the curves are; a median of an estimated law is not unbiased.

    Args:
        curves: with `count_law` (asked for by name), or with `full_coverage` where need = M everywhere.
        tau: fraction of the declared strategies, 0 < tau <= 1.

    Returns:
        A `TimeToCoverage`: mean, median, survival and censoring of each input, and pooled. NaN for an input
        that is short or has no declared strategies.

    Raises:
        InputError: tau is out of range, the law is not there, or the curves are already a mean over inputs.
    """
    tau = float(tau)
    if not 0.0 < tau <= 1.0:
        raise InputError(f"tau: must be a fraction above 0 and at most 1; got {tau!r}")
    if "aggregate" in curves.provenance:
        raise InputError(
            f"curves: time to coverage needs a row for each input; these are their "
            f"{curves.provenance['aggregate']}: pass the curves it was made from and read `.pooled`"
        )
    needs = np.array([need(tau, declared) for declared in curves.declared.tolist()], dtype=np.int64)
    survival = _survival(curves, needs)
    used = survival[curves.used]
    average = used.mean(axis=0) if len(used) else np.full(len(curves.budgets), np.nan)
    pooled = _time(tau, curves.budgets, average)
    return _time(tau, curves.budgets, survival, needs, pooled)


def _survival(curves: Curves, needs: np.ndarray) -> Float[np.ndarray, "inputs budgets"]:
    """P(|S_k| < need); a product with a mask, so that nothing of the count law's size is made."""
    if curves.count_law is None and (needs == curves.declared).all():
        curves.need("full_coverage")
        assert curves.full_coverage is not None
        survival = 1.0 - curves.full_coverage
    else:
        curves.need("count_law")
        assert curves.count_law is not None
        missing = np.arange(curves.count_law.shape[2]) < needs[:, None]
        survival = np.matmul(curves.count_law, missing[:, :, None].astype(np.float64))[:, :, 0]
    survival = np.clip(survival, 0.0, 1.0)
    survival[curves.declared == 0] = np.nan
    return survival


def _time(
    tau: float,
    budgets: Int[np.ndarray, " budgets"],
    survival: Float[np.ndarray, "*inputs budgets"],
    needs: np.ndarray | None = None,
    pooled: TimeToCoverage | None = None,
) -> TimeToCoverage:
    """Mean, median and censoring from P(T > k) at increasing budgets; P(T > 0) = 1."""
    before = np.concatenate([np.ones((*survival.shape[:-1], 1)), survival[..., :-1]], axis=-1)
    starts = np.concatenate([[0], budgets[:-1]])
    gaps = (budgets - starts).astype(np.float64)
    half = survival <= 0.5 + _AT_HALF
    reached = half.any(axis=-1)
    first = half.argmax(axis=-1)
    last = survival[..., -1]
    mean = np.where(np.isnan(last), np.nan, (before * gaps).sum(axis=-1))
    return TimeToCoverage(
        tau=tau,
        budgets=budgets,
        survival=survival,
        censored=last[()],
        mean=mean[()],
        mean_low=(before + (gaps - 1.0) * survival).sum(axis=-1),
        median=np.where(reached, budgets[first], np.nan)[()],
        median_low=np.where(reached, starts[first], np.nan)[()],
        need=needs,
        pooled=pooled,
    )
