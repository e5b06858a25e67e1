"""What a sweep keeps of a policy's curves in one cell: a few numbers, under fixed column names."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from coverjax.curves import Curves
from coverjax.foundation.checks import InputError, shown
from coverjax.metrics import auc, gain_report, gain_split, time_to_coverage

DEFAULT_METRICS = ("auc", "gain", "final")

METRICS: dict[str, tuple[str, ...]] = {
    "auc": ("auc", "auc_mc_error", "auc_by_input"),
    "gain": ("gain", "gain_stderr"),
    "gain_split": ("gain_common", "gain_rare"),
    "final": ("final", "final_mc_stderr"),
    "full": ("full",),
    "distinct": ("distinct",),
    "latents": ("latents_used",),
    "curve": ("curve",),
}
"""Metric -> the columns that hold it; `time:TAU` beside them."""

LISTS = frozenset({"auc_by_input", "curve"})
"""Columns that hold a list of numbers in each row."""


def require_metric(name: str) -> None:
    """Raise unless there is such a metric.

    Raises:
        InputError: naming those there are.
    """
    if name.startswith("time:"):
        if _tau(name) is None:
            raise InputError(f"time: must be time:TAU with 0 < TAU <= 1; got {shown(name)}")
    elif name not in METRICS:
        raise InputError(f"must be among {', '.join(METRICS)}, time:TAU; got {shown(name)}")


def _tau(name: str) -> float | None:
    """Return TAU of a metric `time:TAU`; None where it is another one, or no such number."""
    kind, _, number = name.partition(":")
    if kind != "time":
        return None
    try:
        tau = float(number)
    except ValueError:
        return None
    return tau if 0.0 < tau <= 1.0 else None


def columns(metrics: Iterable[str]) -> list[str]:
    """Return the columns of some metrics; `auc` is always among them.

    >>> columns(["gain", "time:0.8"])
    ['auc', 'auc_mc_error', 'auc_by_input', 'gain', 'gain_stderr', 'time_0.8', 'never_0.8']
    """
    found: list[str] = []
    for name in ("auc", *metrics):
        tau = _tau(name)
        found += METRICS[name] if tau is None else _time_columns(tau)
    return list(dict.fromkeys(found))


def _time_columns(tau: float) -> tuple[str, str]:
    return f"time_{tau:.15g}", f"never_{tau:.15g}"


def curves_needed(metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the optional curves that some metrics are read from."""
    needs: dict[str, None] = {}
    shares = {_tau(name) for name in metrics} - {None}
    if "gain_split" in metrics:
        needs["strategy_auc"] = None
    if "full" in metrics or 1.0 in shares:
        needs["full_coverage"] = None
    if "latents" in metrics:
        needs["latent_coverage"] = None
    if shares - {1.0}:
        needs["count_law"] = None
    return tuple(needs)


def measured(metrics: Sequence[str], curves: Curves, iid: Curves, oracle: Curves) -> dict[str, Any]:
    """Return the columns of one policy in one cell, NaN where there is no such number.

    Means are over the cell's inputs. `auc_mc_error` is an upper bound of the Monte Carlo standard error of
    `auc`: the mean over budgets of the errors at each (errors at near budgets go together).

    Args:
        metrics: their names.
        curves: of the policy, the cell's inputs.
        iid, oracle: the exact references of Gain, on the same inputs.
    """
    areas = auc(curves)
    row: dict[str, Any] = {
        "auc": float(areas.mean()),
        "auc_mc_error": _mc_error(curves, slice(None)),
        "auc_by_input": areas.tolist(),
    }
    if "gain" in metrics:
        report = gain_report(curves, iid, oracle)
        row |= {"gain": report.pooled, "gain_stderr": report.stderr}
    if "gain_split" in metrics:
        row |= _split(curves, iid, oracle)
    if "final" in metrics:
        row |= {"final": _mean(curves.coverage[:, -1]), "final_mc_stderr": _mc_error(curves, slice(-1, None))}
    if "full" in metrics:
        row["full"] = _last(curves.full_coverage)
    if "distinct" in metrics:
        row["distinct"] = _mean(curves.distinct[:, -1])
    if "latents" in metrics:
        row["latents_used"] = _last(curves.latent_coverage)
    if "curve" in metrics:
        row["curve"] = curves.coverage.mean(axis=0).tolist()
    for name in metrics:
        tau = _tau(name)
        if tau is not None:
            row |= _time(curves, tau)
    return row


def _mean(values: np.ndarray) -> float:
    return float(values.mean())


def _last(values: np.ndarray | None) -> float:
    return math.nan if values is None else _mean(values[:, -1])


def _mc_error(curves: Curves, budgets: slice) -> float:
    errors = None if curves.mc_stderr is None else curves.mc_stderr.coverage
    if errors is None:
        return math.nan
    each = errors[:, budgets].mean(axis=1)
    return float(np.sqrt((each**2).sum()) / len(each))


def _split(curves: Curves, iid: Curves, oracle: Curves) -> dict[str, float]:
    if curves.strategy_auc is None:
        return {"gain_common": math.nan, "gain_rare": math.nan}
    parts = gain_split(curves, iid, oracle)
    means = [float(part[np.isfinite(part)].mean()) if np.isfinite(part).any() else math.nan for part in parts]
    return {"gain_common": means[0], "gain_rare": means[1]}


def _time(curves: Curves, tau: float) -> dict[str, float]:
    names = _time_columns(tau)
    try:
        whole = time_to_coverage(curves, tau).pooled
    except InputError:  # the curves hold no count law
        return dict.fromkeys(names, math.nan)
    assert whole is not None
    return dict(zip(names, (float(whole.mean), float(whole.censored)), strict=True))
