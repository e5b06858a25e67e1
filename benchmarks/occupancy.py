"""Full coverage and count law by contour integrals, against the same method in NumPy."""

import math

import numpy as np

import coverjax as cj
from benchmarks.harness import Row, against, arithmetic


def log_weights(k: np.ndarray, r: float) -> np.ndarray:
    """log(k! r^-k e^r) without large terms: Stirling's series and log1p."""
    delta = (r - k) / k
    series = 1 / (12 * k) - 1 / (360 * k**3) + 1 / (1260 * k**5) - 1 / (1680 * k**7)
    exact = np.array([math.lgamma(x + 1) for x in k[k < 16]])
    small = exact - ((k[k < 16] + 0.5) * np.log(k[k < 16]) - k[k < 16] + 0.5 * math.log(2 * math.pi))
    return (
        k * (delta - np.log1p(delta)) + 0.5 * np.log(2 * np.pi * k) + np.concatenate([small, series[k >= 16]])
    )


def windows_by_fft(p: np.ndarray, budget: int, width: float = 2.0) -> np.ndarray:
    """F(1..budget) from circles |z| = r, each serving r +- width sqrt r through one FFT."""
    result = np.zeros(budget)
    low = len(p)
    while low <= budget:
        r = low + math.floor(width * math.sqrt(low) + width**2 / 2)
        nodes = 2 * math.ceil(6 * math.sqrt(r) + 20)
        theta = 2 * np.pi * np.arange(nodes // 2 + 1) / nodes
        shift = r * (-2 * np.sin(theta / 2) ** 2 + 1j * np.sin(theta))
        product = np.exp((1 - p.sum()) * shift)
        for chance in p:
            product = product * (np.exp(chance * shift) - math.exp(-chance * r))
        means = np.fft.irfft(np.conj(product))
        k = np.arange(low, min(budget, math.floor(r + width * math.sqrt(r))) + 1)
        result[k - 1] = means[k % nodes] * np.exp(log_weights(k.astype(float), float(r)))
        low = int(k[-1]) + 1
    return result


def saddle_circles(p: np.ndarray, budget: int) -> np.ndarray:
    """F(1..budget) our way in NumPy: windows of saddle circles, 40 nodes each."""
    strategies = len(p)
    result = np.zeros(budget)
    low = 0
    while strategies + low <= budget:
        half = int(3 * math.sqrt(max(1, low) / 2)) + 4
        middle = max(1, low + half)
        r = 2.0 * middle
        for _ in range(8):
            a = p * r
            fall = -np.expm1(-a)
            excess = (a / fall - 1).sum() - middle
            r -= excess / ((p * (1 - a / fall * (1 - fall)) / fall).sum())
        around = 2 * math.ceil(5.4 * math.sqrt(r) + 8) + 1
        theta = 2 * np.pi * np.arange(min(40, around // 2 + 1)) / around
        w = (p[:, None] * r) * np.exp(1j * theta)
        product = (np.expm1(-w) / np.expm1(-p[:, None] * r)).prod(axis=0)
        k = strategies + middle + np.arange(max(-half, -middle), half + 1)
        k = k[k <= budget]
        phase = r * (np.sin(theta) - theta) - (k[:, None] - r) * theta
        bell = product * np.where(theta == 0, 1, 2) * np.exp(-2 * r * np.sin(theta / 2) ** 2) / around
        mean = (bell * np.exp(1j * phase)).real.sum(axis=1)
        on_axis = np.log(-np.expm1(-p * r)).sum()
        result[k - 1] = np.exp(log_weights(k.astype(float), r) + on_axis) * mean
        low = int(k[-1]) + 1 - strategies
    return result


def rows(smoke: bool) -> list[Row]:
    """Return the rows for full coverage."""
    strategies, budget = (24, 300) if smoke else (365, 4000)
    law = cj.families.zipf(1, strategies)
    p = law.probs[0]
    work = f"full-coverage curve, {strategies} Zipf strategies, k = 1..{budget:,}"

    def ours() -> cj.Curves:
        return cj.exact(cj.IID(), law, budget, include="full_coverage")

    # Circles of 40 nodes, each for 3 standard deviations on both sides; 20 operations a complex exponential.
    circles = math.sqrt(8 * budget) / 6
    least = arithmetic(20.0 * 40 * (circles * strategies + budget), written=8.0 * budget)

    def gap(curves: cj.Curves, theirs: np.ndarray) -> float:
        return float(np.abs(curves.full_coverage[0] - theirs).max())

    return [
        against(
            work,
            ours,
            "the same method in NumPy (windows by FFT)",
            lambda: windows_by_fft(p, budget),
            target=0 if smoke else 3,
            floor=least,
            note="first call at most 2 s",
            difference=gap,
        ),
        against(
            work,
            ours,
            "our saddle circles in NumPy",
            lambda: saddle_circles(p, budget),
            floor=least,
            difference=gap,
        ),
    ]
