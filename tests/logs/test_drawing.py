"""Logs drawn from laws: their frequencies, their streams, and the law that fits them."""

import dataclasses

import jax
import numpy as np
import pytest

import coverjax as cj
from coverjax.closed_form import iid, tiles

SETS = np.array([[True, True, False], [False, True, True], [False, False, False], [True, False, False]])


def set_law(ids=("a", 7, "c")):
    probs = [[0.3, 0.2, 0.1, 0.15], [0.05, 0.05, 0.0, 0.9], [0.25, 0.25, 0.25, 0.25]]
    return cj.OutcomeLaw.from_match_sets(
        probs,
        SETS,
        ids=list(ids),
        declared=[True, True, False],
        valid=[1, 0.5, 0.8, 0.25],
        correct=[1, 0.2, 0, 0.1],
    )


def test_a_log_holds_what_the_law_says(key):
    log = cj.draw_log(key, set_law(), 40, trials=3)
    assert log.matches.shape == (3, 3, 40, 3)
    assert log.ids.tolist() == ["a", 7, "c"]
    assert (log.n == 40).all()
    np.testing.assert_array_equal(log.declared, set_law().declared)
    assert not log.ordered
    assert log.latent is None
    assert log.labelers == ("ground_truth",)
    assert (log.correct <= log.valid).all()
    kinds = {tuple(row) for row in log.matches.reshape(-1, 3).tolist()}
    assert kinds <= {tuple(row) for row in SETS.tolist()}


