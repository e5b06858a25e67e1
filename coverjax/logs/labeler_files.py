"""Rules of a labeler from TOML or CSV, and its table from a file of labels."""

import os
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from coverjax.foundation.checks import file_error, listed, shown
from coverjax.foundation.toml import read_toml
from coverjax.logs.files import LogFile, kind_of
from coverjax.logs.labelers import LookupLabeler, Rule, RuleLabeler
from coverjax.logs.locating import records
from coverjax.logs.rules import FLAG, LABELS, NAME, Field
from coverjax.logs.tables import begin, workspace

RULE_KEYS = ("strategy", "pattern", "column", "unless", "input", "ignore_case")


def read_rules(path: "str | os.PathLike[str]", column: str | None = None) -> RuleLabeler:
    """Read the rules of a labeler.

    TOML: optional `name`, `column`, `ignore_case` (false), and `[[rule]]` tables with `strategy`, `pattern`
    and optionally `column`, `unless`, `input`, `ignore_case`. CSV: a column for each of these, a row a rule.

    Args:
        path: the file; without a `name` the labeler has the file's.
        column: looked through by rules that name none, instead of the file's default or "text".

    Raises:
        InputError: the file or a rule is wrong, with its line.
    """
    place, path = pathlib.Path(path), os.fspath(path)
    if place.suffix.lower() == ".toml":
        told, rows = _toml(place)
    elif place.suffix.lower() in (".csv", ".tsv"):
        told, rows = {}, _csv(path)
    else:
        raise file_error(path, None, None, "must be rules as .toml or .csv; see docs/labels.md")
    default = {"column": column or told.get("column", "text"), "ignore_case": told.get("ignore_case", False)}
    rules = tuple(_rule(path, line, {**default, **row}) for line, row in rows)
    if not rules:
        raise file_error(path, None, None, "holds no rule; it must hold at least one")
    return RuleLabeler(str(told.get("name", place.stem)), rules)


def _toml(place: pathlib.Path) -> tuple[dict[str, Any], list[tuple[int | None, dict[str, Any]]]]:
    told, text = read_toml(place)
    for name, value in told.items():
        _check_head(place, name, value)
    heads = [n for n, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*rule\s*\]\]", line)]
    rules = told.pop("rule", [])
    lines: list[int | None] = list(heads) if len(heads) == len(rules) else [None] * len(rules)
    return told, list(zip(lines, rules, strict=True))


def _check_head(place: pathlib.Path, name: str, value: Any) -> None:
    types = {"name": str, "column": str, "ignore_case": bool, "rule": list}
    words = {str: "text", bool: "true or false", list: "[[rule]] tables"}
    if name not in types:
        raise file_error(place, None, name, f"unknown; the file may hold {listed(types)}")
    fits = isinstance(value, types[name])
    if not fits or (name == "rule" and not all(isinstance(rule, dict) for rule in value)):
        raise file_error(place, None, name, f"must be {words[types[name]]}; got {shown(value)}")


def _csv(path: str) -> list[tuple[int | None, dict[str, Any]]]:
    rows: list[tuple[int | None, dict[str, Any]]] = []
    for line, record in _records(_begun(path)):
        flag = record.get("ignore_case")
        if flag is not None and FLAG.value(flag, "csv") is None:
            raise file_error(path, line, "ignore_case", f"must be {FLAG.must}; got {shown(flag)}")
        told = {} if flag is None else {"ignore_case": FLAG.value(flag, "csv")}
        rows.append((line, {**record, **told}))
    return rows


def table_rows(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the values of each row of a table, CSV, JSONL or Parquet; not the empty CSV cells.

    Raises:
        InputError: there is no such file, or it can't be read, with its line.
    """
    yield from _records(_begun(path))


def _begun(path: str) -> LogFile:
    if not pathlib.Path(path).is_file():
        raise file_error(path, None, None, "no such file")
    with workspace() as connection:
        return begin(connection, path, kind_of(path))


def _records(file: LogFile) -> Iterator[tuple[int, dict[str, Any]]]:
    return records(file, tuple(Field(name, NAME) for name in file.columns))


def _rule(path: str, line: int | None, row: Mapping[str, Any]) -> Rule:
    for key, value in row.items():
        if key not in RULE_KEYS:
            raise file_error(
                path, line, key, f"unknown; a rule has {listed(RULE_KEYS, limit=len(RULE_KEYS))}"
            )
        flag = key == "ignore_case"
        wanted, word = (bool if flag else str), ("true or false" if flag else "text that is not empty")
        if not isinstance(value, wanted) or value == "":
            raise file_error(path, line, key, f"must be {word}; got {shown(value)}")
    for key in ("strategy", "pattern"):
        if key not in row:
            raise file_error(path, line, key, "missing; each rule needs it")
    flags = re.IGNORECASE if row["ignore_case"] else 0

    def compiled(key: str) -> re.Pattern[str] | None:
        if key not in row:
            return None
        try:
            return re.compile(row[key], flags)
        except re.error as error:
            raise file_error(path, line, key, f"must be a regular expression; {error}") from None

    pattern = compiled("pattern")
    assert pattern is not None
    return Rule(row["strategy"].strip(), pattern, row["column"], compiled("unless"), compiled("input"))


def read_label_table(path: "str | os.PathLike[str]", kind: str = "human") -> LookupLabeler:
    """Read a table of labels: a column `strategies` (list, or a|b) and the columns it is looked up by.

    Raises:
        InputError: the file is wrong, has no other column, or a key stands twice with other labels.
    """
    path = os.fspath(path)
    file = _begun(path)
    columns = tuple(name for name in file.columns if name not in ("strategies", "labeler"))
    if "strategies" not in file.columns or not columns:
        raise file_error(
            path,
            None,
            None,
            "must hold `strategies` and columns to look samples up by (text, or input and sample); it has "
            f"{listed(file.columns)}",
        )
    table: dict[tuple[str, ...], list[str]] = {}
    for line, record in _records(file):
        key = tuple(_key(path, line, name, record) for name in columns)
        said = record.get("strategies")
        labels = [] if said is None and file.dialect == "csv" else LABELS.value(said, file.dialect)
        if labels is None:
            raise file_error(path, line, "strategies", f"must be {LABELS.must}; got {shown(said)}")
        if table.setdefault(key, labels) != labels:
            raise file_error(
                path,
                line,
                columns[0],
                f"{shown(key if len(key) > 1 else key[0])} stands twice, with different labels",
            )
    return LookupLabeler(pathlib.Path(path).stem, columns, table, kind)


def _key(path: str, line: int, name: str, record: Mapping[str, Any]) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise file_error(path, line, name, f"must be text or a number, on every line; got {shown(value)}")
    return str(value)
