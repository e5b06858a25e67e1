"""A sweep: which cells there are, what is computed in each, and how cells are put together in parts.

A cell is one setting of a family, its sizes, a budget and a seed; every policy is run in every cell. Cells of
one structure (equal shapes) are stacked as the inputs of one law, `tile` cells at a time, and each such
part is one file. What is in a part depends on the sweep alone.
"""

import dataclasses
import functools
import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from coverjax.foundation.lattice import LARGEST
from coverjax.model.named import DEFAULTS, SETTINGS, WITH_LATENTS

WHOLE = ("inputs", "strategies", "common", "latents", "budget", "seed")
"""Settings that are whole numbers; the others are numbers, and `family` is a word."""

CELL_COLUMNS: tuple[str, ...] = ("family", *DEFAULTS, "budget")
"""Every setting of a cell, in the order in which files hold them; None where a family does not use it."""

NAMES = frozenset(CELL_COLUMNS)

MOST_CELLS = 2_000_000

MOST_NUMBERS = 1 << 30
"""Numbers in the law and the curves of a cell at most (8 bytes each)."""

PART = 64
"""Cells in a part unless the sweep says otherwise or they are large."""

PART_NUMBERS = 1 << 26
"""Numbers that a part holds in memory at most (8 bytes each)."""

PART_DRAWS = 1 << 27
"""Simulated draws of a part at most: seconds, so that little is lost when a run is stopped."""

Cell = dict[str, Any]


class Structure(NamedTuple):
    """What the shapes in a cell depend on; cells that agree in it share their programs."""

    latents: int
    """0 for a law without latents."""
    inputs: int
    strategies: int
    budget: int

    @property
    def numbers(self) -> int:
        """How many numbers the law of an input and its curves hold, about."""
        return 8 * self.budget + self.strategies * (1 + self.latents)


