"""Coverage objectives with exact derivatives: pure functions of arrays, for `jax.grad`, `vmap` and `jit`.

An objective is a function of HOW the draws are made and of their number K:

    coverjax.objectives.auc(q, 16)                                       # a law: q_s = P(draw matches s)
    coverjax.objectives.auc(objectives.latent_iid(router, table), 16)    # z from the router, s by W[z, s]
    coverjax.objectives.auc(objectives.schedule(routers, table), 16)     # draw i has its own router
    coverjax.objectives.auc(objectives.no_repeat(table, router), 16)     # latents without repeats
    coverjax.objectives.auc(objectives.markov(logits, table), 16)        # a choice for every (draw, seen set)

Arrays may have leading axes (inputs), as long as all have the same ones or none; the result has them. NumPy
or JAX arrays; the precision is the arrays'. Objectives are to be maximised.

`weights`, [strategies] or with the leading axes, say what a strategy counts (only ratios matter; 0 leaves it
out: padding, or not declared). With equal weights everything is the plain fraction of strategies.
"""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Bool

from coverjax.foundation.checks import InputError, one_of, whole_number
from coverjax.foundation.lattice import LARGEST
from coverjax.learning.forms import Adaptive, Form, Independent, NoRepeat, Scheduled

FORMS = ("exact", "product")

__all__ = [
    "auc",
    "coverage",
    "entropy",
    "full_coverage",
    "gain",
    "iid",
    "kl",
    "latent_iid",
    "log_coverage",
    "marginals",
    "markov",
    "no_repeat",
    "schedule",
    "seen_sets",
]

# -- how the draws are made ------------------------------------------------------------------------


def marginals(probs: Any, matches: Any = None, counted: Any = None) -> jax.Array:
    """Return q_s = P(draw matches s), the sum of P(o) over the outcomes whose match set holds s.

    Args:
        probs: P(o), [..., outcomes].
        matches: match sets, bool [outcomes, strategies]; None where outcome s is strategy s.
        counted: which outcomes count (valid or correct ones), as flags or probabilities, [outcomes] or
            [..., outcomes]. The others spend their draw and match nothing.
    """
    p = _floats("probs", probs, 1)
    if counted is not None:
        p = p * jnp.asarray(counted).astype(p.dtype)
    if matches is None:
        return p
    sets = _checked_sets(matches, p).astype(p.dtype)
    return jnp.minimum(jnp.matmul(p, sets, precision="highest"), 1.0)


def iid(probs: Any, matches: Any = None, counted: Any = None) -> Form:
    """Independent draws from one law; arguments as for `marginals`. A bare array q means iid(q)."""
    p = _floats("probs", probs, 1)
    if counted is not None:
        p = p * jnp.asarray(counted).astype(p.dtype)
    return Independent(marginals(p, matches), p, _masks(matches, p, 1))


def latent_iid(router: Any, table: Any, matches: Any = None) -> Form:
    """z from the router, then a draw from row z: the independent draws of the mixture.

    The AUC, the coverage and the log-coverage are concave in the router's probabilities.

    Args:
        router: r(z), [..., latents].
        table: W[z, s] = P(s | z), [..., latents, strategies]; with `matches`, P(outcome | z).
        matches: match sets of the outcomes, bool [outcomes, strategies].
    """
    r, w = _fitting("router", _floats("router", router, 1), _floats("table", table, 2), 1)
    return iid(jnp.matmul(r[..., None, :], w, precision="highest")[..., 0, :], matches)


def schedule(routers: Any, table: Any, matches: Any = None) -> Form:
    """Draw i takes its latent from its own router.

    Args:
        routers: r_i(z), [..., draws, latents].
        table, matches: as for `latent_iid`.
    """
    r, w = _fitting("routers", _floats("routers", routers, 2), _floats("table", table, 2), 2)
    return Scheduled(r, marginals(w, matches), w, _masks(matches, w, 2))


def no_repeat(table: Any, router: Any = None, matches: Any = None) -> Form:
    """Every latent once, then a new pass: uniform order, or Plackett-Luce order where a router is given.

    In router order latents with probability 0 are left out. Arguments as for `latent_iid`.
    """
    w = _floats("table", table, 2)
    r = None
    if router is not None:
        r, w = _fitting("router", _floats("router", router, 1), w, 1)
    return NoRepeat(marginals(w, matches), r, w, _masks(matches, w, 2))


def markov(logits: Any, table: Any, matches: Any = None) -> Form:
    """A choice of latents for every draw and every set of strategies seen so far.

    Args:
        logits: unnormalised log-probabilities [..., draws, subsets, latents], subsets in the order of
            `seen_sets`.
        table, matches: as for `latent_iid`.
    """
    logits, w = _fitting("logits", _floats("logits", logits, 3), _floats("table", table, 2), 3)
    masks = _masks(matches, w, 2)
    strategies = w.shape[-1] if matches is None else jnp.shape(matches)[-1]
    if logits.shape[-2] != 1 << strategies:
        raise InputError(
            f"logits: must be [draws, {1 << strategies}, latents], a row for each set of the {strategies} "
            f"strategies (`seen_sets`); got shape {list(logits.shape)}"
        )
    return Adaptive(jax.nn.softmax(logits, axis=-1), w, masks)


