"""Group the samples of a log in one pass, and check on the groups what each sample must be.

Two groupings come from one scan. *Sets*: equal (method, input, trial, strategies, flags, labeler), with the
number of samples. *Blocks*: equal (method, input, trial, sample // 64), with the number of samples and the
union of one bit per sample number. A block's samples are distinct exactly when it has as many bits as
samples: within a block each number owns a bit. So duplicates are found exactly, with a group for 64 samples
instead of one for each.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from coverjax.logs.rules import FLAG, LABELS, NAME, NUMBER, WHOLE, Field
from coverjax.logs.tables import RefusedError, refusing

if TYPE_CHECKING:
    import duckdb

FIELDS = (
    Field("input", NAME, required=True),
    Field("sample", WHOLE, required=True),
    Field("strategies", LABELS, required=True),
    Field("method", NAME),
    Field("trial", NAME),
    Field("valid", FLAG),
    Field("correct", FLAG),
    Field("score", NUMBER),
    Field("latent", NAME, nullable=True),
    Field("labeler", NAME),
)
"""The columns of a log."""

BLOCK = 64
"""Sample numbers of one block, the bits of a UBIGINT."""

_IN_BLOCKS = ("method", "input", "trial")
_IN_SETS = (*_IN_BLOCKS, "strategies", "valid", "correct", "labeler")
_RULES = {field.name: field.rule for field in FIELDS}


@dataclasses.dataclass(frozen=True)
class Blame:
    """How an adapter names the place of a fault in its own files.

    Attributes:
        value: raise for the first wrong value; given the optional fields that some row holds, and what
            duckdb said.
        repeat: raise for the first sample number that stands twice; given its method, input and trial ("" for
            a column that is not there).
    """

    value: Callable[[frozenset[str], str], NoReturn]
    repeat: Callable[[tuple[str, str, str]], NoReturn]


@dataclasses.dataclass(frozen=True)
class Tally:
    """What the groups say of a log: the optional columns it has, and whether its labels copy its latents."""

    present: frozenset[str]
    samples: int
    copies_latent: bool


def tally(
    connection: "duckdb.DuckDBPyConnection", rows: str, dialect: str, blame: Blame, keep: bool = False
) -> Tally:
    """Group the samples into the tables `sets` and `groups`, and check them.

    Args:
        connection: where the tables are written.
        rows: a query for the samples: `r` and a text for each field of `FIELDS`.
        dialect: how the texts are written.
        blame: raises where something is wrong.
        keep: keep the samples too, in the table `samples`.

    Returns:
        What the groups say. The table `groups` has method, input, trial ("" where there is no such column),
        strategies (the text), valid, correct, labeler, first (a row number) and n; `sets` has the labels of
        each text; `raw_places` the method, input and trial as text and as names.
    """
    try:
        with refusing():
            if keep:
                connection.execute(f"CREATE TEMP TABLE samples AS {rows}")
            connection.execute(_tally_query("FROM samples" if keep else rows, dialect))
            _name_groups(connection, dialect)
            faulty, found = _verdict(connection, dialect)
            repeat = None if faulty else _repeat(connection)
    except RefusedError as fault:
        blame.value(frozenset(), str(fault))
    if faulty:
        blame.value(found.present, "")
    if repeat:
        blame.repeat(repeat)
    return found


def _tally_query(rows: str, dialect: str) -> str:
    sample, score, latent = (_RULES[name].sql(name, dialect) for name in ("sample", "score", "latent"))
    kept = ", ".join(_IN_SETS)
    return f"""
        CREATE TEMP TABLE tally AS
        SELECT grouping(strategies) = 1 AS is_block, {kept}, number // {BLOCK} AS block,
            min(r) AS first, count(*) AS n, count(number) AS numbers,
            bit_or(1::UBIGINT << (number % {BLOCK})) AS bits,
            count(score) AS scores, count(score_value) AS score_values,
            count(latent) AS latents, count(latent_value) AS latent_values,
            count(*) FILTER ({_copy(dialect)}) AS copies
        FROM (
            SELECT r, {kept}, {sample} AS number, score, {score} AS score_value,
                latent, {latent} AS latent_value
            FROM ({rows})
        )
        GROUP BY GROUPING SETS (({", ".join(_IN_BLOCKS)}, block), ({kept}))
    """


def _copy(dialect: str) -> str:
    """Whether a sample's strategies are exactly its latent's own name."""
    if dialect == "csv":
        return "latent IS NOT DISTINCT FROM strategies"
    name = """CASE WHEN starts_with(latent, '"') THEN latent ELSE '"' || latent || '"' END"""
    return f"""CASE WHEN latent IS NULL THEN strategies IN ('[]', '""')
        ELSE strategies IN ({name}, '[' || {name} || ']') END"""


def _name_groups(connection: "duckdb.DuckDBPyConnection", dialect: str) -> None:
    """Turn the texts of the groups into values; the same names may have been written in several ways."""
    sql = {name: _RULES[name].sql(name, dialect) for name in _IN_SETS}
    places = f"""coalesce({sql["method"]}, '') AS method, {sql["input"]} AS input,
        coalesce({sql["trial"]}, '') AS trial"""
    connection.execute(f"""
        CREATE TEMP TABLE sets AS SELECT strategies, {sql["strategies"]} AS labels
        FROM (SELECT DISTINCT strategies FROM tally WHERE NOT is_block)
    """)
    connection.execute(f"""
        CREATE TEMP TABLE groups AS SELECT {places}, strategies, {sql["valid"]} AS valid,
            {sql["correct"]} AS correct, {sql["labeler"]} AS labeler, first, n
        FROM tally WHERE NOT is_block
    """)
    connection.execute(f"""
        CREATE TEMP TABLE raw_places AS
        SELECT method AS raw_method, input AS raw_input, trial AS raw_trial, {places}
        FROM (SELECT DISTINCT method, input, trial FROM tally WHERE is_block)
    """)
    connection.execute(f"""
        CREATE TEMP TABLE blocks AS SELECT {places}, block, first, n, bits FROM tally WHERE is_block
    """)


def _verdict(connection: "duckdb.DuckDBPyConnection", dialect: str) -> tuple[bool, Tally]:
    """Return whether some value is wrong, and what the groups say."""
    optional = ("method", "trial", "valid", "correct", "labeler")
    parts = ["sum(n)", f"sum(n) FILTER ({_RULES['input'].sql('input', dialect)} IS NULL)", "sum(n - numbers)"]
    parts += ["sum(scores)", "sum(score_values)", "sum(latents)", "sum(latent_values)", "sum(copies)"]
    for name in optional:
        parts += [f"sum(n) FILTER ({name} IS NOT NULL)"]
        parts += [f"sum(n) FILTER ({_RULES[name].sql(name, dialect)} IS NOT NULL)"]
    query = (
        f"SELECT {', '.join(f'coalesce({part}, 0)::BIGINT' for part in parts)} FROM tally WHERE NOT is_block"
    )
    row = connection.execute(query).fetchone()
    assert row is not None
    total, nameless, numberless, scores, score_values, latents, latent_values, copies, *pairs = row
    wrong_sets = connection.execute("SELECT count(*) FROM sets WHERE labels IS NULL").fetchone()
    assert wrong_sets is not None
    given = dict(zip(optional, pairs[::2], strict=True)) | {"score": scores}
    right = dict(zip(optional, pairs[1::2], strict=True)) | {"score": score_values}
    present = frozenset(name for name, count in given.items() if count)
    faulty = nameless or numberless or wrong_sets[0] or latents != latent_values
    faulty = bool(faulty) or any(right[name] != total for name in present)
    held = present | ({"latent"} if latents else frozenset())
    return faulty, Tally(held, total, copies_latent=bool(latents) and copies == total)


def _repeat(connection: "duckdb.DuckDBPyConnection") -> tuple[str, str, str] | None:
    """Return the method, input and trial in which a sample number stands twice, the first in the log."""
    return connection.execute("""
        SELECT method, input, trial FROM blocks GROUP BY method, input, trial, block
        HAVING bit_count(bit_or(bits)) <> sum(n) ORDER BY min(first) LIMIT 1
    """).fetchone()
