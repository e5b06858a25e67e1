"""Text to numbers and back; what a model reads; who is fitted and who is held out."""

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.sequences.roles import ROLES, inputs_of, role
from coverjax.sequences.tasks.registry import task, task_names
from coverjax.sequences.tokenizer import END, SPECIALS, Tokenizer, pairs, prompts

SMALL = Tokenizer(("a", "b", "ab", " "), latents=2)


def test_numbers_are_given_out_text_first_latents_last():
    assert SMALL.names() == (END, "a", "b", "ab", " ", *SPECIALS, "<z0>", "<z1>")
    assert (SMALL.end, SMALL.text_size, SMALL.size) == (0, 5, 11)
    assert [SMALL.latent(z) for z in (-1, 0, 1)] == [SMALL.special("<none>"), 9, 10]
    assert SMALL.with_latents(0).size == 9


def test_text_is_cut_by_longest_match():
    assert SMALL.encode("aab b") == [1, 3, 4, 2]
    assert SMALL.encode("") == []


def test_text_comes_back_up_to_its_end_without_special_tokens():
    assert SMALL.decode([1, 3, 4, 2]) == "aab b"
    assert SMALL.decode([1, SMALL.special("<pad>"), 2, 9, 0, 1]) == "ab"


@pytest.mark.parametrize("name", task_names())
def test_every_text_of_every_task_comes_back(name, rng):
    subject = task(name)
    tokenizer = Tokenizer(subject.vocabulary())
    for text in subject.sample_corpus(rng, 20):
        for part in (text.x_text, text.y_text):
            assert tokenizer.decode(tokenizer.encode(part)) == part


def test_what_a_model_reads():
    pad, begin, separator, none = (SMALL.special(name) for name in SPECIALS)
    tokens, slots, ends = pairs(SMALL, [("a", "b a"), ("ab b", "")])
    assert tokens.tolist() == [
        [begin, 1, separator, none, 2, 4, 1, 0],
        [begin, 3, 4, 2, separator, none, 0, pad],
    ]
    assert (slots.tolist(), ends.tolist()) == ([3, 5], [7, 6])
    asked, pads = prompts(SMALL, ["a", "ab b"])
    assert asked.tolist() == [[pad, pad, begin, 1, separator, none], [begin, 3, 4, 2, separator, none]]
    assert pads.tolist() == [2, 0]
    wider, more = prompts(SMALL, ["a", "ab b"], 8)
    assert (wider.shape, more.tolist()) == ((2, 8), [4, 2])
    assert wider[:, 2:].tolist() == asked.tolist()
    assert prompts(SMALL, ["a", "ab b"], 3)[0].tolist() == asked.tolist()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: SMALL.encode("abc"), "must consist of the task's 4 words; got 'c' at character 2 of 'abc'"),
        (lambda: prompts(SMALL, ["a", "abc"]), "got 'c' at character 2 of 'abc'"),
        (lambda: pairs(SMALL, [("a", "abc")]), "got 'c' at character 2 of 'abc'"),
        (lambda: Tokenizer(()), "words: must be distinct, at least one"),
        (lambda: Tokenizer(("a", "a")), "words: must be distinct, at least one"),
        (lambda: Tokenizer(("a", END)), "words: must be texts, and none of <end>"),
        (lambda: Tokenizer(("a",), -1), "latents: must be a whole number >= 0; got -1"),
    ],
)
def test_what_can_not_be_read_is_named(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_roles_belong_to_inputs_and_share_them_8_to_1_to_1():
    shares = np.bincount([ROLES.index(role(f"sum {n}")) for n in range(20_000)]) / 20_000
    np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=0.01)


def test_inputs_of_a_role_are_distinct_and_a_longer_list_begins_with_the_shorter():
    subject = task("list_summation")
    short, long = (inputs_of(subject, np.random.default_rng(3), count, "test") for count in (5, 12))
    assert long[:5] == short
    texts = [subject.render_x(x) for x in long]
    assert len(set(texts)) == 12
    assert {role(text) for text in texts} == {"test"}


@pytest.mark.parametrize("count", [0, -5, 2.0])
def test_a_number_of_inputs_is_a_whole_one(count):
    with pytest.raises(InputError, match=f"inputs: must be a whole number >= 1; got {count}"):
        inputs_of(task("list_summation"), np.random.default_rng(0), count, "test")


def test_more_inputs_than_a_task_has_are_refused(monkeypatch):
    monkeypatch.setattr("coverjax.sequences.roles.PATIENCE", 3)
    with pytest.raises(InputError, match="base_conversion seems to have only"):
        inputs_of(task("base_conversion"), np.random.default_rng(0), 300, "test")
