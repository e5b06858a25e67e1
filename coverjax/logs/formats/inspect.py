"""inspect's logs, `.eval` (a zip) and `.json`: an input a sample id, a sample an epoch.

Labels are a scorer's value, answer, or an entry of its metadata or value; correctness is a scorer's value:
C, a flag or the number 1. A sample that ended in an error, and one that the scorer did not score (no score,
or NaN), stay as samples that match nothing and are not `valid`. Several models are methods; of several
tasks the input is `task/id`. The samples themselves are read, not the summaries, whose texts are cut.
Source: github UKGovernmentBEIS/inspect_ai, src/inspect_ai/log/_log.py (`EvalSample`), scorer/_metric.py
(`Score`), log/_recorders/eval.py and log/_recorders/chunked/format.py (members of the zip), version
0.3.285.
"""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from coverjax.foundation.checks import InputError, file_error, listed, shown
from coverjax.logs.archives import members, place
from coverjax.logs.counts import CountTable
from coverjax.logs.documents import parts
from coverjax.logs.files import LogFile
from coverjax.logs.formats.base import Format, Source
from coverjax.logs.formats.choices import one_choice
from coverjax.logs.formats.flattened import Row, read_rows
from coverjax.logs.formats.scores import Scorer, labels_of, parsed
from coverjax.logs.formats.verdicts import as_score, as_verdict, is_missing
from coverjax.logs.jsontext import Pairs, TextError, json_value, kind_name, record_of
from coverjax.logs.log import SampleLog
from coverjax.logs.rules import NAME, WHOLE

HEADERS = ("header.json", "_journal/start.json")
"""Members of a zip that hold the header: of a log that was finished, of one that was not."""

_SAMPLE = re.compile(r"samples/.+_epoch_\d+(?:\.json|/sample\.json)")


@dataclasses.dataclass(frozen=True)
class _Header:
    """What the head of a file says."""

    model: str
    task: str
    status: str


@dataclasses.dataclass
class _Tally:
    """How many samples there were, ended in an error, were not scored, had the labels' part of a score."""

    samples: int = 0
    errors: int = 0
    unscored: int = 0
    hits: int = 0

    def clear(self) -> None:
        self.samples = self.errors = self.unscored = self.hits = 0


def _recognises(file: LogFile) -> bool:
    held = set(file.columns)
    if file.kind == "zip":
        return bool(held & set(HEADERS))
    return "eval" in held and bool({"status", "version"} & held)


def _read(source: Source) -> SampleLog | CountTable:
    headers = {file.path: _header(source, file) for file in source.files}
    labels, correct = _asked(source)
    tally = _Tally()
    models = {header.model for header in headers.values()}
    tasks = {header.task for header in headers.values()}

    def rows() -> Iterator[Row]:
        tally.clear()
        for file in source.files:
            header = headers[file.path]
            start = f"{header.task}/" if len(tasks) > 1 else ""
            method = header.model if len(models) > 1 else None
            for where, sample in _samples(source, file):
                yield _row(where, sample, labels, correct, tally, start, method)

    source.provenance.update(labels_from=str(labels or correct), tasks=sorted(tasks), models=sorted(models))
    if correct:
        source.provenance["correct_from"] = str(correct)
    return read_rows(
        source,
        rows,
        labelled=labels is not None,
        number="epoch",
        told=lambda: _note(source, headers, tally, labels, correct),
    )


def _asked(source: Source) -> tuple[Scorer | None, Scorer | None]:
    """Return where labels and correctness come from; ask where the log leaves a choice that was not made."""
    labels, correct = (
        None if text is None else parsed(option, text)
        for option, text in (
            ("labels_from", source.choices.labels_from),
            ("correct_from", source.choices.correct_from),
        )
    )
    names, values = _scorers(source, {scorer.name for scorer in (labels, correct) if scorer})
    path = source.files[0].path
    for option, scorer in (("labels_from", labels), ("correct_from", correct)):
        if scorer is not None:
            one_choice(option, scorer.name, names, path, "scorers")
    if correct is None and labels is None:
        return None, Scorer(one_choice("correct_from", None, names, path, "scorers"))
    if (
        correct is None
        and len(names) == 1
        and str(labels) != names[0]
        and as_verdict(values[names[0]]) is not None
    ):
        correct = Scorer(names[0])
    return labels, correct


def _scorers(source: Source, wanted: set[str]) -> tuple[list[str], dict[str, Any]]:
    """Return the scorers and a value of each; of a sample that has them all, or else of all samples."""
    values: dict[str, Any] = {}
    for file in source.files:
        for where, sample in _samples(source, file):
            scores = _scores(where, sample)
            values = {name: dict(score).get("value") for name, score in scores.items()} | {
                name: value for name, value in values.items() if not is_missing(value)
            }
            if scores and wanted <= values.keys() and not any(map(is_missing, values.values())):
                return list(values), values
    return list(values), values


def _header(source: Source, file: LogFile) -> _Header:
    if file.kind == "zip":
        name = next(name for name in HEADERS if name in file.columns)
        found = list(members(source.connection, file.path, name.__eq__))
        held = _record(place(file.path, name), found[0][1])
    else:
        held = {}
        for part in parts(file.path, opened="samples"):
            held[part.path[0]] = part.value
            if {"eval", "status"} <= held.keys():
                break
    spec = held.get("eval")
    if not isinstance(spec, Pairs):
        raise file_error(file.path, None, "eval", f"must be an object; got {kind_name(spec)}")
    told = dict(spec)
    return _Header(str(told.get("model", "")), str(told.get("task", "")), str(held.get("status", "started")))