class Part(NamedTuple):
    """The cells of one file.

    Attributes:
        number: of the part, from 0.
        cells: their numbers.
        tile: how many cells are computed at once; the last cell is repeated where there are fewer.
    """

    number: int
    cells: tuple[int, ...]
    tile: int

    @property
    def stem(self) -> str:
        """The beginning of the file's name."""
        return f"part-{self.number:06d}"


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A checked sweep.

    Attributes:
        settings: what is the same in all cells.
        axes: every combination of their values is a cell.
        zipped: groups of settings that advance together; each group is like one axis.
        policies: as they are written, `Name(setting=value)` or `module:Class`.
        sources: hash of the module of each policy that is the user's own.
        metrics: what is kept of the curves.
        trials: runs of each input, or None for exact curves.
        part: most cells in a part.
        figures: which settings the figures are drawn over; of no effect on the numbers.
        title: of the figures.
    """

    settings: Mapping[str, Any]
    axes: Mapping[str, tuple[Any, ...]]
    zipped: tuple[Mapping[str, tuple[Any, ...]], ...]
    policies: tuple[str, ...]
    sources: Mapping[str, str]
    metrics: tuple[str, ...]
    trials: int | None
    part: int = PART
    figures: Mapping[str, str] = dataclasses.field(default_factory=dict)
    title: str = ""

    def __getstate__(self) -> dict[str, Any]:
        # Cells and parts follow from the rest: a worker makes its own.
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @functools.cached_property
    def cells(self) -> list[Cell]:
        """The cells in the order of the axes, the last one fastest.

        A setting that a cell's family does not use is None there; cells that then agree stand once.
        """
        found: dict[tuple[Any, ...], Cell] = {}
        for choice in self._combinations():
            cell = self._cell({**self.settings, **choice})
            found.setdefault(tuple(cell.values()), cell)
        return list(found.values())

    @property
    def combinations(self) -> int:
        """How many combinations of values there are, before those that agree are put together."""
        total = 1
        for group in self._groups():
            total *= len(next(iter(group.values())))
        return total

    def _groups(self) -> list[Mapping[str, tuple[Any, ...]]]:
        return [{name: values} for name, values in self.axes.items()] + list(self.zipped)

    def _combinations(self) -> Iterator[dict[str, Any]]:
        steps = [
            [dict(zip(group, values, strict=True)) for values in zip(*group.values(), strict=True)]
            for group in self._groups()
        ]
        for chosen in itertools.product(*steps):
            yield {name: value for step in chosen for name, value in step.items()}

    def _cell(self, given: Mapping[str, Any]) -> Cell:
        """The settings that bear on a cell, all others None."""
        values = {**DEFAULTS, **given}
        family = values["family"]
        used = {"family", "inputs", "strategies", "budget", *SETTINGS[family]}
        if self.trials is not None:
            used.add("seed")
        if family in WITH_LATENTS:
            values["latents"] = values["latents"] or values["strategies"]
        return {name: values[name] if name in used else None for name in CELL_COLUMNS}

    @functools.cached_property
    def structures(self) -> dict[Structure, list[int]]:
        """The numbers of the cells of each structure, in order of first appearance."""
        found: dict[Structure, list[int]] = {}
        for number, cell in enumerate(self.cells):
            found.setdefault(structure_of(cell), []).append(number)
        return found

    @functools.cached_property
    def parts(self) -> list[Part]:
        """The parts in order."""
        found: list[Part] = []
        for structure, numbers in self.structures.items():
            tile = min(len(numbers), self._most(structure))
            for start in range(0, len(numbers), tile):
                found.append(Part(len(found), tuple(numbers[start : start + tile]), tile))
        return found

    def _most(self, structure: Structure) -> int:
        """How many cells of a structure a part may hold: a matter of memory and, for simulation, of time."""
        held = structure.numbers
        if structure.strategies <= LARGEST:  # tables over the subset lattice, where a policy has one
            held += structure.budget << max(0, structure.strategies - 3)
        most = PART_NUMBERS // (structure.inputs * held)
        if self.trials is not None:
            runs = structure.inputs * self.trials * len(self.policies)
            most = min(most, PART_DRAWS // (runs * structure.budget))
        return max(1, min(self.part, most))

    @property
    def varied(self) -> dict[str, tuple[Any, ...]]:
        """The settings with more than one value among the cells, with their values in order of appearance."""
        values = {name: dict.fromkeys(cell[name] for cell in self.cells) for name in CELL_COLUMNS}
        shown = {name: tuple(v for v in found if v is not None) for name, found in values.items()}
        return {name: found for name, found in shown.items() if len(found) > 1}

    def spec(self) -> dict[str, Any]:
        """Return everything that the numbers depend on, plain: two sweeps with the same one are the same."""
        return {
            "settings": dict(sorted(self.settings.items())),
            "axes": [[name, list(values)] for name, values in self.axes.items()],
            "zip": [[[name, list(values)] for name, values in group.items()] for group in self.zipped],
            "policies": list(self.policies),
            "sources": dict(self.sources),
            "metrics": list(self.metrics),
            "trials": self.trials,
            "part": self.part,
        }

    @functools.cached_property
    def hash(self) -> str:
        """The hash of `spec`."""
        return digest(self.spec())


def structure_of(cell: Cell) -> Structure:
    """Return the structure of a cell."""
    latents = cell["latents"] if cell["family"] in WITH_LATENTS else 0
    return Structure(latents, cell["inputs"], cell["strategies"], cell["budget"])


def digest(document: Any) -> str:
    """Return the SHA-256 of a plain document, in hexadecimal."""
    text = json.dumps(document, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return where two specs differ: name, value before, value now; axes one by one."""
    old, new = _flat(before), _flat(now)
    names = [*old, *(name for name in new if name not in old)]
    found = [(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)]
    if not found and before != now:
        found.append(("axes", [name for name, _ in before["axes"]], [name for name, _ in now["axes"]]))
    return found


def _flat(spec: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = dict(spec["settings"])
    for name, values in spec["axes"]:
        flat[f"axes.{name}"] = values
    for place, group in enumerate(spec["zip"]):
        for name, values in group:
            flat[f"zip[{place}].{name}"] = values
    flat |= {f"sources.{name}": value for name, value in spec["sources"].items()}
    rest: Sequence[str] = ("policies", "metrics", "trials", "part")
    return flat | {name: spec[name] for name in rest}
