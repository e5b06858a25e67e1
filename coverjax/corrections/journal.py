"""The file of records: written line by line as concepts finish, in order, so that a killed run can go on."""

import json
import os
import pathlib
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from coverjax.corrections.snapshots import to_line
from coverjax.foundation.checks import InputError, file_error, json_fault, shown

KIND = "corrections"
NO_RECORDS = "must be the records.jsonl of `coverjax corrections run`"


class Journal:
    """The records of a run, under a name of their own until all are there.

    The file is the header and then one record a line, in the order of the units: at any moment the beginning
    of the final file. Half a line at its end, which a killed run may leave, is cut off.

    Args:
        path: the final file.
        header: what the run is; a run is only gone on with by one that has the same.
        resume: go on with what is there. Without it an unfinished file with a record in it is left alone and
            refused.

    Raises:
        InputError: there is an unfinished run and no `resume`; or a run of something else.
    """

    def __init__(self, path: "str | os.PathLike[str]", header: dict[str, Any], resume: bool = False):
        self.path = pathlib.Path(path)
        self.unfinished = self.path.with_name(f"unfinished-{self.path.name}")
        if not resume and self.unfinished.exists() and _read(self.unfinished).count("\n") > 1:
            raise file_error(
                self.unfinished,
                None,
                None,
                "an unfinished run is there: resume it (--resume), or remove the file to start anew",
            )
        self.lines: list[str] = []
        old = next((file for file in (self.unfinished, self.path) if resume and file.exists()), None)
        if old is not None:
            self.lines = _whole_lines(old, header)
        self._begin(header)

    def _begin(self, header: dict[str, Any]) -> None:
        """Write what stands under another name first: the old file is whole until the new one is."""
        try:
            self.unfinished.parent.mkdir(parents=True, exist_ok=True)
            part = self.unfinished.with_name(f".part-{os.getpid()}-{self.unfinished.name}")
            part.write_text("".join(f"{line}\n" for line in (to_line(header), *self.lines)), newline="\n")
            os.replace(part, self.unfinished)
            self._file = self.unfinished.open("a", encoding="ascii", newline="\n")
        except OSError as error:
            raise InputError(
                f"{self.unfinished}: must be a place that can be written to; {error.strerror or error}"
            ) from error

    def append(self, line: str) -> None:
        """Add a record; it is in the operating system's hands when this returns."""
        self._file.write(line + "\n")
        self._file.flush()
        self.lines.append(line)

    def finish(self) -> None:
        """Give the file its final name."""
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self.unfinished, self.path)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if error is not None and not self.lines:
            self.unfinished.unlink(missing_ok=True)


def records_file(path: "str | os.PathLike[str]") -> pathlib.Path:
    """Return the file of records that is meant: the path, or records.jsonl in it where it is a folder."""
    file = pathlib.Path(path)
    return file / "records.jsonl" if file.is_dir() else file


def read_records(path: "str | os.PathLike[str]") -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return header and records of a finished run, from its file or the folder it lies in.

    Raises:
        InputError: there is no such file, it is unfinished, or no file of records.
    """
    file = records_file(path)
    lines = _read(file).splitlines()
    header = _header(file, lines)
    if len(lines) - 1 != header["units"]:
        raise file_error(
            file,
            len(lines),
            None,
            f"must hold {header['units']} records; got {len(lines) - 1}: resume the run",
        )
    return header, [_record(file, number, line) for number, line in enumerate(lines[1:], start=2)]


def _whole_lines(path: pathlib.Path, header: dict[str, Any]) -> list[str]:
    """The records of an earlier run of the same thing, half a line at the end left out."""
    text = _read(path)
    lines = text[: text.rfind("\n") + 1].splitlines()
    if len(lines) <= 1:
        return []
    before = _header(path, lines)
    for name in sorted({*before, *header}):
        if before.get(name) != header.get(name):
            raise file_error(
                path,
                1,
                name,
                f"the run to resume must be the same; it was {shown(before.get(name))}, now it is "
                f"{shown(header.get(name))}: use the options of that run, or another folder",
            )
    return lines[1 : 1 + int(header["units"])]


def _read(path: pathlib.Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise file_error(path, None, None, f"can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise file_error(path, None, None, NO_RECORDS) from None


def _header(path: pathlib.Path, lines: Sequence[str]) -> dict[str, Any]:
    header = _record(path, 1, lines[0]) if lines else {}
    if header.get("kind") != KIND or not isinstance(header.get("units"), int):
        raise file_error(path, 1 if lines else None, None, NO_RECORDS)
    return header


def _record(path: pathlib.Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise file_error(path, number, None, json_fault(error)) from None
    if not isinstance(record, dict):
        raise file_error(path, number, None, "must be one JSON object a line")
    return record
