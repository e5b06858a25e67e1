"""The protocol that every policy follows, written so that you can add your own.

A policy decides draw after draw what to sample next on one input. It is an `equinox.Module` (numbers it
was made with are fields; whatever changes while it runs is a separate *state*), and the engine maps
it over inputs and trials. Four words on the class say what it is:

`sees`, what comes back while it runs:
    "blind" nothing; "latents" its own past actions; "outcomes" also what every draw matched; "oracle" it
    gets exactly what it names.
`knows`, what `Known` holds beforehand:
    "nothing" only the declared strategies and the number of latents; "router" also r(z); "estimated_W"
    the router, and an estimate of W that the policy carries itself; "true_W" router, W and base law.
`acts_on`, what an action is:
    "base" there is one action, a draw from the base law; "latents" a latent z, the outcome is drawn from
    g(. | z); "strategies" a strategy, which is then matched for certain; "outcomes" an outcome, likewise.
`markov`, a promise that allows exact curves:
    True: `choose` depends on the draw's number and the set of strategies seen so far only. The state then
    IS that set, bool [strategies] (or the empty tuple of a policy that needs not even that), and `update`
    keeps it so.

And three methods, pure functions of JAX arrays for ONE input and ONE trial:

    init(known) -> state
    choose(known, state, draw) -> logits [actions]
    update(known, state, draw, action, matched) -> state

`draw` counts from 0. `choose` returns unnormalised log-probabilities, -inf for what must not be chosen;
the engine does the sampling. Where all are -inf the draw is spent on nothing. `update` gets the
action (int32; -1 for blind policies or where nothing was chosen) and the strategies that the draw matched
(bool [strategies], all False unless the policy sees outcomes). A complete policy:

    class InTurn(Policy):
        "Take the latents in turn."

        sees = "blind"
        knows = "nothing"
        acts_on = "latents"
        markov = True

        def init(self, known):
            return ()

        def choose(self, known, state, draw):
            return only(draw % known.latents, known.latents)

        def update(self, known, state, draw, action, matched):
            return state

`simulate`, `exact`, the sweeps and, as `module:InTurn`, the command line take it like any other.
"""

import abc
import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

SEES = ("blind", "latents", "outcomes", "oracle")
KNOWS = ("nothing", "router", "estimated_W", "true_W")
ACTS_ON = ("base", "latents", "strategies", "outcomes")


class Known(eqx.Module):
    """What a policy knows about one input before the first draw.

    A field that the policy's `knows` does not allow is None. The numbers are float64 in exact
    computations and float32 in simulations.

    Attributes:
        declared: the strategies to be covered [strategies].
        router: r(z) [latents].
        table: W[z, s] = P(draw matches s | z), 0 for strategies that are not declared
            [latents, strategies].
        base: q_s = P(draw from the base law matches s) [strategies].
        plan: what the policy's own `prepare` made for this input.
        latents: number of latents, 0 on a law without a router.
    """

    declared: Bool[jax.Array, " strategies"]
    router: Float[jax.Array, " latents"] | None = None
    table: Float[jax.Array, "latents strategies"] | None = None
    base: Float[jax.Array, " strategies"] | None = None
    plan: Any = None
    latents: int = eqx.field(static=True, default=0)


class Policy(eqx.Module):
    """How the next draw is chosen; the module's text tells how to write one."""

    sees: ClassVar[str]
    knows: ClassVar[str]
    acts_on: ClassVar[str]
    markov: ClassVar[bool] = False
    no_sequence: ClassVar[str] = ""
    """Why there is nothing to simulate, for a bound that no single sequence of draws reaches."""

    @abc.abstractmethod
    def init(self, known: Known) -> Any:
        """Return the state before the first draw, a pytree of arrays."""

    @abc.abstractmethod
    def choose(self, known: Known, state: Any, draw: Int[jax.Array, ""]) -> Float[jax.Array, " actions"]:
        """Return unnormalised log-probabilities of the actions for draw number `draw` = 0, 1, ..."""

    @abc.abstractmethod
    def update(
        self,
        known: Known,
        state: Any,
        draw: Int[jax.Array, ""],
        action: Int[jax.Array, ""],
        matched: Bool[jax.Array, " strategies"],
    ) -> Any:
        """Return the state after a draw."""

    def prepare(self, law_or_model: Any, budget: int) -> Any:
        """Return plans made on the host before the first draw, or None.

        The result arrives as `known.plan`: a pytree of NumPy arrays whose first axis is the inputs of
        `law_or_model`. A policy that plans ahead may use everything that its `knows` allows.
        """
        return None


def only(index: "Int[jax.Array, ''] | int", size: int) -> Float[jax.Array, " actions"]:
    """Return the logits of a certain choice: 0 at `index`, -inf elsewhere."""
    return jnp.where(jnp.arange(size) == index, 0.0, -jnp.inf)


def first_best(scores: Float[jax.Array, " actions"], tolerance: float) -> Int[jax.Array, ""]:
    """Return the lowest index whose score is within `tolerance` (relative) of the largest, scores >= 0.

    An exact comparison would break ties by rounding, differently in float32 and float64.
    """
    return jnp.argmax(scores >= jnp.max(scores) * (1.0 - tolerance))


def label(policy: Any) -> str:
    """Return how a policy is written: its class and the plain values that differ from the defaults."""
    name = type(policy).__name__
    if not dataclasses.is_dataclass(policy):
        return name
    told = []
    for field in dataclasses.fields(policy):
        value = getattr(policy, field.name)
        if isinstance(value, str | int | float) and value != field.default:
            told.append(f"{field.name}={value!r}")
    return f"{name}({', '.join(told)})" if told else name
