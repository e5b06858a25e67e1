"""`estimate` against brute force over all subsets, full enumeration, and its own symmetries."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
import reference

from coverjax.estimators.rarefaction import estimate
from coverjax.estimators.runs import matched
from coverjax.foundation.checks import InputError
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog
from coverjax.metrics import auc

TOLERANCE = 5e-15
SD_TOLERANCE = 1e-7
"""A variance is a difference: its rounding of 1e-15 is 3e-8 in the deviation where that is 0."""


def random_log(rng: np.random.Generator, kind: int) -> SampleLog:
    """A small log: sets or single labels, empties, strategies matched always or never, unequal n."""
    inputs, samples, labels = rng.integers(1, 4), int(rng.integers(1, 7)), int(rng.integers(1, 5))
    chance = rng.choice([0.0, 0.1, 0.3, 0.6, 1.0], size=(inputs, 1, labels))
    matches = rng.random((inputs, samples, labels)) < chance
    if kind % 3 == 0:
        matches &= np.cumsum(matches, axis=2) == 1
    n = rng.integers(1, samples + 1, size=inputs)
    declared = rng.random((inputs, labels)) < 0.8
    return SampleLog.from_arrays(matches, n=n, declared=declared)


def sets_of(log: SampleLog, row: int, trial: int = 0) -> tuple[list[set[int]], set[int]]:
    run = [set(np.flatnonzero(log.matches[row, trial, j]).tolist()) for j in range(log.n[row, trial])]
    return run, set(np.flatnonzero(log.declared[row]).tolist())


def assert_matches_reference(curves, row: int, run, declared) -> None:
    for column, k in enumerate(curves.budgets.tolist()):
        exact = reference.subset_statistics(run, declared, k)
        any_new, count_new = reference.novelty(run, declared, k)
        wanted = {
            "distinct": exact["distinct"],
            "novelty_any": any_new,
            "novelty_count": count_new,
            "undeclared": reference.undeclared(run, declared, k),
        }
        if declared:
            wanted["coverage"] = exact["distinct"] / len(declared)
            wanted["full_coverage"] = exact["full_coverage"]
        for name, value in wanted.items():
            assert abs(getattr(curves, name)[row, column] - float(value)) < TOLERANCE, (
                name,
                run,
                declared,
                k,
            )
        law = [float(p) for p in exact["count_law"]]
        np.testing.assert_allclose(curves.count_law[row, column, : len(law)], law, atol=TOLERANCE)
        deviation = float(exact["variance"]) ** 0.5
        assert abs(curves.subset_sd.distinct[row, column] - deviation) < SD_TOLERANCE


def test_estimates_equal_brute_force_over_all_subsets(rng):
    for number in range(300):
        log = random_log(rng, number)
        curves = estimate(log, include="all")
        for row in range(log.inputs):
            assert_matches_reference(curves, row, *sets_of(log, row))


def test_estimates_are_unbiased_by_full_enumeration():
    """The expectation over every possible log of 4 samples is the law's own curve, in exact fractions."""
    atoms = [
        (Fraction(3, 10), {0}),
        (Fraction(1, 5), {0, 1}),
        (Fraction(1, 4), {1, 2}),
        (Fraction(1, 4), set()),
    ]
    declared, n = {0, 1, 2}, 4
    for k in (1, 2, 3, 4):
        for name in ("distinct", "full_coverage"):
            mean = reference.expected_over_laws(
                atoms, n, lambda run, k=k, name=name: reference.subset_statistics(run, declared, k)[name]
            )
            direct = reference.expected_over_laws(
                atoms, k, lambda run, k=k, name=name: reference.subset_statistics(run, declared, k)[name]
            )
            assert mean == direct
    # and the package's estimate averages to the same over all 4^4 logs, weighted by their probability
    codes = np.stack(np.meshgrid(*[range(4)] * n, indexing="ij"), axis=-1).reshape(-1, n)
    table = np.array([[s in match for s in range(3)] for _, match in atoms])
    weights = np.prod(np.array([float(p) for p, _ in atoms])[codes], axis=1)
    curves = estimate(SampleLog.from_arrays(table[codes]), include=("full_coverage", "novelty_any"))
    for k in (1, 2, 3, 4):
        for name in ("distinct", "full_coverage"):
            truth = reference.expected_over_laws(
                atoms, k, lambda run, k=k, name=name: reference.subset_statistics(run, declared, k)[name]
            )
            assert weights @ getattr(curves, name)[:, k - 1] == pytest.approx(float(truth), abs=1e-14)


