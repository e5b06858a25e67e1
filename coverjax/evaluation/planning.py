"""How many inputs and samples it takes to see a gain of a given size, from the spread of a pilot log."""

import dataclasses
import math
import statistics
from collections.abc import Sequence

import numpy as np

from coverjax.curves import Curves
from coverjax.estimators.rarefaction import estimate
from coverjax.evaluation.against import Log, oracle_curves
from coverjax.evaluation.sampling_noise import AreaNoise
from coverjax.foundation.checks import InputError, fraction, shown
from coverjax.inference.pairing import paired_rows
from coverjax.inference.student import student_quantile
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog
from coverjax.logs.needs import need_log, need_one_method
from coverjax.metrics import auc

DIVISIONS = 20
"""Random divisions of the samples into halves."""

MOST_INPUTS = 10_000_000


@dataclasses.dataclass(frozen=True)
class PlanRow:
    """How many inputs are needed with so many samples of each by both methods; None where too many."""

    samples: int
    spread: float
    inputs: int | None


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a comparison of two methods can see, and what it would take to see a given gain.

    Attributes:
        gain: the pooled gain to see, with `power` at `level`.
        power, level: chance to see it; level of the two-sided interval that must miss 0.
        budget: K of the AUCs.
        room: mean AUC of the oracle minus the baseline's: what a gain of 1 is worth.
        between: standard deviation over inputs of the true difference in AUC.
        modelled: whether that rests on a model of the noise, as half of the samples are fewer than K.
        inputs, samples: of the pilot.
        detectable: the least gain that the pilot's own size sees with this power.
        rows: by samples an input.
    """

    gain: float
    power: float
    level: float
    budget: int
    room: float
    between: float
    modelled: bool
    inputs: int
    samples: int
    detectable: float
    rows: tuple[PlanRow, ...]


def plan_comparison(
    base: Log,
    method: Log,
    gain: float = 0.1,
    *,
    budget: int | None = None,
    coverage: str = "raw",
    samples: "Sequence[int] | None" = None,
    power: float = 0.8,
    level: float = 0.95,
    seed: int = 0,
) -> Plan:
    """Plan a comparison: how many inputs show a pooled gain, with so many samples an input.

    The difference in AUC(K) of an input varies for two reasons: inputs differ, which stays however many
    samples there are, and few samples are noisy. What differs between inputs is the covariance of two halves
    of their samples, where these hold K each; else what the pilot's spread has beyond a simulated noise
    (`AreaNoise`), a model that was up to 1.4 times off in the spread in simulations. How noise falls with n
    is simulated. With sd^2 = between^2 + noise(n)^2, N inputs see a gain when N >= ((t + z) sd / (gain x
    room))^2, t of Student's law with N - 1 degrees, z the normal quantile of the power. Approximate.

    Args:
        base, method: logs of the pilot, exchangeable, of one method each, on the same inputs.
        gain: the pooled gain to see, above 0.
        budget: K; the smallest number of samples when None.
        coverage: which samples count.
        samples: numbers of samples an input to plan for, each at least K; when None the pilot's, twice and
            four times it.
        power, level: fractions.
        seed: of the simulated noise.

    Raises:
        InputError: a number is out of range, the log is ordered or has counts of several strategies only,
            fewer than 3 common inputs, or the oracle leaves no room.

    Example:
        >>> import numpy as np, coverjax as cj
        >>> rng = np.random.default_rng(0)
        >>> base, new = (cj.SampleLog.from_arrays(rng.random((30, 8, 3)) < q) for q in (0.1, 0.2))
        >>> plan = cj.plan_comparison(base, new, gain=0.2)
        >>> plan.rows[0].samples, plan.rows[0].inputs > plan.rows[2].inputs
        (8, True)
    """
    power, level = fraction("power", power), fraction("level", level)
    if not gain > 0.0:
        raise InputError(f"gain: must be a gain to see, above 0; got {shown(gain)}")
    for log in (base, method):
        _check(log)
    most = min(base.smallest_n, method.smallest_n) if budget is None else int(budget)
    curves = _curves(base, most, coverage), _curves(method, most, coverage)
    rows_a, rows_b = paired_rows(*curves)
    if len(rows_a) < 3:
        raise InputError(f"plan: needs at least 3 inputs that both methods have; got {len(rows_a)}")
    areas = [auc(found)[rows] for found, rows in zip(curves, (rows_a, rows_b), strict=True)]
    room = float((auc(oracle_curves(curves[0]))[rows_a] - areas[0]).mean())
    if not room > 0.0:
        raise InputError("plan: the oracle is not better than the baseline: there is nothing to gain")
    noises = [
        AreaNoise.of(log, rows, most, coverage, seed) for log, rows in ((base, rows_a), (method, rows_b))
    ]
    total = float(np.var(areas[1] - areas[0], ddof=1))
    own = sum(noise.own() for noise in noises)
    halves = _halves(((base, rows_a), (method, rows_b)), most, coverage, seed)
    between = min(total, max(0.0, total - own if halves is None else halves))
    scale = (total - between) / own if own > 0.0 else 0.0
    n = min(base.smallest_n, method.smallest_n)
    wanted = [n, 2 * n, 4 * n] if samples is None else [int(s) for s in samples]
    rows = []
    for s in wanted:
        if s < most:
            raise InputError(f"samples: must be at least the budget {most}; got {s}")
        spread = math.sqrt(between + scale * sum(noise.at(s) for noise in noises))
        rows.append(PlanRow(s, spread, _inputs(spread, gain * room, power, level)))
    return Plan(
        gain=float(gain),
        power=power,
        level=level,
        budget=most,
        room=room,
        between=math.sqrt(between),
        modelled=halves is None,
        inputs=len(rows_a),
        samples=n,
        detectable=_effect(math.sqrt(total), len(rows_a), power, level) / room,
        rows=tuple(rows),
    )


def _check(log: Log) -> None:
    need_log(log)
    if isinstance(log, CountTable) and log.counts.shape[1] > 1:
        raise InputError(
            "plan: counts of several strategies don't tell which came together; read the samples themselves"
        )
    if getattr(log, "ordered", False):
        raise InputError("plan: samples are drawn again, which needs exchangeable ones; this log is ordered")
    need_one_method(log)


def _curves(log: Log, budget: int, coverage: str) -> Curves:
    found = estimate(log, budget, coverage, include=())
    assert isinstance(found, Curves)
    return found


def _halves(parts: tuple[tuple[Log, np.ndarray], ...], budget: int, coverage: str, seed: int) -> float | None:
    """Covariance over inputs of the differences in AUC of two halves of the samples; None where K is more.

    The halves are independent given the input, so that only what differs between inputs is common to them.
    """
    if any(isinstance(log, CountTable) or log.smallest_n < 2 * budget for log, _ in parts):
        return None
    total = 0.0
    for division in range(DIVISIONS):
        halves = []
        for half in (0, 1):
            base, method = (
                _half_areas(log, rows, budget, coverage, (seed, division), half) for log, rows in parts
            )
            halves.append(method - base)
        total += float(np.cov(halves[0], halves[1])[0, 1]) / DIVISIONS
    return total


def _half_areas(
    log: Log, rows: np.ndarray, budget: int, coverage: str, seed: tuple[int, int], half: int
) -> np.ndarray:
    assert isinstance(log, SampleLog)
    rng = np.random.Generator(np.random.Philox([*seed, len(log.ids)]))
    # Samples beyond n stay behind the others, so that both halves are of samples that are there.
    order = np.argsort(np.where(log.inside, rng.random(log.inside.shape), 2.0), axis=2)
    size = log.smallest_n // 2
    picks = order[:, :, half * size : (half + 1) * size]
    kept = np.take_along_axis(log.kept(coverage), picks[..., None], axis=2)
    part = SampleLog.from_arrays(kept, n=np.minimum(log.n, size), declared=log.declared, ids=log.ids.tolist())
    return auc(_curves(part, budget, "raw"))[rows]


def _effect(spread: float, inputs: int, power: float, level: float) -> float:
    """The least mean difference that so many inputs show."""
    z = statistics.NormalDist().inv_cdf(power)
    return (student_quantile(level, inputs - 1) + z) * spread / math.sqrt(inputs)


def _inputs(spread: float, effect: float, power: float, level: float) -> int | None:
    """The least number of inputs, at least 2, that show a mean difference."""
    low, high = 1, 2
    while _effect(spread, high, power, level) > effect:
        low, high = high, 2 * high
        if high > MOST_INPUTS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _effect(spread, middle, power, level) > effect else (low, middle)
    return high
