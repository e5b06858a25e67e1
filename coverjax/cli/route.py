"""`coverjax route`: seal a routing study, plan its executions, evaluate it."""

import dataclasses
import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import tyro

from coverjax._version import __version__
from coverjax.cli.options import parse
from coverjax.cli.outputs import command_line, finish, out_folder, plain
from coverjax.cli.progress import Progress
from coverjax.foundation.checks import InputError, listed
from coverjax.logs.files import facts
from coverjax.report.plain import to_json, write_json
from coverjax.report.route_plan import plan_files, plan_report
from coverjax.report.route_summary import study_document, write_routers, write_tasks
from coverjax.report.route_text import plan_text, study_text
from coverjax.routing.contracts import read_contract
from coverjax.routing.judging import judge_study, study_sample
from coverjax.routing.planning import next_rows, plan
from coverjax.routing.sealing import Seal, make_seal, read_seal, write_seal
from coverjax.routing.side_files import read_costs
from coverjax.routing.studies import RoutingStudy, load_study, need_routers
from coverjax.routing.tables import OutcomeTable

Contract = Annotated[pathlib.Path, tyro.conf.Positional, tyro.conf.arg(metavar="CONTRACT.toml")]


@dataclasses.dataclass(frozen=True)
class SealOptions:
    """Seal a contract and its route files, before any outcome exists.

    Prints the hash that every outcome row must carry in its `seal` column. Whoever seals later, or changes a
    route file or the contract, has another hash: such routers are `retrospective` for good.
    """

    contract: Contract
    """The contract, TOML; docs/routing.md has its keys."""
    out: pathlib.Path | None = None
    """Where to write the seal. Default: CONTRACT.seal.json beside the contract."""
    json: bool = False
    """Print the seal as JSON on stdout and nothing else there."""


@dataclasses.dataclass(frozen=True)
class PlanOptions:
    """Plan which teams to run on which tasks: for contrasts, for values, for absolute regret.

    With --outcomes also what is left after partial execution, and the rows that narrow absolute regret the
    most. With --out the rows are written as CSV that the runner fills in, the seal beside them.
    """

    contract: Contract
    """The contract, TOML."""
    outcomes: tuple[pathlib.Path, ...] = ()
    """What was run already."""
    costs: pathlib.Path | None = None
    """Table `team`, `cost` (and `task`). Default: every row costs 1."""
    cap: float | None = None
    """The most to spend: rows are cut to it, whole tasks by width removed per cost; the rest stays a set."""
    seal: pathlib.Path | None = None
    """The seal whose hash the rows shall carry. Default: CONTRACT.seal.json where it is there."""
    out: pathlib.Path | None = None
    """Folder for contrast.csv, value.csv, complete.csv, next.csv, sample.csv and plan.json."""
    json: bool = False
    """Print plan.json on stdout and nothing else there."""


@dataclasses.dataclass(frozen=True)
class EvaluateOptions:
    """Evaluate the frozen routers of a contract on outcomes of one downstream stack.

    Every quantity is a point, a sharp interval or a refusal, and says why. Without --out and --json a report
    is printed and nothing is written.
    """

    contract: Contract
    """The contract, TOML."""
    outcomes: Annotated[tuple[pathlib.Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="OUTCOMES...")]
    """Outcome files: CSV, JSONL or Parquet, a row a run (or a row a task and a column a team)."""
    seal: pathlib.Path | None = None
    """The seal. Default: CONTRACT.seal.json where it is there; without one every router is retrospective."""
    out: pathlib.Path | None = None
    """Folder for report.html, routers.csv, tasks.csv, summary.json and the figures, PNG and SVG."""
    json: bool = False
    """Print summary.json on stdout and nothing else there."""


VERBS: dict[str, str] = {
    "seal": "hash a contract and its route files before any outcome exists",
    "plan": "which teams to run on which tasks, what each plan can tell, and what to run next",
    "evaluate": "values, regret and contrasts of frozen routers: points, sharp intervals or refusals",
}


def run(argv: Sequence[str]) -> None:
    """Run one of the verbs with these arguments."""
    verb, *rest = argv or ["--help"]
    if verb in ("-h", "--help"):
        print("usage: coverjax route VERB ...      coverjax route VERB --help\n\nverbs")
        for name, line in VERBS.items():
            print(f"  {name:<8}  {line}")
        return
    if verb == "seal":
        seal_command(parse(SealOptions, "route seal", rest))
    elif verb == "plan":
        plan_command(parse(PlanOptions, "route plan", rest))
    elif verb == "evaluate":
        evaluate_command(parse(EvaluateOptions, "route evaluate", rest))
    else:
        raise InputError(f"coverjax route: {verb!r} is no verb of route; the verbs are {listed(VERBS)}")


