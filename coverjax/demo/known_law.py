"""Rung 1: a law that is known: every policy exactly and by simulation, and policies trained to their
optimum."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from coverjax.closed_form.forms import exact
from coverjax.curves import Curves
from coverjax.demo.rungs import Preset, Rung, Shelf, Step
from coverjax.learning.training import train_policy
from coverjax.metrics import auc
from coverjax.model import families
from coverjax.model.router_generator import RouterGenerator
from coverjax.montecarlo.scan import simulate
from coverjax.policy.base import label
from coverjax.policy.good_ucb import GoodUCB
from coverjax.policy.greedy import GreedyLatent
from coverjax.policy.iid import IID
from coverjax.policy.latent import LatentIID, LatentNoRepeat
from coverjax.policy.no_repeat import BaseNoRepeat
from coverjax.policy.optimal import OptimalLatent
from coverjax.policy.oracle import OracleNoRepeat
from coverjax.policy.schedule import LatentSchedule
from coverjax.report.html import Table
from coverjax.report.policy_page import policy_page
from coverjax.report.policy_plots import write_policy_figures
from coverjax.report.policy_study import PolicyStudy, curves_of, document, study_policies
from coverjax.report.policy_tables import write_policy_curves

EPS = 0.1
"""How often a latent draws another strategy than its own."""

POLICIES = (
    IID(),
    OracleNoRepeat(),
    BaseNoRepeat(),
    LatentIID(),
    LatentNoRepeat(),
    GreedyLatent(),
    OptimalLatent(),
    GoodUCB(),
)
CHECKED = ("IID", "LatentNoRepeat", "OptimalLatent")
"""Policies that are simulated too, though their curves are known."""

TRAINED = "trained router"
SCHEDULE = "trained schedule"


def known_law(shelf: Shelf, preset: Preset, seed: int, step: Step, found: Mapping[str, Rung]) -> Rung:
    """Climb the first rung."""
    model = demo_model(preset, seed)
    key = jax.random.key(seed)
    curves: dict[str, Curves] = {}
    for policy in POLICIES:
        step(f"curves of {label(policy)}")
        curves[label(policy)] = curves_of(key, policy, model, preset.budget, preset.trials)
    trained = {}
    for name, kind in ((TRAINED, LatentIID), (SCHEDULE, LatentSchedule)):
        step(f"training a {name.removeprefix('trained ')}")
        trained[name], _ = train_policy(
            key, kind, model, preset.budget, steps=preset.steps, every=preset.steps, progress=False
        )
        curves[name] = curves_of(key, trained[name], model, preset.budget, preset.trials)
    step("simulating what is known exactly")
    checks = _checks(key, {name: curves[name] for name in CHECKED}, model, preset)
    study = study_policies(curves, curves["IID"], curves["OracleNoRepeat"])
    return _told(shelf, preset, seed, study, checks, _optimum(model, preset), step)


def demo_model(preset: Preset, seed: int) -> RouterGenerator:
    """Return the router-generator: latents that are right nine times of ten, routers uneven on each input."""
    shares = families.dirichlet(jax.random.key(seed), preset.inputs, preset.strategies, 0.7).probs
    ids = [f"input-{number + 1:02d}" for number in range(preset.inputs)]
    even = families.confusion(preset.inputs, preset.strategies, EPS)
    return RouterGenerator(shares, even.generator, ids=ids)


def _optimum(model: RouterGenerator, preset: Preset) -> float:
    """Return the largest mean AUC of any router that sees nothing.

    AUC is concave in the router, and this model is the same under every permutation of latents with their
    strategies, so that the uniform router is the best one on every input.
    """
    even = np.full_like(model.router, 1.0 / model.router.shape[1])
    best = RouterGenerator(even, model.generator, ids=model.ids)
    return float(auc(exact(LatentIID(), best, preset.budget)).mean())


def _checks(
    key: jax.Array, known: dict[str, Curves], model: RouterGenerator, preset: Preset
) -> list[list[Any]]:
    """Return a row a policy: exact C(K), simulated C(K), its standard error, and their distance in errors."""
    by_name = {label(policy): policy for policy in POLICIES}
    rows = []
    for name, curves in known.items():
        drawn = simulate(key, by_name[name], model, preset.budget, preset.trials)
        assert drawn.mc_stderr is not None
        errors = np.asarray(drawn.mc_stderr.coverage)[:, -1]
        error = float(np.sqrt((errors**2).sum()) / len(errors))
        ends = float(curves.coverage[:, -1].mean()), float(drawn.coverage[:, -1].mean())
        rows.append([name, *ends, error, (ends[1] - ends[0]) / error if error else 0.0])
    return rows


def _told(
    shelf: Shelf,
    preset: Preset,
    seed: int,
    study: PolicyStudy,
    checks: list[list[Any]],
    best: float,
    step: Step,
) -> Rung:
    step("drawing")
    told = document(study, verb="demo", command="coverjax demo", options={"seed": seed}, seed=seed)
    with shelf.apart() as place:
        write_policy_curves(study, place / "curves.csv")
        files = ["curves.csv", *write_policy_figures(study, place)]
    page = policy_page(study, told, files)
    reached = study.lines[TRAINED].auc
    schedule, ceiling = study.lines[SCHEDULE].auc, study.lines["OptimalLatent"].auc
    header = ("policy", "C(K) exact", "C(K) simulated", "standard error", "distance in errors")
    table = Table("Exact against simulated", header, checks, f"{preset.trials:,} trials an input.")
    return Rung(
        title="A law that is known: what each policy covers, and what could be had",
        answer=(
            page.answer[0],
            f"A router that sees nothing can reach a mean AUC of {best:.4f} here and no more; training "
            f"reached "
            f"{reached:.4f}, {best - reached:.1e} below. A schedule, one router a draw, was trained to "
            f"{schedule:.4f}; the best adaptive policy has {ceiling:.4f}.",
            f"Simulation agrees with the exact curves: at most {max(abs(row[4]) for row in checks):.1f} "
            f"standard "
            "errors apart at K.",
        ),
        again=(
            f"coverjax exact --family confusion --inputs {preset.inputs} --strategies {preset.strategies} "
            f"--eps {EPS} --budget {preset.budget}   # the same model with even routers",
        ),
        parts=[*shelf.moved(page), table],
        cautions=page.cautions,
        told={"study": told, "best_router_auc": best, "trained_router_auc": reached, "checks": checks},
        files=[shelf.name(file) for file in files],
    )