def _record(where: str, text: str) -> dict[str, Any]:
    try:
        return record_of(json_value(text))
    except TextError as fault:
        raise file_error(where, None, None, str(fault)) from None


def _samples(source: Source, file: LogFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the record of each sample."""
    if file.kind == "zip":
        for name, text in members(source.connection, file.path, lambda name: bool(_SAMPLE.fullmatch(name))):
            where = place(file.path, name)
            yield where, _record(where, text)
        return
    for part in parts(file.path, opened="samples"):
        if part.path[0] == "samples" and len(part.path) == 2:
            where = f"{file.path}:{part.line}"
            try:
                yield where, record_of(part.value)
            except TextError as fault:
                raise InputError(f"{where}: samples: {fault}") from None


def _scores(where: str, sample: dict[str, Any]) -> dict[str, Pairs]:
    scores = sample.get("scores")
    if scores is None:
        return {}
    if not isinstance(scores, Pairs) or not all(isinstance(score, Pairs) for _, score in scores):
        raise InputError(f"{where}: scores: must be an object of scores; got {shown(scores)}")
    return dict(scores)


def _row(
    where: str,
    sample: dict[str, Any],
    labels: Scorer | None,
    correct: Scorer | None,
    tally: _Tally,
    start: str,
    method: str | None,
) -> Row:
    """Return one sample; an error or no score makes it one that matches nothing."""
    name = NAME.value(sample.get("id"), "json")
    epoch = WHOLE.value(sample.get("epoch"), "json")
    for field, rule, value in (("id", NAME, name), ("epoch", WHOLE, epoch)):
        if value is None:
            got = shown(sample[field]) if sample.get(field) is not None else "nothing"
            raise InputError(f"{where}: {field}: must be {rule.must}; got {got}")
    assert name is not None
    assert epoch is not None
    scores = _scores(where, sample)
    main = labels or correct
    assert main is not None
    failed = sample.get("error") is not None
    scored = main.name in scores and not is_missing(dict(scores[main.name]).get("value"))
    tally.samples += 1
    tally.errors += failed
    tally.unscored += not failed and not scored
    valid = scored and not failed
    found: list[str] | None = None
    score: float | None = None
    if valid and labels is not None:
        there, found = labels_of(where, labels, scores[labels.name])
        tally.hits += there
    verdict = None
    if correct is not None:
        verdict, score = (False, 0.0) if failed else _verdict(where, correct, scores)
    matched = None if labels is None else found or []
    return Row(where, start + name, epoch, matched, method, valid=valid, correct=verdict, score=score)


def _verdict(where: str, correct: Scorer, scores: dict[str, Pairs]) -> tuple[bool, float | None]:
    """Return whether a sample is correct, and its score; one that was not scored is not, with 0."""
    value = correct.find(scores[correct.name]) if correct.name in scores else None
    if is_missing(value):
        return False, 0.0
    verdict = as_verdict(value)
    if verdict is None:
        what = f"must be C, I, P, N, a flag or a number from 0 to 1; got {shown(value)}"
        raise InputError(f"{where}: scores.{correct}: {what}")
    return verdict, as_score(value)


def _note(
    source: Source, headers: dict[str, _Header], tally: _Tally, labels: Scorer | None, correct: Scorer | None
) -> None:
    """Note what did not run to its end, was not scored, or was not found."""
    for path, header in headers.items():
        if header.status != "success":
            source.note(f"{path}: the status of this log is {header.status}: samples may be missing")
    main = labels or correct
    for count, what in ((tally.errors, "ended in an error"), (tally.unscored, f"are not scored by {main}")):
        if count:
            source.note(
                f"{count:,} of {tally.samples:,} samples {what}: they stay as samples that match nothing"
            )
    source.provenance.update(errors=tally.errors, unscored=tally.unscored)
    if labels is not None and not tally.hits:
        held = sorted({name for file in source.files for name in _keys(source, file, labels)})
        told = f"it has {listed(held, limit=12)}" if held else "there is none in any sample"
        raise file_error(source.files[0].path, None, "labels_from", f"no sample has {labels}; {told}")


def _keys(source: Source, file: LogFile, labels: Scorer) -> Iterator[str]:
    """Yield what a scorer offers beside what was asked for: answer, and the keys of its metadata."""
    for where, sample in _samples(source, file):
        score = dict(_scores(where, sample).get(labels.name, Pairs()))
        yield from (part for part in ("value", "answer") if score.get(part) is not None)
        for part in ("metadata", "value"):
            if isinstance(score.get(part), Pairs):
                yield from (f"{part}.{key}" for key, _ in score[part])


FORMAT = Format(
    "inspect",
    "a log of inspect, .eval or .json",
    _recognises,
    _read,
    kinds=frozenset({"zip", "jsonl", "document"}),
    takes={
        "labels_from": "SCORER, SCORER:answer, SCORER:metadata.KEY or SCORER:value.KEY; else the label is "
        "`correct`",
        "correct_from": "SCORER, or as above",
    },
)
