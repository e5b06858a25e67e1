"""`exact`: the closed form of every policy that has one."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from coverjax.closed_form import iid, latent, markov, occupancy, occupancy_counts, oracle, sets
from coverjax.closed_form.results import Found, Wanted, to_curves
from coverjax.curves import Curves
from coverjax.foundation import checks, lattice
from coverjax.foundation.checks import InputError
from coverjax.foundation.precision import float64_kernel
from coverjax.model.law import OutcomeLaw
from coverjax.model.router_generator import RouterGenerator
from coverjax.policy.base import Known, label
from coverjax.policy.compact import compact, lattice_bits, reachable, require_lattice
from coverjax.policy.iid import IID
from coverjax.policy.latent import LatentIID, LatentNoRepeat
from coverjax.policy.no_repeat import BaseNoRepeat
from coverjax.policy.oracle import EnvelopeOracle, OracleNoRepeat
from coverjax.policy.stage import (
    Actions,
    Frozen,
    LawOrModel,
    actions,
    joined,
    knowledge,
    marginal_law,
    one_label,
    require_fit,
    split,
)

ON_THE_LATTICE = ("novelty_any", "full_coverage", "count_law")


def exact(
    policy: Any,
    law_or_model: LawOrModel,
    budget: "int | Sequence[int] | np.ndarray",
    coverage: str = "raw",
    include: str | Sequence[str] = "default",
) -> Curves:
    """Compute the exact curves of a policy on a known law.

    For every input: C(k) = E|S_k| / M, N_any, N_count, F and what else `include` asks for, without sampling.
    The form that was used stands in ``provenance["form"]``:

    - independent draws (IID, LatentIID): any number of strategies; F by contour integrals (single labels) or
      the subset lattice (match sets, at most 16 strategies that occur).
    - named strategies (OracleNoRepeat, BaseNoRepeat), and the envelope.
    - passes without repeats (LatentNoRepeat): coverage for any number of strategies; F, the count law and
      N_any of match sets on the lattice.
    - schedule (any blind policy): coverage for any number of strategies; the rest on the lattice.
    - lattice (any policy with `markov` True): at most 16 strategies that can occur.

    Absolute errors are about 1e-13 or less. Results may differ by a few ulp with the number of inputs
    computed at once.

    Args:
        policy: a policy.
        law_or_model: an `OutcomeLaw`, or a `RouterGenerator`; policies of the base law take its marginal.
        budget: number of draws K for all of 1..K, or increasing numbers of draws.
        coverage: "raw", or "valid" / "correct": other draws spend budget and match nothing.
        include: which curves, as in `Curves`; "default" all but the costly count law. A curve that is not
            practical is None and ``provenance["left_out"]`` says why.

    Raises:
        InputError: the policy has no exact form (its choice depends on more than draw and seen set), or a
            curve asked for by name has none; what to use instead is said.

    >>> law = OutcomeLaw.from_probs([[0.5, 0.5]])
    >>> exact(IID(), law, 3).coverage.tolist()
    [[0.5, 0.75, 0.875]]
    """
    require_fit(policy, law_or_model)
    wanted = Wanted.of(include)
    budgets = checks.budgets(budget)
    counted = law_or_model.counting(coverage)
    found = _form(policy)(policy, counted, budgets, wanted)
    return to_curves(policy, counted, budgets, found, wanted, coverage)


def _form(policy: Any) -> Any:
    """Choose the closed form of a policy."""
    special: dict[Any, Any] = {
        OracleNoRepeat: _oracle,
        BaseNoRepeat: _base_no_repeat,
        EnvelopeOracle: _envelope,
        LatentNoRepeat: _no_repeat,
    }
    if type(policy) in special:
        return special[type(policy)]
    if policy.acts_on == "base" or isinstance(policy, LatentIID):
        return _independent
    if not getattr(policy, "markov", False):
        raise InputError(
            f"{label(policy)}: has no exact form, its choice depends on more than (draw, seen set); "
            "use simulate"
        )
    return _scheduled if policy.sees == "blind" else _markov


# -- independent draws and named strategies --------------------------------------------------------


def _independent(policy: Any, counted: LawOrModel, budgets: np.ndarray, wanted: Wanted) -> Found:
    law = marginal_law(counted)
    q = law.marginals()
    distinct, new = iid.iid_curves(q, budgets)
    found = Found("independent draws", distinct, novelty_count=new)
    if wanted.any_of("strategy_auc"):
        found.strategy_auc = iid.iid_strategy_auc(q, int(budgets[-1]))
    if isinstance(policy, LatentIID) and isinstance(counted, RouterGenerator):
        found.latent_coverage = iid.iid_coverage(counted.router, budgets) / counted.latents
    if one_label(actions(IID(), law)):
        _independent_labels(law, q, budgets, wanted, found)
    else:
        _independent_sets(law, budgets, wanted, found)
    return found


def _independent_labels(
    law: OutcomeLaw, q: np.ndarray, budgets: np.ndarray, wanted: Wanted, found: Found
) -> None:
    found.novelty_any = found.novelty_count
    if wanted.any_of("full_coverage"):
        found.form += ", contour integral"
        found.full_coverage = occupancy.full_coverage(q, law.declared_count, budgets)
    most = int((q > 0).sum(axis=1).max())
    too_many = most > occupancy_counts.LARGEST
    obstacle = f"at most {occupancy_counts.LARGEST} strategies, got {most}" if too_many else ""
    work = 40.0 * law.inputs * most**2 * float(np.sqrt(budgets[-1])) * 4
    if wanted.practical(("count_law",), work, obstacle):
        found.count_law = occupancy_counts.count_law(q, budgets)


def _independent_sets(law: OutcomeLaw, budgets: np.ndarray, wanted: Wanted, found: Found) -> None:
    bits = int(sets.occurring(law).max())
    work = law.inputs * len(budgets) * max(1, bits) * 2.0**bits
    if wanted.practical(ON_THE_LATTICE, work, _too_many(bits)):
        found.form += ", subset lattice"
        curves = sets.set_curves(law, budgets, count_law=wanted.any_of("count_law"))
        found.full_coverage, found.novelty_any = curves.full_coverage, curves.novelty_any
        found.count_law = curves.count_law


def _too_many(bits: int) -> str:
    if bits <= lattice.LARGEST:
        return ""
    return f"the subset lattice holds at most {lattice.LARGEST} strategies that can occur, got {bits}"


def _oracle(policy: Any, counted: LawOrModel, budgets: np.ndarray, wanted: Wanted) -> Found:
    found = _certain("one named strategy a draw", counted, counted.declared_count, budgets)
    found.strategy_auc = oracle.oracle_strategy_auc(counted.declared, int(budgets[-1]))
    return found


def _base_no_repeat(policy: Any, counted: LawOrModel, budgets: np.ndarray, wanted: Wanted) -> Found:
    q = marginal_law(counted).marginals()
    found = _certain("named strategies without replacement", counted, (q > 0).sum(axis=1), budgets)
    draws = int(budgets[-1])
    if wanted.practical(("strategy_auc",), oracle.rank_work(q, draws)):
        found.strategy_auc = oracle.no_repeat_strategy_auc(q, draws)
    return found


def _certain(form: str, counted: LawOrModel, count: np.ndarray, budgets: np.ndarray) -> Found:
    run = oracle.one_a_draw(count, budgets, counted.strategies)
    found = Found(form, run.distinct, novelty_count=run.new, novelty_any=run.new)
    found.keep_law(run.law, counted.declared_count, counted.strategies)
    return found


def _envelope(policy: Any, counted: LawOrModel, budgets: np.ndarray, wanted: Wanted) -> Found:
    distinct, sure = oracle.envelope(actions(IID(), marginal_law(counted)), budgets)
    form = "maximum coverage at each k"
    if not sure.all():
        form += f"; greedy (at least 1 - 1/e of it) for {int((~sure).sum())} of {len(sure)} inputs"
    names = ("novelty_any", "novelty_count", "strategy_auc", "count_law", "latent_coverage")
    wanted.practical(names, 0.0, "the envelope is no single sequence of draws, only coverage is defined")
    full = (distinct >= counted.declared_count[:, None]).astype(np.float64)
    return Found(form, distinct, full_coverage=full)


# -- latents ---------------------------------------------------------------------------------------


def _no_repeat(policy: LatentNoRepeat, model: RouterGenerator, budgets: np.ndarray, wanted: Wanted) -> Found:
    order = latent.passes(model.router, policy.order, policy.support)
    distinct, new, auc = latent.no_repeat_curves(model.strategy_table(), order, budgets)
    found = Found(f"passes without repeats, {policy.order} order", distinct, new, strategy_auc=auc)
    live = order.live.sum(axis=1)[:, None]
    found.latent_coverage = np.minimum(budgets[None, :], live) / model.latents
    acts = actions(policy, model)
    names = ["full_coverage", "count_law"]
    if one_label(acts):
        found.novelty_any = new
    else:
        names.append("novelty_any")
    bits = int(reachable(acts).sum(axis=1).max())
    work = latent.counts_work(model.inputs, model.latents, bits, policy.order == "router", len(budgets))
    if wanted.practical(names, work, _too_many(bits)):
        found.form += ", subset lattice"
        reduced = compact(acts)
        law = wanted.any_of("full_coverage", "count_law")
        any_new, counts = latent.no_repeat_counts(
            reduced.rows, reduced.masks, reduced.bits, order, budgets, law=law
        )
        found.novelty_any = new if one_label(acts) else any_new
        if counts is not None:
            found.keep_law(counts, model.declared_count, model.strategies)
    return found


def _scheduled(policy: Any, counted: LawOrModel, budgets: np.ndarray, wanted: Wanted) -> Found:
    draws = int(budgets[-1])
    known = knowledge(policy, counted, draws)
    acts = actions(policy, counted)
    chances = _blind_chances(policy, known, draws)
    distinct, new, auc, used = latent.scheduled_curves(chances, _action_table(policy, counted, acts))
    at = budgets - 1
    found = Found("schedule", distinct[:, at], new[:, at], strategy_auc=auc)
    if policy.acts_on == "latents":
        found.latent_coverage = used[:, at]
    names = ["full_coverage", "count_law"]
    if one_label(acts):
        found.novelty_any = found.novelty_count
    else:
        names.append("novelty_any")
    bits = int(reachable(acts).sum(axis=1).max())
    atoms = bits if acts.matches is None else min(counted.outcomes, 1 << bits)
    work = len(chances) * draws * 2.0**bits * acts.number * atoms
    if wanted.practical(names, work, _too_many(bits)):
        found.form += ", subset lattice"
        run = markov.markov_run(policy, known, compact(acts), draws, used=False)
        found.novelty_any = run.any_new[:, at]
        found.keep_law(run.law[:, at], counted.declared_count, counted.strategies)
    return found


def _action_table(
    policy: Any, counted: LawOrModel, acts: Actions
) -> Float[np.ndarray, "inputs actions strategies"]:
    """P(draw matches s | action)."""
    if policy.acts_on == "latents" and isinstance(counted, RouterGenerator):
        return counted.strategy_table()
    named = np.eye(counted.strategies, dtype=bool) if acts.matches is None else acts.matches
    return (named & counted.declared[:, None]).astype(np.float64)


def _blind_chances(policy: Any, known: Known, draws: int) -> Float[np.ndarray, "inputs draws actions"]:
    numbers, frozen = split(policy)
    leaves, structure = jax.tree.flatten(known)
    arrays = [np.asarray(leaf) for leaf in leaves]
    chances = _draw_chances(numbers, arrays, frozen=frozen, structure=structure, draws=draws)
    if np.isnan(chances).any():
        raise InputError(f"{type(policy).__name__}: choose must return numbers or -inf; got NaN or +inf")
    return chances


@float64_kernel(static=("frozen", "structure", "draws"))
def _draw_chances(
    numbers: Any, known: list[jax.Array], frozen: Frozen, structure: Any, draws: int
) -> Float[jax.Array, "inputs draws actions"]:
    policy = joined(numbers, frozen)

    def one(leaves: list[jax.Array]) -> jax.Array:
        facts = jax.tree.unflatten(structure, leaves)
        at = jax.vmap(lambda draw: policy.choose(facts, (), draw))
        return markov.probabilities(at(jnp.arange(draws, dtype=jnp.int32)))

    return jax.vmap(one)(known)


def _markov(policy: Any, counted: LawOrModel, budgets: np.ndarray, wanted: Wanted) -> Found:
    acts = actions(policy, counted)
    require_lattice(label(policy), acts, counted.ids)
    draws = int(budgets[-1])
    reduced = compact(acts, lattice_bits(acts))
    latents = policy.acts_on == "latents"
    work = counted.inputs * draws * reduced.rows[0].size * 2.0**reduced.bits * acts.number
    used = latents and wanted.practical(("latent_coverage",), work)
    run = markov.markov_run(policy, knowledge(policy, counted, draws), reduced, draws, used)
    at = budgets - 1
    law = run.law[:, at]
    distinct = law @ np.arange(law.shape[-1], dtype=np.float64)
    found = Found("subset lattice, forward in (draw, seen set)", distinct)
    found.novelty_count, found.novelty_any = run.new[:, at], run.any_new[:, at]
    found.keep_law(law, counted.declared_count, counted.strategies)
    if used:
        found.latent_coverage = run.used[:, at] / acts.number
    found.strategy_auc = np.zeros(counted.declared.shape)
    there = reduced.columns >= 0
    rows = np.nonzero(there)[0]
    found.strategy_auc[rows, reduced.columns[there]] = run.seen[there]
    return found
