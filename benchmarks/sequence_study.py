"""The study of the sequence models: every fit of the must-shows, one result a line, resumable.

make study                                        all of it, in the order of worth
python -m benchmarks.sequence_study --only base   or a part: cells whose name contains the words
python -m benchmarks.sequence_study --page        only write benchmarks/STUDY.md anew from the results

A cell that is in study-results.jsonl is not computed again; a stopped fit goes on from its checkpoint.
Base models and checkpoints lie in benchmarks/study/, which is not kept with the code.
"""

import argparse
import dataclasses
import json
import pathlib
import time
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from benchmarks.pages import between
from coverjax._version import __version__
from coverjax.report.sequence_tables import study_document
from coverjax.sequences.exploration import POLICIES
from coverjax.sequences.fitting import default_latents, factorize, fit_base
from coverjax.sequences.language_model import LanguageModel
from coverjax.sequences.parting import PARTS, checkpoints
from coverjax.sequences.pruning import PRICE
from coverjax.sequences.studies import judged
from coverjax.sequences.tasks.registry import task, task_names

FOLDER = pathlib.Path(__file__).parent / "study"
RESULTS = pathlib.Path(__file__).parent / "study-results.jsonl"
PAGE = pathlib.Path(__file__).parent / "STUDY.md"
BEGIN, END = "<!-- written by benchmarks.sequence_study -->", "<!-- end -->"

BASE: dict[str, Any] = {"steps": 6000, "batch": 64, "every": 200, "texts": 40_000, "decay": 0.0}
OWN: dict[str, dict[str, Any]] = {
    "grid_pathfinding": {"decay": 0.1, "steps": 12_000},
    "linear_equation_solving": {"decay": 0.2},
    "base_conversion": {"decay": 0.1},
}
"""What is not `BASE` of a family's base models: weight decay where they learn inputs by heart without, and
twice as many updates where they take half of the time."""

SPLIT_OWN: dict[str, dict[str, Any]] = {
    "grid_pathfinding": {"decay": 0.03},
    "linear_equation_solving": {"decay": 0.1},
    "base_conversion": {"decay": 0.1},
}
"""What is not `SPLIT` of the factorizations of families with few inputs."""

MIXED: dict[str, Any] = {"steps": 8000, "batch": 64, "every": 400, "texts": 60_000, "decay": 0.1}
SPLIT: dict[str, Any] = {"batch": 64, "every": 50, "warmup": 30, "texts": 40_000}
LONG, SHORT = 4000, 400
"""Updates of a factorization: to its end, and where objectives are compared: what collapses has done so."""

UPDATES_OWN = {"list_summation": 2000, "grid_pathfinding": 8000}
"""What is not `LONG`: half of it where texts are short and soon learned, twice as many where an update takes
half of the time."""

SEEDS = (0, 1, 2)
COMPARED = ("list_summation", "sorting_algorithms")
"""The families on which all objectives are compared."""

OTHERS = ("marginal", "elbo", "beta_elbo", "global", "global_token")
MEASURES = ("fidelity", "agreement", "total_variation", "unique_share", "local_coverage")


