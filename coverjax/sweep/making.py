"""One part, made anywhere: in this process, in a worker, or as a Ray task on another machine."""

import os
import pathlib
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from coverjax.foundation.checks import InputError
from coverjax.policy.registry import written_policy
from coverjax.sweep.evaluation import part_rows
from coverjax.sweep.grid import Sweep
from coverjax.sweep.manifest import manifest_of
from coverjax.sweep.parquet import parquet_bytes

Order = dict[str, Any]
"""What a worker is given: the sweep, its manifest and the modules of the user's own policies."""


def order_of(sweep: Sweep, manifest: Mapping[str, Any]) -> Order:
    """Return what a worker needs to make parts."""
    modules = {}
    for text in sweep.sources:
        name = text.partition(":")[0]
        file = getattr(sys.modules.get(name), "__file__", None)
        modules[name] = pathlib.Path(str(file)).read_text(encoding="utf-8")
    return {
        "sweep": sweep,
        "versions": manifest["versions"],
        "device": manifest["device"],
        "layout": manifest["layout"],
        "folder": os.getcwd(),
        "modules": modules,
    }


class Maker:
    """Makes parts; built once in each worker.

    Args:
        order: from `order_of`.

    Raises:
        InputError: this process would not make the same bytes: other versions, another kind of device.
    """

    def __init__(self, order: Order):
        _make_importable(order)
        self.sweep: Sweep = order["sweep"]
        here = manifest_of(self.sweep)
        for name in ("versions", "device", "layout"):
            if here[name] != order[name]:
                raise InputError(
                    f"worker: must have the {name} of the process that began, {order[name]}; it has "
                    f"{here[name]}"
                )

    def make(self, number: int) -> bytes:
        """Return the bytes of a part.

        Raises:
            InputError: naming the cells.
        """
        part = self.sweep.parts[number]
        try:
            return parquet_bytes(part_rows(self.sweep, part))
        except InputError as error:
            raise InputError(f"cells {part.cells[0]} to {part.cells[-1]}: {error}") from error


def _make_importable(order: Order) -> None:
    """Let the user's own policies be found: in the command's folder, or from the text that came along."""
    if os.path.isdir(order["folder"]):
        os.chdir(order["folder"])
    missing = {}
    for text in order["sweep"].sources:
        try:
            written_policy(text)
        except InputError:
            name = text.partition(":")[0]
            missing[name] = order["modules"][name]
    if missing:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="coverjax-policies-"))
        sys.path.insert(0, str(folder))
        for name, text in missing.items():
            file = folder.joinpath(*name.split(".")).with_suffix(".py")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
