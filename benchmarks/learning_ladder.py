"""The ladder: every way to explore on the same models, with what it sees and knows beside it."""

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

import coverjax as cj
from benchmarks.learning_adaptive import DRAWS, LEARNED, SMOKE, Size, held_out_models, key, train_across
from coverjax.report.policy_plots import KNOWS, SEES, plot_gain_split
from coverjax.report.policy_study import PolicyStudy, study_policies
from coverjax.report.style import new_figure, save_figure, styled

CONCENTRATION = 0.3
HERE = pathlib.Path(__file__).parent
FIGURE = "learning_ladder"


def rungs(model: cj.RouterGenerator, size: Size, learned: Any) -> dict[str, Any]:
    """Return the policies by what they are called in the figure, those of a row an input trained here."""
    trained = {"steps": size.table_steps, "every": size.table_steps}
    router, _ = cj.train_policy(key(0), cj.LatentIID, model, DRAWS, **trained)
    schedule, _ = cj.train_policy(key(0), cj.LatentSchedule, model, DRAWS, **trained)
    return {
        "iid": cj.IID(),
        "latent-iid, router as given": cj.LatentIID(),
        "latent-iid, trained router": router,
        "no-repeat latents": cj.LatentNoRepeat(),
        "GoodUCB": cj.GoodUCB(),
        "trained schedule": schedule,
        "greedy": cj.GreedyLatent(),
        "learned, on models it never saw": learned,
        "optimal": cj.OptimalLatent(),
        "oracle": cj.OracleNoRepeat(),
    }


def study(size: Size, trials: int, learned: Any) -> PolicyStudy:
    """Study the policies on held-out models: exactly, GoodUCB by simulation."""
    model = held_out_models(size.held_out, CONCENTRATION)
    curves = {}
    for name, policy in rungs(model, size, learned).items():
        if isinstance(policy, cj.GoodUCB):
            curves[name] = cj.simulate(key(1), policy, model, DRAWS, trials)
        else:
            curves[name] = cj.exact(policy, model, DRAWS)
    return study_policies(curves, curves["iid"], curves["oracle"])


def learned_policy(size: Size) -> Any:
    """Return the network of the experiment "adaptive", as that wrote it; trained anew where it did not."""
    if size is not SMOKE and LEARNED.exists():
        return cj.LearnedLatent(LEARNED)
    return train_across(size)[0]


@styled
def draw(lines: Mapping[str, Any], rare_below: float, models: int) -> None:
    """Draw the figure, PNG, beside this file."""
    figure = new_figure(8.6, 5.8)
    ax = plot_gain_split(lines, figure.subplots(), rare_below=rare_below)
    ax.set_title(
        "How much of what exploring on purpose can bring does each way reach?\n"
        f"mean over {models} random samplers, 8 strategies, {DRAWS} draws;\n"
        f"rare: found less than once in {DRAWS} independent draws, on average",
        loc="left",
    )
    save_figure(figure, HERE, FIGURE)
    (HERE / f"{FIGURE}.svg").unlink()


def report(smoke: bool) -> str:
    """Draw the figure; return what was measured, as Markdown."""
    size = SMOKE if smoke else Size()
    found = study(size, 16 if smoke else 1_024, learned_policy(size))
    if not smoke:
        draw(found.lines, found.rare_below, size.held_out)
    lines = [
        "## Learning: the ladder",
        "",
        f"{size.held_out} held-out random models (8 latents, 8 strategies, Dirichlet {CONCENTRATION}, "
        f"routers from a flat law), {DRAWS} draws. Gain is pooled over models ± its standard error over "
        "models; common + rare is the mean gain over models. GoodUCB is simulated (1,024 runs a model), the "
        "others exact.",
        "",
        f"![Gain of each policy, split into common and rare strategies]({FIGURE}.png)",
        "",
        "| policy | sees | knows | AUC | Gain | common | rare |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, line in found.lines.items():
        gain = line.gain
        assert gain is not None
        error = f" ± {gain.stderr:.3f}" if np.isfinite(gain.stderr) and gain.stderr > 0 else ""
        lines.append(
            f"| {name} | {SEES[line.sees].partition(' ')[2]} | {KNOWS[line.knows].partition(' ')[2]} | "
            f"{line.auc:.4f} | {gain.pooled:.3f}{error} | {line.common:.3f} | {line.rare:.3f} |"
        )
    return "\n".join(lines)
