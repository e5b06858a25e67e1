"""The fast verdict of duckdb and the verdict of Python, which names the fault, are the same on any value."""

import csv
import json
import math

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coverjax.foundation.checks import InputError
from coverjax.logs import rules
from coverjax.logs.cells import CELL_NAME, LABEL, VERDICT
from coverjax.logs.csvtext import begin_csv
from coverjax.logs.files import begin_jsonl
from coverjax.logs.formats import noveltybench
from coverjax.logs.jsontext import Number, TextError, json_record, json_value
from coverjax.logs.locating import records
from coverjax.logs.rules import FLAG, LABELS, NAME, NUMBER, WHOLE, Field, fault_of
from coverjax.logs.tables import relation, workspace

RULES = [NAME, WHOLE, FLAG, NUMBER, LABELS, CELL_NAME, VERDICT, LABEL]
RULE_NAMES = ["name", "whole", "flag", "number", "labels", "cell name", "verdict", "label"]
LISTS = [field.rule for field in noveltybench.FIELDS if field.name in ("partition", "generation_scores")]

WORDS = st.sampled_from(
    [
        "",
        " ",
        "\t",
        "a",
        "a|b",
        "a | b",
        "|",
        "a||b",
        "[",
        "[]",
        '["a"]',
        '["a", 1]',
        '[ "a","b|c" ]',
        "['a']",
        "{}",
        "true",
        "TRUE",
        "False",
        "1",
        "0",
        "2",
        "-1",
        "7.0",
        "7.00",
        "07",
        "1e3",
        "1E400",
        "nan",
        "inf",
        "+5",
        ".5",
        "5.",
        "9223372036854775807",
        "9223372036854775808",
        "0x10",
        "1_000",
        " 7 ",
        "null",
        "é",
        "🧭",
        '"',
        "\\",
        '["\\ud800"]',
        '["\\x"]',
        '["a",]',
        "١",
        "0.1",
        "-0",
        "999999999999999.0",
        "1000000000000000.0",
        '["a\\"b"]',
        '[""]',
        '[" "]',
        '[" a"]',
        '["[a"]',
        "1.0",
        "0.0",
    ]
)
TEXTS = WORDS | st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0"), max_size=6
)
INTEGERS = st.integers(-3, 3) | st.integers(-(10**20), 10**20) | st.sampled_from([2**63 - 1, 2**63, 10**15])
FLOATS = st.floats() | st.sampled_from([7.0, -0.0, 1e15, 999999999999999.0, 0.5, 1e300, 5e-324])
SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=2)
)
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "max_examples": 12}


def equal(fast, slow) -> bool:
    if isinstance(fast, list) and isinstance(slow, list):
        return sorted(map(str, fast)) == sorted(map(str, slow))
    return fast == slow and type(fast) is type(slow)


def compare(path, texts, rule, dialect, values):
    """Hold the SQL's values against Python's, value by value."""
    with workspace() as connection:
        query = f"SELECT {rule.sql('v', dialect)} FROM ({texts})"
        fast = [row[0] for row in connection.execute(query).fetchall()]
    assert len(fast) == len(values)
    for found, value in zip(fast, values, strict=True):
        if rule in LISTS:
            assert (found is None) == (value is None or rule.value(value, dialect) is None), value
        elif value is None:
            assert found is None or (rule is LABELS and dialect == "csv" and found == [])
        else:
            assert equal(found, rule.value(value, dialect)), value


@pytest.mark.parametrize("rule", [*RULES, *LISTS], ids=[*RULE_NAMES, "classes", "scores"])
@settings(**QUIET)
@given(st.lists(VALUES, min_size=20, max_size=80))
def test_json_values(tmp_path_factory, rule, values):
    path = tmp_path_factory.mktemp("rules") / "a.jsonl"
    lines = [json.dumps({"v": value}) for value in values]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = relation([begin_jsonl(str(path))], [Field("v", rule)])
    compare(path, texts, rule, "json", [json_record(line)["v"] for line in lines])


