"""Write a log: JSON lines that `read_log` reads back."""

import csv
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from coverjax.foundation.checks import InputError
from coverjax.foundation.files import whole_file
from coverjax.logs.cells import cell_of_name
from coverjax.logs.counts import CountTable
from coverjax.logs.files import need_ending
from coverjax.logs.log import SampleLog
from coverjax.logs.needs import need_log, need_samples


def write_log(log: SampleLog, path: str | os.PathLike[str]) -> None:
    """Write a log as JSON lines, one line a sample, under a temporary name that is then renamed.

    Fields: `input`, `sample` (the observed order, from 0), `strategies` (all labels of the sample, the
    undeclared ones too), and `method`, `trial`, `valid`, `correct`, `score`, `latent`, `labeler` where
    the log has them. The declared strategies are another file: `write_declared`. What lines of samples
    can't hold is not written: inputs and trials without samples, and whether the order means anything.

    Args:
        log: the log; one that has several labelers doesn't know which sample was labelled by whom.
        path: the file, named as JSON lines (.jsonl, .ndjson, .json); it is replaced if it is there.

    Raises:
        InputError: the path can't be written to or is named as something else, or the log has several
            labelers.
    """
    need_samples(log)
    need_ending(path, "jsonl")
    if len(log.labelers) > 1:
        raise InputError(
            f"labeler: must be one for all samples to be written; got {', '.join(log.labelers)}: "
            "write one log a labeler"
        )
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        for line in _lines(log):
            file.write(json.dumps(line, allow_nan=False, separators=(", ", ": ")) + "\n")


def write_declared(log: SampleLog | CountTable, path: str | os.PathLike[str]) -> None:
    """Write the declared strategies as CSV with columns `input`, `strategy`, a line for each pair.

    An input that is there with several methods is written once. A name with blanks at its ends, or that
    starts with ``[``, is written as a JSON list of itself, which `read_log` reads as the name. A log none of
    whose inputs has a declared strategy gives a header alone.

    Raises:
        InputError: the path can't be written to, or does not end in .csv or .tsv.
    """
    need_log(log)
    need_ending(path, "csv")
    pairs = {
        (log.ids[row], name): None
        for row, names in enumerate(log.labels)
        for name, declared in zip(names, log.declared[row], strict=False)
        if declared
    }
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["input", "strategy"])
        writer.writerows([cell_of_name(str(name)) for name in pair] for pair in pairs)


def _lines(log: SampleLog) -> Iterator[dict[str, Any]]:
    trials = log.n.shape[1] > 1
    for row in range(log.inputs):
        start: dict[str, Any] = {"input": _plain(log.ids[row])}
        if log.method is not None:
            start["method"] = log.method[row]
        for trial in range(log.n.shape[1]):
            if trials:
                start["trial"] = trial
            for sample in range(log.n[row, trial]):
                yield start | _sample(log, row, trial, sample)


def _sample(log: SampleLog, row: int, trial: int, sample: int) -> dict[str, Any]:
    at = (row, trial, sample)
    names = log.labels[row]
    line: dict[str, Any] = {
        "sample": sample,
        "strategies": [names[column] for column in np.flatnonzero(log.matches[at])],
    }
    for field in ("valid", "correct"):
        flags = getattr(log, field)
        if flags is not None:
            line[field] = bool(flags[at])
    if log.score is not None:
        line["score"] = float(log.score[at])
    if log.latent is not None:
        code = int(log.latent[at])
        line["latent"] = None if code < 0 else log.latents[code]
    if log.labelers:
        line["labeler"] = log.labelers[0]
    return line


def _plain(name: Any) -> Any:
    """A name as JSON has it: numbers and text stay, anything else is text."""
    return name if isinstance(name, str | int) else str(name)
