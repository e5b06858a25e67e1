"""Who finds what: chances within K samples by hand, and what nobody finds."""

import numpy as np
import pytest

import coverjax as cj
from coverjax.evaluation.finding import strategy_discoveries

LABELS = [["a", "b", "c"], ["b", "d", "x"]]
DECLARED = np.array([[1, 1, 1], [1, 1, 0]], bool)


def logs():
    base = np.zeros((2, 4, 3), bool)
    base[0, :2, 0] = base[1, 0, 0] = base[1, :, 2] = True
    new = np.zeros((2, 4, 3), bool)
    new[0, 0, 1] = new[0, 3, 0] = True
    options = {"ids": ["p", "q"], "labels": LABELS, "declared": DECLARED}
    return {name: cj.SampleLog.from_arrays(m, **options) for name, m in (("iid", base), ("new", new))}


def test_by_hand():
    found = strategy_discoveries(logs(), 2)
    assert found.methods == ("iid", "new")
    pairs = list(zip(found.inputs.tolist(), found.strategies.tolist(), strict=True))
    assert pairs == [("p", "a"), ("p", "b"), ("p", "c"), ("q", "b"), ("q", "d")]
    expected = [[1 - 1 / 6, 0.5], [0, 0.5], [0, 0], [0.5, 0], [0, 0]]
    np.testing.assert_allclose(found.within, expected, rtol=1e-12, atol=1e-15)
    assert found.matches.tolist() == [[2, 1], [0, 1], [0, 0], [1, 0], [0, 0]]
    assert found.only() == {"iid": 1, "new": 1}
    assert found.nobody() == 2
    row = found.by_strategy()[0]
    assert (row.strategy, row.inputs, row.nobody) == ("b", 2, 0)
    np.testing.assert_allclose(row.expected, [0.5, 0.5], rtol=1e-12)
    assert row.found.tolist() == [1, 1]
    assert [row.strategy for row in found.by_strategy()] == ["b", "a", "c", "d"]


def test_their_sum_is_coverage(rng):
    log = cj.SampleLog.from_arrays(rng.random((5, 2, 7, 4)) < 0.3)
    for part in (log, cj.SampleLog.from_arrays(log.matches, ordered=True)):
        found = strategy_discoveries({"m": part}, 3)
        total = cj.estimate(part, budget=3).pooled().distinct[0, -1]
        assert found.within.sum() == pytest.approx(total, rel=1e-12)
    one = cj.SampleLog.from_arrays(log.matches[:, 0])
    np.testing.assert_array_equal(
        strategy_discoveries({"m": one}, 3).within,
        strategy_discoveries({"m": one.counts()}, 3).within,
    )


def test_inputs_that_a_method_lacks_or_that_are_short():
    parts = logs()
    parts["new"] = cj.SampleLog.from_arrays(
        parts["new"].matches, n=[4, 1], ids=["p", "r"], labels=LABELS, declared=DECLARED
    )
    found = strategy_discoveries(parts, 2)
    pairs = zip(found.inputs, found.strategies, strict=True)
    new = dict(zip(pairs, found.within[:, 1], strict=True))
    assert np.isnan(new["q", "b"])
    assert np.isnan(new["r", "b"])
    assert new["p", "b"] == pytest.approx(0.5)
    row = {row.strategy: row for row in found.by_strategy()}["d"]
    assert np.isnan(row.expected[1])
    with pytest.raises(cj.InputError, match="budget: must be a whole number >= 1; got 0"):
        strategy_discoveries(parts, 0)
