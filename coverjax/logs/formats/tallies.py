"""Reading of counts, shared by the formats that hold them: c of an input's n samples match a label."""

import dataclasses
from typing import NoReturn

from coverjax.foundation.checks import InputError, shown
from coverjax.logs.assembling import filled, frame, scattered
from coverjax.logs.counts import CountTable
from coverjax.logs.declared import Declared
from coverjax.logs.formats.base import Source, need_columns
from coverjax.logs.locating import Record, raise_fault
from coverjax.logs.rules import NAME, WHOLE, Field
from coverjax.logs.tables import RefusedError, numbered, refusing, relation

NO_SCORES = "counts have no scores; read the samples themselves, or leave it out"
"""Why counts take no minimum score."""


@dataclasses.dataclass(frozen=True)
class Columns:
    """The columns of a file of counts.

    Attributes:
        input: the name of the column that names the input.
        strategy: the name of the column that names the label, or None where there is one label only.
        label: the name of that one label.
    """

    input: str
    strategy: str | None = None
    label: str = ""

    @property
    def fields(self) -> tuple[Field, ...]:
        """All columns with their rules."""
        named = () if self.strategy is None else (Field(self.strategy, NAME, required=True, nullable=True),)
        counts = (Field("c", WHOLE, required=True), Field("n", WHOLE, required=True))
        return (Field(self.input, NAME, required=True), *named, *counts, Field("method", NAME))


def read_counts(source: Source, columns: Columns) -> CountTable:
    """Read counts and check them: c <= n, one n per input and method, no label twice.

    An empty label with c = 0 gives n alone: an input that nothing matched.
    """
    if source.ordered:
        raise InputError("ordered: counts hold no order; leave it out, or read the samples themselves")
    need_columns(source.files, columns.fields)
    try:
        with refusing():
            source.connection.execute(_table_query(source, columns))
            method_present, faults = _verdict(source)
    except RefusedError as fault:
        _blame(source, columns, False, str(fault))
    if faults:
        _blame(source, columns, method_present, "")
    return _table(source, columns)


def _table_query(source: Source, columns: Columns) -> str:
    rules = {field.name: field.rule.sql(f'"{field.name}"', source.dialect) for field in columns.fields}
    one = f"'{columns.label}'"
    label, named = (one, one) if columns.strategy is None else (rules[columns.strategy], columns.strategy)
    return f"""
        CREATE TABLE counts AS
        SELECT r, {rules[columns.input]} AS input, {label} AS label, {named} AS raw_label, {rules["c"]} AS c,
            {rules["n"]} AS n, {rules["method"]} AS method, "method" AS raw_method
        FROM ({numbered(relation(source.files, columns.fields))})
    """


def _verdict(source: Source) -> tuple[bool, bool]:
    """Return whether there is a method column, and whether something is wrong."""
    checks = [
        "input IS NULL OR c IS NULL OR n IS NULL OR c > n",
        "label IS NULL AND (raw_label IS NOT NULL OR c <> 0)",
        "method IS NULL AND raw_method IS NOT NULL",
    ]
    wrong = ", ".join(f"count(*) FILTER ({check})" for check in checks)
    total, methods, *faults = source.connection.execute(
        f"SELECT count(*), count(raw_method), {wrong} FROM counts"
    ).fetchall()[0]
    repeats = source.connection.execute("""
        SELECT count(*) FILTER (rows > 1), count(*) FILTER (least <> most)
        FROM (
            SELECT count(*) AS rows, min(min(n)) OVER input_rows AS least, max(max(n)) OVER input_rows AS most
            FROM counts GROUP BY method, input, label WINDOW input_rows AS (PARTITION BY method, input)
        )
    """).fetchall()[0]
    return methods > 0, any(faults) or any(repeats) or methods not in (0, total)


class _Watch:
    """Looks at each record for what its fields' own rules don't say; remembers what it saw."""

    def __init__(self, columns: Columns):
        self.columns = columns
        self.n: dict[tuple[str, str], int] = {}
        self.labels: set[tuple[str, str, str]] = set()

    def __call__(self, record: Record, dialect: str) -> tuple[str, str] | None:
        columns = self.columns
        c, n = (WHOLE.value(record[name], dialect) for name in ("c", "n"))
        if c > n:
            return "c", f"must be at most n; got c = {c} of n = {n}"
        name = NAME.value(record[columns.input], dialect)
        method = NAME.value(record["method"], dialect) if record.get("method") is not None else ""
        where = f"the input {shown(name)}" + (f", method {shown(method)}" if method else "")
        told = self.n.setdefault((method, name), n)
        fault = self._label_fault(record, dialect, (method, name), c, where)
        if fault is None and told != n:
            return "n", f"must be the same in all rows of an input; {where} has {told} and {n}"
        return fault

    def _label_fault(
        self, record: Record, dialect: str, row: tuple[str, str], c: int, where: str
    ) -> tuple[str, str] | None:
        columns = self.columns
        if columns.strategy is None:
            if (*row, columns.label) not in self.labels:
                self.labels.add((*row, columns.label))
                return None
            return columns.input, f"must come once; {where} stands twice (two models? add a `method` column)"
        found = record.get(columns.strategy)
        if found is None and c:
            return columns.strategy, f"must be named; only with c = 0 it may be empty; here c = {c}"
        label = "" if found is None else NAME.value(found, dialect)
        if (*row, label) in self.labels:
            return columns.strategy, f"must come once for an input; {shown(label)} stands twice for {where}"
        self.labels.add((*row, label))
        return None


def _blame(source: Source, columns: Columns, method_present: bool, reason: str) -> NoReturn:
    present = frozenset({"method"} if method_present else ())
    raise_fault(source.files, columns.fields, present, also=_Watch(columns), reason=reason)


def _table(source: Source, columns: Columns) -> CountTable:
    connection = source.connection
    declared = source.declared
    if columns.strategy is None:
        if declared is not None:
            raise InputError(
                f"declared: these counts have the one strategy {columns.label!r}; leave `declared` out"
            )
        declared = Declared((columns.label,), {}, source="the format")
    connection.execute("UPDATE counts SET method = '' WHERE method IS NULL")
    seen = "SELECT DISTINCT input, label FROM counts WHERE label IS NOT NULL"
    shape = frame(connection, "SELECT method, input, r AS first FROM counts", seen, declared)
    cells = connection.execute("""
        SELECT row, place, c
        FROM counts JOIN rows USING (method, input) JOIN label_columns USING (input, label)
    """).fetchnumpy()
    sizes = connection.execute("""
        SELECT row, any_value(n) AS n FROM counts JOIN rows USING (method, input) GROUP BY row ORDER BY row
    """).fetchnumpy()
    counts, n = scattered(shape.declared.shape, cells, "c"), filled(sizes["n"])
    return CountTable(
        counts=counts,
        n=n,
        declared=shape.declared,
        labels=shape.labels,
        ids=shape.ids,
        method=shape.method,
        counts_correct=counts if columns.label == "correct" else None,
        declared_given=declared is not None,
        provenance={**source.provenance, "samples": int(n.sum()), **shape.facts},
    )
