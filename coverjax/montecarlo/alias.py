"""Walker's alias method in whole numbers: a draw from any number of outcomes by two look-ups.

Probabilities are rounded to multiples of 2^-32 in float64 on the host, so that they sum to exactly 1; the
tables keep these whole numbers exactly. 32 random bits then pick a cell (the upper bits) and a height in it
(the lower ones). Compared with a search through cumulative probabilities the cost does not grow with the
number of outcomes, and no float32 sum (6e-8 off, differently on different devices) is involved.
"""

import numpy as np
from jaxtyping import Float, Int


def whole_numbers(rows: Float[np.ndarray, "rows outcomes"], cells: int) -> Int[np.ndarray, "rows cells"]:
    """Return probabilities in units of 2^-32, each wrong by at most one unit; they sum to 2^32.

    What a row lacks to 1 stands behind its outcomes; cells beyond that are 0. An outcome of probability 0
    gets 0.
    """
    upto = np.zeros((len(rows), cells + 1))
    upto[:, 1 : rows.shape[1] + 1] = np.cumsum(rows, axis=1)
    upto[:, rows.shape[1] + 1 :] = 1.0
    # A row that sums to 1 up to rounding leaves nothing over.
    last = upto[:, rows.shape[1]]
    upto[:, rows.shape[1]] = np.where(last > 1.0 - 1e-14, 1.0, last)
    whole = np.floor(np.minimum(upto, 1.0) * 2.0**32 + 0.5).astype(np.int64)
    return np.diff(whole, axis=1)


def alias_tables(
    whole: Int[np.ndarray, "rows cells"],
) -> tuple[Int[np.ndarray, "rows cells"], Int[np.ndarray, "rows cells"]]:
    """Return for each cell the height below which it stands for itself, and what it stands for above.

    Vose's construction on all rows at once: a cell that is not full is filled up by one that is more than
    full, until all are full.

    Args:
        whole: weights that sum to 2^32; the number of cells is a power of two, at least 2.
    """
    rows, cells = whole.shape
    full = (1 << 32) // cells
    left = whole.copy()
    height = np.zeros((rows, cells), np.int32)
    other = np.broadcast_to(np.arange(cells, dtype=np.int32), (rows, cells)).copy()
    small = np.argsort(left >= full, axis=1, kind="stable")
    large = np.argsort(left < full, axis=1, kind="stable")
    smalls = (left < full).sum(axis=1)
    larges = cells - smalls
    busy = np.flatnonzero(smalls > 0)
    while len(busy):
        poor = small[busy, smalls[busy] - 1]
        rich = large[busy, larges[busy] - 1]
        height[busy, poor] = left[busy, poor]
        other[busy, poor] = rich
        rest = left[busy, rich] - (full - left[busy, poor])
        left[busy, rich] = rest
        smalls[busy] -= 1
        poorer = busy[rest < full]
        larges[poorer] -= 1
        small[poorer, smalls[poorer]] = rich[rest < full]
        smalls[poorer] += 1
        busy = busy[smalls[busy] > 0]
    return height, other
