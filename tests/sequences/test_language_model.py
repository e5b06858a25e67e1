"""A model's file, whole or damaged, and its latents: new ones, and some of them."""

import json

import jax
import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.learning.checkpoints import write_checkpoint
from coverjax.sequences.corpora import corpora
from coverjax.sequences.factorization import surprisals_and_router
from coverjax.sequences.language_model import (
    ARITHMETIC,
    LanguageModel,
    latent_logs,
    start_model,
    text_surprisals,
)
from coverjax.sequences.settings import FitConfig
from coverjax.sequences.tasks.registry import task
from coverjax.sequences.tokenizer import Tokenizer, pairs
from coverjax.sequences.transformer import Size, Transformer

SIZE = Size(width=8, layers=1, heads=1, hidden=8)


@pytest.fixture(scope="module")
def subject():
    return task("list_summation")


@pytest.fixture(scope="module")
def base_model(subject):
    return start_model(jax.random.key(11), subject.name, subject.vocabulary(), SIZE, (14, 48))


def numbers(model):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(model)]


def same(a, b):
    for one, other in zip(numbers(a), numbers(b), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_model_comes_back_from_its_file(base_model, tmp_path):
    model = base_model.with_latents(jax.random.key(1), 3)
    model.save(tmp_path / "model.npz")
    found = LanguageModel.read(tmp_path / "model.npz")
    same(found, model)
    assert jax.tree.structure(found) == jax.tree.structure(model)
    model.save(tmp_path / "half.npz", dtype="float16")
    for one, other in zip(numbers(LanguageModel.read(tmp_path / "half.npz")), numbers(model), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    assert (tmp_path / "half.npz").stat().st_size < (tmp_path / "model.npz").stat().st_size


def rewritten(path, **changes):
    """Write a model's file again with other facts or arrays; None takes one away."""
    with np.load(path) as file:
        held = dict(file)
    facts = json.loads(str(held["facts"]))
    for name, value in changes.items():
        place = held if name in held else facts
        place[name] = value
        if value is None:
            del place[name]
    if "facts" in held and "facts" not in changes:
        held["facts"] = np.array(json.dumps(facts))
    np.savez(path, **held)


def damaged(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path: path.unlink(), "must be a file; there is none of that name"),
        (lambda path: (path.unlink(), path.mkdir()), "must be a file that can be read; Is a directory"),
        (lambda path: path.write_bytes(b""), "must be a language model of coverjax; it is no .npz archive"),
        (lambda path: path.write_bytes(b"no archive"), "it is no .npz archive"),
        (
            lambda path: path.write_bytes(b"PK\x03\x04"),
            "must be a language model of coverjax; File is not a zip",
        ),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "must be a language model of coverjax; "),
        (damaged, "must be a language model of coverjax; "),
        (lambda path: np.savez(path, a=np.ones(3)), "it lacks 'facts is not a file in the archive'"),
        (lambda path: rewritten(path, facts=np.array("[1]")), "must be a language model of coverjax; "),
        (
            lambda path: write_checkpoint(path, "a fit", 3, [], {}),
            "its format is coverjax-training-1, this version reads coverjax-language-model-1",
        ),
        (
            lambda path: rewritten(path, format="coverjax-language-model-0"),
            "its format is coverjax-language-model-0, this version reads coverjax-language-model-1",
        ),
        (
            lambda path: rewritten(path, arithmetic="decoder-0"),
            "its numbers are for decoder-0, this version computes decoder-1: fit it anew",
        ),
        (lambda path: rewritten(path, words=None), "it lacks 'words'"),
        (lambda path: rewritten(path, heads=0), "heads: must be a whole number >= 1; got 0"),
        (lambda path: rewritten(path, latents=1), "its arrays do not fit together"),
        (lambda path: rewritten(path, part3=None), "must be a language model of coverjax; "),
        (lambda path: rewritten(path, text_length=0.5), "text_length: must be a whole number >= 1; got 0.5"),
    ],
)
def test_a_file_that_is_no_model_is_named_in_one_line(base_model, tmp_path, change, said):
    path = tmp_path / "model.npz"
    base_model.save(path)
    change(path)
    with pytest.raises(InputError) as caught:
        LanguageModel.read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: must be a ")
    assert said in message
    assert "\n" not in message


