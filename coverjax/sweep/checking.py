"""What can be refused before a sweep runs: policies that don't fit, laws that can't be."""

import dataclasses
import hashlib
import inspect
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from coverjax.foundation.checks import InputError, shown
from coverjax.model.law import OutcomeLaw
from coverjax.model.named import named_family
from coverjax.model.router_generator import RouterGenerator
from coverjax.policy.base import label
from coverjax.policy.registry import policies, written_policy
from coverjax.policy.stage import knowledge, require_fit
from coverjax.sweep.forms import is_reference, require_exact
from coverjax.sweep.grid import Cell, Sweep

Refusal = Callable[[str, "str | None", str], InputError]


def with_policies(sweep: Sweep, named: Sequence[str], error: Refusal) -> Sweep:
    """Return the sweep with its policies, checked against every kind of cell.

    Args:
        sweep: settings, axes and options.
        named: policies as they are written.
        error: makes the error at a table and key of the file.

    Raises:
        InputError: a policy can't be had or doesn't fit, or a cell's law can't be.
    """
    laws = _laws(sweep, error)
    texts, sources = [], {}
    for text in named:
        try:
            policy = written_policy(text)
            _require_fit(policy, sweep, laws)
        except InputError as refused:
            raise error("", "policies", str(refused).removeprefix("policy: ")) from refused
        name = written(policy)
        _require_the_same(policy, name, error)
        if name in texts:
            raise error("", "policies", f"must be distinct; {shown(name)} stands twice")
        texts.append(name)
        if ":" in name:
            sources[name] = source_hash(policy)
    return dataclasses.replace(sweep, policies=tuple(texts), sources=sources)


def _require_the_same(policy: Any, name: str, error: Refusal) -> None:
    """Refuse a policy that its name does not give again: cells are made by the name, anywhere."""
    try:
        again = written_policy(name)
        same = label(again) == label(policy) and all(
            np.array_equal(one, other) for one, other in zip(_arrays(again), _arrays(policy), strict=True)
        )
    except ValueError:  # it can't be made, or has other arrays
        same = False
    if not same:
        raise error(
            "",
            "policies",
            f"{name}: must be given by numbers and words alone; a sweep can't write arrays down",
        )


def _arrays(policy: Any) -> list[Any]:
    return [leaf for leaf in jax.tree.leaves(policy) if isinstance(leaf, jax.Array | np.ndarray)]


def written(policy: Any) -> str:
    """Return how a policy is written in a sweep: its label, after `module:` where it is the user's own."""
    known = policies().get(type(policy).__name__) is type(policy)
    return label(policy) if known else f"{type(policy).__module__}:{label(policy)}"


def source_hash(policy: Any) -> str:
    """Return the hash of the file that a user's policy stands in; its imports are not followed."""
    file = getattr(sys.modules.get(type(policy).__module__), "__file__", None)
    if file is None or not pathlib.Path(file).is_file():
        raise InputError(
            f"policy: {type(policy).__name__} must stand in a file that can be read again; its module "
            f"{type(policy).__module__} has none"
        )
    return hashlib.sha256(pathlib.Path(inspect.getfile(type(policy))).read_bytes()).hexdigest()


def _laws(sweep: Sweep, error: Refusal) -> dict[str, OutcomeLaw | RouterGenerator]:
    """Build the law of every cell once, with one input, whatever its seed and budget; one of each family."""
    kept: dict[str, OutcomeLaw | RouterGenerator] = {}
    seen = set()
    for number, cell in enumerate(sweep.cells):
        own = {name: v for name, v in cell.items() if name not in ("family", "budget", "inputs", "seed")}
        key = (cell["family"], *own.values())
        if key in seen:
            continue
        seen.add(key)
        given = {name: value for name, value in own.items() if value is not None}
        try:
            law = named_family(cell["family"], **given, inputs=1)
        except InputError as refused:
            raise error("axes", None, f"cell {number} ({told(cell)}): {refused}") from refused
        kept.setdefault(cell["family"], law)
    return kept


def told(cell: Cell) -> str:
    """Return a cell as text."""
    return ", ".join(f"{name} = {value}" for name, value in cell.items() if value is not None)


def _require_fit(policy: Any, sweep: Sweep, laws: dict[str, OutcomeLaw | RouterGenerator]) -> None:
    for law in laws.values():
        require_fit(policy, law)
        if not getattr(policy, "no_sequence", ""):
            knowledge(policy, law, 1)  # its init and choose are tried
    if sweep.trials is None or is_reference(policy):
        require_exact(policy, max(structure.strategies for structure in sweep.structures))
    elif getattr(policy, "no_sequence", ""):
        raise InputError(f"{label(policy)}: {policy.no_sequence}; take out trials, or the policy")
