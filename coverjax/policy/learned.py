"""A policy whose choice is a network's: what it sees and knows is its maker's decision."""

import os
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError, one_of, shown, whole_number
from coverjax.policy.base import Known, Policy
from coverjax.policy.networks import DTYPE, MLP, SetNetwork, Sight, SubsetLogits, TabularLogits
from coverjax.policy.saving import read_network, write_network

SEES = ("blind", "latents", "outcomes")
KNOWS = ("nothing", "router", "true_W")
MEMORIES = ("set", "counts")
NETWORKS = ("set", "mlp", "table")

WIDEST = 1 << 13
"""The largest size of hidden layers."""

TABLE_NUMBERS = 1 << 27
"""The most numbers in a table of logits; training keeps six such arrays."""


class LearnedLatent(Policy):
    """Draw latents from softmax(network(what it sees and knows)).

    `coverjax.train_policy` fits the network. Where the choice depends on the draw and the seen set only, it
    has exact curves (`markov`); otherwise it is simulated.

    Attributes:
        params: a network of `coverjax.policy.networks`, or your own: an `equinox.Module` that maps a `Sight`
            to one logit per latent. Its arrays are the parameters.
        sees: "blind", only the draw's number; "latents", also how often it took each latent; "outcomes", also
            what its draws matched.
        knows: "nothing", "router", or "true_W" (router and table W).
        memory: of a policy that sees outcomes. "set": which strategies were seen, which makes it Markov;
            "counts": how often each latent was taken and matched each strategy, for a policy that has to find
            out what W is.
        features: numbers of the caller's own about each input, [inputs, features], or None.
    """

    params: Callable[[Sight], jax.Array]
    features: Float[np.ndarray, "inputs features"] | None
    sees: str = eqx.field(static=True, default="outcomes")  # type: ignore[misc]
    knows: str = eqx.field(static=True, default="true_W")  # type: ignore[misc]
    memory: str = eqx.field(static=True, default="set")
    markov: bool = eqx.field(static=True, default=True)  # type: ignore[misc]

    acts_on = "latents"

    def __init__(
        self,
        params: "Callable[[Sight], jax.Array] | str | os.PathLike[str]",
        sees: str = "outcomes",
        knows: str = "true_W",
        memory: str = "set",
        features: Any = None,
    ) -> None:
        """Keep a network and what it is given, or read both from a file written by `save`.

        Args:
            params: a network, or the path of a file, which then says what it sees and knows.
            sees, knows, memory, features: as the attributes.
        """
        given = 0 if features is None else np.shape(features)[-1]
        if isinstance(params, str | os.PathLike):
            file = params
            network, told = read_network(file)
            params = network
            sees, knows, memory = told["sees"], told["knows"], told["memory"]
            if told["features"] != given:
                raise InputError(
                    f"features: the policy in {file} takes {told['features']} numbers about each input; "
                    f"got {given}; give features=[inputs, {told['features']}]"
                )
        self.params = params  # type: ignore[assignment]  # a path was replaced by what it holds
        self.sees = one_of("sees", sees, SEES)
        self.knows = one_of("knows", knows, KNOWS)
        self.memory = one_of("memory", memory, MEMORIES)
        self.markov = sees == "blind" or (sees == "outcomes" and memory == "set")
        self.features = None if features is None else np.asarray(features, np.float32)
        if self.features is not None and self.features.ndim != 2:
            raise InputError(
                "features: must be [inputs, features], a row for every input; got shape "
                f"{self.features.shape}"
            )

    @classmethod
    def start(
        cls,
        key: jax.Array,
        model: Any,
        budget: int,
        network: str = "set",
        width: int = 24,
        sees: str = "outcomes",
        knows: str = "true_W",
        memory: str = "set",
        features: Any = None,
    ) -> "LearnedLatent":
        """Return an untrained policy, with random weights or a table of zeros.

        Args:
            key: for the weights.
            model: a `RouterGenerator` of the kind that it will act on.
            budget: the number of draws that the network measures time against.
            network: "set" carries over to other models, for latents that mean nothing in themselves; "mlp" is
                for latents and strategies that mean the same on every input, and takes `features`; "table"
                is one row of logits per input: a router, for blind policies, or, for policies that see
                outcomes, a row for every draw and seen set as well.
            width: size of the hidden layers.
            sees, knows, memory, features: as the attributes.

        Raises:
            InputError: a choice that the network can't make.
        """
        one_of("network", network, NETWORKS)
        if features is not None and network != "mlp":
            raise InputError(f"features: only network='mlp' takes them; got network={network!r}")
        if whole_number("width", width) > WIDEST:
            raise InputError(f"width: must be at most {WIDEST:,}; got {shown(width)}")
        if network == "table":
            return cls(_table(model, budget, sees, memory), sees, knows)
        sight = cls(_no_network, sees, knows, memory, features)._example(model)
        draw = SetNetwork.random if network == "set" else MLP.random
        return cls(draw(key, sight, budget, int(width)), sees, knows, memory, features)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a .npz file, whole or not at all; `LearnedLatent(path)` reads it.

        Features are not written: they belong to the inputs, and are given anew.

        Raises:
            InputError: the network is your own, or the place can't be written to.
        """
        facts: dict[str, Any] = {"sees": self.sees, "knows": self.knows, "memory": self.memory}
        facts["features"] = 0 if self.features is None else self.features.shape[1]
        write_network(path, self.params, facts)

    def prepare(self, law_or_model: Any, budget: int) -> Int[np.ndarray, " inputs"]:
        """Return each input's place among those that the policy was made for.

        Raises:
            InputError: it holds logits or features for another number of inputs, or a table of seen sets for
                other numbers of latents or strategies.
        """
        held = {"params": getattr(self.params, "rows", 1)}
        if self.features is not None:
            held["features"] = len(self.features)
        for name, rows in held.items():
            if rows != law_or_model.inputs and not (name == "params" and rows == 1):
                raise InputError(
                    f"{name}: the policy was made for {rows} inputs, a row for each, and must meet the same "
                    f"ones in the same order; got {law_or_model.inputs} inputs; train on these, or use a "
                    "network that carries over (network='set')"
                )
        if isinstance(self.params, SubsetLogits):
            subsets, latents = self.params.logits.shape[-2:]
            held = {"latents": latents, "strategies": subsets.bit_length() - 1}
            for name, size in held.items():
                if size != getattr(law_or_model, name):
                    raise InputError(
                        f"params: the policy was made for {size} {name}, a row of logits for every set of "
                        f"strategies; got {getattr(law_or_model, name)} {name}; train on these, or use a "
                        "network that carries over (network='set')"
                    )
        return np.arange(law_or_model.inputs, dtype=np.int32)

    def init(self, known: Known) -> Any:
        """Return an empty memory."""
        if self.sees == "blind":
            return ()
        if self.sees == "outcomes" and self.memory == "set":
            return jnp.zeros_like(known.declared)
        used = jnp.zeros(known.latents, jnp.int32)
        if self.sees == "latents":
            return used
        return {"used": used, "hits": jnp.zeros((known.latents, known.declared.shape[0]), jnp.int32)}

    def choose(self, known: Known, state: Any, draw: Int[jax.Array, ""]) -> Float[jax.Array, " actions"]:
        """Return the network's logits."""
        return self.params(self._sight(known, state, draw))

    def update(
        self,
        known: Known,
        state: Any,
        draw: Int[jax.Array, ""],
        action: Int[jax.Array, ""],
        matched: Bool[jax.Array, " strategies"],
    ) -> Any:
        """Remember what the policy may see."""
        if self.sees == "blind":
            return state
        if self.sees == "outcomes" and self.memory == "set":
            return state | matched
        taken = (jnp.arange(known.latents, dtype=jnp.int32) == action).astype(jnp.int32)
        if self.sees == "latents":
            return state + taken
        hits = state["hits"] + taken[:, None] * matched.astype(jnp.int32)[None, :]
        return {"used": state["used"] + taken, "hits": hits}

    def _sight(self, known: Known, state: Any, draw: Int[jax.Array, ""]) -> Sight:
        """What the network is given."""
        seen = used = hits = None
        if self.sees == "latents":
            used = state
        elif self.sees == "outcomes" and self.memory == "set":
            seen = state
        elif self.sees == "outcomes":
            used, hits = state["used"], state["hits"]
            seen = jnp.any(hits > 0, axis=0)
        return Sight(
            draw=draw,
            latents=known.latents,
            declared=known.declared,
            router=known.router if self.knows != "nothing" else None,
            table=known.table if self.knows == "true_W" else None,
            features=None if self.features is None else jnp.asarray(self.features)[known.plan],
            row=known.plan,
            seen=seen,
            used=used,
            hits=hits,
        )

    def _example(self, model: Any) -> Sight:
        """What the network is given before the first draw on the first input."""
        known = Known(
            declared=jnp.asarray(model.declared[0]),
            router=jnp.asarray(model.router[0], DTYPE),
            table=jnp.asarray(model.take([0]).strategy_table()[0], DTYPE),
            plan=jnp.int32(0),
            latents=model.latents,
        )
        return self._sight(known, self.init(known), jnp.int32(0))


def _table(model: Any, budget: int, sees: str, memory: str) -> TabularLogits | SubsetLogits:
    """Return a table of zeros for every input."""
    if sees == "blind":
        return TabularLogits(jnp.zeros((model.inputs, 1, model.latents), DTYPE))
    if sees != "outcomes" or memory != "set":
        raise InputError(
            "network: 'table' has rows for draws and seen sets, use sees='blind', or sees='outcomes' with "
            f"memory='set'; got sees={sees!r}, memory={memory!r}"
        )
    needed = model.inputs * budget * model.latents << model.strategies
    if needed > TABLE_NUMBERS:
        raise InputError(
            f"network: a 'table' must hold at most {TABLE_NUMBERS:,} numbers; {model.inputs} inputs x "
            f"{budget} draws x 2^{model.strategies} seen sets x {model.latents} latents are {needed:,}; take "
            "fewer inputs at once, or network='set'"
        )
    shape = (model.inputs, budget, 1 << model.strategies, model.latents)
    return SubsetLogits(jnp.zeros(shape, DTYPE))


def _no_network(sight: Sight) -> jax.Array:
    return jnp.zeros(sight.latents, DTYPE)
