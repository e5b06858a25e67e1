"""Intervals over the inputs of `Curves`."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from coverjax.curves import VERDICTS, Curves
from coverjax.foundation.checks import InputError, one_of
from coverjax.inference.bands import mean_band
from coverjax.inference.bounded import bounded_band, bounded_interval
from coverjax.inference.cautions import UNIT
from coverjax.inference.intervals import mean_interval
from coverjax.inference.resampling import REPLICATES, resampled_means
from coverjax.inference.units import Interval

FRACTIONS = frozenset(
    {"coverage", "novelty_any", "full_coverage", "latent_coverage"}
    | {"pass_at_k", "pass_all_k", "cover_at_tau", "majority_at_k", "best_of_k_correct"}
)
"""The curves that lie between 0 and 1."""


def used_values(curves: Curves, quantity: str) -> np.ndarray:
    """Return a curve of the inputs in use, [units, B], else raise."""
    values = curves.curve(quantity)
    if "aggregate" in curves.provenance:
        raise InputError(
            f"curves: an interval over inputs needs a row for each input; these are their "
            f"{curves.provenance['aggregate']}: pass the curves it was made from"
        )
    return values[curves.used_for(quantity)]


METHODS = ("t", "bootstrap", "band", "bounded", "bounded band")
"""Intervals at each budget and bands over all of them."""


def method_for(quantity: str, method: str) -> str:
    """Return the method, or its counterpart without limits for a curve that has none."""
    if quantity in FRACTIONS:
        return method
    return {"bounded": "t", "bounded band": "band"}.get(method, method)


def fit_influence(curves: Curves, quantity: str) -> np.ndarray:
    """Return what inputs add to the spread of a mean curve through a common fit, [inputs, B] or 0.

    Extrapolated inputs bear on each other: their predictions come from priors fitted to all of them.
    """
    told = curves.extrapolation
    if told is None or quantity not in ("coverage", "distinct"):
        return np.zeros((curves.inputs, 1))
    return told.influence if quantity == "coverage" else told.influence * curves.declared[:, None]


def fitted_values(curves: Curves, quantity: str) -> np.ndarray:
    """Return `used_values` as their spread is to be taken; their sum over the inputs is the same."""
    values = used_values(curves, quantity)
    if curves.extrapolation is None:
        return values
    return values + fit_influence(curves, quantity)[curves.used_for(quantity)]


def model_gap(curves: Curves, quantity: str) -> np.ndarray:
    """Return half of the distance between the models of an extrapolation [B]; [0] where there is none."""
    told = curves.extrapolation
    if told is None or quantity not in ("coverage", "distinct"):
        return np.zeros(1)
    used = curves.declared[curves.used]
    return told.gap * (float(used.mean()) if quantity == "distinct" and len(used) else 1.0)


def widened(found: Interval, gap: np.ndarray) -> Interval:
    """Add the distance between models to both sides: the interval runs over what each model would say."""
    return dataclasses.replace(found, low=found.low - gap, high=found.high + gap)


def curve_interval(
    curves: Curves,
    quantity: str = "coverage",
    level: float = 0.95,
    method: str = "t",
    clusters: "Sequence[Any] | np.ndarray | None" = None,
    *,
    seed: int = 0,
) -> Interval:
    """Compute the interval of `interval`, with its mean, standard error, flags and warnings."""
    one_of("method", method, METHODS)
    found = _plain_interval(curves, quantity, level, method, clusters, seed)
    told = curves.extrapolation
    if told is None:
        return found
    verdict = (f"extrapolated by {told.method}: {told.verdict}",) if told.verdict != VERDICTS[0] else ()
    found = widened(found, model_gap(curves, quantity))
    return dataclasses.replace(found, warnings=(*found.warnings, *verdict, *told.warnings))


def _plain_interval(
    curves: Curves, quantity: str, level: float, method: str, clusters: Any, seed: int
) -> Interval:
    values = fitted_values(curves, quantity)
    labels = _used_labels(curves, quantity, clusters)
    fractions = quantity in FRACTIONS
    if method.startswith("bounded"):
        if not fractions:
            raise InputError(
                f"method: {method!r} is for numbers between 0 and 1; {quantity} has no such limits: use 't', "
                "or bounded_interval with the limits that hold"
            )
        if curves.extrapolation is not None:
            raise InputError(f"method: {method!r} knows nothing of a fit over inputs; use 't' or 'band' here")
        of = bounded_interval if method == "bounded" else bounded_band
        return of(values, level, labels, seed)
    bounds = UNIT if fractions else None
    if method == "band":
        return mean_band(values, level, labels, seed, bounds=bounds)
    return mean_interval(values, level, method, labels, seed, bounds=bounds)


def _used_labels(
    curves: Curves, quantity: str, clusters: "Sequence[Any] | np.ndarray | None"
) -> np.ndarray | None:
    """Return the labels of the inputs in use, None where there are none."""
    if clusters is None:
        return None
    labels = np.asarray(clusters, dtype=object)
    if labels.shape != (curves.inputs,):
        raise InputError(
            f"clusters: must give one label for each of the {curves.inputs} inputs; got shape {labels.shape}"
        )
    return labels[curves.used_for(quantity)]


def mean_replicates(
    curves: Curves,
    quantity: str = "coverage",
    clusters: "Sequence[Any] | np.ndarray | None" = None,
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Float[np.ndarray, "replicates budgets"]:
    """Draw mean curves of inputs drawn with replacement: what a function of the mean curve needs.

    All budgets share their draws, and two `Curves` with the same inputs in use share them at the same seed,
    so that any function of one or both has paired replicates. Their percentiles are the interval "bootstrap".

    Args:
        curves, quantity, clusters: as in `interval`.
        replicates: number of draws.
        seed: the same seed and number of inputs (clusters) give the same draws.
    """
    values = fitted_values(curves, quantity)
    return resampled_means(values, _used_labels(curves, quantity, clusters), replicates, seed)


class Ends(NamedTuple):
    """Ends of an interval at each budget, to be unpacked as `low, high`."""

    low: np.ndarray
    high: np.ndarray


class WarnedEnds(Ends):
    """Ends of an interval, `low, high`, with what a reader of them must know.

    Attributes:
        low, high: [B].
        warnings: one line each: where there is no interval and why, and where it undercovers.
    """

    warnings: tuple[str, ...]

    @classmethod
    def of(cls, found: Interval) -> "WarnedEnds":
        """Keep ends and warnings of an `Interval`."""
        ends = cls(found.low, found.high)
        ends.warnings = found.warnings
        return ends

    def __repr__(self) -> str:
        return f"WarnedEnds(low={self.low!r}, high={self.high!r}, warnings={self.warnings!r})"


def interval(
    curves: Curves,
    quantity: str = "coverage",
    level: float = 0.95,
    method: str = "t",
    clusters: "Sequence[Any] | np.ndarray | None" = None,
    *,
    seed: int = 0,
) -> WarnedEnds:
    """Compute an interval over inputs for the mean of a curve, at each budget.

    The inputs in use (enough samples, at least one declared strategy) are taken as a sample of a
    population of inputs; the interval is for that population's mean curve.

    Args:
        curves: one row for each input.
        quantity: a curve of `Curves` with one number per input and budget.
        level: nominal level, a fraction.
        method: "t" (Student's interval at each budget), "bootstrap" (percentiles over inputs; undercovers
            below about 100 inputs) or "band" (holds the whole curve at once). Where many inputs stand at 0
            or 1 these undercover and say so; "bounded" and "bounded band" don't (`bounded_interval`), for
            curves between 0 and 1.
        clusters: a label for each input of `curves` [inputs], where inputs come in groups (a family of
            templates, say); whole groups are then the draws.
        seed: of all but "t".

    Returns:
        low, high [B], to be unpacked; `.warnings` says where they undercover and where there are none.
        Ends are not cut to [0, 1]; they are NaN at budgets where all inputs agree (no variance was measured)
        and everywhere with fewer than two inputs, but for the bounded methods, which need no variance.
        `curve_interval` has mean, standard error and flags as well.

    Raises:
        InputError: the curve was not asked for, the curves are already a mean, or fewer than 3 clusters.

    >>> import numpy as np
    >>> coverage = np.array([[0.5, 1.0], [0.25, 0.75], [0.5, 0.75]])
    >>> curves = Curves(budgets=np.arange(1, 3), coverage=coverage, distinct=4 * coverage,
    ...                 declared=np.array([4, 4, 4]), ids=np.array(["a", "b", "c"], dtype=object))
    >>> low, high = interval(curves)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0581, 0.4748], [0.7752, 1.1919])
    """
    return WarnedEnds.of(curve_interval(curves, quantity, level, method, clusters, seed=seed))
