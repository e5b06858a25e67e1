"""Group the samples of a log in one pass, and check on the groups what each sample must be.

Two groupings come from one scan. *Sets*: equal (method, input, trial, strategies, flags, labeler), with the
number of samples. *Blocks*: equal (method, input, trial, sample // 64), with the number of samples and the
union of one bit per sample number. A block's samples are distinct exactly when it has as many bits as
samples: within a block each number owns a bit. So duplicates are found exactly, with a group for 64 samples
instead of one for each.
"""

import concurrent.futures
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from coverjax.logs.rules import FLAG, LABELS, NAME, NUMBER, WHOLE, Field
from coverjax.logs.tables import RefusedError, numbered, refusing

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

WHOLE_COLUMNS = tuple(field.name for field in FIELDS if not (field.required or field.nullable))
"""The optional columns that stand on every row or on none."""

_IN_BLOCKS = ("input", "method", "trial")
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

    def without(self, name: str) -> "Blame":
        """The same where a column is not the files' own."""

        def value(present: frozenset[str], reason: str) -> NoReturn:
            self.value(present - {name}, reason)

        return Blame(value, self.repeat)


def impossible(*about: object) -> NoReturn:
    """Raise where a value is called wrong that an adapter had checked: the fault is not the file's."""
    raise AssertionError(f"values that were checked are wrong: {about}")


@dataclasses.dataclass(frozen=True)
class Tally:
    """What the groups say of a log: the optional columns it has, and whether its labels copy its latents."""

    present: frozenset[str]
    samples: int
    copies_latent: bool


def tally(
    connection: "duckdb.DuckDBPyConnection", rows: str, dialect: str, blame: Blame, keep: bool = False
) -> Tally:
    """Group the samples and check them.

    Writes the tables `groups` (method, input, trial, "" where there is no such column; strategies, as text;
    valid, correct, labeler; n), `sets` (the labels of each text), `firsts` (method, input and first, which
    orders them by their first rows) and `raw_places` (method, input and trial as text and as names).

    Args:
        connection: where the tables are written.
        rows: a query for the samples in order: a text for each field of `FIELDS`.
        dialect: how the texts are written.
        blame: raises where something is wrong.
        keep: keep the samples too, in the table `samples`.
    """
    try:
        with refusing():
            if keep:
                connection.execute(f"CREATE TABLE samples AS {rows}")
                rows = "FROM samples"
            _together(connection, _tally_query(rows, dialect), _firsts_query(rows))
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


def _together(connection: "duckdb.DuckDBPyConnection", one: str, other: str) -> None:
    """Run two queries at the same time; they see no temporary tables, which belong to one cursor."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pending = pool.submit(connection.cursor().execute, other)
        try:
            connection.execute(one)
        finally:
            pending.result()


def _firsts_query(rows: str) -> str:
    """The first row of each method and input.

    A pass of its own: numbering rows takes one thread, and would hold the much dearer grouping to one too.
    """
    return f"""
        CREATE TABLE raw_firsts AS SELECT method, input, min(r) AS first
        FROM ({numbered(f"SELECT method, input FROM ({rows})")}) GROUP BY method, input
    """


def _tally_query(rows: str, dialect: str) -> str:
    sample, score, latent = (_RULES[name].sql(name, dialect) for name in ("sample", "score", "latent"))
    return f"""
        CREATE TABLE tally AS
        SELECT grouping(strategies) = 1 AS is_block, {", ".join(_IN_SETS)}, number // {BLOCK} AS block,
            count(*) AS n, count(number) AS numbers, bit_or(1::UBIGINT << (number % {BLOCK})) AS bits,
            count(score) AS given_score, count(score_value) AS scores,
            count(latent) AS given_latent, count(latent_value) AS latents, count(*) FILTER (copies) AS copies
        FROM (
            SELECT *, {sample} AS number, {score} AS score_value, {latent} AS latent_value,
                {_copies(dialect)} AS copies
            FROM ({rows})
        )
        GROUP BY GROUPING SETS (({", ".join(_IN_BLOCKS)}, block), ({", ".join(_IN_SETS)}))
    """


def _copies(dialect: str) -> str:
    """Whether a sample that has a latent has exactly that latent's name as its strategies."""
    if dialect == "csv":
        return "latent = strategies"
    name = """CASE WHEN starts_with(latent, '"') THEN latent ELSE '"' || latent || '"' END"""
    return f"CASE WHEN latent IS NOT NULL THEN strategies IN ({name}, '[' || {name} || ']') END"


