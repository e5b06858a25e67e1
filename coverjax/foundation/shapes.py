"""Dimension names, padding and bucketing.

The glossary of dimension names that shapes are written in:

``inputs`` problems or prompts; ``strategies`` declared strategies of an input (padded to the
largest); ``labels`` declared strategies plus labels outside the declared set; ``outcomes``
distinct things that one draw can give; ``latents`` values of z; ``trials`` repeated runs;
``samples`` or ``draws`` positions within a run; ``budgets`` values of k at which a curve is
given; ``units`` whatever an interval is taken over; ``points`` what it is taken at.
"""

import numpy as np


def bucket(size: int, smallest: int = 8) -> int:
    """Round a size up to a power of two, so that ragged data compile only a few programs."""
    return max(smallest, 1 << max(0, int(size) - 1).bit_length())


def pad_axis(array: np.ndarray, size: int, axis: int = 0, fill: object = 0) -> np.ndarray:
    """Pad one axis at its end to `size` with `fill`; the array itself if it is that long already."""
    missing = size - array.shape[axis]
    if missing == 0:
        return array
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, missing)
    return np.pad(array, widths, constant_values=fill)  # type: ignore[call-overload]


def blocks(total: int, block: int) -> list[slice]:
    """Cut range(total) into slices of at most `block`."""
    block = max(1, block)
    return [slice(start, min(start + block, total)) for start in range(0, total, block)]
