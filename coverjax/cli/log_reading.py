"""The logs that a verb is about: read by method or by file, with the choices that their format leaves."""

import pathlib
import sys
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from coverjax.cli.progress import Progress
from coverjax.foundation.checks import InputError
from coverjax.logs.files import facts as file_facts
from coverjax.logs.files import kind_of
from coverjax.logs.reading import read_log
from coverjax.logs.tables import begin, workspace
from coverjax.report.study import Log

COUNTED_ABOVE = 1 << 32
"""Bytes of log from which on only counts are kept, unless the order is needed or there are trials."""


class ReadingOptions(Protocol):
    """What a verb that reads logs offers; see `EstimateOptions` for what each means."""

    @property
    def log(self) -> tuple[pathlib.Path, ...]: ...
    @property
    def declared(self) -> pathlib.Path | None: ...
    @property
    def by(self) -> Literal["method", "file"] | None: ...
    @property
    def ordered(self) -> bool: ...
    @property
    def counts(self) -> bool: ...
    @property
    def format(self) -> str: ...
    @property
    def labels_from(self) -> str | None: ...
    @property
    def correct_from(self) -> str | None: ...
    @property
    def filter(self) -> str | None: ...
    @property
    def min_score(self) -> float | None: ...


def read_logs(options: ReadingOptions, progress: Progress) -> tuple[dict[str, Log], list[dict[str, Any]]]:
    """Read the log; return it by method ({"": log} where there is none), and the facts of the files."""
    logs = _by_file(options, progress) if options.by == "file" else _by_column(options, progress)
    files = {facts["path"]: facts for log in logs.values() for facts in log.provenance["files"]}
    if options.declared is not None:
        files.setdefault(str(options.declared), file_facts(str(options.declared)))
    return logs, list(files.values())


def _by_column(options: ReadingOptions, progress: Progress) -> dict[str, Log]:
    log = _read(options, options.log, progress)
    if log.method is not None:
        return dict(log.by_method())
    if options.by == "method":
        raise InputError(
            f"{options.log[0]}: method: must be a column for --by method; there is none: add it, or drop --by"
        )
    return {"": log}


def _by_file(options: ReadingOptions, progress: Progress) -> dict[str, Log]:
    names = [path.name.split(".")[0] for path in options.log]
    if len(set(names)) < len(names):
        names = [str(path) for path in options.log]
    logs: dict[str, Log] = {}
    for name, path in zip(names, options.log, strict=True):
        log = _read(options, (path,), progress)
        if log.method is not None:
            raise InputError(f"{path}: method: must be no column for --by file; drop --by, or the column")
        if not log.declared_given and len(names) > 1:
            raise InputError(
                f"{path}: --by file needs --declared: each file alone would choose its own strategies, and "
                "could not be compared with the others; or write one log with a `method` column"
            )
        logs[name] = log
    return logs


def _read(options: ReadingOptions, paths: Sequence[pathlib.Path], progress: Progress) -> Log:
    progress.step(f"reading {paths[0].name}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else ""))
    return read_log(
        [str(path) for path in paths],
        format=options.format,
        declared=None if options.declared is None else str(options.declared),
        counts=options.counts or _too_large(options, paths),
        ordered=options.ordered,
        labels_from=options.labels_from,
        correct_from=options.correct_from,
        filter=options.filter,
        min_score=options.min_score,
    )


def _too_large(options: ReadingOptions, paths: Sequence[pathlib.Path]) -> bool:
    """Whether the files are better counted than kept; said on stderr, as the report then tells less."""
    size = sum(path.stat().st_size for path in paths if path.is_file())
    if options.counts or options.ordered or size <= COUNTED_ABOVE:
        return False
    large = f"{paths[0]}: {size / 2**30:.1f} GiB of log"
    if _has_trials(str(paths[0])):
        print(f"{large} with trials: all samples are kept, since counts have no trials", file=sys.stderr)
        return False
    print(
        f"{large}: only counts are kept (--counts), so there is no full coverage, no T and no barcode",
        file=sys.stderr,
    )
    return True


def _has_trials(path: str) -> bool:
    """Whether the first record has a trial: it stands on every row or on none."""
    with workspace() as connection:
        return "trial" in begin(connection, path, kind_of(path)).columns
