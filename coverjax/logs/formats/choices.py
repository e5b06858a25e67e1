"""What a caller chooses where a format leaves a choice: where labels and correctness come from."""

import dataclasses
import math
from collections.abc import Iterable, Mapping

from coverjax.foundation.checks import InputError, file_error, listed, shown


@dataclasses.dataclass(frozen=True)
class Choices:
    """The caller's choices; None where nothing was chosen.

    Attributes:
        labels_from: where the labels of a sample come from.
        correct_from: where it comes from whether a sample is correct.
        filter: which of several rows of a document is read.
        min_score: a sample is correct exactly when its score is at least this.
    """

    labels_from: str | None = None
    correct_from: str | None = None
    filter: str | None = None
    min_score: float | None = None


def need_choices(choices: Choices, name: str, takes: Mapping[str, str], others: Iterable[str]) -> None:
    """Raise where a choice is no text or number, or one that the format does not leave.

    Args:
        choices: the caller's.
        name: the name of the format.
        takes: the choices it leaves, with what each may be.
        others: names of the formats, for the message; each with the choices it takes.
    """
    for option in ("labels_from", "correct_from", "filter"):
        value = getattr(choices, option)
        if value is None:
            continue
        if not isinstance(value, str) or not value:
            raise InputError(f"{option}: must be a name as text; got {shown(value)}")
        if option not in takes:
            whose = listed(others, limit=12)
            raise InputError(f"{option}: the format {name} leaves no such choice; leave it out ({whose})")
    score = choices.min_score
    if score is None:
        return
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise InputError(f"min_score: must be a finite number; got {shown(score)}")


def one_choice(
    option: str, value: str | None, there: Iterable[str], path: str, what: str, line: int | None = None
) -> str:
    """Return the value that was chosen, or the only one there is.

    Args:
        option: the name of the choice.
        value: what was chosen, or None.
        there: what there is to choose from.
        path, line: where that stands.
        what: what it is, in the plural.

    Raises:
        InputError: the value is none of them; nothing was chosen and there are several; or there is none.
    """
    names = list(there)
    flag = "--" + option.replace("_", "-")
    if value is None and len(names) == 1:
        return names[0]
    if not names:
        raise file_error(path, line, option, f"there are no {what} to choose from")
    told = listed(names, limit=12)
    if value is None:
        raise file_error(path, line, option, f"must choose one of the {what}: {told} ({flag})")
    if value not in names:
        raise file_error(path, line, option, f"must be one of the {what}: {told}; got {shown(value)}")
    return value
