"""Wrong files: one line that names file, line and field, says what must hold, what came and what to do."""

import dataclasses
import gzip
import pathlib

import pytest

import coverjax as cj
from coverjax.foundation.checks import InputError

GOOD = '{"input": "p", "sample": 0, "strategies": ["s1"]}\n'
HEADER = "input,sample,strategies\n"


@dataclasses.dataclass(frozen=True)
class Case:
    """A wrong file: its name and content, the place that the message must start with, and a part of it."""

    title: str
    name: str
    content: "str | bytes"
    place: str
    says: str


def second(**values: str) -> str:
    """A good line, then one whose fields are replaced by raw JSON; None leaves a field out."""
    fields = {"input": '"p"', "sample": "1", "strategies": '["s1"]'} | values
    return GOOD + "{" + ", ".join(f'"{name}": {text}' for name, text in fields.items() if text) + "}\n"


def optional(name: str, first: str, then: str) -> str:
    """Two good lines with an optional field."""
    return (
        second(**{name: first}).splitlines()[1].replace('"sample": 1', '"sample": 0')
        + "\n"
        + (second(**{name: then}).splitlines()[1] + "\n")
    )


CASES = [
    # Lines that are no JSON object
    Case(
        "half a line",
        "log.jsonl",
        GOOD + '{"input": "p", "sam',
        "log.jsonl:2: ",
        "malformed JSON: Unterminated string at column 16",
    ),
    Case("single quotes", "log.jsonl", GOOD + "\n{'input': 'p'}\n", "log.jsonl:3: ", "malformed JSON"),
    Case(
        "two objects on a line",
        "log.jsonl",
        GOOD + GOOD.strip() + GOOD,
        "log.jsonl:2: ",
        "malformed JSON: Extra data",
    ),
    Case(
        "a list",
        "log.jsonl",
        GOOD + "[1, 2]\n",
        "log.jsonl:2: ",
        "must be one JSON object a line; got a list",
    ),
    Case(
        "a number", "log.jsonl", GOOD + "5\n", "log.jsonl:2: ", "must be one JSON object a line; got a number"
    ),
    Case("a text", "log.jsonl", GOOD + '"p"\n', "log.jsonl:2: ", "must be one JSON object a line; got text"),
    Case("null", "log.jsonl", GOOD + "null\n", "log.jsonl:2: ", "must be one JSON object a line; got null"),
    # Arrays of objects
    Case(
        "an array that ends too early",
        "log.json",
        "[" + GOOD + ",\n",
        "log.json:3: ",
        "got the end of the file",
    ),
    Case(
        "half an object",
        "log.json",
        "[" + GOOD + ',\n{"inp',
        "log.json:3: ",
        "malformed JSON: Unterminated string",
    ),
    Case(
        "a number among objects", "log.json", "[\n" + GOOD + ", 5]", "log.json:3: ", "must be a JSON object"
    ),
    Case("text after an array", "log.json", "[" + GOOD + "]\n" + GOOD, "log.json:3: ", "there is more text"),
    Case("no comma", "log.json", "[" + GOOD + GOOD + "]", "log.json:2: ", "must go on with , or ]; got '{'"),
    Case("an empty array", "log.json", "[]", "log.json: ", "must hold an array of JSON objects"),
    Case("a list of lists", "log.jsonl", "[1, 2]\n", "log.jsonl:1: ", "must be a JSON object; got a number"),
    Case(
        "a wrong value in an array",
        "log.json",
        "[\n" + GOOD + ',\n\n{"input": "p", "sample": "x", "strategies": []}]',
        "log.json:5: sample: ",
        "got the text 'x'",
    ),
    Case(
        "a sample twice in an array",
        "log.json",
        "[" + GOOD + "," + GOOD + "]",
        "log.json:2: sample: ",
        "(first at log.json:1)",
    ),
    Case(
        "one pretty-printed object",
        "log.json",
        '{\n  "input": "p"\n}',
        "log.json:1: ",
        "write each object on one line",
    ),
    Case("half a surrogate in an array", "log.json", '[{"input": "\\ud800"}]', "log.json:1: ", "surrogate"),
    Case(
        "decimal commas", "log.csv", "input;sample;strategies;score\np;0;a;0,5\n", "log.csv:2: score: ", "0,5"
    ),
    Case(
        "a key twice",
        "log.jsonl",
        GOOD + '{"input": "p", "input": "q", "sample": 1, "strategies": []}',
        "log.jsonl:2: ",
        "the key 'input' stands twice",
    ),
    Case(
        "half a surrogate pair",
        "log.jsonl",
        second(input='"\\ud800"'),
        "log.jsonl:2: ",
        "half a surrogate pair",
    ),
    Case("deep nesting", "log.jsonl", second(strategies="[" * 100_000), "log.jsonl:2: ", "malformed JSON"),
    # Required fields
    Case(
        "missing input", "log.jsonl", second(input=""), "log.jsonl:2: input: ", "got nothing: it is missing"
    ),
    Case(
        "missing sample",
        "log.jsonl",
        second(sample=""),
        "log.jsonl:2: sample: ",
        "got nothing: it is missing",
    ),
    Case(
        "missing strategies",
        "log.jsonl",
        second(strategies=""),
        "log.jsonl:2: strategies: ",
        "write [] for a sample that matches nothing",
    ),
    Case(
        "missing in the first line",
        "log.jsonl",
        '{"input": "p", "strategies": []}\n',
        "log.jsonl:1: sample: ",
        "it is missing",
    ),
    Case("null input", "log.jsonl", second(input="null"), "log.jsonl:2: input: ", "got null"),
    Case(
        "empty input",
        "log.jsonl",
        second(input='""'),
        "log.jsonl:2: input: ",
        "must be text that is not empty",
    ),
    Case(
        "blank input",
        "log.jsonl",
        second(input='" "'),
        "log.jsonl:2: input: ",
        "must be text that is not empty",
    ),
    Case(
        "fractional input",
        "log.jsonl",
        second(input="1.5"),
        "log.jsonl:2: input: ",
        "or a whole number; got 1.5",
    ),
    Case("input a list", "log.jsonl", second(input='["p"]'), "log.jsonl:2: input: ", "got ['p']"),
    Case("input an object", "log.jsonl", second(input='{"a": 1}'), "log.jsonl:2: input: ", "got an object"),
    Case("input a flag", "log.jsonl", second(input="true"), "log.jsonl:2: input: ", "got true"),
    # Sample numbers
    Case(
        "fractional sample",
        "log.jsonl",
        second(sample="3.5"),
        "log.jsonl:2: sample: ",
        "must be a whole number from 0 to 9223372036854775807; got 3.5",
    ),
    Case("sample as text", "log.jsonl", second(sample='"x"'), "log.jsonl:2: sample: ", "got the text 'x'"),
    Case(
        "sample as quoted number",
        "log.jsonl",
        second(sample='"1"'),
        "log.jsonl:2: sample: ",
        "got the text '1'",
    ),
    Case("sample null", "log.jsonl", second(sample="null"), "log.jsonl:2: sample: ", "got null"),
    Case("sample a flag", "log.jsonl", second(sample="true"), "log.jsonl:2: sample: ", "got true"),
    Case("sample NaN", "log.jsonl", second(sample="NaN"), "log.jsonl:2: sample: ", "got NaN"),
    Case("negative sample", "log.jsonl", second(sample="-1"), "log.jsonl:2: sample: ", "from 0 to"),
    Case(
        "huge sample",
        "log.jsonl",
        second(sample="9223372036854775808"),
        "log.jsonl:2: sample: ",
        "9223372036854775807; got 9223372036854775808",
    ),
    Case("sample with an exponent", "log.jsonl", second(sample="1e30"), "log.jsonl:2: sample: ", "got 1e+30"),
    # Label lists
    Case(
        "strategies a number",
        "log.jsonl",
        second(strategies="5"),
        "log.jsonl:2: strategies: ",
        "must be a list of labels such as",
    ),
    Case(
        "strategies null",
        "log.jsonl",
        second(strategies="null"),
        "log.jsonl:2: strategies: ",
        "got null; write []",
    ),
    Case(
        "strategies an object",
        "log.jsonl",
        second(strategies='{"s1": 1}'),
        "log.jsonl:2: strategies: ",
        "got an object",
    ),
    Case(
        "strategies a flag", "log.jsonl", second(strategies="false"), "log.jsonl:2: strategies: ", "got false"
    ),
    Case(
        "nested list", "log.jsonl", second(strategies='[["s1"]]'), "log.jsonl:2: strategies: ", "got [['s1']]"
    ),
    Case(
        "list with null",
        "log.jsonl",
        second(strategies='["s1", null]'),
        "log.jsonl:2: strategies: ",
        "got ['s1', None]",
    ),
    Case(
        "list with a number",
        "log.jsonl",
        second(strategies='["s1", 2]'),
        "log.jsonl:2: strategies: ",
        "got ['s1', 2]",
    ),
    Case(
        "list with an empty label",
        "log.jsonl",
        second(strategies='["s1", ""]'),
        "log.jsonl:2: strategies: ",
        "without an empty label",
    ),
    Case(
        "text with an empty label",
        "log.jsonl",
        second(strategies='"s1||s2"'),
        "log.jsonl:2: strategies: ",
        "without an empty label",
    ),
    Case(
        "text that is no list",
        "log.jsonl",
        second(strategies='"[s1, s2]"'),
        "log.jsonl:2: strategies: ",
        "got the text '[s1, s2]'",
    ),
    # Optional fields
    Case(
        "valid a word",
        "log.jsonl",
        optional("valid", "true", '"maybe"'),
        "log.jsonl:2: valid: ",
        "must be true or false (or 1 or 0); got the text 'maybe'",
    ),
    Case("valid two", "log.jsonl", optional("valid", "1", "2"), "log.jsonl:2: valid: ", "got 2"),
    Case(
        "valid null",
        "log.jsonl",
        optional("valid", "true", "null"),
        "log.jsonl:2: valid: ",
        "on every row, since other rows have it; got null",
    ),
    Case(
        "valid only later",
        "log.jsonl",
        GOOD + second(valid="true").splitlines()[1],
        "log.jsonl:1: valid: ",
        "on every row, since other rows have it; got nothing",
    ),
    Case(
        "correct null",
        "log.jsonl",
        optional("correct", "false", "null"),
        "log.jsonl:2: correct: ",
        "got null",
    ),
    Case(
        "correct a list",
        "log.jsonl",
        optional("correct", "false", "[true]"),
        "log.jsonl:2: correct: ",
        "got [true]",
    ),
    Case(
        "score NaN",
        "log.jsonl",
        optional("score", "1", "NaN"),
        "log.jsonl:2: score: ",
        "must be a finite number; got NaN",
    ),
    Case(
        "score infinite",
        "log.jsonl",
        optional("score", "1", "-Infinity"),
        "log.jsonl:2: score: ",
        "must be a finite number; got -Infinity",
    ),
    Case(
        "score beyond double",
        "log.jsonl",
        optional("score", "1", "1e999"),
        "log.jsonl:2: score: ",
        "must be a finite number",
    ),
    Case(
        "score a text",
        "log.jsonl",
        optional("score", "1", '"0.5"'),
        "log.jsonl:2: score: ",
        "got the text '0.5'",
    ),
    Case("score null", "log.jsonl", optional("score", "1", "null"), "log.jsonl:2: score: ", "got null"),
    Case("score a flag", "log.jsonl", optional("score", "1", "true"), "log.jsonl:2: score: ", "got true"),
    Case(
        "empty method",
        "log.jsonl",
        optional("method", '"a"', '""'),
        "log.jsonl:2: method: ",
        "must be text that is not empty",
    ),
    Case(
        "missing method", "log.jsonl", optional("method", '"a"', ""), "log.jsonl:2: method: ", "it is missing"
    ),
    Case("trial a fraction", "log.jsonl", optional("trial", "0", "0.5"), "log.jsonl:2: trial: ", "got 0.5"),
    Case(
        "latent a list",
        "log.jsonl",
        optional("latent", "null", '["z"]'),
        "log.jsonl:2: latent: ",
        "got ['z']",
    ),
    Case(
        "labeler empty",
        "log.jsonl",
        optional("labeler", '"rule"', '""'),
        "log.jsonl:2: labeler: ",
        "not empty",
    ),
    # Duplicates
    Case(
        "sample twice",
        "log.jsonl",
        second(sample="0"),
        "log.jsonl:2: sample: ",
        "0 stands twice for the input 'p' (first at log.jsonl:1)",
    ),
    Case(
        "sample twice, written otherwise",
        "log.jsonl",
        second(sample="0.0"),
        "log.jsonl:2: sample: ",
        "0 stands twice",
    ),
    Case(
        "same id as number and text",
        "log.jsonl",
        '{"input": 7, "sample": 3, "strategies": []}\n{"input": "7", "sample": 3, "strategies": ["s1"]}\n',
        "log.jsonl:2: sample: ",
        "3 stands twice for the input '7'",
    ),
    Case(
        "sample twice in a method and trial",
        "log.jsonl",
        '{"input": "p", "method": "a", "trial": 2, "sample": 3, "strategies": []}\n' * 2,
        "log.jsonl:2: sample: ",
        "3 stands twice for the input 'p', trial '2', method 'a'",
    ),
    Case(
        "CSV sample twice",
        "log.csv",
        HEADER + "p,1,s1\nq,1,s1\n\np,1,s2\n",
        "log.csv:5: sample: ",
        "(first at log.csv:2)",
    ),
    # Files
    Case("empty file", "log.jsonl", "", "log.jsonl: ", "is empty"),
    Case("blank lines only", "log.jsonl", "\n  \n\n", "log.jsonl: ", "is empty"),
    Case("empty CSV", "log.csv", "", "log.csv: ", "is empty"),
    Case("blank CSV", "log.csv", "\n\n", "log.csv: ", "is empty"),
    Case("header only", "log.csv", HEADER, "log.csv:1: ", "has a header and no rows"),
    Case("empty Parquet", "log.parquet", b"", "log.parquet: ", "can't be read as Parquet"),
    Case("text named Parquet", "log.parquet", GOOD, "log.parquet: ", "can't be read as Parquet"),
    Case("unknown kind", "log.xlsx", GOOD, "log.xlsx: ", "unknown kind of file; its name must end in .jsonl"),
    Case("no ending", "log", GOOD, "log: ", "unknown kind of file"),
    Case("packed Parquet", "log.parquet.gz", GOOD, "log.parquet.gz: ", "unknown kind of file"),
    Case("garbage", "log.jsonl", bytes(range(256)) * 50, "log.jsonl:1: ", "malformed JSON"),
    Case(
        "garbage later",
        "log.jsonl",
        GOOD.encode() + bytes(range(128, 256)),
        "log.jsonl:2: ",
        "must be UTF-8 text; got the byte 0x80",
    ),
    Case(
        "Latin-1",
        "log.jsonl",
        second(input='"caf\xe9"').encode("latin-1"),
        "log.jsonl:2: ",
        "must be UTF-8 text; got the byte 0xe9",
    ),
    Case(
        "UTF-16", "log.jsonl", GOOD.encode("utf-16"), "log.jsonl:1: ", "must be UTF-8 text; got the byte 0xff"
    ),
    Case(
        "Latin-1 CSV",
        "log.csv",
        (HEADER + "p,0,\ncaf\xe9,1,s1\n").encode("latin-1"),
        "log.csv:3: ",
        "must be UTF-8 text; got the byte 0xe9",
    ),
    Case("no gzip", "log.jsonl.gz", GOOD, "log.jsonl.gz: ", "can't be read: Not a gzipped file"),
    Case(
        "half a gzip",
        "log.jsonl.gz",
        gzip.compress(GOOD.encode() * 1000)[:-20],
        "log.jsonl.gz",
        "can't be read",
    ),
    Case(
        "too long a line",
        "log.jsonl",
        second(strategies='["' + "s" * (1 << 25) + '"]'),
        "log.jsonl:2: ",
        "a line may hold at most 33554432",
    ),
    # CSV
    Case(
        "missing CSV column",
        "log.csv",
        "input,strategies\np,s1\n",
        "log.csv:1: sample: ",
        "missing column; the file has input, strategies",
    ),
    Case(
        "missing CSV column after blank lines",
        "log.csv",
        "\n\ninput,sample\np,1\n",
        "log.csv:3: strategies: ",
        "missing column",
    ),
    Case(
        "column twice",
        "log.csv",
        "input,sample,strategies,sample\np,0,s1,1\n",
        "log.csv:1: sample: ",
        "this column stands twice",
    ),
    Case(
        "too few cells",
        "log.csv",
        HEADER + "p,0,s1\np,1\n",
        "log.csv:3: ",
        "this row has 2 cells, the header 3",
    ),
    Case(
        "too many cells",
        "log.csv",
        HEADER + "p,0,s1\np,1,s1,s2\n",
        "log.csv:3: ",
        "this row has 4 cells, the header 3",
    ),
    Case("open quote", "log.csv", HEADER + 'p,0,s1\np,1,"s1\n', "log.csv:3: ", "malformed CSV"),
    Case("text after a quote", "log.csv", HEADER + 'p,0,s1\np,1,"s1"x\n', "log.csv:3: ", "malformed CSV"),
    Case(
        "mixed line ends", "log.csv", HEADER + "p,0,s1\r\np,1,s1\n", "log.csv:2: ", "lines must all end alike"
    ),
    Case(
        "CSV sample a word", "log.csv", HEADER + 'p,0,"a\nb"\nq,one,s1\n', "log.csv:4: sample: ", "got 'one'"
    ),
    Case(
        "CSV sample empty", "log.csv", HEADER + "p,0,\np, ,s1\n", "log.csv:3: sample: ", "got an empty cell"
    ),
    Case("CSV sample fractional", "log.csv", HEADER + "p,0,\np,1.5,s1\n", "log.csv:3: sample: ", "got '1.5'"),
    Case("CSV input empty", "log.csv", HEADER + "p,0,\n,1,s1\n", "log.csv:3: input: ", "got an empty cell"),
    Case(
        "CSV list that is none",
        "log.csv",
        HEADER + "p,0,\np,1,\"['s1', 's2']\"\n",
        "log.csv:3: strategies: ",
        "must be a list of labels such as",
    ),
    Case(
        "CSV valid a word",
        "log.csv",
        "input,sample,strategies,valid\np,0,,True\np,1,,yes\n",
        "log.csv:3: valid: ",
        "got 'yes'",
    ),
    Case(
        "CSV valid empty",
        "log.csv",
        "input,sample,strategies,valid\np,0,,1\np,1,,\n",
        "log.csv:3: valid: ",
        "since other rows have it; got an empty cell",
    ),
    Case(
        "CSV score nan",
        "log.csv",
        "input,sample,strategies,score\np,0,,1e-3\np,1,,nan\n",
        "log.csv:3: score: ",
        "must be a finite number; got 'nan'",
    ),
    Case("semicolons later", "log.csv", HEADER + "p;0;s1\n", "log.csv:2: ", "has 1 cells, the header 3"),
    # Counts
    Case(
        "c above n",
        "counts.csv",
        "input,strategy,c,n\np,s1,2,4\np,s2,5,4\n",
        "counts.csv:3: c: ",
        "must be at most n; got c = 5 of n = 4",
    ),
    Case(
        "negative c",
        "counts.csv",
        "input,strategy,c,n\np,s1,-1,4\n",
        "counts.csv:2: c: ",
        "must be a whole number from 0",
    ),
    Case(
        "fractional c",
        "counts.jsonl",
        '{"input": "p", "strategy": "s", "c": 1.5, "n": 4}',
        "counts.jsonl:1: c: ",
        "got 1.5",
    ),
    Case(
        "n differs",
        "counts.csv",
        "input,strategy,c,n\np,s1,2,4\nq,s1,1,3\np,s2,2,5\n",
        "counts.csv:4: n: ",
        "the input 'p' has 4 and 5",
    ),
    Case(
        "counts twice",
        "counts.csv",
        "input,strategy,c,n\np,s1,2,4\np,s1,2,4\n",
        "counts.csv:3: strategy: ",
        "'s1' stands twice for the input 'p'",
    ),
    Case(
        "counted without a name",
        "counts.csv",
        "input,strategy,c,n\np,s1,2,4\np,,2,4\n",
        "counts.csv:3: strategy: ",
        "only with c = 0 it may be empty; here c = 2",
    ),
    Case(
        "counts without n",
        "counts.csv",
        "input,strategy,c\np,s1,2\n",
        "counts.csv: ",
        "unknown format; it has input, strategy, c",
    ),
    Case(
        "counts without strategy",
        "counts.csv",
        "input,c,n\np,2,4\n",
        "counts.csv:1: strategy: ",
        "missing column",
    ),
    Case(
        "counts method partly",
        "counts.csv",
        "input,strategy,c,n,method\np,s1,2,4,a\nq,s1,2,4,\n",
        "counts.csv:3: method: ",
        "got an empty cell",
    ),
    Case(
        "id twice", "base.jsonl", '{"id": "p", "c": 1, "n": 2}\n' * 2, "base.jsonl:2: id: ", "must come once"
    ),
    Case(
        "id c above n",
        "base.jsonl",
        '{"id": "p", "c": 3, "n": 2}\n',
        "base.jsonl:1: c: ",
        "must be at most n",
    ),
    Case(
        "id n missing",
        "base.jsonl",
        '{"id": "p", "c": 1, "n": 2}\n{"id": "q", "c": 1}\n',
        "base.jsonl:2: n: ",
        "it is missing",
    ),
    # NoveltyBench
    Case(
        "partition a number",
        "nb.jsonl",
        '{"id": "p", "partition": [0, 1]}\n{"id": "q", "partition": 0}\n',
        "nb.jsonl:2: partition: ",
        "must be a list of classes",
    ),
    Case(
        "class a list",
        "nb.jsonl",
        '{"id": "p", "partition": [0, [1]]}\n',
        "nb.jsonl:1: partition: ",
        "must be a list of classes",
    ),
    Case(
        "class null",
        "nb.jsonl",
        '{"id": "p", "partition": [0, null]}\n',
        "nb.jsonl:1: partition: ",
        "must be a list of classes",
    ),
    Case(
        "scores too few",
        "nb.jsonl",
        '{"id": "p", "partition": [0, 1], "generation_scores": [1]}\n',
        "nb.jsonl:1: generation_scores: ",
        "got 1 for 2 generations",
    ),
    Case(
        "scores NaN",
        "nb.jsonl",
        '{"id": "p", "partition": [0, 1], "generation_scores": [1, NaN]}\n',
        "nb.jsonl:1: generation_scores: ",
        "finite numbers",
    ),
    Case(
        "prompt twice",
        "nb.jsonl",
        '{"id": "p", "partition": [0, 1]}\n' * 2,
        "nb.jsonl:2: id: ",
        "must come once; the prompt 'p' stands twice",
    ),
    Case(
        "nothing known",
        "x.jsonl",
        '{"task": 1, "reward": 0}\n',
        "x.jsonl: ",
        "unknown format; it has task, reward; must have the columns of native (input, sample, strategies)",
    ),
]


def written(folder: pathlib.Path, name: str, content: "str | bytes") -> pathlib.Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_wrong_file_gives_one_line_with_its_place(case, tmp_path, monkeypatch):
    check(case, tmp_path, monkeypatch, counts=False)


@pytest.mark.parametrize("case", CASES[::3], ids=[case.title for case in CASES[::3]])
def test_wrong_file_gives_the_same_line_when_it_is_counted(case, tmp_path, monkeypatch):
    check(case, tmp_path, monkeypatch, counts=True)


def check(case, folder, monkeypatch, counts):
    """Read a wrong file and look at the one line that comes out."""
    monkeypatch.chdir(folder)
    written(folder, case.name, case.content)
    with pytest.raises(InputError) as raised:
        cj.read_log(case.name, counts=counts)
    message = str(raised.value)
    assert message.startswith(case.place), message
    assert case.says in message
    assert "\n" not in message
    assert len(message) < 400


def test_titles_are_distinct_and_there_are_enough():
    assert len({case.title for case in CASES}) == len(CASES) >= 40
