"""Intervals over the inputs of `Curves`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from coverjax.curves import Curves
from coverjax.foundation.checks import InputError, one_of
from coverjax.inference.bands import mean_band
from coverjax.inference.cautions import UNIT
from coverjax.inference.intervals import mean_interval
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
    one_of("method", method, ("t", "bootstrap", "band"))
    values = used_values(curves, quantity)
    labels = None
    if clusters is not None:
        labels = np.asarray(clusters, dtype=object)
        if labels.shape != (curves.inputs,):
            raise InputError(
                f"clusters: must give one label for each of the {curves.inputs} inputs; "
                f"got shape {labels.shape}"
            )
        labels = labels[curves.used_for(quantity)]
    bounds = UNIT if quantity in FRACTIONS else None
    if method == "band":
        return mean_band(values, level, labels, seed, bounds=bounds)
    return mean_interval(values, level, method, labels, seed, bounds=bounds)


def interval(
    curves: Curves,
    quantity: str = "coverage",
    level: float = 0.95,
    method: str = "t",
    clusters: "Sequence[Any] | np.ndarray | None" = None,
    *,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute an interval over inputs for the mean of a curve, at each budget.

    The inputs in use (enough samples, at least one declared strategy) are taken as a sample of a
    population of inputs; the interval is for that population's mean curve.

    Args:
        curves: one row for each input.
        quantity: a curve of `Curves` with one number per input and budget.
        level: nominal level, a fraction.
        method: "t" (Student's interval at each budget), "bootstrap" (percentiles over inputs; undercovers
            below about 100 inputs) or "band" (holds the whole curve at once).
        clusters: a label for each input of `curves` [inputs], where inputs come in groups (a family of
            templates, say); whole groups are then the draws.
        seed: of "bootstrap" and "band".

    Returns:
        low, high [B]: not cut to [0, 1]; NaN at budgets where all inputs agree (no variance was measured)
        and everywhere with fewer than two inputs. `curve_interval` has the flags and warnings as well.

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
    found = curve_interval(curves, quantity, level, method, clusters, seed=seed)
    return found.low, found.high
