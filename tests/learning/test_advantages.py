"""Advantages against full enumeration, the published pass@k weights, and each other's array kind."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_learning as brute

import coverjax as cj

F = Fraction
LAWS = {
    "single labels": ([(F(1, 2), {0}), (F(1, 3), {1}), (F(1, 6), {2})], 3),
    "off-strategy mass": ([(F(2, 5), {0}), (F(1, 10), {1}), (F(1, 2), set())], 2),
    "sets": ([(F(1, 4), {0, 1}), (F(1, 4), {1, 2}), (F(1, 3), {2}), (F(1, 6), {0, 1, 2, 3})], 4),
    "one strategy": ([(F(1, 10), {0}), (F(9, 10), set())], 1),
    "rare beside certain": ([(F(19, 20), {0}), (F(1, 20), {0, 1})], 3),
}
WEIGHTS = {
    "single labels": [1, 2, 5],
    "off-strategy mass": [0, 1],
    "sets": [1, 1, 4, 2],
    "one strategy": [3],
    "rare beside certain": [1, 1, 0],
}
CASES = [(name, n) for name in LAWS for n in (1, 2, 4)] + [("single labels", 5)]


def flags(sets, strategies):
    return np.array([[s in found for s in range(strategies)] for found in sets], bool).reshape(-1, strategies)


def all_runs(law, strategies, n):
    """The matches of every n-tuple of outcomes, in the order of itertools.product."""
    rows = flags([found for _, found in law], strategies)
    return rows[np.array(list(itertools.product(range(len(law)), repeat=n)))]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "n"), CASES)
def test_expected_gradient_is_the_true_gradient_and_loo_varies_least(name, n, weighted):
    law, strategies = LAWS[name]
    runs = list(itertools.product(range(len(law)), repeat=n))
    weights = WEIGHTS[name] if weighted else [1] * strategies
    share = {s: F(w, sum(weights)) for s, w in enumerate(weights)}
    for k in range(1, n + 1):
        truth = np.array([float(g) for g in brute.coverage_gradient(law, k, share)])
        spread = {}
        for baseline in ("none", "loo"):
            r = cj.coverage_advantages(all_runs(law, strategies, n), k, baseline, weights=weights)
            table = dict(zip(runs, r.tolist(), strict=True))
            mean, variance = brute.estimator_moments(law, n, lambda run, table=table: table[run])
            np.testing.assert_allclose(np.array(mean, float), truth, rtol=0, atol=1e-14)
            spread[baseline] = float(variance)
        assert spread["loo"] <= spread["none"] + 1e-14


@pytest.mark.parametrize("baseline", ["none", "loo"])
def test_equals_its_definition_over_subsets(rng, baseline):
    for n, strategies in ((1, 1), (3, 2), (6, 3), (7, 5)):
        matches = rng.random((n, strategies)) < 0.35
        weights = rng.integers(0, 4, strategies) + np.eye(strategies, dtype=int)[0]
        share = {s: F(int(w), int(weights.sum())) for s, w in enumerate(weights)}
        sets = [set(np.flatnonzero(row).tolist()) for row in matches]
        for k in range(1, n + 1):
            exact = brute.advantages_by_subsets(sets, k, share, baseline)
            got = cj.coverage_advantages(matches, k, baseline, weights=weights)
            np.testing.assert_allclose(got, np.array(exact, float), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (8, 1), (8, 3), (8, 8), (64, 8), (400, 128)])
def test_one_label_gives_the_published_pass_at_k_weights(n, k):
    for c in {0, 1, n // 2, n - 1, n}:
        correct = [True] * c + [False] * (n - c)
        got = cj.coverage_advantages(np.array(correct)[:, None], k)
        published = np.array([float(w) for w in brute.pass_at_k_weights(correct, k)])
        np.testing.assert_allclose(got, published, rtol=1e-13, atol=0)


def test_one_draw_is_the_plain_reward(rng):
    matches = rng.random((5, 6, 3)) < 0.4
    for baseline in ("none", "loo"):
        got = cj.coverage_advantages(matches, 1, baseline)
        np.testing.assert_allclose(got, matches.mean(-1) / 6, rtol=1e-14)


def test_ragged_groups_are_their_own_groups(rng):
    sizes = [4, 7, 9]
    matches = rng.random((3, 9, 4)) < 0.4
    mask = np.arange(9) < np.array(sizes)[:, None]
    weights = rng.random((3, 4))
    for baseline in ("none", "loo"):
        together = cj.coverage_advantages(matches, 3, baseline, mask=mask, weights=weights)
        assert (together[~mask] == 0).all()
        for g, size in enumerate(sizes):
            alone = cj.coverage_advantages(matches[g, :size], 3, baseline, weights=weights[g])
            np.testing.assert_allclose(together[g, :size], alone, rtol=1e-13)


def test_masked_places_may_lie_anywhere_and_hold_anything(rng):
    matches = rng.random((8, 4)) < 0.5
    mask = np.array([0, 1, 1, 0, 1, 1, 0, 1], bool)
    noise = np.where(mask[:, None], matches, ~matches)
    first = cj.coverage_advantages(matches, 2, mask=mask)
    np.testing.assert_array_equal(first, cj.coverage_advantages(noise, 2, mask=mask))
    np.testing.assert_allclose(first[mask], cj.coverage_advantages(matches[mask], 2), rtol=1e-14)


def test_incorrect_samples_are_emptied_and_still_drawn(rng):
    matches, correct = rng.random((6, 8, 3)) < 0.5, rng.random((6, 8)) < 0.6
    for baseline in ("none", "loo"):
        got = cj.coverage_advantages(matches, 4, baseline, correct=correct)
        emptied = cj.coverage_advantages(matches & correct[..., None], 4, baseline)
        np.testing.assert_array_equal(got, emptied)


def test_weight_zero_is_the_same_as_no_such_strategy(rng):
    matches = rng.random((4, 6, 5)) < 0.5
    weights = np.array([1.0, 0.0, 2.0, 0.0, 1.0])
    fewer = cj.coverage_advantages(matches[..., weights > 0], 3, "loo", weights=weights[weights > 0])
    np.testing.assert_allclose(cj.coverage_advantages(matches, 3, "loo", weights=weights), fewer, rtol=1e-13)
    nothing = cj.coverage_advantages(matches, 3, weights=np.zeros(5))
    np.testing.assert_array_equal(nothing, np.zeros((4, 6)))


def test_permuting_samples_and_strategies_permutes_the_result(rng):
    matches = rng.random((9, 5)) < 0.4
    samples, strategies = rng.permutation(9), rng.permutation(5)
    got = cj.coverage_advantages(matches[samples][:, strategies], 4, "loo")
    np.testing.assert_allclose(got, cj.coverage_advantages(matches, 4, "loo")[samples], rtol=1e-13)


def variants(rng):
    matches = rng.random((3, 16, 6)) < 0.3
    mask = np.arange(16) < np.array([16, 9, 12])[:, None]
    return matches, {"mask": mask, "weights": rng.random(6), "correct": rng.random((3, 16)) < 0.8}


@pytest.mark.parametrize("baseline", ["none", "loo"])
def test_jax_in_jax_out(rng, baseline):
    matches, options = variants(rng)
    expected = cj.coverage_advantages(matches, 4, baseline, **options)
    with jax.enable_x64(True):
        got = cj.coverage_advantages(jnp.asarray(matches), 4, baseline, **options)
        inside = jax.jit(lambda m: cj.coverage_advantages(m, 4, baseline, **options))(matches)
        assert isinstance(got, jax.Array)
        assert got.dtype == inside.dtype == np.float64
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(inside, expected, rtol=0, atol=1e-12)
    single = cj.coverage_advantages(jnp.asarray(matches, jnp.float32), 4, baseline, **options)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("baseline", ["none", "loo"])
def test_torch_in_torch_out(rng, baseline):
    torch = pytest.importorskip("torch")
    matches, options = variants(rng)
    expected = cj.coverage_advantages(matches, 4, baseline, **options)
    tensors = {name: torch.as_tensor(value) for name, value in options.items()}
    got = cj.coverage_advantages(torch.as_tensor(matches), 4, baseline, **tensors)
    assert isinstance(got, torch.Tensor)
    assert got.dtype == torch.float64
    np.testing.assert_allclose(got.numpy(), expected, rtol=0, atol=1e-12)
    for dtype in (torch.float32, torch.bfloat16):
        assert cj.coverage_advantages(torch.as_tensor(matches).to(dtype), 4, baseline).dtype == dtype


def test_the_lines_of_a_grpo_loop_in_torch(rng):
    """As docs/learning.md shows them: the gradient of the loss is minus the advantages, a group's sum."""
    torch = pytest.importorskip("torch")
    labels = cj.encode_labels([[["a"], ["a", "b"], None], [["b"], [], ["c"]]], declared=["a", "b", "c"])
    log_probs = torch.zeros((2, 3), requires_grad=True)
    matches = torch.as_tensor(labels.matches, device=log_probs.device)
    advantages = cj.coverage_advantages(matches, k=2, baseline="loo")
    loss = -(advantages.to(log_probs.dtype) * log_probs).sum(dim=1).mean()
    loss.backward()
    expected = cj.coverage_advantages(labels.matches, k=2, baseline="loo")
    np.testing.assert_allclose(log_probs.grad.numpy(), -expected / 2, rtol=1e-6)


