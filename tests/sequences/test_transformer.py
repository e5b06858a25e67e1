"""The network against plain NumPy; with and without cache; what padding and later tokens must not change."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.sequences.decoding import sample_tokens, within_top_p
from coverjax.sequences.transformer import (
    PRESETS,
    TINY,
    TURNS,
    Size,
    Transformer,
    logits_of,
    preset,
    stream,
    token_flops,
)

SIZE = Size(width=16, layers=2, heads=2, hidden=24)
VOCABULARY = 13
ASKED, LONGEST, TEXTS = 6, 12, 40

streams = jax.jit(jax.vmap(stream, in_axes=(None, 0, 0)))


@pytest.fixture(scope="module")
def network():
    made = Transformer.random(jax.random.key(1), SIZE, VOCABULARY, "float32")
    return eqx.tree_at(lambda net: net.head, made, 20.0 * made.head)  # far from uniform


@pytest.fixture(scope="module")
def asked():
    rng = np.random.default_rng(5)
    pads = rng.integers(0, 4, TEXTS).astype(np.int32)
    prompts = rng.integers(1, VOCABULARY, (TEXTS, ASKED)).astype(np.int32)
    return prompts, pads, jax.random.split(jax.random.key(6), TEXTS)


def plain(network, tokens):
    """The network by loops over heads and places, float64; [length, width] before the head."""

    def normalised(x, scale):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + TINY) * scale

    x = np.asarray(network.embedding, np.float64)[tokens]
    length, width = x.shape
    part = width // network.heads
    half = part // 2
    pace = TURNS ** (-np.arange(half) / half)
    for block in network.blocks:
        into, out, up, down = (
            np.asarray(w, np.float64) for w in (block.into, block.out, block.up, block.down)
        )
        three = (normalised(x, np.asarray(block.scale_attention, np.float64)) @ into).reshape(
            length, 3, -1, part
        )
        mixed = np.zeros((length, network.heads, part))
        for head in range(network.heads):
            turned = np.zeros((2, length, part))
            for t in range(length):
                for kind in (0, 1):
                    a, b = three[t, kind, head, :half], three[t, kind, head, half:]
                    cosine, sine = np.cos(t * pace), np.sin(t * pace)
                    turned[kind, t] = np.concatenate([a * cosine - b * sine, a * sine + b * cosine])
            for t in range(length):
                scores = turned[1, : t + 1] @ turned[0, t] / np.sqrt(part)
                share = np.exp(scores - scores.max())
                mixed[t, head] = share / share.sum() @ three[: t + 1, 2, head]
        x = x + mixed.reshape(length, width) @ out
        inner = np.maximum(normalised(x, np.asarray(block.scale_hidden, np.float64)) @ up, 0.0)
        x = x + inner**2 @ down
    return normalised(x, np.asarray(network.scale, np.float64))


def test_is_the_network_that_plain_numpy_computes(network, rng):
    tokens = rng.integers(0, VOCABULARY, (2, 9)).astype(np.int32)
    found = streams(network, tokens, np.zeros(2, np.int32))
    for row in range(2):
        np.testing.assert_allclose(found[row], plain(network, tokens[row]), atol=2e-5)


def test_no_token_looks_at_later_ones(network, rng):
    tokens = np.repeat(rng.integers(0, VOCABULARY, (1, 9)).astype(np.int32), 2, axis=0)
    tokens[1, 5:] = (tokens[1, 5:] + 1 + rng.integers(0, VOCABULARY - 1, 4)) % VOCABULARY
    first, second = np.asarray(streams(network, tokens, np.zeros(2, np.int32)))
    np.testing.assert_array_equal(first[:5], second[:5])
    assert np.abs(first[5:] - second[5:]).max(axis=1).min() > 1e-3


def test_padding_on_the_left_changes_nothing(network, rng):
    real = rng.integers(0, VOCABULARY, 6).astype(np.int32)
    rows = np.stack(
        [np.concatenate([rng.integers(0, VOCABULARY, 3), real]).astype(np.int32) for _ in range(2)]
    )
    first, second = np.asarray(streams(network, rows, np.full(2, 3, np.int32)))
    np.testing.assert_array_equal(first[3:], second[3:])
    np.testing.assert_allclose(first[3:], plain(network, real), atol=2e-5)


@pytest.mark.parametrize(
    ("temperature", "top_p"), [(0.0, 1.0), (1.0, 1.0), pytest.param(0.7, 0.8, marks=pytest.mark.slow)]
)
def test_with_the_cache_the_same_texts_as_without(network, asked, temperature, top_p):
    """Sampled tokens could differ where two scores are within 1e-4; on these keys none is."""
    kept, anew = (
        sample_tokens(
            network, *asked, LONGEST, 10, temperature=temperature, top_p=top_p, cached=cached, chunk=64
        )
        for cached in (True, False)
    )
    np.testing.assert_array_equal(kept, anew)
    assert len(np.unique(kept)) > 4, "one token again and again would be a weak test"


def test_texts_do_not_change_with_the_batch_they_are_drawn_in(network, asked):
    prompts, pads, keys = asked
    whole = sample_tokens(network, prompts, pads, keys, LONGEST, 10, chunk=64)
    rows = np.arange(TEXTS)[::-1]
    back = sample_tokens(network, prompts[rows], pads[rows], keys[rows], LONGEST, 10, chunk=64)
    few = sample_tokens(network, prompts[7:12], pads[7:12], keys[7:12], LONGEST, 10)
    np.testing.assert_array_equal(whole, back[::-1])
    np.testing.assert_array_equal(whole[7:12], few)


def test_a_text_ends_with_its_end_and_may_not_hold_what_is_no_text(network, asked):
    prompts, pads, keys = asked
    said = sample_tokens(network, prompts, pads, keys, LONGEST, 10, chunk=64)
    assert said.shape == (TEXTS, LONGEST)
    assert said.max() < 10
    for row in said:
        ends = np.flatnonzero(row == 0)
        if len(ends):
            assert not row[ends[0] :].any()
    assert (said == 0).any()


def test_greedy_takes_the_most_probable_token(network, asked):
    prompts, pads, keys = asked
    said = sample_tokens(network, prompts, pads, keys, LONGEST, 10, temperature=0.0, chunk=64)
    above = streams(network, prompts, pads)[:, -1]
    np.testing.assert_array_equal(said[:, 0], np.argmax(logits_of(network, above, 0, 10), axis=-1))


@pytest.mark.statistical
def test_tokens_are_drawn_by_their_probabilities(network, key):
    """4,000 draws of one token; each count has |z| < 5; false alarms below 1e-5."""
    draws = 4096
    prompts = np.full((draws, ASKED), 7, np.int32)
    keys = jax.random.split(key, draws)
    temperature = 1.5
    said = sample_tokens(
        network, prompts, np.zeros(draws, np.int32), keys, LONGEST, 10, temperature=temperature, chunk=64
    )
    above = stream(network, jnp.asarray(prompts[0]))[-1]
    p = np.asarray(jax.nn.softmax(logits_of(network, above, 0, 10) / temperature), np.float64)
    count = np.bincount(said[:, 0], minlength=10)
    z = (count - draws * p) / np.sqrt(draws * p * (1 - p))
    assert np.abs(z).max() < 5


@pytest.mark.parametrize(
    ("p", "top_p", "kept"),
    [
        ([0.5, 0.25, 0.125, 0.125], 0.5, [1, 0, 0, 0]),
        ([0.5, 0.25, 0.125, 0.125], 0.6, [1, 1, 0, 0]),
        ([0.125, 0.25, 0.125, 0.5], 0.8, [1, 1, 0, 1]),
        ([0.5, 0.25, 0.125, 0.125], 1e-9, [1, 0, 0, 0]),
        ([0.25, 0.25, 0.25, 0.25], 0.7, [1, 1, 1, 0]),
    ],
)
def test_top_p_keeps_the_smallest_set_that_holds_it(p, top_p, kept):
    found = within_top_p(jnp.log(jnp.array(p, jnp.float32)), jnp.float32(top_p))
    assert found.tolist() == [bool(k) for k in kept]


def test_bfloat16_is_close_to_float32(network, rng):
    low = dataclasses.replace(network, dtype="bfloat16")
    tokens = rng.integers(0, VOCABULARY, (4, 9)).astype(np.int32)
    wide, narrow = (
        np.asarray(streams(net, tokens, np.zeros(4, np.int32)), np.float32) for net in (network, low)
    )
    assert 1e-5 < np.abs(wide - narrow).max() < 0.15


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_hold_as_many_numbers_as_they_say(name):
    shape = jax.eval_shape(
        lambda key: Transformer.random(key, preset(name), 50, "float32"), jax.random.key(0)
    )
    assert sum(leaf.size for leaf in jax.tree.leaves(shape)) == preset(name).parameters(50)
    assert shape.size == preset(name)


def test_arithmetic_of_a_token_is_that_of_its_products():
    size = Size(width=8, layers=1, heads=1, hidden=16)
    products = 4 * 8 * 8 + 2 * 8 * 16 + 8 * 10  # attention, inner layer, head
    scales = 2 * 8 + 8
    assert token_flops(size, 10, 5) == 2 * (products + scales) + 2 * (2 * 5 * 8)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"width": 10, "heads": 4}, "width: must be a multiple of 2 x heads = 8"),
        ({"layers": 0}, "layers: must be a whole number >= 1; got 0"),
        ({"hidden": 2.5}, "hidden: must be a whole number >= 1; got 2.5"),
    ],
)
def test_sizes_that_cannot_be_built_are_refused(settings, said):
    with pytest.raises(InputError, match=said):
        Size(**settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"temperature": -1.0}, "temperature: must be a number >= 0; got -1.0"),
        ({"temperature": float("nan")}, "temperature: must be a number >= 0; got nan"),
        ({"top_p": 0.0}, r"top_p: must be a share in \(0, 1\]; got 0.0"),
        ({"longest": 0}, "longest: must be at least 1 token; got 0"),
    ],
)
def test_ways_to_draw_without_a_meaning_are_refused(network, asked, settings, said):
    longest = settings.pop("longest", 4)
    with pytest.raises(InputError, match=said):
        sample_tokens(network, *asked, longest, 10, **settings)


def test_an_unknown_preset_is_named():
    with pytest.raises(InputError, match="size: must be one of quick, small, medium, large; got 'huge'"):
        preset("huge")
