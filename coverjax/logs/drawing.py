"""Logs drawn from a known law, and the law that fits a log best."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, UInt

from coverjax._version import __version__
from coverjax.closed_form.tiles import over_tiles, tile_size
from coverjax.foundation import rng
from coverjax.foundation.checks import InputError, listed, shown, whole_number
from coverjax.foundation.precision import float64_kernel
from coverjax.foundation.shapes import bucket, pad_axis
from coverjax.logs.log import SampleLog
from coverjax.logs.needs import need_one_method, need_samples
from coverjax.model.law import OutcomeLaw
from coverjax.model.router_generator import RouterGenerator

_NUMBERS = 3
"""Uniform numbers of a draw: its latent, its outcome, its flags."""


def draw_log(
    key: jax.Array, law_or_model: OutcomeLaw | RouterGenerator, samples: int, trials: int = 1
) -> SampleLog:
    """Draw a log of independent samples from a known law.

    Every sample draws its outcome from the law; from a router-generator first a latent from the router,
    which the log keeps, and then an outcome given the latent. A sample that falls on off-strategy mass
    matches nothing and is neither valid nor correct. Flags are drawn with the outcome's probabilities from
    one uniform number, so that a correct sample is valid wherever correct is the rarer of the two.

    Args:
        key: a JAX key. A sample depends on the key, the input's name, the trial and the position only: more
            samples, trials or inputs leave the others as they are.
        law_or_model: the law; all its labels are kept, declared or not.
        samples, trials: how many, for every input.

    >>> from coverjax.model.law import OutcomeLaw
    >>> draw_log(jax.random.key(0), OutcomeLaw.from_probs([[1.0, 0.0]]), 3).matches[0, 0].tolist()
    [[True, False], [True, False], [True, False]]
    """
    samples, trials = whole_number("samples", samples), whole_number("trials", trials)
    model = law_or_model
    latent = isinstance(model, RouterGenerator)
    if isinstance(model, RouterGenerator):
        router, rows = model.router, model.generator
    else:
        router, rows = np.ones((model.inputs, 1)), model.probs[:, None]
    shape = (bucket(trials, smallest=1), bucket(samples, smallest=1))
    draw = partial(_draw, key, trials=shape[0], samples=shape[1])
    size = 8.0 * (shape[0] * shape[1] * (rows.shape[2] + 8) + rows[0].size)
    tile = tile_size(model.inputs, size)
    streams = rng.stream_numbers(model.names)
    cut = (slice(None), slice(trials), slice(samples))
    latents, outcomes, flags = (part[cut] for part in over_tiles(draw, (streams, router, rows), tile))
    log = SampleLog.from_arrays(
        _matches(model, outcomes),
        declared=model.declared,
        valid=_flags(model.valid, outcomes, flags),
        correct=_flags(model.correct, outcomes, flags),
        ids=model.names,
        latent=latents if latent else None,
        labeler="ground_truth",
    )
    names = tuple(str(z) for z in range(model.latents)) if isinstance(model, RouterGenerator) else ()
    facts = {"kind": "drawn", "version": __version__, "samples": samples, "trials": trials}
    return dataclasses.replace(log, latents=names, provenance=facts)


@float64_kernel(static=("trials", "samples"))
def _draw(
    key: jax.Array,
    streams: UInt[jax.Array, " inputs"],
    router: Float[jax.Array, "inputs latents"],
    rows: Float[jax.Array, "inputs latents outcomes"],
    trials: int,
    samples: int,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return latent and outcome (their number: none of them) and a uniform number of every sample."""

    def one_input(
        stream: jax.Array, weights: jax.Array, laws: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        own = jax.random.fold_in(key, stream)
        steps, laws_steps = jnp.cumsum(weights), jnp.cumsum(laws, axis=1)
        last = jnp.argmax(steps >= steps[-1])

        def one_sample(trial_key: jax.Array, sample: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
            first, second, third = (_uniform(trial_key, _NUMBERS * sample + i) for i in range(_NUMBERS))
            # The router sums to 1 up to rounding: its last positive latent takes what rounding leaves.
            latent = jnp.minimum(jnp.searchsorted(steps, first, side="right"), last)
            return latent, jnp.searchsorted(laws_steps[latent], second, side="right"), third

        def one_trial(trial: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
            trial_key = jax.random.fold_in(own, trial)
            return jax.vmap(lambda sample: one_sample(trial_key, sample))(
                jnp.arange(samples, dtype=jnp.uint32)
            )

        return jax.vmap(one_trial)(jnp.arange(trials, dtype=jnp.uint32))

    latents, outcomes, flags = jax.vmap(one_input)(streams, router, rows)
    return latents.astype(jnp.int32), outcomes.astype(jnp.int32), flags


def _uniform(key: jax.Array, index: jax.Array) -> jax.Array:
    """Return a float64 number in [0, 1) with 53 random bits, named by key and index."""
    bits = rng.words(key, index)
    high, low = (bits[0] >> 5).astype(jnp.float64), (bits[1] >> 6).astype(jnp.float64)
    return (high * 2.0**26 + low) * 2.0**-53


def _matches(
    model: OutcomeLaw | RouterGenerator, outcomes: Int[np.ndarray, "inputs trials samples"]
) -> np.ndarray:
    """Return the match set of every sample, labels outside the declared set included."""
    sets = np.eye(model.strategies, dtype=bool) if model.matches is None else model.matches
    with_none = np.concatenate([sets, np.zeros_like(sets[..., :1, :])], axis=-2)
    if with_none.ndim == 2:
        return with_none[outcomes]
    return with_none[np.arange(model.inputs)[:, None, None], outcomes]


def _flags(chance: np.ndarray | None, outcomes: np.ndarray, uniform: np.ndarray) -> np.ndarray | None:
    if chance is None:
        return None
    with_none = pad_axis(chance, chance.shape[1] + 1, axis=1, fill=0.0)
    return uniform < with_none[np.arange(len(chance))[:, None, None], outcomes]


def fitted_law(log: SampleLog) -> OutcomeLaw:
    """Return the maximum-likelihood law of a log of independent samples.

    The outcomes of an input are its distinct observed match sets, with their observed shares over all
    trials as probabilities; an outcome's probability of being valid or correct is the share of its samples
    that are. What was never observed has probability 0: curves of this law beyond n draws are too low.

    Raises:
        InputError: the log is ordered (its samples are not independent), compares several methods, or has
            inputs without samples.
    """
    need_samples(log)
    if log.ordered:
        raise InputError(
            "log: must hold independent samples; this one is ordered, only its order means anything"
        )
    need_one_method(log)
    empty = [name for name, n in zip(log.ids, log.n.sum(axis=1), strict=True) if n == 0]
    if empty:
        raise InputError(
            f"log: every input needs a sample to fit its law; none of {listed(map(shown, empty))} has one"
        )
    fits = [_fit_one(log, row) for row in range(log.inputs)]
    most = max(len(share) for share, _, _, _ in fits)
    probs = np.stack([pad_axis(share, most, fill=0.0) for share, _, _, _ in fits])
    matches = np.stack([pad_axis(sets, most, fill=False) for _, sets, _, _ in fits])
    valid, correct = (
        None if log_flag is None else np.stack([pad_axis(fit[place], most, fill=0.0) for fit in fits])
        for place, log_flag in ((2, log.valid), (3, log.correct))
    )
    return OutcomeLaw.from_match_sets(probs, matches, log.ids, log.declared, valid, correct)


def _fit_one(log: SampleLog, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Shares, match sets and flag probabilities of one input's distinct match sets."""
    inside = log.inside[row]
    sets, place = np.unique(log.matches[row][inside], axis=0, return_inverse=True)
    place = place.reshape(-1)
    counts = np.bincount(place, minlength=len(sets)).astype(np.float64)
    flags = [
        np.zeros(len(sets)) if flag is None else np.bincount(place, flag[row][inside], len(sets)) / counts
        for flag in (log.valid, log.correct)
    ]
    return counts / counts.sum(), sets, *flags
