"""Routing: bootstrap and evaluation against plain NumPy, and learned routers on the controlled grid.

python -m benchmarks.routing --write docs/routing.md      runs the grid of routers (minutes) and writes its
tables
"""

import argparse
import dataclasses
import pathlib
import time

import jax
import numpy as np
from tqdm import tqdm

from benchmarks.harness import Row, against, arithmetic
from benchmarks.pages import replaced
from coverjax.inference.resampling import resampled_interval, resampled_means
from coverjax.routing import evidence, routers
from coverjax.routing.contracts import Inference
from coverjax.routing.evaluation import evaluate_table
from coverjax.routing.fitting import TrainingBudget
from coverjax.routing.tables import OutcomeTable
from coverjax.routing.teams import TeamFamily
from coverjax.routing.views import routed

REPLICATES = 10_000


def loop_over_replicates(values: np.ndarray, replicates: int, seed: int) -> np.ndarray:
    """The paired bootstrap as it is usually written: draw rows, take their mean, again."""
    rng = np.random.default_rng(seed)
    out = np.empty((replicates, values.shape[1]))
    for replicate in range(replicates):
        out[replicate] = values[rng.integers(0, len(values), len(values))].mean(axis=0)
    return out


def rows(smoke: bool) -> list[Row]:
    """Return the rows of the speed table."""
    rng = np.random.default_rng(0)
    tasks, replicates = (50, 200) if smoke else (500, REPLICATES)
    values = rng.integers(-1, 2, (tasks, 4)).astype(np.float64)

    def spread(ours: np.ndarray, theirs: np.ndarray) -> float:
        return float(np.abs(ours.std(axis=0) / theirs.std(axis=0) - 1.0).max())

    bootstrap = against(
        f"paired bootstrap, {replicates:,} replicates, {tasks} tasks x 4 contrasts",
        lambda: resampled_means(values, None, replicates, 1),
        "NumPy loop over replicates",
        lambda: loop_over_replicates(values, replicates, 1),
        target=0 if smoke else 4,
        pairs=5,
        floor=arithmetic(2.0 * replicates * tasks * 4, words=replicates * tasks / 2),
        difference=spread,
    )
    table, routes = big_table(smoke)
    inference = Inference(replicates=replicates, criterion=0.1)
    evaluation = against(
        f"evaluate {table.outcomes.scores.size:,} rows, 5 routers, 10 contrasts, {replicates:,} replicates "
        "(1 s at "
        "most)",
        lambda: evaluate_table(table, routes, inference).oracle.low,
        "the bootstrap of one contrast alone, NumPy loop",
        lambda: float(loop_over_replicates(table.outcomes.scores[:, :1], replicates, 1).mean()),
        pairs=3,
        floor=arithmetic(
            2.0 * replicates * len(table.outcomes.scores) * 15,
            words=replicates * len(table.outcomes.scores) / 2,
        ),
    )
    return [bootstrap, evaluation]


def big_table(smoke: bool = False) -> tuple[OutcomeTable, dict[str, np.ndarray]]:
    """A table of 500 x 220 scores and five routes."""
    rng = np.random.default_rng(1)
    family = TeamFamily.of_sizes([f"w{i}" for i in range(6 if smoke else 12)], [3])
    tasks = 40 if smoke else 500
    scores = rng.random((tasks, family.teams)).round(3)
    routes = {f"router {i}": rng.integers(family.teams, size=tasks) for i in range(5)}
    return OutcomeTable.from_arrays(scores, family=family), routes


@dataclasses.dataclass(frozen=True)
class Cell:
    """One cell of the grid: two routers on the test tasks of all seeds.

    Attributes:
        noise, planted: of the design.
        a, b: mean test scores.
        difference, low, high: a - b, 95 % bootstrap over (seed, source) clusters.
        wins: seeds in which a is ahead.
        oracle, constant: mean test scores of the best team, and of the best constant of training.
    """

    noise: float
    planted: float
    a: float
    b: float
    difference: float
    low: float
    high: float
    wins: int
    oracle: float
    constant: float


