"""The folder of a sweep: a manifest and one Parquet file a part, each whole or not there.

A part's name holds a hash of its bytes, its number and its sweep, so that what is damaged, or of another
sweep, is seen without asking anybody. Parts lie in a folder of their own: `parts/*.parquet` is the dataset.
"""

import hashlib
import pathlib
import re
from types import TracebackType
from typing import Any

from coverjax.foundation.checks import InputError, listed
from coverjax.foundation.files import write_durably
from coverjax.sweep import manifest as manifests
from coverjax.sweep.grid import Part, Sweep
from coverjax.sweep.lock import FolderLock

PARTS = "parts"
OWN = frozenset({manifests.NAME, PARTS, "figures", "summary.json", "report.html"})
"""What a sweep's folder holds."""

_FILE = re.compile(r"(part-(\d{6,}))-([0-9a-f]{16})\.parquet")


def part_name(sweep_hash: str, stem: str, content: bytes) -> str:
    """Return the file name of a part."""
    found = hashlib.sha256(f"{sweep_hash} {stem} ".encode() + content).hexdigest()[:16]
    return f"{stem}-{found}.parquet"


class Store:
    """The folder of one sweep, held by this process while it is open.

    Args:
        folder: made if it is not there.
        sweep: what is to be in it.
        resume: go on with what is there.

    Attributes:
        done: numbers of the parts that are there.
        repaired: names of files that were no undamaged parts of this sweep. They were renamed, with a dot in
            front, and their parts are made again.

    Raises:
        InputError: something else is in the folder, a sweep is there and `resume` is not asked for, or it is
            another sweep; another run is writing to it, or it can't be written to.
    """

    def __init__(self, folder: pathlib.Path, sweep: Sweep, resume: bool = False):
        self.folder, self.sweep = folder, sweep
        self.done: set[int] = set()
        self.repaired: list[str] = []
        _make(folder)
        self._lock = FolderLock(folder)
        try:
            self._open(resume)
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise

    def _open(self, resume: bool) -> None:
        self._refuse_strangers()
        now = manifests.manifest_of(self.sweep)
        if (self.folder / manifests.NAME).exists():
            before = manifests.read_manifest(self.folder)
            if not resume:
                raise InputError(
                    f"{self.folder}: a sweep is there already; go on with it by --resume, or choose another "
                    "folder with --out"
                )
            manifests.require_same(self.folder / manifests.NAME, before, now)
        elif any(part_files(self.folder)):
            raise InputError(f"{self.folder}: parts without a manifest are there; choose another with --out")
        else:
            manifests.write_manifest(self.folder, now)
        _make(self.folder / PARTS)
        for left in self.folder.glob(".part-*"):
            left.unlink()
        self._look()

    def _refuse_strangers(self) -> None:
        strangers = [p for p in self.folder.iterdir() if p.name not in OWN and not p.name.startswith(".")]
        strangers += [p for p in part_files(self.folder) if not _FILE.fullmatch(p.name) or not p.is_file()]
        if strangers:
            names = listed(sorted(str(path.relative_to(self.folder)) for path in strangers), 3)
            raise InputError(
                f"{self.folder}: must be a new folder, or hold nothing but a sweep; found {names}: move it "
                "away, or choose another folder with --out"
            )

    def _look(self) -> None:
        """Find the parts that are there; set aside those whose bytes are not what their name says."""
        numbers = {part.number for part in self.sweep.parts}
        for path in part_files(self.folder):
            name = _FILE.fullmatch(path.name)
            assert name is not None
            number = int(name[2])
            right = number in numbers and part_name(self.sweep.hash, name[1], path.read_bytes()) == path.name
            if right and number not in self.done:
                self.done.add(number)
            else:
                self.repaired.append(path.name)
                path.rename(self.folder / f".damaged-{path.name}")

    @property
    def missing(self) -> list[Part]:
        """The parts that are not there."""
        return [part for part in self.sweep.parts if part.number not in self.done]

    def write(self, part: Part, content: bytes) -> None:
        """Put a part into the folder.

        Raises:
            InputError: there is no room, or the folder can't be written to; the sweep can be resumed.
        """
        name = part_name(self.sweep.hash, part.stem, content)
        try:
            write_durably(self.folder / PARTS / name, content, self.folder)
        except InputError as error:
            raise InputError(f"{error}; what is done is kept: go on with --resume") from error
        self.done.add(part.number)

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.__exit__(kind, error, trace)


def _make(folder: pathlib.Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: must be a folder that can be written to; {error.strerror or error}; choose another "
            "with --out"
        ) from error


def part_files(folder: pathlib.Path) -> list[pathlib.Path]:
    """Return what lies in the folder of parts, in order of names; hidden files apart."""
    parts = folder / PARTS
    if not parts.is_dir():
        return []
    return sorted(path for path in parts.iterdir() if not path.name.startswith("."))


def require_whole(folder: pathlib.Path) -> dict[str, Any]:
    """Return the manifest of a folder whose parts are all there and undamaged.

    Raises:
        InputError: it is no sweep's folder, or a part is missing, damaged or strange.
    """
    told = manifests.read_manifest(folder)
    found = []
    for path in part_files(folder):
        name = _FILE.fullmatch(path.name)
        if name is None or part_name(told["hash"], name[1], path.read_bytes()) != path.name:
            raise InputError(
                f"{path}: must be a part of this sweep; it is damaged or of another one: --resume"
            )
        found.append(int(name[2]))
    if found != list(range(len(told["parts"]))):
        raise InputError(
            f"{folder}: must hold all {len(told['parts'])} parts of its sweep; {len(set(found))} are there: "
            "go on with `coverjax sweep FILE.toml --resume`"
        )
    return told
