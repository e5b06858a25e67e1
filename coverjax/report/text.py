"""Text of strangers made fit for one line: labels, method names and paths in tables and figures."""

import unicodedata

CUT = "…"


def one_line(text: object, limit: int = 40) -> str:
    """Return text on one line, at most `limit` characters, without characters that steer a display.

    Line breaks, tabs and runs of blanks become one blank. Control characters, lone surrogates and
    direction overrides become their escapes: a label must not move a cursor, recolour a terminal or
    turn its neighbours around. What is cut off is marked by an ellipsis.
    """
    raw = str(text)
    clean = "".join(_shown(character) for character in raw[: 4 * limit + 16])
    clean = " ".join(clean.split())
    if len(clean) <= limit and len(raw) <= 4 * limit + 16:
        return clean
    return clean[: limit - 1].rstrip() + CUT


def _shown(character: str) -> str:
    if character.isspace():
        return " "
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn"}:
        return "" if character in "\u00ad\u200c\u200d\ufe0e\ufe0f" else ascii(character)[1:-1]
    return character


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


def wrapped(text: str, columns: int, indent: str = "") -> list[str]:
    """Break text into lines of at most `columns`; every line but the first begins with `indent`.

    A word longer than a line stands alone and is cut.
    """
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1].strip() else f"{lines[-1]}{word}"
        if width(joined) <= columns or not lines[-1].strip():
            lines[-1] = joined if width(joined) <= columns else fit(joined, columns)
        else:
            lines.append(fit(indent + word, columns) if width(indent + word) > columns else indent + word)
    return lines


def unlike(names: "list[str]", limit: int = 40) -> "list[str]":
    """Return each name by `one_line`, numbered where two would otherwise read the same."""
    short = [one_line(name, limit) or "(no name)" for name in names]
    seen: dict[str, int] = {}
    for name in short:
        seen[name] = seen.get(name, 0) + 1
    count: dict[str, int] = {}
    result = []
    for name in short:
        count[name] = count.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({count[name]})")
    return result


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return "1 input", "20 inputs", "1,060 inputs"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
