"""The manifest of a sweep's folder: what the sweep is, and what made it."""

import json
import pathlib
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from coverjax._version import __version__
from coverjax.foundation.checks import file_error, shown
from coverjax.foundation.files import write_durably
from coverjax.sweep.evaluation import row_columns
from coverjax.sweep.grid import Sweep, differences, digest

NAME = "manifest.json"
KIND = "coverjax sweep"
MAKERS = ("jax", "jaxlib", "numpy", "duckdb")
"""Packages whose version may show in the last bits, or in the bytes of a file."""


def manifest_of(sweep: Sweep) -> dict[str, Any]:
    """Return the manifest: the parts' bytes depend on nothing else."""
    import jax

    return {
        "kind": KIND,
        "format": 1,
        "versions": {"coverjax": __version__, **{name: version(name) for name in MAKERS}},
        "device": jax.default_backend(),
        "hash": sweep.hash,
        "seed": sorted({cell["seed"] for cell in sweep.cells if cell["seed"] is not None}),
        "sweep": sweep.spec(),
        "cells": len(sweep.cells),
        "rows": len(sweep.cells) * len(sweep.policies),
        "columns": row_columns(sweep),
        "parts": [[len(part.cells), part.tile] for part in sweep.parts],
        "layout": digest([[list(part.cells), part.tile] for part in sweep.parts]),
    }


def write_manifest(folder: pathlib.Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest into the folder."""
    text = json.dumps(manifest, indent=1, sort_keys=True, allow_nan=False) + "\n"
    write_durably(folder / NAME, text.encode(), folder)


def read_manifest(folder: pathlib.Path) -> dict[str, Any]:
    """Return the manifest of a folder.

    Raises:
        InputError: there is none, or it is none of a sweep.
    """
    path = folder / NAME
    try:
        told = json.loads(path.read_bytes())
    except OSError as error:
        raise file_error(path, None, None, f"must be there, can't be read: {error.strerror}") from None
    except ValueError:
        told = None
    if not isinstance(told, dict) or told.get("kind") != KIND or told.get("format") != 1:
        raise file_error(path, None, None, "must be the manifest that `coverjax sweep` wrote; it is not")
    return told


def require_same(path: pathlib.Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise unless a sweep is the one that a folder holds, made by the same versions.

    Raises:
        InputError: with the first difference, and how many more there are.
    """
    found = differences(before["sweep"], now["sweep"])
    if found:
        name, old, new = found[0]
        more = f" ({len(found) - 1} more differences)" if len(found) > 1 else ""
        raise file_error(
            path,
            None,
            name,
            f"the sweep to resume must be the same; it was {shown(old)}, now it is {shown(new)}{more}: use "
            "the file of that sweep, or another folder",
        )
    made = {**before["versions"], "device": before["device"]}
    here = {**now["versions"], "device": now["device"]}
    for name, value in here.items():
        if made.get(name) != value:
            raise file_error(
                path,
                None,
                name,
                f"must be {made.get(name)}, which the sweep was begun with; here it is {value}, and bytes "
                "may differ: go on with that, or begin in another folder",
            )
    for name in ("hash", "layout", "columns"):
        if before[name] != now[name]:
            raise file_error(path, None, name, "was changed by hand; begin in another folder")
