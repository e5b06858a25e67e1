"""Everything a report on policies says: their curves on a known law, gains, where the gain comes from."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from coverjax.closed_form.forms import exact
from coverjax.curves import Curves
from coverjax.foundation.checks import InputError
from coverjax.metrics import GainReport, TimeToCoverage, auc, gain_report, gain_split, time_to_coverage
from coverjax.montecarlo.scan import simulate
from coverjax.policy.stage import LawOrModel
from coverjax.report.plain import number

WITH_LAW = ("default", "count_law")
"""What a report asks for; the count law tells T below 1."""

TAUS = (0.5, 0.8, 1.0)

ENVELOPE = (
    "the envelope is the most that any k draws cover, at each k apart: no one run, so that it has no single "
    "strategies and no time to part of them"
)


@dataclasses.dataclass(frozen=True, eq=False)
class PolicyLine:
    """One policy.

    Attributes:
        name: as it is written, with its settings.
        curves: input by input.
        auc: mean over the inputs in use of AUC(K).
        final_stderr: Monte Carlo standard error of the mean over inputs of C(K); NaN where curves are exact.
        gain: against iid and oracle; None for these two themselves where they are the reference.
        common, rare: mean over the inputs with a defined gain of the two parts of the gain.
        times: time to coverage by tau.
        no_times: why there is none, by tau.
        no_split: why the gain has no parts, or nothing.
    """

    name: str
    curves: Curves
    auc: float
    final_stderr: float
    gain: GainReport | None
    common: float
    rare: float
    times: dict[float, TimeToCoverage]
    no_times: dict[float, str]
    no_split: str = ""

    @property
    def sees(self) -> str:
        """What the policy sees while it runs."""
        return str(self.curves.provenance.get("sees", "?"))

    @property
    def knows(self) -> str:
        """What the policy knows beforehand."""
        return str(self.curves.provenance.get("knows", "?"))


@dataclasses.dataclass(frozen=True, eq=False)
class PolicyStudy:
    """Policies on one law.

    Attributes:
        lines: by name.
        coverage: the kind of coverage.
        rare_below: a strategy is rare when its base probability times K is below this.
        refused: policies that were asked for and could not be had, with the reason.
    """

    lines: dict[str, PolicyLine]
    coverage: str
    rare_below: float
    refused: dict[str, str]

    @property
    def budgets(self) -> np.ndarray:
        """The budgets k."""
        return next(iter(self.lines.values())).curves.budgets

    @property
    def budget(self) -> int:
        """K, the largest budget."""
        return int(self.budgets[-1])

    @property
    def first(self) -> Curves:
        """The curves of the first policy: what all have in common."""
        return next(iter(self.lines.values())).curves


def study_policies(
    curves: Mapping[str, Curves],
    iid: Curves,
    oracle: Curves,
    *,
    rare_below: float = 1.0,
    refused: Mapping[str, str] | None = None,
) -> PolicyStudy:
    """Compute gains, their split and times to coverage of policies on one law.

    Args:
        curves: by name, all at the same budgets.
        iid, oracle: the references of Gain: independent draws, and one strategy a draw without repeats.
        rare_below: where `gain_split` divides rare from common strategies.
        refused: policies that could not be had, with the reason.
    """
    lines = {name: _line(name, found, iid, oracle, rare_below) for name, found in curves.items()}
    kind = str(next(iter(curves.values())).provenance.get("coverage", "raw"))
    return PolicyStudy(lines, kind, rare_below, dict(refused or {}))


def _line(name: str, curves: Curves, iid: Curves, oracle: Curves, rare_below: float) -> PolicyLine:
    areas = auc(curves)[curves.used]
    times: dict[float, TimeToCoverage] = {}
    no_times: dict[float, str] = {}
    for tau in TAUS:
        try:
            times[tau] = time_to_coverage(curves, tau)
        except InputError as error:
            no_times[tau] = str(error)
    no_split = ""
    try:
        common, rare = gain_split(curves, iid, oracle, rare_below)
    except InputError as error:  # a bound without curves by strategy: its gain has no parts
        common = rare = np.full(curves.inputs, np.nan)
        no_split = ENVELOPE if _is_envelope(curves) else str(error)
    if _is_envelope(curves):
        no_times = dict.fromkeys(no_times, ENVELOPE)
    return PolicyLine(
        name=name,
        curves=curves,
        auc=float(areas.mean()) if areas.size else float("nan"),
        final_stderr=_final_stderr(curves),
        gain=gain_report(curves, iid, oracle),
        common=_mean(common),
        rare=_mean(rare),
        times=times,
        no_times=no_times,
        no_split=no_split,
    )


def _is_envelope(curves: Curves) -> bool:
    return curves.provenance.get("form") == "maximum coverage at each k"


def _mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


def _final_stderr(curves: Curves) -> float:
    errors = mean_stderr(curves)
    return float("nan") if errors is None or errors[-1] is None else errors[-1]


def mean_stderr(curves: Curves) -> list[float | None] | None:
    """Return the Monte Carlo standard errors of the mean coverage over inputs, whose runs are independent."""
    errors = None if curves.mc_stderr is None else curves.mc_stderr.coverage
    if errors is None:
        return None
    used = errors[curves.used]
    return [number(value) for value in np.sqrt((used**2).sum(axis=0)) / max(1, len(used))]


def exact_curves(policy: Any, law: LawOrModel, budget: int, coverage: str = "raw") -> Curves:
    """Return exact curves, with the count law (for T below 1) where it is practical.

    Raises:
        InputError: as `exact` without the count law.
    """
    try:
        return exact(policy, law, budget, coverage, WITH_LAW)
    except InputError:
        return exact(policy, law, budget, coverage)


def curves_of(
    key: jax.Array, policy: Any, law: LawOrModel, budget: int, trials: int, coverage: str = "raw"
) -> Curves:
    """Return exact curves, simulated ones where there are none.

    Raises:
        InputError: as `simulate`.
    """
    try:
        return exact_curves(policy, law, budget, coverage)
    except InputError:
        return simulate(key, policy, law, budget, trials, coverage, WITH_LAW)


def document(
    study: PolicyStudy,
    *,
    verb: str,
    command: str,
    options: dict[str, Any],
    seed: int,
    files: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Return a study as a plain document, NaN as null.

    Args:
        study: what was found.
        verb, command, options, seed: what was asked.
        files: what was read, a dict each with path, sha256 and bytes.
    """
    from coverjax._version import __version__

    return {
        "coverjax": __version__,
        "verb": verb,
        "command": command,
        "options": options,
        "seed": seed,
        "files": [dict(facts) for facts in files],
        "coverage": study.coverage,
        "budgets": study.budgets.tolist(),
        "inputs": study.first.inputs,
        "inputs_used": int(study.first.used.sum()),
        "strategies": {"total": int(study.first.declared.sum()), "most": int(study.first.declared.max())},
        "rare_below": study.rare_below,
        "policies": [_policy(line) for line in study.lines.values()],
        "refused": study.refused,
    }


