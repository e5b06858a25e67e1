"""`coverjax label` from text to a labelled log, and agreement with other labels."""

import csv
import json

import pytest

import coverjax as cj
from coverjax.cli.main import main

RULES = "[[rule]]\nstrategy = 'a'\npattern = 'A'\n[[rule]]\nstrategy = 'b'\npattern = 'B'\n[[rule]]\n" + (
    "strategy = 'never'\npattern = 'N'\n"
)
TEXTS = [["AB", "A", "x"], ["B", "B", "A"], ["A", "", "AB"], ["x", "A", "B"]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder: raw.jsonl, rules.toml, human.csv (some samples) and label_functions.py."""
    rows = [
        {"input": f"p{i}", "sample": s, "text": text}
        for i, texts in enumerate(TEXTS)
        for s, text in enumerate(texts)
    ]
    (tmp_path / "raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "rules.toml").write_text(RULES)
    lines = ["input,sample,strategies,labeler"]
    lines += [f"{r['input']},{r['sample']},{'|'.join(r['text'].lower()).strip('x')},human" for r in rows[:9]]
    lines[2] = "p0,1,b,human"
    (tmp_path / "human.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "label_functions.py").write_text(
        "def first(row):\n    return row['text'][:1].lower() or None\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *argv):
    code = main(["label", *argv])
    return code, *capsys.readouterr()


def test_a_labelled_log_that_estimate_reads(folder, capsys):
    code, out, err = run(capsys, "raw.jsonl", "--rules", "rules.toml", "--out", "log.jsonl", "--name", "v2")
    assert code == 0
    assert err == "wrote log.jsonl\n"
    assert "12 samples of 4 inputs: 3 without a label, 2 with several" in out
    assert "! never given: never" in out
    assert "first without a label: raw.jsonl:3, raw.jsonl:8, raw.jsonl:10" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    log = cj.read_log("log.jsonl", declared=["a", "b"])
    assert log.labelers == ("rule:v2",)
    assert log.matches[0, 0].tolist() == [[True, True], [True, False], [False, False]]
    assert main(["estimate", "log.jsonl"]) == 0
    assert "rule:v2" in capsys.readouterr().out


def test_agreement_and_its_table(folder, capsys):
    argv = ["raw.jsonl", "--rules", "rules.toml", "--against", "human.csv", "--rates", "rates.csv"]
    code, out, err = run(capsys, *argv)
    assert code == 0
    assert err == "wrote rates.csv\n"
    assert "agreement with human on 9 samples of 3 inputs" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    with open("rates.csv", newline="") as file:
        rows = {row["strategy"]: row for row in csv.DictReader(file)}
    assert [rows["a"][name] for name in ("both", "only_labeler", "only_other", "neither")] == [
        "4",
        "1",
        "0",
        "4",
    ]
    assert float(rows["a"]["false_positive"]) == pytest.approx(1 / 5)
    assert float(rows["b"]["false_negative"]) == pytest.approx(1 / 5)
    # A strategy that the rules can give and nobody gave: none of 9 samples is no proof of a rate of 0.
    assert rows["never"]["neither"] == "9"
    assert rows["never"]["kappa"] == ""
    assert float(rows["never"]["false_positive_most"]) == pytest.approx(1 - 0.05 ** (1 / 9))
    assert float(rows["a"]["false_positive_most"]) >= 1 / 5


def test_json_is_one_document(folder, capsys):
    argv = [
        "raw.jsonl",
        "--call",
        "label_functions:first",
        "--against",
        "human.csv",
        "--json",
        "--kind",
        "rubric",
    ]
    code, out, err = run(capsys, *argv)
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["labeler"] == "rubric:label_functions:first"
    assert told["found"] == {"a": 6, "b": 3, "x": 2}
    assert (
        told["command"]
        == "coverjax label raw.jsonl --call label_functions:first --against human.csv --kind rubric"
    )
    assert [facts["path"] for facts in told["files"]] == ["raw.jsonl", "human.csv"]
    row = next(row for row in told["agreement"]["strategies"] if row["strategy"] == "a")
    assert row["both"] + row["only_labeler"] + row["only_other"] + row["neither"] == 9
    assert told["agreement"]["alpha"]["distance"] == "masi"
    assert row["kappa"]["mean"] == pytest.approx(cj.label_agreement(*pairs()).kappa.mean[0])


def pairs():
    ours = [{text[:1].lower()} - {""} for texts in TEXTS[:3] for text in texts]
    theirs = [set(text.lower()) - {"x"} for texts in TEXTS[:3] for text in texts]
    theirs[1] = {"b"}
    return ours, theirs, ["p0"] * 3 + ["p1"] * 3 + ["p2"] * 3


def test_a_log_against_itself_with_rules_lists_it_once(folder, capsys):
    assert run(capsys, "raw.jsonl", "--rules", "rules.toml", "--out", "log.jsonl")[0] == 0
    argv = ["log.jsonl", "--rules", "rules.toml", "--against", "log.jsonl", "--out", "again.jsonl", "--json"]
    code, out, _ = run(capsys, *argv)
    assert code == 0
    assert [facts["path"] for facts in json.loads(out)["files"]] == ["log.jsonl", "rules.toml"]


def test_samples_are_joined_by_the_number_however_it_is_written(folder, capsys):
    (folder / "human.jsonl").write_text('{"input": "p0", "sample": 0.0, "strategies": ["a", "b"]}\n')
    code, out, _ = run(capsys, "raw.jsonl", "--rules", "rules.toml", "--against", "human.jsonl")
    assert code == 0
    assert "on 1 sample of 1 input" in out


def test_labels_of_other_samples_leave_no_log(folder, capsys):
    (folder / "others.csv").write_text("input,sample,strategies\nz,0,a\n")
    argv = ["raw.jsonl", "--rules", "rules.toml", "--against", "others.csv", "--out", "log.jsonl"]
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert "others.csv: must label samples of the log; none of its 1 samples is there" in err
    assert not (folder / "log.jsonl").exists()


def test_labels_that_fit_several_samples_are_refused(folder, capsys):
    rows = [{"method": m, "input": "p0", "sample": 0, "text": text} for m, text in ("xA", "yB")]
    (folder / "methods.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    argv = ["methods.jsonl", "--rules", "rules.toml", "--against", "human.csv", "--out", "log.jsonl"]
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert "input sample: the other's labels must be of one sample of the log; p0 0 is of several" in err
    assert not (folder / "log.jsonl").exists()
    (folder / "both.csv").write_text("method,input,sample,strategies\nx,p0,0,a\ny,p0,0,a\n")
    code, out, _ = run(capsys, *argv[:4], "both.csv")
    assert code == 0
    assert "on 2 samples of 1 input" in out


def test_tables_and_logs_that_are_labelled(folder, capsys):
    assert run(capsys, "raw.jsonl", "--rules", "rules.toml", "--out", "log.jsonl")[0] == 0
    code, out, _ = run(capsys, "log.jsonl", "--against", "log.jsonl")
    assert code == 0
    assert "equal sets 1.00; Krippendorff's alpha (masi) 1.00" in out
    (folder / "table.csv").write_text("text,strategies\nAB,a\nA,\nx,\nB,b\n,\n")
    code, out, err = run(capsys, "raw.jsonl", "--table", "table.csv")
    assert code == 2
    assert "table.csv:6: text: must be text or a number, on every line" in err


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ([], "coverjax label: needs at least one LOG file; see coverjax label --help"),
        (
            ["raw.jsonl"],
            "coverjax label: needs a labeler (--rules FILE, --call module:function or --table FILE), or",
        ),
        (
            ["raw.jsonl", "--rules", "rules.toml", "--call", "label_functions:first"],
            "takes one of --rules, --call, --table; got",
        ),
        (
            ["raw.jsonl", "--against", "human.csv", "--out", "x"],
            "--out: there is nothing to write without a labeler",
        ),
        (["raw.jsonl", "--rules", "rules.toml", "--rates", "x"], "--rates: agreement needs --against FILE"),
        (["raw.jsonl", "--call", "label_functions:first", "--column", "x"], "--column: is for --rules"),
        (["raw.jsonl", "--rules", "rules.toml", "--level", "95"], "level: must lie strictly between 0 and 1"),
        (["raw.jsonl", "--against", "human.csv"], "raw.jsonl:1: strategies: must be a list of labels"),
        (
            ["raw.jsonl", "--rules", "rules.toml", "--against", "raw.jsonl"],
            "raw.jsonl:1: strategies: must be",
        ),
        (["raw.jsonl", "--rules", "rules.toml", "--out", "raw.jsonl"], "must be another file than the log"),
        (["none.jsonl", "--rules", "rules.toml"], "none.jsonl: no such file"),
        (["raw.jsonl", "--rules", "none.toml"], "none.toml: can't be read: No such file"),
        (
            ["raw.jsonl", "--rules", "rules.toml", "--against", "twice.csv"],
            "twice.csv:3: sample: must be another number for each sample; 0 stands twice for the input",
        ),
        (
            ["raw.jsonl", "--rules", "rules.toml", "--against", "other.csv"],
            "other.csv: must label samples of the log; none of its 1 samples is there, joined by",
        ),
    ],
)
def test_wrong_input_is_one_line(folder, capsys, argv, told):
    (folder / "twice.csv").write_text("input,sample,strategies\np0,0,a\np0,0,b\n")
    (folder / "other.csv").write_text("input,sample,strategies\nq,0,a\n")
    before = {path.name for path in folder.iterdir()}
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == before
