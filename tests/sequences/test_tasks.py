"""Tasks: every trace of every strategy validates as itself, on random inputs of every family."""

import collections
import pickle
import subprocess
import sys

import numpy as np
import pytest

import coverjax as cj
from coverjax.sequences.tasks.multi import Mixed

NAMES = cj.sequences.task_names()
MOST_X, MOST_Y = 24, 48
"""Longest prompt and trace, in characters: a small model learns them in minutes."""

SAMPLED = 150


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
    inputs = task.sample_inputs(rng, 1000)
    ambiguous = np.mean([len(set(traces(task, x).values())) < len(task.strategies()) for x in inputs])
    assert ambiguous < 0.05


def test_no_token_is_used_by_one_strategy_only(task, inputs):
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
        for text in (task.render_x(x), *texts):
            assert "".join(task.split(text)) == text
            used |= set(task.split(text))
    assert used <= known
    assert list(task.vocabulary()) == sorted(known)
    assert not any(token.isspace() and token != " " for token in known)


def test_a_cell_of_a_grid_is_one_token():
    grid = cj.sequences.task("grid_pathfinding")
    assert grid.split("path d1 b4 not b1,c2") == ["path ", "d1", " ", "b4", " not ", "b1", ",", "c2"]
    assert grid.split("d1;d2>4") == ["d1", ";", "d2", ">", "4"]
    with pytest.raises(cj.InputError, match="got 'z' at character 2 of 'd1z'"):
        grid.split("d1z")


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
@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("list_summation", 5508),
        ("sorting_algorithms", 4662),
        ("grid_pathfinding", 4010),
        ("linear_equation_solving", 1592),
        ("base_conversion", 1670),
        ("multidigit_addition", 8100),
    ],
)
def test_every_input_that_is_not_ambiguous_is_drawn_equally_often(name, inputs, rng):
    """Chi-square over the inputs, each expected 12 times or more, within 6 deviations of its mean: false
    alarm below 1e-6. Equations of which c was drawn below a are hundreds of deviations away."""
    task = cj.sequences.task(name)
    drawn = collections.Counter(task.sample_input(rng) for _ in range(100_000))
    seen = np.array(
        [c for x, c in drawn.items() if len(set(traces(task, x).values())) == len(task.strategies())]
    )
    assert 0 <= inputs - len(seen) <= 2  # 12 times expected, one in 160,000 is not drawn
    expected = seen.sum() / len(seen)
    assert expected >= 12
    chi_square, freedom = np.sum((seen - expected) ** 2) / expected, len(seen) - 1
    assert abs(chi_square - freedom) < 6 * np.sqrt(2 * freedom)


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
        (lambda t, x: t.split("é"), "text: must consist of the task's .* words; got 'é'"),
        (
            lambda t, x: t.sample_inputs(np.random.default_rng(0), -1),
            "count: must be a whole number >= 0; got -1",
        ),
        (
            lambda t, x: t.sample_inputs(np.random.default_rng(0), 2.0),
            "count: must be a whole number >= 0; got 2.0",
        ),
        (lambda t, x: cj.sequences.task(t.name, [0.5, 0.5]), "frequencies: must give one number for each of"),
        (lambda t, x: cj.sequences.task(t.name, [2.0] + [0.0] * (len(t.strategies()) - 1)), "sum to 1"),
        (lambda t, x: cj.sequences.task("sums"), "task: must be one of list_summation.*; got 'sums'"),
    ],
)
def test_wrong_input_is_one_line(task, call, message):
    x = task.sample_input(np.random.default_rng(0))
    with pytest.raises(cj.InputError, match=message) as caught:
        call(task, x)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("x", [None, 3, "abc", {}, [1, 2], (1, [2]), ((),), np.arange(3)], ids=repr)
