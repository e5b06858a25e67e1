"""The controlled evidence-coverage benchmark: tasks whose answer needs a set of pieces that workers hold.

Each task requires h of E pieces; each worker holds some pieces; a team scores the share of the required
pieces that its workers hold together. Routers see cards: which pieces a worker holds and a task requires,
plus Gaussian noise. The pieces themselves are privileged. Tasks come from sources with tastes of their own
for pieces, so that a split by source tests what is learned about pieces and not about a source.

`planted` tasks hide a balanced partition: the workers fall into teams, one of which holds all required
pieces between its members, the others hold pieces of questions that nobody asked. Elsewhere the required
pieces are dealt out freely.

Every parameter below was fixed before a router was fitted. The grid of noise reaches from cards that can be
read off to cards that say nearly nothing, and both kinds of tasks are there, so that whatever is favoured
can lose.
"""

import dataclasses
import itertools

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import InputError
from coverjax.routing.tables import OutcomeTable, OutcomeTables
from coverjax.routing.teams import TeamFamily

NOISE_GRID = (0.25, 0.5, 1.0, 2.0)
SEEDS = (0, 1, 2, 3, 4)
GUESS = 0.25
"""Share of teams without all required pieces whose raw answer is right all the same."""


@dataclasses.dataclass(frozen=True)
class EvidenceDesign:
    """What a benchmark is made of.

    Attributes:
        tasks: number of tasks, a multiple of the sources.
        workers, team_size: the family is every team of that size.
        required: h, pieces that a task requires.
        pieces: E, pieces there are.
        extra: pieces that each worker holds beside what the task deals it.
        copies: times that each required piece is dealt out on a task that is not planted.
        planted: share of tasks that hide a balanced partition.
        noise: standard deviation of what is added to every entry of every card.
        sources: number of sources of tasks.
        taste: concentration of a source's Dirichlet law over pieces: small is peculiar.
    """

    tasks: int
    workers: int
    team_size: int
    required: int = 6
    pieces: int = 24
    extra: int = 1
    copies: int = 1
    planted: float = 0.0
    noise: float = 0.5
    sources: int = 20
    taste: float = 1.0


TWELVE = EvidenceDesign(tasks=500, workers=12, team_size=3, planted=1.0)
"""500 tasks x C(12, 3) = 220 teams; `planted` is 1 or 0 in the grid."""

FOUR = EvidenceDesign(tasks=300, workers=4, team_size=3, extra=1)
"""300 tasks x C(4, 3) = 4 teams: whom to leave out."""


@dataclasses.dataclass(frozen=True, eq=False)
class EvidenceBenchmark:
    """A drawn benchmark. Cards are public; holdings and requirements are privileged.

    Attributes:
        design, seed: what it was drawn from.
        family: the teams.
        worker_cards: noisy holdings [tasks, workers, pieces].
        task_cards: noisy requirements [tasks, pieces].
        holdings: pieces that each worker holds [tasks, workers, pieces].
        required: pieces that each task requires [tasks, pieces].
        sources: source of each task [tasks].
        scores: share of the required pieces held by each team [tasks, teams].
        raw: whether the team's answer is right, verified or guessed [tasks, teams].
    """

    design: EvidenceDesign
    seed: int
    family: TeamFamily
    worker_cards: Float[np.ndarray, "tasks workers pieces"]
    task_cards: Float[np.ndarray, "tasks pieces"]
    holdings: Bool[np.ndarray, "tasks workers pieces"]
    required: Bool[np.ndarray, "tasks pieces"]
    sources: Int[np.ndarray, " tasks"]
    scores: Float[np.ndarray, "tasks teams"]
    raw: Bool[np.ndarray, "tasks teams"]

    @property
    def fields(self) -> dict[str, np.ndarray]:
        """All fields of the tasks; `PUBLIC` names those that a router may look at."""
        return {
            "worker_cards": self.worker_cards,
            "task_cards": self.task_cards,
            "holdings": self.holdings,
            "required": self.required,
        }

    def tables(self, stack: str = "evidence") -> OutcomeTables:
        """Return the outcomes: endpoints `verified` (share of required pieces) and `raw answer`, side by
        side."""
        about = {"family": self.family, "clusters": self.sources.tolist(), "stack": stack}
        return OutcomeTables(
            {
                (stack, "verified"): OutcomeTable.from_arrays(self.scores, endpoint="verified", **about),
                (stack, "raw answer"): OutcomeTable.from_arrays(
                    self.raw.astype(np.float64), endpoint="raw answer", **about
                ),
            },
            evidence="controlled_table",
        )


