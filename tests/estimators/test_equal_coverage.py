"""Methods at equal sample coverage: the level is reached, by hand and against rarefaction; refusals."""

import dataclasses

import numpy as np
import pytest

import coverjax as cj
from coverjax.estimators.richness import Frequencies, chao_distinct, sample_coverage
from coverjax.foundation.checks import InputError


def table(counts, n, **options):
    return cj.CountTable.from_arrays(counts, n, **options)


@pytest.fixture
def pair(rng):
    """A method of 20 samples over few strategies and one of 40 over many."""
    few = rng.multinomial(20, [0.5, 0.3, 0.2] + [0.0] * 9, size=25)
    many = rng.multinomial(40, np.full(12, 1 / 12), size=25)
    return {"few": table(few, 20), "many": table(many, 40)}


def test_every_method_is_taken_where_it_has_the_level(pair):
    found = cj.compare_at_equal_coverage(pair)
    assert found.methods == ("few", "many")
    for m, name in enumerate(found.methods):
        part = pair[name]
        for i, row in enumerate(found.ids):
            run = Frequencies.of(part.n[[row]], part.counts[[row]])
            k = found.budget[m, i]
            ends = np.array([np.floor(k), np.ceil(k)]).astype(int)
            around = sample_coverage(run, ends)[0]
            if k > part.n[row]:
                exact = sample_coverage(run, np.array([k]))[0, 0]
                assert exact == pytest.approx(found.level[i], abs=1e-9)
                expected = min(12.0, chao_distinct(run, np.array([k]))[0, 0])
                assert found.distinct[m, i] == pytest.approx(expected)
            else:
                assert around[0] - 1e-9 <= found.level[i] or k == 1.0
                assert k == 1.0 or found.level[i] <= around[1] + 1e-9
                low, high = cj.estimate(part.take([row]), sorted(set(ends.tolist()))).distinct[0][[0, -1]]
                assert low - 1e-9 <= found.distinct[m, i] <= high + 1e-9
            assert k <= 2 * part.n[row]
            assert found.extrapolated[m, i] == (k > part.n[row])
    assert found.difference["many"].low[0] > 0
    np.testing.assert_allclose(found.mean["many"].mean[0], found.distinct[1].mean())


def test_the_same_log_twice_has_no_difference(pair):
    same = cj.compare_at_equal_coverage({"a": pair["many"], "b": pair["many"]})
    np.testing.assert_allclose(same.distinct[0], same.distinct[1])
    assert same.difference["b"].flagged.all()
    assert same.left_out == 0


def test_more_samples_of_one_law_make_no_difference(rng):
    """One law, 30 and 120 samples: plainly observed numbers differ, at equal coverage they agree."""
    law = np.full(40, 1 / 40)
    short, long = (table(rng.multinomial(n, law, size=200), n) for n in (30, 120))
    found = cj.compare_at_equal_coverage({"short": short, "long": long})
    observed = (long.counts > 0).sum() / 200 - (short.counts > 0).sum() / 200
    assert observed > 10
    assert abs(found.difference["long"].mean[0]) < 2.0


def test_a_given_level_leaves_out_who_does_not_reach_it(pair):
    found = cj.compare_at_equal_coverage(pair, 0.99)
    assert (found.level == 0.99).all()
    assert found.left_out == 25 - len(found.ids)
    with pytest.raises(InputError, match="lower sample_coverage_level"):
        cj.compare_at_equal_coverage({"a": table([[1] * 9], 9), "b": table([[1] * 9], 9)}, 0.999)


def test_inputs_are_paired_by_id_and_those_without_matches_are_counted():
    a = table([[5, 5], [9, 1], [0, 0]], 10, ids=["x", "y", "z"])
    b = table([[3, 7], [5, 5], [4, 4]], 10, ids=["y", "x", "z"])
    found = cj.compare_at_equal_coverage({"a": a, "b": b})
    assert found.ids.tolist() == ["x", "y"]
    assert found.left_out == 1


def test_the_verdict_and_its_reasons(rng):
    many = table(rng.multinomial(20, np.full(400, 1 / 400), size=10), 20)
    found = cj.compare_at_equal_coverage({"a": many, "b": many})
    assert found.verdict == "not comparable"
    assert "reliable from 0.8, caution from 0.5" in found.reasons[0]
    complete = table([[10, 10, 10]] * 5, 30)
    assert cj.compare_at_equal_coverage({"a": complete, "b": complete}).verdict == "reliable"


def test_a_log_with_methods(rng):
    matches = np.eye(3, dtype=bool)[rng.integers(3, size=(8, 12))]
    log = cj.SampleLog.from_arrays(matches, ids=list("abcd") * 2, method=["p"] * 4 + ["q"] * 4)
    assert cj.compare_at_equal_coverage(log).methods == ("p", "q")


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (
            lambda: table([[1, 1]], 3),
            "method: this log has no method column; .* or a dict from method to log",
        ),
        (lambda: {"a": table([[1, 1]], 3)}, "at least two methods to compare; got 1"),
        (lambda: {"a": table([[0]], 3), "b": table([[0]], 3)}, "no input has matches"),
        (
            lambda: {n: cj.SampleLog.from_arrays(np.ones((2, 3, 1), bool), ordered=True) for n in "ab"},
            "'a': must be exchangeable",
        ),
        (
            lambda: {n: cj.SampleLog.from_arrays(np.ones((2, 2, 3, 1), bool)) for n in "ab"},
            "trial: 'a' needs one trial an input; got several",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(log, message):
    with pytest.raises(InputError, match=message):
        cj.compare_at_equal_coverage(log())


def test_undeclared_labels_do_not_count(pair):
    declared = np.zeros((25, 12), bool)
    declared[:, :3] = True
    cut = dataclasses.replace(pair["many"], declared=declared)
    found = cj.compare_at_equal_coverage({"few": pair["few"], "cut": cut})
    assert (found.distinct[1] <= 3 + 1e-9).all()
