"""Two logs, or two tables of counts, are the same to the bit."""

import numpy as np

FIELDS = ("matches", "n", "declared", "valid", "correct", "score", "latent")
COUNTS = ("counts", "n", "declared", "counts_valid", "counts_correct")


def same(log, expected) -> None:
    """Compare a log with the reference's arrays, to the bit."""
    for name in FIELDS:
        found = getattr(log, name)
        if name not in expected:
            assert found is None, name
        else:
            assert found.dtype.kind == expected[name].dtype.kind
            np.testing.assert_array_equal(found, expected[name], err_msg=name)
    assert log.labels == expected["labels"]
    assert log.ids.tolist() == expected["ids"]
    assert (None if log.method is None else log.method.tolist()) == expected["method"]


def same_logs(one, other) -> None:
    same(
        one,
        {name: getattr(other, name) for name in FIELDS if getattr(other, name) is not None}
        | {
            "labels": other.labels,
            "ids": other.ids.tolist(),
            "method": None if other.method is None else other.method.tolist(),
        },
    )
    for name in ("latents", "labelers", "declared_given", "ordered"):
        assert getattr(one, name) == getattr(other, name)


def same_tables(one, other) -> None:
    for name in COUNTS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("labels", "labelers", "declared_given", "copies_latent"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.ids.tolist() == other.ids.tolist()
    assert (one.method is None) == (other.method is None)
    if one.method is not None:
        assert one.method.tolist() == other.method.tolist()
