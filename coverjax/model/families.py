"""Families of laws and router-generators, for studies, tests and calibration.

Inputs are named 0, 1, ...; every row sums to 1 (no off-strategy mass).
"""

import math
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from coverjax.foundation import rng
from coverjax.foundation.checks import InputError, shown, whole_number
from coverjax.foundation.precision import float64_kernel
from coverjax.foundation.shapes import bucket
from coverjax.model.law import OutcomeLaw
from coverjax.model.router_generator import RouterGenerator


def uniform(inputs: int, strategies: int) -> OutcomeLaw:
    """Return the law with equal probabilities, p_s = 1/M.

    >>> uniform(1, 4).probs.tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    return _same_row(inputs, np.ones(whole_number("strategies", strategies)))


def zipf(inputs: int, strategies: int, exponent: float = 1.0) -> OutcomeLaw:
    """Return Zipf's law, p_s proportional to s^-exponent for s = 1..M."""
    ranks = np.arange(1, whole_number("strategies", strategies) + 1, dtype=np.float64)
    logs = -_number("exponent", exponent) * np.log(ranks)
    return _same_row(inputs, np.exp(logs - logs.max()))


def geometric(inputs: int, strategies: int, ratio: float = 0.5) -> OutcomeLaw:
    """Return the geometric law, p_s proportional to ratio^s for s = 0..M-1, ratio > 0."""
    if not _number("ratio", ratio) > 0.0:
        raise InputError(f"ratio: must be above 0; got {ratio!r}")
    logs = math.log(ratio) * np.arange(whole_number("strategies", strategies))
    return _same_row(inputs, np.exp(logs - logs.max()))


def two_tier(inputs: int, common: int, rare: int, common_mass: float) -> OutcomeLaw:
    """Return a law of `common` strategies that share `common_mass` equally and `rare` ones the rest."""
    common, rare = whole_number("common", common), whole_number("rare", rare)
    mass = _share("common_mass", common_mass)
    return _same_row(inputs, np.repeat([mass / common, (1.0 - mass) / rare], [common, rare]))


def dirichlet(key: jax.Array, inputs: int, strategies: int, concentration: Any = 1.0) -> OutcomeLaw:
    """Draw one law per input from a Dirichlet distribution, in float64.

    Args:
        key: a JAX key. An input's law depends on the key and the input's name only: more inputs leave
            the first ones as they are.
        inputs, strategies: their numbers.
        concentration: above 0, one number or one per strategy. Small ones concentrate each law on few
            strategies.
    """
    inputs, strategies = whole_number("inputs", inputs), whole_number("strategies", strategies)
    alpha = np.asarray(concentration, dtype=np.float64)
    if alpha.shape not in ((), (strategies,)) or not (np.isfinite(alpha) & (alpha > 0)).all():
        raise InputError(
            f"concentration: must be above 0, one number or {strategies} numbers; got {shown(concentration)}"
        )
    keys = rng.input_keys(key, range(bucket(inputs)))  # padded: near sizes share a program
    return OutcomeLaw.from_probs(_sample_dirichlet(keys, np.broadcast_to(alpha, strategies))[:inputs])


@float64_kernel
def _sample_dirichlet(
    keys: jax.Array, alpha: Float[jax.Array, " strategies"]
) -> Float[jax.Array, "inputs strategies"]:
    # Logarithms of gamma draws: with a concentration of 0.01 the draws themselves underflow.
    logs = jax.vmap(lambda key: jax.random.loggamma(key, alpha, dtype=alpha.dtype))(keys)
    return jax.nn.softmax(logs, axis=-1)


