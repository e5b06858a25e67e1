import json

import numpy as np
import pytest

import coverjax as cj
from coverjax.foundation.checks import InputError
from coverjax.foundation.numerics import binomial_ratio
from coverjax.foundation.precision import float64_kernel
from coverjax.inference.comparison import compare


def curves_of(coverage, ids=None, **changes):
    coverage = np.asarray(coverage, dtype=float)
    inputs, budgets = coverage.shape
    fields = {
        "budgets": np.arange(1, budgets + 1),
        "coverage": coverage,
        "distinct": coverage,
        "declared": np.ones(inputs, dtype=int),
        "ids": np.array(range(inputs) if ids is None else ids, dtype=object),
    }
    return cj.Curves(**{**fields, **changes})


def pair(rng, inputs=50, budgets=13):
    """Two methods: the first better early, the second late."""
    trend = np.linspace(0.2, -0.2, budgets)
    base = rng.random((inputs, 1)) * np.linspace(0.5, 0.9, budgets)
    return base + trend + 0.05 * rng.random((inputs, budgets)), base + 0.05 * rng.random((inputs, budgets))


def test_difference_and_error_are_paired(rng):
    a, b = pair(rng)
    found = compare(curves_of(a, method="one"), curves_of(b, method="two"))
    np.testing.assert_allclose(found.difference, (a - b).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.stderr, (a - b).std(axis=0, ddof=1) / np.sqrt(50), rtol=1e-12)
    low, high = found.band
    np.testing.assert_allclose((high - low) / 2, found.critical_value * found.stderr, rtol=1e-10)
    assert (found.a, found.b, found.inputs, found.left_out) == ("one", "two", 50, 0)


def test_wins_losses_and_undecided_split_the_budgets(rng):
    a, b = pair(rng)
    found = compare(curves_of(a), curves_of(b))
    low, high = found.band
    assert found.wins.tolist() == [k for k in range(1, 14) if low[k - 1] > 0]
    assert found.losses.tolist() == [k for k in range(1, 14) if high[k - 1] < 0]
    assert sorted([*found.wins, *found.losses, *found.undecided]) == list(range(1, 14))
    assert found.wins[0] == 1
    assert found.losses[-1] == 13
    assert 7 in found.undecided


def test_exchanging_the_methods_exchanges_wins_and_losses(rng):
    a, b = pair(rng)
    one, other = compare(curves_of(a), curves_of(b)), compare(curves_of(b), curves_of(a))
    np.testing.assert_allclose(one.difference, -other.difference, rtol=1e-12)
    np.testing.assert_array_equal(one.wins, other.losses)
    np.testing.assert_array_equal(one.losses, other.wins)
    assert one.critical_value == pytest.approx(other.critical_value, rel=1e-9)


def test_inputs_are_paired_by_id_whatever_their_order(rng):
    a, b = pair(rng)
    names = [f"input {i}" for i in range(50)]
    order = rng.permutation(50)
    straight = compare(curves_of(a, names), curves_of(b, names))
    shuffled = compare(curves_of(a, names), curves_of(b[order], [names[i] for i in order]))
    np.testing.assert_array_equal(straight.difference, shuffled.difference)
    assert straight.critical_value == shuffled.critical_value


def test_inputs_that_cannot_be_paired_are_left_out_and_counted(rng):
    a, b = pair(rng, inputs=12)
    a[3], b[7] = np.nan, np.nan
    one = curves_of(a[:10], range(10), short=np.arange(10) == 3)
    other = curves_of(b[2:], range(2, 12), declared=np.where(np.arange(2, 12) == 7, 0, 1))
    found = compare(one, other)
    keep = [2, 4, 5, 6, 8, 9]
    assert (found.inputs, found.left_out) == (6, 6)
    np.testing.assert_allclose(found.difference, (a - b)[keep].mean(axis=0), rtol=1e-12)


def test_equal_curves_are_flagged_and_undecided_even_when_rounding_differs(rng):
    a, _ = pair(rng)
    for b in (a, a * (1 + 1e-15)):
        found = compare(curves_of(a), curves_of(b))
        assert found.flagged.all()
        assert np.isnan(found.band[0]).all()
        assert np.isnan(found.critical_value)
        assert found.undecided.tolist() == list(range(1, 14))
        assert len(found.wins) == len(found.losses) == 0
        assert any("no variance" in line for line in found.warnings)


def test_a_constant_advantage_without_variance_decides_nothing(rng):
    a, b = pair(rng)
    a[:, 4] = b[:, 4] + 0.5
    found = compare(curves_of(a), curves_of(b))
    assert np.flatnonzero(found.flagged).tolist() == [4]
    assert 5 in found.undecided


