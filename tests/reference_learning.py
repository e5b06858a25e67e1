"""Brute force for the learning signals, in plain Python and fractions. Imports nothing of coverjax."""

from fractions import Fraction
from itertools import combinations, product
from math import comb


def coverage_gradient(law, k, weights):
    """d C(k) / d theta_o for p = softmax(theta): `law` is [(probability, match set)], weights {s: share}.

    By enumerating all k-tuples of outcomes: C = sum over tuples of prod p * value, and
    d log p(o) / d theta_j = [o = j] - p_j.
    """
    gradient = [Fraction(0)] * len(law)
    for run in product(range(len(law)), repeat=k):
        chance = Fraction(1)
        for o in run:
            chance *= law[o][0]
        value = sum(weights.get(s, 0) for s in set().union(*(law[o][1] for o in run)))
        for j, (p, _) in enumerate(law):
            gradient[j] += chance * value * (run.count(j) - k * p)
    return gradient


def estimator_moments(law, n, advantages):
    """Mean and total variance of sum_i r_i grad log p(y_i) over all n-tuples; `advantages(run)` gives r."""
    mean = [Fraction(0)] * len(law)
    square = Fraction(0)
    for run in product(range(len(law)), repeat=n):
        chance = Fraction(1)
        for o in run:
            chance *= law[o][0]
        r = advantages(run)
        estimate = [sum(r[i] * ((o == j) - law[j][0]) for i, o in enumerate(run)) for j in range(len(law))]
        mean = [m + chance * e for m, e in zip(mean, estimate, strict=True)]
        square += chance * sum(e * e for e in estimate)
    return mean, square - sum(m * m for m in mean)


def advantages_by_subsets(matches, k, weights, baseline):
    """r_i by its definition: k-subsets that hold sample i, over C(n, k); `matches` a list of sets.

    "none": average over all k-subsets of [i in A] cover(A). "loo": of [i in A] (cover(A) - cover(A - i)).
    """
    n = len(matches)

    def cover(subset):
        return sum(
            (weights.get(s, Fraction(0)) for s in set().union(*(matches[j] for j in subset))), Fraction(0)
        )

    result = []
    for i in range(n):
        total = Fraction(0)
        for chosen in combinations(range(n), k):
            if i in chosen:
                rest = [j for j in chosen if j != i]
                total += cover(chosen) - (cover(rest) if baseline == "loo" else 0)
        result.append(total / comb(n, k))
    return result


def pass_at_k_weights(correct, k):
    """The published weights for one label: k/n if correct, else k/n (1 - C(n-1-c, k-1) / C(n-1, k-1))."""
    n, c = len(correct), sum(correct)
    wrong = 1 - Fraction(comb(n - 1 - c, k - 1), comb(n - 1, k - 1)) if n > c else Fraction(0)
    return [Fraction(k, n) * (1 if flag else wrong) for flag in correct]


def best_router_auc(table, draws):
    """The largest AUC of independent draws over all routers, by SciPy's SLSQP with the analytic gradient."""
    import numpy as np
    from scipy.optimize import minimize

    latents = len(table)
    k = np.arange(1, draws + 1)[:, None]

    def loss(router):
        miss = 1 - np.clip(router @ table, 0, 1)
        power = miss[None] ** (k - 1)
        return (power * miss).mean() - 1, -(table @ (k * power).mean(axis=0)) / table.shape[1]

    found = minimize(
        loss,
        np.full(latents, 1 / latents),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * latents,
        constraints=[{"type": "eq", "fun": lambda r: r.sum() - 1, "jac": lambda r: np.ones(latents)}],
        options={"ftol": 1e-11, "maxiter": 500},
    )
    return -found.fun
