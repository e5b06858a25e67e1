"""Resampling within an input: its spread against the known one, its streams, its refusals."""

import numpy as np
import pytest

from coverjax.estimators.resampling import sample_interval
from coverjax.foundation.checks import InputError
from coverjax.logs.log import SampleLog


def test_one_label_at_k_1_has_the_binomial_spread(rng):
    """C(1) of one label is c / n, whose resampling deviation is sqrt(p (1 - p) / n)."""
    matches = np.zeros((1, 200, 1), bool)
    matches[0, :60] = True
    found = sample_interval(SampleLog.from_arrays(matches), [1], replicates=4_000)
    spread = np.sqrt(0.3 * 0.7 / 200)
    # The deviation of 4,000 resamples has itself a relative error of 1 / sqrt(8000).
    assert abs(found.stderr[0, 0] / spread - 1) < 5 / np.sqrt(8_000)
    assert found.low[0, 0] < 0.3 < found.high[0, 0]
    assert found.warnings == ()


def test_streams_belong_to_inputs(rng):
    matches = rng.random((3, 20, 4)) < 0.3
    both = sample_interval(SampleLog.from_arrays(matches, ids=["a", "b", "c"]), [1, 10], replicates=50)
    turned = sample_interval(
        SampleLog.from_arrays(matches[::-1], ids=["c", "b", "a"]), [1, 10], replicates=50
    )
    np.testing.assert_array_equal(both.low, turned.low[::-1])
    again = sample_interval(
        SampleLog.from_arrays(matches, ids=["a", "b", "c"]), [1, 10], replicates=50, seed=1
    )
    assert not np.array_equal(both.low, again.low)
    assert "fewer than 32 samples" in both.warnings[0]


def test_rare_strategies_warn_whatever_the_samples(rng):
    """Three of eight strategies seen once at most: what was not seen is in no resample."""
    matches = np.zeros((1, 64, 8), bool)
    matches[0, :, :5] = rng.random((64, 5)) < 0.5
    matches[0, 3, 5] = True
    found = sample_interval(SampleLog.from_arrays(matches), [4], replicates=20)
    assert found.warnings == (
        "within-input intervals: 1 input where at least a quarter of the strategies were seen once or never; "
        "nominal 95 % covered 53-78 % in simulations of such (docs/intervals.md)",
    )
    assert sample_interval(SampleLog.from_arrays(matches[..., :5]), [4], replicates=20).warnings == ()


def test_no_spread_is_no_interval():
    found = sample_interval(SampleLog.from_arrays(np.ones((1, 40, 2), bool)), [1, 5], replicates=20)
    assert np.isnan(found.low).all()


@pytest.mark.parametrize(
    "log",
    [
        SampleLog.from_arrays(np.ones((1, 4, 1), bool), ordered=True),
        SampleLog.from_arrays(np.ones((1, 2, 4, 1), bool)),
        SampleLog.from_arrays(np.ones((1, 4, 1), bool), method=["a"]),
    ],
    ids=["ordered", "trials", "methods"],
)
def test_what_cannot_be_drawn_again_is_refused(log):
    with pytest.raises(InputError, match="drawn again only where they are exchangeable"):
        sample_interval(log)
