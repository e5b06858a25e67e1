"""Which curves of a policy have an exact form, told from shapes alone.

`exact` looks at the probabilities themselves, and at how many inputs come at once. In a sweep a number must
be there or not whatever else is in its part, so the rule here is of strategies and policy only.
"""

from typing import Any

from coverjax.closed_form.occupancy_counts import LARGEST as MOST_COUNTED
from coverjax.foundation.checks import InputError
from coverjax.foundation.lattice import LARGEST
from coverjax.policy.base import label
from coverjax.policy.iid import IID
from coverjax.policy.latent import LatentIID, LatentNoRepeat
from coverjax.policy.no_repeat import BaseNoRepeat
from coverjax.policy.oracle import EnvelopeOracle, OracleNoRepeat

REFERENCES = (IID(), OracleNoRepeat())
"""What Gain is measured between; always exact, in simulated sweeps too."""


def is_reference(policy: Any) -> bool:
    """Return whether a policy is one of the references."""
    return type(policy) in (IID, OracleNoRepeat)


def require_exact(policy: Any, strategies: int) -> None:
    """Raise unless a policy has an exact form with so many strategies.

    Raises:
        InputError: saying why not.
    """
    if type(policy) in (OracleNoRepeat, BaseNoRepeat, EnvelopeOracle, LatentNoRepeat, LatentIID):
        return
    if policy.acts_on == "base":
        return
    if not getattr(policy, "markov", False):
        raise InputError(
            f"{label(policy)}: has no exact form, its choice depends on more than (draw, seen set); give "
            "trials to simulate"
        )
    if policy.sees != "blind" and strategies > LARGEST:
        raise InputError(
            f"{label(policy)}: has an exact form for at most {LARGEST} strategies, some cell has "
            f"{strategies}; give trials to simulate"
        )


def exact_curves(policy: Any, strategies: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of some optional curves that have an exact form."""
    return tuple(name for name in names if _has(policy, strategies, name))


def _has(policy: Any, strategies: int, name: str) -> bool:
    if type(policy) is EnvelopeOracle:
        return name == "full_coverage"
    if name == "latent_coverage":
        return bool(policy.acts_on == "latents")
    if type(policy) in (OracleNoRepeat, BaseNoRepeat) or name == "strategy_auc":
        return True
    independent = policy.acts_on == "base" or isinstance(policy, LatentIID)
    if independent:
        return name != "count_law" or strategies <= MOST_COUNTED
    return strategies <= LARGEST
