"""Planned sizes: the power that simulated studies of that size really have."""

import numpy as np
import pytest

import coverjax as cj
from coverjax.evaluation.planning import _half_areas
from coverjax.evaluation.sampling_noise import AreaNoise
from coverjax.inference.student import student_quantile

STRATEGIES = 4


def study(rng, inputs, samples, lift):
    """A baseline and a method that moves a share `lift` of each input's law to the uniform one."""
    law = rng.dirichlet(np.full(STRATEGIES, 0.4), size=inputs)
    other = (1.0 - lift) * law + lift / STRATEGIES
    logs = []
    for probs in (law, other):
        codes = (rng.random((inputs, samples, 1)) > np.cumsum(probs, axis=1)[:, None, :]).sum(axis=2)
        logs.append(cj.SampleLog.from_arrays(np.eye(STRATEGIES + 1, dtype=bool)[codes][..., :STRATEGIES]))
    return logs


def differences(logs, budget=8):
    base, other = (cj.auc(cj.estimate(log, budget, include=())) for log in logs)
    return other - base


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(("budget", "factor"), [(8, 1), (4, 4)])
def test_the_planned_number_of_inputs_has_the_planned_power(rng, budget, factor):
    """400 studies of the planned size: power 0.8 within 5 standard errors of the share (0.1)."""
    pilot = study(rng, 1_500, 8, lift=0.1)
    truth = differences(study(rng, 15_000, 8, lift=0.1), budget).mean()
    room = cj.plan_comparison(*pilot, gain=0.1, samples=[8], budget=budget).room
    plan = cj.plan_comparison(*pilot, gain=truth / room, samples=[8 * factor], budget=budget)
    assert plan.modelled is (budget == 8)
    (row,) = plan.rows
    values = differences(study(rng, 400 * row.inputs, 8 * factor, lift=0.1), budget).reshape(400, -1)
    t = values.mean(axis=1) / (values.std(axis=1, ddof=1) / np.sqrt(row.inputs))
    hits = (np.abs(t) > student_quantile(0.95, row.inputs - 1)).mean()
    assert abs(hits - 0.8) < 5 * np.sqrt(0.8 * 0.2 / 400)


@pytest.mark.slow
@pytest.mark.statistical
def test_where_the_noise_is_modelled_the_plan_is_right_within_a_factor(rng):
    """Four times the samples, a pilot at K = n; three seeds gave 1.05 to 1.37 times the true spread."""
    plan = cj.plan_comparison(*study(rng, 1_500, 8, lift=0.1), samples=[32])
    assert plan.modelled
    spread = differences(study(rng, 8_000, 32, lift=0.1)).std()
    assert 0.7 < plan.rows[0].spread / spread < 1.5


def test_more_of_anything_needs_fewer_inputs(rng):
    logs = study(rng, 60, 8, lift=0.3)
    plan = cj.plan_comparison(*logs, gain=0.2)
    assert [row.samples for row in plan.rows] == [8, 16, 32]
    needed = [row.inputs for row in plan.rows]
    assert needed == sorted(needed, reverse=True)
    assert (plan.inputs, plan.samples, plan.budget) == (60, 8, 8)
    assert cj.plan_comparison(*logs, gain=0.1).rows[0].inputs > 3 * needed[0]
    assert cj.plan_comparison(*logs, gain=0.2, power=0.95).rows[0].inputs > needed[0]
    easy = cj.plan_comparison(*logs, gain=plan.detectable)
    assert easy.rows[0].inputs == pytest.approx(60, abs=8)
    assert cj.plan_comparison(*logs, gain=1e-9).rows[0].inputs is None


def test_halves_of_unequal_samples_hold_no_padding():
    n = np.array([20, 8, 8, 8, 8, 8])
    log = cj.SampleLog.from_arrays((np.arange(20) < n[:, None])[..., None], n=n)
    for half in (0, 1):
        assert _half_areas(log, np.arange(6), 4, "raw", (0, 0), half).tolist() == [1.0] * 6


def test_the_same_seed_gives_the_same_plan(rng):
    logs = study(rng, 20, 8, lift=0.3)
    assert cj.plan_comparison(*logs, seed=4) == cj.plan_comparison(*logs, seed=4)


def test_a_number_of_samples_is_simulated_once(rng, monkeypatch):
    asked = []
    simulated = AreaNoise._simulated
    monkeypatch.setattr(
        AreaNoise, "_simulated", lambda self, one, n: asked.append((one.name, n)) or simulated(self, one, n)
    )
    log = cj.SampleLog.from_arrays(rng.random((4, 3, 8, 2)) < 0.4, n=[[8, 8, 5]] * 4)
    noise = AreaNoise.of(log, np.arange(4), 5, "raw", 0)
    own = noise.own()
    assert sorted(asked) == [(i, n) for i in range(4) for n in (5, 8)]
    parts = [noise.at(n) for n in (8, 8, 5)]
    assert len(asked) == 8
    assert own == pytest.approx(sum(parts) / 9)
    again = AreaNoise.of(log, np.arange(4), 5, "raw", 0)
    assert (again.at(5), again.own()) == (parts[2], own)


def test_counts_of_one_strategy(rng):
    tables = [cj.CountTable.from_arrays(rng.integers(0, 9, 30), n=8) for _ in range(2)]
    assert cj.plan_comparison(*tables, budget=4).rows[0].inputs > 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gain": 0.0}, "gain: must be a gain to see, above 0; got 0.0"),
        ({"power": 1.0}, "power: must lie strictly between 0 and 1"),
        ({"level": 95}, "level: must lie strictly between 0 and 1"),
        ({"samples": [3]}, "samples: must be at least the budget 8; got 3"),
        ({"budget": 9}, "budget: must be at most 8"),
    ],
)
def test_wrong_numbers(rng, options, message):
    with pytest.raises(cj.InputError, match=message):
        cj.plan_comparison(*study(rng, 5, 8, lift=0.3), **options)


def test_wrong_logs(rng):
    logs = study(rng, 5, 8, lift=0.3)
    with pytest.raises(cj.InputError, match="this log is ordered"):
        cj.plan_comparison(cj.SampleLog.from_arrays(logs[0].matches, ordered=True), logs[1])
    with pytest.raises(cj.InputError, match="counts of several strategies"):
        cj.plan_comparison(logs[0].counts(), logs[1])
    with pytest.raises(cj.InputError, match="needs at least 3 inputs that both methods have; got 2"):
        cj.plan_comparison(logs[0].take([0, 1]), logs[1])
    full = cj.SampleLog.from_arrays(np.ones((4, 8, 2), bool))
    with pytest.raises(cj.InputError, match="the oracle is not better than the baseline"):
        cj.plan_comparison(full, full)
    with pytest.raises(cj.InputError, match=r"one method at a time; split the log with by_method\(\)"):
        cj.plan_comparison(cj.SampleLog.from_arrays([[[1]]], method=["a"]), logs[1])
