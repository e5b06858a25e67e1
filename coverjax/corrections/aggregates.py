"""What a run says over its concepts: rates, means, restricted means and survival curves, with intervals."""

import dataclasses
import math

import numpy as np
from jaxtyping import Float

from coverjax.corrections.competence import REPLAY_GATE, Competence, by_concept
from coverjax.corrections.survival import Survival, kaplan_meier
from coverjax.inference.bands import mean_band
from coverjax.inference.cautions import UNIT
from coverjax.inference.intervals import mean_interval
from coverjax.inference.units import Interval

ALL = "all"

NOT_MEASURED = (
    "compositional generalisation: a probe asks for the very tokens that were taught",
    "cross-domain transfer: each concept is taught and asked alone, from nothing",
    "identity stability: what the system says of itself, or of what it was not asked, is not looked at",
    "cost with length: nothing here is timed, and curricula are short",
)
"""What the curve of corrections does not say; every report does."""


@dataclasses.dataclass(frozen=True, eq=False)
class Reach:
    """When a goal is reached, over concepts.

    Attributes:
        rate: share of concepts that reach it within their curriculum, one point.
        mean: mean number of corrections over those who reach it, and no others, one point.
        reached: number of concepts that do.
        restricted_mean: mean over all concepts of min(T, restricted_to), one point; never counts as
            `restricted_to`, so it is a lower bound of the mean.
        restricted_to: length of the shortest curriculum, and one: whether T > n is known of everyone, so
            this is the furthest that min(T, .) is known, and the nearest that tells "at n" from "never".
        survival: Kaplan-Meier curve of P(T > k) over all rows, those who never reach it censored at the end
            of their curriculum.
    """

    rate: Interval
    mean: Interval
    reached: int
    restricted_mean: Interval
    restricted_to: int
    survival: Survival


@dataclasses.dataclass(frozen=True, eq=False)
class Summary:
    """What the concepts of a split, or of all, say together. Intervals are over concepts.

    Attributes:
        split: name of the split, "all" for all.
        found: the rows that it is about.
        concepts: number of graded concepts (variants of one are averaged first).
        variants: number of graded rows.
        not_graded: number of rows of which a correction was not accepted.
        failed: number of snapshots that failed.
        curve, band: mean fraction of the expected tokens at k = 0..horizon, one k at a time and all at once.
        first_hit, saturation, saturation_sustained: when these are reached.
        prior_knowledge_rate: share of concepts with a hit before any correction.
        final_rate: share that is saturated after the last correction.
        drop_rate: share whose curve falls anywhere.
        saturation_score, area: means of what `Competence` has by row.
        replay_determinism: share of equal replays among the split's snapshots, the rows not graded included.
        replay_by_k: the same for each k [K + 1].
        warnings: what a reader must know, one line each.
    """

    split: str
    found: Competence
    concepts: int
    variants: int
    not_graded: int
    failed: int
    curve: Interval
    band: Interval
    first_hit: Reach
    saturation: Reach
    saturation_sustained: Reach
    prior_knowledge_rate: Interval
    final_rate: Interval
    drop_rate: Interval
    saturation_score: Interval
    area: Interval
    replay_determinism: float
    replay_by_k: Float[np.ndarray, " points"]
    warnings: tuple[str, ...]


def summaries(found: Competence, level: float = 0.95, seed: int = 0) -> dict[str, Summary]:
    """Summarise every split, and all concepts together first where there are several.

    Args:
        found: a run.
        level: nominal level of the intervals, a fraction.
        seed: of the simultaneous bands.
    """
    names = found.split_names
    parts = {ALL: found} if len(names) > 1 else {}
    parts |= {name: found.split(name) for name in names}
    return {name: summarise(part, name, level, seed) for name, part in parts.items()}


