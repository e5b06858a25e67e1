"""From the groups of a log to its arrays: names become codes in duckdb, codes become arrays in NumPy."""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from coverjax.logs.counts import CountTable, several_trials
from coverjax.logs.declared import Declared
from coverjax.logs.log import SampleLog
from coverjax.logs.rules import FLAG, NAME, NUMBER, WHOLE
from coverjax.logs.sizes import need_room
from coverjax.logs.tallying import Tally

if TYPE_CHECKING:
    import duckdb

LABEL_BYTES = 25
"""Bytes of a label of an input: whether it is declared, and three counts."""

LABEL_ROWS = "SELECT DISTINCT input, unnest(labels) AS label FROM groups JOIN sets USING (strategies)"
"""The (input, label) pairs of a log that was tallied."""


@dataclasses.dataclass(frozen=True)
class Frame:
    """The rows and label columns that arrays of a log have.

    Attributes:
        ids: the input of each row.
        method: the method of each row, or None.
        labels: the names of each row's label columns.
        declared: which of them are declared strategies [rows, labels].
        facts: what the provenance says of the declared strategies.
    """

    ids: np.ndarray
    method: np.ndarray | None
    labels: tuple[tuple[str, ...], ...]
    declared: np.ndarray
    facts: dict[str, Any]


def frame(
    connection: "duckdb.DuckDBPyConnection", found: str, labels: str, declared: Declared | None
) -> Frame:
    """Write the tables `rows` (method, input, row) and `label_columns` (input, label, place).

    Rows stand in order of first appearance of the method, then of the input in the whole log. An input's
    columns are its declared strategies in their order, then other labels sorted; the same for every method.

    Args:
        connection: where the log is.
        found: a query for distinct method ("" where there is none) and input, and for first, a number that
            orders them by their first rows.
        labels: a query for distinct (input, label).
        declared: the declared strategies; None takes every label as declared.
    """
    (declared or Declared(None, {})).store(connection)
    for name in ("method", "input"):
        connection.execute(f"""
            CREATE TABLE {name}s AS SELECT {name}, row_number() OVER (ORDER BY min(first)) - 1 AS code
            FROM ({found}) GROUP BY {name}
        """)
    connection.execute(f"""
        CREATE TABLE rows AS
        SELECT method, input, row_number() OVER (ORDER BY methods.code, inputs.code) - 1 AS row
        FROM (SELECT DISTINCT method, input FROM ({found}))
            JOIN methods USING (method) JOIN inputs USING (input)
    """)
    connection.execute(f"""
        CREATE TABLE label_columns AS
        SELECT input, label, bool_or(declared) AS declared,
            row_number() OVER (PARTITION BY input ORDER BY min(position) NULLS LAST, label) - 1 AS place
        FROM (
            SELECT input, label, {"false" if declared else "true"} AS declared, NULL::BIGINT AS position
            FROM ({labels})
            UNION ALL
            SELECT input, strategy, true, position FROM inputs JOIN declared USING (input)
            UNION ALL
            SELECT inputs.input, strategy, true, position FROM inputs, declared WHERE declared.input IS NULL
        ) GROUP BY input, label
    """)
    return _fetched_frame(connection, declared)


def _fetched_frame(connection: "duckdb.DuckDBPyConnection", declared: Declared | None) -> Frame:
    named = connection.execute("SELECT method, input FROM rows ORDER BY row").fetchnumpy()
    methods, ids = _objects(named["method"]), _objects(named["input"])
    columns = connection.execute("""
        SELECT row, place, label, declared FROM rows JOIN label_columns USING (input) ORDER BY row, place
    """).fetchnumpy()
    rows, places = filled(columns["row"]), filled(columns["place"])
    sizes = {"inputs": len(ids), "labels": int(places.max(initial=0)) + 1}
    need_room(sizes, LABEL_BYTES, "give the labels coarser names, or read parts of the log")
    # One column at least, of padding: an axis of length 0 has no largest entry, and no reader expects it.
    mask = np.zeros((len(ids), int(places.max(initial=0)) + 1), bool)
    mask[rows, places] = filled(columns["declared"])
    cuts = np.searchsorted(rows, np.arange(1, len(ids)))
    labels = tuple(tuple(part.tolist()) for part in np.split(_objects(columns["label"]), cuts))
    facts: dict[str, Any] = {"inputs_without_declared": len(set(ids[~mask.any(axis=1)].tolist()))}
    if declared is not None:
        facts["declared"] = declared.source
        facts["declared_unused"] = declared.unused(ids.tolist())
    return Frame(ids, methods if methods[0] else None, labels, mask, facts)


