"""What k samples are worth: against every k-subset written down, published values, and wrong input."""

import dataclasses

import numpy as np
import pytest
import reference_utility as reference

import coverjax as cj
from coverjax.estimators.utility import UTILITIES, available

SETTINGS = {"tau": 0.6, "patience": 0.7}


def random_runs(rng, runs=6, n=6, labels=3):
    """Runs with ties in scores, empty match sets and clusters of equal ones."""
    return [
        {
            "n": n,
            "matches": (rng.random((n, labels)) < 0.4) & (rng.random((n, 1)) < 0.8),
            "correct": rng.random(n) < 0.5,
            "score": rng.integers(-1, 3, n).astype(float),
        }
        for _ in range(runs)
    ]


def log_of(runs, **options):
    held = {name: np.stack([run[name] for run in runs]) for name in ("matches", "correct", "score")}
    return cj.SampleLog.from_arrays(held.pop("matches"), **held, **options)


def told(name, run, k):
    extra = {"cover_at_tau": [SETTINGS["tau"]], "patience_utility": [SETTINGS["patience"]]}.get(name, [])
    return getattr(reference, name)(run, k, *extra)


@pytest.mark.parametrize("name", UTILITIES)
def test_against_every_subset(rng, name):
    runs = random_runs(rng)
    curves = cj.utility_curves(log_of(runs, declared=[True, True, False]), names=name, **SETTINGS)
    exact = [[told(name, run, k) for k in range(1, 7)] for run in runs]
    np.testing.assert_allclose(curves.utility[name], exact, rtol=1e-12, atol=1e-14)
    some = cj.utility_curves(log_of(runs), budget=[2, 5], names=[name], **SETTINGS)
    np.testing.assert_allclose(some.utility[name], np.array(exact)[:, [1, 4]], rtol=1e-12, atol=1e-14)


def first_samples(name, run, k):
    part = {**run, "n": k} | {field: run[field][:k] for field in ("matches", "correct", "score")}
    if name == "patience_utility":
        return reference.patience_of(part["matches"], part["score"], SETTINGS["patience"])
    return told(name, part, k)


@pytest.mark.parametrize("name", UTILITIES)
def test_ordered_logs_use_the_first_samples(rng, name):
    runs = random_runs(rng)
    curves = cj.utility_curves(log_of(runs, ordered=True), names=name, **SETTINGS)
    exact = [[first_samples(name, run, k) for k in range(1, 7)] for run in runs]
    np.testing.assert_allclose(curves.utility[name], exact, rtol=1e-12, atol=1e-14)


def test_trials_are_averaged_and_short_inputs_leave(rng):
    runs = random_runs(rng, runs=4, n=5)
    pairs = [log_of(runs[:2]), log_of(runs[2:])]
    held = {name: np.stack([getattr(log, name)[:, 0] for log in pairs]) for name in ("matches", "correct")}
    both = cj.SampleLog.from_arrays(held["matches"], n=[[5, 5], [5, 3]], correct=held["correct"])
    curves = cj.utility_curves(both, budget=5, names="pass_at_k")
    assert curves.n_short == 1
    assert np.isnan(curves.utility["pass_at_k"][1]).all()
    exact = [np.mean([reference.pass_at_k(run, k) for run in runs[:2]]) for k in range(1, 6)]
    np.testing.assert_allclose(curves.utility["pass_at_k"][0], exact, rtol=1e-12)


def test_pass_at_k_is_correct_coverage_of_one_label_and_the_chain_of_identities(rng):
    log = log_of(random_runs(rng))
    right = cj.SampleLog.from_arrays(log.correct[:, 0, :, None])
    curves = cj.utility_curves(log, tau=1.0)
    np.testing.assert_allclose(curves.utility["pass_at_k"], cj.estimate(right).coverage, rtol=1e-12)
    np.testing.assert_allclose(curves.utility["cover_at_tau"], curves.utility["pass_all_k"], atol=1e-14)
    least = cj.utility_curves(log, names="cover_at_tau", tau=1e-6)
    np.testing.assert_allclose(least.utility["cover_at_tau"], curves.utility["pass_at_k"], atol=1e-14)
    share = log.correct.mean(axis=(1, 2))
    np.testing.assert_allclose(curves.utility["best_of_k_correct"][:, 0], share, rtol=1e-12)


def test_inputs_without_declared_strategies_have_utilities():
    """Nothing was matched on input 1: leaving it out of pass@k would choose inputs by their outcome."""
    matches = np.array([[[1], [0]], [[0], [0]]])
    log = cj.SampleLog.from_arrays(matches, declared=[[True], [False]], correct=[[1, 0], [0, 0]])
    curves = cj.utility_curves(log)
    assert curves.used.tolist() == [True, False]
    np.testing.assert_allclose(curves.mean().utility["pass_at_k"], [[0.25, 0.5]], rtol=1e-14)
    assert cj.curve_interval(curves, "pass_at_k").units == 2
    assert cj.curve_interval(curves, "coverage").units == 1


def test_intervals_comparisons_and_tables_take_utilities(rng):
    runs = random_runs(rng, runs=8)
    a, b = cj.utility_curves(log_of(runs[:4] * 2)), cj.utility_curves(log_of(runs))
    low, high = cj.interval(a, "best_of_k")
    assert (low < a.mean().utility["best_of_k"][0]).all()
    assert (high > a.mean().utility["best_of_k"][0]).all()
    pair = cj.compare(a, b, quantity="pass_all_k", multipliers=100)
    difference = (a.utility["pass_all_k"] - b.utility["pass_all_k"]).mean(axis=0)
    np.testing.assert_allclose(pair.difference, difference, atol=1e-14)
    assert set(UTILITIES) <= set(a.to_rows()[0])
    with pytest.raises(cj.InputError, match=r"quantity: must be one of coverage, .*pass_at_k.*; got 'best'"):
        cj.interval(a, "best")


