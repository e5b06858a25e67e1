"""Labelers: from the text columns of a sample to the set of strategies it matches.

A labeler is anything with a name, a kind, the columns it reads and a call from rows to lists of labels. Three
come with coverjax: rules (regular expressions), a function of the user's, and a table of labels.
"""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from coverjax.foundation.checks import InputError, shown
from coverjax.foundation.modules import named_thing
from coverjax.logs.jsontext import Number, Pairs

Row = Mapping[str, Any]
"""One sample: its columns by name, values as JSON has them (CSV: text); an empty cell is not there."""


class RowError(Exception):
    """What is wrong with one row, by its place among the rows; the caller knows the file and line."""

    def __init__(self, row: int, field: str | None, message: str):
        super().__init__(message)
        self.row, self.field, self.message = row, field, message


class Labeler(Protocol):
    """What labels samples.

    Attributes:
        name: what it is called in the `labeler` column.
        kind: rule, classifier, human, rubric or ground_truth.
        columns: the columns it reads.
    """

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    def __call__(self, rows: Sequence[Row]) -> list[list[str]]:
        """Return the labels of each row, without repeats; an empty list where nothing matches."""
        ...


def signature(labeler: Labeler) -> str:
    """Return what the `labeler` column holds: kind and name.

    >>> signature(LookupLabeler("raters-1", ("text",), {("a",): ["s"]}, kind="human"))
    'human:raters-1'
    """
    return f"{labeler.kind}:{labeler.name}"


@dataclasses.dataclass(frozen=True)
class Rule:
    """A regular expression that gives a strategy where it is found in a column.

    Attributes:
        strategy: the label it gives.
        pattern: looked for anywhere in the text (Python's `re`).
        column: the column that is looked through.
        unless: where this one is found too, the rule does not hold.
        input: where given, the rule is only for inputs whose whole name it matches.
    """

    strategy: str
    pattern: re.Pattern[str]
    column: str = "text"
    unless: re.Pattern[str] | None = None
    input: re.Pattern[str] | None = None

    def holds(self, row: Row) -> bool:
        """Whether the rule gives its label to a row."""
        text = row[self.column]
        if self.input is not None and not self.input.fullmatch(str(row.get("input", ""))):
            return False
        return bool(self.pattern.search(text)) and not (self.unless and self.unless.search(text))


@dataclasses.dataclass(frozen=True)
class RuleLabeler:
    """Gives each sample the strategies of all rules that hold for it, in the order of the rules.

    >>> rules = (Rule("induction", re.compile("induct")), Rule("cases", re.compile("case")))
    >>> labeler = RuleLabeler("demo", rules)
    >>> labeler([{"text": "by induction, in two cases"}, {"text": "obvious"}])
    [['induction', 'cases'], []]
    """

    name: str
    rules: tuple[Rule, ...]
    kind: str = "rule"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rules look through."""
        return tuple(dict.fromkeys(rule.column for rule in self.rules))

    @property
    def strategies(self) -> tuple[str, ...]:
        """The strategies that the rules can give, in order."""
        return tuple(dict.fromkeys(rule.strategy for rule in self.rules))

    def __call__(self, rows: Sequence[Row]) -> list[list[str]]:
        """Return the strategies of each row."""
        _need_texts(rows, self.columns)
        return [list(dict.fromkeys(rule.strategy for rule in self.rules if rule.holds(row))) for row in rows]


@dataclasses.dataclass(frozen=True)
class CallableLabeler:
    """Asks a function: from a row (a dict of its columns) to a label, a list of labels, or None.

    Attributes:
        name: what it is called.
        function: called once a row.
        columns: text columns that must be there; none when empty.
        kind: what it is.
    """

    name: str
    function: Callable[[dict[str, Any]], Any]
    columns: tuple[str, ...] = ()
    kind: str = "classifier"

    @classmethod
    def named(cls, place: str, kind: str | None = None) -> "CallableLabeler":
        """Return the labeler that asks `module:function`; its attribute `kind`, if any, says what it is."""
        function = named_thing(place, "labeler")
        if not callable(function):
            raise InputError(f"labeler: {place} must be a function of a row; got {shown(function)}")
        return cls(place, function, kind=kind or str(getattr(function, "kind", "classifier")))

    def __call__(self, rows: Sequence[Row]) -> list[list[str]]:
        """Return what the function says of each row."""
        _need_texts(rows, self.columns)
        found = []
        for number, row in enumerate(rows):
            try:
                said = self.function({name: plain_value(value) for name, value in row.items()})
            except Exception as error:
                raise RowError(number, None, f"{self.name} raised {type(error).__name__}: {error}") from error
            found.append(self._labels(number, said))
        return found

    def _labels(self, number: int, said: Any) -> list[str]:
        if said is None:
            return []
        labels = [said] if isinstance(said, str) else said
        if isinstance(labels, set | frozenset):
            labels = sorted(labels, key=str)
        if not isinstance(labels, list | tuple) or not all(
            isinstance(label, str) and label.strip() for label in labels
        ):
            raise RowError(
                number,
                None,
                f"{self.name} must return a label, a list of labels or None, none empty; got {shown(said)}",
            )
        return list(dict.fromkeys(labels))


@dataclasses.dataclass(frozen=True)
class LookupLabeler:
    """Looks each sample up in a table: equal values in the key columns give its labels.

    Attributes:
        name: what it is called.
        columns: the key columns.
        table: from the key columns' texts to labels.
        kind: what it is: people's labels are usually given this way.
    """

    name: str
    columns: tuple[str, ...]
    table: Mapping[tuple[str, ...], Sequence[str]]
    kind: str = "human"

    def __call__(self, rows: Sequence[Row]) -> list[list[str]]:
        """Return the labels of each row; a row that the table lacks is an error, not an empty set."""
        found = []
        for number, row in enumerate(rows):
            for column in self.columns:
                if row.get(column) is None:
                    raise RowError(
                        number, column, f"must be there: the table of {self.name} is looked up by it"
                    )
            key = tuple(str(row[column]) for column in self.columns)
            if key not in self.table:
                where = ", ".join(f"{c} {shown(v)}" for c, v in zip(self.columns, key, strict=True))
                raise RowError(
                    number,
                    None,
                    f"the table of {self.name} has no line for {where}; add it (no label: empty)",
                )
            found.append(list(dict.fromkeys(self.table[key])))
        return found


def plain_value(value: Any) -> Any:
    """Return a value of `jsontext.json_value` as Python's `json` would have it."""
    if isinstance(value, Number):
        return float(value) if set(value) & set(".eEnN") else int(value)
    if isinstance(value, Pairs):
        return {name: plain_value(held) for name, held in value}
    return [plain_value(held) for held in value] if isinstance(value, list) else value


def _need_texts(rows: Sequence[Row], columns: Sequence[str]) -> None:
    for number, row in enumerate(rows):
        for column in columns:
            if not isinstance(row.get(column), str):
                got = shown(row[column]) if row.get(column) is not None else "nothing"
                raise RowError(number, column, f"must be text for the labeler to read; got {got}")
