"""Count tables, as any SQL engine writes them: a row an input and strategy, with `c` and `n`."""

from coverjax.logs.counts import CountTable
from coverjax.logs.files import LogFile
from coverjax.logs.formats.base import Format, Source
from coverjax.logs.formats.tallies import NO_SCORES, Columns, read_counts


def _recognises(file: LogFile) -> bool:
    held = set(file.columns)
    return {"c", "n"} <= held and bool({"input", "strategy"} & held)


def _read(source: Source) -> CountTable:
    return read_counts(source, Columns(input="input", strategy="strategy"))


FORMAT = Format("counts", "input, strategy, c, n", _recognises, _read, no_min_score=NO_SCORES)
