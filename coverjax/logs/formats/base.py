"""What an adapter is: how it recognises its files, and how it reads them."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from coverjax.foundation.checks import file_error, listed
from coverjax.logs.assembling import counted, sampled
from coverjax.logs.counts import CountTable
from coverjax.logs.declared import Declared
from coverjax.logs.files import LogFile
from coverjax.logs.log import SampleLog
from coverjax.logs.rules import Field
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
    """

    files: Sequence[LogFile]
    connection: "duckdb.DuckDBPyConnection"
    declared: Declared | None
    counts: bool
    ordered: bool
    provenance: dict[str, Any]

    @property
    def dialect(self) -> str:
        """How the values of the files are written: "json" or "csv"."""
        return self.files[0].dialect


@dataclasses.dataclass(frozen=True)
class Format:
    """One adapter: a line in `registry.FORMATS`.

    Attributes:
        name: what the caller writes as `format`.
        columns: the columns it needs, for messages.
        recognises: whether a file, by how it begins, is of this format.
        read: reads the files of a source.
    """

    name: str
    columns: str
    recognises: Callable[[LogFile], bool]
    read: Callable[[Source], SampleLog | CountTable]


def need_columns(files: Sequence[LogFile], fields: Sequence[Field]) -> None:
    """Raise unless every CSV and Parquet file has the required columns; JSONL is checked row by row."""
    for file in files:
        for field in fields:
            if file.kind != "jsonl" and field.required and field.name not in file.columns:
                line = file.skip + 1 if file.kind == "csv" else None
                held = listed(file.columns, limit=12)
                raise file_error(file.path, line, field.name, f"missing column; the file has {held}")


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
    found = tally(connection, rows, dialect, blame, keep=not source.counts)
    if source.counts:
        return counted(connection, found, source.declared, source.provenance)
    return sampled(connection, found, source.declared, source.provenance, dialect, source.ordered)