def _study(path: pathlib.Path) -> RoutingStudy:
    return load_study(read_contract(path))


def _seal_place(contract: pathlib.Path) -> pathlib.Path:
    return contract.with_name(f"{contract.stem}.seal.json")


def _seal_of(contract: pathlib.Path, given: pathlib.Path | None) -> tuple[Seal | None, pathlib.Path | None]:
    place = _seal_place(contract) if given is None else given
    if given is None and not place.exists():
        return None, None
    return read_seal(place), place


def seal_command(options: SealOptions) -> None:
    """Check the study, then write its seal."""
    study = _study(options.contract)
    need_routers(study)
    seal = make_seal(study)
    place = _seal_place(options.contract) if options.out is None else options.out
    write_seal(seal, place)
    document = {**seal.body(), "seal": seal.digest, "coverjax": __version__, "file": str(place)}
    if options.json:
        sys.stdout.write(to_json(document))
        return
    print(f"seal {seal.digest}")
    for name, (role, digest) in seal.routers.items():
        print(f"  {name} ({role})  sha256 {digest[:12]}..")
    print("every outcome row must carry this seal in its `seal` column")
    print(f"{place}: wrote the seal", file=sys.stderr)


def plan_command(options: PlanOptions) -> None:
    """Plan, print, write."""
    study = _study(options.contract)
    need_routers(study)
    assert study.tasks is not None
    assert study.legal is not None
    contract = study.contract
    seal, place = _seal_of(options.contract, options.seal)
    found = plan(study.routes, study.legal)
    table = _executed(study, options.outcomes)
    unit = "rows" if options.costs is None else "cost"
    costs = np.ones(study.legal.shape)
    if options.costs is not None:
        costs = read_costs(options.costs, contract.family, study.tasks)
    following = None
    if table is not None:
        following = next_rows(table.outcomes, study.routes, costs=costs, cap=options.cap)
    sample = study_sample(contract, study.legal, study.routes)
    read = [
        *study.files,
        *(facts(str(path)) for path in (*options.outcomes, options.costs, place) if path is not None),
    ]
    report = plan_report(
        found,
        study,
        costs,
        options.cap,
        table,
        following,
        sample,
        seal,
        command=command_line("route plan", options),
        files=read,
    )
    with out_folder(options.out) as part:
        written = [] if part is None else plan_files(report, part)
    text = plan_text(found, contract.family, study.tasks, costs, table, following, unit)
    if options.cap is not None:
        text += report.cap_text(unit)
    finish(options.out, written, report.json_text() if options.json else text)


def _executed(study: RoutingStudy, paths: Sequence[pathlib.Path]) -> OutcomeTable | None:
    if not paths:
        return None
    outcomes = study.read_outcomes([str(path) for path in paths])
    own = study.contract.stack if study.contract.stack in outcomes.stacks else ""
    return outcomes.table(own, study.contract.endpoint)


def evaluate_command(options: EvaluateOptions) -> None:
    """Read, judge, write, print: in this order, so that nothing is written where something is wrong."""
    if not options.outcomes:
        raise InputError("coverjax route evaluate: needs at least one OUTCOMES file; see --help")
    with out_folder(options.out) as part, Progress("route evaluate") as progress:
        progress.step("reading contract and routes")
        study = _study(options.contract)
        seal, place = _seal_of(options.contract, options.seal)
        progress.step("reading outcomes")
        outcomes = study.read_outcomes([str(path) for path in options.outcomes])
        progress.step("evaluating")
        result = judge_study(study, outcomes, seal)
        files = [*study.files, *outcomes.provenance["files"], *([] if place is None else [facts(str(place))])]
        document = study_document(
            result, command=command_line("route evaluate", options), options=plain(options), files=files
        )
        text = to_json(document)
        written: list[str] = []
        if part is not None:
            from coverjax.report.html import write_page
            from coverjax.report.route_page import route_page
            from coverjax.report.route_plots import write_route_figures

            write_json(part / "summary.json", text)
            write_routers(result, part / "routers.csv")
            write_tasks(result, part / "tasks.csv")
            figures = write_route_figures(result, part, progress.step)
            written = ["routers.csv", "summary.json", "tasks.csv", *figures]
            progress.step("writing the page")
            written.insert(0, write_page(route_page(result, document, written), part))
    finish(options.out, written, text if options.json else study_text(result, files))