def test_what_is_no_input_is_one_line_wherever_it_is_given(task, x):
    mixture, first = cj.sequences.multi_task(), task.strategies()[0]
    given = [(task, x, first)]
    given += [(mixture, own, f"{task.name}/{first}") for own in (x, Mixed(task.name, x), Mixed([], 1))]
    for subject, own, strategy in given:
        for name, more in (("render_x", ()), ("render", (strategy,)), ("validate_y_text", ("1>1",))):
            with pytest.raises(cj.InputError, match=r"x: must be an input of \w+, from") as caught:
                getattr(subject, name)(own, *more)
            assert "\n" not in str(caught.value)


def test_tasks_load_no_jax():
    code = "import sys, coverjax as cj; cj.sequences.task('list_summation'); print('jax' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("list_summation", "sum 999998,1"),
        ("list_summation", "sum " + ",".join(["9"] * 1000)),
        ("linear_equation_solving", "solve 9998x+2=9996x+202"),
        ("base_conversion", "base 9 888888"),
        ("base_conversion", "base 2 100000"),
        ("multidigit_addition", "add 99999+99999"),
        ("multidigit_addition", "add 10000+10000"),
        ("sorting_algorithms", "sort 9876543210"),
        ("grid_pathfinding", "path a1 a3 not a2,b2,c2,d2"),
    ],
)
def test_the_largest_inputs_that_can_be_stated_validate_too(name, prompt):
    task = cj.sequences.task(name)
    x = task.parse_x(prompt)
    for strategy, text in traces(task, x).items():
        found = task.validate_y_text(x, text)
        assert strategy in found.strategy_matches
        assert found.answer_correct


def test_a_task_can_be_sent_and_is_the_same_there(task, inputs):
    traces(task, inputs[0])
    sent = pickle.loads(pickle.dumps(task))
    assert traces(sent, inputs[0]) == traces(task, inputs[0])
    assert sent.frequencies.tolist() == task.frequencies.tolist()
    mixture = pickle.loads(pickle.dumps(cj.sequences.multi_task()))
    assert mixture.strategies() == cj.sequences.multi_task().strategies()


def test_frequencies_stay_as_they_were_set(task):
    with pytest.raises(ValueError, match="read-only"):
        task.frequencies[0] = 0.0


