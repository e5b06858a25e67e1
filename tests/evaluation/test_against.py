"""Methods against a baseline: the law that drew the log, the parts the library offers, wrong input."""

import numpy as np
import pytest

import coverjax as cj
from coverjax.evaluation.against import oracle_curves, ratio_of_means

REPLICAS, SAMPLES = 64, 12


def methods_log(matches, names, **options):
    """A log of [methods][inputs, samples, labels], the inputs numbered."""
    inputs = len(matches[0])
    return cj.SampleLog.from_arrays(
        np.concatenate(matches),
        ids=[*range(inputs)] * len(names),
        method=[name for name in names for _ in range(inputs)],
        **options,
    )


def random_log(rng, shares=(0.15, 0.3, 0.15), inputs=12, samples=8, **options):
    names = ["iid", "new", "other"][: len(shares)]
    return methods_log([rng.random((inputs, samples, 4)) < share for share in shares], names, **options)


def z_scores(log, truth_base, truth, truth_oracle, laws):
    """(pooled gain of each law's replicas - gain of the law) / its standard error, [laws]."""
    curves = cj.estimate(log, include=())
    report = cj.gain_report(curves["new"], curves["iid"], oracle_curves(curves["iid"]))
    scores = []
    for law in range(laws):
        rows = slice(law * REPLICAS, (law + 1) * REPLICAS)
        below = report.auc_iid[rows]
        found = ratio_of_means(report.auc[rows] - below, report.auc_oracle[rows] - below, 0.95)
        exact = (truth[law] - truth_base[law]) / (truth_oracle[law] - truth_base[law])
        scores.append((found.mean[0] - exact) / found.stderr[0])
    return np.array(scores)


def drawn(rng, probs):
    """Samples of each law, REPLICAS inputs each: [laws x replicas, SAMPLES, strategies]."""
    steps = np.cumsum(np.repeat(probs, REPLICAS, axis=0), axis=1)
    codes = (rng.random((len(steps), SAMPLES, 1)) > steps[:, None, :]).sum(axis=2)
    return np.eye(probs.shape[1] + 1, dtype=bool)[codes][..., : probs.shape[1]]


