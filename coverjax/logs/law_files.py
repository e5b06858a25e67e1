"""`read_law`: known laws and router-generators from tables."""

import dataclasses
import os
from typing import Any

import numpy as np

from coverjax.foundation.checks import InputError, file_error, listed, shown
from coverjax.logs.declared import Declared, declared_strategies
from coverjax.logs.files import LogFile, kind_of
from coverjax.logs.locating import Record, records
from coverjax.logs.rules import LABELS, NAME, NUMBER, Field, fault_of
from coverjax.logs.tables import begin, workspace
from coverjax.model.law import OutcomeLaw
from coverjax.model.router_generator import RouterGenerator

FIELDS = (
    Field("input", NAME, required=True),
    Field("strategies", LABELS, required=True),
    Field("p", NUMBER, required=True),
    Field("latent", NAME),
    Field("router", NUMBER),
    Field("valid", NUMBER),
    Field("correct", NUMBER),
)

PROBABILITIES = ("p", "router", "valid", "correct")


@dataclasses.dataclass
class _Input:
    """What the rows say of one input. An outcome is a match set with its flags."""

    outcomes: dict[tuple[Any, ...], int] = dataclasses.field(default_factory=dict)
    cells: dict[tuple[str, int], float] = dataclasses.field(default_factory=dict)
    router: dict[str, float] = dataclasses.field(default_factory=dict)
    strategies: dict[str, int] = dataclasses.field(default_factory=dict)


def read_law(path: "str | os.PathLike[str]", declared: Any = None) -> OutcomeLaw | RouterGenerator:
    """Read a law, or a router-generator, from a table with a row for each input and outcome.

    Columns: `input`; `strategies`, the match set of the outcome (a list, or text ``a|b``; empty for none);
    `p`, its probability. With the columns `latent` and `router` the table is a router-generator: `p` is then
    g(outcome | latent) and `router` r(latent | input), the same in all rows of a latent. Optional `valid`,
    `correct`: probability that a draw with this outcome is so. What the `p` of an input (and latent) lack
    to 1 is off-strategy mass.

    Args:
        path: CSV, JSONL or Parquet.
        declared: the declared strategies, as for `read_log`; when None, those of the input's rows.

    Returns:
        A law whose draws match at most one strategy where no row matches more, else one of match sets; a
        `RouterGenerator` where there are latents.

    Raises:
        InputError: with file, line and field, or naming the input whose probabilities do not fit.

    Example:
        >>> import coverjax as cj, tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "law.csv"
        >>> _ = path.write_text("input,strategies,p\\nx,a,0.5\\nx,b,0.3\\n")
        >>> cj.read_law(path).marginals().tolist()
        [[0.5, 0.3]]
    """
    name = os.fspath(path)
    strategies = declared_strategies(declared)
    if not os.path.isfile(name):
        raise file_error(name, None, None, "no such file; a law is a table of input, strategies and p")
    with workspace() as connection:
        file = begin(connection, name, kind_of(name))
    has = {field.name for field in FIELDS if field.name in file.columns}
    _need_columns(file, has)
    inputs: dict[str, _Input] = {}
    for line, record in records(file, FIELDS):
        _add(inputs, file, line, record, has)
    if not inputs:
        raise file_error(name, None, None, "is empty; it must hold rows")
    try:
        return _law(inputs, has, strategies)
    except InputError as error:
        raise file_error(name, None, None, str(error)) from None


def _need_columns(file: LogFile, has: set[str]) -> None:
    needed = [field.name for field in FIELDS if field.required]
    if "latent" in has or "router" in has:
        needed += ["latent", "router"]
    for column in needed:
        if column not in has:
            line = 1 if file.kind == "jsonl" else file.skip + 1 if file.kind == "csv" else None
            held = listed(file.columns, limit=12)
            raise file_error(file.path, line, column, f"missing column; a law needs it; the file has {held}")


