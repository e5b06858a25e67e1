"""A sweep, cells stacked and written to disk, against a loop that calls `exact` for every cell and policy."""

import pathlib
import tempfile
from typing import Any

import numpy as np

import coverjax as cj
from benchmarks.harness import Row, against, arithmetic
from coverjax.model.named import named_family
from coverjax.policy.registry import written_policy
from coverjax.sweep import Sweep, read_sweep, read_table, run_sweep

POLICIES = ("IID", "OracleNoRepeat", "BaseNoRepeat", "LatentIID", "LatentNoRepeat")
STRATEGIES, BUDGET = 32, 256


def text(steps: int) -> str:
    """A sweep of steps x steps cells."""
    return f"""
family = "confusion"
strategies = {STRATEGIES}
budget = {BUDGET}
policies = {list(POLICIES)}
[axes]
eps = {{ from = 0.0, to = 0.5, steps = {steps} }}
imbalance = {{ from = 0.0, to = 2.0, steps = {steps} }}
"""


def swept(sweep: Sweep) -> np.ndarray:
    """AUC of each cell and policy, from the files of a sweep."""
    with tempfile.TemporaryDirectory(prefix="coverjax-benchmark-") as folder:
        run_sweep(sweep, pathlib.Path(folder) / "out")
        return read_table(pathlib.Path(folder) / "out", ["auc"]).columns["auc"]


def looped(cells: list[dict[str, Any]]) -> np.ndarray:
    """The same, cell by cell; nothing is written."""
    found = []
    for cell in cells:
        given = {name: value for name, value in cell.items() if value is not None and name != "budget"}
        law = named_family(given.pop("family"), **given)
        for name in POLICIES:
            found.append(cj.auc(cj.exact(written_policy(name), law, BUDGET, include=()))[0])
    return np.array(found)


def rows(smoke: bool) -> list[Row]:
    """Return the row for sweeps."""
    steps = 4 if smoke else 40
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "sweep.toml"
        path.write_text(text(steps))
        sweep = read_sweep(path)
    part = max(8, len(sweep.cells) // 16)
    # IID twice; latents one after another by their recurrence.
    flops = 2.0 * len(sweep.cells) * (2 * BUDGET * STRATEGIES + STRATEGIES**3)
    return [
        against(
            f"exact sweep of {len(sweep.cells):,} cells x {len(POLICIES)} policies, {STRATEGIES} strategies, "
            f"budget {BUDGET}, written",
            lambda: swept(sweep),
            f"a loop of `exact` over {part} of the cells, scaled",
            lambda: looped(sweep.cells[:part]),
            pairs=1 if smoke else 3,
            scale=len(sweep.cells) / part,
            floor=arithmetic(flops, written=8.0 * BUDGET * len(sweep.cells) * len(POLICIES)),
            difference=lambda ours, theirs: float(np.abs(ours[: len(theirs)] - theirs).max()),
        )
    ]