@pytest.mark.statistical
def test_frequencies_of_sets_flags_and_misses(key):
    """|z| < 5 in about 30 places: false alarms 2e-5."""
    samples = 40_000
    law = set_law()
    log = cj.draw_log(key, law, samples)
    bound = 5 / np.sqrt(4 * samples)
    for row in range(3):
        drawn = log.matches[row, 0]
        for outcome, match in enumerate(SETS):
            chance = law.probs[row, outcome] + (1 - law.probs[row].sum()) * (not match.any())
            assert abs((drawn == match).all(axis=1).mean() - chance) < bound
        assert abs(log.valid[row].mean() - law.probs[row] @ law.valid[row]) < bound
        assert abs(log.correct[row].mean() - law.probs[row] @ law.correct[row]) < bound
        halves = drawn[: samples // 2, 0] & drawn[samples // 2 :, 0]
        assert abs(halves.mean() - drawn[:, 0].mean() ** 2) < 3 * bound


@pytest.mark.statistical
def test_latents_are_drawn_from_the_router_and_kept(key):
    """|z| < 5 in 12 places: false alarms 7e-6."""
    router = np.array([0.6, 0.0, 0.3, 0.1])
    model = cj.families.confusion(1, 4, 0.3, router=router)
    log = cj.draw_log(key, model, 60_000)
    assert log.latents == ("0", "1", "2", "3")
    for z in range(4):
        chosen = log.latent[0, 0] == z
        assert abs(chosen.mean() - router[z]) < 5 / np.sqrt(4 * 60_000)
        if router[z]:
            given = log.matches[0, 0][chosen].mean(axis=0)
            assert (np.abs(given - model.generator[0, z]) < 5 / np.sqrt(4 * chosen.sum())).all()
    assert not (log.latent == 1).any()


def fields(log):
    return {name: getattr(log, name) for name in ("matches", "valid", "correct", "latent")}


def test_a_sample_depends_on_key_name_trial_and_position_only(key, monkeypatch):
    law = set_law()
    whole = fields(cj.draw_log(key, law, 30, trials=4))
    part = fields(cj.draw_log(key, law, 11, trials=2))
    order = [2, 0, 1]
    monkeypatch.setattr(tiles, "CPU_BYTES", 1)
    monkeypatch.setattr(tiles, "ACCELERATOR_BYTES", 1)
    shuffled = fields(cj.draw_log(key, law.take(order), 30, trials=4))
    with jax.enable_x64(True):
        wide = fields(cj.draw_log(key, law, 30, trials=4))
    for name in ("matches", "valid", "correct"):
        np.testing.assert_array_equal(part[name], whole[name][:, :2, :11])
        np.testing.assert_array_equal(shuffled[name], whole[name][order])
        np.testing.assert_array_equal(wide[name], whole[name])
    other = fields(cj.draw_log(key, set_law(ids=("b", 8, "d")), 30, trials=4))
    assert all((other["matches"][row] != whole["matches"][row]).any() for row in range(3))
    assert (whole["matches"][2, 0] != whole["matches"][2, 1]).any()


def test_per_input_match_sets(key):
    probs = np.ones((2, 1))
    law = cj.OutcomeLaw.from_match_sets(probs, [[[True, False]], [[False, True]]])
    log = cj.draw_log(key, law, 5)
    assert log.matches[:, 0].tolist() == [[[True, False]] * 5, [[False, True]] * 5]


@pytest.mark.statistical
def test_rarefaction_of_drawn_logs_is_unbiased_for_the_exact_curve(key):
    """1,500 logs of 12 samples; |z| < 5 at 12 budgets with the measured variance: false alarms 1e-5."""
    law = cj.families.zipf(1500, 5, 1.2)
    curves = cj.estimate(cj.draw_log(key, law, 12))
    exact = iid.iid_coverage(law.marginals()[:1], 12)[0] / 5
    assert curves.coverage[:, 0].max() == pytest.approx(exact[0], rel=1e-14)  # every sample has one label
    error = curves.coverage.std(axis=0, ddof=1) / np.sqrt(1500)
    assert (np.abs(curves.coverage.mean(axis=0) - exact)[1:] < 5 * error[1:]).all()


def test_fitted_law_has_the_observed_shares(key):
    log = cj.draw_log(key, set_law(), 50, trials=2)
    law = cj.fitted_law(log)
    assert law.ids.tolist() == log.ids.tolist()
    np.testing.assert_array_equal(law.declared, log.declared)
    observed = log.matches.reshape(3, 100, 3)
    np.testing.assert_allclose(law.marginals(), observed.mean(axis=1) * log.declared, rtol=1e-14)
    np.testing.assert_allclose(law.probs.sum(axis=1), 1.0, rtol=1e-14)
    for name in ("valid", "correct"):
        counted = law.counting(name).marginals()
        flagged = (observed & getattr(log, name).reshape(3, 100, 1)).mean(axis=1)
        np.testing.assert_allclose(counted, flagged * log.declared, rtol=1e-13)
    for row in range(3):
        for share, match in zip(law.probs[row], law.matches[row], strict=True):
            if share:
                assert share == pytest.approx((observed[row] == match).all(axis=1).mean(), rel=1e-14)


def test_fitted_law_counts_only_samples_that_are_there():
    matches = np.zeros((2, 4, 2), bool)
    matches[0, :, 0] = True
    matches[1, :2, 1] = True
    law = cj.fitted_law(cj.SampleLog.from_arrays(matches, n=[4, 3]))
    np.testing.assert_allclose(law.marginals(), [[1.0, 0.0], [0.0, 2 / 3]])
    assert law.off_strategy.tolist() == pytest.approx([0.0, 1 / 3])


def test_logs_without_a_law_are_refused(key):
    log = cj.draw_log(key, set_law(), 4)
    with pytest.raises(cj.InputError, match="must hold independent samples; this one is ordered"):
        cj.fitted_law(dataclasses.replace(log, ordered=True))
    with pytest.raises(cj.InputError, match="every input needs a sample to fit its law; none of 'a' has one"):
        cj.fitted_law(dataclasses.replace(log, n=np.array([[0], [4], [4]])))
    methods = cj.SampleLog.from_arrays(log.matches[:, 0], method=["m", "m", "n"])
    with pytest.raises(
        cj.InputError, match=r"method: give one method at a time; split the log with by_method\(\)"
    ):
        cj.fitted_law(methods)


@pytest.mark.parametrize(
    ("samples", "trials", "name"), [(0, 1, "samples"), (2.5, 1, "samples"), (3, 0, "trials")]
)
def test_bad_sizes(samples, trials, name, key):
    with pytest.raises(cj.InputError, match=f"{name}: must be a whole number >= 1"):
        cj.draw_log(key, set_law(), samples, trials)


def test_new_keys_and_probabilities_do_not_recompile(key):
    from coverjax.logs.drawing import _draw

    cj.draw_log(key, set_law(), 9)
    compiled = _draw.jitted._cache_size()
    for number in range(3):
        cj.draw_log(jax.random.fold_in(key, number), set_law(), 12 + number)
    assert _draw.jitted._cache_size() == compiled
