"""Options of a verb: a typed dataclass, read by tyro, its complaints cut to one line."""

import contextlib
import io
import re
from collections.abc import Sequence
from typing import TypeVar

import tyro

from coverjax.foundation.checks import InputError

Options = TypeVar("Options")

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_RULE = re.compile(r"^[─-]{3,}$")
_EDGES = ("╭", "╰", "+")
"""Top and bottom of a box, in line drawing or plain characters; its title says again what the words say."""


def parse(options: type[Options], verb: str, argv: Sequence[str]) -> Options:
    """Return the options of a verb from its arguments.

    `--help` prints and leaves by SystemExit.

    Raises:
        InputError: an option is unknown, lacks its value, or has one of the wrong type.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(
                options,
                prog=f"coverjax {verb}",
                args=list(argv),
                config=(tyro.conf.DisallowNone, tyro.conf.FlagCreatePairsOff),
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        raise InputError(f"coverjax {verb}: {_gist(said.getvalue())}; see coverjax {verb} --help") from stop


def _gist(box: str) -> str:
    """Cut tyro's framed complaint, many lines with hints in them, to its words on one line."""
    words = []
    for line in _COLOURS.sub("", box).splitlines():
        if line.startswith(_EDGES):
            continue
        inside = _RULE.sub("", line.strip("│| "))
        if inside.startswith(("For full helptext", "Argument helptext")):
            break
        words.append(inside)
    return " ".join(" ".join(words).split()).rstrip(".")
