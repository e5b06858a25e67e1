"""What a log says beside its numbers: columns not read, declared strategies that match nothing; sizes."""

import logging

import numpy as np
import pytest

import coverjax as cj
from coverjax.cli.main import main
from coverjax.logs import sizes
from coverjax.logs.notes import unread_columns

ROW = '{"input": "p", "sample": 0, "strategies": ["s1"]}\n'


def one(folder, text, name="log.jsonl", **options):
    (folder / name).write_text(text)
    return cj.read_log(folder / name, **options)


@pytest.mark.parametrize("counts", [False, True])
def test_columns_that_are_not_read_are_told_once(counts, tmp_path):
    text = ROW.replace("{", '{"prompt": "?", "Valid": true, "metod": "a", ')
    (tmp_path / "b.jsonl").write_text(text.replace('"p"', '"q"').replace("prompt", "text"))
    (tmp_path / "a.jsonl").write_text(text)
    log = cj.read_log([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], counts=counts)
    assert log.notes == (
        "columns not read: Valid (did you mean `valid`?), metod (did you mean `method`?), prompt, text",
    )
    assert one(tmp_path, ROW, counts=counts).notes == ()
    assert one(tmp_path, "input,sample,strategies,Score\np,0,a,1\n", "a.csv").notes == (
        "columns not read: Score (did you mean `score`?)",
    )


def test_a_column_that_is_there_is_not_asked_for():
    assert unread_columns(["strategy", "strategies"], ["input", "strategies"]) == "columns not read: strategy"
    many = unread_columns([f"c{i}" for i in range(20)], ["input"])
    assert many.endswith("c11 and 8 more")


def test_near_misses_of_columns_that_lack_are_asked_for(tmp_path):
    wrong = {
        ROW.replace(
            "strategies", "strategy"
        ): "strategies: must be a list of labels; got nothing: it is missing; "
        "write [] for a sample that matches nothing (is it `strategy`?)",
        ROW.replace(
            "input", "Input"
        ): "input: must be text that is not empty, or a whole number; got nothing: it "
        "is missing (is it `Input`?)",
        ROW.replace("input", "Input")
        .replace("sample", "Sample")
        .replace("strategies", "Tags"): "(did you mean `input` by Input, `sample` by Sample?)",
    }
    for text, says in wrong.items():
        with pytest.raises(cj.InputError) as raised:
            one(tmp_path, text)
        assert says in str(raised.value)
    with pytest.raises(cj.InputError, match=r"strategies: missing column; .* \(is it `Strategy`\?\)"):
        one(tmp_path, "input,sample,Strategy\np,0,a\n", "a.csv")


def test_the_report_tells_notes_once_for_all_methods(tmp_path, capsys):
    rows = [
        ROW.replace("{", f'{{"method": "{method}", "text": "?", ').replace('"p"', f'"{name}"')
        for method in "ab"
        for name in "pq"
    ]
    (tmp_path / "log.jsonl").write_text("".join(rows))
    assert main(["estimate", str(tmp_path / "log.jsonl")]) == 0
    assert capsys.readouterr().out.count("! columns not read: text") == 1


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"q": ["s1"]}, "the input 'p', for which nothing is declared (it is for 'q'), has the labels 's1'"),
        (["x", "y"], "the input 'p' has the labels 's1'; declared are 'x', 'y'"),
        ({}, "the input 'p', for which nothing is declared, has the labels 's1'"),
    ],
)
def test_declared_strategies_that_match_nothing_are_told_loudly(declared, says, counts, tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "coverjax"):
        log = one(tmp_path, ROW, declared=declared, counts=counts)
    assert len(log.notes) == len(caplog.messages) == 1
    assert log.notes[0] == caplog.messages[0]
    assert log.notes[0].startswith("NOTHING that was declared occurs in the log: ")
    assert says in log.notes[0]


def test_no_alarm_where_there_is_nothing_to_match(tmp_path, caplog):
    empty = ROW.replace('"s1"', "")
    assert one(tmp_path, empty, declared=["s1"]).notes == ()
    assert one(tmp_path, ROW + ROW.replace('"p"', '"q"'), declared={"q": ["s1"]}).notes == ()
    assert one(tmp_path, ROW).notes == ()
    assert caplog.messages == []


def test_labels_that_nearly_are_declared_are_told(tmp_path):
    text = ROW.replace('["s1"]', '["s1", " By  Cases", "new"]')
    log = one(tmp_path, text, declared=["s1", "by cases", "other"])
    assert log.notes == (
        "labels that differ from declared ones by case or blanks only: 'by cases' is declared, ' By  Cases' "
        "occurs",
    )


def test_arrays_that_would_not_fit_are_refused_in_one_line(tmp_path, monkeypatch):
    rows = "".join(f'{{"input": "big", "sample": {i}, "strategies": ["s{i % 50}"]}}\n' for i in range(500))
    rows += "".join(f'{{"input": "p{i}", "sample": 0, "strategies": ["s0"]}}\n' for i in range(200))
    assert one(tmp_path, rows).matches.shape == (201, 1, 500, 50)
    monkeypatch.setattr(sizes, "memory", lambda: 10_000_000)
    with pytest.raises(cj.InputError) as raised:
        one(tmp_path, rows)
    assert "\n" not in str(raised.value)
    assert "(201 inputs x 1 trials x 500 samples x 50 labels, padded to the largest of each)" in str(
        raised.value
    )
    assert "count the samples (counts=True, --counts)" in str(raised.value)
    assert one(tmp_path, rows, counts=True).counts.shape == (201, 50)
    monkeypatch.setattr(sizes, "memory", lambda: 400_000)
    with pytest.raises(cj.InputError, match=r"201 inputs x 50 labels, .* coarser names"):
        one(tmp_path, rows, counts=True)


def test_memory_of_this_machine(monkeypatch):
    assert sizes.memory() > 1 << 28
    monkeypatch.delattr("os.sysconf")
    assert sizes.memory() == 1 << 34


def test_a_noveltybench_score_is_no_threshold(tmp_path):
    text = '{"id": "p", "partition": [0, 1, 0], "generation_scores": [10, 3, 0]}\n'
    log = one(tmp_path, text)
    assert log.score.tolist() == [[[10, 3, 0]]]
    with pytest.raises(cj.InputError, match="min_score: a NoveltyBench score belongs to a generation in its"):
        log.with_min_score(3)


def test_semicolons_and_tabs(tmp_path):
    for mark, name in ((";", "a.csv"), ("\t", "b.tsv"), ("\t", "c.csv")):
        text = f"input{mark}sample{mark}strategies\np,1{mark}0{mark}a|b\n"
        log = one(tmp_path, text, name)
        assert log.ids.tolist() == ["p,1"]
        assert log.labels == (("a", "b"),)
    declared = tmp_path / "declared.csv"
    declared.write_text("input;strategy\np,1;b\n")
    np.testing.assert_array_equal(one(tmp_path, text, "c.csv", declared=declared).declared, [[True, False]])
