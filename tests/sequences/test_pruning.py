"""Latents that are not missed are dropped: twins, and those that write by the input; what is alone stays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from coverjax.sequences.pruning import PRICE, latent_of_each, mixture_weights, needed_latents

FAR = 20.0
"""Nats by which a latent is behind on a text that it doesn't write."""


def surprisals(writes, strategy, group):
    """Of texts that follow `strategy` on inputs of `group`: 0 under latents that write it there, else `FAR`.

    `writes[z][g]` is what latent z writes on the inputs of group g.
    """
    return np.where(strategy[:, None] == np.asarray(writes)[:, group].T, 0.0, FAR)


@pytest.fixture(scope="module")
def texts():
    """Four strategies, half as frequent one after the other, on inputs of two groups."""
    rng = np.random.default_rng(0)
    return rng.choice(4, p=np.array([8, 4, 2, 1]) / 15, size=800), rng.integers(2, size=800)


PURE = [[0, 0], [1, 1], [2, 2], [3, 3]]


def test_pure_latents_are_all_needed(texts):
    kept, costs = needed_latents(surprisals(PURE, *texts))
    assert kept == [0, 1, 2, 3]
    assert costs[0] > PRICE


def test_of_twins_one_is_kept(texts):
    writes = [*PURE, *PURE[:2], PURE[0]]
    kept, costs = needed_latents(surprisals(writes, *texts))
    assert sorted(writes[z] for z in kept) == PURE
    np.testing.assert_allclose(costs[:3], 0.0, atol=1e-4)
    assert costs[3] > PRICE


@pytest.mark.parametrize("stay", [[4], [0], [0, 4]])
def test_what_stays_is_not_dropped_and_its_twins_go_first(texts, stay):
    writes = [*PURE, PURE[0]]
    kept, costs = needed_latents(surprisals(writes, *texts), stay=stay)
    assert kept == sorted({1, 2, 3, *stay})
    assert len(costs) == 5 - len(stay)


@pytest.mark.parametrize("place", range(5))
def test_a_latent_that_writes_by_the_input_goes_before_the_pure_ones(texts, place):
    """The likelihood of a text is the same with it and without: only one weight for all inputs tells."""
    writes = [*PURE[:place], [0, 1], *PURE[place:]]
    kept, _ = needed_latents(surprisals(writes, *texts))
    assert kept == [z for z in range(5) if z != place]


def test_two_that_exchange_strategies_by_the_input_lose_to_pure_ones(texts):
    """Both together write all that two pure ones write, on every input; their shares don't fit."""
    kept, _ = needed_latents(surprisals([[0, 1], [1, 0], *PURE], *texts))
    assert kept == [2, 3, 4, 5]


def test_what_only_a_mixed_latent_writes_keeps_it(texts):
    kept, _ = needed_latents(surprisals([[0, 0], [1, 1], [2, 2], [0, 3], [3, 0]], *texts))
    assert kept == [0, 1, 2, 3, 4]


def test_the_price_is_what_a_latent_saves(texts):
    strategy, group = texts
    rare = float(np.mean(strategy == 3))
    table = surprisals(PURE, strategy, group)
    _, costs = needed_latents(table)
    # Without the rarest its texts are FAR worse, under the weights of the others.
    others = np.array([np.mean(strategy == k) for k in range(3)])
    entropy = -np.sum(others * np.log(others / others.sum()))
    whole = -sum(p * np.log(p) for p in (*others, rare))
    assert costs[0] == pytest.approx(rare * FAR + entropy - whole, rel=1e-3)
    assert needed_latents(table, costs[0] * 0.999)[0] == [0, 1, 2, 3]
    assert needed_latents(table, costs[0] * 1.001)[0] == [0, 1, 2]


def test_one_latent_stays_whatever_the_price(texts):
    kept, costs = needed_latents(surprisals(PURE, *texts), 1e9)
    assert len(kept) == 1
    assert len(costs) == 3
    assert needed_latents(np.zeros((5, 1)), 1e9)[0] == [0]


def test_a_latent_that_is_hopelessly_behind_costs_a_finite_number():
    table = np.array([[0.0, 1e4], [1e4, 0.0]])
    kept, costs = needed_latents(table)
    assert kept == [0, 1]
    assert np.isfinite(costs).all()


@given(seed=st.integers(0, 10_000), latents=st.integers(2, 6))
def test_costs_never_fall_and_weights_are_the_best_there_are(seed, latents):
    rng = np.random.default_rng(seed)
    table = rng.exponential(3.0, size=(60, latents))
    kept, costs = needed_latents(table)
    assert np.all(np.diff(np.concatenate([[0.0], costs])) > -1e-4)
    assert 1 <= len(kept) <= latents
    likelihood = np.exp(-table)
    (weights,), (cost,) = mixture_weights(likelihood, np.ones((1, latents), bool))
    assert weights.sum() == pytest.approx(1.0)

    def loss(free):
        shares = np.exp(free - free.max())
        return -np.mean(np.log(likelihood @ (shares / shares.sum())))

    peer = min(minimize(loss, start).fun for start in (np.zeros(latents), np.log(weights + 1e-6)))
    assert cost == pytest.approx(peer, abs=2e-4)


def test_a_text_is_the_latents_that_writes_it(texts):
    np.testing.assert_array_equal(latent_of_each(surprisals(PURE, *texts)), texts[0])


def test_a_text_that_two_latents_write_is_the_one_s_that_has_more(texts):
    strategy = texts[0]
    told = np.where(strategy[:, None] == [0, 1, 1, 1], 0.0, FAR)  # 1, 2 and 3 alike
    told[:100, 2] -= FAR  # and 2 writes some of the first better
    both = (np.arange(len(strategy)) >= 100) & (strategy == 1)
    assert set(latent_of_each(told)[both]) == {2}
