"""What is no log, labels that are latents, and wrong numbers: one line that says what to do."""

import numpy as np
import pytest

import coverjax as cj

FUNCTIONS = [
    cj.estimate,
    lambda log: cj.extrapolate(log, 8),
    cj.chao2,
    cj.utility_curves,
    lambda log: cj.compare_to_baseline(log, "iid"),
    lambda log: cj.compare_to_baseline({"iid": log, "new": log}, "iid"),
    cj.compare_at_equal_coverage,
    lambda log: cj.compare_at_equal_coverage({"iid": log, "new": log}),
    lambda log: cj.plan_comparison(log, log),
    lambda log: cj.strategy_discoveries(log, 2),
    lambda log: cj.strategy_discoveries({"iid": log}, 2),
    lambda log: cj.write_declared(log, "never.csv"),
]

OF_SAMPLES = [
    cj.sample_interval,
    cj.patience_utility,
    lambda log: cj.noisy_coverage(log, 0.1),
    lambda log: cj.corrected_coverage(log, 0.1),
    lambda log: cj.phantom_coverage(log, 0.1),
    cj.fitted_law,
    lambda log: cj.write_log(log, "never.jsonl"),
]
"""Those that counts of samples don't do for."""


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_path_is_no_log(function):
    with pytest.raises(
        cj.InputError,
        match=r"log: must be a SampleLog or a CountTable; got 'log.csv': read_log\(\.\.\.\) reads one",
    ):
        function("log.csv")
    with pytest.raises(cj.InputError, match=r"got \[1, 2\]: SampleLog.from_arrays makes one"):
        function([1, 2])


@pytest.mark.parametrize("function", OF_SAMPLES)
def test_counts_and_paths_hold_no_samples(function):
    with pytest.raises(
        cj.InputError, match=r"log: must be a SampleLog; got 'log.csv': read_log\(\.\.\.\) reads"
    ):
        function("log.csv")
    with pytest.raises(cj.InputError, match="a count table has none: keep the samples"):
        function(cj.SampleLog.from_arrays(MATCHES).counts())


@pytest.mark.parametrize(
    "labels", ["log.csv", None, [1, 2], ["ab", "c"], cj.CountTable.from_arrays([1], n=1)]
)
def test_what_is_no_label_set_has_no_agreement(labels):
    for pair in ((labels, [{"x"}, {"y"}]), ([{"x"}, {"y"}], labels)):
        with pytest.raises(cj.InputError, match="label_agreement: must get two logs, or two sequences"):
            cj.label_agreement(*pair, inputs=["p", "q"])


MATCHES = np.eye(3, dtype=bool)[[[0, 1, 2, 0]]]
CODES = [[0, 1, 2, 0]]


def test_labels_without_names_are_not_taken_for_latents():
    log = cj.SampleLog.from_arrays(MATCHES, latent=CODES)
    assert log.latents == ("z0", "z1", "z2")
    assert cj.estimate(log).coverage.shape == (1, 4)


OF_STRATEGIES = [
    cj.estimate,
    lambda log: cj.extrapolate(log, 8),
    cj.chao2,
    lambda log: cj.compare_at_equal_coverage({"a": log, "b": log}),
    lambda log: cj.compare_to_baseline({"a": log, "b": log}, "a"),
    lambda log: cj.strategy_discoveries({"a": log}, 2),
]
"""What tells of strategies, and so needs some."""


def test_named_labels_that_copy_the_latent_are_refused_unless_someone_labelled():
    names = [["0", "1", "2"]]
    log = cj.SampleLog.from_arrays(MATCHES, latent=CODES, labels=names)
    with pytest.raises(cj.InputError, match=r"only repeat the latent, .* and say in `labeler` who did"):
        cj.estimate(log)
    for labeler in ("human", "rule:v2"):
        told = cj.SampleLog.from_arrays(MATCHES, latent=CODES, labels=names, labeler=labeler)
        assert cj.estimate(told).coverage.shape == (1, 4)
        assert cj.estimate(told.counts()).coverage.shape == (1, 4)
    for labeler in ("latent", "latent:router"):
        told = cj.SampleLog.from_arrays(MATCHES, labels=names, labeler=labeler)
        for part in (told, told.counts()):
            for refuses in OF_STRATEGIES:
                with pytest.raises(cj.InputError, match=r"only repeat the latent, .* in `labeler` who did"):
                    refuses(part)


def test_a_drawn_log_of_a_generator_that_always_obeys(key):
    model = cj.families.confusion(inputs=2, strategies=3, eps=0.0)
    assert cj.estimate(cj.draw_log(key, model, 5)).coverage.shape == (2, 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"quantity": "latent_coverage"},
            "quantity: must be one of coverage, distinct, .*; got 'latent_coverage'",
        ),
        ({"seed": -1}, "seed: must be a whole number >= 0; got -1"),
        ({"replicates": 1}, "replicates: must be a whole number >= 2; got 1"),
        ({"replicates": 2.5}, "replicates: must be a whole number >= 2"),
    ],
)
def test_wrong_numbers_of_the_interval_within_an_input(options, message):
    with pytest.raises(cj.InputError, match=message):
        cj.sample_interval(cj.SampleLog.from_arrays(MATCHES), **options)


def test_comparing_at_other_budgets_names_them():
    log = cj.SampleLog.from_arrays(MATCHES)
    with pytest.raises(
        cj.InputError, match=r"got k = 1\.\.3 and k = 1\.\.4: produce both with the same budget"
    ):
        cj.compare(cj.estimate(log, 3), cj.estimate(log))
    with pytest.raises(cj.InputError, match=r"got 2 budgets from 2 to 4 and k = 1\.\.4"):
        cj.compare(cj.estimate(log, [2, 4]), cj.estimate(log))
