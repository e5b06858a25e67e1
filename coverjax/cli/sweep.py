"""`coverjax sweep`: every policy in every cell of a grid, in parts that survive."""

import dataclasses
import pathlib
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import tyro

from coverjax.cli.options import parse
from coverjax.cli.progress import Progress
from coverjax.foundation.files import whole_folder

STOPPED = 128
"""Exit code of a run that a signal stopped, less the signal's number."""

FIGURES = tuple(f"{stem}.{kind}" for stem in ("gain", "regimes") for kind in ("png", "svg"))
OUTPUTS = ("summary.json", "report.html")
"""What may be written when the cells are there; what an earlier run left of these goes."""


@dataclasses.dataclass(frozen=True)
class SweepOptions:
    """Run policies over a grid of families, sizes, budgets and seeds, described in a TOML file.

    coverjax sweep confusion.toml --dry-run
    coverjax sweep confusion.toml --out confusion --workers 4
    coverjax sweep confusion.toml --out confusion --resume
    """

    file: Annotated[pathlib.Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.toml")]
    """The sweep: settings, [axes], [[zip]], policies, metrics, trials."""
    out: pathlib.Path | None = None
    """Folder of the dataset, report.html, summary.json and the figures; the file's name without .toml when
    not given."""
    resume: bool = False
    """Go on with what is in the folder; only what is missing is made."""
    dry_run: bool = False
    """Check the file and say what it would cost; nothing runs."""
    workers: int = 1
    """Worker processes; 1 is this process, on all its devices."""
    ray: str | None = None
    """Address of a Ray cluster, auto, or local to start one with --workers processes."""
    json: bool = False
    """Print summary.json on stdout, and nothing else there."""


def run(argv: Sequence[str]) -> None:
    """Run the verb with these arguments."""
    options = parse(SweepOptions, "sweep", argv)
    from coverjax.report.plain import to_json
    from coverjax.sweep.reading import read_sweep
    from coverjax.sweep.runner import run_sweep

    sweep = read_sweep(options.file)
    if options.dry_run:
        _dry(options, sweep)
        return
    out = options.out or pathlib.Path(options.file.stem)
    again = "--resume" if options.resume else "the same command and --resume"
    workers, ray = options.workers, options.ray
    try:
        done = run_sweep(sweep, out, resume=options.resume, workers=workers, ray=ray, tell=_tell)
    except KeyboardInterrupt:
        _tell(f"{out}: interrupted; what is done is kept: go on with {again}")
        raise SystemExit(STOPPED + signal.SIGINT) from None
    if not done.complete:
        name = signal.Signals(done.stopped or signal.SIGINT).name
        _tell(f"{out}: stopped by {name} after {done.done:,} of {done.cells:,} cells; go on with {again}")
        raise SystemExit(STOPPED + (done.stopped or signal.SIGINT))
    document, text = _report(sweep, out, options)
    sys.stdout.write(to_json(document) if options.json else text)
    _tell(
        f"{out}: {done.cells:,} cells, {done.made:,} made now in {done.seconds:.0f} s "
        f"({done.compilations} programs compiled here)"
    )


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


def _report(sweep: Any, out: pathlib.Path, options: SweepOptions) -> tuple[dict[str, Any], str]:
    """Write summary and figures of a finished sweep."""
    from coverjax.report.html import write_page
    from coverjax.report.plain import write_json
    from coverjax.report.sweep_page import sweep_page
    from coverjax.report.sweep_plots import write_sweep_figures
    from coverjax.report.sweep_summary import sweep_document, sweep_text
    from coverjax.sweep.results import maps, read_table

    with Progress("sweep") as progress:
        progress.step("reading")
        table = read_table(out, ("auc", "auc_mc_error", "auc_by_input", "gain"))
        found = maps(table, **sweep.figures)
        document = sweep_document(table, found, command=f"coverjax sweep {options.file.name}")
        with whole_folder(out / "figures", FIGURES) as part:
            files = write_sweep_figures(found, part, sweep.title, progress.step)
        stems = [name.removesuffix(".svg") for name in files if name.endswith(".svg")]
        page = sweep_page(document, stems, ["summary.json", *(f"figures/{name}" for name in files)])
        with whole_folder(out, OUTPUTS) as part:
            write_json(part / "summary.json", document)
            write_page(page, part, out / "figures")
    return document, sweep_text(document)


def _dry(options: SweepOptions, sweep: Any) -> None:
    """Say what a sweep would cost."""
    from coverjax.report.plain import to_json
    from coverjax.sweep.estimates import estimated

    cost = estimated(sweep)
    if options.json:
        sys.stdout.write(to_json({"verb": "sweep", "dry_run": True, "hash": sweep.hash, **cost._asdict()}))
        return
    kind = "exact" if sweep.trials is None else f"{sweep.trials:,} trials an input"
    varied = ", ".join(f"{name} ({len(values)})" for name, values in sweep.varied.items()) or "nothing"
    print(
        f"{options.file}: {cost.cells:,} cells x {len(sweep.policies)} policies = {cost.rows:,} rows, "
        f"{kind}\n"
        f"  varied      {varied}\n"
        f"  structures  {cost.structures} (a policy is compiled once for each)\n"
        f"  parts       {cost.parts:,}\n"
        f"  time        about {_duration(cost.seconds)} in one process (within a factor of about 4)\n"
        f"  dataset     about {cost.bytes / 1e6:,.1f} MB"
    )


def _duration(seconds: float) -> str:
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
