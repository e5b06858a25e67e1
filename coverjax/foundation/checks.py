"""Checks on the host, once, at the edge of the library.

Every message says what must hold, what came and what to do. Messages about files read
``file:line: field: ...`` so that an editor can jump there.
"""

import difflib
import json
import operator
from collections.abc import Hashable, Iterable, Sequence
from os import PathLike
from typing import Any

import numpy as np


class InputError(ValueError):
    """The caller's input is wrong; the message is one line and complete."""


def file_error(path: str | PathLike[str], line: int | None, field: str | None, message: str) -> InputError:
    """Build the error for one place in one file, as ``file:line: field: message``."""
    place = str(path) if line is None else f"{path}:{line}"
    return InputError(f"{place}: {message}" if field is None else f"{place}: {field}: {message}")


def json_fault(error: json.JSONDecodeError, *, column: bool = True) -> str:
    """Say what is wrong with a JSON text, and where in its line unless `column` is False."""
    what = error.msg.removesuffix(" at").removesuffix(" starting")
    return f"malformed JSON: {what}" + (f" at column {error.colno}" if column else "")


def shown(value: object, limit: int = 60) -> str:
    """Quote a value for a message: one line, cut at `limit` characters."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        text = "a number of thousands of digits"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def listed(names: Iterable[object], limit: int = 6) -> str:
    """List names for a message; after `limit` of them only their number."""
    words = [str(name) for name in names]
    more = len(words) - limit
    return ", ".join(words[:limit]) + (f" and {more} more" if more > 0 else "")


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return "1 input", "20 inputs", "1,060 inputs"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def near_name(name: str, known: Iterable[str]) -> str:
    """Return the known name that a name was probably meant to be, "" where there is none.

    >>> near_name("Strategy", ["input", "strategies"]), near_name("text", ["input", "strategies"])
    ('strategies', '')
    """
    plain = {other.strip().lower(): other for other in known}
    found = difflib.get_close_matches(name.strip().lower(), plain, n=1, cutoff=0.75)
    return plain[found[0]] if found else ""


def one_of(name: str, value: object, allowed: Sequence[str]) -> str:
    """Return `value` if it is one of the allowed words, else raise."""
    if value not in allowed:
        raise InputError(f"{name}: must be one of {', '.join(allowed)}; got {shown(value)}")
    return str(value)


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """Return `value` as an int if it is a whole number (not 3.0, not True) >= `least`, else raise."""
    try:
        number = least - 1 if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"{name}: must be a whole number >= {least}; got {shown(value)}")
    return number


def fraction(name: str, value: float) -> float:
    """Return `value` as a float strictly between 0 and 1, else raise."""
    value = float(value)
    if not 0.0 < value < 1.0:
        raise InputError(f"{name}: must lie strictly between 0 and 1; got {value!r}")
    return value


def budgets(
    value: "int | Sequence[int] | np.ndarray", most: int = 1 << 53, why: str = "what can be counted"
) -> np.ndarray:
    """Return the budgets as int64 [B]: an int K means 1..K, an array must be increasing and >= 1.

    Args:
        value: K, or the budgets.
        most: the largest budget allowed.
        why: what that is.
    """
    array = np.asarray(value)
    if array.dtype == bool or not (
        np.issubdtype(array.dtype, np.integer)
        or (np.issubdtype(array.dtype, np.floating) and np.isfinite(array).all() and (array % 1 == 0).all())
    ):
        raise InputError(f"budget: must be whole numbers of draws; got {shown(value)}")
    if array.ndim > 1 or array.size == 0:
        raise InputError(f"budget: must be one number or a one-dimensional array; got shape {array.shape}")
    if np.any(array < 1):
        raise InputError(f"budget: must be at least 1 draw; got {shown(array.min().item())}")
    if array.max() > most:
        raise InputError(f"budget: must be at most {most}, {why}; got {array.max().item():.15g}")
    array = array.astype(np.int64)  # unsigned numbers would wrap in the differences below
    if array.ndim == 0:
        return np.arange(1, int(array) + 1, dtype=np.int64)
    if np.any(np.diff(array) <= 0):
        raise InputError("budget: an array of budgets must be strictly increasing; sort it and drop repeats")
    return array


def input_ids(ids: "Sequence[object] | np.ndarray | None", inputs: int) -> np.ndarray:
    """Return one distinct name per input as an object array [inputs]; None numbers them 0, 1, ..."""
    if ids is None:
        return np.arange(inputs).astype(object)
    named = np.empty(len(ids), dtype=object)
    named[:] = [i.item() if isinstance(i, np.generic) else i for i in ids]
    if len(named) != inputs:
        raise InputError(f"ids: must name each of the {inputs} inputs once; got {len(named)} names")
    for name in named.tolist():
        if not isinstance(name, Hashable):
            raise InputError(f"ids: must be names (text or numbers), one an input; got {shown(name)}")
    if len(set(named.tolist())) != inputs:
        seen: set[object] = set()
        twice = next(i for i in named.tolist() if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise InputError(f"ids: must be distinct; {shown(twice)} stands twice")
    return named