@pytest.mark.parametrize("rule", RULES, ids=RULE_NAMES)
@settings(**QUIET)
@given(st.lists(TEXTS, min_size=20, max_size=80))
def test_csv_cells(tmp_path_factory, rule, cells):
    path = tmp_path_factory.mktemp("rules") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([("x", "v"), *(("x", cell) for cell in cells)])
    file = begin_csv(str(path))
    field = Field("v", rule)
    values = [record.get("v") for _, record in records(file, [field])]
    compare(path, relation([file], [field]), rule, "csv", values)


def test_values_of_each_rule():
    whole = [("0", 0), ("7", 7), ("7.0", 7), ("7.5", None), ("-1", None), ("9223372036854775808", None)]
    for text, value in whole:
        assert WHOLE.value(Number(text), "json") == WHOLE.value(text, "csv") == value
        assert WHOLE.value(text, "json") is None
    assert FLAG.value(True, "json") is True
    assert FLAG.value(Number("0"), "json") is False
    assert FLAG.value("true", "json") is None
    assert FLAG.value("True", "csv") is True
    assert NUMBER.value(Number("1e999"), "json") is None
    assert math.isclose(NUMBER.value("-1.5e-3", "csv"), -0.0015)
    assert NAME.value(Number("12"), "json") == "12"
    assert NAME.value(Number("1.2"), "json") is None
    assert NAME.value("1.2", "csv") == "1.2"
    assert LABELS.value("b | a|b", "csv") == ["b", "a"]
    assert LABELS.value('["a|b", "c"]', "csv") == ["a|b", "c"]
    assert LABELS.value(["x", "x"], "json") == ["x"]
    assert LABELS.value("", "json") == []


def test_a_field_is_judged_by_what_other_rows_have():
    field = Field("valid", FLAG)
    assert fault_of(field, {}, "json", set()) is None
    assert "it is missing" in fault_of(field, {}, "json", {"valid"})
    assert "got null" in fault_of(field, {"valid": None}, "json", {"valid"})
    assert fault_of(Field("latent", NAME, nullable=True), {"latent": None}, "json", {"latent"}) is None
    assert fault_of(Field("strategies", LABELS, required=True), {}, "csv", set()) is None
    assert "write []" in fault_of(Field("strategies", LABELS, required=True), {}, "json", set())


@pytest.mark.parametrize(
    "text", ["{", '{"a": 1,}', "[1", '{"a": 1} 2', "nul", '"\\ud800"', "[" * 50_000, '{"a": 01}']
)
def test_text_that_is_no_json(text):
    with pytest.raises(TextError, match="malformed JSON"):
        json_value(text)


def test_numbers_are_kept_as_duckdb_prints_them():
    tokens = ["1.50", "1e3", "12345678901234567890123", "-0.0", "1e-7", "0.1", "1e22", "123456789.125"]
    rows = duckdb.connect().execute(f"SELECT unnest({tokens})").fetchall()
    assert [row[0] for row in rows] == tokens
    for token in ("1.50", "0.1", "123456789.125", "-0.0"):
        printed = duckdb.connect().execute("SELECT to_json(?::DOUBLE)::VARCHAR", [token]).fetchone()[0]
        assert json_value(token) == printed
    assert json_value("12345678901234567890123") == "12345678901234567890123"


def test_quoted_text_stays_text():
    hostile = "'; DROP TABLE x; --"
    assert duckdb.connect().execute(f"SELECT {rules.quoted(hostile)}").fetchone()[0] == hostile


def test_records_name_the_line_a_row_starts_at(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('\n\nx,v\n1,"a\nb"\n\n2,c\n', newline="")
    file = begin_csv(str(path))
    assert file.skip == 2
    assert [(line, record["x"]) for line, record in records(file, [])] == [(4, "1"), (7, "2")]


def test_line_ends_inside_cells_may_differ(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'x,v\r\n1,"a\nb"\r\n2,c\r\n')
    assert [record["v"] for _, record in records(begin_csv(str(path)), [])] == ["a\nb", "c"]
    path.write_bytes(b'x,v\r\n1,"a\nb"\r\n2,c\n')
    with pytest.raises(InputError, match=r"a\.csv:4: lines must all end alike"):
        list(records(begin_csv(str(path)), []))
