"""A rung about corrections: a memory that keeps what it was taught, and one that forgets."""

import json
from collections.abc import Mapping

import numpy as np

from coverjax.corrections.comparing import compare_systems
from coverjax.corrections.runner import run as run_cases
from coverjax.demo.rungs import Preset, Rung, Shelf, Step
from coverjax.report.competence_page import comparison_page
from coverjax.report.competence_plots import write_comparison_figures
from coverjax.report.competence_summary import comparison_document

CORRECTIONS = 5
FORGETTING = 0.2
ONSETS, ENDS = "bdfgklmnprstvz", ("an", "el", "im", "or", "us", "ath", "ode", "ilk", "ume", "eft")


def teaching(shelf: Shelf, preset: Preset, seed: int, step: Step, found: Mapping[str, Rung]) -> Rung:
    """Climb the rung: write cases, teach both systems, compare them."""
    step("teaching a memory, and one that forgets")
    shelf.path("cases.jsonl").write_text(demo_cases(seed, preset.concepts), encoding="utf-8", newline="\n")
    cases = [str(shelf.path("cases.jsonl"))]
    forgetful = {"forgetting": FORGETTING, "seed": seed}
    kept = run_cases(cases, "memory", workers=0)
    lost = run_cases(cases, "noisy-memory", settings=forgetful, workers=0)
    step("comparing")
    compared = compare_systems(kept, lost, seed=seed)
    told = comparison_document(
        compared, command="coverjax corrections compare kept lost", options={}, files=[]
    )
    step("drawing")
    with shelf.apart() as place:
        files = write_comparison_figures(compared, place, seed=seed)
    page = comparison_page(compared, told, files)
    name = shelf.name("cases.jsonl")
    return Rung(
        title="Corrections to competence: how many until a concept is there",
        answer=page.answer,
        again=(
            f"coverjax corrections run {name} --system memory --out kept",
            f"coverjax corrections run {name} --system noisy-memory --settings forgetting={FORGETTING} "
            f"seed={seed} --out lost",
            "coverjax corrections compare kept lost",
        ),
        parts=shelf.moved(page),
        cautions=page.cautions,
        told={name: told[name] for name in ("concepts", "curve", "differences", "warnings")},
        files=[name, *(shelf.name(file) for file in files)],
    )


def demo_cases(seed: int, concepts: int) -> str:
    """Return cases as JSON lines: made-up concepts with five facts each, every one a new made-up word."""
    rng = np.random.default_rng(seed)
    words = [first + "a" + second + end for first in ONSETS for second in ONSETS for end in ENDS]
    drawn = iter(rng.permutation(words).tolist())
    lines = []
    for _ in range(concepts):
        concept = next(drawn)
        facts = [next(drawn) for _ in range(CORRECTIONS)]
        lines.append(
            json.dumps(
                {
                    "concept": concept,
                    "curriculum": [f"The {concept} has a {fact}." for fact in facts],
                    "probe": f"Tell me of the {concept}",
                    "expected_tokens": facts,
                }
            )
        )
    return "\n".join(lines) + "\n"
