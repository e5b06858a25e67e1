"""Everything a comparison with a baseline says, computed once."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from coverjax.curves import Curves
from coverjax.estimators.label_noise import Rates, phantom_coverage
from coverjax.estimators.rarefaction import estimate
from coverjax.estimators.utility import available, utility_curves
from coverjax.evaluation.against import BaselineComparison, Log, compare_to_baseline
from coverjax.evaluation.correctness import Bought, what_coverage_buys
from coverjax.evaluation.finding import Discoveries, strategy_discoveries
from coverjax.evaluation.planning import Plan, plan_comparison
from coverjax.foundation.checks import InputError
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog
from coverjax.report.study import kinds_of, log_facts, log_guardrails
from coverjax.report.text import counted

PLANNED_GAIN = 0.1
"""The gain that is planned for where none is named."""


@dataclasses.dataclass(frozen=True, eq=False)
class BaselineStudy:
    """Methods against a baseline, with what a reader must know.

    Attributes:
        found: curves, gains, intervals.
        discoveries: who finds what.
        guardrails: by method, what its numbers stand on.
        bought: by method, gains in coverage beside gains in pass@k, where the log has correct samples.
        curves: of all methods with pass@k in them, where the log has correct samples.
        plans: by method, what it takes to see a gain, where the log can tell.
        no_plan: why it can't.
        phantoms: by method, what false positives can have added to its C(K) at most; empty without rates.
        warnings: one line each.
    """

    found: BaselineComparison
    discoveries: Discoveries
    guardrails: dict[str, dict[str, str]]
    bought: dict[str, Bought]
    curves: dict[str, Curves]
    plans: dict[str, Plan]
    no_plan: str
    phantoms: dict[str, float]
    warnings: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The baseline and the methods, in order."""
        return (self.found.baseline, *self.found.methods)


def study_baseline(
    logs: Mapping[str, Log],
    baseline: str,
    *,
    budget: int | None = None,
    coverage: str = "raw",
    level: float = 0.95,
    rare_below: float = 1.0,
    seed: int = 0,
    detect: float = PLANNED_GAIN,
    power: float = 0.8,
    false_positive: Rates | None = None,
    tell: Callable[[str], None] = lambda step: None,
) -> BaselineStudy:
    """Compare the methods of a log with a baseline and gather all that a report on it says.

    Args:
        logs: by method.
        baseline: its name.
        budget, coverage, level, rare_below, seed: as in `compare_to_baseline`.
        detect, power: the pooled gain to plan for, and the chance to see it.
        false_positive: rates of wrong labels by strategy, to bound what phantoms can have added.
        tell: called with the name of each step as it begins.
    """
    tell("comparing")
    found = compare_to_baseline(
        logs, baseline, budget, coverage, level=level, rare_below=rare_below, seed=seed
    )
    tell("looking who finds what")
    ordered = {name: logs[name] for name in (baseline, *found.methods)}
    listed = strategy_discoveries(ordered, found.budget, coverage)
    guards = {name: _guardrails(log, found.base.budgets, coverage) for name, log in ordered.items()}
    tell("looking at correct samples")
    bought, curves = _bought(ordered, found, level)
    tell("planning")
    plans, why = _plans(ordered, found, detect, power, seed)
    phantoms = {} if false_positive is None else _phantoms(ordered, found.budget, false_positive)
    warnings = (*_warnings(found), *_phantom_lines(found, phantoms))
    return BaselineStudy(found, listed, guards, bought, curves, plans, why, phantoms, warnings)


def _guardrails(log: Log, budgets: np.ndarray, coverage: str) -> dict[str, str]:
    curves = {}
    for kind in kinds_of(log):
        include: Any = ("latent_coverage",) if kind == "raw" else ()
        part = estimate(log, budgets[-1:], kind, include)
        assert isinstance(part, Curves)
        curves[kind] = part
    return log_guardrails(log_facts(log, curves[coverage]), curves, curves["raw"])


def _bought(
    logs: Mapping[str, Log], found: BaselineComparison, level: float
) -> tuple[dict[str, Bought], dict[str, Curves]]:
    if not all("pass_at_k" in available(log) for log in logs.values()):
        return {}, {}
    curves = {}
    for name, log in logs.items():
        part = utility_curves(log, found.base.budgets, "pass_at_k")
        assert isinstance(part, Curves)
        curves[name] = dataclasses.replace(part, method=name)
    base = curves[found.baseline]
    return {name: what_coverage_buys(curves[name], base, level=level) for name in found.methods}, curves


def _plans(
    logs: Mapping[str, Log], found: BaselineComparison, detect: float, power: float, seed: int
) -> tuple[dict[str, Plan], str]:
    plans = {}
    for name in found.methods:
        try:
            plans[name] = plan_comparison(
                logs[found.baseline],
                logs[name],
                detect,
                budget=found.budget,
                coverage=found.coverage,
                power=power,
                level=found.level,
                seed=seed,
            )
        except InputError as error:
            if not str(error).startswith("plan:"):
                raise
            return {}, str(error)
    return plans, ""


def _phantoms(logs: Mapping[str, Log], budget: int, false_positive: Rates) -> dict[str, float]:
    bounds = {}
    for name, log in logs.items():
        if isinstance(log, CountTable):
            raise InputError("--noise: needs the samples; counts of matches can't be told from phantoms")
        assert isinstance(log, SampleLog)
        part = phantom_coverage(log, false_positive, [budget])
        assert isinstance(part, Curves)
        bounds[name] = float(part.mean().coverage[0, -1])
    return bounds


def _phantom_lines(found: BaselineComparison, phantoms: dict[str, float]) -> list[str]:
    """Where what false positives can have added is as large as what the method is ahead."""
    lines = []
    for name, method in found.methods.items():
        ahead = float(method.comparison.difference[-1])
        if phantoms and 0.0 < ahead <= phantoms[name]:
            lines.append(
                f"{name}: phantom strategies could explain the gain: it is {ahead:.3f} ahead in "
                f"C({found.budget}), "
                f"and wrong labels can have added up to {phantoms[name]:.3f}"
            )
    return lines


def _warnings(found: BaselineComparison) -> list[str]:
    lines = []
    for name, method in found.methods.items():
        reasons = [str(reason) for reason in method.gain.reasons if reason]
        for reason in dict.fromkeys(reasons):
            lines.append(f"{name}: {counted(reasons.count(reason), 'input')} without a gain: {reason}")
        texts = dict.fromkeys(
            (*method.difference.warnings, *method.pooled.warnings, *method.comparison.warnings)
        )
        lines += [f"{name}: {text}" for text in texts]
    return lines
