"""Tasks: every trace of every strategy validates as itself, on random inputs of every family."""

import collections
import re
import subprocess
import sys

import numpy as np
import pytest

import coverjax as cj

NAMES = cj.sequences.task_names()
MOST_X, MOST_Y = 24, 48
"""Longest prompt and trace, in characters: a small model learns them in minutes."""

SAMPLED = 300


@pytest.fixture(params=NAMES)
def task(request):
    return cj.sequences.task(request.param)


@pytest.fixture
def inputs(task, rng):
    return task.sample_inputs(rng, SAMPLED)


def traces(task, x):
    return {name: task.render(x, name) for name in task.strategies(x)}


def test_every_trace_of_every_strategy_validates_as_itself(task, inputs):
    for x in inputs:
        texts = traces(task, x)
        for name, text in texts.items():
            found = task.validate_y_text(x, text)
            # Exactly the strategies that write this text, by comparing texts alone.
            same = {other for other, its in texts.items() if its == text}
            assert found.strategy_matches == same
            assert name in same
            assert found.outcome == ("unique" if len(same) == 1 else "ambiguous")
            assert (found.parse_success, found.structurally_valid, found.answer_correct) == (True, True, True)


def test_all_strategies_reach_the_same_answer(task, inputs):
    for x in inputs:
        assert len({text.partition(">")[2] for text in traces(task, x).values()}) == 1


def test_at_least_three_strategies_and_few_ambiguous_inputs(task, rng):
    assert len(task.strategies()) >= 3
    inputs = task.sample_inputs(rng, 2000)
    ambiguous = np.mean([len(set(traces(task, x).values())) < len(task.strategies()) for x in inputs])
    assert ambiguous < 0.05


def test_no_character_is_used_by_one_strategy_only(task, inputs):
    users = collections.defaultdict(set)
    for x in inputs:
        for name, text in traces(task, x).items():
            for token in task.split(text):
                users[token].add(name)
    assert min(len(names) for names in users.values()) > 1


def test_texts_are_short_and_written_in_the_vocabulary(task, inputs):
    known = set(task.vocabulary())
    used = set()
    for x in inputs:
        assert len(task.split(task.render_x(x))) <= MOST_X
        texts = list(traces(task, x).values())
        assert max(map(len, texts)) <= MOST_Y
        used |= set("".join(texts)) | set(task.render_x(x))
    assert used <= known
    assert list(task.vocabulary()) == sorted(known)
    assert not any(token.isspace() and token != " " for token in known)


def test_a_prompt_states_its_input(task, inputs):
    for x in inputs:
        assert task.parse_x(task.render_x(x)) == x
        assert hash(x) == hash(task.parse_x(task.render_x(x)))
        assert task.family(x) == task.name


def test_sampling_is_seeded_and_a_prefix_of_a_longer_batch(task):
    some = task.sample_inputs(np.random.default_rng(3), 20)
    assert task.sample_inputs(np.random.default_rng(3), 8) == some[:8]
    assert task.sample_inputs(np.random.default_rng(4), 20) != some
    assert task.sample_inputs(np.random.default_rng(4), 0) == []
    assert task.sample_corpus(np.random.default_rng(3), 30) == task.sample_corpus(
        np.random.default_rng(3), 30
    )


@pytest.mark.statistical
def test_a_corpus_has_the_frequencies_that_are_set(task, rng):
    """|z| < 5 for each of at most 4 strategies in 2 settings: false alarm below 1e-5 a task."""
    count = len(task.strategies())
    even = cj.sequences.task(task.name, np.full(count, 1 / count))
    assert task.frequencies[0] > 1.5 * task.frequencies[-1]
    for made in (task, even):
        corpus = made.sample_corpus(rng, 2000)
        seen = collections.Counter(sample.strategy for sample in corpus)
        for name, share in zip(made.strategies(), made.frequencies, strict=True):
            assert abs(seen[name] - 2000 * share) < 5 * np.sqrt(2000 * share * (1 - share))
        assert all(made.render(s.x, s.strategy) == s.y_text for s in corpus)
        assert all(made.render_x(s.x) == s.x_text for s in corpus)


def test_blanks_around_a_text_are_not_looked_at_and_blanks_inside_are(task, inputs):
    x = inputs[0]
    text = task.render(x, task.strategies()[0])
    assert task.validate_y_text(x, f" {text}\n") == task.validate_y_text(x, text)
    assert task.validate_y_text(x, text.replace(">", " >")).outcome == "parse_failure"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, x: t.render(x, "by magic"), "strategy: must be one of .*; got 'by magic'"),
        (lambda t, x: t.validate_y_text(x, None), "y_text: must be text; got None"),
        (lambda t, x: t.validate_y_text([1, 2], "1"), r"x: must be an input of \w+, from .*; got \[1, 2\]"),
        (lambda t, x: t.render((None, "a"), t.strategies()[0]), r"x: must be an input of \w+"),
        (lambda t, x: t.parse_x("what?"), "x_text: must be a prompt such as '.*'; got 'what\\?'"),
        (lambda t, x: t.split("é"), "text: must be written in the .* characters of .*; got 'é'"),
        (lambda t, x: t.sample_inputs(np.random.default_rng(0), -1), "count: must be at least 0; got -1"),
        (lambda t, x: cj.sequences.task(t.name, [0.5, 0.5]), "frequencies: must give one number for each of"),
        (lambda t, x: cj.sequences.task(t.name, [2.0] + [0.0] * (len(t.strategies()) - 1)), "sum to 1"),
        (lambda t, x: cj.sequences.task("sums"), "task: must be one of list_summation.*; got 'sums'"),
    ],
)
def test_wrong_input_is_one_line(task, inputs, call, message):
    with pytest.raises(cj.InputError, match=message) as caught:
        call(task, inputs[0])
    assert "\n" not in str(caught.value)
    assert re.search("must", str(caught.value))


def test_tasks_load_no_jax():
    code = "import sys, coverjax as cj; cj.sequences.task('list_summation'); print('jax' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
