"""lm-eval's samples: a row a document AND filter, with its responses in `resps` and `filtered_resps`.

`lm_eval --log_samples` writes `samples_TASK_DATE.jsonl`. The rows of one filter are read: the only one, or
the one that is chosen. A document's samples are its responses: those that the filter leaves in
`filtered_resps` (several where it keeps the repeats), one where requests are loglikelihoods. Correctness is
the metric's. A metric is one number for a document, so with several responses it says which are correct
only where it is a list; `pass@1` says how many are: then counts are kept. Several tasks: the input is
`task/doc_id`. Source: github EleutherAI/lm-evaluation-harness, lm_eval/evaluator.py
(`evaluate`) and lm_eval/loggers/evaluation_tracker.py (`save_results_samples`), version 0.4.13.
"""

import dataclasses
import json
import os
import re
from collections.abc import Iterator
from typing import Any

from coverjax.foundation.checks import InputError, file_error, shown
from coverjax.logs.counts import CountTable
from coverjax.logs.files import LogFile, text_lines
from coverjax.logs.formats.base import Format, Source
from coverjax.logs.formats.choices import one_choice
from coverjax.logs.formats.flattened import Row, read_rows
from coverjax.logs.formats.verdicts import as_score, as_verdict
from coverjax.logs.jsontext import TextError, json_record
from coverjax.logs.log import SampleLog

RESPONSES, RAW = "filtered_resps", "resps"
INVALID = "[invalid]"
"""What lm-eval's filters put where they find no answer."""

NO_FILTER = "none"
PASS_AT_1 = "pass@1"

_NO_METRICS = {"doc_id", "doc", "target", "arguments", RESPONSES, RAW, "filter", "metrics"}
_NO_METRICS |= {"doc_hash", "prompt_hash", "target_hash"}
_FILE = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT.*")


@dataclasses.dataclass(frozen=True)
class _Asked:
    """What is read: the rows of a filter, the labels ("" for none), the metric ("" for none)."""

    filter: str
    labels: str
    metric: str


def _recognises(file: LogFile) -> bool:
    return {"doc_id", RESPONSES} <= set(file.columns)


def _read(source: Source) -> SampleLog | CountTable:
    asked = _asked(source)
    tasks = {file.path: _task(file) for file in source.files}
    several = len(set(tasks.values())) > 1
    shared: list[str] = []

    def rows() -> Iterator[Row]:
        for file in source.files:
            start = f"{tasks[file.path]}/" if several else ""
            for line, record in _records(file):
                if record.get("filter", NO_FILTER) == asked.filter:
                    yield from _samples(file, line, record, asked, start, shared)

    source.provenance.update(filter=asked.filter, labels_from=asked.labels or asked.metric)
    if asked.metric:
        source.provenance["correct_from"] = asked.metric
    found = read_rows(source, rows, labelled=bool(asked.labels), number="doc_id")
    if not shared or isinstance(found, CountTable):
        return found
    if source.ordered:
        raise InputError(
            f"{shared[0]}: {PASS_AT_1}: says how many responses are correct, not which; leave out ordered"
        )
    return found.counts()


def _asked(source: Source) -> _Asked:
    """Return what is read; ask where the files leave a choice that was not made."""
    first = _first_rows(source)
    path = source.files[0].path
    filter = one_choice("filter", source.choices.filter, first, path, "filters")
    labels = source.choices.labels_from or ""
    if labels:
        one_choice("labels_from", labels, (RESPONSES, RAW), path, "fields of responses")
    line, record = first[filter]
    there = _metrics(record)
    if not there and not labels:
        raise file_error(path, line, "metrics", "must hold a number from 0 to 1; choose labels_from")
    asked = source.choices.correct_from
    if labels and asked is None and (len(there) != 1 or not _says_each(record, there[0], labels)):
        source.note("it is unknown which responses are correct; where a metric says it, choose correct_from")
        return _Asked(filter, labels, "")
    return _Asked(filter, labels, one_choice("correct_from", asked, there, path, "metrics"))


def _first_rows(source: Source) -> dict[str, tuple[int, dict[str, Any]]]:
    """Return the line and the first row of each filter."""
    first: dict[str, tuple[int, dict[str, Any]]] = {}
    for file in source.files:
        for line, record in _records(file):
            name = record.get("filter", NO_FILTER)
            if not isinstance(name, str):
                raise file_error(file.path, line, "filter", f"must be text; got {shown(name)}")
            first.setdefault(name, (line, record))
    return first


def _metrics(record: dict[str, Any]) -> list[str]:
    """Return the metrics that may say what is correct."""
    names = record.get("metrics", [name for name in record if name not in _NO_METRICS])
    return [name for name in names if _may_say(record.get(name))]


