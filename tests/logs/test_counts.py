"""Count tables: built, cut, and equal to what counting a log by hand gives."""

import numpy as np
import pytest

import coverjax as cj
from coverjax.foundation.checks import InputError


def a_log(rng, **options):
    return cj.SampleLog.from_arrays(rng.random((3, 5, 4)) < 0.4, n=[5, 3, 1], **options)


def test_counting_a_log_by_hand(rng):
    valid, correct = rng.random((2, 3, 5)) < 0.5
    log = a_log(rng, valid=valid, correct=correct, declared=[1, 1, 0, 1], labeler="rule", ids=["a", "b", "c"])
    table = log.counts()
    for row in range(3):
        for label in range(4):
            samples = range(log.n[row, 0])
            assert table.counts[row, label] == sum(log.matches[row, 0, i, label] for i in samples)
            assert table.counts_valid[row, label] == sum(
                log.matches[row, 0, i, label] & valid[row, i] for i in samples
            )
            assert table.kept("correct")[row, label] == sum(
                log.matches[row, 0, i, label] & correct[row, i] for i in samples
            )
    assert table.n.tolist() == [5, 3, 1]
    assert table.smallest_n == 1
    assert table.inputs == 3
    assert table.declared_count.tolist() == [3, 3, 3]
    assert table.labels == log.labels
    assert table.ids.tolist() == ["a", "b", "c"]
    assert table.labelers == ("rule",)
    assert table.counts.dtype == table.n.dtype == np.int64


def test_what_a_count_table_cannot_hold(rng):
    with pytest.raises(InputError, match="counts forget the order"):
        a_log(rng, ordered=True).counts()
    two = cj.SampleLog.from_arrays(rng.random((2, 2, 5, 4)) < 0.4, ids=["a", "b"], n=[[5, 0], [4, 4]])
    with pytest.raises(InputError, match="no trials, and the input 'b' has several"):
        two.counts()
    assert two.take([0]).counts().n.tolist() == [5]
    table = a_log(rng).counts()
    with pytest.raises(InputError, match="no counts of valid samples"):
        table.kept("valid")
    with pytest.raises(InputError, match="must be one of raw, valid, correct"):
        table.kept("all")
    with pytest.raises(InputError, match="no method column"):
        table.by_method()


def test_labels_that_copy_the_latent_stay_known():
    matches = np.eye(3, dtype=bool)[[[0, 1, 2]]]
    names = [["0", "1", "2"]]
    log = cj.SampleLog.from_arrays(matches, latent=[[0, 1, 2]], labels=names)
    assert log.repeats_latent()
    assert log.counts().repeats_latent()
    other = cj.SampleLog.from_arrays(matches, latent=[[0, 1, 1]], labels=names)
    assert not other.counts().repeats_latent()
    assert cj.SampleLog.from_arrays(matches, labeler="latent").counts().repeats_latent()


def test_take_and_by_method(rng):
    log = a_log(rng, method=["b", "a", "b"], valid=np.ones((3, 5), bool))
    table = log.counts()
    parts = table.by_method()
    assert list(parts) == ["b", "a"]
    assert parts["b"].ids.tolist() == [0, 1]
    assert parts["b"].method is None
    assert parts["b"].provenance["method"] == "b"
    np.testing.assert_array_equal(parts["b"].counts, table.counts[[0, 2]])
    np.testing.assert_array_equal(parts["b"].counts_valid, table.counts_valid[[0, 2]])
    back = table.take([2, 0])
    np.testing.assert_array_equal(back.n, [1, 5])
    assert back.method.tolist() == ["b", "b"]
    assert table.take(table.n > 2).n.tolist() == [5, 3]


def test_tables_from_arrays():
    table = cj.CountTable.from_arrays([3, 0], n=[4, 2], ids=["p", "q"])
    assert table.counts.tolist() == [[3], [0]]
    assert table.n.tolist() == [4, 2]
    assert table.labels == (("0",), ("0",))
    assert cj.CountTable.from_arrays([[1.0, 2.0]], n=2).counts.dtype == np.int64
    named = cj.CountTable.from_arrays([[1, 2]], 2, [True, False], labels=[["a", "b"]])
    assert named.labels == (("a", "b"),)
    assert named.declared_count.tolist() == [1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([[1, 5]], 4), r"counts: must be at most n; row 0 has 5 matches of 4 samples"),
        (([[1, -1]], 4), "counts: must not be negative; got -1"),
        (([[1.5]], 4), "counts: must hold whole numbers"),
        (([[np.nan]], 4), "counts: must hold whole numbers"),
        (([["a"]], 4), "counts: must hold whole numbers"),
        (([[True]], 4), "counts: must hold whole numbers"),
        ((np.zeros((0, 2)), 4), "at least one input"),
        ((np.zeros((1, 2, 2)), 4), r"got shape \(1, 2, 2\)"),
        (([[1], [1]], [4, 4, 4]), r"n: must be one number or have shape \[2\]"),
        (([[1]], 4, [1.0]), "declared: must be bool"),
        (([[1]], 4, [True, False]), "declared: must be bool"),
    ],
)
def test_wrong_arrays(arguments, says):
    with pytest.raises(InputError, match=says):
        cj.CountTable.from_arrays(*arguments)


def test_wrong_names():
    with pytest.raises(InputError, match="labels: must give each of the 1 inputs 2 names"):
        cj.CountTable.from_arrays([[1, 2]], 4, labels=[["a"]])
    with pytest.raises(InputError, match="ids: must name each of the 2 inputs"):
        cj.CountTable.from_arrays([1, 2], 4, ids=["a"])