def test_ordered_log_keeps_its_order(rng):
    for _ in range(30):
        log = dataclasses.replace(random_log(rng, 1), ordered=True)
        curves = estimate(log, include="all")
        for row in range(log.inputs):
            if curves.short[row]:
                continue
            run, declared = sets_of(log, row)
            for k in curves.budgets.tolist():
                for name, value in reference.ordered(run, declared, k).items():
                    if name != "full_coverage" or declared:
                        assert getattr(curves, name)[row, k - 1] == value


def test_order_matters_only_where_it_is_declared_to():
    matches = np.array([[[1, 0], [1, 0], [0, 1]]], bool)
    ordered = estimate(SampleLog.from_arrays(matches, ordered=True))
    turned = estimate(SampleLog.from_arrays(matches[:, ::-1], ordered=True))
    assert not np.array_equal(ordered.coverage, turned.coverage)
    free = estimate(SampleLog.from_arrays(matches))
    np.testing.assert_array_equal(free.coverage, estimate(SampleLog.from_arrays(matches[:, ::-1])).coverage)


def test_trials_are_averaged_and_never_mixed(rng):
    matches = rng.random((3, 2, 5, 3)) < 0.3
    both = estimate(SampleLog.from_arrays(matches), include="all")
    one, two = (estimate(SampleLog.from_arrays(matches[:, [t]]), include="all") for t in (0, 1))
    for name in ("coverage", "novelty_any", "novelty_count", "full_coverage", "count_law", "strategy_auc"):
        mean = (getattr(one, name) + getattr(two, name)) / 2
        np.testing.assert_allclose(getattr(both, name), mean, atol=1e-15)
    spread = np.sqrt(one.subset_sd.distinct**2 + two.subset_sd.distinct**2) / 2
    np.testing.assert_allclose(both.subset_sd.distinct, spread, atol=1e-12)


def test_inputs_below_the_budget_leave_all_budgets_and_are_counted():
    matches = np.ones((3, 4, 2), bool)
    log = SampleLog.from_arrays(matches, n=[4, 2, 3])
    assert estimate(log).budgets.tolist() == [1, 2]
    curves = estimate(log, 3)
    assert curves.n_short == 1
    assert np.isnan(curves.coverage[1]).all()
    np.testing.assert_array_equal(curves.coverage[[0, 2]], 1.0)
    assert curves.mean().coverage.tolist() == [[1.0, 1.0, 1.0]]
    with pytest.raises(InputError, match=r"at most 4, the number of samples of some input; .* got 5"):
        estimate(log, 5)


def test_kinds_empty_labels_and_keep_the_budget_spent(rng):
    matches = rng.random((4, 6, 3)) < 0.5
    valid = rng.random((4, 6)) < 0.6
    log = SampleLog.from_arrays(matches, valid=valid)
    emptied = SampleLog.from_arrays(matches & valid[..., None])
    np.testing.assert_array_equal(estimate(log, coverage="valid").coverage, estimate(emptied).coverage)
    assert (estimate(log, coverage="valid").coverage <= estimate(log).coverage).all()
    with pytest.raises(InputError, match="no `correct` column"):
        estimate(log, coverage="correct")


def test_no_declared_strategies_is_nan_and_counted():
    log = SampleLog.from_arrays(np.ones((2, 3, 2), bool), declared=[[1, 1], [0, 0]])
    curves = estimate(log, include="all")
    assert np.isnan(curves.coverage[1]).all()
    assert np.isnan(curves.full_coverage[1]).all()
    assert curves.undeclared[1].tolist() == [2.0, 2.0, 2.0]
    assert curves.provenance["no_strategies"] == 1
    assert curves.mean().coverage.tolist() == [[1.0, 1.0, 1.0]]


def test_edges_have_right_numbers_without_warnings():
    always = estimate(SampleLog.from_arrays(np.ones((1, 5, 3), bool)), include="all")
    assert (always.coverage == 1).all()
    assert (always.full_coverage == 1).all()
    assert always.novelty_any[0].tolist() == [1, 0, 0, 0, 0]
    never = estimate(SampleLog.from_arrays(np.zeros((1, 5, 3), bool)), include="all")
    assert (never.coverage == 0).all()
    assert (never.full_coverage == 0).all()
    assert (never.novelty_any == 0).all()
    assert (never.count_law[..., 0] == 1).all()
    single = estimate(SampleLog.from_arrays([[[1]]]), include="all")
    assert single.coverage.tolist() == [[1.0]]
    assert single.count_law.tolist() == [[[0.0, 1.0]]]


