"""Laws of one draw: what they hold, and what they refuse."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import coverjax as cj

PROBS = [[0.4, 0.3, 0.2], [0.1, 0.0, 0.5]]
SETS = [[True, True, False], [False, False, False], [False, True, True]]


def test_single_label_law_knows_marginals_and_off_strategy_mass():
    law = cj.OutcomeLaw.from_probs(PROBS, ids=["a", "b"])
    assert law.single_label
    assert (law.inputs, law.strategies, law.outcomes) == (2, 3, 3)
    assert law.ids.tolist() == ["a", "b"]
    np.testing.assert_array_equal(law.marginals(), PROBS)
    np.testing.assert_allclose(law.off_strategy, [0.1, 0.4], rtol=1e-15)
    assert law.declared_count.tolist() == [3, 3]


def test_labels_outside_the_declared_set_count_as_off_strategy():
    law = cj.OutcomeLaw.from_probs(PROBS, declared=[[1, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(law.marginals(), [[0.4, 0.3, 0], [0, 0, 0]])
    np.testing.assert_allclose(law.off_strategy, [0.3, 1.0], rtol=1e-15)
    assert law.declared_count.tolist() == [2, 0]


def test_set_law_equals_fractions_for_shared_and_own_match_sets():
    law = cj.OutcomeLaw.from_match_sets(PROBS, SETS)
    own = cj.OutcomeLaw.from_match_sets(PROBS, [SETS, SETS], declared=[True, False, True])
    for row, probs in enumerate(PROBS):
        want = [sum(Fraction(p) for p, match in zip(probs, SETS, strict=True) if match[s]) for s in range(3)]
        np.testing.assert_allclose(law.marginals()[row], np.array(want, float), rtol=1e-15)
        np.testing.assert_allclose(own.marginals()[row], np.array(want, float) * [1, 0, 1], rtol=1e-15)
    np.testing.assert_allclose(law.off_strategy, [1 - 0.6, 1 - 0.6], rtol=1e-15)
    assert not law.single_label
    np.testing.assert_array_equal(own.match_table()[0], np.array(SETS) & [True, False, True])
    np.testing.assert_array_equal(cj.OutcomeLaw.from_probs(PROBS).match_table()[1], np.eye(3, dtype=bool))


def test_jax_and_half_precision_arrays_enter_as_float64():
    single = cj.OutcomeLaw.from_probs(jnp.array(PROBS, jnp.float32))
    assert single.probs.dtype == np.float64
    np.testing.assert_array_equal(single.probs, np.float32(PROBS).astype(float))
    assert cj.OutcomeLaw.from_probs(jnp.ones((1, 2), jnp.bfloat16) / 2).probs.tolist() == [[0.5, 0.5]]
    assert cj.OutcomeLaw.from_match_sets(PROBS, jnp.array(SETS)).matches.dtype == bool


def test_rows_that_exceed_one_by_rounding_are_normalised_in_float64():
    third = np.full((1, 3), np.float32(1 / 3))
    assert third.astype(float).sum() > 1 + 8e-9
    law = cj.OutcomeLaw.from_probs(third)
    assert abs(law.probs.sum() - 1) < 3e-16
    assert law.off_strategy.tolist() == [0.0]


def test_rounding_is_no_off_strategy_mass():
    assert cj.OutcomeLaw.from_probs([[0.1] * 10]).off_strategy.tolist() == [0.0]
    assert cj.OutcomeLaw.from_probs([[1 - 1e-12]]).off_strategy[0] == pytest.approx(1e-12, rel=1e-3)


@pytest.mark.parametrize(
    ("rows", "ids"),
    [
        ([2, 0], ["c", "a"]),
        (1, ["b"]),
        (np.array([False, True, True]), ["b", "c"]),
        (slice(1, None), ["b", "c"]),
        ([True, False, False], ["a"]),
    ],
)
def test_take_keeps_every_bit(rows, ids, rng):
    probs = rng.dirichlet(np.ones(7), size=3)
    valid = rng.random((3, 7))
    matches = rng.random((3, 7, 4)) < 0.5
    law = cj.OutcomeLaw.from_match_sets(probs, matches, ids=["a", "b", "c"], valid=valid, correct=valid / 2)
    part = law.take(rows)
    chosen = [law.ids.tolist().index(name) for name in ids]
    assert part.ids.tolist() == ids
    for name in ("probs", "matches", "declared", "valid", "correct"):
        np.testing.assert_array_equal(getattr(part, name), getattr(law, name)[chosen])


def test_counting_moves_the_rest_to_matches_nothing():
    law = cj.OutcomeLaw.from_probs(PROBS, valid=[1, 0.5, 0], correct=[[1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(law.counting("valid").probs, [[0.4, 0.15, 0], [0.1, 0, 0]], rtol=1e-15)
    np.testing.assert_allclose(law.counting("correct").off_strategy, [0.6, 0.5], rtol=1e-15)
    assert law.counting("raw") is law
    assert law.counting("valid").valid is None


def test_law_is_a_tree_of_arrays_that_compilation_accepts():
    law = cj.OutcomeLaw.from_probs(PROBS, ids=["a", 7])
    doubled = jax.tree.map(lambda x: x, law)
    assert doubled.ids.tolist() == ["a", 7]
    assert jax.tree.structure(doubled) == jax.tree.structure(law)
    total = jax.jit(lambda law: law.probs.sum())(law)
    assert float(total) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("probs", "message"),
    [
        ([[0.5, -0.1]], r"between 0 and 1; got -0.1 at input 'x', strategy 1"),
        ([[0.5, np.nan]], r"between 0 and 1; got nan at input 'x', strategy 1"),
        ([[0.1, 1.5]], r"between 0 and 1; got 1.5 at input 'x', strategy 1"),
        ([[np.inf, 0.5]], r"got inf at input 'x', strategy 0"),
        ([[0.7, 0.4]], r"sum to at most 1 over the strategies; got 1.1 at input 'x'; divide the row"),
        (
            [0.7, 0.3],
            r"must be \[inputs, strategies\]; got shape \(2,\); write one input as an array of one row",
        ),
        ([[[0.7]]], r"must be \[inputs, strategies\]; got shape \(1, 1, 1\)"),
        (np.zeros((0, 3)), r"at least one input and one strategy; got no inputs"),
        (np.zeros((1, 0)), r"at least one input and one strategy; got no strategies"),
        ([["a", "b"]], r"must hold numbers"),
        ([[0.5, 1j]], r"must hold numbers"),
        ([[0.5], [0.1, 0.2]], r"rows must have the same length"),
    ],
)
def test_bad_probabilities_name_their_place(probs, message):
    with pytest.raises(cj.InputError, match=f"^probs: .*{message}"):
        cj.OutcomeLaw.from_probs(probs, ids=["x"])


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"ids": ["a"]}, r"ids: must name each of the 2 inputs once; got 1 names"),
        ({"ids": ["a", "a"]}, r"ids: must be distinct; 'a' stands twice"),
        ({"declared": [True]}, r"declared: must be bool \[3\] or \[2, 3\].*got shape \(1,\)"),
        ({"declared": [0.5, 1, 1]}, r"declared: must hold flags"),
        ({"valid": [1, 1]}, r"valid: must be \[3\] or \[2, 3\].*got shape \(2,\)"),
        (
            {"correct": [0, 2, 0]},
            r"correct: a probability must lie between 0 and 1; got 2 at input 0, outcome 1",
        ),
        ({"valid": ["yes", "no", "no"]}, r"valid: must hold flags or probabilities"),
    ],
)
def test_bad_companions_of_the_probabilities(extra, message):
    with pytest.raises(cj.InputError, match=message):
        cj.OutcomeLaw.from_probs(PROBS, **extra)


@pytest.mark.parametrize(
    ("matches", "message"),
    [
        (SETS[:2], r"matches: must be \[3, strategies\] or \[2, 3, strategies\].*got shape \(2, 3\)"),
        ([[0.3] * 3] * 3, r"matches: must hold flags"),
        (np.zeros((3, 0), bool), r"matches: must hold at least one strategy"),
        (None, r"for single labels use from_probs"),
    ],
)
def test_bad_match_sets(matches, message):
    with pytest.raises(cj.InputError, match=message):
        cj.OutcomeLaw.from_match_sets(PROBS, matches)


def test_a_law_without_flags_cannot_tell_valid_coverage():
    law = cj.OutcomeLaw.from_probs(PROBS)
    with pytest.raises(cj.InputError, match="holds no `valid` probabilities"):
        law.counting("valid")
    with pytest.raises(cj.InputError, match="must be one of raw, valid, correct; got 'passed'"):
        law.counting("passed")
