"""Logs from arrays: shapes, padding, what is refused."""

import numpy as np
import pytest

import coverjax as cj
from coverjax.foundation.checks import InputError

ONES = np.ones((2, 3, 4), bool)


def test_padding_is_emptied():
    score = np.arange(6.0).reshape(2, 3)
    log = cj.SampleLog.from_arrays(ONES, n=[3, 1], score=score, latent=[[0, 1, 2], [1, 0, 0]])
    assert log.matches.shape == (2, 1, 3, 4)
    assert log.matches.sum(axis=(1, 2, 3)).tolist() == [12, 4]
    assert log.inside.sum(axis=2).tolist() == [[3], [1]]
    np.testing.assert_array_equal(log.score[1, 0], [3.0, np.nan, np.nan])
    assert log.latent[1, 0].tolist() == [1, -1, -1]
    assert log.latents == ("z0", "z1", "z2")


def test_sizes_of_a_log():
    log = cj.SampleLog.from_arrays(ONES, n=[3, 0], declared=[True, False, True, False])
    assert log.inputs == 2
    assert log.declared_count.tolist() == [2, 2]
    assert log.smallest_n == 3
    assert cj.SampleLog.from_arrays(ONES, n=[0, 0]).smallest_n == 0
    assert log.labels == (("0", "1", "2", "3"),) * 2
    assert log.ids.tolist() == [0, 1]


def test_kinds_empty_the_labels_and_keep_the_samples():
    valid = np.array([[1, 0, 1], [0, 0, 1]])
    log = cj.SampleLog.from_arrays(ONES, valid=valid)
    assert log.kept("raw") is log.matches
    np.testing.assert_array_equal(log.kept("valid")[:, 0], np.broadcast_to(valid[..., None] == 1, (2, 3, 4)))
    with pytest.raises(InputError, match="has no `correct` column"):
        log.kept("correct")
    with pytest.raises(InputError, match="must be one of raw, valid, correct"):
        log.kept("good")


def test_a_minimum_score_says_what_is_correct():
    log = cj.SampleLog.from_arrays(ONES, n=[3, 2], score=[[0, 1, 2], [1, 0, 5]])
    assert log.with_min_score(1).correct[:, 0].tolist() == [[False, True, True], [True, False, False]]
    with pytest.raises(InputError, match="needs a `score` column"):
        cj.SampleLog.from_arrays(ONES).with_min_score(1)


def test_none_of_the_rows_and_rows_that_are_not_there():
    log = cj.SampleLog.from_arrays(ONES, valid=ONES[..., 0])
    for none in ([], np.zeros(2, bool), np.array([], dtype=int)):
        taken = log.take(none)
        assert taken.inputs == 0
        assert taken.matches.shape == (0, 1, 3, 4)
        assert taken.valid.shape == (0, 1, 3)
        assert log.counts().take(none).inputs == 0
    assert log.take([-1]).ids.tolist() == [1]
    for wrong in ([2], [-3], ["p"], [0.5], [[0]], [True]):
        with pytest.raises(InputError, match="rows: must be"):
            log.take(wrong)


@pytest.mark.parametrize("more", [{}, {"method": ["a", "a"]}])
def test_names_that_are_no_names(more):
    with pytest.raises(
        InputError, match=r"ids: must be names \(text or numbers\), one an input; got \['p'\]"
    ):
        cj.SampleLog.from_arrays(ONES, ids=[["p"], ["q"]], **more)
    with pytest.raises(InputError, match="ids: must be names"):
        cj.CountTable.from_arrays([1, 2], n=2, ids=[{}, {"a": 1}])


def test_rows_with_methods():
    log = cj.SampleLog.from_arrays(np.ones((3, 2, 1)), method=["b", "a", "b"])
    assert log.ids.tolist() == [0, 0, 1]
    named = cj.SampleLog.from_arrays(np.ones((3, 2, 1)), method=["b", "a", "b"], ids=["p", "p", "q"])
    parts = named.by_method()
    assert {name: part.ids.tolist() for name, part in parts.items()} == {"b": ["p", "q"], "a": ["p"]}
    assert parts["a"].method is None
    assert parts["a"].provenance == {"method": "a"}
    assert named.take([2, 1]).ids.tolist() == ["q", "p"]
    with pytest.raises(InputError, match="'p' stands twice"):
        cj.SampleLog.from_arrays(np.ones((3, 2, 1)), method=["b", "a", "b"], ids=["p", "p", "p"])
    with pytest.raises(InputError, match="no method column"):
        log.by_method()["a"].by_method()


def test_take_cuts_every_array():
    flags = np.array([[1, 0, 1], [0, 1, 1]])
    log = cj.SampleLog.from_arrays(ONES, n=[3, 2], valid=flags, correct=flags, score=flags, latent=flags)
    one = log.take([1])
    for name in ("matches", "n", "declared", "valid", "correct", "score", "latent", "ids"):
        np.testing.assert_array_equal(getattr(one, name), getattr(log, name)[1:], err_msg=name)
    assert log.take(np.array([False, True])).ids.tolist() == [1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"matches": np.ones((2, 3))}, r"matches: must be \[inputs, samples, labels\]"),
        ({"matches": np.full((1, 2, 3), 2)}, "matches: must hold flags"),
        ({"matches": np.full((1, 2, 3), np.nan)}, "matches: must hold flags"),
        ({"matches": np.ones((0, 2, 3))}, "matches: must hold at least one input"),
        ({"n": [3]}, "n: must have shape"),
        ({"n": [4, 3]}, "n: must be whole numbers from 0 to 3"),
        ({"n": [-1, 3]}, "n: must be whole numbers from 0 to 3"),
        ({"n": [1.5, 3]}, "n: must be whole numbers from 0 to 3"),
        ({"declared": [True]}, r"declared: must be bool \[4\]"),
        ({"declared": [2, 0, 0, 0]}, "declared: must hold flags"),
        ({"valid": np.ones((2, 2))}, "valid: must have one entry for each sample"),
        ({"correct": np.full((2, 3), "x")}, "correct: must hold flags"),
        ({"score": np.full((2, 3), np.nan)}, "score: must be a number for every sample"),
        ({"latent": np.full((2, 3), -2)}, "latent: must be whole numbers >= 0"),
        ({"latent": np.full((2, 3), 0.5)}, "latent: must be whole numbers >= 0"),
        ({"labels": [["a"]]}, "labels: must give each of the 2 inputs"),
        ({"ids": ["a", "a"]}, "ids: must be distinct"),
        ({"ids": ["a"]}, "ids: must name each of the 2 inputs"),
        ({"method": ["a"]}, "method: must name the method of each of the 2 rows"),
        ({"method": ["a", "b"], "ids": ["p"]}, "ids: must name each of the 2 rows"),
    ],
)
def test_wrong_arrays(options, says):
    with pytest.raises(InputError, match=says):
        cj.SampleLog.from_arrays(**({"matches": ONES} | options))