@pytest.mark.slow
@pytest.mark.statistical
def test_gain_of_a_log_is_that_of_the_law_that_drew_it(rng):
    """150 pairs of laws drawn independently, 150 models by no-repeat latents in order: |z| < 5 (2e-4)."""
    width = 5
    sizes = rng.integers(2, width + 1, 150)
    declared = np.arange(width) < sizes[:, None]

    def laws(concentration):
        weights = rng.gamma(concentration, size=(150, width)) * declared
        return weights / weights.sum(axis=1, keepdims=True) * rng.uniform(0.6, 1.0, (150, 1))

    p, q = laws(0.5), laws(1.5)
    means = [
        cj.auc(cj.exact(cj.IID(), cj.OutcomeLaw.from_probs(v, declared=declared), SAMPLES)) for v in (p, q)
    ]
    every = np.concatenate([np.repeat(declared, REPLICAS, axis=0)] * 2)
    log = methods_log([drawn(rng, p), drawn(rng, q)], ["iid", "new"], declared=every)
    k = np.arange(1, SAMPLES + 1)
    best = (np.minimum(k, sizes[:, None]) / sizes[:, None]).mean(axis=1)
    independent = z_scores(log, *means, best, 150)

    router = rng.dirichlet(np.ones(4), size=150)
    generator = 0.9 * rng.dirichlet(np.full(4, 0.3), size=(150, 4))
    model = cj.RouterGenerator(router, generator)
    truth = [cj.auc(cj.exact(policy, model, SAMPLES)) for policy in (cj.IID(), cj.LatentNoRepeat())]
    rows = np.arange(150 * REPLICAS) // REPLICAS
    passes = rng.permuted(np.tile(np.arange(4), (len(rows), SAMPLES // 4, 1)), axis=2).reshape(len(rows), -1)
    steps = np.cumsum(generator, axis=2)[rows[:, None], passes]
    codes = (rng.random((len(rows), SAMPLES, 1)) > steps).sum(axis=2)
    looped = np.eye(5, dtype=bool)[codes][..., :4]
    base = drawn(rng, np.einsum("xz,xzs->xs", router, generator))
    ordered = methods_log([base, looped], ["iid", "new"], ordered=True)
    best = np.full(150, (np.minimum(k, 4) / 4).mean())
    adaptive = z_scores(ordered, *truth, best, 150)

    scores = np.concatenate([independent, adaptive])
    assert len(scores) == 300
    assert np.abs(scores).max() < 5
    assert 0.8 < scores.std() < 1.2
    assert abs(scores.mean()) < 5 / np.sqrt(300)


def test_numbers_are_those_of_the_library(rng):
    log = random_log(rng)
    found = cj.compare_to_baseline(log, "iid", seed=3, level=0.9)
    curves = cj.estimate(log)
    oracle = oracle_curves(curves["iid"])
    assert list(found.methods) == ["new", "other"]
    new = found.methods["new"]
    report = cj.gain_report(curves["new"], curves["iid"], oracle)
    np.testing.assert_array_equal(new.gain.values, report.values)
    assert new.pooled.mean[0] == pytest.approx(report.pooled, rel=1e-12)
    assert new.pooled.stderr[0] == pytest.approx(report.stderr, rel=0.2)
    assert new.auc.mean[0] == pytest.approx(cj.auc(curves["new"]).mean())
    np.testing.assert_array_equal(
        new.comparison.band, cj.compare(curves["new"], curves["iid"], 0.9, seed=3).band
    )
    np.testing.assert_allclose(new.difference.mean, (cj.auc(curves["new"]) - cj.auc(curves["iid"])).mean())
    assert found.base_auc.mean[0] == pytest.approx(cj.auc(curves["iid"]).mean())
    assert found.oracle_auc.mean[0] == pytest.approx((np.minimum(np.arange(1, 9), 4) / 4).mean())


def test_p_values_are_corrected_for_all_methods(rng):
    found = cj.compare_to_baseline(random_log(rng), "iid").methods
    assert found["new"].p_value < 0.01
    assert found["new"].p_holm == pytest.approx(2 * found["new"].p_value)
    assert found["other"].p_holm == pytest.approx(found["other"].p_value)


def test_the_parts_of_a_gain_sum_to_it(rng):
    log = random_log(rng)
    split = cj.compare_to_baseline(log, "iid").methods["new"].split
    assert split.budget == 4
    assert split.common.mean[0] + split.rare.mean[0] == pytest.approx(split.whole.mean[0], rel=1e-12)
    half = cj.compare_to_baseline(log, "iid", budget=4).methods["new"]
    assert split.whole.mean[0] == pytest.approx(half.pooled.mean[0], rel=1e-10)
    assert 0.0 < split.share_rare < 1.0


def test_why_there_is_no_split(rng):
    log = random_log(rng, ordered=True)
    found = cj.compare_to_baseline(log, "iid").methods["new"]
    assert found.split is None
    assert "the input 0 has one trial" in found.no_split


def test_the_oracle_at_any_budgets(rng):
    curves = cj.estimate(cj.SampleLog.from_arrays(rng.random((3, 9, 3)) < 0.4), [2, 5, 9])
    every = np.minimum(np.arange(1, 10), 3) / 3
    oracle = oracle_curves(curves)
    np.testing.assert_allclose(oracle.coverage, [every[[1, 4, 8]]] * 3)
    np.testing.assert_allclose(cj.auc(oracle), every.mean(), rtol=1e-14)


def test_where_one_draw_matches_several_the_oracle_may_leave_no_room():
    """Every sample matches both strategies: one strategy a draw is worse than that."""
    log = methods_log([np.ones((3, 2, 2), bool), np.ones((3, 2, 2), bool)], ["iid", "new"])
    found = cj.compare_to_baseline(log, "iid").methods["new"]
    assert np.isnan(found.pooled.mean[0])
    assert set(found.gain.reasons) == {"the oracle is not better than iid (AUC_oracle <= AUC_iid)"}


def test_logs_by_name_and_counts(rng):
    log = random_log(rng)
    whole = cj.compare_to_baseline(log, "iid").methods["new"]
    parts = cj.compare_to_baseline({name: part.counts() for name, part in log.by_method().items()}, "iid")
    assert parts.methods["new"].pooled.mean[0] == pytest.approx(whole.pooled.mean[0], rel=1e-12)


@pytest.mark.parametrize(
    ("baseline", "options", "message"),
    [
        ("base", {}, "baseline: must be a method of the log; got 'base'; it has iid, new"),
        ("iid", {"level": 2}, "level: must lie strictly between 0 and 1"),
        ("iid", {"rare_below": -1.0}, "rare_below: must be a positive number"),
        ("iid", {"coverage": "valid"}, "has no `valid` column"),
        ("iid", {"budget": 99}, "budget: must be at most 8"),
    ],
)
def test_wrong_input(rng, baseline, options, message):
    with pytest.raises(cj.InputError, match=message):
        cj.compare_to_baseline(random_log(rng, (0.2, 0.3)), baseline, **options)


def test_a_baseline_needs_company(rng):
    with pytest.raises(cj.InputError, match="needs another method to compare; the log has 'iid' only"):
        cj.compare_to_baseline(random_log(rng, (0.2,)), "iid")
    one = cj.SampleLog.from_arrays([[[1]]])
    with pytest.raises(
        cj.InputError, match="baseline: methods are compared, and the log has no `method` column"
    ):
        cj.compare_to_baseline({"": one}, "iid")
    with pytest.raises(cj.InputError, match="this log has no method column"):
        cj.compare_to_baseline(cj.SampleLog.from_arrays([[[1]]]), "iid")


def test_other_strategies_are_not_split(rng):
    matches = rng.random((3, 4, 2)) < 0.4
    one = cj.SampleLog.from_arrays(matches, labels=[["a", "b"]] * 3)
    two = cj.SampleLog.from_arrays(matches, labels=[["b", "a"]] * 3)
    found = cj.compare_to_baseline({"iid": one, "new": two}, "iid").methods["new"]
    assert "input 0 declares other strategies in the baseline" in found.no_split


def test_where_the_room_can_not_be_told_from_none_there_is_no_gain(rng):
    """At K = 1 the oracle finds one strategy and so does nearly every draw: what is left is noise."""
    log = methods_log([rng.random((12, 2, 4)) < share for share in (0.25, 0.25)], ["iid", "new"])
    found = cj.compare_to_baseline(log, "iid", budget=1).methods["new"]
    assert np.isnan(found.pooled.mean[0])
    assert "can't be told from none" in found.pooled.warnings[0]
    assert np.isnan(found.split.whole.mean[0])
