"""The atoms of a law: what a draw can discover at all."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, UInt32

from coverjax.model.law import OutcomeLaw
from coverjax.montecarlo.packed import words_of
from coverjax.policy.iid import IID
from coverjax.policy.stage import actions, one_label


class Atoms(NamedTuple):
    """Distinct nonempty match sets with positive probability; the first axis counts inputs.

    Attributes:
        p: their probabilities, 0 in the padding [inputs, atoms].
        off: probability that a draw discovers nothing, ever [inputs].
        who: the strategy of each atom [inputs, atoms]; None where atoms are sets.
        sets: the set of each atom as words [inputs, atoms, words]; None where they are single strategies.
    """

    p: Float[np.ndarray, "inputs atoms"]
    off: Float[np.ndarray, " inputs"]
    who: Int[np.ndarray, "inputs atoms"] | None
    sets: UInt32[np.ndarray, "inputs atoms words"] | None


def atoms_of(law: OutcomeLaw) -> Atoms:
    """Return the atoms of a law."""
    if one_label(actions(IID(), law)):
        return single_atoms(law.marginals(), law.off_strategy)
    rows = [_merged(law.probs[row], sets) for row, sets in enumerate(law.match_table())]
    most = max(1, max(len(p) for p, _ in rows))
    p = np.zeros((law.inputs, most))
    sets = np.zeros((law.inputs, most, -(-law.strategies // 32)), np.uint32)
    for row, (chances, members) in enumerate(rows):
        p[row, : len(chances)] = chances
        sets[row, : len(chances)] = words_of(members)
    return Atoms(p, law.off_strategy, None, sets)


def single_atoms(q: Float[np.ndarray, "inputs items"], off: Float[np.ndarray, " inputs"]) -> Atoms:
    """Return atoms that are one item each."""
    there = q > 0
    most = max(1, int(there.sum(axis=1).max()))
    who = np.argsort(~there, axis=1, kind="stable")[:, :most]
    return Atoms(np.take_along_axis(q, who, axis=1), off, who, None)


def chain_length(law: OutcomeLaw) -> int:
    """Return the number of atoms of the longest chain (an upper bound where match sets coincide)."""
    acts = actions(IID(), law)
    if one_label(acts):
        return int((law.marginals() > 0).sum(axis=1).max())
    return int((law.probs > 0).sum(axis=1).max())


def _merged(probs: np.ndarray, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add up the outcomes of one input that have the same nonempty match set."""
    kept = (probs > 0) & sets.any(axis=1)
    members, group = np.unique(sets[kept], axis=0, return_inverse=True)
    return np.bincount(group.reshape(-1), weights=probs[kept], minlength=len(members)), members
