"""What the values of a field must be, for duckdb (fast, whole columns) and for Python (to name a fault).

A value reaches the SQL as text: JSON text where the file is JSONL or Parquet, a trimmed cell where it is CSV,
NULL where there is none. A rule's SQL gives the value, or NULL where the text is wrong. Both sides share
their patterns; `tests/logs/test_rules.py` holds them to the same verdict on random values.
"""

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any

from coverjax.foundation.checks import near_name, shown
from coverjax.logs.jsontext import Number, Pairs, TextError, json_value, kind_name

BLANKS = " \t"
"""Blanks around a CSV cell, or around a label in `a|b` text, do not count."""

_INTEGER = "-?[0-9]+"
_WHOLE = r"[0-9]{1,19}|[0-9]{1,15}\.0"
NUMBER_TEXT = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
LABEL_TEXT = r'"(?:[^"\\]|\\.)*"'
LABEL_LIST = rf"\s*\[\s*(?:{LABEL_TEXT}\s*(?:,\s*{LABEL_TEXT}\s*)*)?\]\s*"
_TRUE, _FALSE = ("true", "1"), ("false", "0")


@dataclasses.dataclass(frozen=True)
class Rule:
    """What the values of a field must be.

    Attributes:
        must: the rule in words, after "must be".
        sql: from (SQL of the text, dialect) to the SQL of the value.
        value: from (Python value, dialect) to the value, or None where it is wrong.
        type: the SQL type of the value.
    """

    must: str
    sql: Callable[[str, str], str]
    value: Callable[[Any, str], Any]
    type: str


@dataclasses.dataclass(frozen=True)
class Field:
    """One column of a format: its name, its rule, whether it must be there, whether it may be empty.

    An optional column stands on every row or on none, unless it may be empty.
    """

    name: str
    rule: Rule
    required: bool = False
    nullable: bool = False


