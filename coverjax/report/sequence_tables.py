"""What `coverjax sequences` prints and writes: the fit, the samples, what the latents became, the curves."""

import math
import pathlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from coverjax._version import __version__
from coverjax.curves import PER_BUDGET, Curves
from coverjax.inference.of_curves import curve_interval
from coverjax.inference.student import student_quantile
from coverjax.inference.units import NO_VARIANCE, Interval
from coverjax.logs.log import SampleLog
from coverjax.logs.writing import write_declared, write_log
from coverjax.metrics import GainReport, auc
from coverjax.report.plain import cell, interval_point, number, numbers, with_reason, write_csv, write_json
from coverjax.report.plots import plot_coverage
from coverjax.report.style import look, new_figure, save_figure, styled
from coverjax.report.text import counted, file_stem, fit, one_line, wrapped
from coverjax.sequences.evaluation import FamilyEvaluation
from coverjax.sequences.generation import Drawn
from coverjax.sequences.language_model import LanguageModel
from coverjax.sequences.studies import Study
from coverjax.sequences.tasks.base import OUTCOMES, ValidationResult

COLUMNS = 80
NAME = 16
FLAT = "no interval: all inputs agree, or there are too few"


# -- fits ------------------------------------------------------------------------------------------


def model_facts(model: LanguageModel) -> dict[str, Any]:
    """Return what a model is, as plain values."""
    size = model.network.size
    return {
        "task": model.task,
        "latents": model.latents,
        "dimensions": model.dimensions,
        "parameters": model.parameters,
        "size": {"width": size.width, "layers": size.layers, "heads": size.heads, "hidden": size.hidden},
        "words": len(model.tokenizer.words),
    }


def fit_document(
    model: LanguageModel, history: dict[str, np.ndarray], *, verb: str, **run: Any
) -> dict[str, Any]:
    """Return summary.json of a fit; nothing in it depends on the clock."""
    told: dict[str, Any] = {"verb": verb, "version": __version__, **run, "model": model_facts(model)}
    told["updates"] = int(history["step"][-1])
    told["loss"] = number(history["loss"][-1])
    told["held_out"] = number(history["held_out"][-1])
    if model.latents:
        told["use"] = numbers(history["use"][-1, : model.latents])
        told["dropped"] = history["use"].shape[1] - model.latents
    if model.dimensions:
        told["kl"] = numbers(history["use"][-1])
    return told


def fit_text(model: LanguageModel, history: dict[str, np.ndarray]) -> str:
    """Return the fit in a few lines."""
    size = model.network.size
    lines = wrapped(
        f"coverjax {__version__}: {model.task}, {model.parameters:,} parameters ({size.layers} layers of "
        f"width {size.width}), {counted(int(history['step'][-1]), 'update')}; loss "
        f"{history['loss'][-1]:.4f}, on inputs that were not fitted {history['held_out'][-1]:.4f} a text.",
        COLUMNS,
    )
    if model.latents:
        use = " ".join(f"{share:.3f}" for share in history["use"][-1, : model.latents])
        begun = history["use"].shape[1]
        of = f", left of {begun}" if begun > model.latents else ""
        lines += wrapped(
            f"Share of the texts of each of {counted(model.latents, 'latent')}{of}: {use}", COLUMNS
        )
    if model.dimensions:
        kl = " ".join(f"{nats:.3f}" for nats in history["use"][-1])
        lines += wrapped(
            f"KL of each of {counted(model.dimensions, 'dimension')} in the last batch, nats: {kl}. Near 0 "
            "it has collapsed: z tells nothing of the text.",
            COLUMNS,
        )
    return "\n".join(lines) + "\n"


def write_fit_history(history: dict[str, np.ndarray], path: pathlib.Path) -> None:
    """Write the losses as CSV, a line an evaluation; seconds are left out, they depend on the machine."""
    names = ("step", "loss", "held_out")
    write_csv(path, names, zip(*(history[name].tolist() for name in names), strict=True))


