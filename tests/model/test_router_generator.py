"""Router-generators: marginals, tables, and what they refuse."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
import reference_laws as brute

import coverjax as cj

ROUTER = [[0.6, 0.3, 0.1], [0.0, 0.5, 0.5]]
GENERATOR = [[[0.8, 0.1], [0.1, 0.7], [0.0, 0.2]], [[0.5, 0.5], [0.25, 0.25], [1.0, 0.0]]]
SETS = [[True, True, False], [False, True, True]]


def test_marginal_is_the_mixture_in_fractions():
    model = cj.RouterGenerator(ROUTER, GENERATOR, SETS, ids=["a", "b"])
    law = model.marginal()
    for row in range(2):
        atoms = [
            brute.atoms(g, [[s for s in range(3) if match[s]] for match in SETS]) for g in GENERATOR[row]
        ]
        mixed = brute.mixture(ROUTER[row], atoms)
        want = [float(sum(p for p, match in mixed if s in match)) for s in range(3)]
        np.testing.assert_allclose(law.marginals()[row], want, rtol=1e-15)
        nothing = sum(p for p, match in mixed if not match)
        assert law.off_strategy[row] == pytest.approx(float(nothing), abs=1e-15)
    assert law.ids.tolist() == ["a", "b"]


def test_strategy_table_is_the_chance_of_each_strategy_given_the_latent():
    table = cj.RouterGenerator(ROUTER, GENERATOR, SETS, declared=[1, 1, 0]).strategy_table()
    for row in range(2):
        for z in range(3):
            one, two = GENERATOR[row][z]
            np.testing.assert_allclose(table[row, z], [one, one + two, 0.0], rtol=1e-15)
    single = cj.RouterGenerator(ROUTER, GENERATOR)
    np.testing.assert_array_equal(single.strategy_table(), GENERATOR)
    assert single.single_label
    assert (single.inputs, single.latents, single.outcomes, single.strategies) == (2, 3, 2, 2)


@pytest.mark.shared
def test_golden_marginal(shared_data):
    golden = json.loads((shared_data / "golden_exact.json").read_text())["latent_3"]
    model = cj.RouterGenerator([golden["router"]], [golden["generator"]])
    np.testing.assert_allclose(model.marginal().probs[0], golden["marginal"], rtol=1e-12)


def test_float32_router_is_normalised_and_taking_rows_keeps_every_bit(rng):
    router = rng.dirichlet(np.ones(5), size=4).astype(np.float32)
    generator = rng.dirichlet(np.ones(6), size=(4, 5)).astype(np.float32)
    model = cj.RouterGenerator(jnp.asarray(router), jnp.asarray(generator), valid=rng.random(6))
    np.testing.assert_allclose(model.router.sum(axis=1), 1.0, atol=3e-16)
    part = model.take([3, 1])
    for name in ("router", "generator", "declared", "valid"):
        np.testing.assert_array_equal(getattr(part, name), getattr(model, name)[[3, 1]])
    assert part.ids.tolist() == [3, 1]
    assert part.declared_count.tolist() == [6, 6]


def test_counting_keeps_the_router_and_thins_the_generator():
    model = cj.RouterGenerator(ROUTER, GENERATOR, SETS, correct=[[1, 0.5], [0, 1]])
    counted = model.counting("correct")
    np.testing.assert_array_equal(counted.router, model.router)
    np.testing.assert_allclose(counted.generator[0], np.array(GENERATOR[0]) * [1, 0.5], rtol=1e-15)
    law = model.marginal().counting("correct")
    np.testing.assert_allclose(counted.marginal().marginals(), law.marginals(), rtol=1e-14)
    assert model.counting("raw") is model
    with pytest.raises(cj.InputError, match="holds no `valid` probabilities"):
        model.counting("valid")


@pytest.mark.parametrize(
    ("router", "generator", "message"),
    [
        ([[0.6, 0.3]], [[[1.0], [1.0]]], r"router: probabilities must sum to 1 over the latents; got 0.9"),
        (
            [[0.6, 0.6]],
            [[[1.0], [1.0]]],
            r"router: probabilities must sum to at most 1.*got 1.2 at input 'x'",
        ),
        ([0.6, 0.4], [[[1.0], [1.0]]], r"router: must be \[inputs, latents\]; got shape \(2,\)"),
        (
            [[0.6, 0.4]],
            [[1.0], [1.0]],
            r"generator: must be \[inputs, latents, strategies\]; got shape \(2, 1\)",
        ),
        ([[0.6, 0.4]], [[[1.0]]], r"generator: must be \[1, 2, outcomes\], a row for every input and latent"),
        ([[0.6, 0.4]], [[[0.5], [-0.5]]], r"generator: .*got -0.5 at input 'x', latent 1, strategy 0"),
        ([[0.6, 0.4]], [[[0.5, 0.5], [0.6, 0.5]]], r"generator: .*got 1.1 at input 'x', latent 1; divide"),
        (np.zeros((0, 2)), np.zeros((0, 2, 1)), r"router: must hold at least one input and one latent"),
    ],
)
def test_bad_models_name_their_place(router, generator, message):
    with pytest.raises(cj.InputError, match=message):
        cj.RouterGenerator(router, generator, ids=["x"])
