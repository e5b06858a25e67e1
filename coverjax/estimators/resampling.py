"""Uncertainty WITHIN an input: whole samples drawn again with replacement."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from coverjax.curves import PER_BUDGET
from coverjax.estimators.rarefaction import estimate_method
from coverjax.foundation.checks import InputError, counted, fraction, one_of, whole_number
from coverjax.foundation.rng import stream_number
from coverjax.inference.student import student_quantile
from coverjax.logs.log import SampleLog
from coverjax.logs.needs import need_samples

FEW_SAMPLES = 32
"""Below about this many samples the resampled interval undercovers."""

RARE, MANY_RARE = 1, 0.25
"""So does it where so large a share of the declared strategies were matched by at most so many samples."""

_CELLS = 1 << 23


@dataclasses.dataclass(frozen=True, eq=False)
class SampleInterval:
    """An interval for each input's own curve, given that the input was sampled n times.

    Attributes:
        low, high: ends [inputs, B]; for fractions cut to [0, 1]; NaN for inputs that left (too few samples)
            and at points whose resamples all agree.
        stderr: standard deviation over the resamples [inputs, B].
        budgets: k [B].
        level: nominal level, a fraction.
        warnings: what a reader must know, one line each.
    """

    low: Float[np.ndarray, "inputs budgets"]
    high: Float[np.ndarray, "inputs budgets"]
    stderr: Float[np.ndarray, "inputs budgets"]
    budgets: np.ndarray
    level: float
    warnings: tuple[str, ...]


def sample_interval(
    log: SampleLog,
    budget: "int | Sequence[int] | np.ndarray | None" = None,
    quantity: str = "coverage",
    level: float = 0.95,
    *,
    coverage: str = "raw",
    replicates: int = 1_000,
    seed: int = 0,
) -> SampleInterval:
    """Compute an interval for the curve of EACH input by resampling its samples whole.

    A sample is drawn again with its whole match set, so that strategies found together stay together.
    The interval is estimate -+ t x (standard deviation over the resamples), t with n - 1 degrees of
    freedom: percentiles would inherit the downward bias of a resample's number of distinct strategies.
    It answers "what if this input were sampled again", not "what about other inputs": that is `interval`.

    Args:
        log: an exchangeable log with one trial an input and no method column.
        budget: as in `estimate`. At k = n the curve is nearly flat in the resamples; prefer k <= n / 2.
        quantity: a curve of `Curves` with one number per input and budget, of strategies.
        level: nominal level, a fraction.
        coverage: which samples count: "raw", "valid" or "correct".
        replicates: number of resamples.
        seed: an input's stream is named by the seed and its id.

    Raises:
        InputError: the log is ordered, has several trials or methods, or lacks the curve; or a number is out
            of range.
    """
    need_samples(log)
    _check(quantity, replicates, seed)
    level = fraction("level", level)
    if log.ordered or log.method is not None or log.n.shape[1] != 1:
        raise InputError(
            "log: samples can be drawn again only where they are exchangeable, of one method and one trial; "
            "split the log with by_method(), or use interval(...) over inputs"
        )
    curves = estimate_method(log, budget, coverage, include=(quantity,))
    center = getattr(curves, quantity)
    if center is None:
        raise InputError(f"quantity: this log holds no {quantity}")
    assert curves.short is not None
    spread = np.full(center.shape, np.nan)
    for row in np.flatnonzero(~curves.short):
        spread[row] = _spread(log, int(row), curves.budgets, quantity, coverage, replicates, seed)
    spread[spread <= 1e-12 * np.maximum(1.0, np.abs(center))] = np.nan
    quantile = np.array([student_quantile(level, max(1, int(n))) for n in np.maximum(log.n[:, 0] - 1, 1)])
    half = quantile[:, None] * spread
    low, high = center - half, center + half
    if not quantity.startswith(("distinct", "novelty_count", "undeclared")):
        low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    return SampleInterval(low, high, spread, curves.budgets, level, _cautions(log, coverage, curves.short))


def _check(quantity: str, replicates: int, seed: int) -> None:
    one_of("quantity", quantity, tuple(name for name in PER_BUDGET if name != "latent_coverage"))
    whole_number("replicates", replicates, 2)
    whole_number("seed", seed, 0)


def _spread(
    log: SampleLog, row: int, budgets: np.ndarray, quantity: str, coverage: str, replicates: int, seed: int
) -> np.ndarray:
    """Standard deviation over the resamples of one input [B]."""
    n = int(log.n[row, 0])
    rng = np.random.Generator(np.random.Philox([seed, stream_number(log.ids[row])]))
    matches = log.kept(coverage)[row, 0, :n]
    block = max(2, _CELLS // max(1, matches.size))
    drawn = []
    for start in range(0, replicates, block):
        picks = rng.integers(n, size=(min(block, replicates - start), n))
        again = SampleLog.from_arrays(matches[picks], declared=log.declared[row])
        drawn.append(getattr(estimate_method(again, budgets, include=(quantity,)), quantity))
    return np.concatenate(drawn).std(axis=0, ddof=1)


def _cautions(log: SampleLog, coverage: str, short: np.ndarray) -> tuple[str, ...]:
    few = int((log.n[~short, 0] < FEW_SAMPLES).sum())
    lines = []
    if few:
        lines.append(
            f"within-input intervals: {counted(few, 'input')} with fewer than {FEW_SAMPLES} samples; "
            "resampling undercovers there"
        )
    counts = log.kept(coverage)[:, 0].sum(axis=1)
    rare = (log.declared & (counts <= RARE)).sum(axis=1) / np.maximum(log.declared_count, 1)
    unseen = int((rare[~short] >= MANY_RARE).sum())
    if unseen:
        lines.append(
            f"within-input intervals: {counted(unseen, 'input')} where at least a quarter of the strategies "
            "were seen once or never; nominal 95 % covered 53-78 % in simulations of such (docs/intervals.md)"
        )
    return tuple(lines)
