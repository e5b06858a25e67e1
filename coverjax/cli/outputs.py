"""What every verb does with its result: the folder it writes to, what it prints, the command it was."""

import contextlib
import dataclasses
import pathlib
import shlex
import sys
import typing
from collections.abc import Iterator, Sequence
from typing import Any

import tyro

from coverjax.foundation.checks import listed
from coverjax.foundation.files import whole_folder

PLACES = frozenset({"out", "json", "file", "resume", "workers"})
"""Options that say where options come from, where results go or who works: no part of what was computed."""


@contextlib.contextmanager
def out_folder(out: pathlib.Path | None, own: Sequence[str] = ()) -> Iterator[pathlib.Path | None]:
    """Offer the folder to write into; it is made first, so that a long run doesn't end in "can't write".

    Args:
        out: the folder, or None where nothing is to be written.
        own: names that the verb may write; those of an earlier run that are not written again go.
    """
    if out is None:
        yield None
    else:
        with whole_folder(out, own) as part:
            yield part


def finish(out: pathlib.Path | None, written: Sequence[str], text: str) -> None:
    """Print the result on stdout; say on stderr what was written."""
    sys.stdout.write(text)
    if out is not None:
        print(f"{out}: wrote {listed(written, limit=20)}", file=sys.stderr)


def plain(options: Any) -> dict[str, Any]:
    """Return the options that bear on the result, defaults filled in, as plain values."""
    values = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    return {name: _plain(value) for name, value in values.items() if name not in PLACES}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, pathlib.Path) else value


def command_line(verb: str, options: Any) -> str:
    """Return the command that gives this result, with the options that differ from their defaults."""
    places: list[str] = []
    flags: list[str] = []
    positional = positionals(type(options))
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if field.name in PLACES or value == field.default:
            continue
        words = list(map(str, value)) if isinstance(value, tuple) else [str(value)]
        if field.name in positional:
            places += words
        else:
            flags += [flag(field.name), *([] if value is True else words)]
    return shlex.join(["coverjax", *verb.split(), *places, *flags])


def flag(name: str) -> str:
    """Return how a field is written on the command line."""
    return "--" + name.replace("_", "-")


def positionals(options: type) -> list[str]:
    """Return the fields that stand by their place, in order."""
    hints = typing.get_type_hints(options, include_extras=True)
    marked = {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}
    return [f.name for f in dataclasses.fields(options) if tyro.conf.Positional in marked[f.name]]
