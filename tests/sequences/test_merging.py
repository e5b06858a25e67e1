"""Latents that never write texts of the same input are one; those that do stay, whatever their shares."""

import numpy as np
import pytest

from coverjax.sequences.merging import ENOUGH, input_numbers, merged_latents

USE = np.array([8, 4, 2, 1]) / 15
INPUTS, TEXTS = 800, 9000


@pytest.fixture
def inputs(rng):
    """The input of each text."""
    return rng.integers(INPUTS, size=TEXTS)


@pytest.fixture
def followed(rng):
    """The strategy that each text follows."""
    return rng.choice(4, p=USE, size=TEXTS)


def test_latents_that_write_strategies_of_their_own_stay(followed, inputs):
    np.testing.assert_array_equal(merged_latents(followed, inputs, 4), np.arange(4))


@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("strategy", range(4))
def test_a_strategy_divided_by_the_input_becomes_that_of_the_larger_part(followed, inputs, strategy, share):
    there = inputs < share * INPUTS * 0.9
    latent = np.where((followed == strategy) & there, 4, followed)
    wanted = [0, 1, 2, 3, strategy]
    np.testing.assert_array_equal(merged_latents(latent, inputs, 5), wanted)


def test_a_strategy_in_three_parts_becomes_one(followed, inputs):
    latent = np.where(followed == 0, np.array([4, 0, 5])[inputs * 3 // INPUTS], followed)
    whole = merged_latents(latent, inputs, 6)
    assert len(set(whole[[0, 4, 5]])) == 1
    np.testing.assert_array_equal(whole[1:4], [1, 2, 3])


def test_parts_that_write_some_texts_of_another_strategy_are_still_one(rng, followed, inputs):
    latent = np.where((followed == 1) & (inputs % 2 == 0), 4, followed)
    latent = np.where((followed == 0) & (rng.random(TEXTS) < 0.05), 4, latent)
    whole = merged_latents(latent, inputs, 5)
    assert whole[4] == whole[1]
    np.testing.assert_array_equal(whole[[0, 2, 3]], [0, 2, 3])


@pytest.mark.parametrize("total", [2.0, 4.0, 40.0])
def test_strategies_whose_frequency_follows_the_input_stay(rng, inputs, total):
    shares = rng.dirichlet(np.full(4, total / 4), INPUTS)
    latent = (rng.random(TEXTS)[:, None] > np.cumsum(shares, axis=1)[inputs, :3]).sum(axis=1)
    np.testing.assert_array_equal(merged_latents(latent, inputs, 4), np.arange(4))


def test_what_few_meetings_say_is_chance(rng):
    """With one text an input there are none; with few, two rare latents would hardly meet anyway."""
    latent = rng.choice(4, p=[0.8, 0.1, 0.05, 0.05], size=600)
    np.testing.assert_array_equal(merged_latents(latent, np.arange(600), 4), np.arange(4))
    # Of two texts of an input one is 0's; 1 and 2, a fourth each, never meet.
    latent = np.stack([np.zeros(300, int), np.arange(300) % 2 + 1], axis=1).ravel()
    inputs = np.arange(600) // 2
    np.testing.assert_array_equal(merged_latents(latent, inputs, 3), [0, 1, 1])
    few = slice(200)
    assert ENOUGH > 200 / 16
    np.testing.assert_array_equal(merged_latents(latent[few], inputs[few], 3), np.arange(3))


def test_one_latent_is_itself(inputs):
    np.testing.assert_array_equal(merged_latents(np.zeros(TEXTS, int), inputs, 1), [0])


def test_texts_of_one_prompt_have_one_number():
    tokens = np.array([[1, 5, 6, 2, 9], [1, 5, 2, 9, 9], [1, 5, 6, 2, 7], [1, 5, 2, 9, 4], [1, 5, 6, 6, 2]])
    numbers = input_numbers(tokens, np.array([4, 3, 4, 3, 5]))
    assert numbers[0] == numbers[2]
    assert numbers[1] == numbers[3]
    assert len({numbers[0], numbers[1], numbers[4]}) == 3