def _says_each(record: dict[str, Any], metric: str, labels: str) -> bool:
    """Whether a metric of a row is about one response, or about each."""
    held, value = record.get(labels), record[metric]
    inner = held[0] if isinstance(held, list) and held else None
    count = len(inner) if isinstance(inner, list) else 1
    return count == 1 or (isinstance(value, list) and len(value) == count)


def _may_say(value: Any) -> bool:
    return all(as_verdict(entry) is not None for entry in (value if isinstance(value, list) else [value]))


def _task(file: LogFile) -> str:
    stem = os.path.basename(file.path)
    found = _FILE.fullmatch(stem)
    return found[1] if found else stem.split(".")[0]


def _records(file: LogFile) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text_lines(file.path), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            try:
                record = json_record(line)  # says what is wrong
            except TextError as fault:
                raise file_error(file.path, number, None, str(fault)) from None
        for field in ("doc_id", RESPONSES):
            if field not in record:
                raise file_error(file.path, number, field, f"must be there; got {_got(record, field)}")
        yield number, record


def _samples(
    file: LogFile, line: int, record: dict[str, Any], asked: _Asked, start: str, shared: list[str]
) -> Iterator[Row]:
    """Yield the samples of a document; `shared` is told of a metric that counts correct responses."""
    place = f"{file.path}:{line}"
    document = record.get("doc_id")
    if not isinstance(document, int | str) or isinstance(document, bool) or document == "":
        raise file_error(
            file.path, line, "doc_id", f"must be a whole number or a name; got {_got(record, 'doc_id')}"
        )
    kept = _responses(file, line, record, RESPONSES)
    used = _responses(file, line, record, RAW) if asked.labels == RAW else kept
    if asked.labels and used is None:
        raise file_error(
            file.path, line, asked.labels, "holds loglikelihoods, no responses: leave out labels_from"
        )
    count = 1 if used is None else len(used)
    verdicts = _verdicts(file, line, record, asked, count, shared)
    for number in range(count):
        labels = [] if not asked.labels or used is None or _is_nothing(used[number]) else [used[number]]
        correct, score = verdicts[number]
        yield Row(
            place,
            f"{start}{document}",
            number,
            labels if asked.labels else None,
            correct=correct,
            score=score,
        )


def _is_nothing(text: str) -> bool:
    return not text.strip(" \t") or text == INVALID


def _got(record: dict[str, Any], field: str) -> str:
    return shown(record[field]) if field in record else "nothing: it is missing"


def _responses(file: LogFile, line: int, record: dict[str, Any], field: str) -> list[str] | None:
    """Return the responses of a document; None where its requests are loglikelihoods."""
    value = record.get(field)
    if not isinstance(value, list) or not value:
        raise file_error(file.path, line, field, f"must be a list of responses; got {_got(record, field)}")
    raw = record.get(RAW)
    innermost = raw
    for _ in range(2):
        innermost = innermost[0] if isinstance(innermost, list) and innermost else None
    if len(value) > 1 or isinstance(innermost, list):
        return None
    found = [value[0]] if isinstance(value[0], str) else value[0]
    if not isinstance(found, list) or not found or not all(isinstance(text, str) for text in found):
        raise file_error(file.path, line, field, f"must hold texts; got {shown(value)}")
    return found


def _verdicts(
    file: LogFile, line: int, record: dict[str, Any], asked: _Asked, count: int, shared: list[str]
) -> list[tuple[bool | None, float | None]]:
    """Return whether each sample is correct, and its score."""
    if not asked.metric:
        return [(None, None)] * count
    value = record.get(asked.metric)
    if isinstance(value, list) and len(value) == count:
        return [(_verdict(file, line, asked, entry), as_score(entry)) for entry in value]
    whole = _verdict(file, line, asked, value)
    score = as_score(value)
    if count == 1:
        return [(whole, score)]
    correct = round((score or 0.0) * count)
    if (
        asked.metric == PASS_AT_1
        and not asked.labels
        and abs(correct - (score or 0.0) * count) < 1e-6 * count
    ):
        shared.append(f"{file.path}:{line}")
        return [(number < correct, float(number < correct)) for number in range(count)]
    what = f"is one number, {score:g}, for {count} responses, so it doesn't say which are correct; choose "
    what += "another metric, or a filter that keeps one response"
    raise file_error(file.path, line, asked.metric, what)


def _verdict(file: LogFile, line: int, asked: _Asked, value: Any) -> bool:
    found = as_verdict(value)
    if found is None:
        what = f"must be a number from 0 to 1, or one for each response; got {shown(value)}"
        raise file_error(file.path, line, asked.metric, what)
    return found


FORMAT = Format(
    "lm_eval",
    "doc_id, filtered_resps",
    _recognises,
    _read,
    kinds=frozenset({"jsonl"}),
    takes={
        "filter": "the filter whose rows are read",
        "labels_from": "`filtered_resps` or `resps`: a label each; else the one label is `correct`",
        "correct_from": "a metric",
    },
)
