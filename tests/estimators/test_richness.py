"""Chao2, Good-Turing coverage and Good-Toulmin: iNEXT's values, printed digits, edges, a series by hand."""

import csv

import numpy as np
import pytest

import coverjax as cj
from coverjax.estimators.richness import (
    Frequencies,
    chao_distinct,
    chao_richness,
    good_toulmin_distinct,
    sample_coverage,
)


def of(n, *rows):
    return Frequencies.of(np.broadcast_to(n, (len(rows),)), np.array(rows))


def sites(folder):
    """Samples and incidence counts of every site."""
    found = {}
    for name in ("incidence_freq.txt", "abundance.txt"):
        for line in (folder / name).read_text().splitlines():
            words = line.split()
            if words and name.startswith("incidence"):
                found[words[0]] = int(words[1]), np.array(words[2:], int)
            elif words:
                counts = np.array(words[1:], int)
                found[words[0]] = int(counts.sum()), counts
    with open(folder / "ciliates_EtoshaPan_presence.csv", newline="") as file:
        matrix = np.array(list(csv.reader(file))[1:], int)
    found["EtoshaPan"] = len(matrix), matrix.sum(axis=0)
    return found


@pytest.mark.shared
@pytest.mark.parametrize(("name", "column", "rows"), [("incidence", "t", 26), ("abundance", "m", 24)])
def test_inexts_curves_and_sample_coverage(shared_data, name, column, rows):
    """Every value of the golden files, rarefied and extrapolated: to the 12 digits they are printed with."""
    folder = shared_data / "ecology"
    known, checked, beyond = sites(folder), 0, 0
    with open(folder / f"golden_inext_{name}.csv", newline="") as file:
        for row in csv.DictReader(file):
            n, counts = known[row["site"]]
            k = int(row[column])
            found = of(n, counts)
            assert sample_coverage(found, np.array([k]))[0, 0] == pytest.approx(
                float(row["coverage"]), rel=1e-11
            )
            table = cj.CountTable.from_arrays(counts[None], [n])
            curves = cj.extrapolate(table, [k], method="chao2")
            capped = cj.extrapolate(_open(table), [k], method="chao2")
            assert capped.distinct[0, 0] == pytest.approx(float(row["S"]), rel=1e-11)
            assert curves.distinct[0, 0] == min(len(counts), capped.distinct[0, 0])
            checked += 1
            beyond += k > n
    assert checked == rows
    assert beyond >= 6


def _open(table):
    """The same counts where no declared strategies were given: no cap."""
    import dataclasses

    return dataclasses.replace(table, declared_given=False)


@pytest.mark.shared
def test_chao2_of_inext_to_the_printed_digits(shared_data):
    known, checked = sites(shared_data / "ecology"), 0
    with open(shared_data / "ecology" / "golden_chao2.csv", newline="") as file:
        for row in csv.DictReader(file):
            n, counts = known[row["site"]]
            found = cj.chao2(cj.CountTable.from_arrays(counts[None], [n]))
            for name, value in (
                ("Observed", found.observed),
                ("Estimator", found.estimate),
                ("Est_s.e.", found.stderr),
                ("95% Lower", found.low),
                ("95% Upper", found.high),
                ("SC", found.sample_coverage),
            ):
                digits = len(row[name].partition(".")[2])
                assert f"{value[0]:.{digits}f}".rstrip("0") == row[name].rstrip("0"), name
                checked += 1
    assert checked == 12


def test_a_strategy_in_every_sample_and_no_strategy_at_all():
    found = of(5, [5, 5, 0], [0, 0, 0], [5, 1, 0], [5, 2, 1])
    np.testing.assert_array_equal(
        chao_distinct(found, np.array([5, 10, 1_000])),
        [[2] * 3, [0] * 3, [2] * 3, [3, *chao_distinct(found, np.array([10, 1_000]))[3]]],
    )
    assert chao_distinct(found, np.array([10**6]))[3, 0] == pytest.approx(3 + 0.8 * 0.5)
    coverage = sample_coverage(found, np.array([1, 5, 9]))
    np.testing.assert_allclose(coverage[0], 1.0)
    assert np.isnan(coverage[1]).all()
    np.testing.assert_allclose(coverage[2], [5 / 6, 1.0, 1.0])
    richness = chao_richness(found, 0.95)
    assert richness.estimate.tolist() == [2.0, 0.0, 2.0, 3.4]
    assert richness.low[1] == richness.high[1] == 0.0
    assert (richness.low >= found.seen).all()
    assert (richness.high >= richness.estimate).all()


