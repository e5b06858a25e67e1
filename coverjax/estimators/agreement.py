"""Agreement of two labelers: kappa, precision and recall by strategy, Krippendorff's alpha for sets."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any, TypeGuard

import numpy as np
from jaxtyping import Bool

from coverjax.estimators.set_agreement import DISTANCES, alpha_interval
from coverjax.foundation.checks import InputError, listed, one_of, shown
from coverjax.inference.jackknife import jackknife_interval
from coverjax.inference.units import Interval, summed_by_cluster
from coverjax.logs.log import SampleLog

MEASURES = ("kappa", "precision", "recall", "false_positive", "false_negative")


@dataclasses.dataclass(frozen=True, eq=False)
class Agreement:
    """How far labeler a agrees with labeler b; where b is taken as the truth, how good a is.

    Attributes:
        strategies: their names.
        counts: samples on which (both, only a, only b, neither) give the strategy, int64 [strategies, 4].
        kappa: Cohen's kappa of each strategy [strategies].
        precision: share of a's labels that b gives too. recall: share of b's labels that a gives too.
        false_positive: share of the samples without b's label that a gives it. false_negative: 1 - recall.
        exact: share of the samples with equal label sets, one point.
        alpha: Krippendorff's alpha of the label sets, one point.
        distance: of the sets: "masi", "jaccard" or "nominal".
        samples, inputs: how many were labelled by both.
        warnings: what a reader must know, one line each.

    Each measure is an `Interval` over inputs; its `mean` is the value from all samples, NaN where undefined.
    """

    strategies: tuple[str, ...]
    counts: np.ndarray
    kappa: Interval
    precision: Interval
    recall: Interval
    false_positive: Interval
    false_negative: Interval
    exact: Interval
    alpha: Interval
    distance: str
    samples: int
    inputs: int
    warnings: tuple[str, ...]


def label_agreement(
    a: "SampleLog | Sequence[Collection[str]]",
    b: "SampleLog | Sequence[Collection[str]]",
    inputs: "Sequence[object] | None" = None,
    *,
    level: float = 0.95,
    distance: str = "masi",
    applies: "Bool[np.ndarray, 'samples strategies'] | None" = None,
    strategies: "Sequence[str] | None" = None,
) -> Agreement:
    """Measure how far two labelers agree on the same samples, with intervals over inputs.

    By strategy, over the samples: kappa = (p_o - p_e) / (1 - p_e), p_o the share on which both say the same
    and p_e the share expected of independent labelers with the same frequencies. Of the sets: Krippendorff's
    alpha, see `krippendorff_alpha`. Intervals leave out one input at a time (`jackknife_interval`).

    Args:
        a, b: two logs with the same inputs and numbers of samples (paired by input and place; a strategy is
            looked at on the inputs that declare it), or two sequences with the labels of each sample.
        inputs: with sequences, the input of each sample.
        level: nominal level of the intervals, a fraction.
        distance: "masi" (Passonneau 2006), "jaccard" (1 - |A & B| / |A | B|) or "nominal" (equal or not).
        applies: with sequences, whether a strategy can stand on a sample; everywhere when None.
        strategies: their names, the columns of `applies`; all that occur, sorted, when None.

    Raises:
        InputError: the logs or sequences do not pair, or a label is not among `strategies`.

    References:
        Cohen 1960; Krippendorff 2004, Content Analysis; Passonneau 2006 (LREC).

    Example:
        >>> import coverjax as cj
        >>> a = [{"x"}, {"x", "y"}, set(), {"y"}]
        >>> b = [{"x"}, {"x"}, set(), {"y"}]
        >>> found = cj.label_agreement(a, b, inputs=["p", "p", "q", "r"])
        >>> found.strategies, found.kappa.mean.round(3).tolist(), round(float(found.alpha.mean[0]), 3)
        (('x', 'y'), [1.0, 0.5], 0.781)
    """
    one_of("distance", distance, DISTANCES)
    if isinstance(a, SampleLog) and isinstance(b, SampleLog):
        return label_agreement(**_of_logs(a, b), level=level, distance=distance)
    if not _label_sets(a) or not _label_sets(b):
        raise InputError(
            "label_agreement: must get two logs, or two sequences of label sets, one a sample; got "
            f"{shown(a)} and {shown(b)}"
        )
    names = _names(a, b, strategies)
    if len(a) != len(b) or inputs is None or len(inputs) != len(a) or not len(a):
        raise InputError(
            f"label_agreement: needs the labels of the same samples by both, and each sample's input; got "
            f"{len(a)}, {len(b)} and {0 if inputs is None else len(inputs)}"
        )
    one, other = _flags(a, names), _flags(b, names)
    where = np.ones(one.shape, bool) if applies is None else np.asarray(applies, bool)
    if where.shape != one.shape:
        raise InputError(f"applies: must be bool {list(one.shape)}; got shape {where.shape}")
    codes = _codes(inputs)
    cells = _cells(one, other, where)
    by_input = summed_by_cluster(cells.reshape(len(one), -1), codes)
    measures = jackknife_interval(by_input, _measures, level)
    same = (np.where(where, one, False) == np.where(where, other, False)).all(axis=1)
    exact = jackknife_interval(
        summed_by_cluster(np.stack([same, np.ones(len(same))], axis=1), codes), _share, level
    )
    parts = _split(measures, len(names))
    alpha = alpha_interval([a, b], codes, distance, level)
    return Agreement(
        strategies=names,
        counts=cells.sum(axis=0).astype(np.int64),
        **dict(zip(MEASURES, parts, strict=True)),
        exact=exact,
        alpha=alpha,
        distance=distance,
        samples=len(one),
        inputs=int(codes.max()) + 1,
        warnings=tuple(dict.fromkeys((*measures.warnings, *alpha.warnings))),
    )


def _label_sets(labels: Any) -> TypeGuard[Sequence[Collection[str]]]:
    """Whether these are the labels of samples: a sequence of collections of names."""
    return isinstance(labels, Sequence | np.ndarray) and all(
        isinstance(held, Collection) and not isinstance(held, str) and all(isinstance(x, str) for x in held)
        for held in labels
    )


def _codes(inputs: Sequence[object]) -> np.ndarray:
    """Return the number of each sample's input, 0, 1, ... in order of appearance."""
    seen: dict[object, int] = {}
    return np.array([seen.setdefault(name, len(seen)) for name in inputs], dtype=np.int64)


