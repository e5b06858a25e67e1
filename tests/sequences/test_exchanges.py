"""Latents that exchange strategies by the input are put in order; those that only differ in use are not."""

import numpy as np
import pytest

from coverjax.sequences.exchanges import ordered_latents

USE = np.array([8, 4, 2, 1]) / 15
TEXTS = 4000


@pytest.fixture
def group(rng):
    """Which of two kinds each text's input is."""
    return rng.integers(2, size=TEXTS)


def router(writes, group, rng, noise=0.1):
    """Log r(z | x) where latent z writes strategy writes[g][z] on inputs of kind g, not quite exactly."""
    logs = np.log(USE[np.asarray(writes)[group]]) + noise * rng.standard_normal((len(group), len(writes[0])))
    return logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    "writes",
    [
        [[0, 1, 2, 3], [0, 2, 1, 3]],
        [[2, 1, 0, 3], [0, 1, 2, 3]],
        [[0, 1, 2, 3], [1, 2, 0, 3]],
        [[0, 1, 2, 3], [1, 0, 3, 2]],
        [[3, 2, 0, 1], [1, 2, 0, 3]],
    ],
    ids=["middle", "frequent", "three", "two pairs", "rare"],
)
def test_in_order_each_latent_writes_one_strategy(rng, group, writes):
    order = ordered_latents(router(writes, group, rng))
    assert (np.sort(order, axis=1) == np.arange(4)).all()
    found = np.take_along_axis(np.asarray(writes)[group], order, axis=1)
    for place in range(4):
        shares = np.bincount(found[:, place], minlength=4) / TEXTS
        assert shares.max() > 0.98, place


def test_latents_that_do_not_exchange_stay(rng, group):
    pure = router([[2, 0, 3, 1]] * 2, group, rng)
    np.testing.assert_array_equal(ordered_latents(pure), np.tile(np.arange(4), (TEXTS, 1)))


def test_latents_that_are_as_frequent_stay_whatever_chance_says(rng):
    logs = np.log(np.full((TEXTS, 3), 1 / 3)) + 0.1 * rng.standard_normal((TEXTS, 3))
    np.testing.assert_array_equal(ordered_latents(logs), np.tile(np.arange(3), (TEXTS, 1)))


@pytest.mark.parametrize("concentration", [0.3, 1.0, 4.0, 30.0])
def test_strategies_whose_frequency_follows_the_input_stay(rng, concentration):
    """The input tells which latent is the frequent one, and much else: by how much."""
    shares = rng.dirichlet(np.full(4, concentration), TEXTS)
    order = ordered_latents(np.log(shares))
    np.testing.assert_array_equal(order, np.tile(np.arange(4), (TEXTS, 1)))


def test_a_strategy_that_two_latents_divide_by_the_input_becomes_that_of_one(group):
    shares = np.where(group[:, None] == 0, [0.6, 0.3, 0.1, 0.0], [0.6, 0.3, 0.0, 0.1])
    order = ordered_latents(np.log(shares + 1e-9))
    np.testing.assert_array_equal(order[:, 2], np.where(group == 0, 2, 3))


def test_latents_of_which_no_two_exchange_alone_are_put_in_order(rng):
    """Five for four strategies; on each kind of inputs another one writes nothing (-1), and which of two is
    the frequent one is never all that the input tells."""
    writes = np.array([[0, -1, 1, 2, 3], [0, 1, -1, 2, 3], [3, 0, 1, 2, -1]])[rng.integers(3, size=TEXTS)]
    shares = np.where(writes >= 0, USE[writes], 1e-3) * np.exp(0.1 * rng.standard_normal(writes.shape))
    order = ordered_latents(np.log(shares / shares.sum(axis=1, keepdims=True)))
    found = np.take_along_axis(writes, order, axis=1)
    for place in range(5):
        assert np.bincount(found[:, place] + 1, minlength=5).max() > 0.98 * TEXTS, place


@pytest.mark.parametrize("a", [0.4, 0.6, 3.0])
def test_of_four_latents_two_exchange_and_the_frequency_of_the_others_follows_the_input(rng, group, a):
    often = 0.4 * rng.beta(a, a, TEXTS)
    first, second = np.where(group, 0.4, 0.2), np.where(group, 0.2, 0.4)
    order = ordered_latents(np.log(np.stack([first, second, often, 0.4 - often], axis=1) + 1e-12))
    np.testing.assert_array_equal(order[:, 0], np.where(group, 0, 1))
    np.testing.assert_array_equal(order[:, 2:], np.tile([2, 3], (TEXTS, 1)))


def test_one_latent_is_in_order():
    np.testing.assert_array_equal(ordered_latents(np.zeros((3, 1))), np.zeros((3, 1)))
