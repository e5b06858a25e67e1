"""Cells as other tools write them: flags that may be 1.0, labels that are one text, names with blanks."""

import json
import re
from typing import Any

from coverjax.logs.jsontext import Number, Pairs, TextError, json_value
from coverjax.logs.rules import (
    BLANKS,
    LABEL_LIST,
    LABEL_TEXT,
    Rule,
    filled_list,
    filled_set,
    flag_sql,
    flag_value,
    is_scalar,
    matched,
    name_sql,
    name_value,
    quoted,
)

_PLAIN_NUMBER = r"-?[0-9]+|-?[1-9][0-9]{0,14}\.[0-9]+|-?0\.(?:0|0{0,3}[1-9][0-9]*)"
"""Numbers that duckdb and Python print alike; others have an exponent in one of them."""

_LABEL_CELL = rf"\[{LABEL_TEXT}\]"

_ODD = r"(?s)[ \t\[].*|.*[ \t]"
"""A name that a CSV cell can't hold as it stands: blanks at its ends do not count there."""


def _cell_name_sql(x: str, dialect: str) -> str:
    if dialect != "csv":
        return name_sql(x, dialect)
    held = f"json_extract_string({x}, '$[0]')"
    one = f"{matched(x, _LABEL_CELL)} AND json_valid({x}) AND {matched(held, _ODD)}"
    return f"CASE WHEN {one} THEN {held} ELSE {x} END"


def _cell_name_value(value: Any, dialect: str) -> str | None:
    if dialect != "csv":
        return name_value(value, dialect)
    if re.fullmatch(_LABEL_CELL, value):
        try:
            held = json_value(value)[0]
        except TextError:
            return str(value)
        if re.fullmatch(_ODD, held):
            return str(held)
    return str(value)


def cell_of_name(name: str) -> str:
    """Return the CSV cell that `CELL_NAME` reads as a name: the name, or a list of it where blanks matter.

    >>> cell_of_name("induction"), cell_of_name(" padded")
    ('induction', '[" padded"]')
    """
    return json.dumps([name], ensure_ascii=False) if re.fullmatch(_ODD, name) else name


def _verdict_sql(x: str, dialect: str) -> str:
    whole = f"CASE {x} WHEN '1.0' THEN true WHEN '0.0' THEN false END"
    return f"coalesce({flag_sql(x, dialect)}, {whole})"


def _verdict_value(value: Any, dialect: str) -> bool | None:
    if is_scalar(value, dialect) and value in ("1.0", "0.0"):
        return bool(value == "1.0")
    return flag_value(value, dialect)


def _label_sql(x: str, dialect: str) -> str:
    is_list = matched(x, LABEL_LIST)
    listed = filled_set(f"CAST({x}::JSON AS VARCHAR[])")
    if dialect == "csv":
        return f"CASE WHEN {is_list} AND json_valid({x}) THEN {listed} WHEN {x} IS NOT NULL THEN [{x}] END"
    held = f"json_extract_string({x}, '$')"
    text = f"CASE WHEN trim({held}, {quoted(BLANKS)}) = '' THEN []::VARCHAR[] ELSE [{held}] END"
    plain = f"{x} IN ('true', 'false') OR {matched(x, _PLAIN_NUMBER)}"
    return (
        f"""CASE WHEN starts_with({x}, '"') THEN {text} WHEN {is_list} THEN {listed} """
        f"WHEN {plain} THEN [{x}] END"
    )


def _label_value(value: Any, dialect: str) -> list[str] | None:
    if dialect == "csv":
        return _labels_of_cell(value)
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, Number):
        return [str(value)] if re.fullmatch(_PLAIN_NUMBER, value) else None
    if isinstance(value, str):
        return [value] if value.strip(BLANKS) else []
    return filled_list(value) if isinstance(value, list) and not isinstance(value, Pairs) else None


def _labels_of_cell(cell: str) -> list[str] | None:
    if re.fullmatch(LABEL_LIST, cell):
        try:
            return filled_list(json_value(cell))
        except TextError:
            pass
    return [cell]


CELL_NAME = Rule("text that is not empty, or a whole number", _cell_name_sql, _cell_name_value, "VARCHAR")
"""A name that in CSV may be written as a JSON list of itself, so that blanks around it count."""

VERDICT = Rule("true or false (or 1 or 0)", _verdict_sql, _verdict_value, "BOOLEAN")
"""A flag that may be written as 1.0 or 0.0, as metrics are."""

LABEL = Rule(
    "a label (text, a number or a flag) or a list of labels, none of them empty",
    _label_sql,
    _label_value,
    "VARCHAR[]",
)
"""A cell of other tools: one label as it stands, whatever is in it, or a list; a blank text is no label."""