def _name_groups(connection: "duckdb.DuckDBPyConnection", dialect: str) -> None:
    """Turn the texts of the groups into values; the same names may have been written in several ways."""
    sql = {name: _RULES[name].sql(name, dialect) for name in _IN_SETS}
    places = f"""coalesce({sql["method"]}, '') AS method, {sql["input"]} AS input,
        coalesce({sql["trial"]}, '') AS trial"""
    connection.execute(f"""
        CREATE TABLE sets AS SELECT strategies, {sql["strategies"]} AS labels
        FROM (SELECT DISTINCT strategies FROM tally WHERE NOT is_block)
    """)
    connection.execute(f"""
        CREATE TABLE firsts AS
        SELECT {sql["input"]} AS input, coalesce({sql["method"]}, '') AS method, min(first) AS first
        FROM raw_firsts GROUP BY ALL
    """)
    connection.execute(f"""
        CREATE TABLE groups AS SELECT {places}, strategies, {sql["valid"]} AS valid,
            {sql["correct"]} AS correct, {sql["labeler"]} AS labeler, n
        FROM tally WHERE NOT is_block
    """)
    connection.execute(f"""
        CREATE TABLE raw_places AS
        SELECT method AS raw_method, input AS raw_input, trial AS raw_trial, {places}
        FROM (SELECT DISTINCT method, input, trial FROM tally WHERE is_block)
    """)
    connection.execute(f"""
        CREATE TABLE blocks AS SELECT {places}, block, n, bits FROM tally WHERE is_block
    """)


def _verdict(connection: "duckdb.DuckDBPyConnection", dialect: str) -> tuple[bool, Tally]:
    """Return whether some value is wrong, and what the groups say."""
    sums = {
        name: name for name in ("n", "numbers", "given_score", "scores", "given_latent", "latents", "copies")
    }
    sums["latentless"] = "CASE WHEN len(labels) > 0 THEN n - given_latent ELSE 0 END"
    sums["listed"] = "CASE WHEN labels IS NOT NULL THEN n ELSE 0 END"
    keys = ("input", *(name for name in WHOLE_COLUMNS if name != "score"))
    for name in keys:
        sums[f"given_{name}"] = f"CASE WHEN {name} IS NOT NULL THEN n ELSE 0 END"
        sums[f"right_{name}"] = f"CASE WHEN ({_RULES[name].sql(name, dialect)}) IS NOT NULL THEN n ELSE 0 END"
    terms = ", ".join(f"sum({term})::BIGINT" for term in sums.values())
    row = connection.execute(f"""
        SELECT {terms} FROM (
            SELECT tally.*, labels
            FROM tally JOIN sets ON tally.strategies IS NOT DISTINCT FROM sets.strategies WHERE NOT is_block
        )
    """).fetchone()
    assert row is not None
    total = dict(zip(sums, row, strict=True))
    total["right_score"] = total["scores"]
    present = frozenset(name for name in WHOLE_COLUMNS if total[f"given_{name}"])
    complete = ("numbers", "listed", *(f"right_{name}" for name in ("input", *present)))
    fine = all(total[name] == total["n"] for name in complete) and total["latents"] == total["given_latent"]
    copies = 0 < total["copies"] == total["given_latent"] and not total["latentless"]
    held = present | ({"latent"} if total["latents"] else frozenset())
    return not fine, Tally(held, total["n"], copies)


def _repeat(connection: "duckdb.DuckDBPyConnection") -> tuple[str, str, str] | None:
    """Return a method, input and trial in which a sample number stands twice; always the same one."""
    return connection.execute("""
        SELECT method, input, trial FROM blocks GROUP BY method, input, trial, block
        HAVING bit_count(bit_or(bits)) <> sum(n) ORDER BY method, input, trial, block LIMIT 1
    """).fetchone()
