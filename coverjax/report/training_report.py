"""What a training says: its history as a table and a figure, its facts as a document and as text."""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coverjax.curves import Curves
from coverjax.metrics import auc, gain_report
from coverjax.report.plain import cell, number, write_csv
from coverjax.report.policy_study import PolicyStudy
from coverjax.report.style import (
    PALETTE,
    drawable,
    label_ends,
    look,
    new_figure,
    only_axes,
    save_figure,
    styled,
)
from coverjax.report.text import counted, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 80

MEANS: dict[str, str] = {
    "auc": "AUC(K)",
    "coverage": "C(K)",
    "log_coverage": "mean log P(strategy covered by K draws)",
    "full_coverage": "F(K)",
    "gain": "Gain(K)",
}
"""What an objective is, as an axis says it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Training:
    """A training and what came of it.

    Attributes:
        name: the policy's name in the study.
        objective: what was climbed.
        history: as `train_policy` returns it.
        held_out: number of inputs that were not trained on; 0 where it was judged on those it was trained on.
        inputs: number of inputs of the model.
        study: the policy among others, on the inputs that it was judged on.
        weighted: whether strategies counted differently: the curves of others then say nothing about the
            objective.
    """

    name: str
    objective: str
    history: Mapping[str, np.ndarray]
    held_out: int
    inputs: int
    study: PolicyStudy
    weighted: bool

    @property
    def kept_seeds(self) -> list[int]:
        """The seeds whose policies were kept: one, or several where the best was chosen input by input."""
        return sorted(set(self.history["kept_seed"].tolist()))

    @property
    def kept_at(self) -> int:
        """The number of updates after which all was there that was kept."""
        return int(self.history["best_step"][self.kept_seeds].max())

    @property
    def values(self) -> tuple[float, float]:
        """The objective at the start, and of the policy that was kept."""
        return float(self.history["at_start"]), float(self.history["kept"])


def objective_of(curves: Curves, objective: str, iid: Curves, oracle: Curves) -> float:
    """Return an objective's mean over inputs from curves; NaN where they can't tell."""
    used = curves.used
    if objective == "gain":
        values = gain_report(curves, iid, oracle).values
        return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
    if objective == "auc":
        return float(auc(curves)[used].mean())
    found = {"coverage": curves.coverage, "full_coverage": curves.full_coverage}.get(objective)
    return float("nan") if found is None else float(found[used, -1].mean())


def write_history(training: Training, path: pathlib.Path) -> None:
    """Write a line for each seed and evaluation. The clock is left out: the same training, the same bytes."""
    told = training.history
    rows = [
        (seed, int(step), float(rate), cell(float(met)), cell(float(value)))
        for seed in range(len(told["held_out"]))
        for step, rate, met, value in zip(
            told["step"], told["learning_rate"], told["train"][seed], told["held_out"][seed], strict=True
        )
    ]
    write_csv(path, ("seed", "step", "learning_rate", "train", "held_out"), rows)


def training_facts(training: Training) -> dict[str, Any]:
    """Return the facts as a plain document.

    `kept_seed` is a number, or a list in the order of `judged_inputs` where the best seed was chosen input by
    input and they differ. `best_of_each_seed` is the objective at each seed's best evaluation.
    """
    first, kept = training.values
    told = training.history
    seeds = training.kept_seeds
    return {
        "policy": training.name,
        "objective": training.objective,
        "inputs": training.inputs,
        "held_out_inputs": training.held_out,
        "judged_inputs": [str(name) for name in training.study.first.ids],
        "at_start": number(first),
        "kept": number(kept),
        "kept_after_updates": training.kept_at,
        "kept_seed": seeds[0] if len(seeds) == 1 else told["kept_seed"].tolist(),
        "best_of_each_seed": [number(value) for value in told["best"]],
        "updates_made": int(told["step"][-1]),
    }


def training_text(training: Training) -> str:
    """Return the head of the report: what was trained, and what it reached."""
    first, kept = training.values
    where = (
        f"on {counted(training.held_out, 'input')} that were not trained on"
        if training.held_out
        else f"on the {counted(training.inputs, 'input')} that it was trained on"
    )
    seeds = len(training.history["held_out"])
    best = f", the best of {seeds} seeds" if seeds > 1 else ""
    best += " input by input" if len(training.kept_seeds) > 1 else ""
    text = (
        f"{training.name}: {MEANS[training.objective]} {first:.4f} before training, {kept:.4f} after "
        f"{training.kept_at:,} of {int(training.history['step'][-1]):,} updates{best}, {where}."
    )
    return "\n".join(wrapped(text, COLUMNS)) + "\n"


# -- the figure ------------------------------------------------------------------------------------


@styled
def plot_training(training: Training, ax: "Axes | None" = None) -> "Axes":
    """Plot the objective along training, one line a seed, between what other policies reach."""
    ax = only_axes(ax)
    told = training.history
    steps = told["step"]
    ends: list[tuple[str, float, float, str]] = []
    for seed, (met, value) in enumerate(zip(told["train"], told["held_out"], strict=True)):
        kept = seed in training.kept_seeds
        colour = look(0)["color"] if kept else "#b9a8d6"
        ax.plot(steps, value, color=colour, zorder=3 if kept else 2, linewidth=2.0 if kept else 1.0)
        if kept:
            ax.plot(steps, met, color=colour, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=2)
    own = look(0)["color"]
    ax.plot([training.kept_at], [training.values[1]], marker="o", color=own, zorder=4)
    ends.append((training.name, float(steps[-1]), float(told["held_out"][told["best_seed"], -1]), own))
    lines = {} if training.weighted else training.study.lines
    iid, oracle = (training.study.lines[name].curves for name in ("IID", "OracleNoRepeat"))
    for place, (name, line) in enumerate((n, li) for n, li in lines.items() if n != training.name):
        level = objective_of(line.curves, training.objective, iid, oracle)
        if np.isfinite(level):
            style = look(1 + place % (len(PALETTE) - 1))
            ax.axhline(level, color=style["color"], linestyle=style["linestyle"], linewidth=1.0)
            ends.append((drawable(name), float(steps[-1]), level, style["color"]))
    ax.set_xlim(0, float(steps[-1]))
    ax.margins(y=0.06)
    ax.set_xlabel("updates (line: the inputs it is judged on; dots: inputs of the updates; mark: kept)")
    ax.set_ylabel(f"{MEANS[training.objective]}, mean over inputs")
    judged = "inputs that were not trained on" if training.held_out else "the training inputs"
    ax.set_title(f"{drawable(training.name)}, judged on {judged}")
    ax.autoscale_view()
    label_ends(ax, ends)
    return ax


@styled
def write_training_figures(
    training: Training, folder: pathlib.Path, tell: Callable[[str], None] = lambda step: None
) -> list[str]:
    """Write the figure of the training as PNG and SVG; return the files' names."""
    tell("drawing training")
    beside = 0.075 * max(map(len, training.study.lines)) + 0.4
    figure = new_figure(5.2 + beside, max(4.0, 1.6 + 0.22 * len(training.study.lines)))
    plot_training(training, figure.subplots())
    return save_figure(figure, folder, "training")
