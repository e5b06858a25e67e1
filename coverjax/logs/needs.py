"""What an estimator needs of a log, refused in one line where it is not there."""

import os
from collections.abc import Mapping
from typing import Any

from coverjax.foundation.checks import InputError, shown
from coverjax.logs.counts import CountTable
from coverjax.logs.log import SampleLog


def need_log(value: Any) -> None:
    """Raise unless a value is a log or a count table."""
    if not isinstance(value, SampleLog | CountTable):
        raise InputError(f"log: must be a SampleLog or a CountTable; got {shown(value)}: {_hint(value)}")


def need_samples(value: Any) -> None:
    """Raise unless a value is a log that holds its samples: counts of them don't do."""
    if isinstance(value, CountTable):
        raise InputError("log: must hold the samples themselves; a count table has none: keep the samples")
    if not isinstance(value, SampleLog):
        raise InputError(f"log: must be a SampleLog; got {shown(value)}: {_hint(value)}")


def _hint(value: Any) -> str:
    if isinstance(value, str | os.PathLike):
        return "read_log(...) reads one"
    return "SampleLog.from_arrays makes one"


def need_strategies(log: SampleLog | CountTable) -> None:
    """Raise where the labels only repeat the latent, so that the log shows no strategies."""
    if log.repeats_latent():
        raise InputError(
            "strategies: these labels only repeat the latent, and latent coverage is no strategy coverage; "
            "label the outputs without looking at the latent, and say in `labeler` who did"
        )


def need_one_method(log: SampleLog | CountTable) -> None:
    """Raise where a log compares methods."""
    if log.method is not None:
        raise InputError("method: give one method at a time; split the log with by_method()")


def logs_by_method(log: Any) -> dict[str, SampleLog | CountTable]:
    """Return the logs of the methods by name, from a log with a method column or from a mapping.

    Raises:
        InputError: something is no log, or a log has no method column.
    """
    if isinstance(log, Mapping):
        for part in log.values():
            need_log(part)
        return dict(log)
    need_log(log)
    if log.method is None:
        raise InputError(
            "method: this log has no method column; give one to compare methods, or a dict from method to log"
        )
    return dict(log.by_method())
