"""Does a continuous latent tell anything of a text (`latent_use`), of its strategy (`latent_agreement`)?"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from coverjax.foundation.checks import whole_number
from coverjax.inference.bounded import bounded_interval
from coverjax.inference.units import Interval
from coverjax.sequences.continuous import normal_laws
from coverjax.sequences.corpora import corpora, in_parts
from coverjax.sequences.factorization import Texts
from coverjax.sequences.gaussian import divergence
from coverjax.sequences.generation import draw
from coverjax.sequences.language_model import LanguageModel
from coverjax.sequences.settings import FitConfig
from coverjax.sequences.tasks.base import Task

ACTIVE = 0.01
"""A dimension is active where its posterior means vary by more than this, in the router's variances."""


@dataclasses.dataclass(frozen=True, eq=False)
class LatentUse:
    """What the dimensions of z tell of texts whose inputs were not fitted.

    Attributes:
        kl: mean over texts of KL(q(z | x, y) || r(z | x)) by dimension, nats [dimensions].
        variance: variance over texts of the posterior mean in the router's own coordinates,
            (m_q - m_r) / s_r, [dimensions]: what y tells of z beyond what x does.
        active: where it is above `ACTIVE` (Burda, Grosse, Salakhutdinov, 2016) [dimensions].
        texts: number of texts.
    """

    kl: Float[np.ndarray, " dimensions"]
    variance: Float[np.ndarray, " dimensions"]
    active: Bool[np.ndarray, " dimensions"]
    texts: int

    @property
    def collapsed(self) -> bool:
        """Whether no dimension is active: choosing z is then sampling."""
        return not self.active.any()


def latent_use(key: jax.Array, model: LanguageModel, task: Task, texts: int = 512) -> LatentUse:
    """Measure what continuous latents tell of held-out texts.

    Args:
        key: a JAX key, of the texts.
        model: with continuous latents.
        task: what the texts are about.
        texts: number of them.

    Raises:
        InputError: the model has no continuous latents, or `texts` is below 2.
    """
    model.require_continuous()
    whole_number("texts", texts, 2)
    _, held, _ = corpora(key, task, FitConfig(texts=1, held_out=texts))
    found = [_standardised(model, part) for part in in_parts(held)]
    means, kl = (np.concatenate([np.asarray(part[k], np.float64) for part in found])[:texts] for k in (0, 1))
    variance = means.var(axis=0, ddof=1)
    return LatentUse(kl.mean(axis=0), variance, variance > ACTIVE, texts)


@dataclasses.dataclass(frozen=True, eq=False)
class LatentAgreement:
    """Whether z decides which strategy a text follows: P(two texts of an input share a strategy).

    Attributes:
        same: of two texts with one z drawn from the router.
        other: of two texts with two of them.
        difference: what z decides; about 0 where it decides nothing.
    """

    same: Interval
    other: Interval
    difference: Interval


def latent_agreement(
    key: jax.Array,
    model: LanguageModel,
    task: Task,
    inputs: Sequence[Any],
    latents: int = 8,
    *,
    level: float = 0.95,
) -> LatentAgreement:
    """Draw two texts for each of several z of every input, and compare their strategies.

    Args:
        key: a JAX key.
        model: with continuous latents.
        task, inputs: what is asked.
        latents: number of z of an input, at least 2.
        level: nominal level of the intervals, over inputs.

    Raises:
        InputError: the model has no continuous latents, or `latents` is below 2.
    """
    model.require_continuous()
    whole_number("latents", latents, 2)
    first, second = jax.random.split(key)
    one = draw(first, model, task, inputs, latents)
    two = draw(second, model, task, inputs, latents, latents=one.latents)
    sides = [drawn.log.matches[:, 0].astype(np.int64) for drawn in (one, two)]
    shared = np.einsum("ias,ibs->iab", *sides) > 0
    same = np.trace(shared, axis1=1, axis2=2) / latents
    other = (shared.sum(axis=(1, 2)) - same * latents) / (latents * (latents - 1))
    return LatentAgreement(
        same=bounded_interval(same[:, None], level),
        other=bounded_interval(other[:, None], level),
        difference=bounded_interval((same - other)[:, None], level, limits=(-1.0, 1.0)),
    )


@jax.jit
def _standardised(model: LanguageModel, texts: Texts) -> tuple[jax.Array, jax.Array]:
    """Return the posterior means in the router's coordinates, and the KL, [texts, dimensions]."""
    router, encoder = normal_laws(model, texts)
    return (encoder.mean - router.mean) * jnp.exp(-router.log_scale), divergence(encoder, router)
