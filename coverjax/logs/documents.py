"""JSON texts that are no lines (arrays of records, documents), walked value by value, never held whole."""

import collections
import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

from coverjax.foundation.checks import file_error, json_fault
from coverjax.logs.files import LogFile, last_character, text_pieces
from coverjax.logs.jsontext import DECODER, TextError, need_pairs, record_of

LARGEST = 1 << 28
"""The most characters of one value; a longer one is taken for malformed."""

PIECE = 1 << 16
"""Characters that are read at a time, at first."""

_SPACE = re.compile(r"[ \t\r\n]*")


@dataclasses.dataclass(frozen=True)
class Part:
    """A value inside a JSON text.

    Attributes:
        line: the line it begins in.
        path: the keys (text) and places (from 0) that lead to it.
        value: as `jsontext.json_value` gives it.
    """

    line: int
    path: tuple[Any, ...]
    value: Any


class _Walker:
    """A place in a JSON text, and as much of the text as the next value needs."""

    def __init__(self, path: str):
        self.path = path
        self.pieces = text_pieces(path)
        self.text = ""
        self.at = 0
        self.line = 1
        self.ended = False

    def error(self, message: str) -> Exception:
        return file_error(self.path, self.line, None, message)

    def fill(self) -> None:
        """Read more text, as much again as there is: a long value is decoded few times."""
        held = [self.text[self.at :]]
        wanted = max(PIECE, len(held[0]))
        self.at = 0
        while wanted > 0:
            piece = next(self.pieces, None)
            if piece is None:
                self.ended = True
                break
            held.append(piece)
            wanted -= len(piece)
        self.text = "".join(held)

    def moved(self, end: int) -> None:
        self.line += self.text.count("\n", self.at, end)
        self.at = end

    def peek(self) -> str:
        """Return the next character that is no space, "" at the end."""
        while True:
            found = _SPACE.match(self.text, self.at)
            assert found is not None
            self.moved(found.end())
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended:
                return ""
            self.fill()

    def take(self, wanted: str) -> str:
        """Step over one of some characters and return it."""
        found = self.peek()
        if not found or found not in wanted:
            got = repr(found) if found else "the end of the file"
            raise self.error(f"malformed JSON: must go on with {' or '.join(wanted)}; got {got}")
        self.at += 1
        return found

    def value(self) -> Any:
        """Decode the next value and step over it."""
        if not self.peek():
            raise self.error("malformed JSON: must go on with a value; got the end of the file")
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if self.ended or len(self.text) - self.at > LARGEST:
                    self.moved(min(error.pos, len(self.text)))
                    raise self.error(json_fault(error, column=False)) from None
            except RecursionError:
                raise self.error("malformed JSON: nested too deeply") from None
            else:
                # A number may go on beyond what was read.
                if self.ended or end < len(self.text):
                    break
            self.fill()
        try:
            need_pairs(value, self.text[self.at : end])
        except TextError as fault:
            raise self.error(str(fault)) from None
        self.moved(end)
        return value

    def places(self) -> Iterator[Any]:
        """Step through an array or an object: yield each place or key where its value begins."""
        is_object = self.take("[{") == "{"
        end = "}" if is_object else "]"
        place = 0
        if self.peek() == end:
            self.at += 1
            return
        while True:
            key: Any = place
            if is_object:
                key = self.value()
                if not isinstance(key, str):
                    raise self.error("malformed JSON: a key must be text")
                self.take(":")
            self.peek()
            yield key
            place += 1
            if self.take("," + end) == end:
                return


def parts(path: str, opened: str = "") -> Iterator[Part]:
    """Yield the elements of an array, or the members of an object, of a JSON text.

    Args:
        path: the file; packed text (.gz) is unpacked.
        opened: the member of an object whose own elements or members are yielded instead of it.

    Raises:
        InputError: no JSON, or a key that stands twice; with the line.
    """
    walker = _Walker(path)
    if walker.peek() not in ("[", "{"):
        raise walker.error("malformed JSON: must be an array or an object")
    yield from _inside(walker, (), opened)
    if walker.peek():
        raise walker.error("malformed JSON: there is more text after the end of the value")


def _inside(walker: _Walker, above: tuple[Any, ...], opened: str) -> Iterator[Part]:
    seen: set[Any] = set()
    for key in walker.places():
        if key in seen:
            raise walker.error(f"malformed JSON: the key {key!r} stands twice")
        if isinstance(key, str):
            seen.add(key)
        line = walker.line
        if opened and key == opened and not above and walker.peek() in ("[", "{"):
            yield from _inside(walker, (key,), "")
        else:
            yield Part(line, (*above, key), walker.value())


def array_records(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the record of each element of an array of objects."""
    for part in parts(path):
        try:
            yield part.line, record_of(part.value)
        except TextError as fault:
            raise file_error(path, part.line, None, str(fault)) from None


def begin_array(path: str) -> LogFile:
    """Read the first record of an array of records, and whether it ends: duckdb would not miss the end."""
    for _, record in array_records(path):
        if last_character(path) != "]":
            collections.deque(array_records(path), maxlen=0)  # raises where the array breaks off
        return LogFile(path, "array", tuple(record), record)
    raise file_error(path, None, None, "is empty; it must hold an array of JSON objects")


def begin_document(path: str) -> LogFile | None:
    """Read the first keys of a JSON object up to one that holds more than one value; None: no object."""
    walker = _Walker(path)
    if walker.peek() != "{":
        return None
    first: dict[str, Any] = {}
    for key in walker.places():
        if walker.peek() in ("[", "{"):
            return LogFile(path, "document", (*first, key), first)
        first[key] = walker.value()
    return LogFile(path, "document", tuple(first), first)