@dataclasses.dataclass(frozen=True)
class Cell:
    """One factorization: of which task, with which objective, from where, how long, how fine, which seed.

    Attributes:
        latents: at the start.
        pruned: whether those that are not needed are dropped on the way.
    """

    task: str
    objective: str
    start: str
    updates: int
    seed: int
    latents: int
    pruned: bool = False

    @property
    def name(self) -> str:
        """Its name in the results."""
        return (
            f"{self.task} {self.objective} from-{self.start} {self.updates}-updates {self.latents}-latents "
            f"{'pruned ' if self.pruned else ''}seed-{self.seed}"
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of its factorization."""
        settings = {**SPLIT, "objective": self.objective, "steps": self.updates, "latents": self.latents}
        settings |= SPLIT_OWN.get(self.task, {})
        return settings | ({"prune": PRICE, "hold": 0.2} if self.pruned else {})


def cells() -> list[Cell]:
    """Return all cells, what is worth most first."""
    families = task_names()
    objectives = ("balanced", *OTHERS)

    def some(
        names: Iterable[str], objectives: Iterable[str], start: str, updates: int, seed: int
    ) -> list[Cell]:
        return [Cell(f, o, start, updates, seed, default_latents(task(f))) for f in names for o in objectives]

    def settled(names: Iterable[str], seed: int) -> list[Cell]:
        updates = {f: UPDATES_OWN.get(f, LONG) for f in names}
        latents = {f: default_latents(task(f), pruned=True) for f in names}
        return [Cell(f, "balanced", "base", updates[f], seed, latents[f], True) for f in names]

    def compared(seed: int) -> list[Cell]:
        return some(COMPARED, objectives, "base", SHORT, seed)

    rest = [family for family in families if family not in COMPARED]
    mixtures = [settled(["multi_task"], seed) for seed in SEEDS]
    first = [settled(families, 0), compared(0), mixtures[0]]
    more = [part for seed in SEEDS[1:] for part in (settled(families, seed), compared(seed))]
    last = [
        part
        for seed in SEEDS
        for part in (
            some(rest, objectives[:2], "base", SHORT, seed),
            some(COMPARED, objectives[:4], "nothing", BASE["steps"], seed),
        )
    ]
    return [cell for part in [*first, *more, *last, *mixtures[1:]] for cell in part]


def base_of(cell: Cell, progress: bool) -> LanguageModel:
    """Return the base model of a cell's task and seed, fitted now where it is not there yet."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"base-{cell.task}-{cell.seed}.npz"
    if not path.exists():
        settings = MIXED if cell.task == "multi_task" else BASE | OWN.get(cell.task, {})
        checkpoint = path.with_name(f"unfinished-{path.name}")
        begun = time.process_time()
        model, history = fit_base(
            jax.random.key(cell.seed),
            task(cell.task),
            checkpoint=checkpoint,
            progress=progress,
            **settings,
        )
        model.save(path)
        checkpoint.unlink()
        told: dict[str, Any] = {
            "base": f"{cell.task} seed-{cell.seed}",
            "version": __version__,
            "settings": settings,
        }
        told |= {"held_out": float(history["held_out"][-1]), "parameters": model.parameters}
        told |= {"cpu_seconds": round(time.process_time() - begun)}
        _append(told)
    return LanguageModel.read(path)


def run(cell: Cell, progress: bool) -> dict[str, Any]:
    """Factorize, evaluate, explore; return the line of the results."""
    base = base_of(cell, progress)
    subject = task(cell.task)
    checkpoint = FOLDER / f"unfinished-{cell.name.replace(' ', '-')}.npz"
    begun = time.process_time()
    model, history = factorize(
        jax.random.key(1000 + cell.seed),
        subject,
        base if cell.start == "base" else None,
        checkpoint=checkpoint,
        progress=progress,
        **cell.settings,
    )
    fitted = time.process_time() - begun
    study = judged(jax.random.key(2000 + cell.seed), subject, model, base)
    for path in checkpoints(checkpoint):
        path.unlink(missing_ok=True)
    told = study_document(study, level=0.95)
    del told["traces"]
    return {
        "cell": cell.name,
        **dataclasses.asdict(cell),
        **({"parts": len(PARTS)} if cell.pruned else {}),
        "settings": {**cell.settings},
        "use_by_update": np.round(history["use"], 3).tolist(),
        "steps": history["step"].tolist(),
        "held_out": history["held_out"].round(4).tolist(),
        "kept": model.latents,
        "cpu_seconds": {"fit": round(fitted), "all": round(time.process_time() - begun)},
        **told,
    }


def _append(line: dict[str, Any]) -> None:
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, allow_nan=False) + "\n")