# -- samples ---------------------------------------------------------------------------------------


def outcome_shares(drawn: Drawn) -> dict[str, float]:
    """Return the share of each outcome among the samples, all of `OUTCOMES`."""
    counts = Counter(result.outcome for result in drawn.results.ravel())
    return {name: counts[name] / drawn.results.size for name in OUTCOMES}


def draw_document(drawn: Drawn, **run: Any) -> dict[str, Any]:
    """Return summary.json of samples."""
    correct = drawn.log.correct
    assert correct is not None
    return {
        "verb": "sequences draw",
        "version": __version__,
        **run,
        "inputs": drawn.log.inputs,
        "samples": int(drawn.log.n.sum()),
        "outcomes": outcome_shares(drawn),
        "correct": float(correct.mean()),
    }


def draw_text(drawn: Drawn) -> str:
    """Return the samples in a few lines."""
    shares = ", ".join(f"{name} {share:.3f}" for name, share in outcome_shares(drawn).items() if share)
    said = (
        f"coverjax {__version__}: {counted(int(drawn.log.n.sum()), 'text')} of "
        f"{counted(drawn.log.inputs, 'input')}: {shares}."
    )
    return "\n".join(wrapped(said, COLUMNS)) + "\n"


def write_texts(drawn: Drawn, path: pathlib.Path) -> None:
    """Write every text as CSV, with what it was taken for and why; and its z where latents are continuous."""
    points = drawn.latents if drawn.latents.ndim == 3 else np.zeros((*drawn.results.shape, 0))
    names = ["input", "sample", "text", "outcome", "strategies", "reason"]
    names += [f"z{place}" for place in range(points.shape[-1])]
    rows = []
    for at in np.ndindex(drawn.results.shape):
        result: ValidationResult = drawn.results[at]  # type: ignore[assignment]  # an object array's entry
        matches = "|".join(sorted(result.strategy_matches or ()))
        told = (drawn.x_texts[at[0]], at[1], drawn.texts[at], result.outcome, matches, result.reason)
        rows.append((*told, *(cell(number) for number in points[at].tolist())))
    write_csv(path, names, rows)


# -- what the latents became, and exploring ---------------------------------------------------------


def study_document(study: Study, *, level: float, **run: Any) -> dict[str, Any]:
    """Return summary.json of an evaluation and an exploration."""
    explored = study.exploration
    return {
        "verb": "sequences evaluate",
        "version": __version__,
        **run,
        "level": level,
        "model": model_facts(study.model),
        "families": {name: _family(found) for name, found in study.evaluation.families.items()},
        "methods": {name: _method(study, name, level) for name in explored.curves},
        "chosen": {"all": explored.chosen, "not seeing outcomes": explored.chosen_unseeing},
        "traces": {
            str(z): [dict(zip(("input", "text", "strategies"), line, strict=True)) for line in lines]
            for z, lines in study.traces.items()
        },
    }


def _point(found: "Interval | None") -> dict[str, Any] | None:
    return None if found is None else interval_point(found, FLAT)


def _family(found: FamilyEvaluation) -> dict[str, Any]:
    names = ("fidelity", "valid", "correct", "total_variation", "unique_share", "alignment")
    told: dict[str, Any] = {name: _point(getattr(found, name)) for name in names}
    told |= {"local_coverage": _point(found.local_coverage), "information": _point(found.information)}
    told["agreement"] = {kind: _point(value) for kind, value in found.agreement.items()}
    told |= {"inputs": found.inputs, "strategies": list(found.strategies), "main": list(found.main)}
    told |= {"use": numbers(found.use), "purity": numbers(found.purity), "dead": list(found.dead)}
    told |= {"twins": [list(pair) for pair in found.twins], "collapsed": bool(found.collapsed)}
    told |= {"frequencies": numbers(found.frequencies), "warnings": list(found.warnings)}
    # W [latents, strategies], and for each of its numbers an interval over inputs.
    ends = {"table": found.table.mean, "table_low": found.table.low, "table_high": found.table.high}
    told |= {name: [numbers(row) for row in values] for name, values in ends.items()}
    return with_reason(
        told, "valid and correct: the samples have no such flag; total_variation: no reference"
    )


