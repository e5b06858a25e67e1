"""Which form gives the curves that need match sets, run by run, and the curves it gives."""

import dataclasses

import numpy as np

from coverjax.estimators.count_statistics import novelty_count
from coverjax.estimators.runs import Runs
from coverjax.estimators.sample_orders import ORDERS, random_order_curves
from coverjax.estimators.set_statistics import lattice_curves, single_label_full, single_label_law
from coverjax.foundation import lattice
from coverjax.foundation.shapes import blocks

LATTICE = f"subset lattice (exact, at most {lattice.LARGEST} strategies that are sometimes matched)"
CHAIN = "chain over the samples (exact, at most one strategy a sample)"
RANDOM = f"{ORDERS:,} random orders (unbiased, standard error in mc_stderr)"

_CHAIN_STEPS = 1 << 31
_ORDER_NUMBERS = 1 << 22


@dataclasses.dataclass(frozen=True, eq=False)
class SetForms:
    """What the match sets of the runs gave: curves and standard errors [runs, B, ...], inputs per form."""

    fields: dict[str, np.ndarray]
    mc_stderr: dict[str, np.ndarray]
    runs_by_form: dict[str, int]


@dataclasses.dataclass(frozen=True, eq=False)
class _Split:
    """The declared strategies of each run by how often they are matched: sometimes, always or never.

    Only the first kind is random; a lattice of them alone reaches further.
    """

    matches: np.ndarray
    counts: np.ndarray
    sometimes: np.ndarray
    always: np.ndarray
    never: np.ndarray
    some_match: np.ndarray

    @classmethod
    def of(cls, runs: Runs) -> "_Split":
        counts = runs.counts
        size = runs.n[:, None]
        sometimes = runs.declared & (counts > 0) & (counts < size)
        width = int(sometimes.sum(axis=1).max(initial=0))
        first = np.argsort(~sometimes, axis=1, kind="stable")[:, :width]
        chosen = np.take_along_axis(sometimes, first, axis=1)
        return cls(
            matches=np.take_along_axis(runs.matches, first[:, None, :], axis=2) & chosen[:, None, :],
            counts=np.where(chosen, np.take_along_axis(counts, first, axis=1), 0),
            sometimes=chosen.sum(axis=1),
            always=(runs.declared & (counts == size)).sum(axis=1),
            never=(runs.declared & (counts == 0)).sum(axis=1),
            some_match=(runs.matches & runs.declared[:, None, :]).any(axis=2).sum(axis=1),
        )


