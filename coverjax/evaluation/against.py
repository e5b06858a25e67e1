"""Methods of a log against a baseline and the oracle: AUC, gain, where it comes from; paired by input."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coverjax.curves import Curves
from coverjax.estimators.rarefaction import estimate
from coverjax.evaluation.rarity import RarityShares, rarity_shares
from coverjax.foundation.checks import InputError, fraction, listed, shown
from coverjax.inference.cautions import TIE
from coverjax.inference.comparison import Comparison, compare
from coverjax.inference.intervals import mean_interval
from coverjax.inference.jackknife import jackknife_interval
from coverjax.inference.multiplicity import holm_p_values, sign_flip_p_values
from coverjax.inference.pairing import common_rows
from coverjax.inference.units import Interval
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog
from coverjax.logs.needs import logs_by_method
from coverjax.metrics import NO_ROOM, GainReport, auc, gain_report

Log = SampleLog | CountTable


@dataclasses.dataclass(frozen=True, eq=False)
class GainSplit:
    """A gain as the sum of what common and rare strategies bring.

    Attributes:
        budget: K of the split: at most half of the baseline's samples, the others say what is rare.
        whole, common, rare: pooled gain at that budget and its parts, one point each, over inputs.
        share_rare: mean share of the declared strategies that are called rare.
    """

    budget: int
    whole: Interval
    common: Interval
    rare: Interval
    share_rare: float


@dataclasses.dataclass(frozen=True, eq=False)
class MethodGain:
    """One method against the baseline.

    Attributes:
        name: the method.
        curves: its curves.
        auc: mean over the paired inputs of AUC(K), one point.
        difference: mean over them of AUC - baseline AUC, one point.
        gain: of each input, with reasons where there is none.
        pooled: mean(AUC - baseline AUC) / mean(oracle AUC - baseline AUC) over the paired inputs, one point.
        comparison: coverage minus the baseline's, with a band over all budgets.
        p_value: two-sided, of no difference in AUC: random flips of the signs of the inputs' differences.
        p_holm: the same, corrected for all methods.
        split: where the gain comes from; None where the log can't tell.
        no_split: why.
    """

    name: str
    curves: Curves
    auc: Interval
    difference: Interval
    gain: GainReport
    pooled: Interval
    comparison: Comparison
    p_value: float
    p_holm: float
    split: GainSplit | None
    no_split: str


@dataclasses.dataclass(frozen=True, eq=False)
class BaselineComparison:
    """Methods of a log against one of them.

    Attributes:
        baseline: its name.
        base: its curves.
        oracle: one new strategy a draw, min(k, M) / M, for the baseline's inputs.
        base_auc, oracle_auc: mean AUC(K) over their inputs in use, one point each.
        methods: by name, in the log's order.
        coverage: the kind of coverage.
        level: of all intervals. seed: of bands and flips.
        rare_below: a strategy is rare where it is expected fewer times than that in K draws of the baseline.
    """

    baseline: str
    base: Curves
    oracle: Curves
    base_auc: Interval
    oracle_auc: Interval
    methods: dict[str, MethodGain]
    coverage: str
    level: float
    seed: int
    rare_below: float

    @property
    def budget(self) -> int:
        """K, the largest budget."""
        return int(self.base.budgets[-1])


def oracle_curves(curves: Curves) -> Curves:
    """Return the curves of one new strategy a draw, min(k, M) / M, on the inputs of other curves.

    >>> from coverjax.estimators.rarefaction import estimate
    >>> oracle_curves(estimate(SampleLog.from_arrays([[[1, 0], [1, 0], [1, 0]]]))).coverage.tolist()
    [[0.5, 1.0, 1.0]]
    """
    count = curves.declared[:, None].astype(np.float64)
    distinct = np.where(curves.enough[:, None], np.minimum(curves.budgets, count), np.nan)
    most = float(curves.budgets[-1])
    whole = np.minimum(most, count)
    area = (whole * (whole + 1.0) / 2.0 + (most - whole) * count) / (most * np.maximum(count, 1.0))
    own = curves.strategy_auc
    return Curves(
        budgets=curves.budgets,
        coverage=distinct / np.where(count > 0, count, np.nan),
        distinct=distinct,
        declared=curves.declared,
        ids=curves.ids,
        short=curves.short,
        strategy_auc=None if own is None else np.where(np.isnan(own), np.nan, area),
        method="oracle",
        provenance={"kind": "exact", "form": "one new strategy a draw: min(k, M) / M"},
    )


def compare_to_baseline(
    log: Log | Mapping[str, Log],
    baseline: str,
    budget: "int | Sequence[int] | np.ndarray | None" = None,
    coverage: str = "raw",
    *,
    level: float = 0.95,
    rare_below: float = 1.0,
    seed: int = 0,
) -> BaselineComparison:
    """Compare every method of a log with a baseline and the oracle, paired by input.

    Gain(K) = (AUC - AUC_baseline) / (AUC_oracle - AUC_baseline), AUC the mean of C(1..K), the oracle one new
    strategy a draw. Pooled: the ratio of the means over inputs, with an interval that leaves out one input at
    a time. The baseline's curve is an estimate too: its noise is in each input's numerator and denominator,
    and so in the spread over inputs. (A mean of the inputs' own ratios would be biased by it.)

    Args:
        log: a log with a method column, or logs by method.
        baseline: the method that the others are compared with: independent draws, usually.
        budget, coverage: as in `estimate`; all methods at the same budgets.
        level: nominal level of intervals and bands, a fraction.
        rare_below: expected number of times among K draws below which a strategy is rare.
        seed: of bands and sign flips.

    Returns:
        A `BaselineComparison`. With several methods their p-values are corrected by Holm's method.

    Raises:
        InputError: there is no such method, no other one, or as in `estimate` and `compare`.

    Example:
        >>> import numpy as np, coverjax as cj
        >>> rng = np.random.default_rng(0)
        >>> base = rng.random((20, 8, 1)) < 0.2
        >>> matches = np.concatenate([np.concatenate([base, base], 2), rng.random((20, 8, 2)) < 0.4])
        >>> log = cj.SampleLog.from_arrays(matches, ids=[*range(20)] * 2, method=["iid"] * 20 + ["new"] * 20)
        >>> found = cj.compare_to_baseline(log, "iid")
        >>> bool(found.methods["new"].pooled.low[0] > 0.0)
        True
    """
    logs = logs_by_method(log)
    fraction("level", level)
    if set(logs) == {""}:
        raise InputError("baseline: methods are compared, and the log has no `method` column: add one")
    if baseline not in logs:
        raise InputError(
            f"baseline: must be a method of the log; got {shown(baseline)}; it has {listed(logs)}"
        )
    if len(logs) < 2:
        raise InputError(f"baseline: needs another method to compare; the log has {shown(baseline)} only")
    budgets = _common_budgets(logs) if budget is None else budget
    curves = {name: _curves(name, part, budgets, coverage) for name, part in logs.items()}
    base = curves[baseline]
    oracle = oracle_curves(base)
    shares, why = _shares(logs[baseline], int(base.budgets[-1]), coverage, rare_below)
    methods = {}
    for name, found in curves.items():
        if name != baseline:
            split = _Split(logs[name], logs[baseline], name, coverage, shares, why)
            methods[name] = _method(found, base, oracle, split, level, seed)
    corrected = holm_p_values([found.p_value for found in methods.values()])
    methods = {
        name: dataclasses.replace(found, p_holm=float(p))
        for (name, found), p in zip(methods.items(), corrected, strict=True)
    }
    return BaselineComparison(
        baseline=baseline,
        base=base,
        oracle=oracle,
        base_auc=mean_interval(auc(base)[base.used][:, None], level),
        oracle_auc=mean_interval(auc(oracle)[base.used][:, None], level),
        methods=methods,
        coverage=coverage,
        level=level,
        seed=seed,
        rare_below=rare_below,
    )


def _common_budgets(logs: Mapping[str, Log]) -> int:
    smallest = [log.smallest_n for log in logs.values() if log.smallest_n]
    if not smallest:
        raise InputError("budget: the log has no samples; there is no budget to compare at")
    return min(smallest)


def _curves(name: str, log: Log, budgets: Any, coverage: str) -> Curves:
    found = estimate(log, budgets, coverage, ("strategy_auc",))
    assert isinstance(found, Curves)
    return dataclasses.replace(found, method=name)


def _method(
    curves: Curves, base: Curves, oracle: Curves, split: "_Split", level: float, seed: int
) -> MethodGain:
    pair = compare(curves, base, level, seed=seed)
    report = gain_report(curves, base, oracle)
    paired = np.isfinite(report.auc) & np.isfinite(report.auc_iid) & np.isfinite(report.auc_oracle)
    gained, room = (report.auc - report.auc_iid)[paired], (report.auc_oracle - report.auc_iid)[paired]
    found, why = split(base, paired, level)
    return MethodGain(
        name=curves.method,
        curves=curves,
        auc=mean_interval(report.auc[paired][:, None], level),
        difference=mean_interval(gained[:, None], level, bounds=TIE),
        gain=report,
        pooled=ratio_of_means(gained, room, level),
        comparison=pair,
        p_value=float(sign_flip_p_values(gained[:, None], seed=seed)[0]),
        p_holm=np.nan,
        split=found,
        no_split=why,
    )


def ratio_of_means(
    top: Float[np.ndarray, " inputs"], bottom: Float[np.ndarray, " inputs"], level: float
) -> Interval:
    """Compute mean(top) / mean(bottom) with an interval over inputs.

    NaN, with a warning, where the oracle leaves no room, or its room can't be told from none: the interval of
    mean(bottom) holds 0. A ratio of anything to that is noise.
    """
    room = mean_interval(bottom[:, None], level, bounds=TIE)
    least = room.low[0] if np.isfinite(room.low[0]) else room.mean[0]
    if not least > NO_ROOM:
        value = np.array([np.nan])
        why = f"no gain: the oracle's room over the baseline, {room.mean[0]:.4f}, can't be told from none"
        return dataclasses.replace(
            room, mean=value, low=value, high=value, stderr=value, flagged=np.array([True]), warnings=(why,)
        )

    def ratio(sums: np.ndarray) -> np.ndarray:
        room = sums[:, 1:] > NO_ROOM * len(bottom)
        return np.where(room, sums[:, :1] / np.where(room, sums[:, 1:], 1.0), np.nan)

    return jackknife_interval(np.stack([top, bottom], axis=1), ratio, level)


def _shares(log: Log, budget: int, coverage: str, rare_below: float) -> tuple[RarityShares | None, str]:
    try:
        return rarity_shares(log, budget, coverage, rare_below), ""
    except InputError as error:
        if str(error).startswith("rare_below"):
            raise
        return None, str(error)


@dataclasses.dataclass(frozen=True)
class _Split:
    """How the gain of one method is split."""

    log: Log
    base: Log
    name: str
    coverage: str
    shares: RarityShares | None
    why: str

    def __call__(self, base: Curves, paired: np.ndarray, level: float) -> tuple[GainSplit | None, str]:
        shares = self.shares
        if shares is None:
            return None, self.why
        own = _curves(self.name, self.log, [shares.budget], self.coverage)
        rows = np.flatnonzero(paired)
        _, base_rows = common_rows(own.ids[rows], base.ids)
        for row, base_row in zip(rows.tolist(), base_rows.tolist(), strict=True):
            if _declared_names(self.log, row) != _declared_names(self.base, base_row):
                return (
                    None,
                    f"gain split: input {shown(own.ids[row])} declares other strategies in the baseline, "
                    "or in other columns",
                )
        return _split_gain(own, shares, rows, base_rows, level), ""


def _declared_names(log: Log, row: int) -> list[tuple[int, str]]:
    """Columns and names: what is subtracted column by column must be of one strategy."""
    return [(place, log.labels[row][place]) for place in np.flatnonzero(log.declared[row]).tolist()]


def _split_gain(
    own: Curves, shares: RarityShares, rows: np.ndarray, base_rows: np.ndarray, level: float
) -> GainSplit:
    assert own.strategy_auc is not None
    width = min(own.strategy_auc.shape[1], shares.auc.shape[1])
    mine = own.strategy_auc[rows, :width]
    declared = np.isfinite(mine)
    rare, auc_rare, base_auc = (
        values[base_rows, :width] for values in (shares.rare, shares.auc_rare, shares.auc)
    )

    def summed(values: np.ndarray) -> np.ndarray:
        """Sum over the declared strategies of each input."""
        return np.where(declared, values, 0.0).sum(axis=1)

    gained_rare, gained = summed(rare * mine - auc_rare), summed(mine - base_auc)
    count = own.declared[rows].astype(np.float64)
    best = auc(oracle_curves(dataclasses.replace(own, short=None)))[rows] * count
    room = best - summed(base_auc)
    fine = np.isfinite(gained) & np.isfinite(room) & (count > 0)
    parts = [(part[fine] / count[fine]) for part in (gained, gained - gained_rare, gained_rare)]
    room = room[fine] / count[fine]
    whole, common, less = (ratio_of_means(part, room, level) for part in parts)
    called = summed(rare)[fine].sum() / max(1.0, count[fine].sum())
    return GainSplit(shares.budget, whole, common, less, float(called))
