"""All-k curves from logs against the estimators people use."""

import importlib.util

import numpy as np

import coverjax as cj
from benchmarks.harness import Row, against, arithmetic


def per_input_and_k(matches: np.ndarray) -> np.ndarray:
    """The unbiased pass@k formula as human-eval made it common: one input, strategy and k at a time."""
    inputs, n, strategies = matches.shape
    counts = matches.sum(axis=1)
    out = np.empty((inputs, n))
    for i in range(inputs):
        for k in range(1, n + 1):
            total = 0.0
            for c in counts[i]:
                total += 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
            out[i, k - 1] = total / strategies
    return out


def vectorised(matches: np.ndarray) -> np.ndarray:
    """The same by one cumulative product over k for every input and strategy at once."""
    n = matches.shape[1]
    counts = matches.sum(axis=1)
    k = np.arange(1, n + 1)
    factors = np.clip(n - counts[..., None] - k + 1, 0, None) / (n - k + 1)
    return 1.0 - np.cumprod(factors, axis=-1).mean(axis=1)


def by_table(matches: np.ndarray) -> np.ndarray:
    """The best NumPy known to us: one table over (matches, k), looked up."""
    n = matches.shape[1]
    k = np.arange(1, n + 1)
    factors = np.clip(n - np.arange(n + 1)[:, None] - k + 1, 0, None) / (n - k + 1)
    return 1.0 - np.cumprod(factors, axis=-1)[matches.sum(axis=1)].mean(axis=1)


def by_copia(counts: np.ndarray, n: int) -> np.ndarray:
    """Rarefaction by the package `copia`: one input at a time, single labels, S(1..n-1)."""
    from copia.stats import rarefaction_extrapolation

    return np.stack([rarefaction_extrapolation(row, n) for row in counts])


def _copia_rows(inputs: int, smoke: bool) -> list[Row]:
    """The row against copia, which knows single labels only; none where it is not installed."""
    if importlib.util.find_spec("copia") is None:
        return []
    rng = np.random.default_rng(1)
    laws = rng.dirichlet(np.ones(6), size=inputs)
    codes = (rng.random((inputs, 128, 1)) > np.cumsum(laws, axis=1)[:, None, :-1]).sum(axis=2)
    matches = codes[..., None] == np.arange(6)
    log = cj.SampleLog.from_arrays(matches)
    part = max(1, inputs // 50)
    counts = matches[:part].sum(axis=1)
    return [
        against(
            f"expected distinct, all k, {inputs:,} inputs x 128 single-label samples x 6 strategies",
            lambda: cj.estimate(log, include=()),
            "copia rarefaction (2 % of the inputs, scaled)",
            lambda: by_copia(counts, 128),
            target=0 if smoke else 10,
            pairs=3,
            scale=inputs / part,
            difference=lambda ours, theirs: float(np.abs(ours.distinct[:part, :127] - theirs).max()),
        )
    ]


def _gap(ours: cj.Curves, theirs: np.ndarray) -> float:
    return float(np.abs(ours.coverage[: len(theirs)] - theirs).max())


def rows(smoke: bool) -> list[Row]:
    """Return the rows for logs."""
    inputs = 40 if smoke else 1_000
    rng = np.random.default_rng(0)
    matches = rng.random((inputs, 128, 6)) < rng.uniform(0, 0.2, (inputs, 1, 6))
    log = cj.SampleLog.from_arrays(matches)
    part = max(1, inputs // 100)
    size = f"{inputs:,} inputs x 128 samples x 6 strategies"

    # Count the flags, then a product of how often each count occurs and of a table [counts, budgets].
    least = arithmetic(2.0 * inputs * 6 * 128, written=matches.nbytes + 2 * 8.0 * inputs * 128)

    def ours() -> cj.Curves:
        return cj.estimate(log, include=())

    return [
        against(
            f"C(k), all k, {size}",
            ours,
            "pass@k formula per input, strategy and k (1 % of the inputs, scaled)",
            lambda: per_input_and_k(matches[:part]),
            target=0 if smoke else 300,
            pairs=3,
            scale=inputs / part,
            floor=least,
            difference=_gap,
        ),
        against(
            f"C(k), all k, {size}",
            ours,
            "vectorised NumPy, cumulative product",
            lambda: vectorised(matches),
            target=0 if smoke else 3,
            pairs=15,
            floor=least,
            difference=_gap,
        ),
        against(
            f"C(k), all k, {size}",
            ours,
            "NumPy, one looked-up table",
            lambda: by_table(matches),
            pairs=15,
            floor=least,
            difference=_gap,
        ),
        against(
            f"C, both novelties, F, deviation, all k, {size}",
            lambda: cj.estimate(log),
            "vectorised NumPy, C(k) only",
            lambda: vectorised(matches),
            pairs=5,
            # All 64 sets of strategies, and pairs of strategies, beside the six.
            floor=arithmetic(2.0 * inputs * 64 * 128, written=matches.nbytes + 6 * 8.0 * inputs * 128),
        ),
        *_copia_rows(inputs, smoke),
    ]
