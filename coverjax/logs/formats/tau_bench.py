"""tau-bench's results: an array of runs with `task_id`, `trial`, `reward`; `info` and `traj` beside them.

A trial of a task is a sample of it. It is correct where its reward is 1 within 1e-6, as tau-bench counts,
and valid unless `info` holds an `error`: the run broke off, has reward 0, and stays. A table of `task_id`,
`trial`, `reward` in any kind of file is read alike. Source: github sierra-research/tau-bench,
tau_bench/types.py (`EnvRunResult`) and tau_bench/run.py (`display_metrics`).
"""

from typing import Any, NoReturn

from coverjax.foundation.checks import shown
from coverjax.logs.cells import LABEL
from coverjax.logs.counts import CountTable
from coverjax.logs.files import LogFile
from coverjax.logs.formats.base import Format, Source
from coverjax.logs.formats.rows import Repeat, chosen_field, found_rows, read_found
from coverjax.logs.jsontext import Pairs
from coverjax.logs.locating import Record, raise_repeat
from coverjax.logs.log import SampleLog
from coverjax.logs.rules import NAME, NUMBER, WHOLE, Field, Rule

CLOSE = 1e-6
"""How near to 1 a reward must be: `REWARD_SUCCESS_MIN` and `REWARD_SUCCESS_MAX` of tau-bench."""


def _object_sql(x: str, dialect: str) -> str:
    return f"CASE WHEN starts_with({x}, '{{') THEN json_exists({x}::JSON, '$.error') END"


def _object_value(value: Any, dialect: str) -> bool | None:
    return any(key == "error" for key, _ in value) if isinstance(value, Pairs) else None


TASK = Field("task_id", NAME, required=True)
TRIAL = Field("trial", WHOLE, required=True)
REWARD = Field("reward", NUMBER, required=True)
INFO = Field("info", Rule("an object", _object_sql, _object_value, "BOOLEAN"))
METHOD = Field("method", NAME)
FIELDS = (TASK, TRIAL, REWARD, METHOD)


def _recognises(file: LogFile) -> bool:
    return {"task_id", "trial", "reward"} <= set(file.columns)


def _read(source: Source) -> SampleLog | CountTable:
    labels = chosen_field(source, "labels_from", LABEL)
    info = [INFO] if source.dialect == "json" else []
    found = found_rows(source, [*FIELDS, *info, *([labels] if labels else [])])
    source.provenance["correct_from"] = REWARD.name
    source.provenance["labels_from"] = labels.name if labels else REWARD.name
    reward = found[REWARD]
    return read_found(
        source,
        input=found[TASK],
        sample=found[TRIAL],
        method=found[METHOD],
        valid=f"NOT {found[INFO]}" if info else "NULL::BOOLEAN",
        correct=f"abs({reward} - 1) <= {CLOSE}",
        score=reward,
        labels=found[labels] if labels else "",
        repeat=_repeat(source),
    )


def _repeat(source: Source) -> Repeat:
    def key(record: Record, dialect: str) -> tuple[str, str, int]:
        named = record.get(METHOD.name)
        method = "" if named is None else NAME.value(named, dialect)
        return method, NAME.value(record[TASK.name], dialect), WHOLE.value(record[TRIAL.name], dialect)

    def twice(found: Any) -> tuple[str, str]:
        method, task, trial = found
        where = f"the task {shown(task)}" + (f", method {shown(method)}" if method else "")
        return TRIAL.name, f"must be another number for each run of a task; {trial} stands twice for {where}"

    def repeat(place: tuple[str, str, str]) -> NoReturn:
        raise_repeat(source.files, FIELDS, key, lambda found: found[:2] == place[:2], twice)

    return repeat


FORMAT = Format(
    "tau_bench",
    "task_id, trial, reward",
    _recognises,
    _read,
    takes={"labels_from": "a field of the rows; else the one label is `correct`"},
)
