"""Bootstrap limits of everything that one table says, in the same draws of tasks."""

from typing import Any

import numpy as np

from coverjax.foundation.checks import InputError
from coverjax.inference.resampling import resampled_means, why_refused
from coverjax.routing import answers
from coverjax.routing.answers import Answer
from coverjax.routing.contracts import Inference

ROW_NOT_RUN = "the routed team was not run there"
FAMILY_NOT_RUN = "not every legal team was run there"
PAIR_NOT_RUN = "a team that only one of them chooses was not run there"


class Draws:
    """Bootstrap limits of means, and of functions of means, all in the same draws of tasks."""

    def __init__(self, inference: Inference, clusters: "np.ndarray | None", tasks: int):
        self.inference = inference
        self.clusters = clusters if inference.unit == "family" else None
        if inference.unit == "family" and clusters is None:
            raise InputError(
                "inference.unit: family needs the family of each task: a `family` column in the outcomes "
                "or tasks file"
            )
        self.refused = why_refused(tasks, self.clusters)
        self.columns: list[np.ndarray] = []
        self.means: np.ndarray | None = None

    def add(self, column: np.ndarray) -> int:
        """Add a column [tasks]; return its place."""
        self.columns.append(column)
        return len(self.columns) - 1

    def add_ends(self, lower: np.ndarray, upper: np.ndarray) -> tuple[int, int]:
        """Add both ends of a set; return their places, the same one for a point."""
        low = self.add(lower)
        return low, low if np.array_equal(lower, upper) else self.add(upper)

    def draw(self) -> None:
        """Draw all columns' means, once."""
        if self.refused is None:
            values = np.stack(self.columns, axis=1)
            self.means = resampled_means(
                values, self.clusters, self.inference.replicates, self.inference.seed
            )

    def limits(self, low: Any, high: Any = None) -> tuple[float, float]:
        """Return the lower limit of one column (or of an array of replicates) and the upper limit of
        another."""
        if self.means is None:
            return np.nan, np.nan
        tail = 0.5 * (1.0 - self.inference.level)
        ends = []
        for column, q in ((low, tail), (low if high is None else high, 1.0 - tail)):
            replicates = self.means[:, column] if isinstance(column, int) else column
            ends.append(float(np.quantile(replicates, q)))
        return ends[0], ends[1]


def gated_mean(
    estimand: str, ends: tuple[np.ndarray, np.ndarray], why_open: str, draws: Draws, place: tuple[int, int]
) -> Answer:
    """Return the answer about a mean whose ends stand at two places of the draws."""
    return answers.gated(estimand, *ends, why_open, draws.limits(*place))
