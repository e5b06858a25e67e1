"""A written log is read back as it was."""

import json

import numpy as np
import pytest

import coverjax as cj


def same_matches(log, back):
    """Each sample has the same set of labels, whatever their columns."""
    for row in range(log.inputs):
        for trial in range(log.n.shape[1]):
            for sample in range(log.n[row, trial]):
                one, other = (
                    {
                        name
                        for name, there in zip(x.labels[row], x.matches[row, trial, sample], strict=False)
                        if there
                    }
                    for x in (log, back)
                )
                assert one == other


def full_log(rng):
    n = np.array([[3, 5], [5, 5], [4, 5], [5, 5]])
    return cj.SampleLog.from_arrays(
        rng.random((4, 2, 5, 3)) < 0.4,
        n=n,
        declared=[True, True, False],
        valid=rng.random((4, 2, 5)) < 0.7,
        correct=rng.random((4, 2, 5)) < 0.5,
        score=rng.random((4, 2, 5)),
        latent=rng.integers(-1, 3, (4, 2, 5)),
        labeler="human",
        ids=["p|1", "2", "p|1", "2"],
        labels=[["a,b", 'quo"te', "line\nbreak"]] * 4,
        method=["x", "x", "y", "y"],
    )


def test_round_trip(tmp_path, rng):
    log = full_log(rng)
    cj.write_log(log, tmp_path / "log.jsonl")
    cj.write_declared(log, tmp_path / "declared.csv")
    back = cj.read_log(tmp_path / "log.jsonl", declared=tmp_path / "declared.csv")
    assert back.ids.tolist() == log.ids.tolist()
    assert back.method.tolist() == log.method.tolist()
    np.testing.assert_array_equal(back.n, log.n)
    np.testing.assert_array_equal(back.declared_count, log.declared_count)
    inside = log.inside
    for field in ("valid", "correct", "score"):
        np.testing.assert_array_equal(getattr(back, field)[inside], getattr(log, field)[inside])
    names = np.array([*log.latents, ""])
    back_names = np.array([*back.latents, ""])
    np.testing.assert_array_equal(back_names[back.latent[inside]], names[log.latent[inside]])
    assert back.labelers == ("human",)
    same_matches(log, back)


def test_the_bytes_repeat_and_hold_only_what_the_log_has(tmp_path, rng):
    log = cj.SampleLog.from_arrays(rng.random((2, 3, 2)) < 0.5)
    for name in ("a.jsonl", "b.jsonl"):
        cj.write_log(log, tmp_path / name)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    assert [set(json.loads(line)) for line in lines] == [{"input", "sample", "strategies"}] * 6


@pytest.mark.parametrize("name", ["log", "log.csv", "log.jsonl.gz", "log.parquet"])
def test_a_name_that_would_be_read_as_something_else_is_refused(tmp_path, rng, name):
    log = cj.SampleLog.from_arrays(rng.random((2, 3, 2)) < 0.5)
    with pytest.raises(
        cj.InputError, match=rf"{name}: must be a name that ends in \.jsonl or \.ndjson or \.json"
    ):
        cj.write_log(log, tmp_path / name)
    (tmp_path / "rules.csv").write_text("strategy,pattern\na,A\n")
    (tmp_path / "raw.jsonl").write_text('{"input": "p", "text": "A"}\n')
    with pytest.raises(cj.InputError, match=rf"{name}: must be a name that ends in \.jsonl"):
        cj.label_log(tmp_path / "raw.jsonl", cj.read_rules(tmp_path / "rules.csv"), tmp_path / name)
    with pytest.raises(cj.InputError, match=r"declared\.jsonl: must be a name that ends in \.csv or \.tsv"):
        cj.write_declared(log, tmp_path / "declared.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw.jsonl", "rules.csv"]


def test_declared_pairs_are_written_once(tmp_path):
    log = cj.SampleLog.from_arrays(
        np.ones((2, 1, 2), bool), ids=["p", "p"], method=["x", "y"], labels=[["s", "t"]] * 2
    )
    cj.write_declared(log, tmp_path / "declared.csv")
    assert (tmp_path / "declared.csv").read_text() == "input,strategy\np,s\np,t\n"


def test_names_with_blanks_come_back_as_they_were(tmp_path):
    names = [" a", "a ", "a", "[", '["a"]', '[" a"]', "\tb", "a|b", 'quo"te']
    ids = [" x", "x", "[x", '["x "]']
    rng = np.random.default_rng(0)
    log = cj.SampleLog.from_arrays(
        rng.random((4, 6, 9)) < 0.5, ids=ids, labels=[names] * 4, declared=np.arange(9) < 8
    )
    cj.write_log(log, tmp_path / "log.jsonl")
    cj.write_declared(log, tmp_path / "declared.csv")
    back = cj.read_log(tmp_path / "log.jsonl", declared=tmp_path / "declared.csv")
    assert back.ids.tolist() == ids
    assert back.notes == ()
    assert [row[:8] for row in back.labels] == [tuple(names[:8])] * 4
    same_matches(log, back)
    np.testing.assert_array_equal(back.declared_count, log.declared_count)


@pytest.mark.parametrize("declared", ["input,strategy\n", "strategy\n"])
def test_a_log_without_declared_strategies_comes_back(declared, tmp_path):
    log = cj.SampleLog.from_arrays(np.ones((2, 3, 2), bool), declared=[False, False])
    cj.write_log(log, tmp_path / "log.jsonl")
    cj.write_declared(log, tmp_path / "declared.csv")
    assert (tmp_path / "declared.csv").read_text() == "input,strategy\n"
    (tmp_path / "declared.csv").write_text(declared)
    back = cj.read_log(tmp_path / "log.jsonl", declared=tmp_path / "declared.csv")
    assert back.declared_count.tolist() == [0, 0]
    assert back.declared_given
    same_matches(log, back)


def test_several_labelers_are_refused(tmp_path):
    log = cj.SampleLog.from_arrays(np.ones((1, 1, 1), bool), labeler=["human", "rule"])
    with pytest.raises(
        cj.InputError, match="labeler: must be one for all samples to be written; got human, rule"
    ):
        cj.write_log(log, tmp_path / "log.jsonl")
    assert list(tmp_path.iterdir()) == []
