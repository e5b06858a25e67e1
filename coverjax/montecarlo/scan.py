"""`simulate`: curves of any policy by drawing."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from coverjax.closed_form.results import Wanted
from coverjax.curves import Curves
from coverjax.foundation import checks
from coverjax.foundation.checks import InputError, one_of, shown, whole_number
from coverjax.montecarlo.atoms import chain_length
from coverjax.montecarlo.discoveries import jump_sums, obstacle
from coverjax.montecarlo.driver import scan_sums
from coverjax.montecarlo.sums import simulated_curves
from coverjax.policy.stage import LawOrModel, marginal_law, require_fit

ENGINES = ("auto", "scan", "jump chain")


def simulate(
    key: jax.Array,
    policy: Any,
    law_or_model: LawOrModel,
    budget: "int | Sequence[int] | np.ndarray",
    trials: int,
    coverage: str = "raw",
    include: str | Sequence[str] = "default",
    chunk: int | None = None,
    engine: str = "auto",
) -> Curves:
    """Simulate a policy on a known law: unbiased means over trials, with their standard errors.

    A run draws `budget` samples; a run's random numbers are named by the key, the input's id, the trial and
    the draw. Everything kept is a sum of whole numbers. So the results are the SAME BITS for any `chunk`, any
    order of the inputs, any number of devices, and at k up to K for any longer budget (a policy that plans
    for its budget, as OptimalLatent, apart). Policies simulated by the scan under one key share random
    numbers.

    Two engines, named in ``provenance["engine"]``. "scan" draws every sample, for any policy. "jump chain"
    draws from discovery to discovery, for independent draws (IID, LatentIID) only: the cost of a run does
    not grow with the budget; it is exact in law too, with random numbers of its own. "auto" takes the jump
    chain where at most 8,192 distinct match sets, and fewer than twice the draws, can occur.

    The scan resolves probabilities to 2^-32: an outcome rarer than that may never occur. Probabilities that a
    policy computes have float32 accuracy.

    Args:
        key: a JAX key, `jax.random.key(seed)`.
        policy: a policy, your own class too.
        law_or_model: an `OutcomeLaw`, or a `RouterGenerator`; policies of the base law take its marginal.
        budget: number of draws K for all of 1..K, or increasing numbers of draws (all up to the largest are
            drawn by the scan, none between by the jump chain).
        trials: runs of each input.
        coverage: "raw", or "valid" / "correct": other draws spend budget and match nothing.
        include: which curves, as in `Curves`.
        chunk: about how many runs (input and trial) are in flight at once; None takes it from the
            device's memory.
        engine: "auto", "scan" or "jump chain".

    Raises:
        InputError: the policy does not fit the law, has no sequence to simulate (EnvelopeOracle), or its
            `choose` gives NaN or +inf.
    """
    require_fit(policy, law_or_model)
    if getattr(policy, "no_sequence", ""):
        raise InputError(f"{type(policy).__name__}: {policy.no_sequence}")
    wanted = Wanted.of(include)
    budgets = checks.budgets(budget)
    key, trials = require_key(key), whole_number("trials", trials)
    chunk = None if chunk is None else whole_number("chunk", chunk)
    counted = law_or_model.counting(coverage)
    _require_small(counted, budgets)
    chosen = _engine(policy, counted, budgets, one_of("engine", engine, ENGINES))
    run = jump_sums if chosen == "jump chain" else scan_sums
    sums = run(key, policy, counted, budgets, trials, wanted, chunk)
    facts = {"engine": chosen, "key": jax.random.key_data(key).tolist()}
    return simulated_curves(policy, counted, budgets, sums, wanted, trials, coverage, **facts)


def require_key(key: Any) -> jax.Array:
    """Return a typed key; old-style raw keys are wrapped.

    Raises:
        InputError: it is no single key.
    """
    if isinstance(key, jax.Array):
        if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.ndim == 0:
            return key
        if key.dtype == jnp.uint32 and key.ndim == 1:
            return jax.random.wrap_key_data(key)
    raise InputError(f"key: must be one JAX key; got {shown(key)}; write jax.random.key(seed)")


def _require_small(counted: LawOrModel, budgets: np.ndarray) -> None:
    if counted.strategies >= 1 << 16:
        raise InputError(f"strategies: simulation holds fewer than 65536; got {counted.strategies}")
    if budgets[-1] >= 1 << 30:
        raise InputError(f"budget: simulation goes up to 2^30 - 1 draws; got {budgets[-1]}")


def _engine(policy: Any, counted: LawOrModel, budgets: np.ndarray, engine: str) -> str:
    reason = obstacle(policy, counted)
    if engine == "jump chain" and reason:
        raise InputError(f"engine: {reason}; use engine='scan'")
    if engine != "auto":
        return engine
    sensible = not reason and chain_length(marginal_law(counted)) <= 2 * int(budgets[-1])
    return "jump chain" if sensible else "scan"
