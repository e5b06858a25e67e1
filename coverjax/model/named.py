"""Families by name, with plain numbers as settings: what the command line and sweeps are written in."""

from typing import Any

import jax

from coverjax.foundation.checks import InputError, one_of
from coverjax.model import families
from coverjax.model.law import OutcomeLaw
from coverjax.model.router_generator import RouterGenerator

SETTINGS: dict[str, tuple[str, ...]] = {
    "uniform": (),
    "zipf": ("exponent",),
    "geometric": ("ratio",),
    "dirichlet": ("concentration", "seed"),
    "two_tier": ("common", "common_mass"),
    "confusion": ("eps", "imbalance", "latents"),
}
"""The settings of each family beside inputs and strategies."""

WITH_LATENTS = frozenset({"confusion"})
"""Families that are router-generators."""

DEFAULTS: dict[str, Any] = {
    "inputs": 1,
    "strategies": 10,
    "exponent": 1.0,
    "ratio": 0.5,
    "concentration": 1.0,
    "common": 2,
    "common_mass": 0.9,
    "eps": 0.1,
    "imbalance": 0.0,
    "latents": 0,
    "seed": 0,
}
"""What a setting is where it is not given."""


def named_family(name: str, **settings: Any) -> OutcomeLaw | RouterGenerator:
    """Return the law of a family, with settings as in `DEFAULTS`.

    Settings of other families are let through unused. two_tier: strategies that are not common are rare.
    confusion: the router is Zipf's law with exponent `imbalance`; `latents` = 0 stands for one a strategy.

    Raises:
        InputError: there is no such family, or a setting is out of range.

    >>> named_family("two_tier", strategies=3, common=1, common_mass=0.5).probs.tolist()
    [[0.5, 0.25, 0.25]]
    """
    one_of("family", name, list(SETTINGS))
    given = DEFAULTS | settings
    sizes = (given["inputs"], given["strategies"])
    if name == "dirichlet":
        return families.dirichlet(jax.random.key(given["seed"]), *sizes, given["concentration"])
    if name == "two_tier":
        return _two_tier(*sizes, given["common"], given["common_mass"])
    if name == "confusion":
        return _confusion(*sizes, given["eps"], given["imbalance"], given["latents"])
    make = {"uniform": families.uniform, "zipf": families.zipf, "geometric": families.geometric}[name]
    law: OutcomeLaw = make(*sizes, *(given[setting] for setting in SETTINGS[name]))
    return law


def _two_tier(inputs: int, strategies: int, common: int, mass: float) -> OutcomeLaw:
    if not 0 < common < strategies:
        raise InputError(f"common: must be at least 1 and below strategies, {strategies}; got {common}")
    return families.two_tier(inputs, common, strategies - common, mass)


def _confusion(inputs: int, strategies: int, eps: float, imbalance: float, latents: int) -> RouterGenerator:
    count = latents or strategies
    router = families.zipf(1, count, imbalance).probs[0] if imbalance else None
    return families.confusion(inputs, strategies, eps, router, latents=count)
