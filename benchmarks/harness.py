"""How a row of the speed table is measured.

Ours and the peer run in turn (A B A B ...), so that what else the machine does hits both; the ratio is the
median over pairs. The first call of ours, compilation included, is timed apart.
"""

import dataclasses
import gc
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the speed table.

    Attributes:
        work: what is computed, with its sizes.
        peer: what it is compared with.
        ratio: peer time over our time, median over pairs; lowest and highest pair in `spread`.
        target: the ratio to reach, 0 where none is set.
        first: seconds of our first call, compilation included.
        ours, theirs: median seconds a call, steady state.
        floor: the least time the work could take, in words and numbers, and the share of it reached.
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

    @property
    def reached(self) -> bool:
        """Whether the target is met."""
        return self.ratio >= self.target


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
    floor: Callable[[float], str] | None = None,
    difference: Callable[[Any, Any], float] | None = None,
) -> Row:
    """Measure ours against a peer.

    Args:
        scale: how much more work ours does in one call than the peer's (a peer too slow for the full
            size runs a part of it); its time is multiplied by it.
        floor: from our steady seconds to a sentence on the floor.
        difference: from both results to their largest difference.
    """
    first, result = seconds(ours)
    _, other = seconds(theirs)
    times = [(seconds(ours)[0], scale * seconds(theirs)[0]) for _ in range(pairs)]
    ratios = sorted(theirs / ours for ours, theirs in times)
    steady = statistics.median(ours for ours, _ in times)
    return Row(
        work=work,
        peer=peer,
        ratio=statistics.median(ratios),
        spread=(ratios[0], ratios[-1]),
        target=target,
        first=first,
        ours=steady,
        theirs=statistics.median(theirs for _, theirs in times),
        floor=floor(steady) if floor else "",
        agree=difference(result, other) if difference else None,
    )


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
        "| work | peer | ratio (lowest to highest pair) | at least | first call | ours | peer | floor "
        "| largest difference |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        low, high = row.spread
        agree = "" if row.agree is None else f"{row.agree:.1e}"
        target = (
            f"{row.target:g}x {'reached' if row.reached else 'NOT reached'}" if row.target else "none set"
        )
        lines.append(
            f"| {row.work} | {row.peer} | {row.ratio:.3g}x ({low:.3g} to {high:.3g}) | {target} | "
            f"{row.first:.2g} s | {row.ours:.3g} s | {row.theirs:.3g} s | {row.floor} | {agree} |"
        )
    return "\n".join(lines)
