"""`evaluate`: did the latents of a model become strategies? Numbers from samples with each latent forced."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from coverjax.foundation.checks import counted, fraction
from coverjax.inference.bounded import bounded_interval
from coverjax.inference.jackknife import jackknife_interval
from coverjax.inference.units import Interval
from coverjax.logs.log import SampleLog
from coverjax.model.router_generator import RouterGenerator
from coverjax.sequences.agreements import (
    KINDS,
    Columns,
    Sets,
    agreement_of,
    information_of,
    total_variation_of,
    unique_share_of,
)
from coverjax.sequences.assignment import aligned_shares, one_to_one, twins
from coverjax.sequences.forced import ForcedSamples, GeneratorTable
from coverjax.sequences.pruning import DEAD
from coverjax.sequences.references import references_of

OFF = "off-strategy"
"""What a sample is that matches no strategy."""

TWIN = 0.1
"""Two latents whose strategies are no further apart than this (total variation) are twins."""

COLLAPSED = 0.1
"""A model whose latents, drawn equally often, tell less than this share of the match set has collapsed."""


@dataclasses.dataclass(frozen=True, eq=False)
class FamilyEvaluation:
    """What the latents became, on the inputs of one family. Intervals are over inputs; one point each.

    "Under the router" means that z ~ r(. | x): these are numbers of the mixture p(y | x).

    Attributes:
        family: its name. inputs: number of its inputs. strategies: its declared strategies.
        fidelity: P(a sample matches at least one strategy), under the router.
        valid, correct: P(structurally valid), P(right final answer), under the router; None if not given.
        agreement: by kind, P(the match sets of two inputs agree under one latent drawn for the first); a
            sample without a match agrees with none.
        total_variation: between the frequencies of strategies under the router and in the reference, of
            the family as a whole; None without a reference. Agreement rises when a router drops
            strategies: read it beside this.
        unique_share: share of the matching samples that match exactly one strategy.
        frequencies: share of each strategy under the router, and off-strategy last.
        alignment: best one-to-one assignment of latents to strategies: mean over strategies of W[z(s), s].
        aligned: the latent of each strategy in it, None for a strategy that got none.
        local_coverage: share of an input's strategies that one sample of every latent covers.
        reached: share of an input's strategies that some forced sample matches (it grows with the samples).
        use: share of the router's draws that each latent has [latents].
        effective_latents: exp of the entropy of `use`.
        main: the strategy that each latent writes most, `OFF` where it more often writes none.
        purity: share of the strategy that each latent writes most [latents].
        dead: latents that the router draws less often than `DEAD`.
        twins: pairs of other latents within `TWIN` of each other.
        kl: KL(match sets under z || under the router) in nats [latents].
        information: mutual information of latent and match set under the router, nats.
        told: that information as a share of the match set's entropy; NaN where there is one set only.
        told_if_uniform: the same with all latents drawn equally often: what forcing them can bring.
        collapsed: whether `told_if_uniform` is below `COLLAPSED` (or the mixture has one set only): exploring
            by latents is then sampling.
        table: W of the family.
        warnings: what a reader must know, one line each.
    """

    family: str
    inputs: int
    strategies: tuple[str, ...]
    fidelity: Interval
    valid: Interval | None
    correct: Interval | None
    agreement: dict[str, Interval]
    total_variation: Interval | None
    unique_share: Interval
    frequencies: Float[np.ndarray, " parts"]
    alignment: Interval
    aligned: tuple[int | None, ...]
    local_coverage: Interval
    reached: Interval
    use: Float[np.ndarray, " latents"]
    effective_latents: float
    main: tuple[str, ...]
    purity: Float[np.ndarray, " latents"]
    dead: tuple[int, ...]
    twins: tuple[tuple[int, int], ...]
    kl: Float[np.ndarray, " latents"]
    information: Interval
    told: float
    told_if_uniform: float
    collapsed: bool
    table: GeneratorTable
    warnings: tuple[str, ...]


HEADLINE = (
    "fidelity",
    "agreement",
    "total_variation",
    "unique_share",
    "alignment",
    "local_coverage",
    "reached",
)
"""What `Evaluation.overall` holds; agreement by intersection."""


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """What the latents of a model became, family by family.

    Attributes:
        families: a `FamilyEvaluation` for each, by name.
        overall: means over families of the measures in `HEADLINE` (with one family, its own); NaN where a
            family has none.
        samples: forced samples of each input and latent.
        level: nominal level of the intervals.
    """

    families: dict[str, FamilyEvaluation]
    overall: dict[str, float]
    samples: int
    level: float


def evaluate(
    forced: ForcedSamples | SampleLog,
    router: Any,
    reference: "Mapping[str, Any] | Sequence[float] | np.ndarray | None" = None,
    *,
    level: float = 0.95,
) -> Evaluation:
    """Evaluate a router-generator from samples with each latent forced.

    The mixture's numbers are those of the forced samples weighted by the router, so that one set of samples
    serves every measure. Fidelity, agreement and coverage are unbiased; information, alignment and total
    variation are of the family's mean table, whose error falls with inputs x samples.

    Args:
        forced: the samples, or a log with their latents.
        router: r(z | x) [inputs, latents]; rows sum to 1.
        reference: the frequencies of strategies that the model was fitted to: by strategy (the safest with
            a log, whose strategies stand in its own order); or an array [strategies] or
            [inputs, strategies] in column order, or one a family by name. What they lack to 1 is
            off-strategy.
        level: nominal level of the intervals, a fraction.

    Raises:
        InputError: shapes disagree, or numbers are no probabilities.

    References:
        math.md of the project, section 5; intervals: `jackknife_interval`, `bounded_interval`.

    >>> import numpy as np
    >>> from coverjax import sequences
    >>> matches = np.zeros((8, 2, 4, 2), bool)         # [inputs, latents, samples, strategies]
    >>> matches[:, 0, :, 1] = matches[:, 1, :, 0] = True    # latent 0 always writes strategy 1
    >>> router = np.tile([0.75, 0.25], (8, 1))
    >>> samples = sequences.ForcedSamples.from_arrays(matches)
    >>> found = sequences.evaluate(samples, router, reference=[0.5, 0.5]).families["all"]
    >>> found.aligned, found.agreement["intersection"].mean.tolist(), found.total_variation.mean.tolist()
    ((1, 0), [1.0], [0.25])
    """
    samples = ForcedSamples.from_log(forced) if isinstance(forced, SampleLog) else forced
    level = fraction("level", level)
    given = _checked_router(router, samples)
    references = references_of(reference, samples)
    sets, probs = samples.sets()
    families = {}
    for name in dict.fromkeys(samples.families):
        rows = samples.rows(name)
        width = len(samples.names[rows[0]])
        kept = probs[rows].any(axis=(0, 1)) | (np.arange(len(sets)) == 0)
        columns = Columns(
            Sets(sets[kept, :width]), given[rows], probs[rows][:, :, kept], references.get(name)
        )
        families[name] = _family(name, samples, rows, columns, level)
    overall = {name: float(np.mean([_point(f, name) for f in families.values()])) for name in HEADLINE}
    return Evaluation(families, overall, int(samples.matches.shape[2]), level)


def _point(found: FamilyEvaluation, name: str) -> float:
    value = found.agreement["intersection"] if name == "agreement" else getattr(found, name)
    return float("nan") if value is None else float(value.mean[0])


def _family(
    name: str, samples: ForcedSamples, rows: Int[np.ndarray, " inputs"], columns: Columns, level: float
) -> FamilyEvaluation:
    """Evaluate the inputs of one family."""
    router, probs, sets = columns.router, columns.probs, columns.sets
    table = samples.family_table(name, level)
    shares = np.einsum("izo,os->izs", probs, sets.matches, optimize=True)
    use = router.mean(axis=0)
    assigned = one_to_one(table.mean)
    laws = probs.mean(axis=0)
    parts = laws @ sets.shares
    sums = columns.rows()
    measured = jackknife_interval(sums, lambda totals: _measures(columns, totals), level)
    points = _cut(measured, len(KINDS) + 3)
    divergence, _, entropy = (
        part[0] for part in information_of(columns, sums.sum(axis=0, keepdims=True), "router")
    )
    _, at_most, possible = information_of(columns, sums.sum(axis=0, keepdims=True), "uniform")
    told_if_uniform = _ratio(float(at_most[0]), float(possible[0]))
    mixture = np.einsum("iz,izo->io", router, probs)

    def mean(values: np.ndarray) -> Interval:
        return bounded_interval(np.clip(values, 0.0, 1.0)[:, None], level)

    def flagged(flags: "Bool[np.ndarray, 'inputs latents samples'] | None") -> Interval | None:
        return None if flags is None else mean((router * flags[rows].mean(axis=2)).sum(axis=1))

    found = FamilyEvaluation(
        family=name,
        inputs=len(rows),
        strategies=table.strategies,
        fidelity=mean(mixture @ (sets.sizes > 0)),
        valid=flagged(samples.valid),
        correct=flagged(samples.correct),
        agreement=dict(zip(KINDS, points, strict=False)),
        total_variation=None if columns.reference is None else points[len(KINDS)],
        unique_share=points[len(KINDS) + 1],
        frequencies=mixture.mean(axis=0) @ sets.shares,
        alignment=mean(aligned_shares(shares, assigned).mean(axis=1)),
        aligned=assigned,
        local_coverage=mean((1.0 - np.prod(1.0 - shares, axis=1)).mean(axis=1)),
        reached=mean((shares > 0.0).any(axis=1).mean(axis=1)),
        use=use,
        effective_latents=float(np.exp(-np.sum(use[use > 0.0] * np.log(use[use > 0.0])))),
        main=tuple((*table.strategies, OFF)[best] for best in parts.argmax(axis=1)),
        purity=parts[:, :-1].max(axis=1),
        dead=tuple(np.flatnonzero(use < DEAD).tolist()),
        twins=twins(laws, use, TWIN, DEAD),
        kl=divergence,
        information=points[len(KINDS) + 2],
        told=_ratio(float(measured.mean[-1]), float(entropy)),
        told_if_uniform=told_if_uniform,
        collapsed=not told_if_uniform >= COLLAPSED,
        table=table,
        warnings=(),
    )
    return dataclasses.replace(found, warnings=_warnings(found))


def _measures(columns: Columns, sums: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows points"]:
    """Agreements, total variation, share of unique matches and information, from sums over inputs."""
    rest = (
        total_variation_of(columns, sums),
        unique_share_of(columns, sums),
        information_of(columns, sums, "router")[1],
    )
    return np.concatenate([agreement_of(columns, sums), np.stack(rest, axis=1)], axis=1)


def _cut(found: Interval, points: int) -> list[Interval]:
    """Cut an interval of several points into one for each."""
    names = ("low", "high", "mean", "stderr", "flagged")
    return [
        dataclasses.replace(found, **{name: getattr(found, name)[at : at + 1] for name in names})
        for at in range(points)
    ]


def _ratio(part: float, whole: float) -> float:
    """Return part / whole, NaN where the whole is 0 up to rounding."""
    return part / whole if whole > 1e-12 else float("nan")


def _checked_router(router: Any, samples: ForcedSamples) -> Float[np.ndarray, "inputs latents"]:
    model = RouterGenerator(router, np.zeros((samples.inputs, samples.latents, 1)), ids=samples.ids.tolist())
    return model.router


def _warnings(found: FamilyEvaluation) -> tuple[str, ...]:
    lines = []
    if found.inputs < 2:
        lines.append(f"{found.inputs} input of {found.family}: two inputs can't be asked whether they agree")
    if len(found.use) < len(found.strategies):
        declared = counted(len(found.strategies), "strategy", "strategies")
        lines.append(
            f"{counted(len(found.use), 'latent')} for {declared}: alignment and local coverage can't reach 1"
        )
    if not found.purity.any():
        lines.append("no forced sample matches a strategy: there is nothing to tell the latents apart by")
    elif found.collapsed:
        lines.append("collapsed: the latents write the same strategies; choosing among them is sampling")
    return tuple(lines)
