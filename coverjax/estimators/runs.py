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
        if len(self.row) == self.rows and np.array_equal(self.row, np.arange(self.rows)):
            return values
        trials = np.bincount(self.row, minlength=self.rows).astype(np.float64)
        total = np.zeros((self.rows, *values.shape[1:]))
        np.add.at(total, self.row, values)
        trials[trials == 0] = np.nan
        return total / trials.reshape((-1,) + (1,) * (values.ndim - 1))

    def average_spread(self, deviations: np.ndarray) -> np.ndarray:
        """Standard deviation of the average over independent trials, from those of the trials."""
        trials = np.bincount(self.row, minlength=self.rows).astype(np.float64)
        shape = (-1,) + (1,) * (deviations.ndim - 1)
        return np.sqrt(self.average(deviations**2) / np.maximum(trials, 1.0).reshape(shape))


def matched(matches: np.ndarray) -> np.ndarray:
    """Return how many samples match each label, [runs, samples, labels] -> int64 [runs, labels].

    A product with ones: NumPy's sum over the middle axis takes five times as long. float32 holds these
    whole numbers exactly up to 2^24 samples of a run.
    """
    if matches.shape[1] >= 1 << 24:
        return matches.sum(axis=1)
    ones = np.ones((1, matches.shape[1]), np.float32)
    return (ones @ matches.astype(np.float32))[:, 0, :].astype(np.int64)
