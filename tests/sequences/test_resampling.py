"""Texts drawn by what they count for: no mean changes, and every latent's texts are drawn as often."""

import jax.numpy as jnp
import numpy as np
import pytest

from coverjax.sequences.factorization import RARE, Texts
from coverjax.sequences.resampling import DRAWN_FROM, evenly

FAR = 20.0
"""Nats by which a latent is behind on a text that it doesn't write."""

SHARES = np.array([8, 4, 2, 1]) / 15


def some_texts(count):
    """Texts that are told apart by their place."""
    slots = jnp.arange(count)
    numbers = jnp.zeros((count, 1), jnp.float32), jnp.ones(count, jnp.float32)
    return Texts(slots[:, None], slots, slots + 1, *numbers)


@pytest.fixture
def followed(rng):
    """The strategy that each text follows."""
    return rng.choice(4, p=SHARES, size=3000)


def pure(followed, latents=4):
    return np.where(followed[:, None] == np.arange(latents), 0.0, FAR)


def test_every_latents_texts_are_drawn_as_often(followed):
    drawn = evenly(some_texts(len(followed)), pure(followed))
    shares = np.bincount(followed[np.asarray(drawn.slots)]) / len(drawn.slots)
    # What one of four texts is drawn is a whole number; of the frequent one 1.9, which is 2.
    np.testing.assert_allclose(shares, 0.25, atol=0.03)
    assert len(drawn.slots) == pytest.approx(DRAWN_FROM * len(followed), rel=0.1)


@pytest.mark.parametrize("mixed", [0.0, 0.5, 1.0], ids=["pure", "between", "alike"])
def test_no_mean_changes(rng, followed, mixed):
    surprisal = (1.0 - mixed) * pure(followed) + rng.gamma(2.0, 1.0, (len(followed), 4))
    texts = some_texts(len(followed))
    drawn = evenly(texts, surprisal)
    rows = np.asarray(drawn.slots)
    assert set(rows) == set(range(len(followed)))
    weight = np.asarray(drawn.weight, np.float64)
    assert weight.mean() == pytest.approx(1.0, rel=1e-6)
    # What a text counts for in all is the same for each, so is every mean over texts.
    total = np.bincount(rows, weights=weight) * len(followed) / len(rows)
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)
    for part, whole in zip(drawn[:4], texts[:4], strict=True):
        np.testing.assert_array_equal(part, np.asarray(whole)[rows])


def test_a_latent_that_hardly_any_text_follows_is_not_drawn_all_the_time():
    followed = np.zeros(2000, int)
    followed[:2] = 1
    drawn = evenly(some_texts(2000), pure(followed, 2))
    times = np.bincount(np.asarray(drawn.slots))
    assert set(times[2:]) == {DRAWN_FROM}
    # 1 / RARE against 1 / 0.999 for the others; the mean over texts is 1 + 0.001 / RARE.
    assert set(times[:2]) == {round(DRAWN_FROM / RARE / (1.0 + 0.001 / RARE))}


def test_with_one_latent_all_are_drawn_alike():
    drawn = evenly(some_texts(7), np.zeros((7, 1)))
    np.testing.assert_array_equal(np.bincount(np.asarray(drawn.slots)), DRAWN_FROM)
    np.testing.assert_array_equal(drawn.weight, 1.0)
