"""How large the padded arrays of a log may be, told before they are made."""

import math
import os
from collections.abc import Mapping

from coverjax.foundation.checks import InputError

SHARE = 0.5
"""Share of the machine's memory that the arrays of one log may take."""


def memory() -> int:
    """Return the bytes of memory of this machine, 16 GiB where it doesn't say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 34


def need_room(sizes: Mapping[str, int], each: float, advice: str) -> None:
    """Raise where arrays would take more than their share of the memory.

    Args:
        sizes: the axes of the arrays by name; each is as long as its longest entry needs.
        each: bytes for each entry.
        advice: what to do instead.

    Raises:
        InputError: one line with the sizes.
    """
    wanted, most = math.prod(sizes.values()) * each, SHARE * memory()
    if wanted <= most:
        return
    axes = " x ".join(f"{size:,} {name}" for name, size in sizes.items())
    raise InputError(
        f"log: its arrays would take {wanted / 2**30:.1f} GiB ({axes}, padded to the largest of each); at "
        f"most {most / 2**30:.1f} GiB, half of this machine's memory, are used: {advice}"
    )
