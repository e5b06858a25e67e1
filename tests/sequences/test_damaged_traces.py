"""Damaged and foreign traces: each kind of damage has one right outcome, by what it does to a trace.

Three rungs. Traces written by hand for one input a family. Kinds of damage applied to random traces, each
with the outcome that follows from the kind (the reason stands beside it). And random edits, judged by brute
force: `reference_tasks` lists every body that follows, without reading a trace.
"""

import random

import numpy as np
import pytest
import reference_tasks as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from traces_by_hand import AMBIGUOUS, BY_HAND, EQUATION, GRID, INVALID, OFF, UNIQUE, UNREADABLE

import coverjax as cj

NAMES = cj.sequences.task_names()

GARBAGE = (
    "hello",
    "?",
    ">",
    ";>",
    ">1",
    "the answer is 17",
    "1" * 5000 + ">1",
    "１＋１＝２>2",
    "\x00",
    "é>1",
    "->-",
    "1>>1",
)


@pytest.mark.parametrize(
    ("task", "prompt", "text", "outcome", "matches", "correct"), BY_HAND, ids=[row[2] for row in BY_HAND]
)
def test_by_hand(task, prompt, text, outcome, matches, correct):
    found = task.validate_y_text(task.parse_x(prompt), text)
    assert found.outcome == outcome, found.reason
    assert found.strategy_matches == (None if matches is None else set(matches.split()))
    assert found.answer_correct == correct
    assert found.parse_success == (outcome != UNREADABLE)
    assert found.structurally_valid == (outcome in (UNIQUE, AMBIGUOUS, OFF))
    assert bool(found.reason) == (outcome not in (UNIQUE, AMBIGUOUS))


def taken_apart(text):
    body, _, answer = text.partition(">")
    return body.split(";"), answer


def joined(steps, answer):
    return ";".join(steps) + ">" + answer


# Each kind of damage yields texts from a trace; its outcome is the same whatever the trace, for this reason.


def cut_off(steps, answer):
    """No answer: the text ends before it."""
    whole = joined(steps, answer)
    yield from (whole[:length] for length in range(whole.index(">") + 2))


def misspelt(steps, answer):
    """A character that no step or answer has in that place."""
    for at in (steps[0][0], steps[-1][-1]):
        yield from (
            joined(steps, answer).replace(at, at + strange, 1) for strange in (" ", "!", "-", "\u0661")
        )
    yield from (joined(steps, answer) + more for more in (";", ">", " x", "." + answer, ">" + answer))
    yield from (joined(steps, digits) for digits in ("1" * 11, "1" * 5000))
    if not steps[0].isdigit():  # a list of digits may begin with 0, a number may not
        yield joined(steps, "0" + answer)


def text_doubled(steps, answer):
    """Two answers."""
    yield joined(steps, answer) * 2
    yield joined(steps, answer) + " " + joined(steps, answer)


def steps_missing_at_the_end(steps, answer):
    """The work isn't done. (No step at all can't be read.)"""
    yield from (joined(steps[:length], answer) for length in range(1, len(steps)))


def step_dropped(steps, answer):
    """Something that a later step or the end needs was never made: each number, place and cell is used once,
    and two exchanges (or two moves on an equation) are not one."""
    if len(steps) > 1:
        yield from (joined(steps[:at] + steps[at + 1 :], answer) for at in range(len(steps)))


def step_doubled(steps, answer):
    """The second one repeats what can be done once: numbers are used up, no list, cell or equation follows
    itself, and the two sides are worked out once a guess."""
    yield from (joined(steps[: at + 1] + steps[at:], answer) for at in range(len(steps)))


def body_doubled(steps, answer):
    """Nothing follows the end."""
    yield joined(steps + steps, answer)


def step_after_the_end(steps, answer):
    """Nothing follows the end."""
    yield from (joined([*steps, step], answer) for step in steps)


def wrong_number(steps, answer):
    """One last digit of a step is another one: a false sum or product, other digits than those of the list, a
    cell apart, an equation that no one move makes, a guess whose sides are others."""
    for at, step in enumerate(steps):
        digit = (int(step[-1]) + 3) % 10 or 4
        if not ("a" <= step[0] <= "e" and not 1 <= digit <= 5):
            yield joined([*steps[:at], step[:-1] + str(digit), *steps[at + 1 :]], answer)


DAMAGE = {
    cut_off: UNREADABLE,
    misspelt: UNREADABLE,
    text_doubled: UNREADABLE,
    steps_missing_at_the_end: INVALID,
    step_dropped: INVALID,
    step_doubled: INVALID,
    body_doubled: INVALID,
    step_after_the_end: INVALID,
    wrong_number: INVALID,
}