def test_one_sample_knows_no_coverage():
    assert np.isnan(sample_coverage(of(1, [1, 0]), np.array([1, 5]))).all()
    assert np.isnan(chao_richness(of(1, [1, 0]), 0.95).sample_coverage[0])
    assert chao_distinct(of(1, [1, 0]), np.array([1, 9])).tolist() == [[1.0, 1.0]]


def test_the_coverage_of_all_samples_is_the_curve_at_each_n(rng):
    n = np.array([1, 2, 5, 5, 9, 30, 30])
    counts = rng.binomial(n[:, None], rng.beta(0.5, 2.0, (7, 6)))
    counts[3] = 0
    found = Frequencies.of(n, counts)
    curve = [sample_coverage(found, np.array([size]))[row, 0] for row, size in enumerate(n)]
    np.testing.assert_array_equal(found.covered, curve)
    assert np.isnan(found.covered[[0, 3]]).all()


def test_two_strategies_seen_once_and_none_twice_by_hand():
    """Q0 = (n-1)/n Q1 (Q1 - 1) / 2 = 4/5, A = 5 Q0 / (5 Q0 + 2) = 2/3; S(7) = 3 + 4/5 (1 - (2/3)^2)."""
    found = of(5, [1, 1, 4])
    assert found.unseen[0] == pytest.approx(0.8)
    assert found.later[0] == pytest.approx(2 / 3)
    assert chao_distinct(found, np.array([7]))[0, 0] == pytest.approx(3 + 0.8 * (1 - 4 / 9))
    assert sample_coverage(found, np.array([7]))[0, 0] == pytest.approx(1 - 2 / 6 * (2 / 3) ** 3)


@pytest.mark.parametrize(("k", "expected"), [(10, 0.0), (15, 3 * 0.5 - 2 * 0.25 + 0.125), (20, 3 - 2 + 1)])
def test_good_toulmins_series_up_to_twice_the_samples(k, expected):
    """Phi_1 = 3, Phi_2 = 2, Phi_3 = 1, t = (k - 10) / 10: S + t Phi_1 - t^2 Phi_2 + t^3 Phi_3."""
    found = of(10, [1, 1, 1, 2, 2, 3, 0])
    assert good_toulmin_distinct(found, np.array([k]))[0, 0] == pytest.approx(6 + expected)


def test_smoothing_beyond_twice_the_samples_by_hand():
    """t = 3: floor(log2(10 x 9 / 2) / 2) = 2 trials of chance 2/5, P(L >= 1) = 16/25, P(L >= 2) = 4/25."""
    found = of(10, [1, 1, 1, 2, 2, 3, 0])
    assert good_toulmin_distinct(found, np.array([40]))[0, 0] == pytest.approx(
        6 + 3 * 3 * 16 / 25 - 9 * 2 * 4 / 25
    )


@pytest.mark.statistical
def test_good_toulmin_is_unbiased_up_to_twice_the_samples(rng):
    """Poisson counts: E = sum 1 - e^(-lambda (1 + t)); 4,000 logs, |z| < 5 (false alarm 1e-6)."""
    rates = np.array([0.1, 0.3, 0.7, 1.5, 3.0])
    counts = np.minimum(rng.poisson(rates, size=(4_000, 5)), 40)
    found = good_toulmin_distinct(Frequencies.of(np.full(4_000, 40), counts), np.array([60]))[:, 0]
    truth = (1 - np.exp(-1.5 * rates)).sum()
    assert abs(found.mean() - truth) < 5 * found.std() / np.sqrt(4_000)
