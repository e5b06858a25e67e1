"""Texts told apart: each has its latent in its slot, no mean changes, all latents' are drawn as often."""

import numpy as np
import pytest

from coverjax.sequences.factorization import RARE, Texts
from coverjax.sequences.telling import DRAWN_FROM, told_apart

SHARES = np.array([8, 4, 2, 1]) / 15
FIRST = 50
"""The token of latent 0."""


def some_texts(count):
    """Texts that are told apart by their first token; the slot is the second."""
    tokens = np.stack([np.arange(count), np.full(count, 9), np.zeros(count, int)], axis=1)
    slots = np.ones(count, int)
    return Texts(tokens, slots, slots + 1, np.zeros((count, 1)), np.ones(count))


@pytest.fixture
def followed(rng):
    """The strategy that each text follows."""
    return rng.choice(4, p=SHARES, size=3000)


def rows_of(drawn):
    return np.asarray(drawn.tokens)[:, 0]


def test_every_text_has_the_latent_that_writes_it(followed):
    texts = some_texts(len(followed))
    drawn = told_apart(texts, followed, 4, FIRST)
    np.testing.assert_array_equal(drawn.tokens[:, 1], FIRST + followed[rows_of(drawn)])
    np.testing.assert_array_equal(drawn.tokens[:, 2], 0)
    np.testing.assert_array_equal(texts.tokens[:, 1], 9)


def test_every_latents_texts_are_drawn_as_often(followed):
    drawn = told_apart(some_texts(len(followed)), followed, 4, FIRST)
    shares = np.bincount(followed[rows_of(drawn)]) / len(drawn.slots)
    # How often a text is drawn is a whole number; of the frequent ones 1.9, which is 2.
    np.testing.assert_allclose(shares, 0.25, atol=0.03)
    assert len(drawn.slots) == pytest.approx(DRAWN_FROM * len(followed), rel=0.1)


@pytest.mark.parametrize("shares", [SHARES, [0.25] * 4, [0.99, 0.01, 0.0, 0.0]], ids=["some", "alike", "one"])
def test_no_mean_changes(rng, followed, shares):
    latent = rng.choice(4, p=shares, size=len(followed))
    drawn = told_apart(some_texts(len(followed)), latent, 4, FIRST)
    rows = rows_of(drawn)
    assert set(rows) == set(range(len(followed)))
    weight = np.asarray(drawn.weight, np.float64)
    assert weight.mean() == pytest.approx(1.0, rel=1e-6)
    # What a text counts for in all is the same for each, so is every mean over texts.
    total = np.bincount(rows, weights=weight) * len(followed) / len(rows)
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)


def test_a_latent_that_hardly_any_text_follows_is_not_drawn_all_the_time():
    followed = np.zeros(2000, int)
    followed[:2] = 1
    drawn = told_apart(some_texts(2000), followed, 2, FIRST)
    times = np.bincount(rows_of(drawn))
    assert set(times[2:]) == {DRAWN_FROM}
    # 1 / RARE against 1 / 0.999 for the others; the mean over texts is 1 + 0.001 / RARE.
    assert set(times[:2]) == {round(DRAWN_FROM / RARE / (1.0 + 0.001 / RARE))}


def test_with_one_latent_all_are_drawn_alike():
    drawn = told_apart(some_texts(7), np.zeros(7, int), 1, FIRST)
    np.testing.assert_array_equal(np.bincount(rows_of(drawn)), DRAWN_FROM)
    np.testing.assert_array_equal(drawn.weight, 1.0)
