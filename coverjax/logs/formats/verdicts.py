"""Whether a value that a metric or a scorer gives says that a sample is correct, and its score."""

import math
from typing import Any

from coverjax.logs.jsontext import Number

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""inspect's CORRECT, INCORRECT, PARTIAL and NOANSWER, and what they count as."""

WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def as_score(value: Any) -> float | None:
    """Return a flag, a number, a letter of inspect, yes or no, or a number as text as a finite number."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and not isinstance(value, Number):
        if value in LETTERS:
            return LETTERS[value]
        if value.strip().lower() in WORDS:
            return WORDS[value.strip().lower()]
    if not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def as_verdict(value: Any) -> bool | None:
    """Return whether a value says correct: a score from 0 to 1 does where it is 1; None: it doesn't say."""
    score = as_score(value)
    if score is None or not 0.0 <= score <= 1.0:
        return None
    return score == 1.0


def is_missing(value: Any) -> bool:
    """Whether a value stands for no value: null, or NaN (inspect's mark of a sample that was not scored)."""
    if value is None:
        return True
    return isinstance(value, Number | float) and math.isnan(float(value))
