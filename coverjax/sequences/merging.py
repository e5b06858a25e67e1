"""Latents that divide a strategy among them by the input, and so are one.

Each writes it without fault on its inputs, and none of the others' texts there; all are needed, and updates
do not end it. But they never meet: of two texts of one input, one is hardly ever the one's and the other the
other's. Latents that write different strategies meet as often as their shares of the texts say.
"""

import numpy as np
from jaxtyping import Int

SELDOM = 0.5
"""Latents that meet less often than this share of what independent ones would are one. Not less: one of them
may write a few texts of another strategy too, which meet those of the other as usual. Strategies whose
frequencies vary with the input by a Dirichlet law with parameters of sum A meet A / (A + 1) as often."""

ENOUGH = 25.0
"""Meetings to be expected, at least: chance makes six of them or fewer once in a hundred thousand times."""


def input_numbers(
    tokens: Int[np.ndarray, "texts length"], slots: Int[np.ndarray, " texts"]
) -> Int[np.ndarray, " texts"]:
    """Return a number for the input of each text, the same one for those that begin alike up to the slot."""
    before = np.arange(tokens.shape[1]) < slots[:, None]
    prompts = np.where(before, tokens, -1)
    return np.unique(prompts, axis=0, return_inverse=True)[1].reshape(-1)


def merged_latents(
    latent: Int[np.ndarray, " texts"], inputs: Int[np.ndarray, " texts"], latents: int
) -> Int[np.ndarray, " latents"]:
    """Return for each latent the one that it is: itself, or the largest of those it never meets.

    Two by two are made one, those first that meet most seldom, so that what is made one hardly meets.

    Args:
        latent: that writes each text.
        inputs: the number of each text's input.
        latents: how many there are.
    """
    counts = np.zeros((int(inputs.max()) + 1, latents))
    np.add.at(counts, (inputs, latent), 1.0)
    total = counts.sum(axis=1)
    pairs = float(np.sum(total * (total - 1.0)))
    whole = np.arange(latents)
    while True:
        shares = counts.sum(axis=0) / len(latent)
        expected = pairs * np.outer(shares, shares)
        met = counts.T @ counts
        likely = np.triu(expected >= ENOUGH, 1)
        seldom = np.where(likely, met / np.where(likely, expected, 1.0), np.inf)
        one, other = np.unravel_index(np.argmin(seldom), seldom.shape)
        if not seldom[one, other] < SELDOM:
            return whole
        if shares[other] > shares[one]:
            one, other = other, one
        counts[:, one] += counts[:, other]
        counts[:, other] = 0.0
        whole[whole == other] = one