def _policy(line: PolicyLine) -> dict[str, Any]:
    mean = line.curves.mean()
    names = ("coverage", "distinct", "novelty_any", "novelty_count", "full_coverage", "latent_coverage")
    found: dict[str, Any] = {
        "policy": line.name,
        "sees": line.sees,
        "knows": line.knows,
        "provenance": line.curves.provenance,
        "auc": number(line.auc),
        "coverage_mc_stderr": mean_stderr(line.curves),
        "gain_split": {
            "common": number(line.common),
            "rare": number(line.rare),
            **({"why_null": line.no_split} if line.no_split else {}),
        },
        "curves": {
            name: [number(v) for v in getattr(mean, name)[0]]
            for name in names
            if getattr(mean, name) is not None
        },
        "time_to_coverage": {f"{tau:g}": _time(line, tau) for tau in TAUS},
    }
    if line.gain is not None:
        reasons = [str(reason) for reason in line.gain.reasons if reason]
        found["gain"] = {
            "pooled": number(line.gain.pooled),
            "stderr_over_inputs": number(line.gain.stderr),
            "inputs": line.gain.inputs,
            "undefined": {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)},
        }
    return found


def _time(line: PolicyLine, tau: float) -> dict[str, Any]:
    if tau in line.no_times:
        return {"restricted_mean": None, "median": None, "never": None, "why_null": line.no_times[tau]}
    whole = line.times[tau].pooled
    assert whole is not None
    return {
        "restricted_mean": number(float(whole.mean)),
        "median": number(float(whole.median)),
        "never": number(float(whole.censored)),
    }
