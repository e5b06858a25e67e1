"""What a closed form hands over, and how it becomes `Curves`."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coverjax._version import __version__
from coverjax.curves import Curves, included
from coverjax.foundation.checks import InputError
from coverjax.foundation.shapes import pad_axis
from coverjax.policy.base import label
from coverjax.policy.stage import LawOrModel, marginal_law

PRACTICAL = 1e11
"""A curve that takes more multiplications than this (minutes on a few cores) is computed only when it is
asked for by its own name."""


@dataclasses.dataclass
class Wanted:
    """Which curves are asked for, and what became of those that are not practical.

    Attributes:
        names: the curves asked for.
        insisted: those asked for by their own name.
        left_out: why a curve that "default" or "all" stands for was left out.
    """

    names: frozenset[str]
    insisted: frozenset[str]
    left_out: dict[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, include: str | Sequence[str]) -> "Wanted":
        """Read `include`."""
        listed = [include] if isinstance(include, str) else list(include)
        return cls(included(include), frozenset(listed) - {"default", "all"})

    def any_of(self, *names: str) -> bool:
        """Return whether one of the curves is asked for."""
        return not self.names.isdisjoint(names)

    def practical(self, names: Sequence[str], work: float, obstacle: str = "") -> bool:
        """Return whether to compute some curves that one computation gives.

        Args:
            names: the curves.
            work: about how many multiplications they take.
            obstacle: why there is no form for them, empty where there is.

        Raises:
            InputError: a curve that has no form was asked for by its own name.
        """
        asked = [name for name in names if name in self.names]
        insisted = [name for name in asked if name in self.insisted]
        if obstacle and insisted:
            raise InputError(f"{insisted[0]}: {obstacle}; use simulate, or leave it out of `include`")
        if not obstacle and work > PRACTICAL and not insisted:
            obstacle = f"about {work:.0e} multiplications; ask for it by name"
        if obstacle:
            self.left_out.update(dict.fromkeys(asked, obstacle))
        return bool(asked) and not obstacle


@dataclasses.dataclass
class Found:
    """The curves of a closed form; None for what was not computed. Names and units as in `Curves`."""

    form: str
    distinct: Float[np.ndarray, "inputs budgets"]
    novelty_count: Float[np.ndarray, "inputs budgets"] | None = None
    novelty_any: Float[np.ndarray, "inputs budgets"] | None = None
    full_coverage: Float[np.ndarray, "inputs budgets"] | None = None
    latent_coverage: Float[np.ndarray, "inputs budgets"] | None = None
    count_law: Float[np.ndarray, "inputs budgets counts"] | None = None
    strategy_auc: Float[np.ndarray, "inputs strategies"] | None = None

    def keep_law(
        self, law: Float[np.ndarray, "inputs budgets counts"], count: np.ndarray, strategies: int
    ) -> None:
        """Take the law of |S_k| and full coverage, P(|S_k| = M), from it."""
        wide = pad_axis(law[..., : strategies + 1], max(strategies + 1, law.shape[-1]), axis=-1, fill=0.0)
        self.count_law = np.maximum(wide, 0.0)
        full = self.count_law[np.arange(len(law)), :, count]
        self.full_coverage = np.minimum(np.maximum.accumulate(full, axis=1), 1.0)


def to_curves(
    policy: Any, counted: LawOrModel, budgets: np.ndarray, found: Found, wanted: Wanted, coverage: str
) -> Curves:
    """Return the result type, with only what was asked for and NaN where there is nothing to cover."""
    declared = counted.declared_count
    some = (declared > 0)[:, None]
    # In place and without temporaries: at large sizes these two passes are a third of the work.
    own = found.distinct if found.distinct.flags.owndata and found.distinct.flags.writeable else None
    distinct = np.minimum(found.distinct, declared[:, None].astype(np.float64), out=own)
    fraction = distinct / np.maximum(declared, 1)[:, None].astype(np.float64)
    fraction[~some[:, 0]] = np.nan
    optional: dict[str, Any] = {
        name: getattr(found, name) if name in wanted.names else None
        for name in ("novelty_count", "novelty_any", "full_coverage", "latent_coverage", "count_law")
    }
    full, auc = optional["full_coverage"], found.strategy_auc if "strategy_auc" in wanted.names else None
    optional["full_coverage"] = None if full is None else np.where(some, full, np.nan)
    optional["strategy_auc"] = None if auc is None else np.where(counted.declared, auc, np.nan)
    probability = np.where(counted.declared, marginal_law(counted).marginals(), np.nan)
    return Curves(
        budgets=budgets,
        coverage=fraction,
        distinct=distinct,
        declared=declared,
        ids=counted.ids,
        strategy_probability=probability,
        method=label(policy),
        provenance=facts(policy, coverage, "exact", form=found.form, left_out=wanted.left_out),
        **optional,
    )


def facts(policy: Any, coverage: str, kind: str, **more: Any) -> dict[str, Any]:
    """Return the provenance of a policy's curves."""
    told = {name: value for name, value in more.items() if value not in ({}, None)}
    return {
        "kind": kind,
        "policy": label(policy),
        "sees": policy.sees,
        "knows": policy.knows,
        "coverage": coverage,
        "version": __version__,
        **told,
    }
