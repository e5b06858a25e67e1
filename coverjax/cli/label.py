"""`coverjax label`: from the text of samples to a log of labelled samples, and how far others agree."""

import dataclasses
import functools
import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import tyro

from coverjax.cli.options import parse
from coverjax.cli.outputs import command_line, finish, plain
from coverjax.cli.progress import Progress
from coverjax.estimators.agreement import Agreement, label_agreement
from coverjax.foundation.checks import InputError, fraction
from coverjax.foundation.files import whole_file
from coverjax.logs.files import expand
from coverjax.logs.files import facts as file_facts
from coverjax.logs.labeler_files import read_label_table, read_rules
from coverjax.logs.labelers import CallableLabeler, Labeler
from coverjax.logs.labelling import label_log
from coverjax.logs.pairing import OwnLabels, Pairing
from coverjax.report.label_text import label_document, label_text, rate_rows
from coverjax.report.plain import to_json, write_csv


@dataclasses.dataclass(frozen=True)
class LabelOptions:
    """Label the samples of a log: by rules, by a function, or from a table.

    The log has a line a sample: `input`, text columns, and what else it likes; as JSONL, CSV or Parquet.
    Every column is kept; `strategies` and `labeler` are added, and `sample` where it lacks. Rules are regular
    expressions in TOML or CSV. With --against the labels are compared with those of someone else on the same
    samples: a log with `input`, `sample` and `strategies`. A log that is labelled needs no labeler for that.

    Without --out a report is printed and nothing is written.
    """

    log: Annotated[tuple[pathlib.Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="LOG...")]
    """Files of samples."""
    rules: pathlib.Path | None = None
    """Rules, TOML or CSV: `strategy` and `pattern`, and if wanted `column`, `unless`, `input`."""
    call: str | None = None
    """A function `module:function` from a row (a dict) to a label, a list of labels or None."""
    table: pathlib.Path | None = None
    """A table of labels: `strategies` and the columns by which samples are looked up."""
    against: pathlib.Path | None = None
    """Labels of the same samples by someone else, taken as true where precision and recall are told."""
    out: pathlib.Path | None = None
    """The labelled log to write, JSON lines."""
    rates: pathlib.Path | None = None
    """Agreement by strategy, a CSV to write: what `coverjax compare --noise` reads. Needs --against."""
    column: str | None = None
    """The text column that rules look through where they name none."""
    kind: Literal["ground_truth", "rule", "rubric", "classifier", "human"] | None = None
    """What the labeler is. Default: rule for rules, classifier for a function, human for a table."""
    name: str | None = None
    """What the labeler is called in the `labeler` column. Default: the name of its file or function."""
    distance: Literal["masi", "jaccard", "nominal"] = "masi"
    """Distance of label sets in Krippendorff's alpha."""
    level: float = 0.95
    """Nominal level of intervals over inputs."""
    json: bool = False
    """Print one JSON document on stdout, and nothing else there."""


def run(argv: Sequence[str]) -> None:
    """Run the verb with these arguments."""
    label_command(parse(LabelOptions, "label", argv))


def label_command(options: LabelOptions) -> None:
    """Label, compare, write, print."""
    _check(options)
    labeler = _labeler(options)
    paths = [str(path) for path in options.log]
    pairing = None if options.against is None else Pairing.read(str(options.against))
    with Progress("label") as progress:
        progress.step(f"labelling {options.log[0].name}")
        watch = None if pairing is None else pairing.watch
        last = None if pairing is None else functools.partial(pairing.check, options.against)
        report = label_log(paths, labeler, options.out, watch=watch, last=last)
        agreement = None if pairing is None else _agreement(options, pairing, labeler)
    others = () if pairing is None else pairing.labelers or (str(options.against),)
    if agreement is not None and options.rates is not None:
        with whole_file(options.rates) as part:
            write_csv(part, *rate_rows(agreement))
    written = [str(path) for path in (options.out, options.rates) if path is not None]
    text = (
        to_json(label_document(report, agreement, _facts(options), others))
        if options.json
        else label_text(report, agreement, others)
    )
    finish(None, [], text)
    for path in written:
        print(f"wrote {path}", file=sys.stderr)


def _check(options: LabelOptions) -> None:
    if not options.log:
        raise InputError("coverjax label: needs at least one LOG file; see coverjax label --help")
    ways = [name for name in ("rules", "call", "table") if getattr(options, name) is not None]
    if len(ways) > 1:
        raise InputError(f"coverjax label: takes one of --rules, --call, --table; got {' and '.join(ways)}")
    if not ways and options.against is None:
        raise InputError(
            "coverjax label: needs a labeler (--rules FILE, --call module:function or --table FILE), or "
            "--against FILE for a log that is labelled"
        )
    if not ways and options.out is not None:
        raise InputError("--out: there is nothing to write without a labeler: --rules, --call or --table")
    if options.rates is not None and options.against is None:
        raise InputError("--rates: agreement needs --against FILE, the labels to agree with")
    if options.column is not None and options.rules is None:
        raise InputError("--column: is for --rules; a function or a table has columns of its own")
    fraction("level", options.level)


def _labeler(options: LabelOptions) -> Labeler:
    if options.rules is not None:
        labeler: Any = read_rules(options.rules, options.column)
    elif options.call is not None:
        labeler = CallableLabeler.named(options.call, options.kind)
    elif options.table is not None:
        labeler = read_label_table(options.table)
    else:
        labeler = OwnLabels()
    changes = {
        name: getattr(options, name) for name in ("name", "kind") if getattr(options, name) is not None
    }
    return dataclasses.replace(labeler, **changes)


def _agreement(options: LabelOptions, pairing: Pairing, labeler: Labeler) -> Agreement:
    """Compare on the samples that both have labelled, by every strategy that occurs or could have."""
    found = {name for labels in (*pairing.ours, *pairing.theirs) for name in labels}
    return label_agreement(
        pairing.ours,
        pairing.theirs,
        pairing.inputs,
        level=options.level,
        distance=options.distance,
        strategies=sorted(found.union(getattr(labeler, "strategies", ()))),
    )


def _facts(options: LabelOptions) -> dict[str, Any]:
    read = [*options.log, options.rules, options.table, options.against]
    names = dict.fromkeys(name for path in read if path is not None for name in expand(str(path)))
    values = plain(options)
    return {
        "verb": "label",
        "command": command_line("label", options),
        "options": {name: value for name, value in values.items() if name != "rates"},
        "files": [file_facts(name) for name in names],
    }
