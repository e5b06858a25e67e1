"""verl's dumps of rollouts: JSON lines with `input`, `output`, `score` and `step`, and what the reward adds.

`RayPPOTrainer._dump_generations` writes one file a step (`trainer.rollout_data_dir`,
`validation_data_dir`). Prompts are the inputs; their samples are numbered in the order of the rows. Several
steps are several policies: each is a method. A sample is correct by the field `acc` where the reward gives
one, else by a score of 1 where the scores are 0 and 1, or -1 and 1. Source: github volcengine/verl,
verl/trainer/ppo/ray_trainer.py.
"""

from typing import NoReturn

from coverjax.foundation.checks import file_error, listed
from coverjax.logs.cells import LABEL, VERDICT
from coverjax.logs.counts import CountTable
from coverjax.logs.files import LogFile
from coverjax.logs.formats.base import Format, Source
from coverjax.logs.formats.rows import Found, chosen_field, found_rows, read_found
from coverjax.logs.log import SampleLog
from coverjax.logs.rules import NAME, NUMBER, WHOLE, Field

PROMPT = Field("input", NAME, required=True)
SCORE = Field("score", NUMBER, required=True)
STEP = Field("step", WHOLE)
METHOD = Field("method", NAME)
ACCURATE = Field("acc", VERDICT, nullable=True)

CORRECT_SCORES = ({0.0, 1.0}, {-1.0, 1.0})
"""Scores that say by themselves which samples are correct."""


def _recognises(file: LogFile) -> bool:
    return {"input", "output", "score"} <= set(file.columns) and "strategies" not in file.columns


def _read(source: Source) -> SampleLog | CountTable:
    labels = chosen_field(source, "labels_from", LABEL)
    correct = chosen_field(source, "correct_from", VERDICT)
    if correct is None and any(ACCURATE.name in file.columns for file in source.files):
        correct = ACCURATE
    chosen = [field for field in (labels, correct) if field]
    found = found_rows(source, [PROMPT, SCORE, STEP, METHOD, *chosen])
    source.provenance["labels_from"] = labels.name if labels else "correct"
    return read_found(
        source,
        input=found[PROMPT],
        method=_method(source, found),
        correct=_correct(source, found, correct, bool(labels)),
        score=found[SCORE],
        labels=found[labels] if labels else "",
    )


def _method(source: Source, found: Found) -> str:
    """The method of a row: its own, or its step where there are several."""
    if METHOD.name in found.present:
        return found[METHOD]
    step = found[STEP]
    steps = source.connection.execute(f"SELECT DISTINCT {step} FROM found ORDER BY 1 LIMIT 2").fetchall()
    if len(steps) == 1:
        source.provenance["step"] = steps[0][0]
        return "NULL::VARCHAR"
    return f"'step ' || {step}"


def _correct(source: Source, found: Found, field: Field | None, labelled: bool) -> str:
    """Whether a row is correct: by a field, or by its score where that has two values that say so."""
    if field is not None and source.choices.min_score is None:
        source.provenance["correct_from"] = field.name
        return f"coalesce({found[field]}, false)"
    source.provenance["correct_from"] = SCORE.name
    if source.choices.min_score is not None:
        return "NULL::BOOLEAN"  # the threshold says it
    score = found[SCORE]
    values = [
        value
        for (value,) in source.connection.execute(
            f"SELECT DISTINCT {score} FROM found ORDER BY 1 LIMIT 7"
        ).fetchall()
    ]
    if any(set(values) <= pair for pair in CORRECT_SCORES):
        return f"{score} = 1"
    if labelled:
        source.note("the scores are not 0 and 1, so it is unknown which samples are correct: give min_score")
        return "NULL::BOOLEAN"
    _refuse(source, values)


def _refuse(source: Source, values: list[float]) -> NoReturn:
    told = listed((f"{value:g}" for value in values), limit=6)
    raise file_error(
        source.files[0].path,
        None,
        "score",
        f"must be 0 and 1 (or -1 and 1) to say which samples are correct; got {told}; give a threshold "
        "(--min-score T, min_score=T) or a field (--correct-from FIELD)",
    )


FORMAT = Format(
    "verl",
    "input, output, score",
    _recognises,
    _read,
    takes={
        "labels_from": "a field of the rows; else the one label is `correct`",
        "correct_from": "a field of flags; else `acc` where it is there, else the score",
    },
)
