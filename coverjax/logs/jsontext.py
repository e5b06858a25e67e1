"""JSON as duckdb reads it, in Python: used to find the place of a fault, and to read a first record."""

import json
from typing import Any

from coverjax.foundation.checks import json_fault


class TextError(Exception):
    """What is wrong with a text; the caller knows the place."""


class Number(str):
    """A JSON number as duckdb prints it: whole numbers as they stand, others shortest."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that a key which stands twice is seen."""

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key!r}: {value!r}" for key, value in self) + "}"


_JOIN = ": write each object on one line of its own"

DECODER = json.JSONDecoder(
    parse_int=Number,
    parse_float=lambda token: Number(repr(float(token))),
    parse_constant=Number,
    object_pairs_hook=Pairs,
)
"""Gives None, bool, str, `Number`, list or `Pairs`."""


def json_value(text: str) -> Any:
    """Return the value of a JSON text: None, bool, str, `Number`, list or `Pairs`.

    Raises:
        TextError: no JSON, or a text with half a surrogate pair.
    """
    try:
        value = DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise TextError(json_fault(error)) from None
    except RecursionError:
        raise TextError("malformed JSON: nested too deeply") from None
    need_pairs(value, text)
    return value


def need_pairs(value: Any, text: str) -> None:
    """Raise where a value, read from this text, holds half a surrogate pair, which no UTF-8 can hold."""
    if "\\u" not in text:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise TextError("malformed JSON: a \\u escape holds half a surrogate pair") from None


def json_record(line: str) -> dict[str, Any]:
    """Return the JSON object that one line holds.

    Raises:
        TextError: no JSON, or no object.
    """
    try:
        value = json_value(line.rstrip("\r\n"))
    except TextError as fault:
        if line.strip() in ("[", "{", "[{"):
            raise TextError(
                f"must be one JSON object a line; got the start of a longer text{_JOIN}"
            ) from None
        raise fault
    if isinstance(value, Pairs):
        return record_of(value)
    hint = _JOIN if isinstance(value, list) else ""
    raise TextError(f"must be one JSON object a line; got {kind_name(value)}{hint}")


def record_of(value: Any) -> dict[str, Any]:
    """Return a JSON object as a dict.

    Raises:
        TextError: it is no object, or a key stands twice.
    """
    if not isinstance(value, Pairs):
        raise TextError(f"must be a JSON object; got {kind_name(value)}")
    record = dict(value)
    if len(record) != len(value):
        keys = [key for key, _ in value]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise TextError(f"malformed JSON: the key {twice!r} stands twice")
    return record


def kind_name(value: Any) -> str:
    """Name what a JSON value is, for a message."""
    if value is None:
        return "null"
    for kind, name in (
        (bool, "a flag"),
        (Number, "a number"),
        (str, "text"),
        (Pairs, "an object"),
        (list, "a list"),
    ):
        if isinstance(value, kind):
            return name
    raise AssertionError(f"no JSON value: {value!r}")
