"""Compiled updates: the learning rate on its way, and what is remembered of earlier batches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coverjax.sequences.corpora import corpora
from coverjax.sequences.factorization import Weights, evened, surprisals_and_router
from coverjax.sequences.language_model import start_model
from coverjax.sequences.settings import FitConfig
from coverjax.sequences.tasks.registry import task
from coverjax.sequences.transformer import Size
from coverjax.sequences.updates import REMEMBERED, Program, Schedule, advance, begun, chosen, rate_at

BATCH, LATENTS = 4, 3
KEY = jax.random.key(2)
WEIGHTS = Weights(*(jnp.float32(value) for value in Weights()))


def schedule(**changes):
    usual = {"steps": 100, "warmup": 10, "rate": 0.02, "decay": 0.0, "hold": 1.0, "fade": 1.0}
    return Schedule(**{name: jnp.float32(value) for name, value in (usual | changes).items()})


def after(state, texts, objective, *ends, block=5, **changes):
    """The state, the sum of losses and the last use after updates up to each of the ends."""
    total, use = 0.0, None
    for first, last in zip((0, *ends), ends, strict=False):
        batches = chosen(texts, KEY, first, block, BATCH)
        span = jnp.int32(first), jnp.int32(last)
        program = Program(objective, BATCH)
        state, loss, use = advance(state, batches, KEY, *span, WEIGHTS, schedule(**changes), program)
        total += float(loss) * (last - first)
    return state, total, use


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
    rate = float(rate_at(Program(objective, BATCH), schedule(), 2.0, jnp.int32(done)))
    assert abs(rate - 2.0 * wanted) < 0.02


@pytest.fixture(scope="module")
def corpus():
    settings = FitConfig(texts=30, held_out=4)
    return corpora(jax.random.key(0), task("list_summation"), settings)


def started(corpus, objective):
    subject = task("list_summation")
    size = Size(width=8, layers=1, heads=1, hidden=8)
    latents = 0 if objective == "base" else LATENTS
    model = start_model(jax.random.key(1), subject.name, subject.vocabulary(), size, corpus[2], latents)
    return begun(model, Program(objective, BATCH), schedule())


def test_what_the_texts_of_the_last_batches_cost_is_remembered(corpus):
    texts = corpus[0]
    state = started(corpus, "balanced")
    each, router = surprisals_and_router(state.model, texts)
    told = np.asarray(evened(each.sum(axis=-1), router))
    assert state.memory.shape == (REMEMBERED * BATCH, LATENTS)
    seen = [np.asarray(state.memory)]
    seen += [np.asarray(after(state, texts, "balanced", *range(1, last + 1))[0].memory) for last in (1, 2)]
    np.testing.assert_array_equal(seen[1][:-BATCH], 0.0)
    for row in seen[1][-BATCH:]:
        assert np.abs(told - row).max(axis=1).min() < 1e-3
    np.testing.assert_array_equal(seen[2][:-BATCH], seen[1][BATCH:])
    assert np.abs(seen[2][-BATCH:] - seen[1][-BATCH:]).max() > 0.1


@pytest.mark.parametrize("objective", ["base", "balanced", "marginal"])
def test_blocks_of_any_length_are_one_program_and_one_result(corpus, objective):
    texts = corpus[0]
    begin = started(corpus, objective)
    whole, total, use = after(begin, texts, objective, 5)
    assert use.shape == (0 if objective == "base" else LATENTS,)
    programs = advance._cache_size()
    parts, sum_of_parts, _ = after(begin, texts, objective, 3, 4, 5)
    assert advance._cache_size() == programs
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        np.testing.assert_array_equal(one, other)
    assert total == pytest.approx(sum_of_parts, rel=1e-6)


def test_runs_of_another_schedule_and_of_other_texts_are_the_same_program(corpus):
    """The parts of a factorization: each compilation takes as long as a hundred updates."""
    begin = started(corpus, "balanced")
    usual = {"hold": 0.5, "fade": 0.7}
    changed = {"steps": 1}, {"rate": 0.1}, {"hold": 0.0, "fade": 0.0}, {"decay": 0.5}, {"warmup": 0}
    programs = None
    for texts in (corpus[0], corpus[0].some(slice(20))):
        found = [after(begin, texts, "balanced", 2, **usual)[0].model.network.head]
        programs = advance._cache_size() if programs is None else programs
        found += [
            after(begin, texts, "balanced", 2, **usual | some)[0].model.network.head for some in changed
        ]
        assert len({np.asarray(head).tobytes() for head in found}) == 6
    assert advance._cache_size() == programs


def test_updates_choose_from_all_texts_whatever_the_block(corpus):
    texts = corpus[0]
    whole = chosen(texts, KEY, 0, 200, BATCH)
    assert whole.tokens.shape == (200, BATCH, texts.tokens.shape[1])
    np.testing.assert_array_equal(chosen(texts, KEY, 150, 50, BATCH).tokens, whole.tokens[150:])
    named = {row.tobytes(): place for place, row in enumerate(texts.tokens)}
    places = np.array([named[row.tobytes()] for row in whole.tokens.reshape(200 * BATCH, -1)])
    assert set(places) == set(named.values())
    np.testing.assert_array_equal(whole.ends.ravel(), texts.ends[places])


def test_other_objectives_remember_nothing(corpus):
    assert started(corpus, "marginal").memory.shape == (0, LATENTS)
