"""TOML files of the user's, read to plain values; what is no TOML is one line."""

import os
import pathlib
import re
import tomllib
from typing import Any

from coverjax.foundation.checks import InputError, file_error

_LONG = re.compile(r"\d{4301}")
"""More digits than Python makes an integer of."""


def read_toml(path: str | os.PathLike[str]) -> tuple[dict[str, Any], str]:
    """Return what a TOML file holds, and its text.

    Raises:
        InputError: the file can't be read, or is no TOML, with the line where there is one.
    """
    told, text, _ = read_toml_bytes(path)
    return told, text


def read_toml_bytes(path: str | os.PathLike[str]) -> tuple[dict[str, Any], str, bytes]:
    """Return what a TOML file holds, its text, and the bytes that it was read from.

    Raises:
        InputError: as of `read_toml`.
    """
    try:
        data = pathlib.Path(path).read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise file_error(path, None, None, f"can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise file_error(path, None, None, f"must be TOML in UTF-8: {error.reason}") from error
    try:
        return tomllib.loads(text), text, data
    except (ValueError, RecursionError) as error:
        raise _no_toml(path, error, text) from error


def _no_toml(path: str | os.PathLike[str], error: Exception, text: str) -> InputError:
    if isinstance(error, RecursionError):
        return file_error(path, None, None, "must be TOML: lists or tables are nested too deeply")
    digits = _LONG.search(text)
    if digits is not None and not isinstance(error, tomllib.TOMLDecodeError):
        line = text.count("\n", 0, digits.start()) + 1
        return file_error(path, line, None, "must be TOML: a number has too many digits")
    told = re.search(r"at line (\d+)", str(error))
    line = int(told[1]) if told else max(1, len(text.splitlines()))
    return file_error(path, line, None, f"must be TOML: {error}")
