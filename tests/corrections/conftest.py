"""Cases for the tests of corrections, and systems that worker processes can import."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
# `teachable` must be importable, whatever pytest's import mode; a spawned process is given the same path.

COLOURS = ("red", "blue", "green", "white", "black", "amber", "olive", "coral")


@pytest.fixture
def make_cases():
    """Return cases c0, c1, ... that each teach the first `n` colours; several `n` are used in turn.

    With `own` the colours are words of each case's own: red0, blue0, ... and red1, blue1, ...
    """

    def make(count, n=4, own=False, **fields):
        lengths = [n] if isinstance(n, int) else n
        return [
            {
                "concept": f"c{i}",
                "curriculum": [f"A c{i} is {word}." for word in words(i, lengths, own)],
                "probe": f"What is c{i}?",
                "expected_tokens": words(i, lengths, own),
                **fields,
            }
            for i in range(count)
        ]

    return make


def words(i, lengths, own):
    return [f"{word}{i}" if own else word for word in COLOURS[: lengths[i % len(lengths)]]]