def some_traces(task, rng, count):
    """Traces of some inputs. Those of additions with a digit 0 are left to brute force: its part may be added
    or stay in the whole number, so that some of their damage is none."""
    zeros = task.name == "multidigit_addition"
    inputs = [x for x in task.sample_inputs(rng, 4 * count) if not (zeros and "0" in task.render_x(x))]
    for x in inputs[:count]:
        for name in task.strategies():
            yield x, name, task.render(x, name)


@pytest.mark.parametrize("kind", DAMAGE, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_each_kind_of_damage_has_its_outcome(name, kind, rng):
    task = cj.sequences.task(name)
    seen = 0
    for x, _, text in some_traces(task, rng, 8):
        for damaged in kind(*taken_apart(text)):
            found = task.validate_y_text(x, damaged)
            assert found.outcome == DAMAGE[kind], (text, damaged, found)
            assert found.strategy_matches == (None if DAMAGE[kind] == UNREADABLE else frozenset())
            assert found.reason
            assert "\n" not in found.reason
            seen += 1
    assert seen >= 20


@pytest.mark.parametrize("name", NAMES)
def test_the_corpus_of_damage_is_large(name, rng):
    """At least 60 different damaged texts a family, of one trace of each strategy alone."""
    task = cj.sequences.task(name)
    texts = {
        bad for _, _, text in some_traces(task, rng, 1) for kind in DAMAGE for bad in kind(*taken_apart(text))
    }
    assert len(texts | set(GARBAGE)) >= 60


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_answer_alone_keeps_every_match(name, rng):
    task = cj.sequences.task(name)
    for x, strategy, text in some_traces(task, rng, 20):
        steps, answer = taken_apart(text)
        wrong = str(int(answer) + 1)
        right, found = (task.validate_y_text(x, joined(steps, end)) for end in (answer, wrong))
        assert found.strategy_matches == right.strategy_matches >= {strategy}
        assert (found.outcome, found.structurally_valid) == (right.outcome, True)
        assert (right.answer_correct, found.answer_correct) == (True, False)


@pytest.mark.parametrize("name", NAMES)
def test_garbage_and_nothing_are_parse_failures(name, rng):
    task = cj.sequences.task(name)
    x = task.sample_input(rng)
    for text in ("", " ", "\n", *GARBAGE):
        found = task.validate_y_text(x, text)
        assert (found.outcome, found.strategy_matches) == (UNREADABLE, None), text
        assert (found.parse_success, found.structurally_valid, found.answer_correct) == (False, False, False)


READS = {name: {name} for name in NAMES}
READS["multidigit_addition"] |= {"list_summation"}
READS["list_summation"] |= {"multidigit_addition"}
READS["base_conversion"] |= {"list_summation", "multidigit_addition"}
"""Whose steps a family can read as its own: sums are written alike."""


@pytest.mark.parametrize("name", NAMES)
def test_another_familys_trace_matches_nothing(name, rng):
    task = cj.sequences.task(name)
    x = task.sample_input(rng)
    for other in set(NAMES) - {name}:
        for _, _, text in some_traces(cj.sequences.task(other), rng, 5):
            assert task.validate_y_text(x, text).outcome == (INVALID if other in READS[name] else UNREADABLE)


# Brute force.


def number(text):
    return text.isascii() and text.isdigit() and len(text) <= 6 and str(int(text)) == text


def side(text):
    head, x, tail = text.partition("x")
    if not x:
        return number(text)
    fine = not tail or (tail[0] == "+" and number(tail[1:]) and tail[1:] != "0")
    return fine and (not head or (number(head) and int(head) > 1))


def plain_sum(text, signs="+"):
    for sign in signs:
        if text.count(sign) == 1 and text.count("=") == 1:
            left, right = text.split("=")
            return all(number(part) for part in (*left.split(sign), right))
    return False


READABLE = {
    "list_summation": plain_sum,
    "multidigit_addition": plain_sum,
    "base_conversion": lambda text: plain_sum(text, "+*"),
    "sorting_algorithms": lambda text: text.isascii() and text.isdigit() and len(text) <= 10,
    "grid_pathfinding": lambda text: len(text) == 2 and text[0] in "abcde" and text[1] in "12345",
    "linear_equation_solving": lambda text: text.count("=") == 1 and all(map(side, text.split("="))),
}


def expected(task, x, text):
    """Outcome and matches of a text by brute force, and by comparing texts."""
    body, mark, answer = text.strip().partition(">")
    fine = READABLE["sorting_algorithms"] if task.name == "sorting_algorithms" else number
    if not (mark and fine(answer) and all(map(READABLE[task.name], body.split(";")))):
        return UNREADABLE, None
    if task.name == "linear_equation_solving":
        follows = reference.equation_follows(x, body)
    else:
        follows = body in reference.bodies(task.name, x)
    if not follows:
        return INVALID, frozenset()
    same = frozenset(s for s in task.strategies() if task.render(x, s).partition(">")[0] == body)
    return (OFF, UNIQUE, AMBIGUOUS)[min(len(same), 2)], same


def edited(task, x, rng):
    """A trace with one to three random edits of its characters or steps, often steps of another strategy."""
    pick = random.Random(int(rng.integers(2**32)))
    steps, answer = taken_apart(task.render(x, pick.choice(task.strategies())))
    others = [step for name in task.strategies() for step in taken_apart(task.render(x, name))[0]]
    for _ in range(pick.randint(1, 3)):
        at = pick.randrange(len(steps))
        kind = pick.choice(("swap", "drop", "double", "foreign", "insert", "character"))
        if kind == "swap" and at:
            steps[at - 1], steps[at] = steps[at], steps[at - 1]
        if kind == "drop" and len(steps) > 1:
            del steps[at]
        if kind == "double":
            steps.insert(at, steps[at])
        if kind == "foreign":
            steps[at] = pick.choice(others)
        if kind == "insert":
            steps.insert(at, pick.choice(others))
        if kind == "character":
            place = pick.randrange(len(steps[at]) + 1)
            token = pick.choice([*task.vocabulary(), ""])
            steps[at] = steps[at][:place] + token + steps[at][place + pick.randint(0, 1) :]
    return joined(steps, answer)


@pytest.mark.parametrize("name", NAMES)
def test_random_edits_by_brute_force(name, rng):
    task = cj.sequences.task(name)
    outcomes = []
    for x in task.sample_inputs(rng, 12):
        for _ in range(80):
            text = edited(task, x, rng)
            found = task.validate_y_text(x, text)
            assert (found.outcome, found.strategy_matches) == expected(task, x, text), (x, text, found)
            outcomes.append(found.outcome)
    assert {UNIQUE, INVALID, UNREADABLE} <= set(outcomes)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"linear_equation_solving"}))
