"""Everything a report on a log says, computed once: tables, figures and documents only write it down."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from coverjax.curves import Curves
from coverjax.estimators.rarefaction import estimate
from coverjax.foundation.checks import InputError, fraction, listed, one_of, shown
from coverjax.inference.bands import MULTIPLIERS
from coverjax.inference.bounded import DRAWS, bounded_interval
from coverjax.inference.comparison import Comparison, compare
from coverjax.inference.intervals import mean_interval
from coverjax.inference.of_curves import curve_interval, method_for
from coverjax.inference.units import Interval
from coverjax.logs.counts import CountTable
from coverjax.logs.log import KINDS, SampleLog
from coverjax.metrics import TimeToCoverage, auc, time_to_coverage
from coverjax.report.extrapolated import Ahead
from coverjax.report.guardrails import guardrails
from coverjax.report.text import counted, one_line
from coverjax.report.utility_study import UtilityStudy, study_utility

Log = SampleLog | CountTable

CURVES = ("coverage", "distinct", "novelty_any", "novelty_count", "full_coverage", "undeclared")
BANDED = ("coverage", "novelty_any", "novelty_count")
"""What the figures draw with a simultaneous band."""

TAUS = (0.5, 0.8, 1.0)
MOST_PAIRED = 6
"""With more methods only the first is compared with each other one."""

CURVE_NUMBERS, FEWEST_BUDGETS, MOST_BUDGETS = 1 << 19, 32, 4_096
"""Of larger logs only so many budgets are studied that a curve has about as many numbers, and however few the
inputs are not more than a figure can show: bands, laws and files grow with them."""

LAW_NUMBERS = 1 << 27
"""The count law (inputs x budgets x (M + 1) numbers) is left out above this: a gigabyte."""


@dataclasses.dataclass(frozen=True, eq=False)
class KindStudy:
    """One kind of coverage (raw, valid or correct) of one method.

    Attributes:
        curves: input by input.
        pooled: summed over the inputs in use.
        intervals: by curve, over inputs, one budget at a time.
        bands: by curve, over inputs, all budgets at once.
        auc: the mean over k = 1..K of coverage, one point.
        times: time to coverage by tau, where the log can tell.
        no_times: why it can't, by tau.
    """

    curves: Curves
    pooled: Curves
    intervals: dict[str, Interval]
    bands: dict[str, Interval]
    auc: Interval
    times: dict[float, TimeToCoverage]
    no_times: dict[float, str]


@dataclasses.dataclass(frozen=True, eq=False)
class MethodStudy:
    """One method: its log, what is in it, the kinds of coverage and the utilities that it can tell."""

    name: str
    log: Log
    facts: dict[str, Any]
    kinds: dict[str, KindStudy]
    warnings: tuple[str, ...]
    utility: UtilityStudy | None = None

    def guardrails(self) -> dict[str, str]:
        """Return the lines that stand beside this method's numbers."""
        raw = next(iter(self.kinds.values())).curves
        return log_guardrails(self.facts, {kind: found.curves for kind, found in self.kinds.items()}, raw)

    def columns(self) -> dict[str, KindStudy]:
        """Return the kinds that differ, by name; the same numbers stand once, as "raw = correct"."""
        groups: list[list[str]] = []
        for kind in self.kinds:
            same = (g for g in groups if _alike(self.log, g[0], kind))
            group = next(same, None)
            if group is None:
                groups.append([kind])
            else:
                group.append(kind)
        return {" = ".join(group): self.kinds[group[0]] for group in groups}


