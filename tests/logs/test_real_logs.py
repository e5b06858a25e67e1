"""Real files: read to the numbers that their makers published."""

import json

import numpy as np
import pytest

import coverjax as cj

pytestmark = pytest.mark.shared


def test_strategy_sets(shared_data):
    folder = shared_data / "strategy_sets"
    log = cj.read_log(folder / "samples.jsonl", declared=folder / "declared.csv")
    assert sorted(set(log.method)) == ["Claude", "DeepSeek", "GPT", "Gemini"]
    assert log.inputs == 80
    assert log.n.sum() == 240
    assert (log.matches.sum(axis=3) == 0)[log.inside].sum() == 10
    pooled = {"Claude": (30, 3), "DeepSeek": (38, 8), "GPT": (35, 9), "Gemini": (39, 15)}
    for method, part in log.by_method().items():
        found = part.matches.any(axis=(1, 2))
        assert part.declared_count.sum() == 55
        assert ((found & part.declared).sum(), (found & ~part.declared).sum()) == pooled[method]
    assert log.provenance["declared_unused"]["count"] == 0
    assert log.provenance["inputs_without_declared"] == 0


@pytest.mark.parametrize("model", ["base", "rl"])
def test_pass_at_k_counts(model, shared_data):
    path = shared_data / "deepscaler" / f"{model}.jsonl"
    table = cj.read_log(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert table.counts[:, 0].tolist() == [line["c"] for line in lines]
    assert table.n.tolist() == [line["n"] for line in lines]
    assert table.ids.tolist() == [line["id"] for line in lines]
    assert table.labels == (("correct",),) * 1060
    assert table.declared_given
    assert table.kept("correct") is table.kept("raw")
    assert abs(np.mean(table.counts[:, 0] / table.n) - {"base": 0.604105, "rl": 0.680063}[model]) < 5e-7


def test_two_models_need_a_method_column(shared_data):
    folder = shared_data / "deepscaler"
    with pytest.raises(cj.InputError, match=r"rl\.jsonl:1: id: must come once; .* stands twice \(two models"):
        cj.read_log([folder / "base.jsonl", folder / "rl.jsonl"])


def test_noveltybench(shared_data):
    log = cj.read_log(shared_data / "noveltybench" / "*.jsonl")
    assert log.matches.shape[:3] == (100, 1, 10)
    distinct = np.logical_or.accumulate(log.matches[:, 0], axis=1).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(
        distinct, [1, 1.21, 1.34, 1.43, 1.54, 1.58, 1.64, 1.72, 1.76, 1.83], atol=1e-12
    )
    assert not log.declared_given
    assert log.method is None
    assert log.provenance["model"] == "gemini-1.5-pro"
    new = np.logical_or.accumulate(log.matches[:, 0], axis=1).sum(axis=2)
    is_new = np.diff(new, axis=1, prepend=0) > 0
    weights = 0.8 ** np.arange(10)
    utility = (weights * is_new * log.score[:, 0]).sum(axis=1) / weights.sum()
    assert abs(utility.mean() - 2.8658255953362204) < 1e-12
    table = cj.read_log(shared_data / "noveltybench" / "*.jsonl", counts=True)
    np.testing.assert_array_equal(table.counts, log.counts().counts)
