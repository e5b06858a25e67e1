"""A rung about routing: a table in which every team was run on every task, and routers judged on it."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coverjax.demo.rungs import Preset, Rung, Shelf, Step
from coverjax.report.html import Figure
from coverjax.report.plain import write_csv
from coverjax.report.route_page import route_page
from coverjax.report.route_plots import write_route_figures
from coverjax.report.route_summary import study_document, write_routers
from coverjax.routing.contracts import read_contract
from coverjax.routing.judging import judge_study
from coverjax.routing.sealing import make_seal, write_seal
from coverjax.routing.studies import load_study

WORKERS = ("ada", "bob", "cy", "dot")
KINDS = ("proof", "code", "search")
TEAMS = tuple("|".join(team) for size in (1, 2) for team in itertools.combinations(WORKERS, size))

CONTRACT = """\
name = "demo: four workers, alone and in pairs"

[actions]
workers = ["ada", "bob", "cy", "dot"]
teams = [1, 2]

[information]
public = ["kind"]

[stack]
id = "one-stack"

[scores]
failed = 0.0

[inference]
replicates = {replicates}

[evidence]
kind = "controlled_table"

[[routers]]
name = "by kind"
file = "{prefix}-by-kind.csv"

[[routers]]
name = "any pair"
file = "{prefix}-any-pair.csv"
"""


def teams(shelf: Shelf, preset: Preset, seed: int, step: Step, found: Mapping[str, Rung]) -> Rung:
    """Climb the rung: write contract, routes and outcomes, seal, judge."""
    step("running every team on every task")
    rng = np.random.default_rng(seed)
    kinds = rng.integers(len(KINDS), size=preset.tasks)
    scores, costs = _table(rng, kinds)
    tasks = [f"task-{number + 1:03d}" for number in range(preset.tasks)]
    written = _inputs(shelf, preset, tasks, _routes(rng, kinds, scores))
    step("sealing and judging")
    contract = shelf.path("contract.toml")
    study = load_study(read_contract(contract))
    seal = make_seal(study)
    write_seal(seal, shelf.path("contract.seal.json"))
    rows = [
        (task, team, scores[i, j], costs[j], KINDS[kinds[i]], "one-stack", seal.digest)
        for i, task in enumerate(tasks)
        for j, team in enumerate(TEAMS)
    ]
    header = ("task", "team", "score", "cost", "family", "stack", "seal")
    write_csv(shelf.path("outcomes.csv"), header, rows)
    outcomes = study.read_outcomes([str(shelf.path("outcomes.csv"))])
    result = judge_study(study, outcomes, seal)
    again = f"coverjax route evaluate {contract.name} {shelf.name('outcomes.csv')}"
    told = study_document(result, command=again, options={}, files=[])
    step("drawing")
    with shelf.apart() as place:
        write_routers(result, place / "routers.csv")
        files = ["routers.csv", *write_route_figures(result, place)]
    page = route_page(result, told, files)
    shown = [
        part for part in shelf.moved(page) if not isinstance(part, Figure) or "execution" not in part.stem
    ]
    return Rung(
        title="A table of teams: is the one that was chosen as good as the best",
        answer=page.answer,
        again=(again,),
        parts=shown,
        cautions=page.cautions,
        told=told,
        files=[*written, *(shelf.name(name) for name in ("contract.seal.json", "outcomes.csv", *files))],
    )


def _table(rng: np.random.Generator, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return scores [tasks, teams] in quarters and costs [teams]: a team is as good as its best member that
    day."""
    skill = rng.uniform(0.15, 0.9, (len(WORKERS), len(KINDS)))
    day = skill[:, kinds].T + rng.normal(0.0, 0.22, (len(kinds), len(WORKERS)))
    members = [[WORKERS.index(name) for name in team.split("|")] for team in TEAMS]
    best = np.stack([day[:, who].max(axis=1) for who in members], axis=1)
    return np.clip(np.round(4 * best) / 4, 0.0, 1.0), np.array([float(len(who)) for who in members])


def _routes(rng: np.random.Generator, kinds: np.ndarray, scores: np.ndarray) -> dict[str, Sequence[Any]]:
    """Return the routers: the best team of each kind on a pilot of twenty tasks, and a pair at random."""
    pilot = np.arange(min(20, len(kinds)))
    best = [
        int(scores[pilot[kinds[pilot] == kind]].mean(axis=0).argmax()) if (kinds[pilot] == kind).any() else 0
        for kind in range(len(KINDS))
    ]
    pairs = [place for place, team in enumerate(TEAMS) if "|" in team]
    return {"by-kind": [best[kind] for kind in kinds], "any-pair": rng.choice(pairs, len(kinds)).tolist()}


def _inputs(shelf: Shelf, preset: Preset, tasks: list[str], routes: dict[str, Sequence[Any]]) -> list[str]:
    text = CONTRACT.format(replicates=preset.replicates, prefix=shelf.prefix)
    shelf.path("contract.toml").write_text(text, encoding="utf-8", newline="\n")
    for name, chosen in routes.items():
        rows = zip(tasks, (TEAMS[team] for team in chosen), strict=True)
        write_csv(shelf.path(f"{name}.csv"), ("task", "team"), rows)
    return [shelf.name(name) for name in ("contract.toml", *(f"{name}.csv" for name in routes))]
