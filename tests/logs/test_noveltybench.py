"""NoveltyBench's classes of generations, read as labels."""

import duckdb
import numpy as np

import coverjax as cj
from tests.log_equality import same_logs, same_tables
from tests.log_files import one

NOVELTY = (
    '{"id": "p", "model": "m", "partition": [0, 1, 0], "generation_scores": [3, 0.5, 1]}\n'
    '{"id": "q", "model": "m", "partition": ["b", "a"], "generation_scores": [1, 2]}\n'
)


def test_noveltybench_classes_are_labels_in_sequence_order(tmp_path):
    log = one(tmp_path, NOVELTY)
    assert log.provenance["format"] == "noveltybench"
    assert log.provenance["model"] == "m"
    assert log.labels == (("0", "1"), ("a", "b"))
    assert log.n.tolist() == [[3], [2]]
    assert log.matches[0, 0].tolist() == [[True, False], [False, True], [True, False]]
    assert log.matches[1, 0, :2].tolist() == [[False, True], [True, False]]
    np.testing.assert_array_equal(log.score[:, 0], [[3, 0.5, 1], [1, 2, np.nan]])
    assert not log.declared_given
    same_tables(one(tmp_path, NOVELTY, counts=True), log.counts())
    assert one(tmp_path, NOVELTY.replace("generation_", "other_")).score is None
    named = one(tmp_path, NOVELTY.replace('"id"', '"method": "x", "id"'))
    assert named.method.tolist() == ["x", "x"]
    two = one(tmp_path, NOVELTY + NOVELTY.replace('"m"', '"n"'))
    assert two.method.tolist() == ["m", "m", "n", "n"]
    assert two.ids.tolist() == ["p", "q", "p", "q"]


def test_noveltybench_in_parquet(tmp_path):
    (tmp_path / "log.jsonl").write_text(NOVELTY.replace('["b", "a"]', "[2, 0]"))
    duckdb.connect().execute(f"COPY (SELECT * FROM '{tmp_path}/log.jsonl') TO '{tmp_path}/log.parquet'")
    same_logs(cj.read_log(tmp_path / "log.parquet"), cj.read_log(tmp_path / "log.jsonl"))