def test_methods_give_a_dict_at_common_budgets(rng):
    matches = rng.random((4, 6, 3)) < 0.5
    log = SampleLog.from_arrays(
        matches, n=[6, 6, 4, 5], method=["a", "a", "b", "b"], ids=["x", "y", "x", "y"]
    )
    curves = estimate(log)
    assert list(curves) == ["a", "b"]
    assert curves["a"].budgets.tolist() == curves["b"].budgets.tolist() == [1, 2, 3, 4]
    alone = estimate(SampleLog.from_arrays(matches[2:], n=[4, 5]), 4)
    np.testing.assert_array_equal(curves["b"].coverage, alone.coverage)


def test_labels_that_repeat_the_latent_are_refused():
    latent = np.array([[0, 1, 1]])
    names = [["0", "1"]]
    log = SampleLog.from_arrays(np.eye(2, dtype=bool)[latent], latent=latent, labels=names)
    with pytest.raises(InputError, match="latent coverage is no strategy coverage"):
        estimate(log)
    free = SampleLog.from_arrays(np.eye(2, dtype=bool)[latent[:, ::-1]], latent=latent, labels=names)
    np.testing.assert_allclose(estimate(free).latent_coverage, [[0.5, 5 / 6, 1.0]], atol=1e-15)


def test_gapped_budgets_agree_with_all_budgets(rng):
    log = SampleLog.from_arrays(rng.random((5, 40, 4)) < 0.1)
    every = estimate(log, include="all")
    some = estimate(log, [1, 3, 17, 40], include="all")
    for name in ("coverage", "novelty_any", "novelty_count", "full_coverage", "count_law"):
        np.testing.assert_allclose(
            getattr(some, name), getattr(every, name)[:, [0, 2, 16, 39]], atol=1e-14, err_msg=name
        )
    np.testing.assert_allclose(auc(some), auc(every), atol=1e-14)


def test_symmetries(rng):
    matches = rng.random((4, 7, 4)) < 0.3
    base = estimate(SampleLog.from_arrays(matches), include="all")
    order = rng.permutation(4)
    strategies = estimate(SampleLog.from_arrays(matches[:, :, order]), include="all")
    inputs = estimate(SampleLog.from_arrays(matches[order], ids=order), include="all")
    samples = estimate(SampleLog.from_arrays(matches[:, rng.permutation(7)]), include="all")
    for name in ("coverage", "novelty_any", "novelty_count", "full_coverage", "count_law"):
        np.testing.assert_allclose(getattr(strategies, name), getattr(base, name), atol=1e-14)
        np.testing.assert_allclose(getattr(samples, name), getattr(base, name), atol=1e-14)
        np.testing.assert_array_equal(getattr(inputs, name), getattr(base, name)[order])
    wider = estimate(SampleLog.from_arrays(np.pad(matches, ((0, 0), (0, 0), (0, 1)))), include="all")
    np.testing.assert_allclose(wider.distinct, base.distinct, atol=1e-15)
    assert (wider.full_coverage == 0).all()


def test_relations_between_the_curves(rng):
    curves = estimate(SampleLog.from_arrays(rng.random((6, 12, 5)) < 0.25), include="all")
    numbers = np.arange(6)
    np.testing.assert_allclose(curves.count_law @ numbers, curves.distinct, atol=1e-13)
    np.testing.assert_allclose(curves.count_law.sum(axis=2), 1.0, atol=1e-13)
    np.testing.assert_allclose(np.cumsum(curves.novelty_count, axis=1), curves.distinct, atol=1e-13)
    np.testing.assert_allclose(
        np.nanmean(curves.strategy_auc, axis=1), curves.coverage.mean(axis=1), atol=1e-13
    )
    assert (np.diff(curves.coverage, axis=1) >= -1e-15).all()
    assert (np.diff(curves.coverage, n=2, axis=1) <= 1e-13).all()
    assert (curves.full_coverage <= curves.coverage + 1e-14).all()
    assert (curves.subset_sd.distinct[:, -1] == 0).all()
    second = (curves.count_law @ numbers**2) - curves.distinct**2
    np.testing.assert_allclose(curves.subset_sd.distinct, np.sqrt(np.clip(second, 0, None)), atol=1e-6)


