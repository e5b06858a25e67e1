"""Teach every case from nothing to all its corrections, a fresh system each time, twice."""

import dataclasses
import hashlib
import json
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from coverjax._version import __version__
from coverjax.corrections.cases import Case, Paths, read_cases
from coverjax.corrections.checking import check_cases, read_pack, refuse
from coverjax.corrections.competence import Competence, competence_of
from coverjax.corrections.journal import KIND, Journal
from coverjax.corrections.snapshots import Scan
from coverjax.corrections.sweeps import Sweep, Unit, units_of
from coverjax.corrections.systems import Factory, System, UnavailableError
from coverjax.corrections.workers import Processes, default_workers, end_if_imported, run_here
from coverjax.foundation.checks import InputError, shown, whole_number
from coverjax.logs.files import facts

_AS_WRITTEN, _DEFAULT_SCAN = Sweep(), Scan()


def run(
    cases: "Paths | Sequence[Paths | Case | Mapping[str, Any]]",
    factory: "Callable[..., System] | str | Factory",
    *,
    scan: Scan = _DEFAULT_SCAN,
    sweep: Sweep = _AS_WRITTEN,
    settings: "Mapping[str, Any] | None" = None,
    pack: "Paths | None" = None,
    check: bool = True,
    workers: int | None = None,
    journal: "Paths | None" = None,
    resume: bool = False,
    command: str | None = None,
    tell: Callable[[int, int], None] = lambda done, units: None,
) -> Competence:
    """Measure how many corrections it takes a system to become competent at each concept.

    For k = 0..n: build a fresh system, teach the seed turn and the first k corrections, ask the probe, and
    count the expected tokens in the answer; then all of it again, as a replay. Nothing is carried from one
    snapshot to the next, so a curve may fall as well as rise.

    * A correction that is not accepted makes its case `not_graded`, with the reason.
    * Whatever a system raises, and the end of its process too, is the failure of that one snapshot. It
      shows no token there, which is a score and not a gap, and its replay counts as different.
    * A system that raises `UnavailableError` ends the run: no answer is no score.

    Args:
        cases: paths of JSONL files, or cases; see `read_cases`.
        factory: what builds a system: a callable without required arguments, `module:name`, or a built-in
            name ("memory", "noisy-memory", "chat").
        scan: fields of an answer that are looked through, and the token rule.
        sweep: orders, distractors and seeds to run each case with.
        settings: keyword arguments for the factory.
        pack: a file of the concepts that are allowed.
        check: refuse cases that `check_cases` finds something wrong with.
        workers: number of worker processes; 0: this process, where a system that ends its process ends
            everything. None: one for each CPU, or this process where that can't be (a lambda for a factory, a
            script that calls this outside `if __name__ == "__main__":`); `provenance["ran"]` says which.
        journal: file of records that is written as concepts finish; it has its final name when all are there.
        resume: go on with an unfinished journal of the same run.
        command: what asked for this, for the header.
        tell: called with the number of finished units and of all, as they finish.

    Returns:
        A `Competence`: one row for each case and variant, in the order of the cases.

    Raises:
        InputError: the cases are wrong, the system can't be found or reached, or the journal is of another
            run.

    >>> case = {"concept": "tide", "probe": "What is a tide?", "curriculum": ["A tide is a rise of the sea.",
    ...         "The moon pulls a tide."], "expected_tokens": ["sea", "moon"]}
    >>> found = run([case], "memory", workers=0)
    >>> found.hits.tolist(), found.saturation.tolist(), found.replay_determinism
    ([[0.0, 1.0, 2.0]], [2.0], 1.0)
    """
    end_if_imported()
    if check:
        refuse(check_cases(cases, pack, scan.rule))
    read = read_cases(cases)
    built = _factory(factory, settings)
    built.check(seeded=bool(sweep.seeds))
    _plain_settings(built.settings)
    units = units_of(read, sweep)
    header = _header(read, built, scan, sweep, pack, len(units), command)
    if journal is None:
        lines, ran = _run_all(built, units, scan, workers, None, tell)
    else:
        with Journal(journal, header, resume) as book:
            lines, ran = _run_all(built, units, scan, workers, book, tell)
            book.finish()
    return competence_of(header, lines, ran)


def _factory(factory: Any, settings: "Mapping[str, Any] | None") -> Factory:
    if isinstance(factory, Factory):
        return factory if not settings else dataclasses.replace(factory, settings=dict(settings))
    if not callable(factory) and not isinstance(factory, str):
        raise InputError(f"factory: must be a callable or module:name; got {shown(factory)}")
    return Factory(factory, dict(settings or {}))


def _plain_settings(settings: Mapping[str, Any]) -> None:
    try:
        json.dumps(dict(settings), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"settings: must be values that JSON can hold, as the records name them; {error}: bind others "
            "with functools.partial"
        ) from None


def _header(
    cases: Sequence[Case],
    factory: Factory,
    scan: Scan,
    sweep: Sweep,
    pack: "Paths | None",
    units: int,
    command: str | None,
) -> dict[str, Any]:
    """What a run is: the first line of its records, and what a resumed run must agree with."""
    paths = dict.fromkeys(case.path for case in cases if case.path is not None)
    digest = hashlib.sha256("".join(case.digest for case in cases).encode()).hexdigest()
    allowed = None
    if pack is not None:
        allowed = {**facts(os.fspath(pack)), "concepts": len(read_pack(pack))}
    return {
        "kind": KIND,
        "coverjax": __version__,
        "command": command,
        "system": factory.facts(),
        "scan": {"fields": list(scan.fields), "rule": scan.rule},
        "sweep": {**dataclasses.asdict(sweep), "seeds": list(sweep.seeds)},
        "seed": sweep.seed,
        "files": [facts(path) for path in paths],
        "pack": allowed,
        "cases_sha256": digest,
        "units": units,
    }


def _run_all(
    factory: Factory,
    units: Sequence[Unit],
    scan: Scan,
    workers: int | None,
    book: Journal | None,
    tell: Callable[[int, int], None],
) -> tuple[list[str], str]:
    """Run what the journal lacks; return all records and how they were made."""
    lines = [] if book is None else book.lines
    rest = units[len(lines) :]
    ran = [""]
    tell(len(lines), len(units))
    try:
        for line in _lines(factory, rest, scan, workers, ran):
            lines.append(line) if book is None else book.append(line)
            tell(len(lines), len(units))
    except UnavailableError as error:
        kept = "" if book is None else f"; {len(lines)} of {len(units)} records are kept: resume the run"
        raise InputError(f"system: must be reachable; {error}{kept}") from error
    return lines, ran[0]


def _lines(
    factory: Factory, units: Sequence[Unit], scan: Scan, workers: int | None, ran: list[str]
) -> Iterator[str]:
    """Yield the records, in worker processes where that is asked for and possible; say which in `ran`."""
    if workers is not None:
        whole_number("workers", workers, 0)
    if not units:
        ran[0] = "nothing was left to run"
        return
    count = default_workers(len(units)) if workers is None else workers
    why = "workers=0" if not count else _unpicklable(factory)
    if why is None:
        with Processes(factory, count) as processes:
            why = processes.why_not()
            if why is None:
                ran[0] = f"{count} worker processes"
                yield from processes.run(units, scan)
                return
    if workers:
        raise InputError(f"workers: must be 0 here; {why}")
    ran[0] = f"this process: {why}"
    yield from run_here(factory, units, scan)


def _unpicklable(factory: Factory) -> str | None:
    try:
        pickle.dumps(factory)
    except Exception as error:
        return f"the factory can't be pickled ({type(error).__name__})"
    return None
