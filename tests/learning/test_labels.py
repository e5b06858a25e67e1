"""Label sets to arrays."""

import numpy as np
import pytest

import coverjax as cj


def test_arrays_hold_what_the_lists_say():
    groups = [[["a", "b"], [], ["b", "x"], None], [{"c"}, "a"]]
    encoded = cj.encode_labels(groups, declared=["a", "b", "c"])
    assert encoded.labels == (("a", "b", "c"),) * 2
    assert encoded.matches.astype(int).tolist() == [
        [[1, 1, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]],
        [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]],
    ]
    assert encoded.mask.tolist() == [[True] * 4, [True, True, False, False]]
    assert encoded.weights.tolist() == [[1.0, 1.0, 1.0]] * 2
    assert encoded.undeclared.tolist() == [1, 0]


def test_each_group_may_have_its_own_strategies():
    encoded = cj.encode_labels([["u", "v"], [["w"], ["u"]]], declared=[["u", "v", "t"], ["w"]])
    assert encoded.labels == (("u", "v", "t"), ("w",))
    assert encoded.weights.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert encoded.matches[1].astype(int).tolist() == [[1, 0, 0], [0, 0, 0]]
    assert encoded.undeclared.tolist() == [0, 1]


def test_without_declared_the_labels_seen_stand_for_them():
    encoded = cj.encode_labels([[[3, 1], [2]], [[1]]])
    assert encoded.labels == ((1, 2, 3),) * 2
    assert encoded.undeclared.tolist() == [0, 0]


def test_padding_changes_no_advantage():
    groups = [[["a"], ["b"], [], ["a"]], [["c"], ["c", "d"], []]]
    together = cj.encode_labels(groups, declared=[["a", "b"], ["c", "d", "e"]])
    both = cj.coverage_advantages(together.matches, 2, "loo", mask=together.mask, weights=together.weights)
    for number, names in enumerate((["a", "b"], ["c", "d", "e"])):
        alone = cj.encode_labels([groups[number]], declared=names)
        expected = cj.coverage_advantages(alone.matches[0], 2, "loo")
        np.testing.assert_allclose(both[number, : len(expected)], expected, rtol=1e-14)


def test_a_group_without_any_label_is_a_group():
    encoded = cj.encode_labels([[None, []]], declared=["a"])
    assert encoded.matches.tolist() == [[[False], [False]]]


@pytest.mark.parametrize(
    ("groups", "declared", "message"),
    [
        ([], None, "groups: must be a list of groups"),
        ("ab", None, "groups: must be a list of groups"),
        ([[3]], None, "a sample must be a set of labels.*got 3 at group 0, sample 0"),
        ([["a"]], "a", "declared: must be a list of labels"),
        ([["a"]], ["a", "a"], "labels must be distinct; 'a' stands twice"),
        ([["a"]], [["a"], ["b"]], "must be one list of labels, or 1 lists"),
        ([["a"], ["b"]], [["a"], "b"], "must be one list of labels, or 2 lists"),
    ],
)
def test_wrong_input_is_refused(groups, declared, message):
    with pytest.raises(cj.InputError, match=message):
        cj.encode_labels(groups, declared)
