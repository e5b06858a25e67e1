"""Families against their formulas, and the degenerate models against what they must not change."""

import subprocess
import sys

import jax
import numpy as np
import pytest

import coverjax as cj

families = cj.families


def test_families_are_reached_lazily():
    code = (
        "import sys, coverjax as cj; assert 'jax' not in sys.modules;"
        "assert cj.families.zipf(2, 3).inputs == 2; assert 'families' in dir(cj)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_deterministic_families_follow_their_formulas():
    np.testing.assert_allclose(families.uniform(3, 4).probs, np.full((3, 4), 0.25), rtol=1e-15)
    ranks = np.arange(1, 6.0)
    np.testing.assert_allclose(
        families.zipf(1, 5, 1.5).probs[0], ranks**-1.5 / (ranks**-1.5).sum(), rtol=1e-14
    )
    np.testing.assert_allclose(families.geometric(1, 3, 0.5).probs[0], [4 / 7, 2 / 7, 1 / 7], rtol=1e-14)
    np.testing.assert_allclose(
        families.two_tier(1, 2, 3, 0.9).probs[0], [0.45] * 2 + [0.1 / 3] * 3, rtol=1e-14
    )
    assert families.zipf(2, 5).ids.tolist() == [0, 1]


def test_extreme_parameters_do_not_overflow():
    assert families.zipf(1, 4, 2000.0).probs[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(families.geometric(1, 5000, 3.0).probs[0, -1], 2 / 3, rtol=1e-12)


def test_dirichlet_of_an_input_does_not_depend_on_the_others(key):
    few, many = families.dirichlet(key, 3, 5, 0.3), families.dirichlet(key, 8, 5, 0.3)
    np.testing.assert_array_equal(few.probs, many.probs[:3])
    np.testing.assert_allclose(many.probs.sum(axis=1), 1.0, atol=1e-15)
    assert len(np.unique(many.probs)) == 40


@pytest.mark.statistical
def test_dirichlet_moments(key):
    """Mean a / A and variance of each coordinate, |z| < 5 in 6 places: false alarms 4e-6."""
    alpha = np.array([0.2, 1.0, 3.0])
    inputs = 20_000
    probs = families.dirichlet(key, inputs, 3, alpha).probs
    mean = alpha / alpha.sum()
    variance = mean * (1 - mean) / (alpha.sum() + 1)
    assert (np.abs(probs.mean(axis=0) - mean) < 5 * np.sqrt(variance / inputs)).all()
    spread = (probs - mean) ** 2
    assert (np.abs(spread.mean(axis=0) - variance) < 5 * spread.std(axis=0) / np.sqrt(inputs)).all()


def test_tiny_concentration_gives_laws_on_one_strategy(key):
    probs = families.dirichlet(key, 50, 6, 1e-3).probs
    assert np.isfinite(probs).all()
    assert (probs.max(axis=1) > 0.9).mean() > 0.8


@pytest.mark.parametrize(("eps", "agreement"), [(0.0466, 0.91), (0.0946, 0.824)])
def test_confusion_reproduces_the_calibration(eps, agreement):
    model = families.confusion(2, 3, eps)
    table = model.strategy_table()
    same_latent = (table[0] * table[1]).sum(axis=1)
    np.testing.assert_allclose(same_latent, (1 - eps) ** 2 + eps**2 / 2, rtol=1e-14)
    assert same_latent[0] == pytest.approx(agreement, abs=5e-4)
    np.testing.assert_allclose(model.marginal().probs, 1 / 3, rtol=1e-14)


def test_confusion_takes_a_router_and_permutes_meanings(key):
    router = np.array([0.5, 0.25, 0.15, 0.1])
    model = families.confusion(200, 4, 0.1, router=router, permute_key=key)
    np.testing.assert_array_equal(model.router, np.tile(router, (200, 1)))
    meaning = model.generator.argmax(axis=2)
    assert (np.sort(meaning, axis=1) == np.arange(4)).all()
    assert len({tuple(row) for row in meaning.tolist()}) == 24
    np.testing.assert_allclose(np.sort(model.generator, axis=2)[..., :3], 0.1 / 3, rtol=1e-14)
    fewer = families.confusion(7, 4, 0.1, router=np.tile(router, (7, 1)), permute_key=key)
    np.testing.assert_array_equal(fewer.generator, model.generator[:7])
    assert families.confusion(1, 1, 0.0).generator.tolist() == [[[1.0]]]


def test_collapsed_latents_all_give_the_base_law(key):
    law = cj.OutcomeLaw.from_match_sets(
        [[0.2, 0.5, 0.1]], [[1, 0], [1, 1], [0, 0]], ids=["x"], valid=[1, 0, 1]
    )
    model = families.collapsed(law, 4, router=[0.7, 0.1, 0.1, 0.1])
    np.testing.assert_allclose(model.marginal().probs, law.probs, rtol=1e-15)
    assert (model.strategy_table() == law.marginals()[:, None]).all()
    assert model.ids.tolist() == ["x"]
    assert model.valid.tolist() == [[1, 0, 1]]


def test_dead_and_twin_latents_leave_the_base_law(rng):
    model = cj.RouterGenerator(rng.dirichlet(np.ones(3), size=5), rng.dirichlet(np.ones(4), size=(5, 3)))
    for changed in (families.with_dead_latent(model), families.with_twin_latent(model, 1, share=0.3)):
        assert changed.latents == 4
        np.testing.assert_allclose(changed.marginal().probs, model.marginal().probs, rtol=1e-14)
    twin = families.with_twin_latent(model, 1, share=0.3)
    np.testing.assert_array_equal(twin.generator[:, 3], model.generator[:, 1])
    np.testing.assert_allclose(twin.router[:, 3], 0.3 * model.router[:, 1], rtol=1e-14)
    dead = families.with_dead_latent(model, mass=0.25)
    np.testing.assert_allclose(dead.marginal().off_strategy, 0.25, rtol=1e-14)
    assert not dead.generator[:, 3].any()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: families.uniform(0, 3), r"inputs: must be a whole number >= 1; got 0"),
        (lambda: families.uniform(3, 0), r"strategies: must be a whole number >= 1; got 0"),
        (lambda: families.zipf(1, 2.5), r"strategies: must be a whole number >= 1; got 2.5"),
        (lambda: families.zipf(1, 2, np.nan), r"exponent: must be a finite number"),
        (lambda: families.geometric(1, 2, 0.0), r"ratio: must be above 0; got 0.0"),
        (lambda: families.two_tier(1, 2, 2, 1.5), r"common_mass: must lie between 0 and 1; got 1.5"),
        (lambda: families.dirichlet(jax.random.key(0), 1, 2, 0.0), r"concentration: must be above 0"),
        (lambda: families.dirichlet(jax.random.key(0), 1, 2, [1, 2, 3]), r"concentration: .*or 2 numbers"),
        (lambda: families.confusion(1, 3, -0.1), r"eps: must lie between 0 and 1"),
        (lambda: families.confusion(1, 1, 0.1), r"eps: must be 0 with one strategy"),
        (lambda: families.confusion(2, 3, 0.1, router=[0.5, 0.5]), r"router: must be \[3\] or \[2, 3\]"),
        (lambda: families.collapsed(families.uniform(2, 3), 0), r"latents: must be a whole number >= 1"),
        (lambda: families.collapsed(families.uniform(2, 3), 2, [1.0]), r"router: must be \[2\] or \[2, 2\]"),
        (lambda: families.with_twin_latent(families.confusion(1, 2, 0.1), 2), r"latent: must be one of 0..1"),
        (lambda: families.with_dead_latent(families.confusion(1, 2, 0.1), 2.0), r"mass: must lie between"),
    ],
)
def test_bad_parameters(build, message):
    with pytest.raises(cj.InputError, match=message):
        build()
