"""Latents that exchange what they write by the input, found by the router and put in order.

Two latents may write two strategies the one way on some inputs and the other way on the others. Each text is
written without fault, each input has both, and moving a few texts from one to the other costs more than it
gives: updates do not end it. The router sees it: where one strategy is more frequent than the other, the
latent that it draws more often is now the one and now the other, and nothing else about the two depends on
the input. Numbered by how often they are drawn there, each writes one strategy on all inputs.
"""

import itertools

import numpy as np
from jaxtyping import Float, Int

EVIDENT = 0.01
"""Nats a text by which the router of two latents must tell less of the input once they are in order."""

LEFT = 0.15
"""Share of what it told before that it may still tell. Where two frequencies vary with the input by a law
Beta(a, a), and nothing is exchanged, the rest is .16 (a = 0.1) to .36 (a = 20); more where it is lopsided."""


def ordered_latents(
    router: Float[np.ndarray, "texts latents"],
) -> Int[np.ndarray, "texts latents"]:
    """Return for each text which latent comes in the place of each: its own, or that of a partner.

    Latents that exchange, two or more of them, are put in the order of what the router gives them on the
    text's input, the largest in the first of their places. The others stay.

    Args:
        router: log r(z | x) of each text's input.
    """
    share = np.exp(np.asarray(router, np.float64))
    latents = share.shape[1]
    group = np.arange(latents)
    for a, b in itertools.combinations(range(latents), 2):
        if _exchange(share[:, [a, b]]):
            group[group == group[b]] = group[a]
    order = np.tile(np.arange(latents), (len(share), 1))
    for number in np.unique(group):
        places = np.flatnonzero(group == number)
        order[:, places] = places[np.argsort(-share[:, places], axis=1, kind="stable")]
    return order


def _exchange(share: Float[np.ndarray, "texts 2"]) -> bool:
    """Say whether of two latents the input decides which is the frequent one, and little else."""
    before = _told_of_input(share)
    after = _told_of_input(np.sort(share, axis=1))
    return bool(before - after > EVIDENT and after < LEFT * before)


def _told_of_input(share: Float[np.ndarray, "texts 2"]) -> float:
    """Return what knowing the input tells of which of two it is, in nats a text of any latent."""
    return float(_open(share.mean(axis=0)) - _open(share).mean())


def _open(share: Float[np.ndarray, "*some 2"]) -> Float[np.ndarray, "*some"]:
    """Return the entropy of which of two it is, by how often it is one of them; 0 where it never is."""
    total = share.sum(axis=-1, keepdims=True)
    p = share / np.maximum(total, np.finfo(float).tiny)
    return -np.sum(share * np.log(np.where(p > 0.0, p, 1.0)), axis=-1)
