"""Do two inputs agree on what a latent means? Measures that are functions of sums over inputs.

Each input brings a row of columns; every measure of a family is a function of the sums of its rows. So one
input can be left out of all of them at once, which is how their intervals are made.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

KINDS = ("intersection", "equality", "unique")
"""When two match sets agree: they share a strategy; are the same, not empty; are the same single strategy."""


@dataclasses.dataclass(frozen=True, eq=False)
class Sets:
    """The distinct match sets of a family's samples.

    Attributes:
        matches: which strategies each holds [outcomes, strategies].
    """

    matches: Bool[np.ndarray, "outcomes strategies"]

    @property
    def sizes(self) -> np.ndarray:
        """Number of strategies in each [outcomes]."""
        return self.matches.sum(axis=1)

    @property
    def shares(self) -> Float[np.ndarray, "outcomes parts"]:
        """Each set as one sample cut into equal parts for its strategies; the last column is off-strategy."""
        parts = self.matches / np.maximum(self.sizes, 1)[:, None]
        return np.concatenate([parts, (self.sizes == 0)[:, None]], axis=1)

    def agree(self, kind: str) -> Float[np.ndarray, "outcomes outcomes"]:
        """Return which two sets agree, by one of `KINDS`. An empty set agrees with none."""
        common = self.matches.astype(np.int64) @ self.matches.T
        if kind == "intersection":
            return (common > 0).astype(np.float64)
        held = self.sizes > 0 if kind == "equality" else self.sizes == 1
        return np.diag(held.astype(np.float64))


@dataclasses.dataclass(frozen=True, eq=False)
class Columns:
    """What each input brings to its family's sums, and how measures are read from them.

    Attributes:
        sets: the match sets.
        router: r(z | x) [inputs, latents].
        probs: how often latent z gave set o on input x [inputs, latents, outcomes].
        reference: share of each strategy, and off-strategy in the last column, in what the model was
            fitted to [inputs, parts]; None where it isn't known.
    """

    sets: Sets
    router: Float[np.ndarray, "inputs latents"]
    probs: Float[np.ndarray, "inputs latents outcomes"]
    reference: "Float[np.ndarray, 'inputs parts'] | None"

    def rows(self) -> Float[np.ndarray, "inputs columns"]:
        """Return the columns: 1, own agreement by kind, r W, W, and the reference."""
        inputs = len(self.router)
        weighted = self.router[:, :, None] * self.probs
        own = [
            np.einsum("izo,op,izp->i", weighted, self.sets.agree(k), self.probs, optimize=True) for k in KINDS
        ]
        parts = [np.ones((inputs, 1)), np.stack(own, axis=1)]
        parts += [weighted.reshape(inputs, -1), self.probs.reshape(inputs, -1)]
        return np.concatenate(parts if self.reference is None else [*parts, self.reference], axis=1)

    def read(
        self, sums: Float[np.ndarray, "rows columns"]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, "np.ndarray | None"]:
        """Cut sums into n [rows], own [rows, kinds], rW and W [rows, latents, outcomes], reference."""
        shape = (len(sums), *self.probs.shape[1:])
        size = shape[1] * shape[2]
        first = 1 + len(KINDS)
        weighted, plain = (
            sums[:, first + part * size : first + (part + 1) * size].reshape(shape) for part in (0, 1)
        )
        rest = None if self.reference is None else sums[:, first + 2 * size :]
        return sums[:, 0], sums[:, 1:first], weighted, plain, rest


def agreement_of(
    columns: Columns, sums: Float[np.ndarray, "rows columns"]
) -> Float[np.ndarray, "rows kinds"]:
    """Return P(the match sets of two inputs agree under one latent) by kind.

    (x, x') are two different inputs of the family, uniformly; z ~ r(. | x), y ~ g(. | x, z) and
    y' ~ g(. | x', z). With A = sum_x r_x W_x and B = sum_x W_x it is
    (sum_z A_z K B_z - sum_x r_x W_x K W_x) / (n (n - 1)), K the matrix of the kind: all pairs, less each
    input with itself. NaN where there is one input only.
    """
    count, own, weighted, plain, _ = columns.read(sums)
    pairs = [
        np.einsum("rzo,op,rzp->r", weighted, columns.sets.agree(kind), plain, optimize=True) for kind in KINDS
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        return (np.stack(pairs, axis=1) - own) / (count * (count - 1.0))[:, None]


def total_variation_of(
    columns: Columns, sums: Float[np.ndarray, "rows columns"]
) -> Float[np.ndarray, "rows"]:
    """Return half the sum of |share - reference| over strategies and off-strategy, of the family as a whole.

    A sample that matches several strategies counts in equal parts for each.
    """
    count, _, weighted, _, reference = columns.read(sums)
    if reference is None:
        return np.full(len(sums), np.nan)
    shares = weighted.sum(axis=1) @ columns.sets.shares
    return 0.5 * np.abs(shares - reference).sum(axis=1) / count


def unique_share_of(columns: Columns, sums: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows"]:
    """Return the share of the samples with a match that have exactly one."""
    by_set = columns.read(sums)[2].sum(axis=1)
    held, single = by_set @ (columns.sets.sizes > 0), by_set @ (columns.sets.sizes == 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return single / held


def information_of(
    columns: Columns, sums: Float[np.ndarray, "rows columns"], use: str
) -> tuple[Float[np.ndarray, "rows latents"], Float[np.ndarray, "rows"], Float[np.ndarray, "rows"]]:
    """Return what a latent says of the match set, in the family as a whole, in nats.

    Args:
        columns, sums: of the family.
        use: "router": latents as often as the router draws them; "uniform": all equally often.

    Returns:
        KL(law of the sets under z || their law) [rows, latents], NaN where z is never drawn; its mean over
        latents, which is the mutual information of latent and set; and the entropy of the set.
    """
    _, _, weighted, plain, _ = columns.read(sums)
    table = weighted if use == "router" else plain
    joint = table / table.sum(axis=(1, 2), keepdims=True)
    latent, outcome = joint.sum(axis=2), joint.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        law = joint / latent[:, :, None]
        terms = np.where(law > 0.0, law * np.log(law / outcome[:, None]), 0.0)
        divergence = np.where(latent > 0.0, terms.sum(axis=2), np.nan)
        entropy = -np.where(outcome > 0.0, outcome * np.log(outcome), 0.0).sum(axis=1)
    return divergence, np.nansum(latent * divergence, axis=1), entropy