def gain_interval(report: GainReport, level: float) -> tuple[float, float]:
    """Return the ends of the t-interval over inputs of a pooled gain, by its paired standard error.

    NaN where there is no gain or nothing varies: independent sampling's own gain is 0 whatever was drawn.
    """
    if not report.stderr > NO_VARIANCE:
        return math.nan, math.nan
    reach = student_quantile(level, max(1, report.inputs - 1)) * report.stderr
    return report.pooled - reach, report.pooled + reach


def _method(study: Study, name: str, level: float) -> dict[str, Any]:
    explored = study.exploration
    return {
        "sees": explored.sees[name],
        "knows": explored.knows[name],
        "predicted": numbers(explored.predicted[name].mean().coverage[0]),
        **curve_facts(explored.curves[name], explored.gains[name], level),
    }


def curve_facts(curves: Curves, report: GainReport, level: float) -> dict[str, Any]:
    """Return a method's measured curve with its interval, and its gain, as plain values."""
    around = curve_interval(curves, level=level)
    low, high = gain_interval(report, level)
    gain = {"pooled": number(report.pooled), "low": number(low), "high": number(high)}
    told = {
        "coverage": numbers(around.mean),
        "low": numbers(around.low),
        "high": numbers(around.high),
        "auc": number(np.nanmean(auc(curves))),
        "gain": with_reason(
            gain, "no gain: the oracle has no room, or there are too few inputs; no interval: nothing varies"
        ),
    }
    return with_reason(told, "no interval at budgets where all inputs agree")


def study_text(study: Study, level: float) -> str:
    """Return what the latents became and what exploring with them brought, for a terminal."""
    parts = [_latents_text(name, found) for name, found in study.evaluation.families.items()]
    return "\n\n".join([*parts, _curves_text(study, level)]) + "\n"


def _told(found: "Interval | None") -> str:
    if found is None:
        return "?"
    return told_point(found.mean[0], found.low[0], found.high[0])


def told_point(mean: float, low: float, high: float) -> str:
    """Return a number and its interval, where there is one; "none" where there is no number."""
    if math.isnan(mean):
        return "none"
    return f"{mean:.3f}" + (f" [{low:.3f}, {high:.3f}]" if math.isfinite(low) else "")


def told_end(curves: Curves, gain: GainReport, level: float) -> tuple[str, str]:
    """Return C(K) with its interval, as wide as its column, and Gain with its own."""
    around = curve_interval(curves, level=level)
    end = told_point(around.mean[-1], around.low[-1], around.high[-1])
    return f"{end:<20}", told_point(gain.pooled, *gain_interval(gain, level))


def _latents_text(name: str, found: FamilyEvaluation) -> str:
    said = (
        f"{name}, {counted(found.inputs, 'development input')}: fidelity {_told(found.fidelity)}, agreement "
        f"{_told(found.agreement['intersection'])}, total variation {_told(found.total_variation)}, unique "
        f"share {_told(found.unique_share)}, local coverage {_told(found.local_coverage)}."
        + (" COLLAPSED: the latents tell nothing apart." if found.collapsed else "")
    )
    lines = wrapped(said, COLUMNS)
    lines.append(f"{'latent':>6}  {'share':>6}  {'purity':>6}  strategy")
    for z, (main, share, purity) in enumerate(zip(found.main, found.use, found.purity, strict=True)):
        note = " (dead)" if z in found.dead else ""
        lines.append(f"{z:>6}  {share:>6.3f}  {purity:>6.3f}  {one_line(main, 40)}{note}")
    for warning in found.warnings:
        lines += wrapped(f"! {warning}", COLUMNS, indent="  ")
    return "\n".join(lines)


