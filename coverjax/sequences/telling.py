"""Texts told apart by the latents that have parted: each with its latent, those of a rare one as often drawn.

A text of latent z counts 1 / R_z in what the generator learns (`factorization.attention`). In a batch of 64 a
strategy that a fourteenth of the texts follow has 4.6 +- 2.1 texts, each of which counts fourteen times what
it would by their number: most of what an update learns of it is chance. So texts are drawn in proportion to
what they count for, and a batch says as much about the rare strategy as about the others. What is a
mean over the texts, how frequent a latent is above all, counts a text the less the more often it is drawn.
"""

import numpy as np
from jaxtyping import Int

from coverjax.sequences.factorization import RARE, Texts

DRAWN_FROM = 4
"""How often a text stands in what batches are drawn from, on average; once at least."""


def told_apart(texts: Texts, latent: Int[np.ndarray, " texts"], latents: int, first_latent: int) -> Texts:
    """Return the texts, each as often as it is to be drawn, with its latent in its slot.

    Weights make up for how often a text is drawn: means by weight are those over the texts.

    Args:
        texts: each with weight 1.
        latent: of each text.
        latents: how many there are.
        first_latent: the token of latent 0.
    """
    shares = np.bincount(latent, minlength=latents) / len(latent)
    effort = 1.0 / np.maximum(shares, RARE)[latent]
    often = np.maximum(1, np.rint(DRAWN_FROM * effort / effort.mean())).astype(int)
    rows = np.repeat(np.arange(len(often)), often)
    weight = len(rows) / (len(often) * often[rows])
    drawn = texts.some(rows)
    return drawn.with_slots(first_latent + latent[rows])._replace(weight=weight.astype(np.float32))
