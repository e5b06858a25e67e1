"""What `coverjax sequences evaluate` prints and writes of continuous latents: what they tell, the curves."""

import pathlib
from typing import Any

from coverjax._version import __version__
from coverjax.report.plain import interval_point, numbers, write_json
from coverjax.report.plots import plot_coverage
from coverjax.report.sequence_tables import (
    COLUMNS,
    FLAT,
    NAME,
    curve_facts,
    model_facts,
    told_end,
    told_point,
    write_explored,
)
from coverjax.report.style import new_figure, save_figure, styled
from coverjax.report.text import counted, fit, wrapped
from coverjax.sequences.collapse import ACTIVE
from coverjax.sequences.continuous_study import ContinuousStudy


def continuous_document(study: ContinuousStudy, *, level: float, **run: Any) -> dict[str, Any]:
    """Return summary.json of what continuous latents became and of exploring with them."""
    explored, use, agreement = study.exploration, study.use, study.agreement
    return {
        "verb": "sequences evaluate",
        "version": __version__,
        **run,
        "level": level,
        "model": model_facts(study.model),
        "latents": {
            "kl": numbers(use.kl),
            "variance": numbers(use.variance),
            "active": int(use.active.sum()),
            "collapsed": use.collapsed,
            "texts": use.texts,
            "agreement": {
                name: interval_point(getattr(agreement, name), FLAT)
                for name in ("same", "other", "difference")
            },
        },
        "methods": {
            name: {
                "fidelity": interval_point(study.fidelity[name], FLAT),
                **curve_facts(curves, explored.gains[name], level),
            }
            for name, curves in explored.curves.items()
        },
    }


def continuous_text(study: ContinuousStudy, level: float) -> str:
    """Return what the latents tell and what drawing them on purpose brought, for a terminal."""
    return "\n\n".join([_latents_text(study), _curves_text(study, level)]) + "\n"


def _latents_text(study: ContinuousStudy) -> str:
    use, agreement = study.use, study.agreement
    same, other, apart = (
        told_point(found.mean[0], found.low[0], found.high[0])
        for found in (agreement.same, agreement.other, agreement.difference)
    )
    said = (
        f"{study.task.name}, {counted(use.texts, 'held-out text')}: {int(use.active.sum())} of "
        f"{counted(len(use.active), 'dimension')} active (variance of posterior means above {ACTIVE:g} "
        f"of the router's), KL {use.kl.sum():.3f} nats."
        + (" COLLAPSED: z tells nothing of the text; choosing it is sampling." if use.collapsed else "")
    )
    lines = wrapped(said, COLUMNS)
    lines.append(f"{'dimension':>9}  {'KL':>6}  {'variance':>8}")
    for place, (nats, variance) in enumerate(zip(use.kl, use.variance, strict=True)):
        lines.append(f"{place:>9}  {nats:>6.3f}  {variance:>8.4f}")
    lines += wrapped(
        f"Two texts of a development input share a strategy with probability {same} under one z, {other} "
        f"under two: z decides {apart}.",
        COLUMNS,
    )
    return "\n".join(lines)


def _curves_text(study: ContinuousStudy, level: float) -> str:
    explored = study.exploration
    first = next(iter(explored.curves.values()))
    lines = wrapped(
        f"Coverage of strategies by generated text on {counted(first.inputs, 'test input')} after K = "
        f"{int(first.budgets[-1])} draws, mean and {100 * level:g} % interval over inputs; fidelity, the "
        "share of the texts that match a strategy; Gain between independent sampling (0) and one strategy a "
        "draw (1).",
        COLUMNS,
    )
    lines.append(f"{fit('method', NAME)} C(K)                 fidelity Gain")
    for name, curves in explored.curves.items():
        end, gain = told_end(curves, explored.gains[name], level)
        lines.append(f"{fit(name, NAME)} {end} {study.fidelity[name].mean[0]:<8.3f} {gain}")
    return "\n".join(lines)


def write_continuous(study: ContinuousStudy, text: str, folder: pathlib.Path, level: float) -> list[str]:
    """Write the summary, the curves, the logs and the figure; return the files' names."""
    write_json(folder / "summary.json", text)
    explored = study.exploration
    names = write_explored(explored.curves, {}, explored.logs, folder)
    return ["summary.json", *names, *_write_figure(study, folder, level)]


@styled
def _write_figure(study: ContinuousStudy, folder: pathlib.Path, level: float) -> list[str]:
    """Write the measured curves with bands, as PNG and SVG."""
    figure = new_figure(7.2, 4.6)
    ax = figure.subplots()
    plot_coverage(study.exploration.curves, ax, level=level)
    ax.set_title("coverage of strategies by generated text", loc="left")
    return save_figure(figure, folder, "exploration")
