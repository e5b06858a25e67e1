"""EvalPlus's results: one object with `date`, `hash` and `eval`, a list of samples for each task.

`evalplus.evaluate` writes `*eval_results.json`. A sample passes the base tests where `base_status` is
"pass", and the plus tests where `plus_status` is "pass" too, as EvalPlus counts pass@k. Files of version
0.1, with lists `base` and `plus` of [status, details], are read alike. Source: github evalplus/evalplus,
evalplus/evaluate.py (`evaluate`) and evalplus/eval/__init__.py (`compatible_eval_result`), version 0.3.1.
"""

from collections.abc import Iterator
from typing import Any

from coverjax.foundation.checks import file_error, listed, shown
from coverjax.logs.cells import LABEL
from coverjax.logs.counts import CountTable
from coverjax.logs.documents import Part, parts
from coverjax.logs.files import LogFile
from coverjax.logs.formats.base import Format, Source
from coverjax.logs.formats.choices import one_choice
from coverjax.logs.formats.flattened import Row, read_rows
from coverjax.logs.jsontext import Pairs, TextError, kind_name, record_of
from coverjax.logs.log import SampleLog

EVAL, BASE, PLUS = "eval", "base", "plus"
STATUSES = ("pass", "fail", "timeout")


def _recognises(file: LogFile) -> bool:
    held = set(file.columns)
    return {EVAL, "hash"} <= held and not {"status", "version"} & held


def _read(source: Source) -> SampleLog | CountTable:
    tests = _tests(source)
    label = source.choices.labels_from
    source.provenance["correct_from"] = tests
    source.provenance["labels_from"] = label or tests

    def rows() -> Iterator[Row]:
        for file in source.files:
            for part, task, samples in _tasks(file):
                for number, sample in enumerate(samples):
                    yield _row(file, part, task, number, sample, tests, label)

    return read_rows(source, rows, labelled=label is not None, number="sample")


def _tests(source: Source) -> str:
    """Return which tests decide: those chosen, else plus where the first sample has them, else base."""
    for file in source.files:
        for part, _, samples in _tasks(file):
            for sample in samples:
                if source.choices.labels_from is not None:
                    one_choice(
                        "labels_from", source.choices.labels_from, sample, file.path, "fields", part.line
                    )
                there = [name for name in (PLUS, BASE) if sample.get(f"{name}_status") is not None]
                asked = source.choices.correct_from or (there[0] if there else BASE)
                return one_choice("correct_from", asked, there, file.path, "tests", part.line)
    raise file_error(source.files[0].path, None, EVAL, "holds no samples")


def _tasks(file: LogFile) -> Iterator[tuple[Part, str, list[dict[str, Any]]]]:
    """Yield each task with its samples as dicts."""
    seen = False
    for part in parts(file.path, opened=EVAL):
        if part.path[0] != EVAL:
            continue
        if len(part.path) == 1 or not isinstance(part.path[1], str):
            got = kind_name(part.value) if len(part.path) == 1 else "a list"
            raise file_error(file.path, part.line, EVAL, f"must be an object of tasks; got {got}")
        seen = True
        yield part, part.path[1], _samples(file, part)
    if not seen:
        raise file_error(
            file.path, None, EVAL, "holds no tasks; it must hold a list of samples for each task"
        )


def _samples(file: LogFile, part: Part) -> list[dict[str, Any]]:
    value, task = part.value, part.path[1]
    if isinstance(value, Pairs) and BASE in dict(value):
        value = _old_samples(dict(value))
    if not isinstance(value, list) or isinstance(value, Pairs):
        raise file_error(file.path, part.line, task, f"must be a list of samples; got {kind_name(value)}")
    try:
        return [sample if isinstance(sample, dict) else record_of(sample) for sample in value]
    except TextError as fault:
        raise file_error(file.path, part.line, task, f"a sample {fault}") from None


def _old_samples(task: dict[str, Any]) -> Any:
    """Turn the lists of version 0.1 into samples."""
    base, plus = task[BASE], task.get(PLUS) or []
    if not isinstance(base, list) or (plus and len(plus) != len(base)):
        return base
    statuses = zip(base, plus or [None] * len(base), strict=True)
    return [{"base_status": _first(one), "plus_status": _first(other)} for one, other in statuses]


def _first(entry: Any) -> Any:
    return entry[0] if isinstance(entry, list) and entry else entry


def _row(
    file: LogFile, part: Part, task: str, number: int, sample: dict[str, Any], tests: str, label: str | None
) -> Row:
    if sample.get("task_id", task) != task:
        got = shown(sample["task_id"])
        raise file_error(
            file.path, part.line, "task_id", f"must be that of its list, {shown(task)}; got {got}"
        )
    passed = _passed(file, part, task, number, sample, BASE)
    if tests == PLUS:
        passed &= _passed(file, part, task, number, sample, PLUS)
    labels = None if label is None else _labels(file, part, task, number, sample, label)
    return Row(f"{file.path}:{part.line}", task, number, labels, correct=passed)


def _passed(file: LogFile, part: Part, task: str, number: int, sample: dict[str, Any], tests: str) -> bool:
    field = f"{tests}_status"
    status = sample.get(field)
    if status not in STATUSES:
        where = f"in sample {number} of {shown(task)}"
        got = "nothing: it is missing" if field not in sample else "null" if status is None else shown(status)
        what = f"must be one of {listed(STATUSES)}; got {got} {where}"
        raise file_error(file.path, part.line, field, what)
    return bool(status == "pass")


def _labels(
    file: LogFile, part: Part, task: str, number: int, sample: dict[str, Any], field: str
) -> list[str]:
    if sample.get(field) is None:
        return []
    labels = LABEL.value(sample[field], "json")
    if labels is None:
        where = f"in sample {number} of {shown(task)}"
        raise file_error(
            file.path, part.line, field, f"must be {LABEL.must}; got {shown(sample[field])} {where}"
        )
    return list(labels)


FORMAT = Format(
    "evalplus",
    "an object with date, hash, eval",
    _recognises,
    _read,
    kinds=frozenset({"jsonl", "document"}),
    takes={
        "labels_from": "a field of the samples (`solution`); else the one label is `correct`",
        "correct_from": "`base` or `plus` (base and plus tests); else plus where it is there",
    },
    no_min_score="EvalPlus's results hold no score, only a status; leave it out",
)