@dataclasses.dataclass(frozen=True, eq=False)
class Study:
    """A log, studied.

    Attributes:
        methods: by name; one named "" where the log has no methods.
        coverage: the kind of coverage that figures and comparisons are about.
        budgets: k = 1..K, or some of them.
        comparisons: pairs of methods on the inputs that both have.
        not_compared: pairs that have no inputs in common, with the reason.
        level, interval, seed: of the intervals ("t", "bootstrap" or "bounded") and bands.
        ahead: by method, what lies beyond the samples, where that was asked for.
    """

    methods: dict[str, MethodStudy]
    coverage: str
    budgets: np.ndarray
    comparisons: tuple[Comparison, ...]
    not_compared: tuple[str, ...]
    level: float
    interval: str
    seed: int
    ahead: dict[str, Ahead] = dataclasses.field(default_factory=dict)

    @property
    def consecutive(self) -> bool:
        """Whether the budgets are all of 1..K."""
        return len(self.budgets) == self.budget

    @property
    def budget(self) -> int:
        """K, the largest budget."""
        return int(self.budgets[-1])


def study_log(
    logs: dict[str, Log],
    *,
    budget: int | None = None,
    coverage: str = "raw",
    level: float = 0.95,
    interval: str = "t",
    seed: int = 0,
    utility: Sequence[str] = (),
    tau: float = 0.5,
    patience: float = 0.8,
    tell: Callable[[str], None] = lambda step: None,
) -> Study:
    """Estimate the curves of each method's log, their intervals, times to coverage and comparisons.

    Args:
        logs: by method; {"": log} where there are no methods.
        budget: K; the smallest number of samples of any trial of any method when None. Where K is more than
            4,096, or the inputs times K more than half a million, only some budgets up to K are studied,
            evenly spaced in logarithm.
        coverage: the kind that comparisons are about; the others are studied too where the log can tell.
        level: nominal level of intervals and bands, a fraction.
        interval: "t", "bootstrap" or "bounded", of the intervals at single budgets. With "bounded" the bands
            and comparisons of fractions are the bounded ones too.
        seed: of bootstrap, bands and comparisons.
        utility: utilities by name; all that the columns can tell when empty.
        tau, patience: of cover@tau and patience utility.
        tell: called with the name of each step as it begins.

    Raises:
        InputError: as in `estimate`; or an option out of range.
    """
    one_of("coverage", coverage, KINDS)
    one_of("interval", interval, ("t", "bootstrap", "bounded"))
    level = fraction("level", level)
    budgets = _budgets(logs, budget)
    worth = {"names": tuple(utility), "settings": {"tau": tau, "patience": patience}}
    ask = {"level": level, "interval": interval, "seed": seed, "worth": worth}
    methods = {}
    told: set[str] = set()
    for name, log in logs.items():
        notes = [note for note in log.notes if note not in told]
        told.update(notes)
        tell(f"estimating {one_line(name)}" if name else "estimating")
        try:
            methods[name] = _study_method(name, log, budgets, coverage, ask, notes)
        except InputError as error:
            if not name:
                raise
            raise InputError(f"method {shown(name)}: {error}") from error
    curves = {name: method.kinds[coverage].curves for name, method in methods.items()}
    tell("comparing")
    comparisons, not_compared = _compare_all(curves, level, seed, method_for("coverage", _band(interval)))
    return Study(
        methods=methods,
        coverage=coverage,
        budgets=next(iter(curves.values())).budgets,
        comparisons=comparisons,
        not_compared=not_compared,
        level=level,
        interval=interval,
        seed=seed,
    )


def _alike(log: Log, a: str, b: str) -> bool:
    """Whether two kinds of coverage of a log count the same matches."""
    return np.array_equal(log.kept(a), log.kept(b))


def _budgets(logs: dict[str, Log], budget: int | None) -> np.ndarray | None:
    """Return the budgets to study; None where no log has samples, which `estimate` will refuse."""
    if budget is None:
        budget = min((log.smallest_n for log in logs.values() if log.smallest_n), default=0)
    if budget < 1:
        return None
    return studied_budgets(budget, max(log.inputs for log in logs.values()))