def confusion(
    inputs: int,
    strategies: int,
    eps: float,
    router: Any = None,
    permute_key: jax.Array | None = None,
    latents: int | None = None,
) -> RouterGenerator:
    """Return a router-generator with one latent per strategy, mistaken with probability eps.

    W[z, s] = 1 - eps where s is the latent's strategy, eps / (M - 1) elsewhere. Two inputs under one
    latent agree with probability (1 - eps)^2 + eps^2 / (M - 1).

    Args:
        inputs, strategies: their numbers.
        eps: probability that a latent gives another strategy than its own, 0..1.
        router: r(z), [latents] or [inputs, latents]; uniform when None.
        permute_key: when given, every input gets its own random pairing of latents and strategies (a latent
            then means nothing across inputs); otherwise latent z means strategy z.
        latents: their number, as many as strategies when None. Latent z >= M is a twin of latent z mod M;
            with fewer than M, the last strategies are found by mistake only.
    """
    inputs, strategies = whole_number("inputs", inputs), whole_number("strategies", strategies)
    latents = strategies if latents is None else whole_number("latents", latents)
    eps = _share("eps", eps)
    if strategies == 1 and eps > 0.0:
        raise InputError(
            f"eps: must be 0 with one strategy, there is no other to confuse it with; got {eps!r}"
        )
    table = np.full((strategies, strategies), eps / max(strategies - 1, 1))
    np.fill_diagonal(table, 1.0 - eps)
    own = np.arange(latents) % strategies
    generator = np.broadcast_to(table[own], (inputs, latents, strategies))
    if permute_key is not None:
        keys = rng.input_keys(permute_key, range(inputs))
        meaning = np.asarray(jax.vmap(jax.random.permutation, in_axes=(0, None))(keys, strategies))
        generator = table[meaning[:, own]]
    return RouterGenerator(_weights(router, inputs, latents), generator)


def collapsed(law: OutcomeLaw, latents: int, router: Any = None) -> RouterGenerator:
    """Return a router-generator whose latents all give the base law: choosing among them changes nothing.

    Args:
        law: the law that every latent draws from.
        latents: number of latents.
        router: r(z), [latents] or [inputs, latents]; uniform when None.
    """
    latents = whole_number("latents", latents)
    generator = np.repeat(law.probs[:, None], latents, axis=1)
    return RouterGenerator(
        _weights(router, law.inputs, latents),
        generator,
        law.matches,
        law.names,
        law.declared,
        law.valid,
        law.correct,
    )


def with_dead_latent(model: RouterGenerator, mass: float = 0.0) -> RouterGenerator:
    """Return the model with one more latent, whose draws match nothing.

    Args:
        model: the model to extend.
        mass: probability that the router gives it, taken from the others in proportion; with 0 the base
            law stays as it is.
    """
    mass = _share("mass", mass)
    router = np.concatenate([model.router * (1.0 - mass), np.full((model.inputs, 1), mass)], axis=1)
    dead = np.zeros((model.inputs, 1, model.outcomes))
    return _with_latents(model, router, np.concatenate([model.generator, dead], axis=1))


def with_twin_latent(model: RouterGenerator, latent: int = 0, share: float = 0.5) -> RouterGenerator:
    """Return the model with a copy of one latent as its last one; the base law stays as it is.

    Args:
        model: the model to extend.
        latent: which latent gets a twin.
        share: part of the latent's router probability that moves to the twin.
    """
    if not 0 <= latent < model.latents:
        raise InputError(f"latent: must be one of 0..{model.latents - 1}; got {latent!r}")
    moved = model.router[:, latent : latent + 1] * _share("share", share)
    router = np.concatenate([model.router, moved], axis=1)
    router[:, latent : latent + 1] -= moved
    twin = model.generator[:, latent : latent + 1]
    return _with_latents(model, router, np.concatenate([model.generator, twin], axis=1))


def _with_latents(model: RouterGenerator, router: np.ndarray, generator: np.ndarray) -> RouterGenerator:
    rest = (model.matches, model.names, model.declared, model.valid, model.correct)
    return RouterGenerator(router, generator, *rest)


def _weights(router: Any, inputs: int, latents: int) -> np.ndarray:
    """Return r(z) of every input; uniform when None is given."""
    weights = np.full(latents, 1.0 / latents) if router is None else np.asarray(router)
    if weights.shape not in ((latents,), (inputs, latents)):
        raise InputError(
            f"router: must be [{latents}] or [{inputs}, {latents}], one probability per latent; got shape "
            f"{weights.shape}"
        )
    return np.broadcast_to(weights, (inputs, latents))


def _same_row(inputs: int, weights: np.ndarray) -> OutcomeLaw:
    row = weights / weights.sum()
    return OutcomeLaw.from_probs(np.broadcast_to(row, (whole_number("inputs", inputs), len(row))))


def _number(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise InputError(f"{name}: must be a finite number; got {value!r}")
    return float(value)


def _share(name: str, value: float) -> float:
    if not 0.0 <= value <= 1.0:
        raise InputError(f"{name}: must lie between 0 and 1; got {value!r}")
    return float(value)