def test_methods_and_what_a_log_can_tell(rng):
    runs = random_runs(rng, runs=4)
    log = cj.SampleLog.from_arrays(
        np.stack([run["matches"] for run in runs]), ids=["p", "q"] * 2, method=["a", "a", "b", "b"]
    )
    assert available(log) == ["distinct_k"]
    curves = cj.utility_curves(log)
    assert list(curves) == ["a", "b"]
    assert list(curves["b"].utility) == ["distinct_k"]


@pytest.mark.shared
def test_published_pass_at_k_of_counts(shared_data):
    table = cj.read_log(shared_data / "deepscaler" / "base.jsonl")
    curves = cj.utility_curves(table, names=["pass_at_k", "pass_all_k", "cover_at_tau"], tau=0.5)
    mean = curves.mean().utility["pass_at_k"][0]
    np.testing.assert_allclose(mean[[0, 1, 3, 127]], [0.604105, 0.685306, 0.745636, 0.890566], atol=5e-7)
    c = table.counts[:, 0]
    np.testing.assert_allclose(curves.utility["cover_at_tau"][:, -1], c >= 64)
    np.testing.assert_allclose(curves.utility["pass_all_k"][:, 1], c * (c - 1) / (128 * 127), rtol=1e-12)


@pytest.mark.shared
def test_published_patience_utility_in_the_observed_order(shared_data):
    path = next((shared_data / "noveltybench").glob("*.jsonl"))
    log = cj.read_log(path, ordered=True)
    curves = cj.utility_curves(log, names=["patience_utility", "distinct_k"])
    assert curves.mean().utility["patience_utility"][0, -1] == pytest.approx(2.8658255953362204, rel=1e-12)
    expected = [1, 1.21, 1.34, 1.43, 1.54, 1.58, 1.64, 1.72, 1.76, 1.83]
    np.testing.assert_allclose(curves.mean().utility["distinct_k"][0], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": "best"}, "names: must be 'available' or among pass_at_k, .*; got 'best'"),
        ({"names": "pass_at_k"}, "names: pass_at_k needs a `correct` column; this log has none"),
        ({"names": ["distinct_k", "best_of_k"]}, "names: best_of_k needs a `score` column"),
        ({"tau": 0.0}, "tau: must be a fraction above 0 and at most 1; got 0.0"),
        ({"patience": 1.0}, "patience: must lie strictly between 0 and 1"),
        ({"budget": 3}, "budget: must be at most 2"),
    ],
)
def test_wrong_input(options, message):
    with pytest.raises(cj.InputError, match=message):
        cj.utility_curves(cj.SampleLog.from_arrays([[[1, 0], [0, 1]]]), **options)


def test_counts_tell_what_counts_can():
    table = cj.CountTable.from_arrays([[1, 2]], n=4)
    assert cj.utility_curves(table).utility == {}
    with pytest.raises(
        cj.InputError, match="counts tell pass_at_k, pass_all_k, cover_at_tau, and only of one"
    ):
        cj.utility_curves(table, names="best_of_k")


def test_what_takes_long_is_left_out_unless_asked_for(monkeypatch, rng):
    monkeypatch.setattr("coverjax.estimators.utility.VOTES_UNASKED", 10.0)
    log = log_of(random_runs(rng))
    curves = cj.utility_curves(log)
    assert "majority_at_k" not in curves.utility
    assert "ask for it by name" in curves.provenance["left_out"]["majority_at_k"]
    assert "majority_at_k" in cj.utility_curves(log, names="majority_at_k").utility
    monkeypatch.setattr("coverjax.estimators.utility.VOTES_ASKED", 10.0)
    with pytest.raises(
        cj.InputError, match=r"majority_at_k: counting out the votes takes .*; lower the budget"
    ):
        cj.utility_curves(log, names="majority_at_k")
    wide = cj.SampleLog.from_arrays(np.ones((1, 2, 13), bool), score=[[1.0, 2.0]])
    with pytest.raises(cj.InputError, match=r"patience_utility: .* up to 12 labels; one here has 13"):
        cj.utility_curves(wide, names="patience_utility")


@pytest.mark.shared
def test_scores_that_hold_in_their_order_only_are_not_taken_out_of_it(shared_data):
    """NoveltyBench gives a repeated class the score 0: any other order would score other generations."""
    path = next((shared_data / "noveltybench").glob("*.jsonl"))
    curves = cj.utility_curves(cj.read_log(path))
    assert list(curves.utility) == ["distinct_k"]
    assert "out of their order" in curves.provenance["left_out"]["patience_utility"]
    with pytest.raises(cj.InputError, match="names: patience_utility can't take samples out of their order"):
        cj.utility_curves(cj.read_log(path), names="patience_utility")


def test_counts_of_any_number_of_samples_make_no_samples():
    """10^13 samples of an input, of which nobody holds a flag each."""
    n = 10**13
    table = cj.CountTable.from_arrays([n // 2], n=n, labels=[["correct"]])
    found = cj.utility_curves(dataclasses.replace(table, counts_correct=table.counts), [1, 3])
    assert found.utility["pass_at_k"][0] == pytest.approx([1 / 2, 7 / 8], rel=1e-12)
    assert found.utility["pass_all_k"][0] == pytest.approx([1 / 2, 1 / 8], rel=1e-12)
    assert found.utility["cover_at_tau"][0] == pytest.approx([1 / 2, 1 / 2], rel=1e-12)
