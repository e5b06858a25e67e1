"""Occupancy laws by sums of positive terms only, in plain NumPy. Imports nothing of coverjax.

Nothing cancels, so relative accuracy is a few roundings per strategy or draw: a reference at every k.
"""

import math

import numpy as np


def equal_chain(strategies, budget, off=0.0):
    """P(|S_k| = m) of equal strategies for k = 1..budget, by the Markov chain of |S_k|."""
    count = np.arange(strategies + 1)
    law = np.zeros(strategies + 1)
    law[0] = 1.0
    rows = []
    for _ in range(budget):
        old = law * (count / strategies * (1.0 - off) + off)
        old[1:] += law[:-1] * ((strategies - count[:-1]) / strategies) * (1.0 - off)
        law = old
        rows.append(law)
    return np.array(rows)


def poisson(mean, last):
    """Poisson probabilities at 0..last by the recurrence outward from the mode, rescaled to sum to 1."""
    mode = min(int(mean), last)
    terms = np.zeros(last + 1)
    terms[mode] = 1.0
    for k in range(mode, last):
        terms[k + 1] = terms[k] * mean / (k + 1)
    for k in range(mode, 0, -1):
        terms[k - 1] = terms[k] * k / mean
    return terms / terms.sum()


def unseen_counts(probs, radii, budget, most=0):
    """P(exactly g of the strategies are unseen after k draws), g = 0..most, [most + 1, budget] for k = 1...

    The draws of a Poisson(r) number split into independent counts per strategy; convolve them, those of
    unseen strategies being 0, and divide by the Poisson probability of k. Each k uses the nearest radius.
    The rest of the mass is off-strategy.
    """
    off = max(0.0, 1.0 - math.fsum(probs))
    result = np.full((most + 1, budget), np.nan)
    nearest = np.full(budget, np.inf)
    draws = np.arange(1, budget + 1)
    for radius in radii:
        whole = poisson(radius, int(radius + 45.0 * math.sqrt(radius) + 60.0))
        table = np.zeros((most + 1, budget + 1))
        table[0, 0] = 1.0
        if off > 1e-14:
            table[0] = np.pad(poisson(off * radius, budget + 200), (0, budget))[: budget + 1]
        for p in probs:
            mean = p * radius
            counts = poisson(mean, int(mean + 16.0 * math.sqrt(mean) + 60.0))
            none = math.exp(-mean)
            counts[0] = 0.0
            seen = np.array([np.convolve(row, counts)[: budget + 1] for row in table])
            seen[1:] += none * table[:-1]
            table = seen
        usable = draws < len(whole)
        usable &= np.where(usable, np.pad(whole, (0, budget))[draws] > 1e-250, False)
        usable &= np.abs(draws - radius) < nearest
        result[:, usable] = table[:, draws[usable]] / whole[draws[usable]]
        nearest[usable] = np.abs(draws - radius)[usable]
    return result
