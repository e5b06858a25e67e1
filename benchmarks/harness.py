"""How a row of the speed table is measured.

Ours and the peer run in turn (A B A B ...), so that what else the machine does hits both; the ratio is the
median over pairs. The first call of ours, compilation included, is timed apart, and so is the memory of one
call of each. A floor is the least time that the work could take here, from rates measured in the same run.
"""

import ctypes
import dataclasses
import functools
import gc
import os
import pathlib
import platform
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np


class Floor(NamedTuple):
    """The least time that some work could take on this machine.

    Attributes:
        seconds: from `flops_per_second` and the like.
        words: what is counted.
    """

    seconds: float
    words: str


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the speed table.

    Attributes:
        work: what is computed, with its sizes.
        peer: what it is compared with.
        ratio: peer time over our time, median over pairs; lowest and highest pair in `spread`.
        target: the ratio to reach, 0 where none is set.
        first: seconds of our first call, compilation included.
        ours, theirs: median seconds a call, steady state; the peer's scaled to our work.
        scale: how much more work ours does in one call than the peer's.
        floor: the floor in words, and what else there is to say.
        floor_seconds: the floor, None where it is only words.
        memory, peer_memory: largest growth of the process's memory in one call, bytes; None where the system
            doesn't tell. The peer's is of the part that it runs.
        agree: largest difference of the two results, where they give the same thing.
    """

    work: str
    peer: str
    ratio: float
    spread: tuple[float, float]
    target: float
    first: float
    ours: float
    theirs: float
    floor: str = ""
    agree: float | None = None
    floor_seconds: float | None = None
    memory: float | None = None
    peer_memory: float | None = None
    scale: float = 1.0

    @property
    def reached(self) -> bool:
        """Whether the target is met."""
        return self.ratio >= self.target

    @property
    def compilation(self) -> float:
        """Seconds that the first call took longer than later ones: compilation, and warming up."""
        return max(0.0, self.first - self.ours)

    @property
    def share(self) -> float | None:
        """Share of the floor that is reached: floor over our time."""
        return None if self.floor_seconds is None else self.floor_seconds / self.ours

    def plain(self) -> dict[str, Any]:
        """Return the row as a plain document."""
        more = {"reached": self.reached, "compilation": self.compilation, "share_of_floor": self.share}
        return dataclasses.asdict(self) | more


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Time one call until its result is there."""
    gc.collect()
    start = time.perf_counter()
    result = jax.block_until_ready(call())
    return time.perf_counter() - start, result


def against(
    work: str,
    ours: Callable[[], Any],
    peer: str,
    theirs: Callable[[], Any],
    *,
    target: float = 0.0,
    pairs: int = 5,
    scale: float = 1.0,
    floor: "Floor | Callable[[float], Floor | str] | str" = "",
    note: str = "",
    difference: Callable[[Any, Any], float] | None = None,
) -> Row:
    """Measure ours against a peer.

    Args:
        scale: how much more work ours does in one call than the peer's (a peer too slow for the full
            size runs a part of it); its time is multiplied by it.
        floor: the least time; from our steady seconds where its words need them; or only words.
        note: what else there is to say.
        difference: from both results to their largest difference.
    """
    first, result = seconds(ours)
    _, other = seconds(theirs)
    agree = difference(result, other) if difference else None
    del result, other
    times = [(seconds(ours)[0], scale * seconds(theirs)[0]) for _ in range(pairs)]
    ratios = sorted(theirs / ours for ours, theirs in times)
    steady = statistics.median(ours for ours, _ in times)
    found = floor(steady) if callable(floor) else floor
    least, words = found if isinstance(found, Floor) else (None, found)
    return Row(
        work=work,
        peer=peer,
        ratio=statistics.median(ratios),
        spread=(ratios[0], ratios[-1]),
        target=target,
        first=first,
        ours=steady,
        theirs=statistics.median(theirs for _, theirs in times),
        floor="; ".join(filter(None, (words, note))),
        agree=agree,
        floor_seconds=least,
        memory=growth(ours),
        peer_memory=growth(theirs),
        scale=scale,
    )


# -- memory ----------------------------------------------------------------------------------------