def studied_budgets(budget: int, inputs: int) -> np.ndarray:
    """Return the budgets up to `budget` at which curves of so many inputs are studied: all, or some."""
    most = min(max(FEWEST_BUDGETS, CURVE_NUMBERS // inputs), MOST_BUDGETS)
    if budget <= most:
        return np.arange(1, budget + 1)
    return np.unique(np.rint(np.geomspace(1, budget, most)).astype(np.int64))


def kinds_of(log: Log) -> list[str]:
    """Return the kinds of coverage that a log can tell."""
    flags = "counts_{}" if isinstance(log, CountTable) else "{}"
    return [kind for kind in KINDS if kind == "raw" or getattr(log, flags.format(kind)) is not None]


def _study_method(
    name: str, log: Log, budgets: np.ndarray | None, coverage: str, ask: dict[str, Any], notes: Sequence[str]
) -> MethodStudy:
    # The kind that was asked for comes first: where the log can't tell it, that is the error to show.
    order = list(dict.fromkeys([coverage, *kinds_of(log)]))
    found = {kind: _study_kind(name, log, budgets, kind, ask) for kind in order}
    kinds = {kind: found[kind] for kind in KINDS if kind in found}
    facts = log_facts(log, kinds[coverage].curves)
    how = {key: ask[key] for key in ("level", "interval", "seed")}
    utility = study_utility(log, budgets, **ask["worth"], **how)
    return MethodStudy(name, log, facts, kinds, (*notes, *_warnings(facts, kinds)), utility)


def _study_kind(name: str, log: Log, budgets: np.ndarray | None, kind: str, ask: dict[str, Any]) -> KindStudy:
    most = int(log.declared_count.max(initial=0))
    size = 0 if budgets is None else log.inputs * len(budgets) * (most + 1)
    include = ("default", "count_law") if size <= LAW_NUMBERS else "default"
    curves = estimate(log, budgets, kind, include)
    assert isinstance(curves, Curves)
    curves = dataclasses.replace(curves, method=name)
    level, seed = ask["level"], ask["seed"]
    there = [curve for curve in CURVES if getattr(curves, curve) is not None]
    times, no_times = _times(log, curves)
    return KindStudy(
        curves=curves,
        pooled=curves.pooled(),
        intervals={
            curve: curve_interval(curves, curve, level, method_for(curve, ask["interval"]), seed=seed)
            for curve in there
        },
        bands={
            curve: curve_interval(curves, curve, level, method_for(curve, _band(ask["interval"])), seed=seed)
            for curve in BANDED
            if curve in there
        },
        auc=_auc_interval(curves, level, ask["interval"], seed),
        times=times,
        no_times=no_times,
    )


def _band(interval: str) -> str:
    """The band that goes with an interval."""
    return "bounded band" if interval == "bounded" else "band"


def _auc_interval(curves: Curves, level: float, interval: str, seed: int) -> Interval:
    areas = auc(curves)[curves.used][:, None]
    if interval == "bounded":
        return bounded_interval(areas, level, seed=seed)
    return mean_interval(areas, level, interval, seed=seed)


def _times(log: Log, curves: Curves) -> tuple[dict[float, TimeToCoverage], dict[float, str]]:
    """Return the times to coverage, and why those that are missing are."""
    if not curves.used.any():
        return {}, dict.fromkeys(TAUS, "no input has both enough samples and a declared strategy")
    if curves.count_law is None and isinstance(log, CountTable):
        why = "counts don't tell which strategies came together, so they tell no T: keep the samples"
        return {}, dict.fromkeys(TAUS, why)
    if curves.count_law is None:
        why = "the law of the number of strategies would not fit into memory: lower --budget"
        return {1.0: time_to_coverage(curves, 1.0)}, dict.fromkeys(TAUS[:-1], why)
    return {tau: time_to_coverage(curves, tau) for tau in TAUS}, {}


def _compare_all(
    curves: dict[str, Curves], level: float, seed: int, method: str
) -> tuple[tuple[Comparison, ...], tuple[str, ...]]:
    pairs = list(itertools.combinations(curves, 2))
    if len(curves) > MOST_PAIRED:
        pairs = pairs[: len(curves) - 1]
    done, refused = [], []
    for a, b in pairs:
        try:
            draws = DRAWS if method == "bounded band" else MULTIPLIERS
            done.append(compare(curves[a], curves[b], level, draws, seed, method=method))
        except InputError as error:
            refused.append(f"{a} - {b}: {error}")
    return tuple(done), tuple(refused)


def log_facts(log: Log, curves: Curves) -> dict[str, Any]:
    """Return plain facts about a log: sizes, denominators, who labelled, what was found outside."""
    n = log.n.reshape(log.inputs, -1)
    present = n[n > 0]
    declared = log.declared_count
    used = declared[declared > 0]
    extra = _undeclared(log)
    return {
        "inputs": log.inputs,
        "inputs_used": int(curves.used.sum()),
        "n_short": curves.n_short,
        "inputs_without_declared": int((declared == 0).sum()),
        "inputs_without_samples": int((n.sum(axis=1) == 0).sum()),
        "trials": int((n > 0).sum(axis=1).max(initial=0)),
        "samples": int(n.sum()),
        "n_min": int(present.min(initial=0) if not present.size else present.min()),
        "n_max": int(present.max(initial=0)),
        "declared_total": int(declared.sum()),
        "declared_min": int(used.min()) if used.size else 0,
        "declared_median": float(np.median(used)) if used.size else 0.0,
        "declared_max": int(used.max(initial=0)),
        "declared_given": bool(log.declared_given),
        "undeclared_found": None if extra is None else len(extra),
        "undeclared_inputs": None if extra is None else len({row for row, _ in extra}),
        "labelers": list(log.labelers),
        "order": "observed" if getattr(log, "ordered", False) else "exchangeable",
        "counts_only": isinstance(log, CountTable),
    }


def log_guardrails(facts: dict[str, Any], curves: dict[str, Curves], raw: Curves) -> dict[str, str]:
    """Return the guardrail lines of a method from the facts of its log and its curves by kind.

    Args:
        facts: what `log_facts` gave.
        curves: of each kind that the log can tell.
        raw: those that hold latent coverage, where there is any.
    """
    coverage = {kind: float(found.mean().coverage[0, -1]) for kind, found in curves.items()}
    latent = raw.mean().latent_coverage
    return guardrails(
        facts,
        coverage,
        int(raw.budgets[-1]),
        latent=None if latent is None else float(latent[0, -1]),
        sees=str(raw.provenance.get("sees", "")),
        knows=str(raw.provenance.get("knows", "")),
    )


def _undeclared(log: Log) -> list[tuple[int, int]] | None:
    """Return the (row, label) pairs of labels outside the declared set that some sample matched."""
    seen = log.counts > 0 if isinstance(log, CountTable) else log.matches.any(axis=(1, 2))
    return [(int(row), int(label)) for row, label in zip(*np.nonzero(seen & ~log.declared), strict=True)]


def _warnings(facts: dict[str, Any], kinds: dict[str, KindStudy]) -> list[str]:
    """Return what a reader of the numbers must know, one line each."""
    lines = []
    if facts["n_short"]:
        most = int(next(iter(kinds.values())).curves.budgets[-1])
        lines.append(
            f"{counted(facts['n_short'], 'input')} of {facts['inputs']:,} with fewer than {most:,} samples "
            "left the curves at all budgets; lower --budget to keep them, or give --extrapolate"
        )
    if facts["inputs_without_declared"]:
        lines.append(
            f"{counted(facts['inputs_without_declared'], 'input')} without a declared strategy: no fraction "
            "is defined there, and no curve uses them"
        )
    if not facts["declared_given"]:
        lines.append(
            "no declared strategies were given: the denominator is the labels seen in this log, which grows "
            "with the log; read `distinct`, or give --declared"
        )
    told: dict[str, list[str]] = {}
    for kind, found in kinds.items():
        texts = list(found.intervals["coverage"].warnings or found.auc.warnings)
        errors = found.curves.mc_stderr
        if errors is not None:
            texts.append(f"{listed(_simulated(errors))} by random orders; see mc_stderr")
        for text in texts:
            told.setdefault(text, []).append(kind)
    return lines + [f"{' and '.join(alike)} coverage: {text}" for text, alike in told.items()]


def _simulated(errors: Any) -> list[str]:
    return [name for name in CURVES if errors[name] is not None]
