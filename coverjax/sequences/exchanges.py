"""Latents that exchange what they write by the input, found by the router and put in order.

Two latents may write two strategies the one way on some inputs and the other way on the others. Each text is
written without fault, each input has both, and moving a few texts from one to the other costs more than it
gives: updates do not end it. The router sees it: where one strategy is more frequent than the other, the
latent that it draws more often is now the one and now the other, and nothing else about the two depends on
the input. Numbered by how often they are drawn there, each writes one strategy on all inputs.

More than two may do so, the first with the second on some inputs and with the third on others; no two of them
in order then tell much less of the input. So those are joined to a group, one by one, that make what the
router tells of the input, each group in order, the smallest.
"""

import itertools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

EVIDENT = 0.01
"""Nats a text by which the router of latents must tell less of the input once they are in order."""

MORE = 0.002
"""And by which one more of a group, or two groups made one, must make it less again. A router of finite
training tells of which latent it is a little more than there is to tell; order takes part of that away."""

LEFT = 0.15
"""Share of what it told before that it may still tell. Where two frequencies vary with the input by a law
Beta(a, a), and nothing is exchanged, the rest is .16 (a = 0.1) to .36 (a = 20); more where it is lopsided,
.21 of four by the uniform law."""


class _Group(NamedTuple):
    """Latents that may exchange, and the two groups that were joined to it; a single latent is of none."""

    latents: tuple[int, ...]
    joined: tuple["_Group", ...] = ()


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
    groups = [_Group((z,)) for z in range(share.shape[1])]
    while len(groups) > 1:
        saved, one, other = max(
            ((_saved(share, one, other), one, other) for one, other in itertools.combinations(groups, 2)),
            key=lambda found: found[0],
        )
        if saved <= MORE:
            break
        groups = [group for group in groups if group not in (one, other)]
        groups.append(_Group(tuple(sorted(one.latents + other.latents)), (one, other)))
    order = np.tile(np.arange(share.shape[1]), (len(share), 1))
    for group in groups:
        for places in _exchanged(share, group):
            order[:, places] = places[np.argsort(-share[:, places], axis=1, kind="stable")]
    return order


def _saved(share: Float[np.ndarray, "texts latents"], one: _Group, other: _Group) -> float:
    """Return how many nats a text less the router tells with two groups in one order, not each in its own."""
    apart = [_in_order(share[:, group.latents]) for group in (one, other)]
    together = _in_order(share[:, one.latents + other.latents])
    # What is open once the input is known is the same in both.
    return float(_open(np.concatenate(apart, axis=1).mean(axis=0)) - _open(together.mean(axis=0)))


def _exchanged(share: Float[np.ndarray, "texts latents"], group: _Group) -> list[np.ndarray]:
    """Return the latents that exchange: the group, or else those of what it was made of."""
    some = share[:, group.latents]
    before, after = _told_of_input(some), _told_of_input(_in_order(some))
    if before - after > EVIDENT and after < LEFT * before:
        return [np.array(group.latents)]
    return [places for part in group.joined for places in _exchanged(share, part)]


def _in_order(share: Float[np.ndarray, "texts some"]) -> Float[np.ndarray, "texts some"]:
    return -np.sort(-share, axis=1)


def _told_of_input(share: Float[np.ndarray, "texts some"]) -> float:
    """Return what knowing the input tells of which latent it is, in nats a text of any latent."""
    return float(_open(share.mean(axis=0)) - _open(share).mean())


def _open(share: Float[np.ndarray, "*texts some"]) -> Float[np.ndarray, "*texts"]:
    """Return the entropy of which latent it is, by how often it is one of them; 0 where it never is."""
    total = share.sum(axis=-1, keepdims=True)
    p = share / np.maximum(total, np.finfo(float).tiny)
    return -np.sum(share * np.log(np.where(p > 0.0, p, 1.0)), axis=-1)
