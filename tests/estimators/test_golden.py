"""Real logs, read as a user reads them, against their published or independently computed values."""

import csv
import json

import numpy as np
import pytest

import coverjax as cj

pytestmark = pytest.mark.shared

STRATEGY_SETS = {
    # pooled C(1..3); mean C(1..3); AUC(3); F(1..3); undeclared strategies found after 3 runs
    "Claude": (
        (0.406061, 0.496970, 0.545455),
        (0.431944, 0.512500, 0.554167),
        0.499537,
        (0.15, 0.15, 0.15),
        3,
    ),
    "DeepSeek": (
        (0.533333, 0.648485, 0.690909),
        (0.569444, 0.669444, 0.704167),
        0.647685,
        (0.266667, 0.35, 0.40),
        8,
    ),
    "GPT": (
        (0.533333, 0.593939, 0.636364),
        (0.552778, 0.601389, 0.633333),
        0.595833,
        (0.20, 0.266667, 0.30),
        9,
    ),
    "Gemini": (
        (0.606061, 0.666667, 0.709091),
        (0.627778, 0.677778, 0.712500),
        0.672685,
        (0.283333, 0.316667, 0.40),
        15,
    ),
}
FOUND_AFTER_3 = {"Claude": 30, "DeepSeek": 38, "GPT": 35, "Gemini": 39}


def test_strategy_sets(shared_data):
    folder = shared_data / "strategy_sets"
    log = cj.read_log(folder / "samples.jsonl", declared=folder / "declared.csv")
    curves = cj.estimate(log)
    assert set(curves) == set(STRATEGY_SETS)
    empty = ~log.matches.any(axis=3)[:, 0, :]
    assert empty.sum() == 10
    assert empty.size == 240
    for name, (pooled, mean, area, full, undeclared) in STRATEGY_SETS.items():
        found = curves[name]
        assert found.declared.sum() == 55
        np.testing.assert_allclose(found.pooled().coverage[0], pooled, atol=5e-7)
        np.testing.assert_allclose(found.mean().coverage[0], mean, atol=5e-7)
        assert cj.auc(found).mean() == pytest.approx(area, abs=5e-7)
        np.testing.assert_allclose(found.mean().full_coverage[0], full, atol=5e-7)
        assert found.undeclared[:, -1].sum() == undeclared
        assert found.distinct[:, -1].sum() == FOUND_AFTER_3[name]


def test_deepscaler_is_pass_at_k_of_counts(shared_data):
    folder = shared_data / "deepscaler"
    expected = json.loads((folder / "expected.json").read_text())
    means = {}
    for model in ("base", "rl"):
        curves = cj.estimate(cj.read_log(folder / f"{model}.jsonl"))
        means[model] = curves
        wanted = expected[f"{model}_pass_at_k"]
        assert len(wanted) == 128
        np.testing.assert_allclose(curves.mean().coverage[0], wanted, atol=1e-12, rtol=0)
        assert curves.inputs == 1060
        np.testing.assert_array_equal(curves.full_coverage, curves.coverage)
    assert means["base"].coverage.mean() == pytest.approx(0.857284, abs=5e-7)
    assert means["rl"].coverage.mean() == pytest.approx(0.848820, abs=5e-7)
    compared = cj.compare(means["rl"], means["base"], multipliers=100_000)
    assert compared.wins.tolist() == list(range(1, 11))
    assert 59 <= compared.losses.min() <= 64
    assert compared.losses.tolist() == list(range(compared.losses.min(), 129))
    assert compared.critical_value == pytest.approx(2.5566, abs=0.02)


def test_noveltybench(shared_data):
    path = shared_data / "noveltybench" / "gemini15pro_curated.jsonl"
    log = cj.read_log(path)
    expected = [
        1,
        1.20022222,
        1.33558333,
        1.44109524,
        1.52849206,
        1.60338095,
        1.66908333,
        1.72777778,
        1.781,
        1.83,
    ]
    np.testing.assert_allclose(cj.estimate(log).mean().distinct[0], expected, atol=5e-9)
    in_order = [1, 1.21, 1.34, 1.43, 1.54, 1.58, 1.64, 1.72, 1.76, 1.83]
    ordered = cj.estimate(cj.read_log(path, ordered=True))
    np.testing.assert_allclose(ordered.mean().distinct[0], in_order, atol=1e-12)
    assert cj.patience_utility(log, patience=0.8).mean() == pytest.approx(2.8658255953362204, abs=1e-14)


def incidence(path) -> dict[str, tuple[int, np.ndarray]]:
    lines = [line.split() for line in path.read_text().splitlines() if line.strip()]
    return {words[0]: (int(words[1]), np.array(words[2:], int)) for words in lines}


def test_ecology_rarefaction_values(shared_data):
    folder = shared_data / "ecology"
    sites = incidence(folder / "incidence_freq.txt")
    matrix = presence(folder / "ciliates_EtoshaPan_presence.csv")
    sites["EtoshaPan"] = (len(matrix), matrix.sum(axis=0))
    checked = 0
    with open(folder / "golden_inext_incidence.csv", newline="") as file:
        for row in csv.DictReader(file):
            units, counts = sites[row["site"]]
            if int(row["t"]) <= units:
                found = rarefied(units, counts, int(row["t"]))
                assert found == pytest.approx(float(row["S"]), rel=1e-11)
                checked += 1
    assert checked == 18
    checked = 0
    for words in (
        line.split() for line in (folder / "abundance.txt").read_text().splitlines() if line.strip()
    ):
        counts = np.array(words[1:], int)
        with open(folder / "golden_inext_abundance.csv", newline="") as file:
            for row in csv.DictReader(file):
                if row["site"] == words[0] and int(row["m"]) <= counts.sum():
                    found = rarefied(int(counts.sum()), counts, int(row["m"]))
                    assert found == pytest.approx(float(row["S"]), rel=1e-11)
                    checked += 1
    assert checked == 18


def rarefied(n: int, counts: np.ndarray, k: int) -> float:
    """Expected distinct through the public count table."""
    table = cj.CountTable.from_arrays(counts[None], [n])
    return float(cj.estimate(table, [k], include=()).distinct[0, 0])


def test_printed_ecology_values(shared_data):
    units, counts = incidence(shared_data / "ecology" / "incidence_freq.txt")["h500m"]
    assert rarefied(units, counts, 100) == pytest.approx(185.4224201879, rel=1e-11)
    matrix = presence(shared_data / "ecology" / "ciliates_EtoshaPan_presence.csv")
    log = cj.SampleLog.from_arrays(matrix[None])
    found = cj.estimate(log, include="default")
    assert found.distinct[0, 14] == pytest.approx(191.8188854489, rel=1e-11)


def presence(path) -> np.ndarray:
    with open(path, newline="") as file:
        return np.array(list(csv.reader(file))[1:], int)


def test_dune_exact_subset_deviation(shared_data):
    matrix = presence(shared_data / "ecology" / "dune_presence.csv")
    curves = cj.estimate(cj.SampleLog.from_arrays(matrix[None]), include=("subset_sd",))
    with open(shared_data / "ecology" / "golden_exact_sd.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["set"] == "dune"]
    assert len(rows) >= 10
    for row in rows:
        k = int(row["k"])
        assert curves.distinct[0, k - 1] == pytest.approx(float(row["mean"]), rel=1e-9)
        assert curves.subset_sd.distinct[0, k - 1] == pytest.approx(float(row["exact_sd"]), rel=1e-9)
    assert curves.subset_sd.distinct[0, 4] == pytest.approx(2.02119, abs=5e-6)