def test_one_common_input_gives_a_difference_and_no_band(rng):
    a, b = pair(rng, inputs=1)
    found = compare(curves_of(a), curves_of(b))
    np.testing.assert_allclose(found.difference, (a - b)[0])
    assert np.isnan(found.band[1]).all()
    assert "needs at least 2" in found.warnings[0]


def test_clusters_follow_the_inputs_of_a(rng):
    a, b = pair(rng, inputs=12)
    names = list("abcdefghijkl")
    clusters = np.repeat(range(4), 3)
    plain = compare(curves_of(a, names), curves_of(b, names), clusters=clusters)
    order = rng.permutation(12)
    moved = compare(
        curves_of(a[order], [names[i] for i in order]), curves_of(b, names), clusters=clusters[order]
    )
    np.testing.assert_allclose(plain.stderr, moved.stderr, rtol=1e-12)
    assert (plain.stderr != compare(curves_of(a, names), curves_of(b, names)).stderr).all()


def test_other_curves_can_be_compared(rng):
    a, b = pair(rng)
    one, other = curves_of(a, full_coverage=a**2), curves_of(b, full_coverage=b**2)
    found = compare(one, other, quantity="full_coverage")
    np.testing.assert_allclose(found.difference, (a**2 - b**2).mean(axis=0), rtol=1e-12)


def test_comparing_unlike_with_unlike_is_said(rng):
    a, b = pair(rng)
    one = curves_of(a, method="greedy", provenance={"sees": "outcomes", "knows": "true_W"})
    other = curves_of(
        b, method="iid", provenance={"sees": "blind", "knows": "true_W"}, declared=np.full(50, 2)
    )
    lines = compare(one, other).warnings
    assert "50 inputs with other numbers of declared strategies in" in lines[0]
    assert lines[1] == "unlike is compared with unlike: sees is outcomes in greedy, blind in iid"
    assert len(lines) == 2


def test_many_ties_among_few_inputs_are_warned_about(rng):
    a, b = pair(rng, inputs=20)
    a[:14] = b[:14]
    assert any("of the 20 units stand at 0" in line for line in compare(curves_of(a), curves_of(b)).warnings)


def test_wrong_uses_are_refused(rng):
    a, b = (curves_of(values) for values in pair(rng))
    with pytest.raises(InputError, match=r"same budgets; got k = 1\.\.13 and k = 1\.\.4"):
        compare(a, curves_of(b.coverage[:, :4]))
    with pytest.raises(InputError, match="0 of 50 and 50 inputs share an id, check the ids"):
        compare(a, curves_of(b.coverage, [f"x{i}" for i in range(50)]))
    with pytest.raises(InputError, match="50 of 50 and 50 inputs share an id, all of these short"):
        compare(a, curves_of(b.coverage, declared=np.zeros(50, dtype=int)))
    with pytest.raises(InputError, match="novelty_any"):
        compare(a, b, quantity="novelty_any")
    with pytest.raises(InputError, match="a row for each input"):
        compare(a.mean(), b.mean())
    with pytest.raises(InputError, match=r"each of the 50 inputs of a; got shape \(2,\)"):
        compare(a, b, clusters=["x", "y"])


@pytest.mark.shared
def test_real_counts_reach_the_published_comparison(shared_data):
    """Base model and its RL-tuned child; the published critical value is from 4,000 multipliers (+- .03)."""
    folder = shared_data / "deepscaler"
    curves = {}
    for model in ("base", "rl"):
        rows = [json.loads(line) for line in (folder / f"{model}.jsonl").read_text().splitlines()]
        n, c = (np.array([[float(row[name])] for row in rows]) for name in ("n", "c"))
        missed = float64_kernel(binomial_ratio)(n, c, np.arange(1.0, 129.0))
        curves[model] = curves_of(1.0 - missed, [row["id"] for row in rows], method=model)
    found = cj.compare(curves["rl"], curves["base"])
    expected = json.loads((folder / "expected.json").read_text())
    np.testing.assert_allclose(curves["base"].coverage.mean(axis=0), expected["base_pass_at_k"], atol=1e-12)
    np.testing.assert_allclose(found.difference, expected["mean"], atol=1e-12)
    np.testing.assert_allclose(found.stderr, expected["se"], rtol=1e-9)
    assert found.critical_value == pytest.approx(2.5566, abs=0.03)
    assert found.wins.tolist() == list(range(1, 11))
    assert 59 <= found.losses[0] <= 64
    assert found.losses.tolist() == list(range(found.losses[0], 129))
    assert (found.inputs, found.left_out, found.flagged.any()) == (1060, 0, False)
    assert found.warnings == ()
