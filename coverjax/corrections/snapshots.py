"""One snapshot (fresh system, seed turn, first corrections, probe), and the record of a whole curve."""

import dataclasses
import json
from typing import Any

from coverjax.corrections import measures
from coverjax.corrections.sweeps import Turn, Unit
from coverjax.corrections.systems import FIELDS, Factory, System, UnavailableError, accepted, checked_answer
from coverjax.corrections.tokens import RULES, found
from coverjax.foundation.checks import InputError, one_of, shown

LONGEST_REASON = 300

NO_HASH = "probe must return a trace_hash that is not empty"


@dataclasses.dataclass(frozen=True)
class Scan:
    """What of an answer is looked through, and how.

    Attributes:
        fields: names of the text fields; a field that an answer lacks is empty.
        rule: the token rule, "unicode" or "ascii".
    """

    fields: tuple[str, ...] = FIELDS
    rule: str = "unicode"

    def __post_init__(self) -> None:
        one_of("rule", self.rule, tuple(RULES))
        if not self.fields or not all(isinstance(name, str) and name for name in self.fields):
            raise InputError(f"fields: must name at least one text field; got {shown(self.fields)}")


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """What one fresh system said after the first corrections.

    Attributes:
        turns: (what was taught, accepted, reason) of the seed turn and every turn before the probe.
        answer: what it answered, None where it failed.
        error: why it failed, or None.
    """

    turns: tuple[tuple[Turn, bool, str], ...]
    answer: dict[str, Any] | None
    error: str | None

    def same(self, other: "Snapshot") -> bool:
        """Whether two records agree in full; a failure, an empty hash too, agrees with nothing."""
        return self.error is None and other.error is None and self == other


def take(factory: Factory, unit: Unit, position: int, scan: Scan) -> Snapshot:
    """Build a fresh system, teach it up to the correction at `position`, and ask the probe.

    Whatever the system raises is this snapshot's failure, save `UnavailableError`, and `InputError`, by which
    a system says that its settings are wrong.
    """
    seed = unit.variant["seed"]
    asked = dict(factory.settings) if seed is None else {**factory.settings, "seed": seed}
    told: list[tuple[Turn, bool, str]] = []
    try:
        system = factory.load()(**asked)
        _teach(system, unit, position, told)
        answer = checked_answer(system.probe(unit.case.probe), scan.fields)
    except (KeyboardInterrupt, UnavailableError, InputError):
        raise
    except BaseException as error:
        # SystemExit too: a system that ends its process the polite way has crashed all the same.
        return Snapshot(tuple(told), None, _reason(error))
    return Snapshot(tuple(told), answer, None if answer["trace_hash"] else NO_HASH)


def _teach(system: System, unit: Unit, position: int, told: list[tuple[Turn, bool, str]]) -> None:
    first = [] if unit.seed_turn is None else [Turn(unit.seed_turn, -1)]
    for turn in [*first, *(turn for group in unit.turns[:position] for turn in group)]:
        fine, reason = accepted(system.teach(turn.text))
        told.append((turn, fine, reason[:LONGEST_REASON]))


def _reason(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_REASON]


def record_of(unit: Unit, pairs: list[tuple[Snapshot, Snapshot]], scan: Scan) -> dict[str, Any]:
    """Return the record of one unit: its curve, what is read off it, and where the replay differed.

    Args:
        unit: what was run.
        pairs: snapshot and replay after 0..n corrections.
        scan: what of the answers is looked through.
    """
    case = unit.case
    expected = list(case.expected_tokens)
    rejected = _rejected(pairs)
    refused = {entry["correction"] for entry in rejected}
    order = [group[-1].correction for group in unit.turns]
    curve = []
    for position, pair in enumerate(pairs):
        k = sum(1 for number in order[:position] if number not in refused)
        curve.append({"k": k, "position": position, **_point(pair, expected, scan)})
    hits = [point["cumulative_token_hit_count"] for point in curve]
    numbers = _read_off(hits, len(expected))
    return {
        "concept": case.concept,
        "split": case.split,
        "case": case.digest,
        "variant": unit.variant,
        "order": order,
        "status": "not_graded" if rejected else "graded",
        "rejected": rejected,
        "seed_turn": _seed_turn(pairs[0][0]),
        "expected_tokens": expected,
        "curve": curve,
        "failed": [point["position"] for point in curve if point["error"] is not None],
        "replay_differs_at": [point["position"] for point in curve if point["replay"] != "same"],
        "tokens": _brought(unit, curve, scan),
        # With a correction refused, position and k part ways: the curve stands, nothing is read off it.
        **(dict.fromkeys(numbers) if rejected else numbers),
    }


