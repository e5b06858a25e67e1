"""What exact and simulated runs prepare alike: the checked policy, what it knows, what its actions do."""

from collections.abc import Hashable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from coverjax.foundation.checks import InputError, shown
from coverjax.model.law import OutcomeLaw
from coverjax.model.router_generator import RouterGenerator
from coverjax.policy.base import ACTS_ON, KNOWS, SEES, Known

PROTOCOL = "help('coverjax.policy.base') tells how to write a policy"

LawOrModel = OutcomeLaw | RouterGenerator


class Actions(NamedTuple):
    """The law of one draw for each action.

    Attributes:
        rows: P(outcome | action) [inputs, actions, outcomes]; None where an action names its outcome.
        matches: match sets of the outcomes, as in a law; None where outcome s is strategy s.
        declared: which strategies count [inputs, strategies].
        number: how many actions there are.
    """

    rows: Float[np.ndarray, "inputs actions outcomes"] | None
    matches: Bool[np.ndarray, "*inputs outcomes strategies"] | None
    declared: Bool[np.ndarray, "inputs strategies"]
    number: int


def require_protocol(policy: Any) -> None:
    """Raise unless a policy, or its class, offers what the protocol asks for.

    Raises:
        InputError: naming what is missing, and where the protocol is written.
    """
    kind = policy if isinstance(policy, type) else type(policy)
    for method in ("init", "choose", "update"):
        if not callable(getattr(kind, method, None)):
            raise InputError(f"policy: {kind.__name__} must have a method {method}; {PROTOCOL}")
    for word, allowed in (("sees", SEES), ("knows", KNOWS), ("acts_on", ACTS_ON)):
        value = getattr(kind, word, None)
        if value not in allowed:
            raise InputError(
                f"policy: {kind.__name__}.{word} must be one of {', '.join(allowed)}; got {shown(value)}; "
                f"{PROTOCOL}"
            )


def require_fit(policy: Any, law_or_model: LawOrModel) -> None:
    """Raise unless the policy is one, and can act on this law or model.

    Raises:
        InputError: a class instead of a policy, an incomplete one, something that is no law, or a
            policy that needs a router on a law without one.
    """
    if isinstance(policy, type):
        raise InputError(f"policy: must be a policy, not its class; write {policy.__name__}(...)")
    require_protocol(policy)
    if not isinstance(law_or_model, OutcomeLaw | RouterGenerator):
        raise InputError(
            f"law_or_model: must be an OutcomeLaw or a RouterGenerator; got {type(law_or_model).__name__}; "
            "build one with OutcomeLaw.from_probs(probs) or RouterGenerator(router, generator)"
        )
    needs = policy.acts_on == "latents" or policy.knows == "router"
    if needs and isinstance(law_or_model, OutcomeLaw):
        raise InputError(
            f"{type(policy).__name__}: needs latents to choose from, an OutcomeLaw has none; build "
            "RouterGenerator(router, generator), or use a policy of the base law (IID, BaseNoRepeat, ...)"
        )


def marginal_law(law_or_model: LawOrModel) -> OutcomeLaw:
    """Return the base law: the law itself, or the router's mixture."""
    return law_or_model if isinstance(law_or_model, OutcomeLaw) else law_or_model.marginal()


def knowledge(policy: Any, law_or_model: LawOrModel, budget: int) -> Known:
    """Return what the policy knows about every input, NumPy float64 with inputs as the first axis."""
    model = law_or_model if isinstance(law_or_model, RouterGenerator) else None
    knows_router = policy.knows != "nothing" and model is not None
    knows_all = policy.knows == "true_W"
    prepare = getattr(policy, "prepare", None)
    facts: dict[str, Any] = {
        "declared": law_or_model.declared,
        "router": model.router if knows_router and model is not None else None,
        "table": model.strategy_table() if knows_all and model is not None else None,
        "base": marginal_law(law_or_model).marginals() if knows_all else None,
        "plan": None if prepare is None else prepare(law_or_model, budget),
        "latents": 0 if model is None else model.latents,
    }
    known = Known(**facts)
    _require_choice(policy, known, actions(policy, law_or_model).number)
    return known


def _require_choice(policy: Any, known: Known, number: int) -> None:
    """Raise unless the policy runs on the first input and `choose` returns a logit for each action.

    Only shapes are traced. A wrong length would broadcast into wrong choices without a word.
    """
    name = type(policy).__name__
    first = jax.tree.map(lambda leaf: np.asarray(leaf)[0], known)

    def one(facts: Known) -> Any:
        return policy.choose(facts, policy.init(facts), jnp.int32(0))

    try:
        found = jax.eval_shape(one, first)
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(f"{name}: its init or choose raised {told}; {PROTOCOL}") from error
    shape = getattr(found, "shape", None)
    if shape != (number,):
        raise InputError(
            f"{name}.choose: must return {number} logits, one for each action ({policy.acts_on}); "
            f"got shape {shape}"
        )


def actions(policy: Any, law_or_model: LawOrModel) -> Actions:
    """Return the law of one draw for each action of the policy."""
    matches, declared = law_or_model.matches, law_or_model.declared
    if policy.acts_on == "strategies":
        return Actions(None, None, declared, declared.shape[1])
    if policy.acts_on == "outcomes":
        return Actions(None, matches, declared, law_or_model.outcomes)
    if policy.acts_on == "base" or isinstance(law_or_model, OutcomeLaw):
        return Actions(marginal_law(law_or_model).probs[:, None], matches, declared, 1)
    return Actions(law_or_model.generator, matches, declared, law_or_model.latents)


def one_label(acts: Actions) -> bool:
    """Return whether no possible draw matches more than one declared strategy."""
    if acts.matches is None:
        return True
    sizes = (acts.matches & acts.declared[:, None]).sum(axis=-1)
    possible = True if acts.rows is None else np.any(acts.rows > 0, axis=1)
    return not np.any((sizes > 1) & possible)


class Frozen(NamedTuple):
    """What of a policy is no array: hashable, so that programs are compiled for it once."""

    leaves: tuple[Hashable, ...]
    structure: Any


def split(policy: Any) -> tuple[Any, Frozen]:
    """Part a policy into its numbers (arrays and floats, which never recompile) and the rest."""
    numbers, rest = eqx.partition(policy, lambda leaf: eqx.is_array(leaf) or isinstance(leaf, _NUMBERS))
    leaves, structure = jax.tree.flatten(rest)
    return numbers, Frozen(tuple(leaves), structure)


_NUMBERS = (float, np.ndarray, np.generic)


def joined(numbers: Any, frozen: Frozen) -> Any:
    """Return the policy from the two parts of `split`."""
    return eqx.combine(numbers, jax.tree.unflatten(frozen.structure, frozen.leaves))