def _add(inputs: dict[str, _Input], file: LogFile, line: int, record: Record, has: set[str]) -> None:
    """Check one row and keep what it says."""
    values: dict[str, Any] = {}
    for field in FIELDS:
        fault = fault_of(field, record, file.dialect, has)
        if fault is not None:
            raise file_error(file.path, line, field.name, fault)
        given = record.get(field.name)
        absent: list[str] | None = [] if field.rule is LABELS else None
        values[field.name] = absent if given is None else field.rule.value(given, file.dialect)
    for column in PROBABILITIES:
        if values[column] is not None and not 0.0 <= values[column] <= 1.0:
            raise file_error(
                file.path, line, column, f"must be a probability from 0 to 1; got {values[column]:g}"
            )
    found = inputs.setdefault(values["input"], _Input())
    matched = frozenset(values["strategies"])
    outcome = (matched, values["valid"], values["correct"])
    latent = values["latent"] or ""
    for strategy in values["strategies"]:
        found.strategies.setdefault(strategy, len(found.strategies))
    place = (latent, found.outcomes.setdefault(outcome, len(found.outcomes)))
    where = f"the input {shown(values['input'])}" + (f", latent {shown(latent)}" if latent else "")
    if place in found.cells:
        raise file_error(
            file.path,
            line,
            "strategies",
            f"must stand once; {shown(sorted(matched))} stands twice for {where}",
        )
    found.cells[place] = values["p"]
    if "router" in has and found.router.setdefault(latent, values["router"]) != values["router"]:
        told = f"{found.router[latent]:g} and {values['router']:g}"
        raise file_error(file.path, line, "router", f"must be the same in all rows of {where}; it has {told}")


def _law(inputs: dict[str, _Input], has: set[str], declared: Declared | None) -> OutcomeLaw | RouterGenerator:
    """Lay the inputs out as arrays: outcomes, latents and strategies are numbered input by input."""
    columns = [_columns(name, found, declared) for name, found in inputs.items()]
    width = max(1, *(len(names) for names, _ in columns))
    outcomes = max(len(found.outcomes) for found in inputs.values())
    latents = max(len({latent for latent, _ in found.cells}) for found in inputs.values())
    size = len(inputs)
    p = np.zeros((size, latents, outcomes))
    router = np.zeros((size, latents))
    matches = np.zeros((size, outcomes, width), bool)
    mask = np.zeros((size, width), bool)
    flags: dict[str, np.ndarray] = {
        name: np.zeros((size, outcomes)) for name in ("valid", "correct") if name in has
    }
    for row, (found, (names, count)) in enumerate(zip(inputs.values(), columns, strict=True)):
        mask[row, :count] = True
        places = {name: place for place, name in enumerate(names)}
        for outcome, number in found.outcomes.items():
            matches[row, number, [places[name] for name in outcome[0]]] = True
            for flag, told in zip(("valid", "correct"), outcome[1:], strict=True):
                if flag in flags:
                    flags[flag][row, number] = told
        order = {name: place for place, name in enumerate(dict.fromkeys(latent for latent, _ in found.cells))}
        for (latent, number), value in found.cells.items():
            p[row, order[latent], number] = value
        for latent, value in found.router.items():
            router[row, order[latent]] = value
    ids = list(inputs)
    if "router" in has:
        return RouterGenerator(router, p, matches, ids=ids, declared=mask, **flags)
    if matches.sum(axis=2).max(initial=0) > 1:
        return OutcomeLaw.from_match_sets(p[:, 0], matches, ids=ids, declared=mask, **flags)
    return _single_label(p[:, 0], matches, ids, mask, flags)


def _columns(name: str, found: _Input, declared: Declared | None) -> tuple[list[str], int]:
    """Return the strategies of an input, declared ones first, and how many are declared."""
    if declared is None:
        return list(found.strategies), len(found.strategies)
    own = declared.everywhere if declared.everywhere is not None else declared.by_input.get(name, ())
    return list(dict.fromkeys([*own, *found.strategies])), len(own)


def _single_label(
    p: np.ndarray, matches: np.ndarray, ids: list[str], mask: np.ndarray, flags: dict[str, np.ndarray]
) -> OutcomeLaw:
    """Add up the outcomes of each strategy; their flags become the share of its mass that has them."""
    mass = np.einsum("io,ios->is", p, matches)
    shares = {
        name: np.einsum("io,ios->is", p * flag, matches) / np.where(mass > 0, mass, 1.0)
        for name, flag in flags.items()
    }
    return OutcomeLaw.from_probs(mass, ids=ids, declared=mask, **shares)
