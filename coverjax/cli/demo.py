"""`coverjax demo`: the ladder, end to end, on built-in tasks."""

import dataclasses
import pathlib
import sys
from collections.abc import Sequence
from typing import Literal

from coverjax.cli.options import check_seed, parse
from coverjax.cli.outputs import command_line, finish, out_folder, plain
from coverjax.cli.progress import Progress


@dataclasses.dataclass(frozen=True)
class DemoOptions:
    """Climb the ladder on built-in tasks: figures, tables and one report.html.

    1 a law that is known: every policy exactly and by simulation, gain and where it comes from, a router
    and a schedule trained to their optimum. 2 a small language model is split into latent strategies by
    reading, and explored by them. 3 its texts read back as a log, and a log as people have them: intervals,
    best of k, what to beware of. 4 a routing table and a corrections curve. Nothing is fetched.
    """

    out: pathlib.Path = pathlib.Path("coverjax-demo")
    """Folder for report.html, summary.json, the figures and the files that each rung reads."""
    preset: Literal["quick", "full"] = "quick"
    """quick: about two minutes on two cores. full: larger laws, logs and tables, for a longer look."""
    json: bool = False
    """Print summary.json on stdout, and nothing else there."""
    seed: int = 0
    """Seed of everything that is random."""


def run(argv: Sequence[str]) -> None:
    """Run the verb with these arguments."""
    options = parse(DemoOptions, "demo", argv)
    check_seed(options.seed)
    with out_folder(options.out) as part, Progress("demo") as progress:
        # Imported here: a place that can't be written to is said before anything slow is loaded.
        from coverjax.demo.ladder import climb, ladder_document, ladder_page, ladder_text
        from coverjax.report.html import write_page
        from coverjax.report.plain import to_json, write_json

        assert part is not None

        def say(line: str) -> None:
            print(line, file=sys.stderr, flush=True)

        rungs = climb(options.preset, options.seed, part, say, progress.step)
        document = ladder_document(rungs, command=command_line("demo", options), options=plain(options))
        files = ["summary.json", *(file for rung in rungs.values() for file in rung.files)]
        write_json(part / "summary.json", document)
        write_page(ladder_page(rungs, document, files), part)
    finish(None, [], to_json(document) if options.json else ladder_text(rungs))
    print(
        f"{options.out}: wrote report.html and {len(files)} more files; open it in a browser", file=sys.stderr
    )