def seen_sets(strategies: int) -> Bool[jax.Array, "subsets strategies"]:
    """Return every set of strategies, bool [2^strategies, strategies], in the order that `markov` takes."""
    subsets = jnp.arange(1 << strategies, dtype=jnp.int32)
    return ((subsets[:, None] >> jnp.arange(strategies, dtype=jnp.int32)) & 1) == 1


# -- what is to be large ---------------------------------------------------------------------------


def auc(draws_of: Any, draws: int, weights: Any = None) -> jax.Array:
    """Return AUC(K), the mean over k = 1..K of the weighted fraction of strategies that k draws cover.

    Args:
        draws_of: one of the forms above, or an array q [..., strategies] for independent draws.
        draws: K.
        weights: what a strategy counts; see the module.

    >>> import numpy as np
    >>> round(float(auc(np.array([0.5, 0.5]), 2)), 6)  # C(1) = 1/2, C(2) = 3/4
    0.625
    """
    return _of_inputs(_auc, draws_of, draws, weights)


def coverage(draws_of: Any, draws: int, weights: Any = None) -> jax.Array:
    """Return C(K), the weighted fraction of strategies that K draws cover. Arguments as for `auc`."""
    return _of_inputs(_coverage, draws_of, draws, weights)


def log_coverage(draws_of: Any, draws: int, weights: Any = None) -> jax.Array:
    """Return the weighted mean over strategies of log P(covered by K draws).

    It never gives up a rare strategy for a common one: halving the chance of either costs the same. To each
    probability 1e-6 is added, log((P + 1e-6) / (1 + 1e-6)), so that a strategy out of reach costs a finite
    amount. Arguments as for `auc`.
    """
    return _of_inputs(_log_coverage, draws_of, draws, weights)


def full_coverage(draws_of: Any, draws: int, weights: Any = None, form: str = "exact") -> jax.Array:
    """Return F(K), the probability that K draws cover every strategy (of positive weight).

    Args:
        draws_of, draws, weights: as for `auc`. No more than "weight above 0" is read from the weights.
        form: "exact", on the lattice of all subsets, for at most 16 strategies; "product", for any number,
            the product over strategies of P(covered): not F, but what F were if the strategies were found
            independently.
    """
    exact = one_of("form", form, FORMS) == "exact"
    return _of_inputs(_full_coverage if exact else _product, draws_of, draws, weights)


def gain(draws_of: Any, draws: int, base: Any, weights: Any = None) -> jax.Array:
    """Return Gain(K) = (AUC - AUC_iid) / (AUC_oracle - AUC_iid), of independent draws and of the oracle.

    The oracle names one strategy a draw, the heaviest first, none twice. Both are constants: gain has the
    derivative of the AUC, on another scale for every input. NaN where the oracle is no better than
    independent draws (its derivative is 0 there).

    Args:
        draws_of, draws, weights: as for `auc`.
        base: q_s = P(draw from the base law matches s), [..., strategies], or `iid(...)`.
    """
    reached = auc(draws_of, draws, weights)
    low = jax.lax.stop_gradient(auc(base, draws, weights))
    high = jax.lax.stop_gradient(_of_inputs(_oracle, base, draws, weights))
    room = high - low
    there = room > 0
    return jnp.where(there, (jnp.where(there, reached, 0.0) - low) / jnp.where(there, room, 1.0), jnp.nan)


# -- of one input, in the caller's precision -------------------------------------------------------

FLOOR = 1e-6


def _auc(form: Form, shares: jax.Array, draws: int) -> jax.Array:
    return jnp.sum(shares * form.mean_seen(draws))


def _coverage(form: Form, shares: jax.Array, draws: int) -> jax.Array:
    return jnp.sum(shares * form.last_seen(draws))


def _log_coverage(form: Form, shares: jax.Array, draws: int) -> jax.Array:
    return jnp.sum(shares * (jnp.log(form.last_seen(draws) + FLOOR) - math.log1p(FLOOR)))


def _full_coverage(form: Form, shares: jax.Array, draws: int) -> jax.Array:
    return form.full(draws, shares)


def _product(form: Form, shares: jax.Array, draws: int) -> jax.Array:
    return jnp.prod(jnp.where(shares > 0, form.last_seen(draws), 1.0))


