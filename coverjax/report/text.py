"""Text of strangers made fit for one line: labels, method names and paths in tables and figures."""

import re
import unicodedata
from collections.abc import Mapping

from coverjax.foundation.checks import counted as counted

CUT = "…"


def one_line(text: object, limit: int = 40, middle: bool = False) -> str:
    """Return text on one line, at most `limit` characters, without characters that steer a display.

    Line breaks, tabs and runs of blanks become one blank. Control characters, lone surrogates and
    direction overrides become their escapes: a label must not move a cursor, recolour a terminal or
    turn its neighbours around. What is cut off, at the end or in the `middle`, is marked by an ellipsis:
    names of inputs often differ at their end only.
    """
    raw = str(text)
    reach = 4 * limit + 16
    if len(raw) > 2 * reach:
        # Long enough that what lies between is cut off anyway, however many blanks it has.
        raw = raw[:reach] + CUT + raw[-reach:]
    clean = " ".join("".join(map(_shown, raw)).split())
    if len(clean) <= limit:
        return clean
    tail = limit // 2 - 1 if middle else 0
    return clean[: limit - 1 - tail].rstrip() + CUT + clean[len(clean) - tail :].lstrip()


def _shown(character: str) -> str:
    if character.isspace():
        return " "
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn"}:
        return "" if character in "\u00ad\u200c\u200d\ufe0e\ufe0f" else ascii(character)[1:-1]
    return character


def file_stem(name: str) -> str:
    """Return the name of a method as part of a file's name: small letters, digits and "-".

    >>> file_stem("no repeat, alive")
    'no-repeat-alive'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def band_notes(why: Mapping[str, str]) -> list[str]:
    """Say why bands lack or have gaps: whose, where that is not so of every line.

    Args:
        why: the reason by the name of the line, "" where its band is whole.
    """
    reasons = dict.fromkeys(reason for reason in why.values() if reason)
    lines = {reason: [name for name, its in why.items() if its == reason] for reason in reasons}
    return [
        reason if len(names) == len(why) else f"{', '.join(names)}: {reason}"
        for reason, names in lines.items()
    ]


def width(text: str) -> int:
    """Return the number of terminal columns that a line takes: wide characters two, combining ones none."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, columns: int) -> str:
    """Return a line cut or padded on the right to exactly `columns` terminal columns."""
    if width(text) > columns:
        while width(text) > columns - 1:
            text = text[:-1]
        text += CUT
    return text + " " * (columns - width(text))


def wrapped(text: str, columns: int, indent: str = "", first: str = "") -> list[str]:
    """Break text into lines of at most `columns`; the first begins with `first`, the others with `indent`.

    A word longer than a line is cut.
    """
    lines = [first]
    empty = True
    for word in text.split():
        joined = lines[-1] + ("" if empty else " ") + word
        if width(joined) > columns and not empty:
            lines.append(indent)
            joined = indent + word
        lines[-1] = joined if width(joined) <= columns else fit(joined, columns)
        empty = False
    return lines


def unlike(names: "list[str]", limit: int = 40) -> "list[str]":
    """Return each name by `one_line`, numbered where two would otherwise read the same."""
    short = [one_line(name, limit, middle=True) or "(no name)" for name in names]
    seen: dict[str, int] = {}
    for name in short:
        seen[name] = seen.get(name, 0) + 1
    count: dict[str, int] = {}
    result = []
    for name in short:
        count[name] = count.get(name, 0) + 1
        mark = f" ({count[name]})"
        result.append(name if seen[name] == 1 else one_line(name, limit - len(mark), middle=True) + mark)
    return result
