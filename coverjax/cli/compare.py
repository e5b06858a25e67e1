"""`coverjax compare`: methods of a log against a baseline: gain, where it comes from, what it would take."""

import dataclasses
import math
import pathlib
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import tyro

from coverjax.cli.log_reading import read_logs
from coverjax.cli.options import check_seed, parse
from coverjax.cli.outputs import command_line, finish, out_folder, plain
from coverjax.cli.progress import Progress
from coverjax.foundation.checks import InputError, file_error, fraction
from coverjax.logs.files import facts as file_facts
from coverjax.logs.labeler_files import table_rows
from coverjax.report.baseline_document import baseline_document, write_tables
from coverjax.report.baseline_study import PLANNED_GAIN, BaselineStudy, study_baseline
from coverjax.report.baseline_text import baseline_text
from coverjax.report.plain import to_json, write_json


@dataclasses.dataclass(frozen=True)
class CompareOptions:
    """Compare the methods of a log with one of them: gain over it, on the way to an oracle.

    Gain is 0 for a method that covers strategies as the baseline does, 1 for one new strategy a draw. The
    report has gains with intervals over inputs, their split into common and rare strategies, p-values
    corrected for all methods, who finds which strategy, whether covering more solves more, and how many
    inputs and samples it would take to see a gain.

    Without --out and --json a report is printed and nothing is written.
    """

    log: Annotated[tuple[pathlib.Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="LOG...")]
    """Files of the log; several files are read as one log, or with --by file as a method each."""
    baseline: str = ""
    """The method that the others are compared with: independent draws, usually."""
    declared: pathlib.Path | None = None
    """Table `input`, `strategy` (or `strategy` alone, for all inputs) of the strategies that count."""
    by: Literal["method", "file"] | None = None
    """method: by the `method` column. file: each file is a method, named after the file."""
    coverage: Literal["raw", "valid", "correct"] = "raw"
    """Which samples count."""
    budget: int | None = None
    """Largest number of samples K. Default: the smallest number of samples of any trial."""
    rare_below: float = 1.0
    """A strategy is rare where the baseline is expected to give it fewer times than that in K draws."""
    detect: float = PLANNED_GAIN
    """The gain to plan for."""
    power: float = 0.8
    """The chance to see it."""
    noise: pathlib.Path | None = None
    """Table of wrong labels by strategy (`coverjax label --against F --rates TABLE`): warns where phantom
    strategies could explain a gain."""
    min_score: float | None = None
    """Count a sample as correct exactly when its `score` is at least this."""
    out: pathlib.Path | None = None
    """Folder for report.html, curves.csv, gains.csv, strategies.csv, summary.json and the figures."""
    json: bool = False
    """Print summary.json on stdout, and nothing else there."""
    ordered: bool = False
    """Only the observed order of the samples means anything (an adaptive sampler): nothing is permuted."""
    counts: bool = False
    """Keep only counts of matches: for logs larger than memory."""
    format: str = "auto"
    """Format of the log, as in `coverjax estimate`."""
    labels_from: str | None = None
    """Where labels come from, as in `coverjax estimate`."""
    correct_from: str | None = None
    """Where it comes from whether a sample is correct, as in `coverjax estimate`."""
    filter: str | None = None
    """The filter whose rows are read (lm_eval)."""
    level: float = 0.95
    """Nominal level of intervals and bands."""
    seed: int = 0
    """Seed of bands, sign flips and simulated noise."""


OUTPUTS = (
    "curves.csv",
    "gains.csv",
    "strategies.csv",
    "summary.json",
    "report.html",
    *(f"{stem}.{kind}" for stem in ("coverage", "gain", "coverage-correctness") for kind in ("png", "svg")),
)
"""What may be written; what an earlier run left of these goes."""


def run(argv: Sequence[str]) -> None:
    """Run the verb with these arguments."""
    compare_command(parse(CompareOptions, "compare", argv))


def compare_command(options: CompareOptions) -> None:
    """Read, compare, write, print."""
    _check(options)
    with out_folder(options.out, OUTPUTS) as part, Progress("compare") as progress:
        logs, files = read_logs(options, progress)
        if options.noise is not None:
            files.append(file_facts(str(options.noise)))
        study = study_baseline(
            logs,
            options.baseline,
            budget=options.budget,
            coverage=options.coverage,
            level=options.level,
            rare_below=options.rare_below,
            seed=options.seed,
            detect=options.detect,
            power=options.power,
            false_positive=None if options.noise is None else _rates(str(options.noise)),
            tell=progress.step,
        )
        document = baseline_document(study, _facts(options, files))
        text = to_json(document) if options.json else baseline_text(study, files)
        written = [] if part is None else _write(study, document, part, progress)
    finish(options.out, written, text)


def _check(options: CompareOptions) -> None:
    if not options.log:
        raise InputError("coverjax compare: needs at least one LOG file; see coverjax compare --help")
    if not options.baseline:
        raise InputError("coverjax compare: needs --baseline METHOD, the method to compare with")
    if options.budget is not None and not 1 <= options.budget < 1 << 53:
        raise InputError(f"--budget: must be at least 1 sample, and below 2^53; got {options.budget}")
    check_seed(options.seed)
    for name in ("detect", "rare_below"):
        value = getattr(options, name)
        if not 0.0 < value < math.inf:
            flag = name.replace("_", "-")
            raise InputError(f"--{flag}: must be a number above 0; got {value}")
    fraction("level", options.level)
    fraction("power", options.power)
    if options.counts and options.ordered:
        raise InputError("--counts: counts have no order; drop --counts or --ordered")


def _rates(path: str) -> dict[str, float]:
    """Read the highest plausible rate of false positives of each strategy."""
    rates: dict[str, float] = {}
    for line, row in table_rows(path):
        name = row.get("strategy")
        if name is None:
            raise file_error(path, line, "strategy", "must name a strategy; each row needs it")
        column = "false_positive_most" if "false_positive_most" in row else "false_positive"
        try:
            rate = float(str(row[column]))
        except (KeyError, ValueError):
            rate = math.nan
        if not 0.0 <= rate <= 1.0:
            raise file_error(path, line, column, f"must be a probability; got {row.get(column)!r}")
        rates[str(name)] = rate
    return rates


def _facts(options: CompareOptions, files: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "verb": "compare",
        "command": command_line("compare", options),
        "options": plain(options),
        "seed": options.seed,
        "files": files,
    }


def _write(
    study: BaselineStudy, document: dict[str, Any], part: pathlib.Path, progress: Progress
) -> list[str]:
    from coverjax.report.baseline_page import baseline_page
    from coverjax.report.baseline_plots import write_baseline_figures
    from coverjax.report.html import write_page

    progress.step("writing tables")
    tables = write_tables(study, part)
    write_json(part / "summary.json", document)
    written = [*tables, "summary.json", *write_baseline_figures(study, part, progress.step)]
    progress.step("writing the page")
    return [write_page(baseline_page(study, document, written), part), *written]
