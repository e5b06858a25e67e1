"""What a training with several seeds, rows or weights of 0 keeps, and what it says of it."""

import jax.numpy as jnp
import numpy as np
import pytest
from small_policies import tiny

import coverjax as cj
from coverjax.learning import training
from coverjax.policy.networks import SubsetLogits
from coverjax.report.policy_study import study_policies
from coverjax.report.training_report import Training, plot_training, training_facts, training_text

K = 3


@pytest.fixture
def model(rng):
    generator = rng.dirichlet(np.full(4, 0.3), size=(6, 3))
    return cj.RouterGenerator(rng.dirichlet(np.ones(3), size=6), generator)


def told(policy, history, model, objective="auc"):
    curves = {"mine": policy, "IID": cj.IID(), "OracleNoRepeat": cj.OracleNoRepeat()}
    curves = {name: cj.exact(p, model, K) for name, p in curves.items()}
    study = study_policies(curves, curves["IID"], curves["OracleNoRepeat"])
    return Training("mine", objective, history, 0, model.inputs, study, False)


def test_the_best_seed_of_each_input_is_kept_and_said(key, model):
    policy, history = cj.train_policy(key, cj.LatentSchedule, model, K, steps=12, every=6, seeds=5)
    assert len(set(history["kept_seed"].tolist())) > 1
    reached = cj.auc(cj.exact(policy, model, K)).mean()
    assert history["kept"] == pytest.approx(reached, abs=1e-6)
    assert reached > history["best"].max() + 1e-4
    found = told(policy, history, model)
    facts = training_facts(found)
    assert facts["kept_seed"] == history["kept_seed"].tolist()
    assert facts["kept"] == pytest.approx(reached, abs=1e-6)
    assert facts["at_start"] < facts["kept"]
    assert facts["best_of_each_seed"] == pytest.approx(history["held_out"].max(axis=1))
    assert facts["kept_after_updates"] == history["best_step"][sorted(set(facts["kept_seed"]))].max()
    assert "the best of 5 seeds input by input" in " ".join(training_text(found).split())
    (dot,) = [line for line in plot_training(found).lines if line.get_marker() == "o"]
    assert dot.get_ydata() == [facts["kept"]]


def test_one_policy_for_all_inputs_is_one_seeds(key, model):
    settings = {"steps": 6, "every": 3, "seeds": 3, "network": "mlp", "width": 2, "sees": "blind"}
    policy, history = cj.train_policy(key, cj.LearnedLatent, model, K, **settings)
    best = int(history["best_seed"])
    assert history["kept_seed"].tolist() == [best] * 6
    assert history["at_start"] == history["held_out"][best, 0]
    assert history["kept"] == history["best"].max() == history["best"][best]
    facts = training_facts(told(policy, history, model))
    assert facts["kept_seed"] == best
    assert facts["kept"] == pytest.approx(cj.auc(cj.exact(policy, model, K)).mean(), abs=1e-6)


def test_the_best_of_a_seed_is_what_was_kept_of_it_not_the_largest_objective(key, model):
    """With a cost the objective may be largest at an evaluation that was not the best."""
    _, history = cj.train_policy(key, cj.LatentIID, model, K, steps=60, every=20, kl=5.0, learning_rate=2.0)
    at = int(np.searchsorted(history["step"], history["best_step"][0]))
    assert history["held_out"][0].argmax() != at
    assert history["best"].tolist() == [history["held_out"][0, at]]
    assert history["kept"] == history["best"][0]


def test_a_batch_without_weights_meets_nothing(key, model):
    weights = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    settings = {"steps": 40, "every": 1, "batch": 1, "input_weights": weights, "learning_rate": 0.1}
    _, history = cj.train_policy(key, tiny(), model, K, **settings)
    met = history["train"][0, 1:]
    assert 20 < np.isnan(met).sum() < 40  # single updates that met nothing
    _, history = cj.train_policy(key, tiny(), model, K, **settings | {"every": 40})
    only = met[np.isfinite(met)]
    assert history["train"][0, 1] == pytest.approx(only.mean(), rel=1e-5)
    assert np.isfinite(history["held_out"]).all()


def test_both_sides_must_hold_an_input_that_counts(key, model):
    settings = {"steps": 1, "held_out": 0.5}
    _, history = cj.train_policy(key, tiny(), model, K, **settings)
    judged = np.isin(np.arange(6), history["judged"])
    for counts, message in (
        (~judged, "must hold an input that counts"),
        (judged, "must leave an input"),
    ):
        with pytest.raises(cj.InputError, match=f"held_out: {message}"):
            cj.train_policy(key, tiny(), model, K, input_weights=counts.astype(float), **settings)


def chunk_of(monkeypatch, key, model, **settings):
    """The number of inputs whose gradient a training computes at once."""
    seen = []
    advance = training.advance

    def spying(*given):
        seen.append(given[-1].chunk)
        return advance(*given)

    with monkeypatch.context() as patch:
        patch.setattr(training, "advance", spying)
        cj.train_policy(key, cj.LatentIID, model, K, steps=1, **settings)
    return seen[0]


def test_inputs_at_once_are_fewer_with_more_seeds_and_with_the_lattice(monkeypatch, key, rng):
    generator = rng.dirichlet(np.ones(6), size=(64, 2))
    model = cj.RouterGenerator(np.full((64, 2), 0.5), generator)
    monkeypatch.setattr(training, "GRADIENT_BYTES", 4 * 2 * 20 * K * 64)
    assert chunk_of(monkeypatch, key, model) == 64
    assert chunk_of(monkeypatch, key, model, seeds=4) == 16
    assert chunk_of(monkeypatch, key, model, objective="full_coverage") == 20 * 64 // (20 + 3 * 2**6)


def test_a_table_of_seen_sets_fits_its_latents_and_strategies_only(key, model):
    table = SubsetLogits(jnp.zeros((1, K, 1 << 4, 3)))
    policy = cj.LearnedLatent(table)
    assert cj.exact(policy, model, K).inputs == 6
    for latents, strategies, message in ((3, 5, "4 strategies, .*got 5"), (2, 4, "3 latents, .*got 2")):
        other = cj.families.confusion(1, strategies, 0.1, latents=latents)
        with pytest.raises(cj.InputError, match=f"params: the policy was made for {message}"):
            cj.exact(policy, other, K)
        with pytest.raises(cj.InputError, match=f"params: the policy was made for {message}"):
            cj.simulate(key, policy, other, K, 2)