def _oracle(form: Form, shares: jax.Array, draws: int) -> jax.Array:
    """AUC of naming the heaviest strategy that is left, draw after draw."""
    total = jnp.cumsum(jnp.sort(shares, descending=True))
    k = jnp.minimum(jnp.arange(draws, dtype=jnp.int32), shares.shape[0] - 1)
    return jnp.mean(total[k])


OF_ONE_INPUT = {
    "auc": _auc,
    "coverage": _coverage,
    "log_coverage": _log_coverage,
    "full_coverage": _full_coverage,
    "oracle": _oracle,
}
"""The objectives by name, as functions of one input's form and shares: what training maps over inputs."""


@partial(jax.jit, static_argnames=("one", "draws", "axes"))
def _mapped(form: Form, shares: jax.Array, one: Any, draws: int, axes: int) -> jax.Array:
    function = partial(one, draws=draws)
    for _ in range(axes):
        function = jax.vmap(function)
    return function(form, shares)


# -- what may be held against it -------------------------------------------------------------------


def kl(router: Any, base: Any) -> jax.Array:
    """Return sum_z r(z) log(r(z) / base(z)) over the last axis, in nats.

    0 log 0 = 0; infinite where base is 0 and r is not. Subtract a multiple of it to keep a router near its
    base.
    """
    r, b = _floats("router", router, 1), _floats("base", base, 1)
    some = r > 0
    logs = jnp.log(jnp.where(some, r, 1.0)) - jnp.log(jnp.where(some, b, 1.0))
    return jnp.sum(jnp.where(some, r * logs, 0.0), axis=-1)


def entropy(router: Any) -> jax.Array:
    """Return -sum_z r(z) log r(z) over the last axis, in nats; 0 log 0 = 0."""
    r = _floats("router", router, 1)
    some = r > 0
    return -jnp.sum(jnp.where(some, r * jnp.log(jnp.where(some, r, 1.0)), 0.0), axis=-1)


# -- shapes ----------------------------------------------------------------------------------------


def _floats(name: str, values: Any, rank: int) -> jax.Array:
    array = jnp.asarray(values)
    if array.ndim < rank:
        raise InputError(f"{name}: must have at least {rank} axes; got shape {list(array.shape)}")
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(jnp.result_type(float))


def _fitting(name: str, given: jax.Array, table: jax.Array, rank: int) -> tuple[jax.Array, jax.Array]:
    """Bring an array over latents and a table to the same leading axes."""
    if given.shape[-1] != table.shape[-2]:
        raise InputError(
            f"{name}: must end in the {table.shape[-2]} latents of the table; got shape {list(given.shape)} "
            f"for a table of shape {list(table.shape)}"
        )
    lead = jnp.broadcast_shapes(given.shape[:-rank], table.shape[:-2])
    return (
        jnp.broadcast_to(given, (*lead, *given.shape[-rank:])),
        jnp.broadcast_to(table, (*lead, *table.shape[-2:])),
    )


def _masks(matches: Any, rows: jax.Array, rank: int) -> jax.Array | None:
    """Return the subset of each outcome, with the leading axes of the rows.

    Where there are more strategies than the lattice holds, zeros: what needs the lattice refuses them.
    """
    if matches is None:
        return None
    sets = _checked_sets(matches, rows)
    strategies = sets.shape[1]
    powers = 1 << (
        jnp.arange(strategies, dtype=jnp.int32) if strategies <= LARGEST else jnp.zeros(strategies, jnp.int32)
    )
    masks = jnp.sum(sets.astype(jnp.int32) * powers, axis=1, dtype=jnp.int32)
    return jnp.broadcast_to(masks, (*rows.shape[:-rank], *masks.shape))


def _checked_sets(matches: Any, rows: jax.Array) -> Bool[jax.Array, "outcomes strategies"]:
    sets = jnp.asarray(matches).astype(bool)
    if sets.ndim != 2 or sets.shape[0] != rows.shape[-1]:
        raise InputError(
            f"matches: must be bool [{rows.shape[-1]}, strategies], a match set for every outcome; got shape "
            f"{list(sets.shape)}"
        )
    return sets


def _of_inputs(one: Any, draws_of: Any, draws: Any, weights: Any) -> jax.Array:
    """Apply a function of one input's form and shares over all leading axes."""
    form = draws_of if isinstance(draws_of, Form) else iid(draws_of)
    lead, strategies = form.leading, form.strategies
    dtype = jax.tree.leaves(form)[0].dtype
    w = jnp.ones(strategies, dtype) if weights is None else _floats("weights", weights, 1).astype(dtype)
    if w.shape not in ((strategies,), (*lead, strategies)):
        raise InputError(
            f"weights: must be {[strategies]} or {[*lead, strategies]}, a number for every strategy; got "
            f"shape {list(w.shape)}"
        )
    shares = jnp.broadcast_to(w / jnp.sum(w, axis=-1, keepdims=True), (*lead, strategies))
    return _mapped(form, shares, one, whole_number("draws", draws), len(lead))
