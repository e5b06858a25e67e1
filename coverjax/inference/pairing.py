"""The inputs that two have in common, paired by id."""

import numpy as np

from coverjax.curves import Curves


def common_rows(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the ids that both have stand in each, in a's order, int64 [pairs] twice."""
    place = {name: row for row, name in enumerate(b.tolist())}
    pairs = [(row, place[name]) for row, name in enumerate(a.tolist()) if name in place]
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def paired_rows(a: Curves, b: Curves, quantity: str = "coverage") -> tuple[np.ndarray, np.ndarray]:
    """Return where the inputs stand that enter the mean of a curve in both, like `common_rows`."""
    rows_a, rows_b = common_rows(a.ids, b.ids)
    fine = a.used_for(quantity)[rows_a] & b.used_for(quantity)[rows_b]
    return rows_a[fine], rows_b[fine]
