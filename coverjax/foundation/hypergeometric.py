"""The law of how many of k items, drawn without replacement from n, are among c marked ones."""

import numpy as np
from jaxtyping import Float, Int


def marked_law(n: int, c: int, drawn: Int[np.ndarray, " budgets"]) -> Float[np.ndarray, "budgets counts"]:
    """Return P(j of the k drawn items are marked), j = 0..min(c, K), for each k of `drawn`.

    P(j) = C(c, j) C(n - c, k - j) / C(n, k). Each row is summed up from the ratios of neighbours,
    (c - j)(k - j) / ((j + 1)(n - c - k + j + 1)), and divided by its total: no binomial is formed, so nothing
    overflows, and all is positive. Relative error about 1e-15 times the distance from the mode.

    Args:
        n: number of items.
        c: number of marked ones, 0..n.
        drawn: numbers of items drawn, 0..n each.
    """
    k = np.asarray(drawn, dtype=np.float64)[:, None]
    j = np.arange(min(c, int(k.max(initial=0.0))) + 1, dtype=np.float64)
    there = (j <= k) & (k - j <= n - c)
    ups = there[:, :-1] & there[:, 1:]
    top, bottom = (c - j[:-1]) * (k - j[:-1]), (j[:-1] + 1.0) * (n - c - k + j[:-1] + 1.0)
    steps = np.log(np.where(ups, top, 1.0) / np.where(ups, bottom, 1.0))
    logs = np.concatenate([np.zeros_like(k), np.cumsum(steps, axis=1)], axis=1)
    logs = np.where(there, logs, -np.inf)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
