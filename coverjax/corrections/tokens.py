"""What a token is, and which expected tokens a text holds: two rules, by name.

Matching is case-insensitive and bounded by tokens: "being" is not found in "well-being", which is another
token. docs/corrections.md has a table of what either rule does with apostrophes, hyphens, digits and accents.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable

from coverjax.foundation.checks import one_of

_ASCII = re.compile(r"[a-z][a-z'-]*")

_WORD = re.compile(r"[^\W_]+(?:(?:['_-]|(?<=\d)[.,](?=\d))[^\W_]+)*")
"""Letters and digits, joined by an apostrophe, hyphen or underscore between them, and by a point or comma
between digits. What stands at an end joins nothing: 'quoted' and dogs' are the words without quotes."""

_SAME = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201b\u02bc\uff07", "'"),
        **dict.fromkeys("\u2010\u2011\ufe63\uff0d", "-"),
        **dict.fromkeys("\u00ad\u200c\u200d\u2060\ufeff", None),
        **{chr(0x2080 + digit): str(digit) for digit in range(10)},
    }
)
"""Curly apostrophes and typographic hyphens are the plain ones, subscripts are digits, and what is invisible
(soft hyphen, joiners) isn't there. Dashes stay: they separate."""


def ascii_tokens(text: str) -> list[str]:
    """Return the tokens of a text by the plain rule: ``[a-z][a-z'-]*`` in its lower case.

    Other letters and digits separate, and an apostrophe or hyphen stays where it ends a token.

    >>> ascii_tokens("Judgment, well-being; dogs' café")
    ['judgment', 'well-being', "dogs'", 'caf']
    """
    return _ASCII.findall(text.lower())


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold()).translate(_SAME)


def unicode_tokens(text: str) -> list[str]:
    """Return the tokens of a text in any script: letters, digits and the marks that belong to them.

    Spelling is folded first: case (ß is ss), composed and decomposed accents, curly apostrophes. Accents
    count: café is not cafe. Scripts without blanks between words are not segmented.

    >>> unicode_tokens("Judgment, well-being; don’t (H₂O, Café) at 3.5!")
    ['judgment', 'well-being', "don't", 'h2o', 'café', 'at', '3.5']
    """
    folded = _folded(text)
    if folded.isascii():
        return _WORD.findall(folded)
    # `re` takes a combining mark for no part of a word, which cuts words of Indic scripts.
    shape = "".join("x" if unicodedata.category(c).startswith("M") else c for c in folded)
    return [folded[word.start() : word.end()] for word in _WORD.finditer(shape)]


_FOLDS: dict[str, Callable[[str], str]] = {"unicode": _folded, "ascii": str.lower}
RULES: dict[str, Callable[[str], list[str]]] = {"unicode": unicode_tokens, "ascii": ascii_tokens}


@functools.lru_cache(maxsize=8192)
def tokens_of(text: str, rule: str = "unicode") -> tuple[str, ...]:
    """Return the tokens of a text in order, by the rule of that name; the same texts come again and again.

    Raises:
        InputError: there is no such rule.
    """
    return tuple(RULES[one_of("rule", rule, tuple(RULES))](text))


def found(expected: Iterable[str], texts: Iterable[str], rule: str = "unicode") -> list[str]:
    """Return which expected tokens stand in any of the texts, in the order expected.

    An expected token is read by the rule too; one that is not exactly one token is never found.

    >>> found(["Judgment", "being"], ["Sound judgment, and well-being."])
    ['Judgment']
    """
    there = {token for text in texts for token in tokens_of(text, rule)}
    return [word for word in expected if only_token(word, rule) in there]


def only_token(word: str, rule: str = "unicode") -> str | None:
    """Return the token that a word is, or None where it is not exactly one.

    None for "two words", "e.g.", "stop!", and by the rule "ascii" for "café", of which it reads only a part.
    """
    read = tokens_of(word, rule)
    return read[0] if read == (_FOLDS[rule](word).strip(),) else None