def test_a_group_that_jit_cannot_refuse_gets_nan():
    matches, mask = np.ones((2, 4, 2), bool), np.array([[1, 1, 1, 1], [1, 1, 0, 0]], bool)
    got = jax.jit(lambda m, there: cj.coverage_advantages(m, 3, mask=there))(matches, mask)
    assert np.isfinite(got[0]).all()
    assert np.isnan(got[1, :2]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k: must be 1..4"),
        ({"k": 5}, "k: must be 1..4, at most the samples of a group; got 5"),
        ({"k": 2.5}, "k: must be a whole number"),
        ({"baseline": "mean"}, "baseline: must be one of none, loo"),
        ({"matches": [True, False]}, "matches: must be .* got shape"),
        ({"matches": np.full((4, 2), 0.5)}, "matches: must hold flags"),
        ({"mask": np.ones((3,), bool)}, r"mask: must be bool \[2, 4\]"),
        ({"mask": np.ones((2, 4))}, r"mask: must be bool \[2, 4\].*float64"),
        (
            {"mask": np.array([[1, 1, 1, 1], [1, 0, 0, 0]], bool)},
            "every group must hold at least k = 2 samples; got one with 1",
        ),
        ({"weights": [1.0, 2.0]}, r"weights: must be \[3\] or \[2, 3\]"),
        ({"weights": [1.0, -1.0, 1.0]}, "weights: must be finite numbers >= 0"),
        ({"weights": [1.0, np.nan, 1.0]}, "weights: must be finite numbers >= 0"),
        ({"correct": np.ones((2, 3), bool)}, r"correct: must be bool \[2, 4\]"),
    ],
)
def test_wrong_input_is_refused(change, message):
    given = {"matches": np.ones((2, 4, 3), bool), "k": 2, **change}
    with pytest.raises(cj.InputError, match=message):
        cj.coverage_advantages(**given)
