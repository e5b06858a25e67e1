"""What is wrong with arguments, in one line: which option, what it must be, what came."""

import dataclasses
import difflib
import pathlib
import types
import typing
from collections.abc import Sequence
from typing import Any, Literal

from coverjax.cli.outputs import flag, positionals
from coverjax.foundation.checks import shown

WORDS = {int: "a whole number", float: "a number", str: "text", pathlib.Path: "a path", bool: "true or false"}


@dataclasses.dataclass(frozen=True)
class Kind:
    """What an option takes.

    Attributes:
        type: of one value.
        choices: the words allowed, where only some are.
        many: whether it takes several.
        shown: how the value is called in the usage line.
    """

    type: type
    choices: tuple[str, ...] = ()
    many: bool = False
    shown: str = ""

    @property
    def words(self) -> str:
        """What a value must be, in words."""
        return f"one of {', '.join(self.choices)}" if self.choices else WORDS[self.type]

    def fits(self, text: str) -> bool:
        """Whether a word on the command line is such a value."""
        if self.choices:
            return text in self.choices
        try:
            self.type(text)
        except ValueError:
            return False
        return True


def kinds(options: type) -> dict[str, Kind]:
    """Return what each option of a dataclass takes, by its name."""
    hints = typing.get_type_hints(options, include_extras=True)
    return {field.name: _kind(hints[field.name]) for field in dataclasses.fields(options)}


def _kind(hint: Any) -> Kind:
    metavar = ""
    if hasattr(hint, "__metadata__"):
        metavar = next((m.metavar for m in hint.__metadata__ if getattr(m, "metavar", None)), "")
        hint = hint.__origin__
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        (hint,) = (argument for argument in arguments if argument is not type(None))
        arguments = typing.get_args(hint)
    if typing.get_origin(hint) is Literal:
        return Kind(str, arguments, shown=metavar)
    if typing.get_origin(hint) is tuple:
        return dataclasses.replace(_kind(arguments[0]), many=True, shown=metavar)
    return Kind(hint, shown=metavar)


def complaint(options: type, argv: Sequence[str]) -> str | None:
    """Return the first thing that is wrong with arguments; None where nothing is that this reader knows of.

    It is asked after tyro refused the arguments, for words: tyro's own are many lines and change with its
    version.
    """
    known = {flag(name): kind for name, kind in kinds(options).items() if name not in positionals(options)}
    places = [kinds(options)[name] for name in positionals(options)]
    words, given, loose = list(argv), set(), []
    while words:
        word = words.pop(0)
        if not word.startswith("--") or word == "--":
            loose.append(word)
            continue
        name, equals, value = word.partition("=")
        name = name.replace("_", "-")
        if name not in known:
            return _unknown(name, known)
        given.add(name)
        wrong, taken = _wrong_value(name, known[name], [value] if equals else words, bool(equals))
        if wrong:
            return wrong
        if not equals:
            del words[:taken]
    return _wrong_places(places, loose) or _missing(options, given, len(loose))


def switch_with_value(options: type, argv: Sequence[str]) -> str | None:
    """Return what is wrong where a switch was given a value, `--json=1`: tyro would take that for a file."""
    known = {flag(name): kind for name, kind in kinds(options).items()}
    for word in argv:
        name, equals, value = word.partition("=")
        if equals and name in known and known[name].type is bool:
            return _wrong_value(name, known[name], [value], True)[0]
    return None


def _unknown(name: str, known: dict[str, Kind]) -> str:
    near = difflib.get_close_matches(name, [*known, "--help"], n=1, cutoff=0.5)
    advice = f"did you mean {near[0]}?" if near else f"the options are {', '.join(known)}"
    return f"{name}: is no option; {advice}"


def _wrong_value(name: str, kind: Kind, words: Sequence[str], attached: bool) -> tuple[str | None, int]:
    """Return what is wrong with the value of an option, and how many words it takes."""
    if kind.type is bool:
        return (f"{name}: takes no value; got {shown(words[0])}", 0) if attached else (None, 0)
    most = len(words) if kind.many else 1
    values = []
    for word in words[:most]:
        if word.startswith("--") and not attached:
            break
        values.append(word)
    if not values and not kind.many:
        return f"{name}: needs a value, {kind.words}", 0
    wrong = next((value for value in values if not kind.fits(value)), None)
    if wrong is not None:
        return f"{name}: must be {kind.words}; got {shown(wrong)}", 0
    return None, len(values)


def _wrong_places(places: list[Kind], loose: list[str]) -> str | None:
    most = None if any(kind.many for kind in places) else len(places)
    if most is not None and len(loose) > most:
        takes = f"only {' '.join(kind.shown or 'FILE' for kind in places)}" if places else "nothing"
        return f"{shown(loose[most])}: is one word too many: it takes {takes} beside its options"
    return None


def _missing(options: type, given: set[str], loose: int) -> str | None:
    places = positionals(options)
    for field in dataclasses.fields(options):
        if field.default is not dataclasses.MISSING:
            continue
        kind = kinds(options)[field.name]
        if field.name in places and places.index(field.name) >= loose:
            return f"needs {kind.shown or field.name.upper()}, {kind.words}"
        if field.name not in places and flag(field.name) not in given:
            return f"{flag(field.name)}: is needed, {kind.words}"
    return None
