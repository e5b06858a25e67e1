"""Each message says what must hold, what came and what to do."""

import numpy as np
import pytest

from coverjax.foundation import checks, rng
from coverjax.foundation.checks import InputError


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: checks.budgets(0), "budget: must be at least 1 draw; got 0"),
        (lambda: checks.budgets(2.5), "budget: must be whole numbers of draws; got 2.5"),
        (lambda: checks.budgets(True), "budget: must be whole numbers"),
        (lambda: checks.budgets([]), "budget: must be one number or a one-dimensional array"),
        (lambda: checks.budgets([[1]]), r"got shape \(1, 1\)"),
        (lambda: checks.budgets([3, 2]), "strictly increasing"),
        (lambda: checks.budgets([1, 1]), "strictly increasing"),
        (lambda: checks.budgets(float("nan")), "whole numbers"),
        (lambda: checks.input_ids(["a"], 2), "must name each of the 2 inputs once; got 1"),
        (lambda: checks.input_ids(["a", "a"], 2), "'a' stands twice"),
        (lambda: checks.one_of("mode", "x", ("a", "b")), "mode: must be one of a, b; got 'x'"),
        (lambda: checks.fraction("level", 1), "level: must lie strictly between 0 and 1; got 1.0"),
    ],
)
def test_messages(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_budgets_are_one_to_k_or_the_array_itself():
    assert checks.budgets(3).tolist() == [1, 2, 3]
    assert checks.budgets(np.array([1.0, 10.0])).tolist() == [1, 10]
    assert checks.budgets(np.int32(2)).dtype == np.int64


def test_file_error_reads_like_a_compiler_message():
    assert str(checks.file_error("a.jsonl", 3, "sample", "must be a whole number")) == (
        "a.jsonl:3: sample: must be a whole number"
    )
    assert str(checks.file_error("a.jsonl", None, None, "is empty")) == "a.jsonl: is empty"


def test_long_values_are_cut_and_long_lists_counted():
    assert len(checks.shown("x" * 500)) == 60
    assert checks.listed(range(9), 3) == "0, 1, 2 and 6 more"


def test_streams_are_named_and_not_placed():
    assert rng.stream_number(7) == 7
    assert rng.stream_number(np.int64(7)) == 7
    assert rng.stream_number("7") != 7
    assert rng.stream_number("a") == rng.stream_number("a") >= 2**31
    assert len(set(rng.stream_numbers([f"input-{i}" for i in range(2_000)]).tolist())) == 2_000