@pytest.mark.parametrize(
    ("n", "c", "most"), [(10**9, 1, 1), (10**9, 1, 10), (10**6, 3, 400), (10**6, 700, 400)]
)
def test_rare_strategies_among_many_samples_keep_their_digits(n, c, most):
    table = CountTable.from_arrays([[c]], n)
    curves = estimate(table, [most])
    missed, total = Fraction(1), Fraction(0)
    for k in range(1, most + 1):
        missed *= Fraction(n - c - k + 1, n - k + 1)
        total += 1 - missed
    assert curves.coverage[0, 0] == pytest.approx(float(1 - missed), rel=1e-13)
    assert curves.strategy_auc[0, 0] == pytest.approx(float(total / most), rel=1e-13)


def test_a_log_whose_every_input_is_short_says_so_and_gives_nothing():
    log = SampleLog.from_arrays(np.ones((1, 2, 5, 2), bool), n=[[5, 3]])
    curves = estimate(log, 5, include="all")
    assert curves.n_short == 1
    assert np.isnan(curves.coverage).all()
    assert np.isnan(curves.mean().coverage).all()


def test_a_method_below_the_budget_is_short_and_no_error():
    matches = np.ones((2, 5, 2), bool)
    log = SampleLog.from_arrays(matches, n=[5, 3], method=["a", "b"], ids=["x", "x"])
    curves = estimate(log, 5)
    assert (curves["a"].n_short, curves["b"].n_short) == (0, 1)


def test_count_tables_tell_with_one_strategy_what_samples_tell():
    matches = np.array([[[1], [0], [1], [1]], [[0], [0], [0], [1]]], bool)
    samples = estimate(SampleLog.from_arrays(matches), include="all")
    table = estimate(CountTable.from_arrays([3, 1], 4), include="all")
    for name in ("coverage", "novelty_any", "novelty_count", "full_coverage", "count_law", "strategy_auc"):
        np.testing.assert_allclose(getattr(table, name), getattr(samples, name), atol=1e-15)
    np.testing.assert_allclose(table.subset_sd.distinct, samples.subset_sd.distinct, atol=1e-15)
    assert estimate(CountTable.from_arrays([3, 1], 4), include=("novelty_any",)).novelty_any is not None


def test_columns_without_a_name_are_no_strategies():
    matches = np.array([[[1, 0], [0, 1]], [[1, 0], [1, 0]]], bool)
    log = SampleLog.from_arrays(matches, labels=[["a", "b"], ["c"]])
    assert log.declared_count.tolist() == [2, 1]
    with pytest.raises(InputError, match="labels: input 1 matches a column that has no name"):
        SampleLog.from_arrays(matches[::-1], labels=[["a", "b"], ["c"]])
    with pytest.raises(InputError, match="labels: must be distinct"):
        SampleLog.from_arrays(matches, labels=[["a", "a"], ["c"]])


def test_logs_without_labels_or_latents_work():
    empty = estimate(SampleLog.from_arrays(np.zeros((1, 3, 0), bool)))
    assert np.isnan(empty.coverage).all()
    log = SampleLog.from_arrays(np.ones((1, 2, 1), bool), latent=[[-1, -1]])
    assert (estimate(log).coverage == 1.0).all()


@pytest.mark.parametrize("samples", [0, 1, 2, 3, 7, 64, 127, 255, 256, 1_000, 3_001])
def test_matches_are_counted_by_folding(rng, samples):
    full = np.ones((2, samples, 3), bool)
    mixed = rng.random((2, samples, 3)) < 0.7
    for matches in (full, mixed, mixed[:, ::-1]):
        np.testing.assert_array_equal(matched(matches), matches.sum(axis=1))


@pytest.mark.parametrize("budget", [None, 10**13])
def test_more_budgets_than_memory_are_refused_before_they_are_made(budget):
    table = CountTable.from_arrays([1, 2], n=10**13)
    with pytest.raises(
        InputError, match=r"\(2 inputs x 10,000,000,000,000 budgets.*: give some budgets, as in"
    ):
        estimate(table, budget)
    # C(1) = c / n, of 1.5 matches on average.
    assert estimate(table, [1, 100], include=()).mean().coverage[0, 0] == pytest.approx(1.5e-13)