def growth(call: Callable[[], Any]) -> float | None:
    """Return by how many bytes the process's memory grows at most during a call; None where nobody tells.

    What was freed before is given back to the system first, so that it isn't used again unseen. The process's
    memory is read every half millisecond: growth that is shorter than this goes unseen.
    """
    status = pathlib.Path("/proc/self/statm")
    if not status.exists():
        return None
    gc.collect()
    _trim()
    page = os.sysconf("SC_PAGE_SIZE")
    before = _resident(status)
    most = [before]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(5e-4):
            most[0] = max(most[0], _resident(status))

    watcher = threading.Thread(target=watch)
    watcher.start()
    kept = jax.block_until_ready(call())
    over.set()
    watcher.join()
    most[0] = max(most[0], _resident(status))
    del kept
    return float((most[0] - before) * page)


def _resident(status: pathlib.Path) -> int:
    return int(status.read_text().split()[1])


def _trim() -> None:
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):  # another C library
        return


# -- what this machine can do at most --------------------------------------------------------------


@functools.cache
def flops_per_second(dtype: str = "float64") -> float:
    """The rate of a large matrix product of NumPy on this machine."""
    a = np.ones((1024, 1024), dtype)
    a @ a
    return 2 * 1024**3 / min(seconds(lambda: a @ a)[0] for _ in range(5))


@functools.cache
def bytes_per_second() -> float:
    """The rate at which fresh memory is written."""
    return (1 << 26) / min(seconds(lambda: np.ones(1 << 23))[0] for _ in range(5))


@functools.cache
def words_per_second() -> float:
    """The rate at which JAX's generator gives 64 random bits."""
    draw = jax.jit(lambda key: jax.random.bits(key, (1 << 21, 2)))
    key = jax.random.key(0)
    seconds(lambda: draw(key))
    return (1 << 21) / min(seconds(lambda: draw(key))[0] for _ in range(5))


def arithmetic(flops: float, written: float = 0.0, words: float = 0.0, dtype: str = "float64") -> Floor:
    """Return the floor of some work: products at the rate of a matrix product, results, random words."""
    told = [f"{flops / 1e9:.2g} GFlop as a {dtype} product"] if flops else []
    told += [f"{written / 1e6:.3g} MB of results"] if written else []
    told += [f"{words / 1e6:.3g} million random words"] if words else []
    least = flops / flops_per_second(dtype) if flops else 0.0
    least += written / bytes_per_second() if written else 0.0
    least += words / words_per_second() if words else 0.0
    return Floor(least, ", ".join(told))


# -- the page --------------------------------------------------------------------------------------


def machine() -> str:
    """Name what ran: cores, device, versions; no host name."""
    devices = ", ".join(sorted({d.device_kind for d in jax.devices()}))
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), JAX {jax.__version__} on {jax.default_backend()} "
        f"({devices}), Python {platform.python_version()}"
    )


def markdown(rows: list[Row]) -> str:
    """Return the rows as a table."""
    lines = [
        "| work | peer | ratio (lowest to highest pair) | at least | compilation | ours | peer "
        "| memory: ours, peer | floor | share of it | largest difference |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join(lines + [_line(row) for row in rows])


def _line(row: Row) -> str:
    low, high = row.spread
    cells = [
        row.work,
        row.peer,
        f"{row.ratio:.3g}x ({low:.3g} to {high:.3g})",
        f"{row.target:g}x {'reached' if row.reached else 'NOT reached'}" if row.target else "none set",
        f"{row.compilation:.2g} s",
        f"{row.ours:.3g} s",
        f"{row.theirs:.3g} s",
        f"{_megabytes(row.memory)}, {_megabytes(row.peer_memory)}{'' if row.scale == 1 else ' (part)'}",
        row.floor if row.floor_seconds is None else f"{row.floor_seconds:.2g} s: {row.floor}",
        "" if row.share is None else f"{100 * row.share:.2g} %",
        "" if row.agree is None else f"{row.agree:.1e}",
    ]
    return "| " + " | ".join(cells) + " |"


def _megabytes(size: float | None) -> str:
    return "?" if size is None else f"{size / 1e6:.3g} MB"
