"""The log of this package: a row a sample, with `input`, `sample` and `strategies`."""

from typing import Any, NoReturn

from coverjax.foundation.checks import shown
from coverjax.logs.counts import CountTable
from coverjax.logs.files import LogFile
from coverjax.logs.formats.base import Format, Source, need_columns, read_samples
from coverjax.logs.locating import Record, raise_fault, raise_repeat
from coverjax.logs.log import SampleLog
from coverjax.logs.notes import unread_columns
from coverjax.logs.rules import NAME, WHOLE
from coverjax.logs.tables import relation
from coverjax.logs.tallying import FIELDS, Blame

_KNOWN = [field.name for field in FIELDS]
_REQUIRED = {field.name for field in FIELDS if field.required}


def _recognises(file: LogFile) -> bool:
    return "strategies" in file.columns or len(_REQUIRED & set(file.columns)) >= 2


def _read(source: Source) -> SampleLog | CountTable:
    need_columns(source.files, FIELDS)
    unread = unread_columns([name for file in source.files for name in file.columns], _KNOWN)
    if unread:
        source.note(unread)

    def value(present: frozenset[str], reason: str) -> NoReturn:
        raise_fault(source.files, FIELDS, present, reason=reason)

    def repeat(place: tuple[str, str, str]) -> NoReturn:
        raise_repeat(source.files, FIELDS, _key, lambda key: key[:3] == place, _twice)

    return read_samples(source, relation(source.files, FIELDS), Blame(value, repeat))


def _key(record: Record, dialect: str) -> tuple[str, str, str, int]:
    method, name, trial = (
        NAME.value(record[field], dialect) if record.get(field) is not None else ""
        for field in ("method", "input", "trial")
    )
    return method, name, trial, WHOLE.value(record["sample"], dialect)


def _twice(key: Any) -> tuple[str, str]:
    method, name, trial, sample = key
    where = f"the input {shown(name)}"
    where += f", trial {shown(trial)}" if trial else ""
    where += f", method {shown(method)}" if method else ""
    return "sample", f"must be another number for each sample; {sample} stands twice for {where}"


FORMAT = Format("native", "input, sample, strategies", _recognises, _read)
