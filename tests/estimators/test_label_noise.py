"""What wrong labels do to C(k): against every way in which labels can go wrong."""

import itertools

import numpy as np
import pytest

import coverjax as cj

FP, FN = {"a": 0.1, "b": 0.02}, {"a": 0.25, "b": 0.0}


def every_labelling(matches, fp, fn):
    """Yield all noisy versions of [samples, strategies] with their probabilities."""
    chances = np.where(matches, 1.0 - np.array(list(fn.values())), np.array(list(fp.values())))
    for flags in itertools.product([False, True], repeat=matches.size):
        noisy = np.array(flags).reshape(matches.shape)
        yield noisy, np.where(noisy, chances, 1.0 - chances).prod()


def log_of(matches):
    return cj.SampleLog.from_arrays(matches[None], labels=[["a", "b"]])


MATCHES = np.array([[1, 0], [1, 1], [0, 0], [0, 0]], bool)


def test_the_noisy_curve_is_the_mean_over_every_labelling():
    exact = sum(
        chance * cj.estimate(log_of(noisy)).coverage[0] for noisy, chance in every_labelling(MATCHES, FP, FN)
    )
    np.testing.assert_allclose(cj.noisy_coverage(log_of(MATCHES), FP, FN).coverage[0], exact, rtol=1e-12)


def test_the_correction_is_unbiased():
    mean = sum(
        chance * cj.corrected_coverage(log_of(noisy), FP, FN).coverage[0]
        for noisy, chance in every_labelling(MATCHES, FP, FN)
    )
    np.testing.assert_allclose(mean, cj.estimate(log_of(MATCHES)).coverage[0], rtol=1e-11)


def test_without_errors_nothing_changes(rng):
    log = cj.SampleLog.from_arrays(rng.random((3, 2, 6, 4)) < 0.3, declared=[True, True, True, False])
    for function in (cj.noisy_coverage, cj.corrected_coverage):
        np.testing.assert_allclose(function(log).coverage, cj.estimate(log).coverage, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(cj.phantom_coverage(log, 0.0).coverage, 0.0)


def test_phantoms_are_bounded():
    """A sampler that never finds anything, labelled with false positives: all its coverage is phantoms."""
    nothing = np.zeros((4, 2), bool)
    for k in range(1, 5):
        share = sum(
            chance * cj.estimate(log_of(noisy)).coverage[0, k - 1]
            for noisy, chance in every_labelling(nothing, FP, FN)
        )
        assert share == pytest.approx(np.mean([1 - (1 - fp) ** k for fp in FP.values()]), rel=1e-12)
    full = np.ones((4, 2), bool)
    found = cj.phantom_coverage(log_of(full), FP).coverage[0]
    np.testing.assert_allclose(
        found, [np.mean([1 - (1 - fp) ** k for fp in FP.values()]) for k in range(1, 5)]
    )
    bound = cj.phantom_coverage(log_of(MATCHES), 0.9).coverage
    assert (bound <= cj.estimate(log_of(MATCHES)).coverage * (1.0 + 1e-14)).all()


def test_methods_short_inputs_and_trials(rng):
    log = cj.SampleLog.from_arrays(
        rng.random((4, 2, 5, 2)) < 0.4,
        n=[[5, 5], [5, 5], [5, 3], [5, 5]],
        ids=list("pqpq"),
        method=list("aabb"),
    )
    curves = cj.noisy_coverage(log, 0.1, 0.1, budget=5)
    assert list(curves) == ["a", "b"]
    assert curves["b"].n_short == 1
    assert np.isnan(curves["b"].coverage[0]).all()
    one = cj.SampleLog.from_arrays(log.matches[0][:, :, :], ids=["first", "second"])
    two = cj.noisy_coverage(one, 0.1, 0.1)
    np.testing.assert_allclose(curves["a"].coverage[0], two.coverage.mean(axis=0), rtol=1e-12)


def test_wild_corrections_are_said():
    log = cj.SampleLog.from_arrays(np.zeros((1, 64, 1), bool))
    assert cj.corrected_coverage(log, 0.01, 0.0).provenance["warnings"] == []
    told = cj.corrected_coverage(log, 0.1, 0.0).provenance["warnings"]
    assert told[0].startswith("corrected coverage beyond k = 21 is a small difference of terms up to 8e+02")


@pytest.mark.parametrize(
    ("fp", "fn", "message"),
    [
        (1.5, 0.0, "false_positive: must be probabilities; got 1.5"),
        (0.0, -0.1, "false_negative: must be probabilities; got -0.1"),
        (float("nan"), 0.0, "false_positive: must be probabilities; got nan"),
        ({"a": 0.1}, 0.0, "false_positive: must give a rate for every strategy; b has none"),
        (0.5, 0.5, r"false_positive \+ false_negative: must be below 1"),
    ],
)
def test_wrong_rates(fp, fn, message):
    with pytest.raises(cj.InputError, match=message):
        cj.corrected_coverage(log_of(MATCHES), fp, fn)


def test_ordered_logs_are_refused():
    log = cj.SampleLog.from_arrays(MATCHES[None], ordered=True)
    with pytest.raises(cj.InputError, match="this log is ordered"):
        cj.noisy_coverage(log, 0.1)