def _curves_text(study: Study, level: float) -> str:
    explored = study.exploration
    first = next(iter(explored.curves.values()))
    last = int(first.budgets[-1])
    lines = wrapped(
        f"Coverage of generated text on {counted(first.inputs, 'test input')} after K = {last} draws, mean "
        f"and {100 * level:g} % interval over inputs; what W of the development inputs predicts; Gain "
        "between independent sampling (0) and one strategy a draw (1).",
        COLUMNS,
    )
    lines.append(f"{fit('method', NAME)} sees     C(K)                 predicted Gain")
    for name, curves in explored.curves.items():
        end, gain = told_end(curves, explored.gains[name], level)
        promised = explored.predicted[name].mean().coverage[0, -1]
        lines.append(f"{fit(name, NAME)} {explored.sees[name]:<8} {end} {promised:<9.3f} {gain}")
    best = f"Best by W on the development inputs: {explored.chosen}; not seeing outcomes: "
    return "\n".join(lines + wrapped(best + explored.chosen_unseeing, COLUMNS))


def write_study(study: Study, text: str, folder: pathlib.Path, level: float) -> list[str]:
    """Write the curves, the logs, the summary and the figure; return the files' names."""
    write_json(folder / "summary.json", text)
    explored = study.exploration
    names = write_explored(explored.curves, explored.predicted, explored.logs, folder)
    return ["summary.json", *names, *write_exploration_figure(study, folder, level)]


def write_explored(
    curves: dict[str, Curves], predicted: dict[str, Curves], logs: dict[str, SampleLog], folder: pathlib.Path
) -> list[str]:
    """Write curves.csv, a log a method, and declared.csv; return the files' names."""
    _write_curves({"measured": curves, "predicted": predicted}, folder / "curves.csv")
    names = ["curves.csv"]
    for name, log in logs.items():
        names.append(_log_name(name))
        write_log(log, folder / names[-1])
    write_declared(next(iter(logs.values())), folder / "declared.csv")
    return [*names, "declared.csv"]


def _log_name(method: str) -> str:
    return f"log-{file_stem(method)}.jsonl"


def evaluation_files(methods: Iterable[str]) -> tuple[str, ...]:
    """Return the names of all files that an evaluation with these methods may write."""
    drawn = tuple(f"exploration.{kind}" for kind in ("png", "svg"))
    return ("summary.json", "curves.csv", "declared.csv", *drawn, *map(_log_name, methods))


def _write_curves(groups: dict[str, dict[str, Curves]], path: pathlib.Path) -> None:
    """Write mean curves, measured or predicted, a line a method and budget."""
    rows: list[dict[str, Any]] = []
    for kind, group in groups.items():
        for name, curves in group.items():
            table = curves.mean().columns()
            columns = {key: table[key].tolist() for key in ("k", *PER_BUDGET) if key in table}
            for values in zip(*columns.values(), strict=True):
                rows.append({"method": name, "kind": kind, **dict(zip(columns, values, strict=True))})
    header = list(dict.fromkeys(key for row in rows for key in row))
    write_csv(path, header, ([cell(row.get(key, "")) for key in header] for row in rows))


@styled
def write_exploration_figure(study: Study, folder: pathlib.Path, level: float) -> list[str]:
    """Write the measured curves with bands, what W predicts as dots, as PNG and SVG."""
    figure = new_figure(7.2, 4.6)
    ax = figure.subplots()
    plot_coverage(study.exploration.curves, ax, level=level)
    for place, name in enumerate(study.exploration.curves):
        mean: Curves = study.exploration.predicted[name].mean()
        ax.plot(mean.budgets, mean.coverage[0], "o", ms=7, mfc="none", color=look(place)["color"])
    ax.set_title("coverage of generated text; rings: predicted from W", loc="left")
    return save_figure(figure, folder, "exploration")
