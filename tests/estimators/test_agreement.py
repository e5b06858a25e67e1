"""Agreement of labelers: by hand, by brute force, and published values."""

import itertools

import numpy as np
import pytest

import coverjax as cj
from coverjax.estimators.set_agreement import krippendorff_alpha, set_distance


def by_hand(coders, distance):
    """1 - D_o / D_e, every pair of values written down."""
    units = [[held for held in unit if held is not None] for unit in zip(*coders, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    total = sum(map(len, units))
    observed = sum(
        set_distance(a, b, distance) / (len(unit) - 1)
        for unit in units
        for a, b in itertools.permutations(unit, 2)
    )
    everything = [held for unit in units for held in unit]
    expected = sum(set_distance(a, b, distance) for a, b in itertools.permutations(everything, 2))
    return 1.0 - observed / total / (expected / (total * (total - 1)))


def random_sets(rng, samples, labels="abc", missing=0.0):
    return [
        None if rng.random() < missing else {label for label in labels if rng.random() < 0.4}
        for _ in range(samples)
    ]


@pytest.mark.parametrize("distance", ["masi", "jaccard", "nominal"])
def test_alpha_against_every_pair(rng, distance):
    for _ in range(10):
        coders = [random_sets(rng, 7, missing=0.2) for _ in range(3)]
        assert krippendorff_alpha(coders, distance) == pytest.approx(by_hand(coders, distance), rel=1e-12)


def test_alpha_of_the_published_nominal_example():
    """Krippendorff 2011, Computing Krippendorff's alpha-reliability, example C: 4 observers, nominal .743."""
    rows = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    coders = [[None if value == "." else {value} for value in row.split()] for row in rows]
    for distance in ("masi", "jaccard", "nominal"):
        assert krippendorff_alpha(coders, distance) == pytest.approx(0.743, abs=5e-4)


@pytest.mark.parametrize(
    ("a", "b", "masi", "jaccard"),
    [
        ("", "", 0.0, 0.0),
        ("", "x", 1.0, 1.0),
        ("xy", "yx", 0.0, 0.0),
        ("xy", "wxyz", 1 - 0.5 * 2 / 3, 0.5),
        ("xy", "yz", 1 - 1 / 3 / 3, 2 / 3),
        ("x", "y", 1.0, 1.0),
    ],
)
def test_distances(a, b, masi, jaccard):
    assert set_distance(a, b) == set_distance(b, a) == pytest.approx(masi)
    assert set_distance(a, b, "jaccard") == pytest.approx(jaccard)
    assert set_distance(a, b, "nominal") == (set(a) != set(b))


def test_kappa_precision_and_recall_by_hand():
    """The classical table 20, 5, 10, 15: kappa 0.4."""
    a = [{"s"}] * 25 + [set()] * 25
    b = [{"s"}] * 20 + [set()] * 5 + [{"s"}] * 10 + [set()] * 15
    found = cj.label_agreement(a, b, inputs=[i % 7 for i in range(50)])
    assert found.counts.tolist() == [[20, 5, 10, 15]]
    assert found.kappa.mean[0] == pytest.approx(0.4)
    assert found.precision.mean[0] == pytest.approx(20 / 25)
    assert found.recall.mean[0] == pytest.approx(20 / 30)
    assert found.false_positive.mean[0] == pytest.approx(5 / 20)
    assert found.false_negative.mean[0] == pytest.approx(10 / 30)
    assert found.exact.mean[0] == pytest.approx(35 / 50)
    assert found.alpha.mean[0] == pytest.approx(krippendorff_alpha([a, b]))
    assert (found.samples, found.inputs) == (50, 7)
    for measure in (found.kappa, found.precision, found.alpha):
        assert measure.low[0] < measure.mean[0] < measure.high[0]


def test_intervals_leave_out_one_input(rng):
    a, b, inputs = random_sets(rng, 40), random_sets(rng, 40), np.repeat(np.arange(8), 5)
    found = cj.label_agreement(a, b, inputs.tolist())
    without = []
    for one in range(8):
        keep = np.flatnonzero(inputs != one)
        part = cj.label_agreement([a[i] for i in keep], [b[i] for i in keep], inputs[keep].tolist())
        without.append([*part.kappa.mean, *part.recall.mean, part.alpha.mean[0]])
    spread = np.sqrt(7 / 8 * ((without - np.mean(without, axis=0)) ** 2).sum(axis=0))
    np.testing.assert_allclose(
        [*found.kappa.stderr, *found.recall.stderr, found.alpha.stderr[0]], spread, rtol=1e-10
    )


def test_what_is_not_defined_is_no_number():
    found = cj.label_agreement([{"x"}, {"x"}], [{"x"}, {"x"}], inputs=[0, 1], strategies=["x", "y"])
    assert np.isnan(found.kappa.mean).all()
    assert np.isnan(found.precision.mean[1])
    assert found.precision.mean[0] == 1.0
    assert np.isnan(found.alpha.mean[0])


def test_logs_are_paired_and_strategies_looked_at_where_they_are_declared():
    labels = [["x", "y"], ["z", "w"]]
    a = cj.SampleLog.from_arrays([[[1, 0], [0, 0]], [[1, 0], [1, 0]]], ids=["p", "q"], labels=labels)
    b = cj.SampleLog.from_arrays([[[1, 0], [1, 0]], [[1, 0], [0, 1]]], ids=["q", "p"], labels=labels[::-1])
    found = cj.label_agreement(a, b)
    assert found.strategies == ("w", "x", "y", "z")
    assert found.counts.tolist() == [[0, 0, 0, 2], [1, 0, 0, 1], [0, 0, 1, 1], [2, 0, 0, 0]]
    shorter = cj.SampleLog.from_arrays([[[1, 0]], [[1, 0]]], ids=["q", "p"], labels=labels[::-1])
    with pytest.raises(cj.InputError, match="both logs must hold the same samples; those of 'p' differ"):
        cj.label_agreement(a, shorter)


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        (
            [{"x"}],
            [{"x"}, {"y"}],
            {"inputs": ["p"]},
            r"same samples by both, and each sample's input; got 1, 2",
        ),
        ([{"x"}], [{"x"}], {}, "each sample's input; got 1, 1 and 0"),
        ([], [], {"inputs": []}, "needs the labels of the same samples"),
        ([{"x"}], [{"y"}], {"inputs": ["p"], "strategies": ["x"]}, "must name every label; 'y' is missing"),
        ([{"x"}], [{"y"}], {"inputs": ["p"], "distance": "cosine"}, "distance: must be one of masi, jaccard"),
        ([{"x"}], [{"x"}], {"inputs": ["p"], "applies": [[True, True]]}, r"applies: must be bool \[1, 1\]"),
    ],
)
def test_wrong_input(a, b, options, message):
    with pytest.raises(cj.InputError, match=message):
        cj.label_agreement(a, b, **options)


def test_a_log_pairs_with_a_log_only():
    log = cj.SampleLog.from_arrays([[[1]]])
    with pytest.raises(cj.InputError, match="must get two logs, or two sequences"):
        cj.label_agreement(log, [{"x"}])
    with pytest.raises(cj.InputError, match="coders: must be at least two"):
        krippendorff_alpha([[{"x"}]])


def test_too_many_distinct_sets_are_refused(monkeypatch):
    monkeypatch.setattr("coverjax.estimators.set_agreement.MOST_SETS", 1)
    with pytest.raises(cj.InputError, match="alpha: compares up to 1 distinct label sets; these are 2"):
        krippendorff_alpha([[{"x"}], [{"y"}]])
