"""Rung 2: a language model that learned strategies from text, explored by its latents, judged on what it
writes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coverjax.demo.rungs import Preset, Rung, Shelf, Step
from coverjax.report.html import Figure, Table
from coverjax.report.plots import plot_coverage
from coverjax.report.style import new_figure, save_figure, styled
from coverjax.sequences.exploration import BASE, ROUTER
from coverjax.sequences.studies import QUICK, Study, quick_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

SHOWN = 3
"""So many texts of each latent stand in the report."""

FULL: dict[str, Any] = {"development": 48, "test": 64, "trials": 8, "samples": 16}


def language_model(shelf: Shelf, preset: Preset, seed: int, step: Step, found: Mapping[str, Rung]) -> Rung:
    """Climb the rung: factorize a small model by reading, force its latents, explore inputs it has not
    seen."""
    step("splitting a language model into latents (one to three minutes)")
    study = quick_study(seed, **(FULL if preset.name == "full" else {}))
    step("drawing")
    seen = study.exploration
    figure = _figure(study)
    with shelf.apart() as place:
        files = save_figure(figure, place, "explored")
    gains = _gains(study)
    drawn = Figure(
        shelf.name("explored"),
        "Coverage of generated text",
        "Fraction of an input's strategies that k generated and parsed texts hold, mean over inputs that "
        "nothing was trained on; a line a way of choosing latents, beside independent samples of the base "
        "model.",
        gains,
    )
    return Rung(
        title="A language model: strategies learned from text, explored by its latents",
        answer=_answer(study),
        again=("coverjax sequences --help   # fit, factorize, draw and evaluate models of your own",),
        parts=[drawn, gains, _latents(study)],
        cautions=[
            "The base model came with the package, fitted beforehand; its split into latents was made here, "
            f"in {QUICK['steps']} updates. Small models for a demonstration, no claims about large ones.",
            "The policy to use is chosen on development inputs; the curves are of test inputs.",
        ],
        told={
            "task": study.task.name,
            "chosen": seen.chosen,
            "coverage": {name: curves.mean().coverage[0].tolist() for name, curves in seen.curves.items()},
            "gains": {name: gain.pooled for name, gain in seen.gains.items()},
        },
        files=[shelf.name(file) for file in files],
        logs={name: seen.logs[name] for name in (_independent(study), seen.chosen)},
    )


@styled
def _figure(study: Study) -> "Drawing":
    figure = new_figure(7.6, 4.2)
    plot_coverage(study.exploration.curves, figure.subplots(), band="none")
    return figure


def _independent(study: Study) -> str:
    """Return which independent samples the others are compared with: the base model's, where there is one."""
    return BASE if BASE in study.exploration.logs else ROUTER


def _answer(study: Study) -> list[str]:
    found = study.exploration
    best = found.chosen
    ends = {name: 100 * float(curves.mean().coverage[0, -1]) for name, curves in found.curves.items()}
    budget = int(next(iter(found.curves.values())).budgets[-1])
    base = _independent(study)
    gain = found.gains[best].pooled
    return [
        f"{budget} independent texts ({base}) hold {ends[base]:.1f} % of an unseen input's strategies; "
        f"choosing latents by {best!r}, picked beforehand on other inputs, {ends[best]:.1f} % (gain "
        f"{gain:.2f}). Intervals: rung 3a.",
        f"The task is {study.task.name}; its latents were found by reading, nobody labelled them.",
    ]


def _gains(study: Study) -> Table:
    found = study.exploration
    rows = []
    for name, curves in found.curves.items():
        gain = found.gains.get(name)
        mean = curves.mean().coverage[0]
        told = None if gain is None or not np.isfinite(gain.pooled) else float(gain.pooled)
        rows.append(
            [name, found.sees.get(name, ""), found.knows.get(name, ""), float(mean[0]), float(mean[-1]), told]
        )
    header = ("how latents are chosen", "sees", "knows", "C(1)", "C(K)", "gain")
    return Table("Explored", header, rows, "Parsed from generated text; mean over test inputs.")


def _latents(study: Study) -> Table:
    """Return what each latent writes: some texts, and the strategies that the validator saw in them."""
    rows = [
        [f"z = {z}", prompt, text, ", ".join(strategies) or "none"]
        for z, texts in study.traces.items()
        for prompt, text, strategies in texts[:SHOWN]
    ]
    header = ("latent", "input", "text", "strategies seen by the validator")
    return Table("What each latent writes", header, rows)
