"""The rungs in their order, and the page over all of them."""

import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from coverjax._version import __version__
from coverjax.demo.known_law import known_law
from coverjax.demo.own_log import own_log
from coverjax.demo.read_back import read_back
from coverjax.demo.rungs import PRESETS, Preset, Rung, Shelf, Step
from coverjax.demo.teaching import teaching
from coverjax.demo.teams import teams
from coverjax.report.html import Page, provenance

Climb = Callable[[Shelf, Preset, int, Step, Mapping[str, Rung]], Rung]


def _language_model(shelf: Shelf, preset: Preset, seed: int, step: Step, found: Mapping[str, Rung]) -> Rung:
    # Imported when it is climbed: the language model is the heaviest part of the package.
    from coverjax.demo.language_model import language_model

    return language_model(shelf, preset, seed, step, found)


RUNGS: tuple[tuple[str, str, Climb], ...] = (
    ("1", "a known law: every policy, exactly and by simulation; training", known_law),
    ("2", "a language model: strategies learned from text, explored by its latents", _language_model),
    ("3a", "the model's own texts read back as a log", read_back),
    ("3b", "a log as people have them: two methods, best of k, guardrails", own_log),
    ("4a", "a table of teams: regret of two routers", teams),
    ("4b", "corrections to competence: two memories", teaching),
)
"""Number, words for the progress line, and the function that climbs it."""


def climb(
    preset: str, seed: int, folder: pathlib.Path, say: Callable[[str], None], step: Step
) -> dict[str, Rung]:
    """Climb all rungs, writing their files into a folder.

    Args:
        preset: "quick" or "full".
        seed: of everything that is random.
        folder: where the files go.
        say: told a line when a rung is done.
        step: told of each step.
    """
    found: dict[str, Rung] = {}
    for number, words, rung in RUNGS:
        begun = time.perf_counter()

        def inside(what: str, number: str = number) -> None:
            step(f"{number}: {what}")

        found[number] = rung(Shelf(folder, number), PRESETS[preset], seed, inside, found)
        say(f"[{number}] {words}: {time.perf_counter() - begun:.1f} s")
    return found


def ladder_document(rungs: dict[str, Rung], *, command: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return all that was found as plain values."""
    return {
        "coverjax": __version__,
        "verb": "demo",
        "command": command,
        "options": options,
        "seed": options["seed"],
        "files": [],
        "rungs": {
            number: {"title": rung.title, "answer": list(rung.answer), "found": rung.told}
            for number, rung in rungs.items()
        },
    }


def ladder_page(rungs: dict[str, Rung], document: dict[str, Any], files: Sequence[str]) -> Page:
    """Return the page over all rungs."""
    first = rungs["1"].answer[0]
    cautions = [f"[{number}] {text}" for number, rung in rungs.items() for text in rung.cautions]
    return Page(
        title="coverjax demo: how much of the strategy space will a sampler have covered",
        answer=(
            first,
            "Every number below was made on this machine from built-in tasks; nothing was fetched. Each rung "
            "stands on the one before: a law that is known, then samples alone, then two sister questions.",
        ),
        sections=[rung.section(number) for number, rung in rungs.items()],
        cautions=cautions,
        provenance=provenance(document),
        files=files,
    )


def ladder_text(rungs: dict[str, Rung]) -> str:
    """Return the answers as text for a terminal of 80 columns."""
    from coverjax.report.html import CLOSE, OPEN
    from coverjax.report.text import wrapped

    lines = []
    for number, rung in rungs.items():
        lines += wrapped(rung.title, 80, "  ", f"[{number}] ")
        for sentence in rung.answer:
            lines += wrapped(sentence.replace(OPEN, "").replace(CLOSE, ""), 80, "    ", "    ")
        lines.append("")
    return "\n".join(lines)