PUBLIC = ("worker_cards", "task_cards")


def sample_evidence(design: EvidenceDesign, seed: int) -> EvidenceBenchmark:
    """Draw a benchmark: the same for the same design and seed.

    Raises:
        InputError: a design that can't be: teams larger than the workers, planted tasks whose teams do not
            divide the workers, more required pieces than there are.
    """
    _check(design)
    rng = np.random.Generator(np.random.Philox(seed))
    tasks, workers, pieces = design.tasks, design.workers, design.pieces
    tastes = rng.dirichlet(np.full(pieces, design.taste), design.sources) + 1e-3
    sources = np.repeat(np.arange(design.sources), tasks // design.sources)
    required = np.zeros((tasks, pieces), bool)
    holdings = np.zeros((tasks, workers, pieces), bool)
    planted = rng.permutation(tasks) < round(design.planted * tasks)
    for task in range(tasks):
        law = tastes[sources[task]] / tastes[sources[task]].sum()
        wanted = rng.choice(pieces, design.required, replace=False, p=law)
        required[task, wanted] = True
        deal = _deal_planted if planted[task] else _deal_freely
        deal(rng, design, holdings[task], wanted, law)
        for worker in range(workers):
            holdings[task, worker, rng.choice(pieces, design.extra, replace=False)] = True
    family = TeamFamily.of_sizes([f"w{worker:02d}" for worker in range(workers)], [design.team_size])
    scores = team_coverage(holdings, required, family)
    noise = [rng.normal(0.0, design.noise, size=shape) for shape in (holdings.shape, required.shape)]
    return EvidenceBenchmark(
        design=design,
        seed=seed,
        family=family,
        worker_cards=(holdings + noise[0]).astype(np.float32),
        task_cards=(required + noise[1]).astype(np.float32),
        holdings=holdings,
        required=required,
        sources=sources,
        scores=scores,
        raw=(scores == 1.0) | (rng.random(scores.shape) < GUESS),
    )


def _check(design: EvidenceDesign) -> None:
    if not 1 <= design.team_size <= design.workers:
        raise InputError(f"team_size: must be from 1 to {design.workers} workers; got {design.team_size}")
    if not 1 <= design.required <= design.pieces:
        raise InputError(f"required: must be from 1 to {design.pieces} pieces; got {design.required}")
    if design.planted > 0.0 and design.workers % design.team_size:
        raise InputError(
            "planted: a balanced partition needs a team size that divides the workers; got "
            f"{design.workers} in teams of "
            f"{design.team_size}"
        )
    if design.tasks % design.sources:
        raise InputError(
            f"tasks: must be a multiple of the {design.sources} sources, so that splits are of one size; got "
            f"{design.tasks}"
        )


def _deal_planted(
    rng: np.random.Generator,
    design: EvidenceDesign,
    holdings: np.ndarray,
    wanted: np.ndarray,
    law: np.ndarray,
) -> None:
    """One team of a random balanced partition gets the required pieces, each other one those of another
    question."""
    teams = rng.permutation(design.workers).reshape(-1, design.team_size)
    for number, team in enumerate(teams):
        question = wanted if number == 0 else rng.choice(design.pieces, design.required, replace=False, p=law)
        for place, piece in enumerate(rng.permutation(question)):
            holdings[team[place % design.team_size], piece] = True


def _deal_freely(
    rng: np.random.Generator,
    design: EvidenceDesign,
    holdings: np.ndarray,
    wanted: np.ndarray,
    law: np.ndarray,
) -> None:
    """Each required piece goes to random workers; everybody gets as many other pieces as a planted task
    deals."""
    for piece in wanted:
        holdings[rng.choice(design.workers, design.copies, replace=False), piece] = True
    share = design.required // design.team_size
    for worker in range(design.workers):
        lacking = share - int(holdings[worker].sum())
        if lacking > 0:
            holdings[worker, rng.choice(design.pieces, lacking, replace=False, p=law)] = True


def team_coverage(
    holdings: Bool[np.ndarray, "tasks workers pieces"],
    required: Bool[np.ndarray, "tasks pieces"],
    family: TeamFamily,
) -> Float[np.ndarray, "tasks teams"]:
    """Return the share of a task's required pieces that each team holds [tasks, teams]."""
    useful = holdings & required[:, None, :]
    counts = np.einsum("twp,sw->tsp", useful.astype(np.float32), family.membership.astype(np.float32))
    return (counts > 0.5).sum(axis=2) / required.sum(axis=1)[:, None]


def privileged_pair_labels(benchmark: EvidenceBenchmark) -> Float[np.ndarray, "tasks workers workers"]:
    """Return how much both workers of a pair bring that the other lacks, 2 min(|Ra - Rb|, |Rb - Ra|) / h.

    R_a are the required pieces that worker a holds. It takes the smaller of the two, because a sum of what
    each brings would make every balanced partition equally good. From privileged fields: for training only,
    and labelled so.
    """
    useful = (benchmark.holdings & benchmark.required[:, None, :]).astype(np.float32)
    both = np.einsum("tap,tbp->tab", useful, useful)
    own = useful.sum(axis=2)
    alone = np.minimum(own[:, :, None], own[:, None, :]) - both
    return (2.0 * alone / benchmark.design.required).astype(np.float64)


def outcome_pair_labels(scores: np.ndarray, family: TeamFamily) -> Float[np.ndarray, "tasks workers workers"]:
    """Return the share of a task's best teams that hold both workers of a pair, from outcomes alone."""
    best = scores >= scores.max(axis=1, keepdims=True)
    member = family.membership.astype(np.float64)
    together = np.zeros((family.teams, len(family.workers), len(family.workers)))
    for a, b in itertools.permutations(range(len(family.workers)), 2):
        together[:, a, b] = member[:, a] * member[:, b]
    return np.einsum("ts,sab->tab", best / best.sum(axis=1, keepdims=True), together)


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """Tasks for training, for choosing settings and for testing; no source stands in two of them."""

    train: Int[np.ndarray, " tasks"]
    validation: Int[np.ndarray, " tasks"]
    test: Int[np.ndarray, " tasks"]


def split_by_source(
    sources: Int[np.ndarray, " tasks"], shares: tuple[float, float] = (0.5, 0.2), seed: int = 0
) -> Split:
    """Split tasks so that no source is in two parts.

    Args:
        sources: source of each task.
        shares: of the sources that go to training and to validation; the rest is for testing.
        seed: of the choice of sources.

    Raises:
        InputError: some part would hold no source.
    """
    names = np.unique(sources)
    order = np.random.Generator(np.random.Philox(seed)).permutation(names)
    ends = np.cumsum([round(share * len(names)) for share in shares])
    parts = np.split(order, ends)
    if any(len(part) == 0 for part in parts):
        raise InputError(
            f"shares: every part needs at least one of the {len(names)} sources; got shares {shares}"
        )
    train, validation, test = (np.flatnonzero(np.isin(sources, part)) for part in parts)
    return Split(train, validation, test)
