"""Rows as the bytes of a Parquet file, the same bytes for the same rows."""

import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from coverjax.foundation.checks import InputError
from coverjax.sweep.evaluation import Rows
from coverjax.sweep.grid import WHOLE
from coverjax.sweep.measures import LISTS

WORDS = frozenset({"policy", "sees", "knows", "kind", "family"})


def column_type(name: str) -> str:
    """Return the SQL type of a column."""
    if name in WORDS:
        return "VARCHAR"
    if name in LISTS:
        return "DOUBLE[]"
    return "BIGINT" if name in WHOLE or name == "cell" else "DOUBLE"


def parquet_bytes(rows: Rows) -> bytes:
    """Return a table as Parquet.

    One thread, one row group and a fixed compression: the bytes depend on the rows and the version of DuckDB.
    NaN is null, but in lists.

    Raises:
        InputError: there is no room in the folder for temporary files.
    """
    import duckdb

    try:
        return _parquet_bytes(rows)
    except (duckdb.IOException, OSError) as error:
        raise InputError(
            f"{tempfile.gettempdir()}: the folder for temporary files must have room; "
            f"{' '.join(str(error).split())[:200]}; make room, or set TMPDIR to another one"
        ) from error


def _parquet_bytes(rows: Rows) -> bytes:
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection, tempfile.TemporaryDirectory() as folder:
        connection.register("rows_", {name: _column(name, values) for name, values in rows.items()})
        typed = ", ".join(f'{_null(name)} AS "{name}"' for name in rows)
        path = pathlib.Path(folder) / "part.parquet"
        quoted = str(path).replace("'", "''")
        connection.execute(
            f"COPY (SELECT {typed} FROM rows_) TO '{quoted}' (FORMAT parquet, COMPRESSION zstd, "
            f"ROW_GROUP_SIZE {max(2048, len(rows['cell']))})"
        )
        return path.read_bytes()


def _null(name: str) -> str:
    kind = column_type(name)
    if kind == "DOUBLE":
        return f'CASE WHEN isnan("{name}") THEN NULL ELSE "{name}" END'
    return f'"{name}"::{kind}'


def _column(name: str, values: Sequence[Any]) -> np.ndarray:
    kind = column_type(name)
    if kind == "DOUBLE":
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if kind == "BIGINT":
        missing = np.array([value is None for value in values])
        return np.ma.masked_array(
            [0 if value is None else value for value in values], missing, dtype=np.int64
        )
    array = np.empty(len(values), dtype=object)
    array[:] = values if kind == "VARCHAR" else [list(map(float, value)) for value in values]
    return array