def _names(a: Any, b: Any, strategies: "Sequence[str] | None") -> tuple[str, ...]:
    found = {label for labels in (*a, *b) for label in labels}
    if strategies is None:
        return tuple(sorted(found))
    outside = sorted(found - set(strategies))
    if outside:
        raise InputError(f"strategies: must name every label; {listed(map(shown, outside))} is missing")
    return tuple(strategies)


def _flags(labels: Sequence[Collection[str]], names: tuple[str, ...]) -> np.ndarray:
    place = {name: number for number, name in enumerate(names)}
    flags = np.zeros((len(labels), len(names)), bool)
    for row, held in enumerate(labels):
        flags[row, [place[label] for label in held]] = True
    return flags


def _of_logs(a: SampleLog, b: SampleLog) -> dict[str, Any]:
    """Samples of two logs, paired by method, input, trial and place, as arguments of `label_agreement`."""
    rows_b = {key: row for row, key in enumerate(_row_keys(b))}
    labels: tuple[list[list[str]], list[list[str]]] = ([], [])
    inputs, declared = [], []
    for row, key in enumerate(_row_keys(a)):
        other = rows_b.get(key)
        if other is None or a.n[row].tolist() != b.n[other].tolist():
            raise InputError(
                f"label_agreement: both logs must hold the same samples; those of {shown(key[1])} differ: "
                "join the files by input and sample (coverjax label LOG --against FILE)"
            )
        held = {name for log, at in ((a, row), (b, other)) for name in _declared_names(log, at)}
        for log, at, out in ((a, row, labels[0]), (b, other, labels[1])):
            sets = log.matches[at][log.inside[at]]
            out += [[log.labels[at][label] for label in np.flatnonzero(held_by)] for held_by in sets]
        count = int(a.n[row].sum())
        inputs += [key[1]] * count
        declared += [held] * count
    names = tuple(sorted({name for part in labels for held in part for name in held}.union(*declared)))
    given = a.declared_given and b.declared_given
    applies = np.array([[name in held for name in names] for held in declared]) if given else None
    return {"a": labels[0], "b": labels[1], "inputs": inputs, "applies": applies, "strategies": names}


def _row_keys(log: SampleLog) -> list[tuple[Any, Any]]:
    methods = [""] * log.inputs if log.method is None else log.method.tolist()
    return list(zip(methods, log.ids.tolist(), strict=True))


def _declared_names(log: SampleLog, row: int) -> list[str]:
    return [log.labels[row][label] for label in np.flatnonzero(log.declared[row])]


def _cells(one: np.ndarray, other: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Whether a sample is in each cell (both, only a, only b, neither), [samples, strategies, 4]."""
    both = [one & other, one & ~other, ~one & other, ~one & ~other]
    return np.stack([cell & where for cell in both], axis=2).astype(np.float64)


def _measures(sums: np.ndarray) -> np.ndarray:
    """The five measures of each strategy from sums of its cells, [rows, 5 x strategies]."""
    both, first, second, neither = np.moveaxis(sums.reshape(len(sums), -1, 4), 2, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = both + first + second + neither
        agreed = (both + neither) / total
        chance = ((both + first) * (both + second) + (second + neither) * (first + neither)) / total**2
        found = [
            np.where(chance < 1.0, (agreed - chance) / (1.0 - chance), np.nan),
            both / (both + first),
            both / (both + second),
            first / (first + neither),
            second / (both + second),
        ]
    return np.concatenate(found, axis=1)


def _share(sums: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums[:, :1] / sums[:, 1:]


def _split(found: Interval, width: int) -> list[Interval]:
    """Cut an interval over all measures into one for each."""
    names = ("low", "high", "mean", "stderr", "flagged")
    cuts = [slice(start, start + width) for start in range(0, width * len(MEASURES), width)]
    return [dataclasses.replace(found, **{name: getattr(found, name)[cut] for name in names}) for cut in cuts]
