"""Plain documents and tables: what every summary.json, `--json` and CSV file is written with.

NaN is no JSON: a number that does not exist is null, and the object that holds the null says why in
`why_null`. In CSV its cell is empty. Nothing written depends on the clock or the machine.
"""

import csv
import json
import math
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from coverjax.inference.units import Interval

ENDS = ("mean", "low", "high")


def number(value: Any) -> float | None:
    """Return a float, or None where it is no number."""
    return float(value) if math.isfinite(value) else None


def numbers(values: Any) -> list[float | None]:
    """Return the numbers of an array [n] as floats, None where there is none."""
    return [number(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def with_reason(document: dict[str, Any], reason: str) -> dict[str, Any]:
    """Add `why_null` to an object of numbers and lists of numbers (or of such lists) that holds a null."""
    return {**document, "why_null": reason} if any(map(_missing, document.values())) else document


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, list) and any(map(_missing, value)))


def interval_point(interval: Interval, reason: str, at: int = 0) -> dict[str, Any]:
    """Return one point of an interval: mean, low, high; `reason` says why one of them is null."""
    values = {name: number(getattr(interval, name)[at]) for name in ENDS}
    return with_reason(values, reason)


def interval_points(interval: Interval, reason: str) -> dict[str, Any]:
    """Return all points of an interval: lists mean, low, high; `reason` says why a number is null."""
    return with_reason({name: numbers(getattr(interval, name)) for name in ENDS}, reason)


def to_json(document: Any) -> str:
    """Return a document as JSON text: the same bytes for the same document."""
    return json.dumps(document, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=True) + "\n"


def write_json(path: pathlib.Path, document: Any) -> None:
    """Write a document, or its text, as JSON."""
    text = document if isinstance(document, str) else to_json(document)
    path.write_text(text, encoding="utf-8", newline="\n")


def cell(value: Any) -> Any:
    """Return a value as a cell of a table: empty where it is a float that is no number."""
    return "" if isinstance(value, float) and not math.isfinite(value) else value


def write_csv(path: pathlib.Path, header: Sequence[Any], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table; a character that is no Unicode (a lone surrogate in a label) as its escape."""
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
