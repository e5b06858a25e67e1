"""Settings from a TOML file: every value checked, every fault with its line, every unknown key refused."""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from coverjax.foundation.checks import InputError, file_error, listed, shown
from coverjax.foundation.toml import read_toml_bytes


def read_settings(path: str) -> "tuple[Section, str]":
    """Read a TOML file; return its top table and the SHA-256 of the file.

    Raises:
        InputError: it can't be read, or is no TOML, with the line where there is one.
    """
    table, text, data = read_toml_bytes(path)
    return Section(path, text, table), hashlib.sha256(data).hexdigest()


class Section:
    """Takes values out of a table of a TOML file, each checked, and knows the line of a key."""

    def __init__(self, path: str, text: str, table: Mapping[str, Any], section: str = ""):
        self.path, self.text, self.table, self.section = path, text, table, section
        self.asked: set[str] = set()

    def fault(self, key: str, message: str) -> InputError:
        name = f"{self.section}.{key}" if self.section else key
        return file_error(self.path, self._line(key), name, message)

    def _line(self, key: str) -> int | None:
        """The line of a key within its section; of the section where it lacks the key."""
        inside, found = not self.section, None
        for number, line in enumerate(self.text.splitlines(), start=1):
            head = re.match(r"\s*\[+\s*([\w.\-]+)\s*\]+", line)
            if head:
                inside = head[1] == self.section
                found = number if inside and found is None else found
            elif inside and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*=""", line):
                return number
        return found

    def take(self, key: str, kinds: "type | tuple[type, ...]", must: str, default: Any = ...) -> Any:
        """Return a value of one of the kinds, else raise; `default` where the key is absent."""
        self.asked.add(key)
        if key not in self.table:
            if default is ...:
                raise self.fault(key, f"must be {must}; it is missing")
            return default
        value = self.table[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise self.fault(key, f"must be {must}; got {shown(value)}")
        return value

    def text_of(self, key: str, default: Any = ...) -> Any:
        """Return text that is not empty."""
        value = self.take(key, str, "text", default)
        if value is not default and not value.strip():
            raise self.fault(key, "must be text that is not empty")
        return value

    def number(self, key: str, default: Any = ...) -> Any:
        """Return a finite number."""
        value = self.take(key, (int, float), "a number", default)
        if value is default:
            return value
        if not math.isfinite(value):
            raise self.fault(key, f"must be a finite number; got {value}")
        return float(value)

    def whole(self, key: str, least: int, default: Any = ...) -> Any:
        """Return a whole number of at least `least`."""
        value = self.take(key, int, f"a whole number of at least {least}", default)
        if value is not default and value < least:
            raise self.fault(key, f"must be at least {least}; got {value}")
        return value

    def word(self, key: str, allowed: Sequence[str], default: Any = ...) -> Any:
        """Return one of the allowed words."""
        value = self.take(key, str, f"one of {', '.join(allowed)}", default)
        if value not in allowed:
            raise self.fault(key, f"must be one of {', '.join(allowed)}; got {shown(value)}")
        return value

    def names(self, key: str, default: Any = ()) -> tuple[str, ...]:
        """Return a list of different names."""
        values = self.take(key, list, "a list of names", list(default))
        if any(not isinstance(value, str) or not value for value in values) or len(set(values)) < len(values):
            raise self.fault(key, f"must list different names; got {shown(values)}")
        return tuple(values)

    def section_of(self, key: str, needed: bool = False) -> "Section":
        """Return the table of a key."""
        table = self.take(key, dict, f"a table [{key}]", ... if needed else {})
        return self.within(key, table)

    def within(self, key: str, table: Mapping[str, Any]) -> "Section":
        """Return a table that stands in this one."""
        return Section(self.path, self.text, table, key)

    def finish(self) -> None:
        """Refuse keys that nobody asked for: a misspelt one would be a rule that isn't there."""
        strange = [key for key in self.table if key not in self.asked]
        if strange:
            raise self.fault(strange[0], f"unknown key; known are {listed(sorted(self.asked), limit=20)}")