class TestMixture:
    """multi_task: inputs of all families, each with the strategies of its own."""

    @pytest.fixture
    def mixture(self):
        return cj.sequences.multi_task()

    def test_an_input_has_its_own_familys_strategies(self, mixture, rng):
        assert mixture.families() == NAMES
        everything = [f"{name}/{s}" for name in NAMES for s in cj.sequences.task(name).strategies()]
        assert list(mixture.strategies()) == everything
        inputs = mixture.sample_inputs(rng, SAMPLED)
        assert {mixture.family(x) for x in inputs} == set(NAMES)
        for x in inputs:
            own = cj.sequences.task(mixture.family(x))
            assert mixture.strategies(x) == tuple(f"{own.name}/{s}" for s in own.strategies())
            assert mixture.frequencies_of(x).tolist() == own.frequencies.tolist()
            assert mixture.parse_x(mixture.render_x(x)) == x

    def test_traces_are_those_of_the_family(self, mixture, rng):
        for x in mixture.sample_inputs(rng, SAMPLED):
            family = cj.sequences.task(mixture.family(x))
            for name in mixture.strategies(x):
                text = mixture.render(x, name)
                assert text == family.render(x.x, name.split("/")[1])
                found, theirs = mixture.validate_y_text(x, text), family.validate_y_text(x.x, text)
                assert name in found.strategy_matches <= set(mixture.strategies(x))
                assert {match.split("/")[1] for match in found.strategy_matches} == theirs.strategy_matches
                assert found.outcome == theirs.outcome

    def test_a_trace_of_another_family_matches_nothing(self, mixture, rng):
        inputs = mixture.sample_inputs(rng, 60)
        for x in inputs:
            for other in inputs:
                if mixture.family(other) != mixture.family(x):
                    text = mixture.render(other, mixture.strategies(other)[0])
                    assert not mixture.validate_y_text(x, text).strategy_matches

    def test_vocabulary_and_frequencies_are_all_of_them(self, mixture):
        assert set(mixture.vocabulary()) == {
            token for name in NAMES for token in cj.sequences.task(name).vocabulary()
        }
        assert len(mixture.frequencies) == len(mixture.strategies())
        assert abs(mixture.frequencies.sum() - 1) < 1e-12

    def test_shares_choose_the_families(self, rng):
        mixture = cj.sequences.multi_task(
            frequencies={"base_conversion": [1.0, 0.0, 0.0]},
            shares={"list_summation": 0.0, "base_conversion": 1.0},
        )
        corpus = mixture.sample_corpus(rng, 50)
        assert {sample.strategy for sample in corpus} == {"base_conversion/horner"}
        assert mixture.families() == ("list_summation", "base_conversion")
        assert cj.sequences.task("multi_task").families() == NAMES

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (
                lambda m: m.render(m.parse_x("sum 1,2"), "pairs"),
                "strategy: must be one of list_summation/left",
            ),
            (lambda m: m.family((1, 2)), r"x: must be an input of multi_task, from .*; got \(1, 2\)"),
            (lambda m: m.parse_x("spell cat"), "x_text: must be a prompt that begins with one of sum, sort"),
            (lambda m: m.parse_x("base 4 219"), "x_text: must be written in digits below the base; got"),
            (lambda m: cj.sequences.multi_task(shares={"spelling": 1.0}), "family: must be one of"),
            (lambda m: cj.sequences.multi_task(shares={"list_summation": 0.5}), "shares: must be numbers"),
            (lambda m: cj.sequences.multi_task(shares={}), "families: must be different ones, at least one"),
            (
                lambda m: cj.sequences.task("multi_task", [1.0]),
                "frequencies: of multi_task are given by family",
            ),
        ],
    )
    def test_wrong_input_is_one_line(self, mixture, call, message):
        with pytest.raises(cj.InputError, match=message):
            call(mixture)


@pytest.mark.parametrize(
    ("name", "prompt", "message"),
    [
        ("list_summation", "sum 3", "must be a prompt such as 'sum "),
        ("sorting_algorithms", "sort 1231", "must hold different digits"),
        ("sorting_algorithms", "sort 123", "must hold digits that are not in order yet"),
        ("grid_pathfinding", "path a1 a1", "must name two different cells, and walls elsewhere"),
        ("grid_pathfinding", "path a1 c3 not c3", "must name two different cells, and walls elsewhere"),
        ("grid_pathfinding", "path a1 c3 not b2,a2", "must name the walls in order, each once"),
        ("grid_pathfinding", "path a1 c3 not a2,b1", "must leave a way through"),
        ("linear_equation_solving", "solve 2x+4=6x+8", "must be ax.b=cx.d with a > c > 0, d > b > 0"),
        ("linear_equation_solving", "solve 3x+4=2x+8", "and a common factor"),
        ("linear_equation_solving", "solve 8x+2=2x+4", "must have a whole number up to 100 as its solution"),
        ("linear_equation_solving", "solve 4x+2=2x+500002", "must have a whole number up to 100"),
        ("linear_equation_solving", "solve 99998x+2=99990x+162", "must have sides of 999999 at most"),
        ("list_summation", "sum 999999,1", "must add up to 999999 at most"),
        ("base_conversion", "base 3 213", "must be written in digits below the base"),
        ("multidigit_addition", "add 47+855", "must add numbers with equally many digits"),
    ],
)
def test_prompts_that_state_no_input_say_why(name, prompt, message):
    with pytest.raises(cj.InputError, match=message) as caught:
        cj.sequences.task(name).parse_x(prompt)
    assert str(caught.value).endswith(f"got {prompt!r}")
