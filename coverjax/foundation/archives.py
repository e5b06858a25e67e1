"""Archives: arrays in one .npz file, nothing that runs on loading; and what a damaged zip raises."""

import contextlib
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

ZIP_FAULTS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)
"""What Python raises about a damaged zip; the last four where a damaged number asks for what it can't do."""

ARRAY_FAULTS = (*ZIP_FAULTS, LookupError, TypeError)
"""The same of arrays in it, and where it holds others than are looked for."""


@contextlib.contextmanager
def open_arrays(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Offer the arrays of a .npz file, by name; whoever reads them turns `ARRAY_FAULTS` into an `InputError`.

    >>> with open_arrays(__file__) as file:
    ...     pass
    Traceback (most recent call last):
    ...
    ValueError: it is no .npz archive
    """
    # Opened here: of a damaged archive np.load leaves its own file open.
    with open(path, "rb") as raw:
        if raw.read(4) != b"PK\x03\x04":
            raise ValueError("it is no .npz archive")
        raw.seek(0)
        with np.load(raw, allow_pickle=False) as file:
            yield file
