"""Patience utility by hand."""

import numpy as np
import pytest

from coverjax.estimators.utility import patience_utility
from coverjax.foundation.checks import InputError
from coverjax.logs.log import SampleLog


def test_patience_utility_by_hand():
    matches = np.array([[[1, 0], [1, 0], [0, 1]], [[0, 0], [1, 1], [0, 1]]], bool)
    log = SampleLog.from_arrays(matches, score=[[2.0, 9.0, 4.0], [5.0, 1.0, 7.0]])
    scale = 0.5 / (1 - 0.5**3)
    want = [scale * (2.0 + 0.25 * 4.0), scale * 0.5 * 1.0]
    np.testing.assert_allclose(patience_utility(log, 0.5), want, rtol=1e-15)


def test_inputs_without_samples_are_nan_and_trials_are_averaged():
    matches = np.ones((2, 2, 1, 1), bool)
    log = SampleLog.from_arrays(matches, n=[[1, 1], [0, 0]], score=[[[1.0], [3.0]], [[0.0], [0.0]]])
    found = patience_utility(log)
    assert found[0] == pytest.approx(2.0)
    assert np.isnan(found[1])


def test_a_log_without_scores_is_refused():
    with pytest.raises(InputError, match="needs a `score` column"):
        patience_utility(SampleLog.from_arrays(np.ones((1, 1, 1), bool)))
