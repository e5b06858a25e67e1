"""Which latent is which strategy: the best one-to-one assignment, and latents that are alike."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Float

from coverjax.foundation.shapes import bucket


def one_to_one(table: Float[np.ndarray, "latents strategies"]) -> tuple[int | None, ...]:
    """Return the latent of each strategy in the assignment with the largest sum of W[z, s], each latent once.

    A strategy without a latent (there are fewer of these) has None. Hungarian algorithm, of `optax`.

    >>> import numpy as np
    >>> one_to_one(np.array([[0.9, 0.1], [0.8, 0.0], [0.0, 0.7]]))
    (0, 2)
    """
    latents, strategies = table.shape
    side = bucket(max(latents, strategies))  # few sizes are compiled
    gain = np.zeros((side, side), np.float32)
    gain[:latents, :strategies] = 1.0 + np.asarray(table)  # so that a real pair is better than a padded one
    rows, columns = _assigned(jnp.asarray(-gain))
    chosen = dict(zip(np.asarray(columns).tolist(), np.asarray(rows).tolist(), strict=True))
    return tuple(chosen[s] if chosen[s] < latents else None for s in range(strategies))


_assigned = jax.jit(optax.assignment.hungarian_algorithm)


def aligned_shares(
    shares: Float[np.ndarray, "inputs latents strategies"], assigned: tuple[int | None, ...]
) -> Float[np.ndarray, "inputs strategies"]:
    """Return W[z(s), s] of each input, 0 for a strategy without a latent."""
    nothing = np.zeros(len(shares))
    return np.stack([nothing if z is None else shares[:, z, s] for s, z in enumerate(assigned)], axis=1)


def twins(
    laws: Float[np.ndarray, "latents outcomes"], use: Float[np.ndarray, " latents"], near: float, dead: float
) -> tuple[tuple[int, int], ...]:
    """Return pairs of latents whose laws of match sets are within `near` (total variation), those left out
    that are used less than `dead`."""
    apart = 0.5 * np.abs(laws[:, None] - laws[None]).sum(axis=2)
    alike = (apart <= near) & (use >= dead) & (use[:, None] >= dead)
    return tuple((int(a), int(b)) for a, b in np.argwhere(np.triu(alike, 1)))
