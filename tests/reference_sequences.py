"""Measures of a router-generator by enumeration: loops over inputs, latents, samples and strategies."""

import itertools
import math

import numpy as np


def agree(a, b, kind):
    if kind == "intersection":
        return bool(a & b)
    if kind == "equality":
        return a == b and bool(a)
    return a == b and len(a) == 1


def match_sets(matches):
    """[inputs][latents][samples] of frozensets."""
    return [[[frozenset(np.flatnonzero(y)) for y in of_z] for of_z in of_x] for of_x in matches]


def agreement(matches, router, kind):
    """Mean over ordered pairs of different inputs, latents of the first, and pairs of their samples."""
    sets = match_sets(matches)
    found = []
    for i, j in itertools.permutations(range(len(sets)), 2):
        chance = 0.0
        for z, r in enumerate(router[i]):
            pairs = list(itertools.product(sets[i][z], sets[j][z]))
            chance += r * sum(agree(a, b, kind) for a, b in pairs) / len(pairs)
        found.append(chance)
    return sum(found) / len(found)


def weighted_sets(matches, router):
    """Every sample's set, with its weight in the mixture of its input."""
    for of_x, r in zip(match_sets(matches), router, strict=True):
        for of_z, weight in zip(of_x, r, strict=True):
            for y in of_z:
                yield y, weight / len(of_z)


def fidelity(matches, router):
    return sum(weight for y, weight in weighted_sets(matches, router) if y) / len(matches)


def unique_share(matches, router):
    rows = list(weighted_sets(matches, router))
    return sum(w for y, w in rows if len(y) == 1) / sum(w for y, w in rows if y)


def frequencies(matches, router):
    """Shares of the strategies and of nothing; a set counts in equal parts."""
    parts = np.zeros(matches.shape[-1] + 1)
    for y, weight in weighted_sets(matches, router):
        for s in y:
            parts[s] += weight / len(y)
        if not y:
            parts[-1] += weight
    return parts / len(matches)


def total_variation(matches, router, reference):
    whole = np.append(reference, 1 - sum(reference))
    return sum(abs(a - b) for a, b in zip(frequencies(matches, router), whole, strict=True)) / 2


def local_coverage(matches):
    """Mean over inputs, and over every way to pick one sample of each latent, of the share covered."""
    found = []
    for of_x in match_sets(matches):
        picks = list(itertools.product(*of_x))
        found.append(sum(len(frozenset().union(*pick)) for pick in picks) / len(picks) / matches.shape[-1])
    return sum(found) / len(found)


def reached(matches):
    sets = match_sets(matches)
    return sum(len({s for z in x for y in z for s in y}) for x in sets) / len(sets) / matches.shape[-1]


def alignment(table):
    """Best sum over one-to-one assignments, over the number of strategies; all of them are tried."""
    latents, strategies = table.shape
    wide = np.vstack([table, np.zeros((strategies, strategies))])
    best = max(
        sum(wide[z, s] for s, z in enumerate(chosen))
        for chosen in itertools.permutations(range(latents + strategies), strategies)
    )
    return best / strategies


def information(matches, weights):
    """KL(sets under z || sets) by latent, its mean, the entropy of the set; z drawn by [inputs, latents]."""
    joint = {}
    for of_x, r in zip(match_sets(matches), weights, strict=True):
        for z, (of_z, weight) in enumerate(zip(of_x, r, strict=True)):
            for y in of_z:
                joint[z, y] = joint.get((z, y), 0.0) + weight / len(of_z) / len(weights)
    of_latent, of_set = {}, {}
    for (z, y), p in joint.items():
        of_latent[z] = of_latent.get(z, 0.0) + p
        of_set[y] = of_set.get(y, 0.0) + p
    kl = [math.nan] * matches.shape[1]
    for z, total in of_latent.items():
        if total > 0:
            terms = [(p / total, of_set[y]) for (latent, y), p in joint.items() if latent == z and p > 0]
            kl[z] = sum(p * math.log(p / q) for p, q in terms)
    both = sum(p * math.log(p / (of_latent[z] * of_set[y])) for (z, y), p in joint.items() if p > 0)
    return kl, both, -sum(q * math.log(q) for q in of_set.values() if q > 0)