def summarise(found: Competence, split: str = ALL, level: float = 0.95, seed: int = 0) -> Summary:
    """Summarise the rows of a run, whatever their splits.

    Concepts are the units: they are taken as a sample of a population of concepts. Variants of a concept are
    averaged first, as they say nothing about other concepts.
    """
    fine = found.take(found.graded)
    units = fine.units

    def over(values: np.ndarray, bounds: tuple[float, ...] | None = UNIT) -> Interval:
        table = np.asarray(values, dtype=np.float64)[:, None]
        return mean_interval(by_concept(table, units), level, bounds=bounds)

    fractions = fine.curves().coverage
    final = fine.saturation_sustained
    replays = found.replay_same & found.there
    summary = Summary(
        split=split,
        found=found,
        concepts=int(units.max(initial=-1)) + 1,
        variants=len(units),
        not_graded=int((~found.graded).sum()),
        failed=int(found.failed.sum()),
        curve=mean_interval(fractions, level),
        band=mean_band(fractions, level, seed=seed),
        first_hit=_reach(fine, fine.first_hit, level),
        saturation=_reach(fine, fine.saturation, level),
        saturation_sustained=_reach(fine, final, level),
        prior_knowledge_rate=over(fine.prior_knowledge > 0),
        final_rate=over(~np.isnan(final)),
        drop_rate=over(fine.largest_drop > 0),
        saturation_score=over(fine.saturation_score),
        area=over(fine.area),
        replay_determinism=found.replay_determinism,
        replay_by_k=replays.sum(axis=0) / np.maximum(found.there.sum(axis=0), 1),
        warnings=(),
    )
    return dataclasses.replace(summary, warnings=_warnings(summary))


def _reach(fine: Competence, times: np.ndarray, level: float) -> Reach:
    """Put together when a goal is reached, from the times of graded rows, NaN for never."""
    units, to = fine.units, fine.horizon + 1
    reached = ~np.isnan(times)
    restricted = np.where(reached, np.minimum(times, to), to)
    followed = fine.lengths
    return Reach(
        rate=mean_interval(by_concept(reached[:, None].astype(np.float64), units), level),
        mean=mean_interval(by_concept(times[:, None], units), level, bounds=None),
        reached=len(np.unique(units[reached])),
        restricted_mean=mean_interval(by_concept(restricted[:, None], units), level, bounds=(0.0, float(to))),
        restricted_to=to,
        survival=kaplan_meier(times, followed) if len(times) else _nothing(),
    )


def _nothing() -> Survival:
    none = np.zeros(1, dtype=np.int64)
    return Survival(none, none, np.full(1, np.nan), np.full(1, np.nan))


def _warnings(summary: Summary) -> tuple[str, ...]:
    found = summary.found
    lines = []
    if math.isfinite(summary.replay_determinism) and not found.replay_gate:
        ks = sorted({k for _, k in found.replay_differs})
        lines.append(
            f"replays differ at k = {', '.join(map(str, ks))}: less than {REPLAY_GATE:g} of them agree, so "
            "the curves show one run and not the system"
        )
    if summary.failed:
        lines.append(
            f"{summary.failed} of {int(found.there.sum())} snapshots failed: they count as showing no token"
        )
    if summary.not_graded:
        lines.append(f"{summary.not_graded} not graded: a correction was not accepted; they enter no number")
    if len(set(found.lengths[found.graded].tolist())) > 1:
        lines.append(
            "curricula differ in length: mean curves and restricted means end with the shortest, and the "
            "survival curve takes the length for no sign of how hard a concept is"
        )
    if summary.variants > summary.concepts:
        lines.append(
            f"{summary.variants} variants of {summary.concepts} concepts: averaged by concept; the standard "
            "error of the survival curve takes variants for independent"
        )
    for name, interval in (("mean curve", summary.band), ("saturation rate", summary.saturation.rate)):
        # Where all concepts agree (at k = 0, say) the table shows no interval, which says it.
        lines += [f"{name}: {text}" for text in interval.warnings if not text.startswith("no variance")]
    return tuple(lines)
