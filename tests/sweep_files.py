"""Small sweeps for tests, and what their folders hold."""

import hashlib
import pathlib

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
family = "dirichlet"
strategies = 4
inputs = 2
budget = 8
trials = 16
policies = ["IID", "BaseNoRepeat"]
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
