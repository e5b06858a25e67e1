"""Text to token numbers and back, over a task's own vocabulary."""

import dataclasses
import functools
import re
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Int

from coverjax.foundation.checks import InputError, shown, whole_number

SPECIALS = ("<pad>", "<begin>", "<separator>", "<none>")
END = "<end>"


@dataclasses.dataclass(frozen=True)
class Tokenizer:
    """A vocabulary: the words of a task, the special tokens, and the latents.

    Numbers are given out in this order, so that what may come next in a text is one range and the latents
    are another: `<end>`, the words, `<pad>`, `<begin>`, `<separator>`, `<none>`, then a token per latent.

    A model reads ``<begin> x <separator> LATENT y <end>``. Without latents the token in their place is
    `<none>`, so that positions are the same with and without.

    Attributes:
        words: the task's tokens, in the task's order; text is cut into them by longest match.
        latents: number of latents.
    """

    words: tuple[str, ...]
    latents: int = 0

    def __post_init__(self) -> None:
        """Refuse words that text can't be cut into."""
        taken = {END, *SPECIALS}
        if not self.words or len(set(self.words)) != len(self.words):
            raise InputError(f"words: must be distinct, at least one; got {shown(self.words)}")
        for word in self.words:
            if not word or word in taken:
                raise InputError(
                    f"words: must be texts, and none of {END}, {', '.join(SPECIALS)}; got {shown(word)}"
                )
        whole_number("latents", self.latents, 0)

    def with_latents(self, latents: int) -> "Tokenizer":
        """Return the same vocabulary with so many latents."""
        return dataclasses.replace(self, latents=latents)

    @property
    def text_size(self) -> int:
        """Number of tokens that may come next in a text: the words and `<end>`."""
        return 1 + len(self.words)

    @property
    def size(self) -> int:
        """Number of tokens in all."""
        return self.text_size + len(SPECIALS) + self.latents

    @property
    def end(self) -> int:
        """Number of the token that ends a text."""
        return 0

    def special(self, name: str) -> int:
        """Return the number of a special token."""
        return self.text_size + SPECIALS.index(name)

    def latent(self, z: int) -> int:
        """Return the number of a latent's token; that of `<none>` for z = -1."""
        return self.text_size + len(SPECIALS) + z

    @property
    def first_latent(self) -> int:
        """Number of the first latent's token."""
        return self.text_size + len(SPECIALS)

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text's tokens.

        Raises:
            InputError: a part of the text is no word of the vocabulary.

        >>> Tokenizer(("+", "=", "1", "2")).encode("1+1=2")
        [3, 1, 3, 2, 4]
        """
        tokens, place = [], 0
        while place < len(text):
            found = self._cut.match(text, place)
            if found is None:
                raise InputError(
                    f"text: must consist of the task's {len(self.words)} words; got {shown(text[place])} at "
                    f"character {place} of {shown(text)}"
                )
            tokens.append(self._numbers[found.group()])
            place = found.end()
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens up to the first `<end>`; special tokens are left out.

        >>> Tokenizer(("+", "=", "1", "2")).decode([3, 1, 3, 0, 4])
        '1+1'
        """
        words = []
        for token in tokens:
            if token == self.end:
                break
            if 0 < token < self.text_size:
                words.append(self.words[token - 1])
        return "".join(words)

    def names(self) -> tuple[str, ...]:
        """Return the name of every token, in the order of their numbers."""
        return (END, *self.words, *SPECIALS, *(f"<z{z}>" for z in range(self.latents)))

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: place + 1 for place, word in enumerate(self.words)}

    @functools.cached_property
    def _cut(self) -> re.Pattern[str]:
        return re.compile("|".join(re.escape(word) for word in sorted(self.words, key=len, reverse=True)))


def prompts(
    tokenizer: Tokenizer, texts: Sequence[str], least: int = 0
) -> tuple[Int[np.ndarray, "inputs length"], Int[np.ndarray, " inputs"]]:
    """Return ``<begin> x <separator> <none>`` of each text, padded on the left, and how much padding.

    Args:
        tokenizer: the vocabulary.
        texts: what is asked.
        least: length of a row, where the longest text is not longer.

    Raises:
        InputError: a text holds what is no word.
    """
    rows = [tokenizer.encode(text) for text in texts]
    length = max(least, max(map(len, rows), default=0) + 3)
    tokens = np.full((len(rows), length), tokenizer.special("<pad>"), np.int32)
    begin, separator, none = (tokenizer.special(f"<{name}>") for name in ("begin", "separator", "none"))
    for place, row in enumerate(rows):
        tokens[place, length - len(row) - 3 :] = [begin, *row, separator, none]
    return tokens, np.array([length - len(row) - 3 for row in rows], np.int32)


def pairs(
    tokenizer: Tokenizer, texts: Sequence[tuple[str, str]]
) -> tuple[Int[np.ndarray, "texts length"], Int[np.ndarray, " texts"], Int[np.ndarray, " texts"]]:
    """Return ``<begin> x <separator> <none> y <end>`` of each pair (x, y), padded on the right.

    Args:
        tokenizer: the vocabulary.
        texts: x and y of each.

    Returns:
        the tokens, the place of `<none>` in each row, and the place of `<end>`.

    Raises:
        InputError: a text holds what is no word.
    """
    rows = []
    slots, ends = np.empty(len(texts), np.int32), np.empty(len(texts), np.int32)
    begin, separator, none = (tokenizer.special(f"<{name}>") for name in ("begin", "separator", "none"))
    for place, (x, y) in enumerate(texts):
        question = tokenizer.encode(x)
        row = [begin, *question, separator, none, *tokenizer.encode(y), tokenizer.end]
        slots[place], ends[place] = len(question) + 2, len(row) - 1
        rows.append(row)
    tokens = np.full((len(rows), max(map(len, rows), default=0)), tokenizer.special("<pad>"), np.int32)
    for place, row in enumerate(rows):
        tokens[place, : len(row)] = row
    return tokens, slots, ends
