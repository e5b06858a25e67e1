"""Labelers: rules, functions and tables; from raw text to a log, row by row."""

import json
import re

import pytest

import coverjax as cj
from coverjax.logs.labelers import Rule, signature

RULES = r"""
name = "proofs"
ignore_case = true

[[rule]]
strategy = "induction"
pattern = '\binduct'
unless = 'no induction'

[[rule]]
strategy = "cases"
pattern = 'case [12]'
column = "notes"

[[rule]]
strategy = "pigeonhole"
pattern = 'pigeon'
input = 'p[12]'
"""

ROWS = [
    {"input": "p1", "text": "By INDUCTION on n", "notes": "case 1", "valid": True, "score": 1.50},
    {"input": "p1", "text": "no induction here", "notes": "", "valid": False, "score": 2},
    {"input": "p3", "text": "pigeons", "notes": "ünïcode | pipe", "valid": True, "score": 1e-3},
    {"input": "p2", "text": "pigeons, inductively", "notes": "case 3", "valid": True, "score": 0},
]


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "raw.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


@pytest.fixture
def rules(tmp_path):
    (tmp_path / "rules.toml").write_text(RULES)
    return cj.read_rules(tmp_path / "rules.toml")


def test_rules(rules):
    assert rules(ROWS) == [["induction", "cases"], [], [], ["induction", "pigeonhole"]]
    assert rules.columns == ("text", "notes")
    assert rules.strategies == ("induction", "cases", "pigeonhole")
    assert signature(rules) == "rule:proofs"


def test_rules_from_a_table_are_the_same(tmp_path, rules):
    (tmp_path / "proofs.csv").write_text(
        "strategy,pattern,column,unless,input,ignore_case\ninduction,\\binduct,,no induction,,1\n"
        "cases,case [12],notes,,,true\npigeonhole,pigeon,text,,p[12],1\n"
    )
    again = cj.read_rules(tmp_path / "proofs.csv")
    assert again(ROWS) == rules(ROWS)
    assert again.name == "proofs"


def test_a_column_for_rules_that_name_none(tmp_path):
    (tmp_path / "r.toml").write_text("[[rule]]\nstrategy = 's'\npattern = 'x'\n")
    assert cj.read_rules(tmp_path / "r.toml").columns == ("text",)
    assert cj.read_rules(tmp_path / "r.toml", column="answer").columns == ("answer",)


