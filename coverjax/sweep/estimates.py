"""About how long a sweep takes and how much it writes: orders of magnitude, said before anything runs."""

from typing import Any, NamedTuple

from coverjax.policy.iid import IID
from coverjax.policy.latent import LatentIID, LatentNoRepeat
from coverjax.policy.no_repeat import BaseNoRepeat
from coverjax.policy.oracle import EnvelopeOracle, OracleNoRepeat
from coverjax.policy.registry import written_policy
from coverjax.sweep.grid import Structure, Sweep
from coverjax.sweep.measures import LISTS, columns

START, COMPILE, ROW = 4.0, 2.0, 3e-4
"""Seconds to start, to compile a policy for a structure, and to measure a row."""

STEP = 4e-9
"""Seconds of one multiplication and addition with what goes around it, on one busy core."""

CLOCKS = 384
"""Clock times of an integral in router order, about."""

PART_BYTES, COLUMN_BYTES = 4000, 6.0
"""Bytes of an empty part, and of a number in it once compressed."""


class Estimate(NamedTuple):
    """What a sweep will cost.

    Attributes:
        cells, rows, parts: their numbers.
        structures: kinds of shapes; each policy is compiled once for each.
        seconds: in one process, within a factor of about 4.
        bytes: of the dataset, within a factor of about 3.
    """

    cells: int
    rows: int
    parts: int
    structures: int
    seconds: float
    bytes: int


def estimated(sweep: Sweep) -> Estimate:
    """Estimate what a sweep costs."""
    seconds = START
    policies = [written_policy(text) for text in sweep.policies]
    rows = len(sweep.cells) * len(policies)
    size = 0.0
    names = columns(sweep.metrics)
    for structure, cells in sweep.structures.items():
        work = sum(_steps(policy, structure, sweep.trials) for policy in policies) * structure.inputs
        seconds += len(policies) * COMPILE + len(cells) * (work * STEP + len(policies) * ROW)
        numbers = len(names) - len(LISTS.intersection(names)) + structure.inputs
        numbers += structure.budget if "curve" in names else 0
        size += len(cells) * len(policies) * numbers * COLUMN_BYTES
    size += PART_BYTES * len(sweep.parts)
    return Estimate(len(sweep.cells), rows, len(sweep.parts), len(sweep.structures), seconds, int(size))


def _steps(policy: Any, structure: Structure, trials: int | None) -> float:
    """Multiplications of a policy for one input."""
    latents, _, strategies, budget = structure
    actions = max(1, latents)
    if trials is not None and type(policy) not in (IID, OracleNoRepeat):
        return trials * budget * (8.0 + 0.25 * (strategies + actions))
    if type(policy) in (OracleNoRepeat, BaseNoRepeat, EnvelopeOracle):
        return 10.0 * budget
    if policy.acts_on == "base" or isinstance(policy, LatentIID):
        return 4.0 * budget * strategies
    if isinstance(policy, LatentNoRepeat):
        each = float(actions**2 * strategies)
        return each * CLOCKS if policy.order == "router" else each + budget * strategies
    if policy.sees == "blind":
        return float(budget * actions * strategies)
    return 2.0 * budget * actions * strategies * 2.0**strategies
