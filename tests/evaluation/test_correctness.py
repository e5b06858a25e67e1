"""What covering more buys: gains side by side, and their correlation by hand."""

import numpy as np
import pytest

import coverjax as cj
from coverjax.evaluation.correctness import what_coverage_buys


def curves(rng, inputs=10, **options):
    log = cj.SampleLog.from_arrays(
        rng.random((inputs, 6, 3)) < 0.3,
        correct=rng.random((inputs, 6)) < 0.4,
        ids=[*range(inputs)],
        **options,
    )
    return cj.utility_curves(log)


def test_by_hand(rng):
    a, b = curves(rng), curves(rng)
    found = what_coverage_buys(a, b)
    x = (a.coverage - b.coverage)[:, -1]
    y = (a.utility["pass_at_k"] - b.utility["pass_at_k"])[:, -1]
    assert found.coverage.mean[0] == pytest.approx(x.mean())
    assert found.utility.mean[0] == pytest.approx(y.mean())
    assert found.correlation.mean[0] == pytest.approx(np.corrcoef(x, y)[0, 1], rel=1e-10)
    assert found.inputs == 10


def test_without_spread_there_is_no_correlation(rng):
    a = curves(rng)
    assert np.isnan(what_coverage_buys(a, a).correlation.mean[0])


def test_wrong_input(rng):
    a, b = curves(rng), curves(rng, 3)
    with pytest.raises(cj.InputError, match="best: must be a utility of both; there is pass_at_k"):
        what_coverage_buys(a, b, "best")
    log = cj.SampleLog.from_arrays([[[1], [0]]], correct=[[1, 0]])
    with pytest.raises(cj.InputError, match="both must end at the same one; got 6 and 2"):
        what_coverage_buys(a, cj.utility_curves(log))
    log = cj.SampleLog.from_arrays(np.ones((1, 6, 1), bool), correct=np.ones((1, 6), bool), ids=["z"])
    with pytest.raises(cj.InputError, match="no input is in use in both"):
        what_coverage_buys(a, cj.utility_curves(log))
