"""A row a sample, in the columns of other tools: check them, and read them as samples."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NoReturn

from coverjax.foundation.checks import InputError, file_error, listed, shown
from coverjax.logs.counts import CountTable
from coverjax.logs.declared import Declared
from coverjax.logs.formats.base import Source, need_columns, read_samples
from coverjax.logs.locating import raise_fault
from coverjax.logs.log import SampleLog
from coverjax.logs.rules import Field, Rule
from coverjax.logs.tables import RefusedError, identifier, numbered, refusing, relation
from coverjax.logs.tallying import Blame, impossible

OUTCOME = "correct"
"""The one label of a log that tells only whether a sample is correct: its coverage is pass@k."""

Repeat = Callable[[tuple[str, str, str]], NoReturn]


@dataclasses.dataclass(frozen=True)
class Found:
    """The table `found` of checked values, r = 1, 2, ... in order.

    Attributes:
        fields: what stands in its columns c0, c1, ...
        present: names of the optional fields that the files hold.
    """

    fields: tuple[Field, ...]
    present: frozenset[str]

    def __getitem__(self, field: Field) -> str:
        """The column of a field."""
        return f"c{self.fields.index(field)}"


def found_rows(source: Source, fields: Sequence[Field]) -> Found:
    """Check the rows of the files and write their values to the table `found`.

    Raises:
        InputError: the first wrong value, with its place.
    """
    need_columns(source.files, fields)
    names = list(dict.fromkeys(field.name for field in fields))
    distinct = [next(field for field in fields if field.name == name) for name in names]
    sql = [field.rule.sql(identifier(field.name), source.dialect) for field in fields]
    values = ", ".join(f"{text} AS c{i}" for i, text in enumerate(sql))
    given = ", ".join(f"{identifier(field.name)} IS NOT NULL AS g{i}" for i, field in enumerate(fields))
    try:
        with refusing():
            source.connection.execute(f"""
                CREATE TABLE found AS SELECT r, {values}, {given}
                FROM ({numbered(relation(source.files, distinct))})
            """)
            present, faulty = _verdict(source, fields)
    except RefusedError as fault:
        raise_fault(source.files, fields, reason=str(fault))
    if faulty:
        raise_fault(source.files, fields, present)
    return Found(tuple(fields), present)


def _verdict(source: Source, fields: Sequence[Field]) -> tuple[frozenset[str], bool]:
    """Return the optional fields that some row holds, and whether something is wrong."""
    terms = ["count(*)"]
    for i, field in enumerate(fields):
        wrong = f"c{i} IS NULL" if field.required and not field.nullable else f"c{i} IS NULL AND g{i}"
        terms += [f"count(*) FILTER (g{i})", f"count(*) FILTER ({wrong})"]
    total, *counts = source.connection.execute(f"SELECT {', '.join(terms)} FROM found").fetchall()[0]
    told = dict(zip(fields, counts[::2], strict=True))
    optional = [field for field in fields if not (field.required or field.nullable)]
    present = frozenset(field.name for field in fields if not field.required and told[field])
    partly = any(told[field] not in (0, total) for field in optional)
    return present, partly or any(counts[1::2])


def chosen_field(source: Source, option: str, rule: Rule) -> Field | None:
    """Return the field that a choice names, None where nothing was chosen.

    Raises:
        InputError: no file has it; the message lists those there are.
    """
    name = getattr(source.choices, option)
    if name is None:
        return None
    if not any(name in file.columns for file in source.files):
        held = listed(source.files[0].columns, limit=20)
        what = f"must be one of the fields: {held}; got {shown(name)}"
        raise file_error(source.files[0].path, None, option, what)
    return Field(name, rule, nullable=True)


def read_found(
    source: Source,
    *,
    input: str,
    sample: str = "",
    method: str = "NULL::VARCHAR",
    valid: str = "NULL::BOOLEAN",
    correct: str = "NULL::BOOLEAN",
    score: str = "NULL::DOUBLE",
    labels: str = "",
    repeat: "Repeat | None" = None,
) -> SampleLog | CountTable:
    """Read the table `found` as samples; each argument is the SQL of a field of the log.

    Args:
        source: the files.
        sample: numbers the samples of an input; "" numbers them in the order of the rows.
        correct, score, method, valid, input: as in a log; NULL where there is none.
        labels: a list of labels; "" gives the one label "correct" to the samples that are correct.
        repeat: names the place of a sample that stands twice, where the rows number the samples.
    """
    threshold = source.choices.min_score
    if threshold is not None:
        correct = f"coalesce({score} >= {threshold!r}::DOUBLE, false)"
    number = sample or "row_number() OVER (PARTITION BY method, input ORDER BY r) - 1"
    several = "to_json(coalesce(labels, []::VARCHAR[]))::VARCHAR"
    one = f"""CASE WHEN correct THEN '["{OUTCOME}"]' ELSE '[]' END"""
    source.connection.execute(f"""
        CREATE TABLE samples_found AS
        SELECT r, input, {number} AS sample, method, valid, correct, score,
            {several if labels else one} AS strategies
        FROM (
            SELECT *, {input} AS input, {method} AS method, {valid} AS valid, {correct} AS correct,
                {score} AS score, {labels or "NULL"} AS labels
            FROM found
        )
    """)
    source.connection.execute("DROP TABLE found")
    rows = """
        SELECT to_json(input)::VARCHAR AS input, sample::VARCHAR AS sample, strategies,
            to_json(method)::VARCHAR AS method, NULL::VARCHAR AS trial, valid::VARCHAR AS valid,
            correct::VARCHAR AS correct, score::VARCHAR AS score, NULL::VARCHAR AS latent,
            NULL::VARCHAR AS labeler
        FROM samples_found ORDER BY r
    """
    blame = Blame(impossible, repeat or impossible)
    return read_samples(source if labels else outcome_source(source), rows, blame, dialect="json")


def outcome_source(source: Source) -> Source:
    """The same for a log whose one strategy is "correct".

    Raises:
        InputError: other strategies were declared.
    """
    if source.declared is not None:
        raise InputError(
            f"declared: this log has the one strategy {OUTCOME!r} (coverage is pass@k); leave `declared` "
            "out, or choose labels_from"
        )
    return dataclasses.replace(source, declared=Declared((OUTCOME,), {}, source="the format"))
