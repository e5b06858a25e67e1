"""Members of a zip as text; those packed with zstd, which Python before 3.14 can't unpack, by duckdb."""

import itertools
import os
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING

from coverjax.foundation.archives import ZIP_FAULTS
from coverjax.foundation.checks import InputError, file_error
from coverjax.logs.beginnings import open_zip
from coverjax.logs.rules import quoted
from coverjax.logs.tables import RefusedError, refusing

if TYPE_CHECKING:
    import duckdb

ZSTANDARD = 93
"""The number of zstd in a zip (APPNOTE 6.3.8)."""

TOGETHER, BYTES_TOGETHER = 256, 1 << 24
"""Members that are unpacked by one query, at most, and their packed bytes."""

LARGEST = 1 << 31
"""The most bytes of one member, unpacked."""


def place(path: str, member: str) -> str:
    """Name a member of a zip in a message."""
    return f"{path}:{member}"


def members(
    connection: "duckdb.DuckDBPyConnection", path: str, wanted: Callable[[str], bool]
) -> Iterator[tuple[str, str]]:
    """Yield name and text (a JSON value) of the members that are wanted, in their order.

    A name that stands several times is its last member, as the writers of such files mean it.

    Raises:
        InputError: a member is damaged or too large.
    """
    with open_zip(path) as archive, open(path, "rb") as raw:
        infos = [info for name, info in archive.NameToInfo.items() if wanted(name)]
        for info in infos:
            if info.file_size > LARGEST:
                raise file_error(place(path, info.filename), None, None, f"is larger than {LARGEST:,} bytes")
        for packed, group in itertools.groupby(infos, key=lambda info: info.compress_type == ZSTANDARD):
            if packed:
                yield from _by_duckdb(connection, path, raw, list(group))
            else:
                yield from ((info.filename, _text(archive, path, info)) for info in group)


def _text(archive: zipfile.ZipFile, path: str, info: zipfile.ZipInfo) -> str:
    try:
        return archive.read(info).decode("utf-8")
    except ZIP_FAULTS as error:
        raise _damaged(path, info, str(error)) from None


def _damaged(path: str, info: zipfile.ZipInfo, reason: str) -> InputError:
    return file_error(place(path, info.filename), None, None, f"can't be unpacked: {reason}")


def _by_duckdb(
    connection: "duckdb.DuckDBPyConnection", path: str, raw: IO[bytes], infos: Sequence[zipfile.ZipInfo]
) -> Iterator[tuple[str, str]]:
    batch: list[zipfile.ZipInfo] = []
    for info in infos:
        size = sum(held.compress_size for held in [*batch, info])
        if batch and (size > BYTES_TOGETHER or len(batch) == TOGETHER):
            yield from _unpacked(connection, path, raw, batch)
            batch = []
        batch.append(info)
    yield from _unpacked(connection, path, raw, batch)


def _unpacked(
    connection: "duckdb.DuckDBPyConnection", path: str, raw: IO[bytes], infos: Sequence[zipfile.ZipInfo]
) -> list[tuple[str, str]]:
    """Unpack some members; where that fails, one by one, so that the damaged one is named."""
    with tempfile.TemporaryDirectory(prefix="coverjax-zip-", ignore_cleanup_errors=True) as folder:
        parts = []
        for number, info in enumerate(infos):
            parts.append(os.path.join(folder, f"{number}.zst"))
            with open(parts[-1], "wb") as part:
                part.write(_packed_bytes(path, raw, info))
        try:
            texts = _json_texts(connection, parts, max(info.file_size for info in infos))
        except RefusedError as fault:
            if len(infos) == 1:
                raise _damaged(path, infos[0], str(fault)) from None
            texts = []
    if len(texts) == len(infos):
        return [(info.filename, text) for info, text in zip(infos, texts, strict=True)]
    if len(infos) == 1:
        raise _damaged(path, infos[0], "it is not one JSON value")
    return [pair for info in infos for pair in _unpacked(connection, path, raw, [info])]


def _packed_bytes(path: str, raw: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    try:
        raw.seek(info.header_offset)
        name, extra = struct.unpack("<HH", raw.read(30)[26:30])
        raw.seek(name + extra, os.SEEK_CUR)
        return raw.read(info.compress_size)
    except ZIP_FAULTS as error:
        raise _damaged(path, info, str(error)) from None


def _json_texts(connection: "duckdb.DuckDBPyConnection", parts: Sequence[str], largest: int) -> list[str]:
    names = ", ".join(map(quoted, parts))
    with refusing():
        found = connection.execute(
            f"SELECT json::VARCHAR FROM read_json_objects([{names}], format = 'unstructured', "
            f"compression = 'zstd', maximum_object_size = {max(1 << 24, largest + 1024)})"
        )
        return [text for (text,) in found.fetchall()]
