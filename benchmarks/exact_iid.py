"""Exact coverage and novelty of independent draws at every budget, against NumPy."""

import subprocess
import sys

import numpy as np

import coverjax as cj
from benchmarks.harness import Row, against, arithmetic

STRATEGIES = 64


def broadcasting(q: np.ndarray, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """What one writes first: inputs x budgets x strategies exponentials."""
    k = np.arange(1, budget + 1)[:, None]
    log_miss = np.log1p(-q)[:, None, :]
    distinct = (-np.expm1(k * log_miss)).sum(axis=-1)
    return distinct, (q[:, None, :] * np.exp((k - 1) * log_miss)).sum(axis=-1)


def two_tables(q: np.ndarray, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """The best NumPy known to us: k = G a + b, alpha + beta - alpha beta, two batched matrix products."""
    inner = 1 << (int(budget).bit_length() // 2)
    outer = -(-budget // inner)
    log_miss = np.log1p(-q)[:, None, :]
    high, low = inner * np.arange(outer)[:, None], np.arange(inner)[:, None]
    alpha, beta = -np.expm1(log_miss * high), -np.expm1(log_miss * (low + 1))
    cross = alpha @ beta.transpose(0, 2, 1)
    distinct = alpha.sum(axis=-1)[:, :, None] + beta.sum(axis=-1)[:, None, :] - cross
    novelty = (q[:, None, :] * (1 - alpha)) @ np.exp(log_miss * low).transpose(0, 2, 1)
    return tuple(curve.reshape(len(q), -1)[:, :budget] for curve in (distinct, novelty))


def our_way(q: np.ndarray, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Our own form in NumPy: tables by doubling, one product, running totals in two levels."""
    inner = 1 << (int(budget).bit_length() // 2)
    outer = -(-budget // inner)

    def powers(step: int, count: int) -> np.ndarray:
        table = np.ones((len(q), 1, q.shape[1]))
        while table.shape[1] < count:
            later = np.exp(table.shape[1] * step * np.log1p(-q))[:, None]
            table = np.concatenate([table, table * later], axis=1)
        return table[:, :count]

    novelty = (q[:, None] * powers(inner, outer)) @ powers(1, inner).transpose(0, 2, 1)
    totals = np.cumsum(novelty, axis=2)
    before = np.cumsum(totals[:, :, -1:], axis=1) - totals[:, :, -1:]
    return tuple(curve.reshape(len(q), -1)[:, :budget] for curve in (totals + before, novelty))


def peak(inputs: int, budget: int) -> float:
    """Return the growth of peak memory in one call over the size of its results, in a fresh process."""
    code = (
        "import coverjax as cj, resource\n"
        f"small, large = cj.families.zipf(8, {STRATEGIES}), cj.families.zipf({inputs}, {STRATEGIES})\n"
        f"call = lambda law: cj.exact(cj.IID(), law, {budget}, include='novelty_count')\n"
        "call(small)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "kept = call(large)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * float(done.stdout) / (3 * 8.0 * inputs * budget)


def _gap(ours: cj.Curves, theirs: tuple[np.ndarray, np.ndarray]) -> float:
    """Largest difference relative to the value."""
    part = len(theirs[0])
    pairs = ((ours.distinct[:part], theirs[0]), (ours.novelty_count[:part], theirs[1]))
    return max(float(np.abs(a / b - 1).max()) for a, b in pairs)


def rows(smoke: bool) -> list[Row]:
    """Return the rows for exact curves of independent draws."""
    inputs, budget = (64, 128) if smoke else (4096, 1024)
    law = cj.families.zipf(inputs, STRATEGIES)
    q = law.marginals()
    part = max(1, inputs // 32)
    work = (
        f"exact iid C and N, {inputs:,} inputs x {STRATEGIES} Zipf strategies x {budget:,} budgets, float64"
    )

    def ours() -> cj.Curves:
        return cj.exact(cj.IID(), law, budget, include="novelty_count")

    memory = peak(inputs, budget)
    least = arithmetic(2.0 * inputs * budget * STRATEGIES, written=3 * 8.0 * inputs * budget)
    return [
        against(
            work,
            ours,
            "NumPy broadcasting (1/32 of the inputs, scaled)",
            lambda: broadcasting(q[:part], budget),
            target=0 if smoke else 40,
            scale=inputs / part,
            floor=least,
            difference=_gap,
        ),
        against(
            work,
            ours,
            "the best NumPy: two tables, two products",
            lambda: two_tables(q, budget),
            target=0 if smoke else 3,
            floor=least,
            note=f"peak of a fresh process {memory:.1f} times the three result arrays",
            difference=_gap,
        ),
        against(
            work, ours, "our own form in NumPy", lambda: our_way(q, budget), floor=least, difference=_gap
        ),
    ]
