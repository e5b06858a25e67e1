"""Wrong paths, wrong declared strategies, wrong Parquet, files that don't fit together."""

import os
import pathlib

import duckdb
import numpy as np
import pytest

import coverjax as cj
from coverjax.foundation.checks import InputError

GOOD = '{"input": "p", "sample": 0, "strategies": ["s1"]}\n'
LATER = GOOD.replace("0", "1")
COUNTS = '{"input": "p", "strategy": "s1", "c": 1, "n": 2}\n'
CSV = "input,sample,strategies\np,2,s1\n"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> pathlib.Path:
    """An empty working folder, so that messages hold short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def failing(start: str, says: str, paths, **options) -> None:
    """Read and look at the one line that comes out."""
    with pytest.raises(InputError) as raised:
        cj.read_log(paths, **options)
    message = str(raised.value)
    assert message.startswith(start), message
    assert says in message
    assert "\n" not in message


PATHS = [
    ("missing", "gone.jsonl", "gone.jsonl: ", "no such file"),
    ("below a file", "a.jsonl/b.jsonl", "a.jsonl/b.jsonl: ", "no such file"),
    ("dangling link", "link.jsonl", "link.jsonl: ", "no such file"),
    ("folder", "logs", "logs: ", "is a directory; name its files, as in logs/*.jsonl"),
    ("pipe", "pipe.jsonl", "pipe.jsonl: ", "is no regular file"),
    ("glob without match", "runs/*.jsonl", "runs/*.jsonl: ", "no file matches this pattern"),
    ("no paths", [], "paths: ", "must name at least one file"),
    ("empty name", "", "paths: ", "must hold names of files"),
    ("NUL in a name", "a\0.jsonl", "paths: ", "must hold names of files"),
    ("bytes", b"a.jsonl", "paths: ", "must hold paths as text"),
    ("a number", 5, "paths: ", "must be a path, a glob or a sequence of them; got 5"),
    ("a number among paths", ["a.jsonl", 5], "paths: ", "must hold paths as text; got 5"),
    ("twice", ["a.jsonl", "./a.jsonl"], "paths: ", "must name each file once"),
    ("twice by a glob", ["a.jsonl", "?.jsonl"], "paths: ", "must name each file once"),
    (
        "mixed kinds",
        ["a.jsonl", "a.csv"],
        "a.csv: ",
        "mixed kinds of files: this one is csv, a.jsonl is jsonl",
    ),
    (
        "mixed formats",
        ["a.jsonl", "counts.jsonl"],
        "counts.jsonl: ",
        "looks like counts, a.jsonl like native",
    ),
    ("an empty part", ["a.jsonl", "empty.jsonl"], "empty.jsonl: ", "is empty"),
    ("sample in two files", ["a.jsonl", "again.jsonl"], "again.jsonl:2: sample: ", "(first at a.jsonl:1)"),
    ("method in one file", ["a.jsonl", "method.jsonl"], "a.jsonl:1: method: ", "since other rows have it"),
]


@pytest.mark.parametrize(
    ("paths", "start", "says"), [case[1:] for case in PATHS], ids=[case[0] for case in PATHS]
)
def test_wrong_paths(paths, start, says, folder):
    for name, text in {
        "a.jsonl": GOOD,
        "a.csv": CSV,
        "counts.jsonl": COUNTS,
        "empty.jsonl": "\n",
        "again.jsonl": LATER + GOOD,
        "method.jsonl": LATER.replace("{", '{"method": "m", '),
    }.items():
        (folder / name).write_text(text)
    (folder / "logs").mkdir()
    os.symlink("nowhere.jsonl", "link.jsonl")
    os.mkfifo("pipe.jsonl")
    failing(start, says, paths)


def test_a_file_that_must_not_be_read(folder, monkeypatch):
    (folder / "a.jsonl").write_text(GOOD)
    real = open

    def refusing(name, *rest, **options):
        if str(name).endswith("a.jsonl"):
            raise PermissionError(13, "Permission denied")
        return real(name, *rest, **options)

    monkeypatch.setattr("builtins.open", refusing)
    failing("a.jsonl: ", "can't be read: Permission denied", "a.jsonl")


def test_options_that_contradict(folder):
    (folder / "a.jsonl").write_text(GOOD)
    (folder / "c.jsonl").write_text(COUNTS)
    (folder / "i.jsonl").write_text('{"id": "p", "c": 1, "n": 2}\n')
    failing(
        "format: ",
        "must be one of auto, counts, evalplus, human_eval, id_c_n, inspect,",
        "a.jsonl",
        format="csv",
    )
    failing("format: ", "must be a name", "a.jsonl", format=None)
    failing("ordered: ", "counts forget the order", "a.jsonl", counts=True, ordered=True)
    failing("ordered: ", "counts hold no order", "c.jsonl", ordered=True)
    failing("declared: ", "the one strategy 'correct'", "i.jsonl", declared=["a"])
    failing("a.jsonl:1: c: ", "it is missing", "a.jsonl", format="counts")
    failing("c.jsonl:1: sample: ", "it is missing", "c.jsonl", format="native")


def test_a_document_is_no_table(folder):
    """Whoever reads rows, as laws and declared strategies are, is told of a file that holds none."""
    (folder / "a.eval").write_bytes(b"PK\x05\x06" + bytes(18))
    (folder / "a.jsonl").write_text(GOOD)
    (folder / "a.json").write_text('{\n "status": "success",\n "eval": {"input": 1}\n}')
    failing("a.json: ", "input: missing column", "a.jsonl", declared="a.json")
    failing("a.eval: ", "missing column", "a.jsonl", declared="a.eval")
    with pytest.raises(InputError, match="missing column"):
        cj.read_law("a.json")
    (folder / "b.json").write_text('{\n "input": 1, "strategy": "s",\n "eval": {}\n}')
    failing("b.json: ", "must hold rows", "a.jsonl", declared="b.json")


def test_trials_are_not_counted(folder):
    lines = [GOOD.replace("{", f'{{"trial": {trial}, ') for trial in (0, 1)]
    (folder / "a.jsonl").write_text("".join(lines))
    failing("trial: ", "a count table has no trials, and the input 'p' has several", "a.jsonl", counts=True)
    with pytest.raises(InputError, match="has no trials"):
        cj.read_log("a.jsonl").counts()
    (folder / "a.jsonl").write_text(lines[1])
    assert cj.read_log("a.jsonl", counts=True).n.tolist() == [1]


DECLARED = [
    ("missing table", "gone.csv", "gone.csv: ", "no such file"),
    ("unknown kind", "a.txt", "a.txt: ", "unknown kind of file"),
    ("missing column", "a.csv=input,name\np,s1\n", "a.csv:1: strategy: ", "missing column"),
    ("missing input", "a.csv=task,strategy\np,s1\n", "a.csv:1: input: ", "missing column"),
    (
        "missing field",
        'a.jsonl={"input": "p", "strategy": "s1"}\n{"input": "p"}',
        "a.jsonl:2: strategy: ",
        "missing",
    ),
    (
        "twice",
        "a.csv=input,strategy\np,s1\nq,s1\np,s1\n",
        "a.csv:4: strategy: ",
        "must be declared once; 's1' stands twice for the input 'p' (first at a.csv:2)",
    ),
    ("twice for all", "a.csv=strategy\ns1\ns1\n", "a.csv:3: strategy: ", "'s1' stands twice"),
    (
        "empty strategy",
        "a.csv=input,strategy\np,s1\np,\n",
        "a.csv:3: strategy: ",
        "must be text that is not empty",
    ),
    ("blank strategy", 'a.jsonl={"input": "p", "strategy": " "}', "a.jsonl:1: strategy: ", "not empty"),
    ("empty input", "a.csv=input,strategy\np,s1\n,s2\n", "a.csv:3: input: ", "got an empty cell"),
    ("ragged", "a.csv=input,strategy\np,s1,s2\n", "a.csv:2: ", "this row has 3 cells, the header 2"),
    ("malformed", 'a.jsonl={"input": "p", "strategy": "s1"}\n{"inp', "a.jsonl:2: ", "malformed JSON"),
    ("empty table", "a.csv=", "a.csv: ", "is empty"),
    ("text for a list", {"p": "s1"}, "declared['p']: ", "must be a list of strategies; got 's1'"),
    ("set for a list", {"p": {"s1"}}, "declared['p']: ", "must be a list of strategies"),
    (
        "number in a list",
        {"p": ["s1", 2]},
        "declared['p']: ",
        "must hold names of strategies that are not empty; got 2",
    ),
    ("empty name in a list", ["s1", " "], "declared: ", "not empty; got ' '"),
    ("twice in a list", {"p": ["s1", "s2", "s1"]}, "declared['p']: ", "'s1' stands twice"),
    ("number", 5, "declared: ", "must be a list of strategies; got 5"),
    ("1 and '1'", {1: ["s1"], "1": ["s1"]}, "declared: ", "must name each input once"),
]


@pytest.mark.parametrize(("given", "start", "says"), [c[1:] for c in DECLARED], ids=[c[0] for c in DECLARED])
def test_wrong_declared_strategies(given, start, says, folder):
    (folder / "log.jsonl").write_text(GOOD)
    (folder / "a.txt").write_text("s1")
    if isinstance(given, str) and "=" in given:
        given, text = given.split("=", 1)
        (folder / given).write_text(text)
    failing(start, says, "log.jsonl", declared=given)


PARQUET = [
    ("sample fraction", {"sample": "2.5"}, "log.parquet:5001: sample: ", "got 2.5"),
    ("sample null", {"sample": "NULL"}, "log.parquet:5001: sample: ", "got null"),
    ("sample text", {"sample": "'a'"}, "log.parquet:1: sample: ", "got the text '0'"),
    ("input null", {"input": "NULL"}, "log.parquet:5001: input: ", "got null"),
    ("input fraction", {"input": "1.5"}, "log.parquet:1: input: ", "got "),
    ("strategies null", {"strategies": "NULL"}, "log.parquet:5001: strategies: ", "write [] for a sample"),
    ("null in a list", {"strategies": "['s1', NULL]"}, "log.parquet:5001: strategies: ", "got ['s1', None]"),
    ("list of numbers", {"strategies": "[1]"}, "log.parquet:1: strategies: ", "must be a list of labels"),
    (
        "score NaN",
        {"score": "'nan'::DOUBLE"},
        "log.parquet:5001: score: ",
        "must be a finite number; got NaN",
    ),
    ("score null", {"score": "NULL"}, "log.parquet:5001: score: ", "since other rows have it; got null"),
    ("valid two", {"valid": "2"}, "log.parquet:5001: valid: ", "must be true or false"),
    (
        "twice",
        {"sample": "7"},
        "log.parquet:5001: sample: ",
        "7 stands twice for the input 'p' (first at log.parquet:8)",
    ),
]


@pytest.mark.parametrize(("values", "start", "says"), [c[1:] for c in PARQUET], ids=[c[0] for c in PARQUET])
def test_wrong_parquet_names_the_row(values, start, says, folder):
    types = {
        "input": "VARCHAR",
        "sample": "BIGINT",
        "strategies": "VARCHAR[]",
        "score": "DOUBLE",
        "valid": "TINYINT",
    }
    good = {"input": "'p'", "sample": "i", "strategies": "['s1']", "score": "0.5", "valid": "1"}
    if values == {"input": "1.5"}:
        good["input"] = "0.5"
    if values == {"sample": "'a'"}:
        good["sample"] = "i::VARCHAR"
    if values == {"strategies": "[1]"}:
        good["strategies"] = "[2]"
    if values == {"sample": "2.5"}:
        good["sample"] = "i::DOUBLE"
    rows = [good, good | {"sample": "5000"} | values]
    assert types.keys() == good.keys()
    parts = [", ".join(f"{text} AS {name}" for name, text in row.items()) for row in rows]
    duckdb.connect().execute(
        f"COPY (SELECT {parts[0]} FROM range(5000) t(i) UNION ALL SELECT {parts[1]}) TO 'log.parquet'"
    )
    failing(start, says, "log.parquet")
    failing(start, says, "log.parquet", counts=True)


def test_parquet_without_a_column(folder):
    duckdb.connect().execute("COPY (SELECT 'p' AS input, ['s1'] AS strategies) TO 'log.parquet'")
    failing("log.parquet: sample: ", "missing column; the file has input, strategies", "log.parquet")
    duckdb.connect().execute(
        "COPY (SELECT 'p' AS input, 1 AS sample, ['s1'] AS strategies LIMIT 0) TO 'log.parquet'"
    )
    failing("log.parquet: ", "is empty", "log.parquet")


def test_half_a_parquet_file(folder):
    duckdb.connect().execute(
        "COPY (SELECT 'p' AS input, i AS sample, '' AS strategies FROM range(9) t(i)) TO 'a.parquet'"
    )
    whole = pathlib.Path("a.parquet").read_bytes()
    pathlib.Path("b.parquet").write_bytes(whole[: len(whole) // 2])
    failing("b.parquet: ", "can't be read as Parquet", ["a.parquet", "b.parquet"])


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "jsonl.gz"])
def test_damaged_bytes_give_a_log_or_one_line(kind, folder, rng):
    """Whatever the bytes, nothing but an InputError comes out: one line that begins with the file."""
    import gzip

    rows = [
        f'{{"input": "p{i % 3}", "sample": {i}, "strategies": ["s1", "s2"], "valid": true}}\n'
        for i in range(30)
    ]
    cells = ["input,sample,strategies,valid\n", *(f'p{i % 3},{i},"s1|s2",true\n' for i in range(30))]
    if kind == "parquet":
        (folder / "a.jsonl").write_text("".join(rows))
        duckdb.connect().execute("COPY (SELECT * FROM 'a.jsonl') TO 'good.parquet'")
        good = (folder / "good.parquet").read_bytes()
    else:
        good = "".join(cells if kind == "csv" else rows).encode()
        good = gzip.compress(good) if kind.endswith("gz") else good
    path = folder / f"log.{kind}"
    refused = 0
    for _ in range(40):
        damaged = bytearray(good)
        for position in rng.integers(len(good), size=rng.integers(1, 4)):
            damaged[position] = rng.choice(np.frombuffer(b'\0\x80\xff\n\r",{}[]:0e-|\\ ', np.uint8))
        start, length = rng.integers(len(good)), rng.integers(0, 20)
        del damaged[start : start + (length if rng.random() < 0.5 else 0)]
        path.write_bytes(damaged)
        said = outcome(path.name, counts=bool(rng.random() < 0.3))
        refused += said is not None
        assert said is None or (said.startswith(path.name) and "\n" not in said), said
    assert refused > 10


def outcome(path, **options) -> "str | None":
    """Read; return the message of an InputError, let any other error through."""
    try:
        cj.read_log(path, **options)
    except InputError as error:
        return str(error)
    return None