def test_a_labelled_log_keeps_its_columns(raw, rules, tmp_path):
    report = cj.label_log(raw, rules, tmp_path / "log.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["strategies"] for line in lines] == rules(ROWS)
    assert [line["sample"] for line in lines] == [0, 1, 0, 0]
    assert all(line["labeler"] == "rule:proofs" for line in lines)
    for line, row in zip(lines, ROWS, strict=True):
        assert {name: line[name] for name in row} == row
    assert (report.samples, report.inputs, report.empty, report.several) == (4, 3, 2, 2)
    assert report.found == {"induction": 2, "cases": 1, "pigeonhole": 1}
    assert report.unlabelled == (f"{raw}:2", f"{raw}:3")
    log = cj.read_log(tmp_path / "log.jsonl", declared=list(rules.strategies))
    assert log.labelers == ("rule:proofs",)
    assert log.score[0, 0, 0] == 1.5
    assert cj.estimate(log).coverage.shape == (3, 1)


def test_csv_cells_get_their_types_and_old_labels_are_kept(tmp_path, rules):
    path = tmp_path / "raw.csv"
    path.write_text(
        "input,sample,text,notes,strategies,labeler,correct,score\n"
        "7,3,induction,case 1,old|label,human,1,0.50\n7,4,,none,,human,false,1\n"
    )
    with pytest.raises(
        cj.InputError, match=r"raw.csv:3: text: must be text for the labeler to read; got nothing"
    ):
        cj.label_log(path, rules, tmp_path / "log.jsonl")
    assert not (tmp_path / "log.jsonl").exists()
    path.write_text(path.read_text().replace("7,4,,none", "7,4,x,none"))
    cj.label_log(path, rules, tmp_path / "log.jsonl")
    first, second = (json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines())
    assert first == {
        "input": "7", "sample": 3, "strategies": ["induction", "cases"], "labeler": "rule:proofs",
        "text": "induction", "notes": "case 1", "strategies_before": "old|label", "labeler_before": "human",
        "correct": True, "score": 0.5,
    }  # fmt: skip
    assert second["correct"] is False
    assert cj.read_log(tmp_path / "log.jsonl").correct.tolist() == [[[True, False]]]


def test_whole_numbers_of_samples_are_written_one_way(tmp_path, rules):
    path = tmp_path / "raw.jsonl"
    lines = [{"input": "p", "sample": float(s), "text": "induction", "notes": ""} for s in range(2)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    cj.label_log(path, rules, tmp_path / "log.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [repr(line["sample"]) for line in lines] == ["0", "1"]


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (
            {"sample": 70},
            {"sample": 70.0},
            "2: sample: must be another number .*; 70 stands twice for .* 'p'",
        ),
        ({"method": "m"}, {}, "2: method: must stand on every row or on none"),
        ({"score": None}, {"score": 1}, "2: score: must stand on every row or on none"),
        ({"valid": True}, {"trial": 0}, "2: trial: must stand on every row or on none"),
        ({"sample": 0}, {}, "2: sample: must stand on every row of an input or on none"),
    ],
)
def test_rows_that_no_log_can_hold_together_are_not_labelled(tmp_path, rules, one, other, message):
    path, out = tmp_path / "raw.jsonl", tmp_path / "log.jsonl"
    start = {"input": "p", "text": "induction", "notes": ""}
    path.write_text(json.dumps(start | one) + "\n" + json.dumps(start | other) + "\n")
    with pytest.raises(cj.InputError, match=f"raw.jsonl:{message}"):
        cj.label_log(path, rules, out)
    assert not out.exists()


def test_the_same_number_is_another_sample_of_another_run(tmp_path, rules):
    runs = [{"input": i, "method": m, "trial": t} for i in "pq" for m in "xy" for t in (0, 1)]
    lines = [run | {"sample": n, "text": "", "notes": ""} for run in runs for n in (3, 64, 0, 67)]
    (tmp_path / "raw.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    cj.label_log(tmp_path / "raw.jsonl", rules, tmp_path / "log.jsonl")
    assert (cj.read_log(tmp_path / "log.jsonl").n == 4).all()


def test_parquet_and_several_files(tmp_path, raw, rules):
    import duckdb

    duckdb.sql(f"COPY (SELECT * FROM read_json('{raw}')) TO '{tmp_path / 'raw.parquet'}' (FORMAT parquet)")
    for paths in ([raw], [tmp_path / "raw.parquet"]):
        cj.label_log(paths, rules, tmp_path / "log.jsonl")
        log = cj.read_log(tmp_path / "log.jsonl")
        assert log.n.sum() == 4
    (tmp_path / "more.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    assert cj.label_log([raw, tmp_path / "more.jsonl"], rules, tmp_path / "log.jsonl").samples == 5
    assert cj.read_log(tmp_path / "log.jsonl").n[0].tolist() == [3]


def test_functions(tmp_path, monkeypatch, raw):
    (tmp_path / "own_labelers.py").write_text(
        "def shout(row):\n    return row['text'].isupper() and 'loud' or None\n"
        "def words(row):\n    return {w for w in row['text'].split() if w in ('pigeons,', 'pigeons')}\n"
        "words.kind = 'rubric'\nnumber = 3\n"
        "def broken(row):\n    return 1 / len(row['notes']) and None\ndef wrong(row):\n    return ['x', '']\n"
    )
    monkeypatch.chdir(tmp_path)
    shout = cj.CallableLabeler.named("own_labelers:shout")
    assert signature(shout) == "classifier:own_labelers:shout"
    assert shout([{"text": "LOUD"}, {"text": "low"}]) == [["loud"], []]
    words = cj.CallableLabeler.named("own_labelers:words")
    assert words.kind == "rubric"
    assert cj.label_log(raw, words, tmp_path / "log.jsonl").found == {"pigeons": 1, "pigeons,": 1}
    assert cj.CallableLabeler.named("own_labelers:words", kind="human").kind == "human"
    high = cj.CallableLabeler("high", lambda row: "high" if row["score"] > 1 and row["valid"] else None)
    assert cj.label_log(raw, high, tmp_path / "log.jsonl").found == {"high": 1}
    for name, message in (
        (
            "own_labelers:broken",
            r"raw.jsonl:2: own_labelers:broken raised ZeroDivisionError: division by zero",
        ),
        (
            "own_labelers:wrong",
            r"raw.jsonl:1: own_labelers:wrong must return a label, a list of labels or None, none empty",
        ),
        ("own_labelers:number", "labeler: own_labelers:number must be a function of a row; got 3"),
        ("own_labelers:nothing", "labeler: module own_labelers must hold nothing; it holds none"),
        ("nowhere_at_all:f", "labeler: module 'nowhere_at_all' must be importable"),
        ("own_labelers", "labeler: must be written module:name; got 'own_labelers'"),
    ):
        with pytest.raises(cj.InputError, match=message):
            cj.label_log(raw, cj.CallableLabeler.named(name), tmp_path / "bad.jsonl")
    assert not (tmp_path / "bad.jsonl").exists()


def test_tables(tmp_path, raw):
    (tmp_path / "raters.csv").write_text(
        "input,text,strategies\np1,By INDUCTION on n,a|b\np1,no induction here,\n"
    )
    table = cj.read_label_table(tmp_path / "raters.csv")
    assert table(ROWS[:2]) == [["a", "b"], []]
    assert signature(table) == "human:raters"
    with pytest.raises(
        cj.InputError,
        match=r"raw.jsonl:3: the table of raters has no line for input 'p3', text 'pigeons'; add it",
    ):
        cj.label_log(raw, table, tmp_path / "log.jsonl")
    (tmp_path / "t.csv").write_text("input,sample,strategies\np1,0,a\n")
    table = cj.read_label_table(tmp_path / "t.csv")
    with pytest.raises(cj.InputError, match="sample: must be there: the table of t is looked up by it"):
        cj.label_log(raw, table, tmp_path / "log.jsonl")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("r.toml", "x = [", r"r.toml:1: must be TOML: "),
        ("r.toml", "", "r.toml: holds no rule; it must hold at least one"),
        ("r.toml", "nam = 'x'", "r.toml: nam: unknown; the file may hold name, column, ignore_case, rule"),
        ("r.toml", "ignore_case = 1", "r.toml: ignore_case: must be true or false; got 1"),
        ("r.toml", "rule = [1]", r"r.toml: rule: must be \[\[rule\]\] tables; got \[1\]"),
        (
            "r.toml",
            "\n[[rule]]\nstrategy = 's'\npattern = '('\n",
            r"r.toml:2: pattern: must be a regular expression; ",
        ),
        ("r.toml", "[[rule]]\npattern = 'x'\n", "r.toml:1: strategy: missing; each rule needs it"),
        (
            "r.toml",
            "[[rule]]\nstrategy = ''\npattern = 'x'",
            "r.toml:1: strategy: must be text that is not empty",
        ),
        (
            "r.toml",
            "[[rule]]\nstrategy = 's'\nregex = 'x'",
            "r.toml:1: regex: unknown; a rule has strategy, pattern",
        ),
        ("r.csv", "strategy,pattern\ns,(\n", r"r.csv:2: pattern: must be a regular expression; "),
        ("r.csv", "strategy,pattern,ignore_case\ns,x,maybe\n", "r.csv:2: ignore_case: must be true or false"),
        ("r.csv", "strategy\ns\n", "r.csv:2: pattern: missing; each rule needs it"),
        ("r.txt", "s: x", "r.txt: must be rules as .toml or .csv"),
    ],
)
def test_wrong_rules(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(cj.InputError, match=message):
        cj.read_rules(tmp_path / name)


def test_missing_rules(tmp_path):
    for name in ("r.toml", "r.csv"):
        with pytest.raises(cj.InputError, match=f"{name}: (no such file|can.t be read: No such file)"):
            cj.read_rules(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input,labels\np,a\n", "t.csv: must hold `strategies` and columns to look samples up by"),
        ("strategies\na\n", "must hold `strategies` and columns to look samples up by"),
        ("input,strategies\np,a\np,b\n", "t.csv:3: input: 'p' stands twice, with different labels"),
        ("input,strategies\n,b\n", "t.csv:2: input: must be text or a number, on every line; got None"),
        ("input,strategies\np,a||b\n", "t.csv:2: strategies: must be a list of labels"),
    ],
)
def test_wrong_tables(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(cj.InputError, match=message):
        cj.read_label_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"text": "x"}],
            "raw.jsonl:1: input: must be text that is not empty, or a whole number; got nothing",
        ),
        ([{"input": "p"}], "raw.jsonl:1: text: must be text for the labeler to read; got nothing"),
        ([{"input": "p", "text": True}], "raw.jsonl:1: text: must be text for the labeler to read; got True"),
        ([{"input": "p", "text": "x", "correct": "yes"}], "raw.jsonl:1: correct: must be true or false"),
        (
            [{"input": "p", "text": "x", "sample": 0}, {"input": "p", "text": "x"}],
            "raw.jsonl:2: sample: must stand on every row of an input or on none",
        ),
    ],
)
def test_wrong_logs(tmp_path, rows, message):
    path = tmp_path / "raw.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    labeler = cj.RuleLabeler("r", (Rule("s", re.compile("x")),))
    with pytest.raises(cj.InputError, match=message):
        cj.label_log(path, labeler, tmp_path / "log.jsonl")
    assert [file.name for file in tmp_path.iterdir()] == ["raw.jsonl"]


def test_the_log_is_not_overwritten(raw, rules):
    with pytest.raises(cj.InputError, match="must be another file than the log that is read"):
        cj.label_log(raw, rules, raw)


def test_a_labeler_that_loses_rows(raw, tmp_path):
    class Lazy:
        name, kind, columns = "lazy", "rule", ()

        def __call__(self, rows):
            return []

    with pytest.raises(
        cj.InputError, match="labeler lazy: must give one list of labels a row; it gave 0 for 4 rows"
    ):
        cj.label_log(raw, Lazy(), tmp_path / "log.jsonl")


def test_batches_do_not_show(raw, rules, tmp_path, monkeypatch):
    cj.label_log(raw, rules, tmp_path / "whole.jsonl")
    monkeypatch.setattr("coverjax.logs.labelling.BATCH", 3)
    cj.label_log(raw, rules, tmp_path / "parts.jsonl")
    assert (tmp_path / "whole.jsonl").read_bytes() == (tmp_path / "parts.jsonl").read_bytes()