def grid(
    design: evidence.EvidenceDesign,
    noises: tuple[float, ...] = evidence.NOISE_GRID,
    seeds: tuple[int, ...] = evidence.SEEDS,
    budget: TrainingBudget | None = None,
    labels: str = "privileged",
) -> list[Cell]:
    """Compare the two learned routers of a shape on source-disjoint test tasks.

    Four workers: set scorer (a) against leave-one-out scorer (b), equal parameters and tuning budget.
    Twelve: the same pair scores decoded by balanced partition (a) and by best team, the matched graph (b).
    """
    cells = []
    for noise in tqdm(noises, desc=f"{design.workers} workers, planted {design.planted:g}"):
        scores: list[list[np.ndarray]] = [[], [], [], []]
        clusters: list[str] = []
        for seed in seeds:
            drawn = evidence.sample_evidence(dataclasses.replace(design, noise=noise), seed)
            split = evidence.split_by_source(drawn.sources, seed=seed)
            view = routers.public_fields(drawn, split.test)
            table = drawn.scores[split.test]
            rows = np.arange(len(table))
            for place, route in enumerate(_routes(drawn, split, view, seed, budget, labels)):
                scores[place].append(table[rows, route])
            scores[2].append(table.max(axis=1))
            constant = routers.constant_router(drawn.scores[split.train], len(table))
            scores[3].append(table[rows, constant])
            clusters += [f"{seed}/{source}" for source in drawn.sources[split.test].tolist()]
        a, b, oracle, constant_scores = (np.concatenate(part) for part in scores)
        found = resampled_interval((a - b)[:, None], clusters=clusters)
        ahead = sum(x.mean() > y.mean() for x, y in zip(scores[0], scores[1], strict=True))
        ends = (float(found.mean[0]), float(found.low[0]), float(found.high[0]))
        means = (float(a.mean()), float(b.mean()))
        levels = (float(oracle.mean()), float(constant_scores.mean()))
        cells.append(Cell(noise, design.planted, *means, *ends, int(ahead), *levels))
    return cells


def _routes(
    drawn: evidence.EvidenceBenchmark,
    split: evidence.Split,
    view: dict[str, np.ndarray],
    seed: int,
    budget: TrainingBudget | None,
    labels: str,
) -> list[np.ndarray]:
    if drawn.design.workers == 4:
        fitted = [
            routers.fit_router(jax.random.key(seed), kind, drawn, split, budget)
            for kind in ("set", "leave_one_out")
        ]
        return [routed(router, view, evidence.PUBLIC) for router in fitted]
    pair = routers.fit_router(jax.random.key(seed), "pair", drawn, split, budget, labels)
    return [routed(pair.decoded(how), view, evidence.PUBLIC) for how in ("partition", "best team")]


def markdown(cells: list[Cell], a: str, b: str) -> str:
    """Return the cells as a table, with who won."""
    lines = [
        f"| planted | noise | oracle | best constant | {a} | {b} | difference | seeds won | verdict |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for c in cells:
        verdict = f"{a} wins" if c.low > 0.0 else f"{b} wins" if c.high < 0.0 else "undecided"
        lines.append(
            f"| {c.planted:g} | {c.noise:g} | {c.oracle:.3f} | {c.constant:.3f} | {c.a:.3f} | {c.b:.3f} | "
            f"{c.difference:+.3f} [{c.low:+.3f}, {c.high:+.3f}] | {c.wins} of {len(evidence.SEEDS)} | "
            f"{verdict} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the grid; print its tables, or write them between their markers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=pathlib.Path, help="page that holds the tables")
    args = parser.parse_args()
    start = time.perf_counter()
    four = markdown(grid(evidence.FOUR), "set scorer", "leave-one-out")
    blocks = {"four workers": four}
    for labels in ("privileged", "outcomes"):
        cells = [
            cell
            for planted in (1.0, 0.0)
            for cell in grid(dataclasses.replace(evidence.TWELVE, planted=planted), labels=labels)
        ]
        blocks[f"twelve workers, {labels} labels"] = markdown(cells, "partition", "matched graph")
    print(f"{time.perf_counter() - start:.0f} s")
    for name, block in blocks.items():
        print(f"\n{name}\n\n{block}")
    if args.write:
        text = args.write.read_text()
        for name, block in blocks.items():
            text = replaced(text, name, block)
        args.write.write_text(text)


if __name__ == "__main__":
    main()
