"""Options of a verb: a typed dataclass, read by tyro and from TOML, complaints cut to one line."""

import contextlib
import dataclasses
import io
import pathlib
import re
from collections.abc import Sequence
from typing import Any, TypeVar

import tyro

from coverjax.cli.complaints import Kind, complaint, kinds, switch_with_value
from coverjax.foundation.checks import InputError, shown
from coverjax.foundation.toml import read_toml

Options = TypeVar("Options")

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_RULE = re.compile(r"^[─-]{3,}$")
_EDGES = ("╭", "╰", "+")
"""Top and bottom of a box, in line drawing or plain characters; its title says again what the words say."""


def check_seed(seed: int) -> None:
    """Raise where a seed is none.

    Raises:
        InputError: it is below 0 or above 2^32 - 1.
    """
    if not 0 <= seed < 1 << 32:
        raise InputError(f"--seed: must be a whole number from 0 to 2^32 - 1; got {shown(seed)}")


def parse(options: type[Options], verb: str, argv: Sequence[str], default: Any = None) -> Options:
    """Return the options of a verb from its arguments.

    `--help` prints and leaves by SystemExit.

    Args:
        options: a dataclass whose fields are the options.
        verb: the words after `coverjax`.
        argv: the words after these.
        default: options to begin with, instead of the defaults of the class.

    Raises:
        InputError: an option is unknown, lacks its value, or has one of the wrong type.
    """
    said = io.StringIO()
    early = switch_with_value(options, argv)
    if early:
        raise InputError(f"coverjax {verb}: {early}; see coverjax {verb} --help")
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(
                options,
                prog=f"coverjax {verb}",
                args=list(argv),
                default=default,
                config=(tyro.conf.DisallowNone, tyro.conf.FlagCreatePairsOff),
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        wrong = complaint(options, argv) or _gist(said.getvalue())
        raise InputError(f"coverjax {verb}: {wrong}; see coverjax {verb} --help") from stop


def parse_with_file(options: type[Options], verb: str, argv: Sequence[str]) -> Options:
    """Return options of which some may stand in a TOML file, the positional option `file`; flags win.

    The file holds the names of the flags; its paths are relative to it.

    Raises:
        InputError: as `parse`; or the file is no TOML, or holds an unknown name or a value of the wrong type.
    """
    given: Any = parse(options, verb, argv)
    if given.file is None:
        return given
    fields = dataclasses.fields(given)
    start = {
        f.name: getattr(given, f.name) if f.default is dataclasses.MISSING else f.default for f in fields
    }
    start |= {"file": given.file, **_from_file(given.file, options)}
    return parse(options, verb, argv, options(**start))


def _from_file(path: pathlib.Path, options: type) -> dict[str, Any]:
    told, _ = read_toml(path)
    known = {name: kind for name, kind in kinds(options).items() if name != "file"}
    values = {}
    for name, value in told.items():
        key = name.replace("-", "_")
        if key not in known:
            raise InputError(f"{path}: {name}: unknown option; the options are {', '.join(known)}")
        if key in values:
            raise InputError(f"{path}: {key}: must stand once; {name} is the same option")
        values[key] = _typed(f"{path}: {name}", value, known[key], path.parent)
    return values


def _typed(place: str, value: Any, kind: Kind, folder: pathlib.Path) -> Any:
    """Return a TOML value as what the option takes."""
    if kind.many:
        items = value if isinstance(value, list) else [value]
        single = dataclasses.replace(kind, many=False)
        return tuple(_typed(place, item, single, folder) for item in items)
    wanted = str if kind.type is pathlib.Path else kind.type
    fits = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
    if not fits or isinstance(value, bool) is not (wanted is bool):
        raise InputError(f"{place}: must be {kind.words}; got {shown(value)}")
    if kind.choices and value not in kind.choices:
        raise InputError(f"{place}: must be {kind.words}; got {shown(value)}")
    if kind.type is str and value.endswith(".npz"):  # a trained policy is named by its file
        return str(folder / value)
    try:
        return folder / value if kind.type is pathlib.Path else wanted(value)
    except OverflowError:
        raise InputError(f"{place}: must be {kind.words}; got {shown(value)}") from None


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