def quoted(text: str) -> str:
    """Return a text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def matched(text: str, pattern: str) -> str:
    return f"regexp_full_match({text}, {quoted(pattern)})"


def _filled(text: str) -> str:
    return f"CASE WHEN trim({text}, {quoted(BLANKS)}) <> '' THEN {text} END"


def name_sql(x: str, dialect: str) -> str:
    if dialect == "csv":
        return x
    held = f"json_extract_string({x}, '$')"
    return (
        f"""CASE WHEN starts_with({x}, '"') THEN {_filled(held)} WHEN {matched(x, _INTEGER)} THEN {x} END"""
    )


def name_value(value: Any, dialect: str) -> str | None:
    if isinstance(value, Number):
        return str(value) if re.fullmatch(_INTEGER, value) else None
    return value if isinstance(value, str) and value.strip(BLANKS) else None


def _whole_sql(x: str, dialect: str) -> str:
    number = f"TRY_CAST({x} AS BIGINT)"
    # A text that the number prints as needs no pattern, which is the dear part; all usual numbers are such.
    plain = f"{number} >= 0 AND {number}::VARCHAR = {x}"
    return f"CASE WHEN {plain} THEN {number} WHEN {matched(x, _WHOLE)} THEN {number} END"


def is_scalar(value: Any, dialect: str) -> bool:
    """Whether a value may be a number at all: in JSON a number and no text, in CSV a cell."""
    return isinstance(value, Number) if dialect == "json" else isinstance(value, str)


def _whole_value(value: Any, dialect: str) -> int | None:
    if not is_scalar(value, dialect) or not re.fullmatch(_WHOLE, value):
        return None
    number = int(value.removesuffix(".0"))
    return number if number < 2**63 else None


def flag_sql(x: str, dialect: str) -> str:
    said = f"lower({x})" if dialect == "csv" else x
    true, false = (", ".join(map(quoted, words)) for words in (_TRUE, _FALSE))
    return f"CASE WHEN {said} IN ({true}) THEN true WHEN {said} IN ({false}) THEN false END"


def flag_value(value: Any, dialect: str) -> bool | None:
    if isinstance(value, bool):
        return value
    if not is_scalar(value, dialect):
        return None
    said = value.lower() if dialect == "csv" else value
    return True if said in _TRUE else False if said in _FALSE else None


def _number_sql(x: str, dialect: str) -> str:
    number = f"TRY_CAST({x} AS DOUBLE)"
    return f"CASE WHEN {matched(x, NUMBER_TEXT)} AND isfinite({number}) THEN {number} END"


def _number_value(value: Any, dialect: str) -> float | None:
    if not is_scalar(value, dialect) or not re.fullmatch(NUMBER_TEXT, value):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def filled_set(labels: str) -> str:
    trimmed = f"list_transform({labels}, lambda l: trim(l, {quoted(BLANKS)}))"
    return f"CASE WHEN NOT list_contains({trimmed}, '') THEN list_distinct({labels}) END"


def _labels_sql(x: str, dialect: str) -> str:
    if dialect == "csv":
        return f"CASE WHEN {x} IS NULL THEN []::VARCHAR[] ELSE {_labels_of_text(x)} END"
    listed = filled_set(f"CAST({x}::JSON AS VARCHAR[])")
    text = _labels_of_text(f"trim(json_extract_string({x}, '$'), {quoted(BLANKS)})")
    return f"""CASE WHEN {matched(x, LABEL_LIST)} THEN {listed} WHEN starts_with({x}, '"') THEN {text} END"""


def _labels_of_text(text: str) -> str:
    listed = filled_set(f"CAST({text}::JSON AS VARCHAR[])")
    parts = filled_set(f"list_transform(string_split({text}, '|'), lambda l: trim(l, {quoted(BLANKS)}))")
    return (
        f"CASE WHEN {text} = '' THEN []::VARCHAR[] WHEN NOT starts_with({text}, '[') THEN {parts} "
        f"WHEN {matched(text, LABEL_LIST)} AND json_valid({text}) THEN {listed} END"
    )


def _labels_value(value: Any, dialect: str) -> list[str] | None:
    if isinstance(value, str) and not isinstance(value, Number):
        text = value.strip(BLANKS)
        if not text:
            return []
        if not text.startswith("["):
            return filled_list([part.strip(BLANKS) for part in text.split("|")])
        try:
            value = json_value(text)
        except TextError:
            return None
    return filled_list(value) if isinstance(value, list) and not isinstance(value, Pairs) else None


def filled_list(labels: list[Any]) -> list[str] | None:
    fine = all(
        isinstance(name, str) and not isinstance(name, Number) and name.strip(BLANKS) for name in labels
    )
    return list(dict.fromkeys(labels)) if fine else None


NAME = Rule("text that is not empty, or a whole number", name_sql, name_value, "VARCHAR")
WHOLE = Rule("a whole number from 0 to 9223372036854775807", _whole_sql, _whole_value, "BIGINT")
FLAG = Rule("true or false (or 1 or 0)", flag_sql, flag_value, "BOOLEAN")
NUMBER = Rule("a finite number", _number_sql, _number_value, "DOUBLE")
LABELS = Rule(
    'a list of labels such as ["s1", "s2"], or text such as "s1|s2", without an empty label',
    _labels_sql,
    _labels_value,
    "VARCHAR[]",
)


def fault_of(
    field: Field, record: dict[str, Any], dialect: str, present: "set[str] | frozenset[str]"
) -> str | None:
    """Return what is wrong with one field of one record, or None.

    Args:
        field: the field.
        record: the values of the record; in CSV trimmed cells, those that are empty left out.
        dialect: "json" or "csv".
        present: names of optional fields that some row of the log holds.
    """
    value = record.get(field.name)
    if value is None:
        if dialect == "csv" and field.rule is LABELS:
            return None
        if field.nullable or not (field.required or field.name in present):
            return None
        return _missing(field, field.name in record, dialect) + _meant(field, record)
    if field.rule.value(value, dialect) is not None:
        return None
    return f"must be {field.rule.must}; got {_told(value, dialect)}"


def _meant(field: Field, record: dict[str, Any]) -> str:
    """Ask about a name in the record that is nearly that of a field it lacks."""
    near = "" if field.name in record else near_name(field.name, record)
    return f" (is it `{near}`?)" if near else ""


def _missing(field: Field, null: bool, dialect: str) -> str:
    got = "an empty cell" if dialect == "csv" else "null" if null else "nothing: it is missing"
    if field.rule is LABELS:
        return f"must be a list of labels; got {got}; write [] for a sample that matches nothing"
    where = "" if field.required else " on every row, since other rows have it"
    return f"must be {field.rule.must}{where}; got {got}"


def _told(value: Any, dialect: str) -> str:
    if dialect == "json" and isinstance(value, str) and not isinstance(value, Number):
        return f"the text {shown(value)}"
    return (
        kind_name(value)
        if isinstance(value, Pairs)
        else shown(value).replace("True", "true").replace("False", "false")
    )
