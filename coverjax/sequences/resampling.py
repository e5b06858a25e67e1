"""How often each text is drawn once latents have parted: those of a rare one as often as those of others.

With lambda = 0 a text of latent z counts 1 / R_z in what the generator learns (`factorization.attention`). In
a batch of 64 a strategy that a fourteenth of the texts follow has 4.6 +- 2.1 texts, each of which counts
fourteen times as much as it should by their number: most of what an update then learns of it is chance. So
texts are drawn in proportion to what they count for, and count the less for it: the loss is the same on
average, and a batch says as much about the rare strategy as about the others.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from coverjax.sequences.factorization import RARE, Texts
from coverjax.sequences.pruning import mixture_of

DRAWN_FROM = 4
"""How often a text stands in what batches are drawn from, on average; once at least."""


def evenly(texts: Texts, surprisal: Float[np.ndarray, "texts latents"]) -> Texts:
    """Return the texts, each as often as it is to be drawn, and with the weight that makes up for it.

    Means over what is returned, by weight, are those over the texts.

    Args:
        texts: each with weight 1.
        surprisal: -log g(y | x, z) of each under each latent, in nats.
    """
    weights, share = mixture_of(surprisal)
    effort = share @ (1.0 / np.maximum(weights, RARE))
    often = np.maximum(1, np.rint(DRAWN_FROM * effort / effort.mean())).astype(int)
    rows = np.repeat(np.arange(len(often)), often)
    weight = len(rows) / (len(often) * often[rows])
    return Texts(*(part[rows] for part in texts))._replace(weight=jnp.asarray(weight, jnp.float32))