def test_every_body_that_follows_is_valid_and_credited_by_its_text(name, rng):
    """All that brute force lists, off-strategy for the most part; strategies' own are among them."""
    task = cj.sequences.task(name)
    for x in task.sample_inputs(rng, 3):
        bodies = reference.bodies(name, x)
        own = {s: task.render(x, s).partition(">")[0] for s in task.strategies()}
        assert set(own.values()) <= bodies
        for body in sorted(bodies)[:: max(1, len(bodies) // 300)]:
            found = task.validate_y_text(x, body + ">0")
            assert found.structurally_valid, (x, body, found)
            assert found.strategy_matches == {s for s, text in own.items() if text == body}


EVERYTHING = cj.sequences.multi_task()
ASKED = [EVERYTHING.parse_x(prompt) for prompt in dict.fromkeys(row[1] for row in BY_HAND)]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.sampled_from(ASKED),
    st.one_of(
        st.text(max_size=40),
        st.text("".join(EVERYTHING.vocabulary()), max_size=40),
        st.lists(st.sampled_from([row[2] for row in BY_HAND] + [";", ">", "=", "+", "x"]), max_size=3).map(
            "".join
        ),
    ),
)
def test_any_text_has_one_outcome(x, text):
    found = EVERYTHING.validate_y_text(x, text)
    assert found.outcome in cj.sequences.OUTCOMES
    assert found.parse_success == (found.strategy_matches is not None)
    assert found.parse_success or not (found.structurally_valid or found.answer_correct)
    assert found.structurally_valid or not found.strategy_matches
    assert (found.strategy_matches or set()) <= set(EVERYTHING.strategies(x))
    for name in found.strategy_matches or ():
        assert EVERYTHING.render(x, name).partition(">")[0] == text.strip().partition(">")[0]


def test_reading_a_long_text_is_fast():
    """Texts of any length come from a model: work grows with the length and not with the ways to read it."""
    task = cj.sequences.task("multidigit_addition")
    x = task.parse_x("add 10001+10001")
    assert task.validate_y_text(x, ";".join(["0+0=0"] * 20_000) + ">1").outcome == INVALID
    walk = ";".join(["a1", "a2"] * 20_000) + ">1"
    assert GRID.validate_y_text(GRID.parse_x("path a1 c3"), walk).outcome == INVALID
    guesses = ";".join(f"x={v};{12 * v + 4}={6 * v + 16}" for v in range(3, 20_000)) + ";x=2;28=28>2"
    assert EQUATION.validate_y_text(EQUATION.parse_x("solve 12x+4=6x+16"), guesses).outcome == OFF


def test_numpy_inputs_are_not_needed():
    """Inputs hold plain numbers, so that they can be written to files and compared."""
    for name in NAMES:
        x = cj.sequences.task(name).sample_input(np.random.default_rng(0))
        flat = str(x)
        assert "np." not in flat
