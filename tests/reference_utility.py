"""What k samples are worth, by writing every k-subset (or order) down."""

import itertools
import math

import numpy as np


def subsets(n, k):
    return [list(chosen) for chosen in itertools.combinations(range(n), k)]


def pass_at_k(run, k):
    return np.mean([run["correct"][chosen].any() for chosen in subsets(run["n"], k)])


def pass_all_k(run, k):
    return np.mean([run["correct"][chosen].all() for chosen in subsets(run["n"], k)])


def cover_at_tau(run, k, tau):
    least = max(1, math.ceil(tau * k - 1e-9))
    return np.mean([run["correct"][chosen].sum() >= least for chosen in subsets(run["n"], k)])


def vote(sets, correct):
    voters = [(tuple(held), right) for held, right in zip(sets, correct, strict=True) if any(held)]
    if not voters:
        return 0.0
    names = [held for held, _ in voters]
    most = max(names.count(name) for name in names)
    winners = {name for name in names if names.count(name) == most}
    return np.mean([np.mean([right for held, right in voters if held == name]) for name in winners])


def majority_at_k(run, k):
    return np.mean([vote(run["matches"][c].tolist(), run["correct"][c]) for c in subsets(run["n"], k)])


def best(score, worth):
    return worth[score == score.max()].mean()


def best_of_k(run, k):
    return np.mean([run["score"][chosen].max() for chosen in subsets(run["n"], k)])


def best_of_k_correct(run, k):
    return np.mean([best(run["score"][c], run["correct"][c]) for c in subsets(run["n"], k)])


def distinct_k(run, k):
    return np.mean([run["matches"][chosen].any(axis=0).sum() for chosen in subsets(run["n"], k)])


def patience_of(matches, score, patience):
    seen, total = np.zeros(matches.shape[1], bool), 0.0
    for i, held in enumerate(matches):
        if (held & ~seen).any():
            total += patience**i * score[i]
        seen |= held
    return total * (1 - patience) / (1 - patience ** len(matches))


def patience_utility(run, k, patience):
    orders = itertools.permutations(range(run["n"]), k)
    return np.mean([patience_of(run["matches"][list(o)], run["score"][list(o)], patience) for o in orders])
