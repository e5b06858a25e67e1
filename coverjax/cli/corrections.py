"""`coverjax corrections`: check cases, run a system on them, compare two runs."""

import contextlib
import dataclasses
import json
import pathlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal

import tyro

from coverjax.cli.options import parse
from coverjax.cli.outputs import command_line, finish, interruptible, out_folder, plain
from coverjax.cli.under_verbs import run_under_verb
from coverjax.corrections.aggregates import summaries
from coverjax.corrections.cases import scan_cases
from coverjax.corrections.checking import check_cases
from coverjax.corrections.comparing import compare_systems
from coverjax.corrections.competence import Competence, read_competence
from coverjax.corrections.journal import records_file
from coverjax.corrections.runner import run as run_cases
from coverjax.corrections.snapshots import Scan
from coverjax.corrections.sweeps import Sweep
from coverjax.corrections.systems import FIELDS
from coverjax.foundation.checks import InputError, fraction, shown
from coverjax.logs.files import expand, facts

Rule = Literal["unicode", "ascii"]
Files = Annotated[tuple[pathlib.Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="CASES...")]


@dataclasses.dataclass(frozen=True)
class CheckOptions:
    """Check that cases measure what they should, and name everything that is wrong with them.

    A case is a JSON object on a line of its own: `concept`, `curriculum` (the corrections in order), `probe`,
    `expected_tokens`, optionally `seed` and `split`. Each correction must bring exactly one new expected
    token; none may stand in the probe or the seed turn; no concept may stand twice, or in two splits.

    Exit 2 where something is wrong.
    """

    cases: Files
    """Files of cases, JSONL."""
    pack: pathlib.Path | None = None
    """File of the concepts that are allowed: one a line, or a JSON list."""
    rule: Rule = "unicode"
    """What a token is: letters and digits of any script, or [a-z][a-z'-]*."""
    json: bool = False
    """Print one JSON document on stdout and nothing else there."""


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """Teach a system each concept, one correction at a time, and publish the curve.

    For every number of corrections a fresh system is built, taught and asked the concept's probe; then all of
    it again, as a replay. Without --out and --json a report is printed and nothing is written.
    """

    cases: Files
    """Files of cases, JSONL; see `coverjax corrections check --help`."""
    system: str
    """memory, noisy-memory, chat, or module:name of what builds a system with `teach` and `probe`."""
    settings: tuple[str, ...] = ()
    """Keyword arguments for it: name=value, the value as JSON or else text, such as forgetting=0.2."""
    pack: pathlib.Path | None = None
    """File of the concepts that are allowed; its hash is recorded."""
    fields: tuple[str, ...] = FIELDS
    """Text fields of an answer that are looked through for tokens."""
    rule: Rule = "unicode"
    """What a token is: letters and digits of any script, or [a-z][a-z'-]*."""
    orders: int = 1
    """Number of orders of each curriculum: as written, then random ones."""
    distractors: int = 0
    """Corrections of other concepts that are taught before each correction, and not counted."""
    seeds: tuple[int, ...] = ()
    """Run every case with each of these as the system's `seed`."""
    no_seed_turn: bool = False
    """Leave the seed turns of the cases out."""
    workers: int | None = None
    """Worker processes; 0: this one. Default: one for each CPU."""
    out: pathlib.Path | None = None
    """Folder for report.html, records.jsonl, concepts.csv, snapshots.csv, summary.json and the figures."""
    resume: bool = False
    """Go on with the unfinished run in --out. It ends with the bytes of one that was never interrupted."""
    json: bool = False
    """Print summary.json on stdout, and nothing else there."""
    level: float = 0.95
    """Nominal level of intervals and bands."""
    seed: int = 0
    """Seed of random orders, of the choice of distractors, and of the bands."""


@dataclasses.dataclass(frozen=True)
class CompareOptions:
    """Compare two runs on the same cases, paired over concepts."""

    a: Annotated[pathlib.Path, tyro.conf.Positional]
    """Folder of a finished run, or its records.jsonl."""
    b: Annotated[pathlib.Path, tyro.conf.Positional]
    """The other one; differences are a - b."""
    split: str | None = None
    """Only this split."""
    out: pathlib.Path | None = None
    """Folder for report.html, summary.json and the figures, PNG and SVG."""
    json: bool = False
    """Print summary.json on stdout, and nothing else there."""
    level: float = 0.95
    """Nominal level of intervals and bands."""
    seed: int = 0
    """Seed of the bands."""


def run(argv: Sequence[str]) -> None:
    """Run the verb with these arguments: the first is the verb under it."""
    run_under_verb(
        "corrections", "How many reviewed corrections until a concept is competent?", VERBS, parse, argv
    )


