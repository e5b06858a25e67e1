"""The inputs that two have in common."""

import dataclasses

import numpy as np

import coverjax as cj
from coverjax.inference.pairing import common_rows, paired_rows


def curves_of(ids, declared, n):
    log = cj.SampleLog.from_arrays(np.ones((len(ids), 4, 2), bool), n=n, declared=declared, ids=ids)
    return cj.estimate(log, 3)


def test_rows_are_paired_by_id_in_the_order_of_the_first():
    a, b = (np.array(names, dtype=object) for names in (["p", "q", 7, "r"], [7, "x", "p"]))
    rows_a, rows_b = common_rows(a, b)
    assert rows_a.tolist() == [0, 2]
    assert rows_b.tolist() == [2, 0]
    nothing = common_rows(a, np.array(["7"], dtype=object))
    assert [rows.tolist() for rows in nothing] == [[], []]
    assert nothing[0].dtype == np.int64


def test_inputs_must_be_in_use_in_both():
    some, none = [True, True], [False, False]
    a = curves_of(["p", "q", "r", "s"], [some, some, none, some], [4, 2, 4, 4])
    b = curves_of(["s", "r", "q", "p", "t"], [some] * 5, [4, 4, 4, 4, 4])
    assert [rows.tolist() for rows in paired_rows(a, b)] == [[0, 3], [3, 0]]
    assert [rows.tolist() for rows in paired_rows(b, a)] == [[0, 3], [3, 0]]
    worth = {"u": np.ones((4, 3))}, {"u": np.ones((5, 3))}
    a, b = (dataclasses.replace(part, utility=held) for part, held in zip((a, b), worth, strict=True))
    # A utility needs no declared strategy.
    assert [rows.tolist() for rows in paired_rows(a, b, "u")] == [[0, 2, 3], [3, 1, 0]]
