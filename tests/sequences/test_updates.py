"""Compiled updates: the learning rate on its way, and what is remembered of earlier batches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coverjax.sequences.corpora import corpora
from coverjax.sequences.factorization import Weights, all_surprisals
from coverjax.sequences.language_model import start_model
from coverjax.sequences.settings import FitConfig
from coverjax.sequences.tasks.registry import task
from coverjax.sequences.transformer import Size
from coverjax.sequences.updates import REMEMBERED, Program, advance, begun, rate_at

BATCH, LATENTS = 4, 3


def program(objective, **changes):
    usual = {"batch": BATCH, "steps": 100, "warmup": 10, "rate": 0.02, "decay": 0.0, "hold": 1.0, "fade": 1.0}
    return Program(objective, **(usual | changes))


@pytest.mark.parametrize(
    ("objective", "done", "wanted"),
    [
        ("base", 0, 0.1),
        ("base", 50, 0.5),
        ("base", 100, 0.0),
        ("balanced", 4, 0.5),
        ("balanced", 10, 1.0),
        ("balanced", 75, 1.0),
        ("balanced", 90, 0.4),
        ("balanced", 100, 0.0),
    ],
)
def test_learning_rate_rises_and_falls(objective, done, wanted):
    """A cosine; where latents are still to part it stays up until the last quarter."""
    assert abs(float(rate_at(program(objective), 2.0, jnp.int32(done))) - 2.0 * wanted) < 0.02


@pytest.fixture(scope="module")
def corpus():
    settings = FitConfig(texts=30, held_out=4)
    return corpora(jax.random.key(0), task("list_summation"), settings)


def test_surprisals_of_the_last_batches_are_remembered(corpus):
    texts, _, lengths = corpus
    subject = task("list_summation")
    size = Size(width=8, layers=1, heads=1, hidden=8)
    model = start_model(jax.random.key(1), subject.name, subject.vocabulary(), size, lengths, LATENTS)
    weights = Weights(*(jnp.float32(value) for value in Weights()))
    told = np.asarray(all_surprisals(model, texts).sum(axis=-1))
    state = begun(model, program("balanced"))
    assert state.memory.shape == (REMEMBERED * BATCH, LATENTS)
    seen = [np.asarray(state.memory)]
    for number in range(2):
        span = jnp.int32(number), jnp.int32(number + 1)
        state, _, _ = advance(state, texts, jax.random.key(2), *span, weights, program("balanced"))
        seen.append(np.asarray(state.memory))
    np.testing.assert_array_equal(seen[1][:-BATCH], 0.0)
    for row in seen[1][-BATCH:]:
        assert np.abs(told - row).max(axis=1).min() < 1e-3
    np.testing.assert_array_equal(seen[2][:-BATCH], seen[1][BATCH:])
    assert np.abs(seen[2][-BATCH:] - seen[1][-BATCH:]).max() > 0.1


@pytest.mark.parametrize("objective", ["base", "balanced", "marginal"])
def test_blocks_of_any_length_are_one_program_and_one_result(corpus, objective):
    texts, _, lengths = corpus
    subject = task("list_summation")
    size = Size(width=8, layers=1, heads=1, hidden=8)
    latents = 0 if objective == "base" else LATENTS
    model = start_model(jax.random.key(1), subject.name, subject.vocabulary(), size, lengths, latents)
    weights = Weights(*(jnp.float32(value) for value in Weights()))
    begin = begun(model, program(objective))

    def after(*ends):
        state, losses = begin, []
        for first, last in zip((0, *ends), ends, strict=False):
            span = jnp.int32(first), jnp.int32(last)
            state, loss, use = advance(state, texts, jax.random.key(2), *span, weights, program(objective))
            losses.append(float(loss) * (last - first))
            assert use.shape == (latents,)
        return state, sum(losses)

    whole, total = after(5)
    programs = advance._cache_size()
    parts, sum_of_parts = after(3, 4, 5)
    assert advance._cache_size() == programs
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        np.testing.assert_array_equal(one, other)
    assert total == pytest.approx(sum_of_parts, rel=1e-6)


def test_other_objectives_remember_nothing(corpus):
    subject = task("list_summation")
    size = Size(width=8, layers=1, heads=1, hidden=8)
    model = start_model(jax.random.key(1), subject.name, subject.vocabulary(), size, corpus[2], LATENTS)
    assert begun(model, program("marginal")).memory.shape == (0, LATENTS)