def test_no_byte_of_a_file_can_be_lost_unnoticed(base_model, tmp_path):
    """Cut anywhere, or with any byte changed, a file is refused by name or is the same model."""
    path = tmp_path / "model.npz"
    base_model.save(path, dtype="float16")
    content = path.read_bytes()
    rng = np.random.default_rng(5)
    named = read = 0
    places = [*range(60), *range(len(content) - 60, len(content)), *rng.integers(0, len(content), 200)]
    for place in places:
        for wrong in (
            content[:place],
            content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :],
        ):
            path.write_bytes(wrong)
            try:
                found = LanguageModel.read(path)
            except InputError as error:
                named += str(error).startswith(f"{path}: ")
                continue
            for one, other in zip(numbers(found), numbers(base_model), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
            read += 1
    assert named + read == 2 * len(places)
    assert named > len(places)


def test_files_from_before_arithmetic_was_named_are_read(base_model, tmp_path):
    path = tmp_path / "model.npz"
    base_model.save(path)
    rewritten(path, arithmetic=None)
    same(LanguageModel.read(path), base_model)


def test_the_arithmetic_is_the_one_whose_name_files_carry():
    """Where this fails the same numbers are another model: `ARITHMETIC` then needs a new name, and old files
    are refused instead of misread."""
    tokenizer = Tokenizer(("0", "1", "+"), latents=2)
    network = Transformer.random(jax.random.key(0), SIZE, tokenizer.size, "float32")
    leaves, structure = jax.tree.flatten(LanguageModel(network, tokenizer, "list_summation", 5, 8))
    rng = np.random.default_rng(0)
    drawn = [jax.numpy.asarray(rng.normal(0, 0.5, leaf.shape), leaf.dtype) for leaf in leaves]
    made = jax.tree.unflatten(structure, drawn)
    tokens, slots, ends = (jax.numpy.asarray(part) for part in pairs(tokenizer, [("1+0", "01")]))
    told, above = text_surprisals(made, tokens[0], slots[0], ends[0])
    router = latent_logs(made, above[slots[0] - 1])
    assert ARITHMETIC == "decoder-1"
    np.testing.assert_allclose(told[slots[0] : ends[0]], [1.91689, 1.028001, 1.784575], atol=2e-4)
    np.testing.assert_allclose(router, [-0.538482, -0.876189], atol=2e-4)


def test_other_dtypes_are_not_written(base_model, tmp_path):
    with pytest.raises(InputError, match="dtype: must be one of float32, float16; got 'int8'"):
        base_model.save(tmp_path / "model.npz", dtype="int8")
    assert not list(tmp_path.iterdir())


def test_new_latents_start_as_the_base_model_with_a_uniform_router(base_model):
    model = base_model.with_latents(jax.random.key(1), 3)
    first = base_model.tokenizer.first_latent
    none = np.asarray(base_model.network.embedding)[first - 1]
    embedding = np.asarray(model.network.embedding)
    np.testing.assert_array_equal(embedding[:first], base_model.network.embedding)
    assert 0.1 < np.abs(embedding[first:] - none).mean() < 1.0
    assert not np.asarray(model.network.head)[:, first:].any()


def test_a_model_with_only_some_latents_is_the_same_under_them(subject, base_model):
    whole = base_model.with_latents(jax.random.key(4), 5)
    some = whole.with_only([3, 1])
    assert some.latents == 2
    texts, _, _ = corpora(jax.random.key(5), subject, FitConfig(texts=40, held_out=8))
    all_told, told = (surprisals_and_router(model, texts)[0] for model in (whole, some))
    np.testing.assert_array_equal(told, all_told[:, [3, 1]])
