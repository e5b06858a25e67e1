"""The trials of a log as one flat batch, and back to inputs."""

import dataclasses

import numpy as np

from coverjax.logs.log import SampleLog


@dataclasses.dataclass(frozen=True, eq=False)
class Runs:
    """The trials that enter an estimate.

    Attributes:
        matches: [runs, samples, labels], False beyond n and for labels of samples that do not count.
        declared: [runs, labels].
        n: samples of each run [runs].
        row: the input of each run [runs].
        trial: its number within the input [runs].
        rows: number of inputs.
    """

    matches: np.ndarray
    declared: np.ndarray
    n: np.ndarray
    row: np.ndarray
    trial: np.ndarray
    rows: int

    @classmethod
    def of(cls, log: SampleLog, coverage: str, keep: np.ndarray) -> "Runs":
        """Flatten the trials of the inputs in `keep` (bool [inputs])."""
        present = (log.n > 0) & keep[:, None]
        row, trial = np.nonzero(present)
        kept = log.kept(coverage)
        return cls(
            matches=kept.reshape(len(row), *kept.shape[2:]) if present.all() else kept[row, trial],
            declared=log.declared[row],
            n=log.n[row, trial],
            row=row,
            trial=trial,
            rows=log.inputs,
        )

    @property
    def counts(self) -> np.ndarray:
        """Number of samples that match each label, int64 [runs, labels]."""
        return matched(self.matches)

    def average(self, values: np.ndarray) -> np.ndarray:
        """Average [runs, ...] over the trials of each input: [inputs, ...], NaN where an input has none."""
        return average_by_row(values, self.row, self.rows)

    def average_spread(self, deviations: np.ndarray) -> np.ndarray:
        """Standard deviation of the average over independent trials, from those of the trials."""
        trials = np.bincount(self.row, minlength=self.rows).astype(np.float64)
        shape = (-1,) + (1,) * (deviations.ndim - 1)
        return np.sqrt(self.average(deviations**2) / np.maximum(trials, 1.0).reshape(shape))


def average_by_row(values: np.ndarray, row: np.ndarray, rows: int) -> np.ndarray:
    """Average [runs, ...] over the runs of each of `rows` inputs; NaN where an input has none.

    The values themselves where each input has one run, in order.
    """
    if len(row) == rows and np.array_equal(row, np.arange(rows)):
        return values
    trials = np.bincount(row, minlength=rows).astype(np.float64)
    if trials.max(initial=0.0) <= 1.0:
        whole = np.full((rows, *values.shape[1:]), np.nan)
        whole[row] = values
        return whole
    total = np.zeros((rows, *values.shape[1:]))
    np.add.at(total, row, values)
    trials[trials == 0] = np.nan
    return total / trials.reshape((-1,) + (1,) * (values.ndim - 1))


def matched(matches: np.ndarray) -> np.ndarray:
    """Return how many samples match each label, [runs, samples, labels] -> int64 [runs, labels].

    By folding the samples in halves, in bytes while no count can pass 255: NumPy's sum over the middle axis
    takes ten times as long.
    """
    if matches.shape[1] == 0:
        return np.zeros((matches.shape[0], matches.shape[2]), np.int64)
    counts: np.ndarray = np.ascontiguousarray(matches).view(np.uint8)
    largest = 1
    while counts.shape[1] > 1:
        largest *= 3  # two halves, and at an odd number of samples the last one
        if largest > 255 and counts.dtype == np.uint8:
            counts = counts.astype(np.int64)
        half = counts.shape[1] // 2
        folded = counts[:, :half] + counts[:, half : 2 * half]
        if counts.shape[1] % 2:
            folded[:, 0] += counts[:, -1]
        counts = folded
    return counts[:, 0].astype(np.int64)