def _objects(column: Any) -> np.ndarray:
    return np.asarray(np.ma.getdata(column), dtype=object)


def filled(column: Any) -> np.ndarray:
    """A column that holds no NULL, as a plain array."""
    return np.ma.getdata(column)


def counted(
    connection: "duckdb.DuckDBPyConnection",
    tally: Tally,
    declared: Declared | None,
    provenance: dict[str, Any],
) -> CountTable:
    """Return the count table of a log that was tallied.

    Raises:
        InputError: some row has several trials.
    """
    several = connection.execute("""
        SELECT input FROM groups GROUP BY method, input
        HAVING count(DISTINCT trial) > 1 ORDER BY method, input LIMIT 1
    """).fetchone()
    if several:
        raise several_trials(several[0])
    shape = frame(connection, "FROM firsts", LABEL_ROWS, declared)
    sizes = connection.execute("""
        SELECT row, sum(n)::BIGINT AS n FROM groups JOIN rows USING (method, input) GROUP BY row ORDER BY row
    """).fetchnumpy()
    kinds = {kind: "true" if kind == "raw" else kind for kind in ("raw", "valid", "correct")}
    sums = ", ".join(f"coalesce(sum(n) FILTER ({test}), 0)::BIGINT AS {kind}" for kind, test in kinds.items())
    cells = connection.execute(f"""
        SELECT row, place, {sums}
        FROM (
            SELECT method, input, n, valid, correct, unnest(labels) AS label
            FROM groups JOIN sets USING (strategies)
        ) JOIN rows USING (method, input) JOIN label_columns USING (input, label)
        GROUP BY row, place
    """).fetchnumpy()
    counts = {
        kind: scattered(shape.declared.shape, cells, kind)
        for kind in kinds
        if kind == "raw" or kind in tally.present
    }
    return CountTable(
        counts=counts["raw"],
        n=filled(sizes["n"]),
        declared=shape.declared,
        labels=shape.labels,
        ids=shape.ids,
        method=shape.method,
        counts_valid=counts.get("valid"),
        counts_correct=counts.get("correct"),
        labelers=_labelers(connection),
        declared_given=declared is not None,
        copies_latent=tally.copies_latent,
        provenance={**provenance, "samples": tally.samples, **shape.facts},
    )


def scattered(shape: tuple[int, ...], cells: dict[str, Any], name: str) -> np.ndarray:
    array = np.zeros(shape, dtype=np.int64)
    array[filled(cells["row"]), filled(cells["place"])] = filled(cells[name])
    return array


def _labelers(connection: "duckdb.DuckDBPyConnection") -> tuple[str, ...]:
    found = connection.execute(
        "SELECT DISTINCT labeler FROM groups WHERE labeler IS NOT NULL ORDER BY labeler"
    )
    return tuple(name for (name,) in found.fetchall())


def sampled(
    connection: "duckdb.DuckDBPyConnection",
    tally: Tally,
    declared: Declared | None,
    provenance: dict[str, Any],
    dialect: str,
    ordered: bool,
) -> SampleLog:
    """Return the log whose samples stand in the table `samples` and were tallied."""
    shape = frame(connection, "FROM firsts", LABEL_ROWS, declared)
    _need_room(connection, shape, tally)
    latents = _number_trials_and_latents(connection, dialect)
    held = _fetched_samples(connection, dialect)
    row, trial, number = (filled(held[name]) for name in ("row", "trial", "number"))
    place = _places(row, trial, number)
    size = (len(shape.ids), int(trial.max()) + 1, int(place.max()) + 1)
    flat = np.ravel_multi_index((row, trial, place), size)
    n = np.bincount(row * size[1] + trial, minlength=size[0] * size[1]).reshape(size[:2])
    columns: dict[str, Any] = {
        name: _spread(size, flat, filled(held[name]), padding)
        for name, padding in (("valid", False), ("correct", False), ("score", np.nan), ("latent", -1))
        if name in tally.present
    }
    return SampleLog(
        matches=_matches(connection, size, shape.declared.shape[1], flat[np.argsort(filled(held["r"]))]),
        n=n.astype(np.int64),
        declared=shape.declared,
        labels=shape.labels,
        ids=shape.ids,
        method=shape.method,
        latents=latents,
        labelers=_labelers(connection),
        ordered=ordered,
        declared_given=declared is not None,
        provenance={**provenance, "samples": tally.samples, **shape.facts},
        **columns,
    )


