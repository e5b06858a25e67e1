"""Runs of corrections as plain documents and tables: what summary.json, `--json` and the CSV files hold.

A number that does not exist is null, and the object that holds it says why in `why_null`. Nothing depends on
the clock, the machine or the place of the outputs.
"""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from coverjax._version import __version__
from coverjax.corrections.aggregates import NOT_MEASURED, Reach, Summary
from coverjax.corrections.comparing import SystemsComparison
from coverjax.corrections.competence import REPLAY_GATE, Competence
from coverjax.inference.units import Interval
from coverjax.report.plain import number, numbers, with_reason, write_csv

FEW = "an interval over concepts needs at least 2 of them"
NONE = "no concept is graded"
NEVER = "no concept ever reaches it"
AGREE = "all concepts agree: no variance over concepts was measured"

READ_OFF = (
    "prior_knowledge",
    "corrections_to_first_hit",
    "corrections_to_first_hit_sustained",
    "corrections_to_saturation",
    "corrections_to_saturation_sustained",
    "saturated_at_the_end",
    "saturation_score",
    "peak_score",
    "largest_drop",
    "area",
)
"""What is read off a concept's curve, in the order of the columns of concepts.csv."""


def run_document(
    found: Competence,
    parts: Mapping[str, Summary],
    *,
    level: float,
    seed: int,
    command: str | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a run as a document: what was run, what each split says, every concept's record."""
    return {
        **_run_facts(found),
        "command": command,
        "options": dict(options),
        "seed": seed,
        "level": level,
        "verb": "corrections run",
        "replay": _replay(found),
        "splits": {name: _summary(part) for name, part in parts.items()},
        "concepts": [_concept(record) for record in found.records],
        "not_measured": list(NOT_MEASURED),
    }


def comparison_document(
    found: SystemsComparison, *, command: str | None, options: Mapping[str, Any], files: Sequence[Any]
) -> dict[str, Any]:
    """Return a comparison as a document."""
    curve = found.curve
    band = {"band_low": numbers(curve.band[0]), "band_high": numbers(curve.band[1])}
    decided = {word: getattr(curve, word).tolist() for word in ("wins", "losses", "undecided")}
    return {
        "coverjax": __version__,
        "verb": "corrections compare",
        "command": command,
        "options": dict(options),
        "seed": curve.seed,
        "files": list(files),
        "level": curve.level,
        "multipliers": curve.multipliers,
        "a": {**_run_facts(found.a), "replay": _replay(found.a)},
        "b": {**_run_facts(found.b), "replay": _replay(found.b)},
        "concepts": curve.inputs,
        "left_out": found.left_out,
        "changed": found.changed,
        "curve": with_reason(
            {"k": curve.budgets.tolist(), "difference": numbers(curve.difference), **band, **decided},
            FEW if curve.inputs < 2 else AGREE,
        ),
        "differences": {name: _one(interval) for name, interval in found.differences.items()},
        "restricted_to": found.restricted_to,
        "warnings": list(found.warnings),
        "not_measured": list(NOT_MEASURED),
    }


def write_concepts(found: Competence, path: pathlib.Path) -> None:
    """Write a line for each concept (and variant): what is read off its curve. Empty: never or not graded."""
    header = ["concept", "split", "order", "distractors", "seed", "status", "expected", "corrections"]
    rows = []
    for record in found.records:
        variant = [record["variant"][name] for name in ("order", "distractors", "seed")]
        sizes = [len(record["expected_tokens"]), len(record["curve"]) - 1]
        read = [record[name] for name in READ_OFF]
        replays = [len(record["replay_differs_at"]), len(record["failed"])]
        rows.append([record["concept"], record["split"], *variant, record["status"], *sizes, *read, *replays])
    write_csv(path, [*header, *READ_OFF, "replays_that_differ", "failed_snapshots"], rows)


def write_snapshots(found: Competence, path: pathlib.Path) -> None:
    """Write a line for each snapshot: the raw curve of every concept."""
    names = ("k", "position", "cumulative_token_hit_count", "vault_hits", "trace_hash", "replay", "error")
    rows = []
    for record in found.records:
        start = [record["concept"], record["split"], record["variant"]["order"], record["variant"]["seed"]]
        for point in record["curve"]:
            held = "|".join(point["tokens"])
            rows.append([*start, *(point[name] for name in names), held])
    write_csv(path, ["concept", "split", "order", "seed", *names, "tokens"], rows)


def _run_facts(found: Competence) -> dict[str, Any]:
    """What was run: nothing of how many processes did it, which is not to show."""
    return {name: value for name, value in found.provenance.items() if name not in ("ran", "kind")}


def _replay(found: Competence) -> dict[str, Any]:
    share = found.replay_determinism
    return with_reason(
        {
            "replay_determinism": number(share),
            "gate": REPLAY_GATE,
            "passed": bool(found.replay_gate),
            "snapshots": int(found.there.sum()),
            "failed_snapshots": int(found.failed.sum()),
            "differs_at": [{"concept": concept, "k": k} for concept, k in found.replay_differs],
        },
        "nothing was run",
    )


def _summary(part: Summary) -> dict[str, Any]:
    first, full, kept = part.first_hit, part.saturation, part.saturation_sustained
    reason = NONE if not part.concepts else FEW if part.concepts < 2 else AGREE
    return {
        "n": part.concepts,
        "variants": part.variants,
        "not_graded": part.not_graded,
        "failed_snapshots": part.failed,
        "curve": with_reason(
            {
                "k": list(range(len(part.curve.mean))),
                "mean": numbers(part.curve.mean),
                "low": numbers(part.curve.low),
                "high": numbers(part.curve.high),
                "band_low": numbers(part.band.low),
                "band_high": numbers(part.band.high),
            },
            reason,
        ),
        "mean_corrections_to_first_hit": _one(first.mean, NEVER),
        "first_hit_rate": _one(first.rate),
        "first_hit": _reach(first),
        "mean_corrections_to_saturation": _one(full.mean, NEVER),
        "saturation_rate": _one(full.rate),
        "saturation": _reach(full),
        "mean_corrections_to_saturation_sustained": _one(kept.mean, NEVER),
        "saturation_sustained_rate": _one(kept.rate),
        "saturation_sustained": _reach(kept),
        "prior_knowledge_rate": _one(part.prior_knowledge_rate),
        "saturated_at_the_end_rate": _one(part.final_rate),
        "drop_rate": _one(part.drop_rate),
        "saturation_score": _one(part.saturation_score),
        "area_under_the_curve": _one(part.area),
        "replay_determinism": number(part.replay_determinism),
        "replay_by_k": numbers(part.replay_by_k),
        "warnings": list(part.warnings),
    }


def _reach(reach: Reach) -> dict[str, Any]:
    survival = reach.survival
    told = {
        "reached": reach.reached,
        "restricted_mean": _one(reach.restricted_mean),
        "restricted_to": reach.restricted_to,
        "median": number(survival.median),
        "at_risk": survival.at_risk.tolist(),
        "events": survival.events.tolist(),
        "survival": numbers(survival.survival),
        "survival_stderr": numbers(survival.stderr),
    }
    return with_reason(told, "less than half reach it, or none is followed so far")


def _concept(record: dict[str, Any]) -> dict[str, Any]:
    """A concept without the texts of its answers: these are in records.jsonl."""
    left_out = {"answer", "replayed"}
    curve = [{name: point[name] for name in point if name not in left_out} for point in record["curve"]]
    return {**record, "curve": curve}


def _one(interval: Interval, nobody: str = NONE) -> dict[str, Any]:
    told = {
        "value": number(interval.mean[0]),
        "low": number(interval.low[0]),
        "high": number(interval.high[0]),
        "n": interval.units,
    }
    return with_reason(told, nobody if not interval.units else FEW if interval.units < 2 else AGREE)
