"""The numbers of one part: its cells stacked as the inputs of one law, each policy run once on all."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from coverjax.closed_form.forms import exact
from coverjax.curves import Curves
from coverjax.foundation.checks import InputError
from coverjax.model.law import OutcomeLaw
from coverjax.model.named import SETTINGS, named_family
from coverjax.model.router_generator import RouterGenerator
from coverjax.montecarlo.scan import simulate
from coverjax.policy.registry import written_policy
from coverjax.policy.stage import marginal_law
from coverjax.sweep.checking import source_hash
from coverjax.sweep.forms import REFERENCES, exact_curves, is_reference
from coverjax.sweep.grid import CELL_COLUMNS, Cell, Part, Sweep
from coverjax.sweep.inputs import inputs_of
from coverjax.sweep.measures import columns, curves_needed, measured

Rows = dict[str, list[Any]]
"""A table: columns of equal length."""

STREAMS = 0
"""The one JAX key of simulated sweeps; a run's random numbers are named by seed, law, input and trial."""

PLACE = ("cell", "policy", "sees", "knows", "kind")


def part_rows(sweep: Sweep, part: Part) -> Rows:
    """Compute a part: a row for each of its cells and policies, in this order.

    Always as many inputs are computed at once as the part's tile says: floating-point results may differ in
    the last bits with that number, and a part must come out as the same bytes wherever it is made.

    Raises:
        InputError: a policy fails, or its module is not the one that the sweep was made with.
    """
    cells = [sweep.cells[number] for number in part.cells]
    law = stacked(cells, part.tile)
    budget, inputs = cells[0]["budget"], cells[0]["inputs"]
    names = curves_needed(sweep.metrics)
    references = {type(policy): _exact(policy, law, budget, names) for policy in REFERENCES}
    iid, oracle = references.values()
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for place, text in enumerate(sweep.policies):
        policy = policy_of(sweep, text)
        if is_reference(policy):
            curves = references[type(policy)]
        else:
            curves = _curves(policy, law, budget, sweep.trials, names)
        facts = {
            "policy": text,
            "sees": policy.sees,
            "knows": policy.knows,
            "kind": curves.provenance["kind"],
        }
        for at, (number, cell) in enumerate(zip(part.cells, cells, strict=True)):
            own = slice(at * inputs, (at + 1) * inputs)
            three = (inputs_of(one, own) for one in (curves, iid, oracle))
            row = {"cell": number, **facts, **cell, **measured(sweep.metrics, *three)}
            found[at, place] = row
    rows = [found[key] for key in sorted(found)]
    return {name: [row[name] for row in rows] for name in row_columns(sweep)}


def row_columns(sweep: Sweep) -> list[str]:
    """Return the columns of a part."""
    return [*PLACE, *CELL_COLUMNS, *columns(sweep.metrics)]


def policy_of(sweep: Sweep, text: str) -> Any:
    """Return a policy of the sweep; the user's own must be the one that the sweep began with."""
    policy = written_policy(text)
    if text in sweep.sources and source_hash(policy) != sweep.sources[text]:
        raise InputError(
            f"policy: the module of {text} must be the one that the sweep was checked with; the file that "
            "this process finds differs"
        )
    return policy


def _exact(policy: Any, law: OutcomeLaw | RouterGenerator, budget: int, names: tuple[str, ...]) -> Curves:
    return exact(policy, law, budget, include=exact_curves(policy, law.strategies, names))


def _curves(
    policy: Any, law: OutcomeLaw | RouterGenerator, budget: int, trials: int | None, names: tuple[str, ...]
) -> Curves:
    if trials is None:
        return _exact(policy, law, budget, names)
    return simulate(jax.random.key(STREAMS), policy, law, budget, trials, include=(*names, "mc_stderr"))


def stacked(cells: Sequence[Cell], tile: int) -> OutcomeLaw | RouterGenerator:
    """Return the inputs of some cells as one law; the last cell is repeated to fill the tile."""
    laws = [_law(cell) for cell in cells]
    names = [f"{identity(cell)}|{place}" for cell in cells for place in range(cell["inputs"])]
    missing = tile - len(cells)
    laws += laws[-1:] * missing
    names += [f"filled {place}" for place in range(missing * cells[-1]["inputs"])]
    models = [law for law in laws if isinstance(law, RouterGenerator)]
    if not models:
        return OutcomeLaw.from_probs(np.concatenate([marginal_law(law).probs for law in laws]), ids=names)
    return RouterGenerator(
        np.concatenate([model.router for model in models]),
        np.concatenate([model.generator for model in models]),
        ids=names,
    )


def _law(cell: Cell) -> OutcomeLaw | RouterGenerator:
    given = {name: value for name, value in cell.items() if value is not None}
    given.pop("budget")
    return named_family(given.pop("family"), **given)


def identity(cell: Cell) -> str:
    """Return what names the random streams of a cell: its law and seed, neither number of inputs nor budget.

    So a cell's first inputs and first draws stay as they are when it gets more of them, and policies are
    compared under the same random numbers.
    """
    used = ("family", "strategies", "seed", *SETTINGS[cell["family"]])
    return "|".join(f"{name}={cell[name]!r}" for name in dict.fromkeys(used))