def _need_room(connection: "duckdb.DuckDBPyConnection", shape: Frame, tally: Tally) -> None:
    """Raise where the samples, padded to the longest trial, the most trials and labels, would not fit."""
    trials, samples = connection.execute("""
        SELECT max(trials), max(samples) FROM (
            SELECT count(*) AS trials, max(n) AS samples FROM (
                SELECT method, input, sum(n) AS n FROM groups GROUP BY method, input, trial
            ) GROUP BY method, input
        )
    """).fetchall()[0]
    inputs, labels = shape.declared.shape
    sizes = {"inputs": inputs, "trials": int(trials), "samples": int(samples), "labels": labels}
    others = 2 + 8 * sum(name in tally.present for name in ("score", "latent"))
    need_room(
        sizes, 1 + others / labels, "count the samples (counts=True, --counts), or read parts of the log"
    )


def _number_trials_and_latents(connection: "duckdb.DuckDBPyConnection", dialect: str) -> tuple[str, ...]:
    """Write `trials` and `latents` with codes in order, whole numbers by value; return the latents."""
    order = "try_cast({0} AS HUGEINT) NULLS LAST, {0}"
    connection.execute(f"""
        CREATE TABLE places AS SELECT raw_method, raw_input, raw_trial, row,
            dense_rank() OVER (PARTITION BY row ORDER BY {order.format("trial")}) - 1 AS trial
        FROM raw_places JOIN rows USING (method, input)
    """)
    connection.execute(f"""
        CREATE TABLE latents AS SELECT raw_latent, latent,
            dense_rank() OVER (ORDER BY {order.format("latent")}) - 1 AS code
        FROM (
            SELECT DISTINCT latent AS raw_latent, {NAME.sql("latent", dialect)} AS latent
            FROM samples WHERE latent IS NOT NULL
        )
    """)
    found = connection.execute("SELECT latent FROM latents GROUP BY latent ORDER BY min(code)").fetchall()
    return tuple(name for (name,) in found)


def _fetched_samples(connection: "duckdb.DuckDBPyConnection", dialect: str) -> dict[str, Any]:
    """Return the columns of all samples as numbers; those that the log has not are padding throughout."""
    return connection.execute(f"""
        SELECT samples.rowid AS r, row, places.trial, {WHOLE.sql("sample", dialect)} AS number,
            coalesce({FLAG.sql("valid", dialect)}, false) AS valid,
            coalesce({FLAG.sql("correct", dialect)}, false) AS correct,
            coalesce({NUMBER.sql("score", dialect)}, 0) AS score,
            coalesce(latents.code, -1) AS latent
        FROM samples
            JOIN places ON method IS NOT DISTINCT FROM raw_method AND input = raw_input
                AND samples.trial IS NOT DISTINCT FROM raw_trial
            LEFT JOIN latents ON samples.latent = raw_latent
    """).fetchnumpy()


def _places(row: np.ndarray, trial: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Return where each sample stands within its row and trial, by its number."""
    order = np.lexsort((number, trial, row))
    starts = np.flatnonzero(np.diff(row[order], prepend=-1) | np.diff(trial[order], prepend=-1))
    lengths = np.diff(np.append(starts, len(order)))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.repeat(starts, lengths)
    return place


def _spread(size: tuple[int, ...], flat: np.ndarray, values: np.ndarray, padding: Any) -> np.ndarray:
    array = np.full(size, padding, dtype=np.int64 if values.dtype.kind == "i" else values.dtype)
    array.reshape(-1)[flat] = values
    return array


def _matches(
    connection: "duckdb.DuckDBPyConnection", size: tuple[int, ...], width: int, flat_of_r: np.ndarray
) -> np.ndarray:
    """Return the match sets [rows, trials, samples, labels]; sample r stands at `flat_of_r[r]`."""
    cells = connection.execute("""
        SELECT r, place
        FROM (
            SELECT samples.rowid AS r, row, unnest(labels) AS label
            FROM samples JOIN sets USING (strategies)
                JOIN places ON method IS NOT DISTINCT FROM raw_method AND samples.input = raw_input
                    AND samples.trial IS NOT DISTINCT FROM raw_trial
        ) JOIN rows USING (row) JOIN label_columns USING (input, label)
    """).fetchnumpy()
    matches = np.zeros((*size, width), dtype=bool)
    matches.reshape(-1, width)[flat_of_r[filled(cells["r"])], filled(cells["place"])] = True
    return matches