def results() -> list[dict[str, Any]]:
    """Return the lines that are there."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]


# -- the page --------------------------------------------------------------------------------------


def page(lines: list[dict[str, Any]]) -> str:
    """Return the tables of all results."""
    bases = [line for line in lines if "base" in line]
    fits = [line for line in lines if "cell" in line]
    parts = [
        "### Base models",
        "",
        "| base | parameters | -log p, held-out inputs | CPU seconds |",
        "|---|---|---|---|",
    ]
    parts += [
        f"| {line['base']} | {line['parameters']:,} | {line['held_out']:.4f} | {line['cpu_seconds']} |"
        for line in bases
    ]
    parts += ["", "### What the latents became (development inputs, 95 % intervals over inputs)", ""]
    parts += ["| fit | latents kept | " + " | ".join(MEASURES) + " | collapsed | CPU seconds |"]
    parts += ["|---" * (len(MEASURES) + 4) + "|"]
    parts += [row for line in fits for row in _latent_rows(line)]
    parts += ["", "### Exploration (test inputs): C(M) of generated text, and Gain over base iid", ""]
    header = ["fit", "base iid", *_methods(fits), "chosen, not seeing outcomes", "W inside the band"]
    parts += [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    parts += [_curve_row(line, _methods(fits)) for line in fits]
    return "\n".join(parts)


def _methods(fits: list[dict[str, Any]]) -> list[str]:
    names = [name for line in fits for name in line["methods"] if name != "base iid"]
    return list(dict.fromkeys(names))


def _latent_rows(line: dict[str, Any]) -> list[str]:
    rows = []
    for name, family in line["families"].items():
        of = "" if name in (line["task"], "all") else f" / {name}"
        told = [
            _told(family["agreement"]["intersection"] if m == "agreement" else family[m]) for m in MEASURES
        ]
        collapsed = "yes" if family["collapsed"] else "no"
        rows.append(
            f"| {line['cell']}{of} | {line.get('kept', 'all')} | {' | '.join(told)} | {collapsed} "
            f"| {line['cpu_seconds']['fit']} |"
        )
    return rows


def _told(point: dict[str, Any] | None) -> str:
    if point is None or point["mean"] is None:
        return "-"
    low, high = point["low"], point["high"]
    return f"{point['mean']:.3f}" + ("" if low is None else f" [{low:.3f}, {high:.3f}]")


def _curve_row(line: dict[str, Any], names: list[str]) -> str:
    told = []
    for name in ("base iid", *names):
        method = line["methods"].get(name)
        if method is None:
            told.append("-")
            continue
        gain = method["gain"]
        told.append(f"{method['coverage'][-1]:.3f} (W: {method['predicted'][-1]:.3f})")
        if name != "base iid" and gain["pooled"] is not None:
            span = "" if gain["low"] is None else f" [{gain['low']:.2f}, {gain['high']:.2f}]"
            told[-1] += f", Gain {gain['pooled']:.2f}{span}"
    inside = _inside(line["methods"])
    told += [line["chosen"]["not seeing outcomes"], f"{sum(inside)} of {len(inside)}"]
    return f"| {line['cell']} | {' | '.join(told)} |"


def _inside(methods: dict[str, Any]) -> list[bool]:
    """Say of each policy of latents and each k whether what W promises is in the band of the measured curve.

    The band is that of the test inputs alone; W is estimated too, from development inputs. Points without a
    band, where all inputs agree, are left out.
    """
    return [
        low <= promised <= high
        for name, method in methods.items()
        if name in POLICIES
        for promised, low, high in zip(method["predicted"], method["low"], method["high"], strict=True)
        if low is not None
    ]


def write_page() -> None:
    """Write the tables between the markers of the page."""
    PAGE.write_text(between(PAGE.read_text(encoding="utf-8"), BEGIN, END, page(results())), encoding="utf-8")


def main() -> None:
    """Run the cells that are not there yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=[], help="words that a cell's name must contain")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--progress", action="store_true", help="show bars")
    args = parser.parse_args()
    if not args.page:
        done = {line["cell"] for line in results() if "cell" in line}
        for cell in cells():
            if cell.name in done or not all(word in cell.name for word in args.only):
                continue
            print(f"{time.strftime('%H:%M:%S')} {cell.name}", flush=True)
            _append(run(cell, args.progress))
            write_page()
    write_page()


if __name__ == "__main__":
    main()
