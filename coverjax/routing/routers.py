"""Routers: learned from public cards, and the ones that they are compared with."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from coverjax.foundation.checks import InputError, one_of
from coverjax.routing.evidence import (
    PUBLIC,
    EvidenceBenchmark,
    Split,
    outcome_pair_labels,
    privileged_pair_labels,
)
from coverjax.routing.fitting import Examples, TrainingBudget, fit_network, predicted_scores
from coverjax.routing.networks import KINDS, new_network, parameter_count, triangle
from coverjax.routing.partitions import balanced_partition, team_pair_scores
from coverjax.routing.teams import TeamFamily

DECODINGS = ("best team", "partition")
LABELS = ("outcomes", "privileged")


@dataclasses.dataclass(frozen=True, eq=False)
class LearnedRouter:
    """A trained network, how its scores become a route, and what it was trained from.

    Attributes:
        kind: one of `networks.KINDS`.
        network: the trained network.
        family: the teams; all of one size for "partition".
        decoding: "best team": the team with the largest score; "partition": the best-scoring team of the
            balanced partition with the largest total pair score (pair scorers only).
        labels: of training: "outcomes" of the training tasks, or "privileged" fields of them.
        parameters: number of parameters.
        setting, validation_loss: chosen (learning rate, weight decay), and its loss.
    """

    kind: str
    network: Any
    family: TeamFamily
    decoding: str
    labels: str
    parameters: int
    setting: tuple[float, float]
    validation_loss: float

    @property
    def name(self) -> str:
        """Its kind and decoding, with a label where training saw privileged fields."""
        kind = self.kind.replace("_", "-")
        words = f"{kind} partition" if self.decoding == "partition" else kind
        return words + (" [privileged labels]" if self.labels == "privileged" else "")

    def scores(self, view: Mapping[str, np.ndarray]) -> Float[np.ndarray, "tasks teams"]:
        """Score every team from public fields, float32."""
        params, static = eqx.partition(self.network, eqx.is_array)
        members = self.family.membership.astype(np.float32)
        return np.asarray(_scores(params, static, view["task_cards"], view["worker_cards"], members))

    def pair_scores(self, view: Mapping[str, np.ndarray]) -> Float[np.ndarray, "tasks workers workers"]:
        """Score every pair, of a pair scorer; exactly symmetric, float64."""
        params, static = eqx.partition(self.network, eqx.is_array)
        return np.asarray(_pairs(params, static, view["task_cards"], view["worker_cards"]), np.float64)

    def __call__(self, view: Mapping[str, np.ndarray]) -> Int[np.ndarray, " tasks"]:
        """Choose a team for each task from public fields."""
        if self.kind == "pair":
            return pair_routes(self.pair_scores(view), self.family, self.decoding)
        return self.scores(view).argmax(axis=1)

    def decoded(self, decoding: str) -> "LearnedRouter":
        """Return the router of the same scores with another decoding."""
        one_of("decoding", decoding, DECODINGS)
        if decoding == "partition" and self.kind != "pair":
            raise InputError(f"decoding: a partition needs pair scores; this router is of kind {self.kind!r}")
        return dataclasses.replace(self, decoding=decoding)


@functools.partial(jax.jit, static_argnames=("static",))
def _scores(params: Any, static: Any, tasks: Any, cards: Any, members: Any) -> Any:
    return predicted_scores(eqx.combine(params, static), tasks, cards, members)


@functools.partial(jax.jit, static_argnames=("static",))
def _pairs(params: Any, static: Any, tasks: Any, cards: Any) -> Any:
    network = eqx.combine(params, static)
    return jax.vmap(network.pairs)(tasks, cards)


def pair_routes(
    pair_scores: Float[np.ndarray, "tasks workers workers"], family: TeamFamily, decoding: str
) -> Int[np.ndarray, " tasks"]:
    """Choose teams by pair scores.

    Args:
        pair_scores: symmetric [tasks, workers, workers].
        family: every team of one size, for "partition".
        decoding: "best team" over the whole family (the matched graph of a partition: the same scores,
            freed of the constraint), or "partition": the best-scoring block of the balanced partition with
            the largest total.

    Raises:
        InputError: a partition of a family that is not every team of one size.
    """
    one_of("decoding", decoding, DECODINGS)
    sizes = set(family.sizes.tolist())
    if decoding == "best team":
        teams = family.membership.astype(np.float64)
        inside = np.einsum("sa,tab,sb->ts", teams, pair_scores, teams, optimize=True)
        return (0.5 * (inside - np.einsum("sa,taa->ts", teams, pair_scores))).argmax(axis=1)
    size = next(iter(sizes))
    whole = TeamFamily.of_sizes(family.workers, [size])
    if len(sizes) > 1 or set(whole.masks.tolist()) != set(family.masks.tolist()):
        raise InputError("family: partition decoding needs every team of one size and no other")
    blocks = balanced_partition(pair_scores, size)
    number = {mask: team for team, mask in enumerate(family.masks.tolist())}
    masks = (np.int64(1) << blocks).sum(axis=2)
    routes = np.array([[number[mask] for mask in row] for row in masks.tolist()], dtype=np.int64)
    members = np.array([np.flatnonzero(row) for row in family.membership])
    worth = np.take_along_axis(team_pair_scores(pair_scores, members), routes, axis=1)
    return routes[np.arange(len(routes)), worth.argmax(axis=1)]


def fit_router(
    key: PRNGKeyArray,
    kind: str,
    benchmark: EvidenceBenchmark,
    split: Split,
    budget: TrainingBudget | None = None,
    labels: str = "outcomes",
) -> LearnedRouter:
    """Train a router on the training tasks of a benchmark, its settings chosen on the validation tasks.

    Kinds: "set" (permutation-invariant scorer of the set), "leave_one_out" (what each worker's absence
    costs), "pair" (compatibility of pairs), "capability" (needs met by capabilities). Team scorers learn
    the outcomes of the training tasks, by regression and ranking; pair scorers learn pair labels by the
    same loss. All have the same number of parameters as nearly as widths allow, the same settings to choose
    from, steps and batches.

    Args:
        key: of the first weights and of the batches.
        kind: what to train.
        benchmark: where cards, outcomes and (for "privileged") labels come from. Test tasks are not looked
            at.
        split: tasks by source.
        budget: what may be spent.
        labels: of pair scorers: "outcomes", or "privileged" from fields that no router may see when it
            routes.

    Raises:
        InputError: an unknown kind, or privileged labels for a team scorer.
    """
    one_of("kind", kind, KINDS)
    one_of("labels", labels, LABELS)
    budget = TrainingBudget() if budget is None else budget
    if labels == "privileged" and kind != "pair":
        raise InputError(f"labels: privileged labels are of pairs; {kind!r} scores teams")
    first, second = jax.random.split(key)
    network = new_network(kind, benchmark.design.pieces, budget.parameters, first)
    family = benchmark.family
    members, targets = family.membership, benchmark.scores
    if kind == "pair":
        first_worker, second_worker = triangle(len(family.workers))
        members = np.eye(len(family.workers), dtype=bool)
        members = members[first_worker] | members[second_worker]
        if labels == "privileged":
            table = privileged_pair_labels(benchmark)
        else:
            table = outcome_pair_labels(benchmark.scores, family)
        targets = table[:, first_worker, second_worker]
    parts = [
        Examples(benchmark.task_cards[rows], benchmark.worker_cards[rows], targets[rows])
        for rows in (split.train, split.validation)
    ]
    fit = fit_network(network, parts[0], parts[1], members, budget, second)
    return LearnedRouter(
        kind=kind,
        network=fit.network,
        family=family,
        decoding="best team",
        labels=labels,
        parameters=parameter_count(fit.network),
        setting=fit.setting,
        validation_loss=fit.validation_loss,
    )


def constant_router(scores: Float[np.ndarray, "tasks teams"], tasks: int) -> Int[np.ndarray, " tasks"]:
    """Route every task to the team with the largest mean score on other (training) tasks.

    Args:
        scores: of the training tasks.
        tasks: number of tasks to route.
    """
    return np.full(tasks, int(np.asarray(scores).mean(axis=0).argmax()))


def everybody_router(family: TeamFamily, tasks: int) -> Int[np.ndarray, " tasks"]:
    """Route every task to the team of all workers.

    Raises:
        InputError: the family has no such team.
    """
    team = family.index(family.workers)
    if team is None:
        raise InputError(
            "family: all workers together are no team of the family, so nothing can be routed to them"
        )
    return np.full(tasks, team)


def random_router(legal: Any, seed: int = 0) -> Int[np.ndarray, " tasks"]:
    """Route every task to a legal team at random, uniformly."""
    mask = np.asarray(legal)
    rng = np.random.Generator(np.random.Philox(seed))
    return np.where(mask, rng.random(mask.shape), -1.0).argmax(axis=1)


def public_fields(benchmark: EvidenceBenchmark, rows: Int[np.ndarray, " tasks"]) -> dict[str, np.ndarray]:
    """Return the public fields of some tasks, which is all that a router gets."""
    return {name: benchmark.fields[name][rows] for name in PUBLIC}
