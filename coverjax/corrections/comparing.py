"""Two systems taught the same concepts: paired differences."""

import dataclasses

import numpy as np

from coverjax.corrections.competence import Competence, by_concept
from coverjax.foundation.checks import InputError
from coverjax.inference.bands import MULTIPLIERS
from coverjax.inference.cautions import TIE
from coverjax.inference.comparison import Comparison, compare
from coverjax.inference.intervals import mean_interval
from coverjax.inference.units import Interval

READINGS = ("area", "saturation_score", "first_hit", "saturation", "saturation_rate")


@dataclasses.dataclass(frozen=True, eq=False)
class SystemsComparison:
    """Paired differences a - b over the concepts that both were taught and graded on.

    Attributes:
        a, b: the runs, cut to the paired concepts, in the same order.
        curve: mean difference of the fraction of expected tokens at k = 0..horizon, with a simultaneous band;
            `budgets` are corrections and `inputs` concepts.
        differences: mean paired difference of area and saturation score (fractions), of the times to first
            hit and saturation, restricted to `restricted_to` corrections (below 0: a is faster), and of
            the saturation rate; one point each.
        restricted_to: length of the shortest curriculum, and one: what "never" counts as.
        left_out: number of concepts that are in one run only, or not graded in either.
        changed: number of concepts that both runs have, with another curriculum or probe in each.
        warnings: what a reader must know, one line each.
    """

    a: Competence
    b: Competence
    curve: Comparison
    differences: dict[str, Interval]
    restricted_to: int
    left_out: int
    changed: int
    warnings: tuple[str, ...]


def compare_systems(
    a: Competence, b: Competence, level: float = 0.95, multipliers: int = MULTIPLIERS, seed: int = 0
) -> SystemsComparison:
    """Compare two systems on the same cases, concept by concept.

    Variants of a concept are averaged first. A concept enters where both runs have it, with the same
    curriculum, probe and expected tokens, and graded it.

    Args:
        a, b: two runs.
        level: nominal level, a fraction; for the curve it is simultaneous over k.
        multipliers, seed: of the band.

    Raises:
        InputError: no concept can be paired.
    """
    names_a, names_b = _cases(a), _cases(b)
    both = [name for name in names_a if name in names_b]
    same = [name for name in both if names_a[name] == names_b[name]]
    if not same:
        raise InputError(
            f"compare: needs concepts that both runs graded, with the same case; {len(both)} of "
            f"{len(names_a)} and {len(names_b)} have the same name: run both systems on the same cases"
        )
    first, second = _paired(a, same), _paired(b, same)
    to = min(first.horizon, second.horizon) + 1
    readings = _readings(first, to), _readings(second, to)
    every = {*_pairs(a), *_pairs(b)}
    # Two runs of one system (with other settings, say) must not look like one.
    one = dataclasses.replace(first.curves(), method=f"a: {first.system}")
    other = dataclasses.replace(second.curves(), method=f"b: {second.system}")
    curve = compare(one, other, level, multipliers, seed)
    return SystemsComparison(
        a=first,
        b=second,
        curve=curve,
        differences={
            name: mean_interval(readings[0][name] - readings[1][name], level, bounds=TIE) for name in READINGS
        },
        restricted_to=to,
        left_out=len(every) - len(same),
        changed=len(both) - len(same),
        warnings=(*_warnings(a, b, len(both) - len(same)), *curve.warnings),
    )


def _pairs(found: Competence) -> list[tuple[str, str]]:
    return list(zip(found.splits.tolist(), found.concepts.tolist(), strict=True))


def _cases(found: Competence) -> dict[tuple[str, str], str]:
    """Digest of each case that has a graded row, by split and concept."""
    rows = zip(_pairs(found), found.records, found.graded, strict=True)
    return {name: record["case"] for name, record, graded in rows if graded}


def _paired(found: Competence, names: list[tuple[str, str]]) -> Competence:
    """The graded rows of these concepts, in this order."""
    rows: dict[tuple[str, str], list[int]] = {name: [] for name in names}
    for row, name in enumerate(_pairs(found)):
        if name in rows and found.graded[row]:
            rows[name].append(row)
    return found.take([row for name in names for row in rows[name]])


def _readings(found: Competence, to: int) -> dict[str, np.ndarray]:
    """What is compared, by concept [concepts, 1]."""
    columns = {
        "area": found.area,
        "saturation_score": found.saturation_score,
        "first_hit": np.fmin(found.first_hit, to),
        "saturation": np.fmin(found.saturation, to),
        "saturation_rate": ~np.isnan(found.saturation),
    }
    return {
        name: by_concept(np.asarray(values, dtype=np.float64)[:, None], found.units)
        for name, values in columns.items()
    }


def _warnings(a: Competence, b: Competence, changed: int) -> list[str]:
    lines = []
    if changed:
        lines.append(
            f"{changed} concepts have another curriculum, probe or expected tokens in each run: left out"
        )
    for name, found in (("a", a), ("b", b)):
        if not found.replay_gate:
            lines.append(
                f"{name} fails the replay gate ({found.replay_determinism:.3f}): its curves show one run"
            )
        if found.failed.any():
            lines.append(
                f"{name}: {int(found.failed.sum())} snapshots failed: they count as showing no token"
            )
    for fact in ("scan", "sweep"):
        if a.provenance[fact] != b.provenance[fact]:
            lines.append(
                f"unlike is compared with unlike: {fact} is {a.provenance[fact]} in a, "
                f"{b.provenance[fact]} in b"
            )
    return lines
