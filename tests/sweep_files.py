"""Small sweeps for tests, and what their folders hold."""

import hashlib
import json
import os
import pathlib
import sys

from coverjax.sweep.store import part_name

SMALL = """
family = "confusion"
strategies = 3
budget = 6
policies = ["IID", "OracleNoRepeat", "LatentNoRepeat"]
part = 4

[axes]
eps = { from = 0.0, to = 0.4, steps = 5 }
imbalance = [0.0, 1.0]
"""
"""Ten cells in three parts, exact."""

SIMULATED = """
family = "confusion"
eps = 0.2
strategies = 4
inputs = 2
budget = 8
trials = 16
policies = ["IID", "LatentNoRepeat"]
part = 3

[axes]
seed = [0, 1, 2]
"""


def write(folder: pathlib.Path, text: str, name: str = "sweep.toml") -> pathlib.Path:
    """Write a sweep."""
    path = folder / name
    path.write_text(text)
    return path


def contents(folder: pathlib.Path) -> dict[str, str]:
    """Name -> hash of what a finished sweep's dataset holds."""
    files = [folder / "manifest.json", *sorted((folder / "parts").iterdir())]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


SOAK = """
family = "zipf"
strategies = 5
budget = 16
policies = ["IID", "OracleNoRepeat", "BaseNoRepeat"]
metrics = ["auc"]
part = 4

[axes]
exponent = { from = 0.0, to = 2.0, steps = 100 }
inputs = [1, 2, 3, 4, 5]
"""
"""500 cells in 125 parts, quickly made."""


def command(*words: str, **variables: str) -> tuple[list[str], dict[str, str]]:
    """The command `coverjax` with these words, and its environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERJAX_X64")}
    return [sys.executable, "-m", "coverjax", *words], {**kept, "JAX_PLATFORMS": "cpu", **variables}


def require_only_whole_parts(folder: pathlib.Path) -> None:
    """Every part that can be seen is whole, of this sweep, and there once."""
    told = json.loads((folder / "manifest.json").read_text())
    numbers = []
    for file in sorted((folder / "parts").iterdir()):
        stem = file.name.rpartition("-")[0]
        assert part_name(told["hash"], stem, file.read_bytes()) == file.name
        numbers.append(int(stem.partition("-")[2]))
    assert len(set(numbers)) == len(numbers)
