"""pass@k counts: a row a problem, with `id`, its number of correct samples `c` and of all samples `n`.

The table has one label, "correct", so that coverage is pass@k (Chen et al. 2021, arXiv 2107.03374).
"""

from coverjax.logs.counts import CountTable
from coverjax.logs.files import LogFile
from coverjax.logs.formats.base import Format, Source
from coverjax.logs.formats.tallies import NO_SCORES, Columns, read_counts


def _recognises(file: LogFile) -> bool:
    return {"id", "c", "n"} <= set(file.columns)


def _read(source: Source) -> CountTable:
    return read_counts(source, Columns(input="id", label="correct"))


FORMAT = Format("id_c_n", "id, c, n", _recognises, _read, no_min_score=NO_SCORES)
