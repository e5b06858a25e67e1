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

from coverjax.foundation.checks import InputError, listed
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


@contextlib.contextmanager
def interruptible(out: pathlib.Path | None, unfinished: str = "") -> Iterator[None]:
    """Say what is kept when the user stops a run that can go on.

    Args:
        out: the run's folder; without one nothing is kept.
        unfinished: the file in it that holds what is kept; without it the folder always keeps something.
    """
    try:
        yield
    except KeyboardInterrupt:
        if out is None or not (out / unfinished).exists():
            raise
        print(f"\ncoverjax: interrupted; {out} keeps what is finished: --resume goes on", file=sys.stderr)
        raise SystemExit(130) from None


def refuse_unfinished(path: pathlib.Path, what: str, resume: bool) -> None:
    """Raise where an unfinished run is there and is not to be resumed.

    Raises:
        InputError: it is there.
    """
    if path.exists() and not resume:
        raise InputError(
            f"{path}: an unfinished {what} is there: resume it (--resume), or remove the file to start anew"
        )


def file_facts(*paths: pathlib.Path | str | None) -> list[dict[str, Any]]:
    """Return path, sha256 and bytes of the files that a result depends on, each once; None is left out."""
    from coverjax.logs.files import facts

    return [facts(path) for path in dict.fromkeys(str(path) for path in paths if path is not None)]


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
