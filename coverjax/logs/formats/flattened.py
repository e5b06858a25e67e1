"""Samples that lie nested in documents: made into rows one by one, kept in a file beside the database."""

import dataclasses
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import NoReturn

from coverjax.foundation.checks import InputError, file_error, shown
from coverjax.logs.counts import CountTable
from coverjax.logs.files import LogFile
from coverjax.logs.formats.base import Source, read_samples
from coverjax.logs.formats.choices import Choices
from coverjax.logs.formats.rows import OUTCOME, outcome_source
from coverjax.logs.log import SampleLog
from coverjax.logs.tables import relation
from coverjax.logs.tallying import FIELDS, Blame, impossible


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One sample.

    Attributes:
        place: where it stands, as messages name it.
        input, sample, method, valid, correct, score: as in a log.
        labels: what it matches; None: "correct" where it is correct.
    """

    place: str
    input: str
    sample: int
    labels: list[str] | None
    method: str | None = None
    valid: bool | None = None
    correct: bool | None = None
    score: float | None = None


def read_rows(
    source: Source,
    rows: Callable[[], Iterator[Row]],
    labelled: bool,
    number: str,
    told: Callable[[], None] = lambda: None,
) -> SampleLog | CountTable:
    """Read samples that `rows` yields; it is called again to name the place of one that stands twice.

    Args:
        source: the files.
        rows: yields checked samples.
        labelled: whether they have labels.
        number: the name of what numbers the samples of an input, for messages.
        told: called when all rows were yielded once, to note what they showed.
    """
    source = source if labelled else outcome_source(source)
    folder = source.connection.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", dir=folder, encoding="utf-8") as file:
        total, scored = 0, 0
        for row in rows():
            total += 1
            scored += row.score is not None
            file.write(json.dumps(_plain(row, source.choices.min_score)) + "\n")
        if not total:
            raise file_error(source.files[0].path, None, None, "holds no samples")
        file.flush()
        told()
        _need_scores(source, total, scored)
        query = relation([LogFile(file.name, "jsonl")], FIELDS)
        if scored < total:
            query = f"SELECT * REPLACE (NULL AS score) FROM ({query})"
        blame = Blame(impossible, lambda place: _raise_repeat(rows(), place, number))
        # The threshold has done its work.
        source = dataclasses.replace(source, choices=Choices())
        return read_samples(source, query, blame, dialect="json")


def _plain(row: Row, threshold: float | None) -> dict[str, object]:
    correct = row.correct
    if threshold is not None:
        correct = row.score is not None and row.score >= threshold
    labels = row.labels if row.labels is not None else [OUTCOME] if correct else []
    return {
        "input": row.input,
        "sample": row.sample,
        "strategies": labels,
        "method": row.method,
        "valid": row.valid,
        "correct": correct,
        "score": row.score,
    }


def _need_scores(source: Source, total: int, scored: int) -> None:
    if source.choices.min_score is not None and not scored:
        raise InputError("score: a minimum score needs a score of the samples; this log has none")
    if 0 < scored < total:
        source.note(f"{total - scored:,} of {total:,} samples have no score, so that the log keeps none")


def _raise_repeat(rows: Iterator[Row], place: tuple[str, str, str], number: str) -> NoReturn:
    first: dict[int, str] = {}
    for row in rows:
        if (row.method or "", row.input) != place[:2]:
            continue
        if row.sample in first:
            where = f"the input {shown(row.input)}" + (f", method {shown(row.method)}" if row.method else "")
            raise InputError(
                f"{row.place}: {number}: must be another number for each sample; {row.sample} stands twice "
                f"for {where} (first at {first[row.sample]}); of two runs, read each as a method: --by file"
            )
        first[row.sample] = row.place
    impossible(place)