def check_command(options: CheckOptions) -> None:
    """Print what is wrong with cases; leave with 2 where something is."""
    from coverjax.report.competence_tables import problems_text
    from coverjax.report.plain import to_json

    paths = _paths(options.cases, "check")
    problems = check_cases(paths, options.pack, options.rule)
    cases, broken = scan_cases(paths)
    count = len(cases) + len(broken)
    if options.json:
        document = {
            "verb": "corrections check",
            "command": command_line("corrections check", options),
            "files": [facts(path) for path in expand(paths)],
            "pack": None if options.pack is None else facts(str(options.pack)),
            "cases": count,
            "ok": not problems,
            "problems": [dataclasses.asdict(problem) for problem in problems],
        }
        sys.stdout.write(to_json(document))
    else:
        sys.stdout.write(problems_text(problems, count))
    if problems:
        print(f"{len(problems)} problems in {count} cases", file=sys.stderr)
        raise SystemExit(2)


def run_command(options: RunOptions) -> None:
    """Run, write, print: the records as they come, everything else when all are there."""
    from coverjax.report.competence_summary import run_document
    from coverjax.report.competence_tables import run_text
    from coverjax.report.plain import to_json

    paths = _paths(options.cases, "run")
    level = fraction("--level", options.level)
    if options.resume and options.out is None:
        raise InputError("--resume: needs --out, the folder of the run to go on with")
    found = _run(options, paths)
    parts = summaries(found, level, options.seed)
    document = run_document(
        found,
        parts,
        level=level,
        seed=options.seed,
        command=command_line("corrections run", options),
        options=plain(options),
    )
    text = to_json(document)
    with out_folder(options.out) as part:
        written = [] if part is None else _write_run(found, parts, document, part)
    finish(options.out, ["records.jsonl", *written], text if options.json else run_text(found, parts, level))


def _run(options: RunOptions, paths: list[str]) -> Competence:
    sweep = Sweep(
        orders=options.orders,
        distractors=options.distractors,
        seeds=options.seeds,
        seed_turn=not options.no_seed_turn,
        seed=options.seed,
    )
    journal = None if options.out is None else options.out / "records.jsonl"
    # What a system prints, or its module, is no part of the report.
    with interruptible(options.out), _bar() as tell, contextlib.redirect_stdout(sys.stderr):
        return run_cases(
            paths,
            options.system,
            scan=Scan(options.fields, options.rule),
            sweep=sweep,
            settings=dict(map(_setting, options.settings)),
            pack=options.pack,
            workers=options.workers,
            journal=journal,
            resume=options.resume,
            command=command_line("corrections run", options),
            tell=tell,
        )


def _write_run(found: Competence, parts: Any, told: dict[str, Any], part: pathlib.Path) -> list[str]:
    from coverjax.report.competence_page import run_page
    from coverjax.report.competence_plots import write_run_figures
    from coverjax.report.competence_summary import write_concepts, write_snapshots
    from coverjax.report.html import write_page
    from coverjax.report.plain import write_json

    write_concepts(found, part / "concepts.csv")
    write_snapshots(found, part / "snapshots.csv")
    write_json(part / "summary.json", told)
    figures = write_run_figures(found, part, level=told["level"], seed=told["seed"])
    written = ["concepts.csv", "snapshots.csv", "summary.json", *figures]
    return [write_page(run_page(found, parts, told, ["records.jsonl", *written]), part), *written]


def compare_command(options: CompareOptions) -> None:
    """Read two runs, compare, write, print."""
    from coverjax.report.competence_page import comparison_page
    from coverjax.report.competence_plots import write_comparison_figures
    from coverjax.report.competence_summary import comparison_document
    from coverjax.report.competence_tables import comparison_text
    from coverjax.report.html import write_page
    from coverjax.report.plain import to_json, write_json

    level = fraction("--level", options.level)
    a, b = (read_competence(path) for path in (options.a, options.b))
    if options.split is not None:
        a, b = a.split(options.split), b.split(options.split)
    found = compare_systems(a, b, level, seed=options.seed)
    document = comparison_document(
        found,
        command=command_line("corrections compare", options),
        options=plain(options),
        files=[facts(str(records_file(path))) for path in (options.a, options.b)],
    )
    text = to_json(document)
    written: list[str] = []
    with out_folder(options.out) as part:
        if part is not None:
            write_json(part / "summary.json", text)
            written = ["summary.json", *write_comparison_figures(found, part, seed=options.seed)]
            written.insert(0, write_page(comparison_page(found, document, written), part))
    finish(options.out, written, text if options.json else comparison_text(found))


VERBS: dict[str, tuple[Any, Callable[[Any], None]]] = {
    "check": (CheckOptions, check_command),
    "run": (RunOptions, run_command),
    "compare": (CompareOptions, compare_command),
}


def _paths(cases: tuple[pathlib.Path, ...], verb: str) -> list[str]:
    if not cases:
        raise InputError(
            f"coverjax corrections {verb}: needs at least one file of CASES; see "
            f"coverjax corrections {verb} --help"
        )
    return [str(path) for path in cases]


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise InputError(f"--settings: must be name=value, such as forgetting=0.2; got {shown(text)}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


@contextlib.contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    """Show finished curves, their rate and the time left on stderr, where someone sits at the terminal."""
    from tqdm import tqdm

    with tqdm(unit=" curves", leave=False, file=sys.stderr, disable=not sys.stderr.isatty()) as bar:

        def tell(done: int, units: int) -> None:
            bar.total = units
            bar.update(done - bar.n)

        yield tell
