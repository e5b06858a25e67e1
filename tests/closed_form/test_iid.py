"""Independent draws: against fractions and high precision, at every edge, in value and derivative."""

import json
from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import reference_laws as brute

import coverjax as cj
from coverjax.closed_form import iid, tiles

EDGES = np.array([[1.0, 0.0, 1 - 1e-12, 1e-300, 1e-12, 0.5, 1e-5, 0.25]])


def exact(row, k):
    """E|S_k| and N_count(k) in 700 digits."""
    with mpmath.workdps(700):
        q = [mpmath.mpf(float(x)) for x in row]
        distinct = mpmath.fsum(1 - (1 - x) ** k for x in q)
        novelty = mpmath.fsum(x if k == 1 else x * (1 - x) ** (k - 1) for x in q)
        return float(distinct), float(novelty)


@pytest.mark.parametrize("budget", [1, 2, 3, 8, 61, 1000])
def test_consecutive_budgets_keep_relative_accuracy(budget, rng):
    q = np.concatenate([EDGES, 10.0 ** rng.uniform(-12, 0, (2, 8)), np.full((1, 8), 1e-12)])
    distinct, novelty = iid.iid_curves(q, budget)
    assert distinct.shape == novelty.shape == (4, budget)
    for k in sorted({1, 2, budget // 3 + 1, budget // 2 + 1, budget}):
        if k <= budget:
            want = np.array([exact(row, k) for row in q])
            np.testing.assert_allclose(distinct[:, k - 1], want[:, 0], rtol=1e-14)
            np.testing.assert_allclose(novelty[:, k - 1], want[:, 1], rtol=1e-14)


def test_log_spaced_budgets_compute_nothing_between(rng, monkeypatch):
    budgets = np.unique(np.logspace(0, 6, 13).astype(int))
    q = np.concatenate([EDGES, 10.0 ** rng.uniform(-9, 0, (1, 8))])

    def refuse(*args, **kwargs):
        raise AssertionError("the consecutive form was used")

    monkeypatch.setattr(iid, "_consecutive", refuse)
    distinct, novelty = iid.iid_curves(q, budgets)
    want = np.array([[exact(row, int(k)) for k in budgets] for row in q])
    np.testing.assert_allclose(distinct, want[..., 0], rtol=1e-14)
    seen = want[..., 1] > 1e-290
    np.testing.assert_allclose(novelty[seen], want[..., 1][seen], rtol=1e-13)


def test_dense_and_wide_grids_agree_with_the_consecutive_curve(rng):
    q = rng.dirichlet(np.ones(9), size=5)
    whole = iid.iid_curves(q, 900)
    for budgets in (np.arange(3, 900, 5), np.array([1, 5, 20, 900])):
        for curve, part in zip(whole, iid.iid_curves(q, budgets), strict=True):
            np.testing.assert_allclose(part, curve[:, budgets - 1], rtol=1e-14)
    np.testing.assert_array_equal(iid.iid_coverage(q, 900), whole[0])
    np.testing.assert_array_equal(iid.iid_novelty(q, 900), whole[1])


def test_equals_enumeration_for_sets_and_off_strategy_mass(rng):
    for _ in range(30):
        outcomes, strategies = rng.integers(1, 5, size=2)
        weights = rng.integers(0, 9, size=outcomes) + 1
        probs = [Fraction(int(w), int(weights.sum() + rng.integers(0, 5))) for w in weights]
        sets = rng.random((outcomes, strategies)) < 0.5
        atoms = brute.atoms(probs, [np.flatnonzero(row).tolist() for row in sets])
        law = cj.OutcomeLaw.from_match_sets([[float(p) for p in probs]], sets)
        distinct, novelty = iid.iid_curves(law.marginals(), 4)
        want = brute.independent(atoms, range(strategies), 4)
        np.testing.assert_allclose(distinct[0], np.array(want["distinct"], float), rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(
            novelty[0], np.array(want["novelty_count"], float), rtol=1e-13, atol=1e-300
        )
        auc = iid.iid_strategy_auc(law.marginals(), 4)[0]
        want_auc = [float(brute.strategy_auc(atoms, s, 4)) for s in range(strategies)]
        np.testing.assert_allclose(auc, want_auc, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("budget", [1, 2, 3, 255, 256, 1000, 10**6])
def test_strategy_auc_is_closed_and_keeps_relative_accuracy(budget):
    q = np.concatenate([EDGES[0], [1e-9, 0.999, 1e-3, 0.0]])[None]
    got = iid.iid_strategy_auc(q, budget)[0]
    with mpmath.workdps(700):
        for value, x in zip(got, map(float, q[0]), strict=True):
            x = mpmath.mpf(x)
            want = 0 if x == 0 else 1 - (1 - x) * (1 - (1 - x) ** budget) / (budget * x)
            assert abs(value - want) <= 2e-15 * want


@pytest.mark.shared
@pytest.mark.parametrize("name", ["single_4", "single_4_off_0.2", "sets_3"])
def test_golden_coverage_and_novelty(shared_data, name):
    golden = json.loads((shared_data / "golden_exact.json").read_text())[name]
    q = np.array([golden.get("marginals", golden["probs"])])
    distinct, novelty = iid.iid_curves(q, 20)
    for k, want in golden["coverage"].items():
        assert distinct[0, int(k) - 1] / q.shape[1] == pytest.approx(want, rel=1e-12)
    for k, want in golden.get("novelty_count", {}).items():
        assert novelty[0, int(k) - 1] == pytest.approx(want, rel=1e-12)


# -- derivatives -----------------------------------------------------------------------------------

POINTS = np.array([0.0, 1e-9, 0.3, 0.999999, 1.0])


def test_derivatives_of_the_curves_at_the_edges():
    k = np.arange(1, 10)[:, None]
    with jax.enable_x64(True):
        q = jnp.asarray(POINTS)
        slope = k * (1 - POINTS) ** (k - 1)

        def curve(x):
            return iid.distinct_curve(x, 9)

        for jacobian in (jax.jacrev, jax.jacfwd):
            np.testing.assert_allclose(jax.jit(jacobian(curve))(q), slope, rtol=1e-14)
        new = (1 - POINTS) ** (k - 1) - (k - 1) * POINTS * (1 - POINTS) ** np.maximum(k - 2, 0)
        jacobian = jax.jit(jax.jacrev(lambda x: iid.novelty_curve(x, 9)))(q)
        np.testing.assert_allclose(jacobian, new, rtol=1e-9, atol=1e-14)
        second = -(k * (k - 1) * (1 - POINTS) ** np.maximum(k - 2, 0)).mean(axis=0)
        for hessian in (jax.hessian, lambda f: jax.jacrev(jax.jacrev(f))):
            got = jax.jit(hessian(lambda x: curve(x).mean()))(q)
            np.testing.assert_allclose(got, np.diag(second), rtol=1e-13, atol=1e-300)
        steps = tuple(map(jnp.asarray, iid.doubling_steps(9)))
        auc = jax.jit(jax.grad(lambda x: iid.mean_hit(x, *steps).sum()))(q)
        np.testing.assert_allclose(auc, slope.mean(axis=0), rtol=1e-13)


def test_derivatives_against_finite_differences(rng):
    direction = rng.normal(size=6)
    with jax.enable_x64(True):
        q = jnp.asarray(rng.random(6) * 0.5 + 0.1)

        @jax.jit
        def value(t):
            return iid.distinct_curve(q + t * direction, 50) @ jnp.asarray(np.linspace(-1, 1, 50))

        step = 1e-5
        quotient = (value(step) - value(-step)) / (2 * step)
        assert float(jax.jit(jax.grad(value))(0.0)) == pytest.approx(float(quotient), rel=1e-7)


def test_single_precision_gradient_of_tiny_probabilities():
    q = jnp.array([1e-9, 0.0, 1.0, 0.5], jnp.float32)
    gradient = jax.jit(jax.grad(lambda x: iid.distinct_curve(x, 100).sum()))(q)
    assert gradient.dtype == jnp.float32
    k = np.arange(1, 101)
    want = [(k * (1 - x) ** (k - 1)).sum() for x in (1e-9, 0.0, 1.0, 0.5)]
    np.testing.assert_allclose(gradient, want, rtol=1e-5)


# -- behaviour -------------------------------------------------------------------------------------


def test_float64_leaves_whatever_enters():
    for q in (jnp.array([[0.1, 0.2]], jnp.float32), np.array([[0.1, 0.2]])):
        for result in (
            *iid.iid_curves(q, 3),
            *iid.iid_curves(q, np.array([1, 1000])),
            iid.iid_strategy_auc(q, 5),
        ):
            assert isinstance(result, np.ndarray)
            assert result.dtype == np.float64
    q = 0.1 + 1e-12
    assert iid.iid_coverage(np.array([[q]]), 1)[0, 0] == pytest.approx(q, rel=1e-15)


@pytest.mark.parametrize("budgets", [70, np.array([1, 30, 5000])])
def test_tiles_and_order_of_inputs_do_not_matter(budgets, rng, monkeypatch):
    """Within 4 units in the last place: what the library promises for exact laws."""
    q = rng.dirichlet(np.full(12, 0.3), size=37)
    whole = iid.iid_curves(q, budgets)
    order = rng.permutation(37)
    monkeypatch.setattr(tiles, "CPU_BYTES", 1 << 15)
    monkeypatch.setattr(tiles, "ACCELERATOR_BYTES", 1 << 15)
    for curve, shuffled in zip(whole, iid.iid_curves(q[order], budgets), strict=True):
        np.testing.assert_array_max_ulp(curve[order], shuffled, maxulp=4)


def test_new_probabilities_and_near_budgets_do_not_recompile(rng):
    iid.iid_curves(rng.dirichlet(np.ones(7), size=20), 100)
    iid.iid_strategy_auc(rng.dirichlet(np.ones(7), size=20), 100)
    compiled = iid._consecutive.jitted._cache_size(), iid._mean_hits.jitted._cache_size()
    for budget in (97, 98, 99, 103):
        iid.iid_curves(rng.dirichlet(np.ones(7), size=20), budget)
        iid.iid_strategy_auc(rng.dirichlet(np.ones(7), size=20), budget)
    assert (iid._consecutive.jitted._cache_size(), iid._mean_hits.jitted._cache_size()) == compiled


def test_traces_grow_with_the_logarithm_of_the_budget_only():
    def operations(draws):
        jaxpr = jax.make_jaxpr(lambda q: iid.distinct_curve(q, draws))(jnp.ones(4))
        return str(jaxpr).count("\n")

    assert operations(2**20) < 2 * operations(2**10) < 4 * operations(2**5)