def set_forms(runs: Runs, names: list[str], budgets: np.ndarray, want: frozenset[str], most: int) -> SetForms:
    """Return the curves in `want` (full_coverage, novelty_any, count_law) of exchangeable runs.

    Args:
        runs: the runs.
        names: a name for each run's random stream.
        budgets: k [B], none above any n.
        want: the curves asked for.
        most: the largest M; `count_law` gets most + 1 entries.
    """
    split = _Split.of(runs)
    single = (split.matches.sum(axis=2) <= 1).all(axis=1)
    forms = _choose(runs, split, single, int(budgets[-1]), want)
    shape = (len(runs.n), len(budgets))
    fields = {name: np.zeros(shape if name != "count_law" else (*shape, most + 1)) for name in want}
    errors = {name: np.zeros(values.shape) for name, values in fields.items()}
    for form, fill in ((LATTICE, _fill_lattice), (CHAIN, _fill_chain)):
        for rows in _groups(form, forms, runs, split):
            fill(fields, rows, runs, split, budgets)
    rows = np.flatnonzero(forms == RANDOM)
    for part in blocks(len(rows), _ORDER_NUMBERS // max(1, runs.matches.shape[1] * runs.matches.shape[2])):
        _fill_random(fields, errors, rows[part], runs, names, budgets)
    counted_out = rows[single[rows]]
    if "novelty_any" in fields and len(counted_out):
        _fill_counted_novelty(fields, counted_out, runs, split, budgets)
        errors["novelty_any"][counted_out] = 0.0
    counted = {form: int((forms == form).sum()) for form in (LATTICE, CHAIN, RANDOM) if (forms == form).any()}
    return SetForms(fields, errors if len(rows) else {}, counted)


def _choose(runs: Runs, split: _Split, single: np.ndarray, most: int, want: frozenset[str]) -> np.ndarray:
    """The form of each run; a chain costs n x K for F alone, and that for each strategy for the count law."""
    width = split.sometimes if "count_law" in want else np.ones_like(split.sometimes)
    steps = runs.n.astype(np.float64) * most * width
    forms = np.where(single & (steps < _CHAIN_STEPS), CHAIN, RANDOM)
    return np.where(split.sometimes <= lattice.LARGEST, LATTICE, forms)


def _groups(form: str, forms: np.ndarray, runs: Runs, split: _Split) -> list[np.ndarray]:
    """Rows of one form that share array shapes: lattice width in steps of four, or n."""
    rows = np.flatnonzero(forms == form)
    by = -(-split.sometimes[rows] // 4) if form == LATTICE else runs.n[rows]
    return [rows[by == value] for value in np.unique(by)]


def _fill_lattice(
    fields: dict[str, np.ndarray], rows: np.ndarray, runs: Runs, split: _Split, budgets: np.ndarray
) -> None:
    width = max(4, 4 * int(-(-split.sometimes[rows].max() // 4)))
    matches = np.zeros((len(rows), split.matches.shape[1], width), bool)
    filled = min(width, split.matches.shape[2])
    matches[:, :, :filled] = split.matches[rows][:, :, :filled]
    found = lattice_curves(matches, runs.n[rows], split.sometimes[rows], budgets, frozenset(fields))
    if found.full_coverage is not None:
        _fill_full(fields, rows, split, found.full_coverage)
    if found.novelty_any is not None:
        _fill_novelty(fields, rows, runs, split, budgets, found.novelty_any)
    if found.count_law is not None:
        _fill_law(fields, rows, split, found.count_law)


def _fill_chain(
    fields: dict[str, np.ndarray], rows: np.ndarray, runs: Runs, split: _Split, budgets: np.ndarray
) -> None:
    if "novelty_any" in fields:
        _fill_counted_novelty(fields, rows, runs, split, budgets)
    if "full_coverage" not in fields and "count_law" not in fields:
        return
    matches = split.matches[rows]
    codes = np.where(matches.any(axis=2), matches.argmax(axis=2), -1)[:, : runs.n[rows[0]]]
    most = int(budgets[-1])
    if "count_law" not in fields:
        _fill_full(fields, rows, split, single_label_full(codes, most)[:, budgets])
        return
    law = single_label_law(codes, most, int(split.sometimes[rows].max()))[:, budgets]
    _fill_law(fields, rows, split, law)
    if "full_coverage" in fields:
        full = np.take_along_axis(law, split.sometimes[rows][:, None, None], axis=2)[:, :, 0]
        _fill_full(fields, rows, split, full)


def _fill_counted_novelty(
    fields: dict[str, np.ndarray], rows: np.ndarray, runs: Runs, split: _Split, budgets: np.ndarray
) -> None:
    """Fill in novelty (any) of single labels, which is novelty (count): counts tell it."""
    counts = split.counts[rows]
    _fill_novelty(
        fields, rows, runs, split, budgets, novelty_count(runs.n[rows], counts, counts > 0, budgets)
    )


def _fill_full(fields: dict[str, np.ndarray], rows: np.ndarray, split: _Split, values: np.ndarray) -> None:
    """All strategies: those matched sometimes, unless one is never matched."""
    fields["full_coverage"][rows] = np.where(split.never[rows][:, None] > 0, 0.0, np.clip(values, 0.0, 1.0))


def _fill_novelty(
    fields: dict[str, np.ndarray],
    rows: np.ndarray,
    runs: Runs,
    split: _Split,
    budgets: np.ndarray,
    values: np.ndarray,
) -> None:
    """The first sample brings something new when it matches anything, a strategy of every sample included."""
    first = (split.some_match[rows] / runs.n[rows])[:, None]
    fields["novelty_any"][rows] = np.where(budgets == 1, first, np.clip(values, 0.0, 1.0))


def _fill_law(fields: dict[str, np.ndarray], rows: np.ndarray, split: _Split, law: np.ndarray) -> None:
    """Shift the law of the strategies matched sometimes by the number of those matched always."""
    for always in np.unique(split.always[rows]):
        chosen = split.always[rows] == always
        width = min(law.shape[2], fields["count_law"].shape[2] - always)
        fields["count_law"][rows[chosen], :, always : always + width] = law[chosen, :, :width]


def _fill_random(
    fields: dict[str, np.ndarray],
    errors: dict[str, np.ndarray],
    rows: np.ndarray,
    runs: Runs,
    names: list[str],
    budgets: np.ndarray,
) -> None:
    means, spreads = random_order_curves(
        [names[row] for row in rows],
        runs.matches[rows],
        runs.declared[rows],
        runs.n[rows],
        budgets,
        law="count_law" in fields,
    )
    for name, values in fields.items():
        width = values.shape[2] if name == "count_law" else None
        values[rows] = means[name][..., :width] if width else means[name]
        errors[name][rows] = spreads[name][..., :width] if width else spreads[name]
