"""A sweep from its TOML file, everything checked before anything runs."""

import math
import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from coverjax.foundation.checks import InputError, file_error, listed, shown
from coverjax.foundation.toml import read_toml
from coverjax.model.named import SETTINGS
from coverjax.sweep import checking
from coverjax.sweep.grid import MOST_CELLS, MOST_NUMBERS, NAMES, PART, WHOLE, Sweep
from coverjax.sweep.measures import DEFAULT_METRICS, require_metric

OPTIONS = ("policies", "metrics", "trials", "part", "title", "axes", "zip", "figures")
RANGE = ("from", "to", "steps", "log")
FIGURES = ("x", "y", "panel")

MOST = 1 << 31
"""Whole numbers lie below it."""


def read_sweep(path: "str | os.PathLike[str]") -> Sweep:
    """Read and check a sweep.

    Settings stand at the top and hold for all cells; ``[axes]`` has lists (every combination is a cell)
    or ranges ``{from=, to=, steps=, log=}``; each ``[[zip]]`` has lists of one length that advance together.

    Args:
        path: a TOML file.

    Raises:
        InputError: ``file:line: field: what must hold, what came, what to do``.
    """
    return _Reader(pathlib.Path(path)).sweep()


class _Reader:
    def __init__(self, path: pathlib.Path):
        self.path = path
        self.told, self.text = read_toml(path)

    def sweep(self) -> Sweep:
        unknown = [name for name in self.told if name not in NAMES and name not in OPTIONS]
        if unknown:
            known = ", ".join([*OPTIONS, *sorted(NAMES)])
            raise self.error("", unknown[0], f"unknown; a sweep has {known}")
        settings = {name: self.value("", name, v) for name, v in self.told.items() if name in NAMES}
        axes = {name: self.values("axes", name, v) for name, v in self.table("axes").items()}
        zipped = self.zipped()
        self.once(settings, axes, *zipped)
        settings.setdefault("budget", 64)
        sweep = Sweep(
            settings=settings,
            axes=axes,
            zipped=zipped,
            policies=(),
            sources={},
            metrics=self.metrics(),
            trials=self.whole("trials", None),
            part=self.whole("part", PART) or PART,
            figures=self.figures(),
            title=self.word("title"),
        )
        if sweep.combinations > MOST_CELLS:
            raise self.error(
                "axes",
                None,
                f"at most {MOST_CELLS:,} combinations; got {sweep.combinations:,}: split the sweep",
            )
        self.require_used(sweep)
        self.require_drawable(sweep)
        self.require_room(sweep)
        return checking.with_policies(sweep, self.policies(), self.error)

    # -- settings and axes -------------------------------------------------------------------------

    def value(self, table: str, name: str, value: Any) -> Any:
        """One value of a setting, as the type it has."""
        if name == "family":
            if not isinstance(value, str) or value not in SETTINGS:
                known = ", ".join(SETTINGS)
                raise self.error(table, name, f"must be one of {known}; got {shown(value)}")
            return value
        fits = _is_whole(value) if name in WHOLE else _is_number(value)
        if not fits:
            kind = "a whole number" if name in WHOLE else "a number"
            hint = "; lists belong into [axes]" if isinstance(value, list) and not table else ""
            raise self.error(table, name, f"must be {kind}; got {shown(value)}{hint}")
        least = {"seed": 0, "latents": 0}.get(name, 1)
        if name in WHOLE and not least <= value < MOST:
            raise self.error(table, name, f"must be from {least} to 2^31 - 1; got {shown(value)}")
        return int(value) if name in WHOLE else float(value)

    def values(self, table: str, name: str, given: Any) -> tuple[Any, ...]:
        """The values of an axis: a list or a range."""
        if name not in NAMES:
            raise self.error(table, name, f"unknown; an axis is one of {', '.join(sorted(NAMES))}")
        many = self.range(table, name, given) if isinstance(given, dict) else given
        if not isinstance(many, list) or not many:
            raise self.error(table, name, f"must be a list of values or a range; got {shown(given)}")
        found = tuple(self.value(table, name, value) for value in many)
        if table == "axes" and len(set(found)) < len(found):
            twice = next(value for value in found if found.count(value) > 1)
            raise self.error(table, name, f"values must be distinct; {shown(twice)} stands twice")
        return found

    def range(self, table: str, name: str, given: dict[str, Any]) -> list[float]:
        """Evenly spaced numbers, both ends included; evenly in logarithm with log = true."""
        wrong = f"a range is {{from = a, to = b, steps = n, log = true|false}}; got {shown(given)}"
        if name == "family" or not {"from", "to", "steps"} <= set(given) <= set(RANGE):
            raise self.error(table, name, wrong)
        low, high, steps, log = given["from"], given["to"], given["steps"], given.get("log", False)
        if not isinstance(steps, int) or not 2 <= steps <= MOST_CELLS:
            told = f"steps must be a whole number from 2 to {MOST_CELLS:,}; got {shown(steps)}"
            raise self.error(table, name, told)
        if not (_is_number(low) and _is_number(high) and isinstance(log, bool)):
            raise self.error(table, name, wrong)
        if log and not (low > 0 and high > 0):
            raise self.error(table, name, f"a range in logarithm must lie above 0; got {low:g} to {high:g}")
        with np.errstate(all="ignore"):  # what is no number then is refused with its place
            spaced = np.geomspace(low, high, steps) if log else np.linspace(low, high, steps)
        if name in WHOLE:
            spaced = np.unique(np.rint(spaced)) if log else spaced
        return [float(f"{number:.12g}") for number in spaced.tolist()]

    def table(self, name: str) -> dict[str, Any]:
        given = self.told.get(name, {})
        if not isinstance(given, dict):
            raise self.error("", name, f"must be a table, [{name}]; got {shown(given)}")
        return given

    def zipped(self) -> tuple[dict[str, tuple[Any, ...]], ...]:
        given = self.told.get("zip", [])
        groups = [given] if isinstance(given, dict) else given
        if not isinstance(groups, list) or not all(isinstance(group, dict) and group for group in groups):
            raise self.error("", "zip", f"must be tables [[zip]] of lists; got {shown(given)}")
        found = []
        for group in groups:
            lists = {name: self.values("zip", name, values) for name, values in group.items()}
            lengths = {name: len(values) for name, values in lists.items()}
            if len(set(lengths.values())) > 1:
                raise self.error("zip", next(iter(lists)), f"lists must have one length; got {lengths}")
            found.append(lists)
        return tuple(found)

    def once(self, *places: Mapping[str, Any]) -> None:
        names = [name for place in places for name in place]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise self.error("", twice, "must stand once: at the top, in [axes] or in [[zip]]")
        if "family" not in names:
            raise self.error("", None, f"family: must be given, one or more of {', '.join(SETTINGS)}")

    def require_used(self, sweep: Sweep) -> None:
        """Refuse a setting with several values that no cell uses: it would change nothing."""
        for name in [*sweep.axes, *(name for group in sweep.zipped for name in group)]:
            if all(cell[name] is None for cell in sweep.cells):
                families = dict.fromkeys(cell["family"] for cell in sweep.cells)
                why = (
                    "exact curves of these families do not depend on a seed"
                    if name == "seed"
                    else f"not a setting of {listed(families)}"
                )
                raise self.error("axes", name, f"would change nothing: {why}; take it out")

    def require_drawable(self, sweep: Sweep) -> None:
        """Refuse figures over what does not vary, or over one setting twice."""
        varied = [name for name in sweep.varied if name != "seed"]  # seeds are averaged over
        for place, name in sweep.figures.items():
            if name not in varied:
                told = "is averaged over" if name == "seed" else "has one value in this sweep"
                raise self.error("figures", place, f"{name} {told}; varied: {', '.join(varied) or 'nothing'}")
            if list(sweep.figures.values()).count(name) > 1:
                raise self.error("figures", place, f"must be distinct settings; {name} stands twice")

    def require_room(self, sweep: Sweep) -> None:
        """Refuse a cell whose law and curves no memory holds."""
        for structure, cells in sweep.structures.items():
            numbers = structure.inputs * structure.numbers
            if numbers > MOST_NUMBERS:
                place = f"cell {cells[0]} ({checking.told(sweep.cells[cells[0]])})"
                raise self.error(
                    "",
                    None,
                    f"{place}: must be at most {MOST_NUMBERS:,} numbers large, its law and curves together; "
                    f"it is {numbers:,}: take fewer inputs, strategies, latents or a smaller budget",
                )

    # -- options -----------------------------------------------------------------------------------

    def whole(self, name: str, default: int | None) -> int | None:
        value = self.told.get(name, default)
        if name not in self.told:
            return value
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.error("", name, f"must be a whole number >= 1; got {shown(value)}")
        if value >= MOST:
            raise self.error("", name, f"must be at most 2^31 - 1; got {shown(value)}")
        return value

    def word(self, name: str) -> str:
        value = self.told.get(name, "")
        if not isinstance(value, str):
            raise self.error("", name, f"must be text; got {shown(value)}")
        return value

    def policies(self) -> list[str]:
        return self.words("policies", [])

    def metrics(self) -> tuple[str, ...]:
        named = self.words("metrics", list(DEFAULT_METRICS))
        for name in named:
            try:
                require_metric(name)
            except InputError as error:
                raise self.error("", "metrics", str(error)) from None
        return tuple(dict.fromkeys(named))

    def words(self, name: str, default: list[str]) -> list[str]:
        given = self.told.get(name, default)
        words = [given] if isinstance(given, str) else given
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise self.error("", name, f"must be a list of words, at least one; got {shown(given)}")
        return words

    def figures(self) -> dict[str, str]:
        given = self.table("figures")
        for name, value in given.items():
            if name not in FIGURES or not isinstance(value, str) or value not in NAMES:
                raise self.error(
                    "figures",
                    name,
                    f"must be {', '.join(FIGURES)} = the name of a setting; got {shown(value)}",
                )
        return given

    # -- places in the file ------------------------------------------------------------------------

    def error(self, table: str, name: str | None, message: str) -> InputError:
        """The error at the line of a key; TOML's parser keeps no lines."""
        if name is None:
            return file_error(self.path, None, None, message)
        field = f"{table}.{name}" if table else name
        return file_error(self.path, self._line(table, name), field, message)

    def _line(self, table: str, name: str) -> int | None:
        inside = ""
        for number, line in enumerate(self.text.splitlines(), start=1):
            header = re.match(r"\s*\[{1,2}\s*([\w.\"']+)\s*\]", line)
            inside = header[1].strip("\"'") if header else inside
            here = inside in ((table, "zip") if table == "axes" else (table,))
            if here and re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*=", line):
                return number
        return None


def _is_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number of any size: 3, or 3.0."""
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)