def _point(pair: tuple[Snapshot, Snapshot], expected: list[str], scan: Scan) -> dict[str, Any]:
    """One point of the curve; a failed snapshot shows no token, which is a score and not a gap."""
    first, replay = pair
    answer = first.answer or {}
    texts = [answer[name] for name in scan.fields if answer.get(name) is not None]
    there = found(expected, texts, scan.rule)
    point = {
        "cumulative_token_hit_count": len(there),
        "tokens": there,
        "vault_hits": answer.get("vault_hits"),
        "trace_hash": answer.get("trace_hash", ""),
        "answer": first.answer,
        "error": first.error,
        "replay": "same" if first.same(replay) else "failed" if first.error or replay.error else "differs",
    }
    if point["replay"] != "same":
        point["replayed"] = {"answer": replay.answer, "error": replay.error}
    return point


def _rejected(pairs: list[tuple[Snapshot, Snapshot]]) -> list[dict[str, Any]]:
    """The corrections that some system did not accept, each with the first reason given."""
    reasons: dict[int, str] = {}
    for snapshot in (snapshot for pair in pairs for snapshot in pair):
        for turn, fine, reason in snapshot.turns:
            if turn.correction > 0 and not fine:
                reasons.setdefault(turn.correction, reason)
    return [{"correction": number, "reason": reasons[number]} for number in sorted(reasons)]


def _seed_turn(snapshot: Snapshot) -> dict[str, Any] | None:
    for turn, fine, reason in snapshot.turns:
        if turn.correction < 0:
            return {"accepted": fine, "reason": reason}
    return None


def _brought(unit: Unit, curve: list[dict[str, Any]], scan: Scan) -> list[dict[str, Any]]:
    """For each expected token: the correction that holds it, and the snapshots at which it came and went."""
    rows = []
    for word in unit.case.expected_tokens:
        there = [word in point["tokens"] for point in curve]
        turns = [k for k in range(1, len(there)) if there[k] != there[k - 1]]
        rows.append(
            {
                "token": word,
                "correction": _teaches(unit, word, scan.rule),
                "first_k": there.index(True) if True in there else None,
                "came": [k for k in turns if there[k]],
                "went": [k for k in turns if not there[k]],
            }
        )
    return rows


def _teaches(unit: Unit, word: str, rule: str) -> int | None:
    texts = enumerate(unit.case.curriculum, start=1)
    return next((number for number, text in texts if found([word], [text], rule)), None)


def _read_off(hits: list[int], expected: int) -> dict[str, Any]:
    return {
        "prior_knowledge": hits[0],
        "corrections_to_first_hit": measures.first_crossing(hits, 1),
        "corrections_to_first_hit_sustained": measures.sustained_crossing(hits, 1),
        "corrections_to_saturation": measures.first_crossing(hits, expected),
        "corrections_to_saturation_sustained": measures.sustained_crossing(hits, expected),
        "saturated_at_the_end": hits[-1] >= expected,
        "saturation_score": hits[-1] / expected,
        "peak_score": max(hits) / expected,
        "drops": [{"k": k, "tokens": lost} for k, lost in measures.drops(hits).items()],
        "largest_drop": measures.largest_drop(hits),
        "area": measures.area(hits, expected),
    }


def run_unit(factory: Factory, unit: Unit, scan: Scan) -> str:
    """Run a unit, every snapshot twice, and return its record as one line of JSON."""
    pairs = [
        (take(factory, unit, position, scan), take(factory, unit, position, scan))
        for position in range(unit.length + 1)
    ]
    return to_line(record_of(unit, pairs, scan))


def to_line(record: dict[str, Any]) -> str:
    """Return a record as JSON on one line: the same bytes for the same record."""
    return json.dumps(record, sort_keys=True, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
