"""What an adapter is: how it recognises its files, and how it reads them."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from coverjax.foundation.checks import InputError, file_error, listed, near_name
from coverjax.logs.assembling import counted, sampled
from coverjax.logs.counts import CountTable
from coverjax.logs.declared import Declared
from coverjax.logs.files import LogFile
from coverjax.logs.formats.choices import Choices
from coverjax.logs.log import SampleLog
from coverjax.logs.rules import NUMBER, Field
from coverjax.logs.tallying import Blame, tally

if TYPE_CHECKING:
    import duckdb


@dataclasses.dataclass(frozen=True)
class Source:
    """Files of one format and what the caller asks of them.

    Attributes:
        files: the files, all of one kind, in order.
        connection: a database to read them in; its tables are the adapter's.
        declared: the declared strategies, or None.
        counts: whether only counts are wanted: then nothing may be kept whose size grows with the samples.
        ordered: whether the order of the samples means something.
        provenance: plain facts about the files.
        choices: what the caller chose where the format leaves a choice.
    """

    files: Sequence[LogFile]
    connection: "duckdb.DuckDBPyConnection"
    declared: Declared | None
    counts: bool
    ordered: bool
    provenance: dict[str, Any]
    choices: Choices

    def note(self, text: str) -> None:
        """Keep a line that a reader of the numbers should see."""
        self.provenance.setdefault("notes", []).append(text)

    @property
    def dialect(self) -> str:
        """How the values of the files are written: "json" or "csv"."""
        return self.files[0].dialect


TABLES = frozenset({"jsonl", "array", "csv", "parquet"})
"""Kinds of files that hold a row a record."""


@dataclasses.dataclass(frozen=True)
class Format:
    """One adapter: a line in `registry.FORMATS`.

    Attributes:
        name: what the caller writes as `format`.
        columns: the columns it needs, for messages.
        recognises: whether a file, by how it begins, is of this format.
        read: reads the files of a source.
        kinds: the kinds of files it reads.
        takes: the choices it leaves to the caller (fields of `Choices`), each with what it may be.
        no_min_score: why a minimum score means nothing here; "" where it does.
    """

    name: str
    columns: str
    recognises: Callable[[LogFile], bool]
    read: Callable[[Source], SampleLog | CountTable]
    kinds: frozenset[str] = TABLES
    takes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    no_min_score: str = ""


def need_columns(files: Sequence[LogFile], fields: Sequence[Field]) -> None:
    """Raise unless every CSV and Parquet file has the required columns; JSON is checked row by row."""
    for file in files:
        for field in fields:
            if file.kind not in ("jsonl", "array") and field.required and field.name not in file.columns:
                line = file.skip + 1 if file.kind == "csv" else None
                held, near = listed(file.columns, limit=12), near_name(field.name, file.columns)
                what = f"missing column; the file has {held}" + (f" (is it `{near}`?)" if near else "")
                raise file_error(file.path, line, field.name, what)


def read_samples(
    source: Source, rows: str, blame: Blame, dialect: str | None = None
) -> SampleLog | CountTable:
    """Read samples that a query gives in the columns of a log.

    Args:
        source: the files.
        rows: a query for the samples in order: a text for each field of `tallying.FIELDS`.
        blame: how to name the place of a fault.
        dialect: how the texts are written, if not as the files are.
    """
    dialect = dialect or source.dialect
    connection = source.connection
    threshold = source.choices.min_score
    if threshold is not None:
        rows, blame = _scored(rows, dialect, threshold), blame.without("correct")
    found = tally(connection, rows, dialect, blame, keep=not source.counts)
    if threshold is not None and "score" not in found.present:
        raise InputError("score: a minimum score needs a `score` column; this log has none")
    if source.counts:
        return counted(connection, found, source.declared, source.provenance)
    return sampled(connection, found, source.declared, source.provenance, dialect, source.ordered)


def _scored(rows: str, dialect: str, threshold: float) -> str:
    """The rows with a sample correct exactly when its score is at least a threshold."""
    enough = f"coalesce({NUMBER.sql('score', dialect)} >= {threshold!r}::DOUBLE, false)"
    correct = f"CASE WHEN score IS NOT NULL THEN CASE WHEN {enough} THEN 'true' ELSE 'false' END END"
    return f"SELECT * REPLACE ({correct} AS correct) FROM ({rows})"
