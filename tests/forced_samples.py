"""Samples of every latent for the tests of their evaluation, and how single numbers are read off."""

import numpy as np

KINDS = ("intersection", "equality", "unique")


def point(interval):
    assert interval.mean.shape == interval.low.shape == (1,)
    return float(interval.mean[0])


def random_case(rng, inputs=5, latents=3, samples=3, strategies=3):
    """Set-valued matches with empty ones, and a router that never draws one of the latents."""
    matches = rng.random((inputs, latents, samples, strategies)) < 0.35
    router = rng.dirichlet(np.ones(latents), size=inputs)
    router[:, -1] = 0.0
    return matches, router / router.sum(axis=1, keepdims=True)


def only(found):
    (family,) = found.families.values()
    return family
