"""Which latents the texts need: backward elimination by the likelihood of a mixture of them.

Latents that had to share the texts equally are more than there are strategies: some are twins, and some were
left with the remainders of two strategies and write one on some inputs and the other on the others. Neither
is missed: others write the same texts, and write them on all inputs. So latents are dropped one by one, those
without which the texts cost least, while that is below a price. One weight for each latent, the same on all
inputs, is what makes it tell: with weights that may follow the input a latent that writes by the input is as
good as a pure one.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

PRICE = 0.05
"""Nats a text that a latent must save. A strategy that a hundredth of the texts follow, and that the others
would write five nats worse, is just kept."""

DEAD = 0.01
"""A latent that the router draws less often than this is dead."""

BEAM = 16
"""Sets of each size that are followed. One alone can lose its way: of two pure latents and two that exchange
their strategies by the input, any three are as good as all four, and only some lead to the pure two."""

ITERATIONS = 300
"""Updates of the weights, at most."""

SETTLED = 1e-7
"""Nats a text; when no set gains more by an update, it was the last."""

FARTHEST = 600.0
"""Nats; a latent that is farther behind the best one on a text counts as so far, or its share would be 0."""


def mixture_weights(
    likelihood: Float[np.ndarray, "texts latents"], sets: Bool[np.ndarray, "sets latents"]
) -> tuple[Float[np.ndarray, "sets latents"], Float[np.ndarray, " sets"]]:
    """Return for each set of latents the weights w that make -mean log(likelihood @ w) least, and that.

    Each update (expectation maximisation) lowers it, and it is convex in w, so there is nothing else to find.
    """
    weights = sets / sets.sum(axis=1, keepdims=True)
    before = np.full(len(sets), np.inf)
    for _ in range(ITERATIONS):
        mixed = weights @ likelihood.T
        cost = -np.log(mixed).mean(axis=1)
        if np.all(before - cost < SETTLED):
            break
        before = cost
        weights = weights * ((1.0 / mixed) @ likelihood) / len(likelihood)
    return weights, cost


def mixture_shares(surprisal: Float[np.ndarray, "texts latents"]) -> Float[np.ndarray, "texts latents"]:
    """Return the share of each text that each latent has in the mixture that the texts cost least under.

    Args:
        surprisal: -log g(y | x, z) of texts under each latent, in nats.
    """
    likelihood = _relative(surprisal)
    mixed = likelihood * mixture_weights(likelihood, np.ones((1, likelihood.shape[1]), bool))[0]
    return mixed / mixed.sum(axis=1, keepdims=True)


def latent_of_each(surprisal: Float[np.ndarray, "texts latents"]) -> Int[np.ndarray, " texts"]:
    """Return the latent with the largest share of each text, the one with more of two that write it alike."""
    return np.argmax(mixture_shares(surprisal), axis=1)


def needed_latents(
    surprisal: Float[np.ndarray, "texts latents"], price: float = PRICE, stay: Sequence[int] = ()
) -> tuple[list[int], Float[np.ndarray, " sizes"]]:
    """Drop latents that the texts don't miss.

    Args:
        surprisal: -log g(y | x, z) of texts under each latent, in nats.
        price: what the texts may cost more than under all latents, in nats a text.
        stay: latents that are not to be dropped.

    Returns:
        the latents that are kept, in their order: of the smallest number that the price allows, at least one,
        those under which the texts cost least; and what they cost more with one latent less, two less, ...,
        down to one, or to those that stay.
    """
    likelihood = _relative(surprisal)
    sets = np.ones((1, likelihood.shape[1]), bool)
    kept, costs = sets[0], []
    whole = mixture_weights(likelihood, sets)[1][0]
    free = ~np.isin(np.arange(likelihood.shape[1]), list(stay))
    while sets[0].sum() > max(1, np.sum(~free)):
        sets = _one_less(sets, free)
        cost = mixture_weights(likelihood, sets)[1]
        best = np.argsort(cost, kind="stable")[:BEAM]
        sets = sets[best]
        costs.append(cost[best[0]] - whole)
        if costs[-1] < price:
            kept = sets[0]
    return np.flatnonzero(kept).tolist(), np.array(costs)


def _relative(surprisal: Float[np.ndarray, "texts latents"]) -> Float[np.ndarray, "texts latents"]:
    """Return the likelihood of each text under each latent, against that under the best."""
    wide = np.asarray(surprisal, np.float64)
    return np.exp(-np.minimum(wide - wide.min(axis=1, keepdims=True), FARTHEST))


def _one_less(
    sets: Bool[np.ndarray, "sets latents"], free: Bool[np.ndarray, " latents"]
) -> Bool[np.ndarray, "more latents"]:
    """Return all sets that lack one latent more, one of those that are free to go, each once."""
    row, latent = np.nonzero(sets & free)
    less = sets[row]
    less[np.arange(len(row)), latent] = False
    return np.unique(less, axis=0)
