"""The numbers of samples, row by row: taken from the rows or given, each once."""

import dataclasses

from coverjax.foundation.checks import file_error, shown
from coverjax.logs.locating import Record
from coverjax.logs.tallying import BLOCK, WHOLE_COLUMNS

_RUN = ("input", "method", "trial")
"""What a sample is numbered within."""

_WHOLE = tuple(name for name in WHOLE_COLUMNS if name != "labeler")


@dataclasses.dataclass
class Numbering:
    """Numbers the samples of a log as its rows stream by, and refuses rows that no log can hold together.

    Attributes:
        there: whether each optional column stands on the rows, as the first row has it.
        following: the next number of each run; -1 where the rows have their own.
        bits: own numbers met, a bit each: by run and number // 64, so that memory grows by a number for 64.
    """

    there: dict[str, bool] = dataclasses.field(default_factory=dict)
    following: dict[tuple[str, ...], int] = dataclasses.field(default_factory=dict)
    bits: dict[tuple[tuple[str, ...], int], int] = dataclasses.field(default_factory=dict)

    def row(self, path: str, line: int, row: Record) -> Record:
        """Return the row with its `sample`: its own, or its place among those of its input so far.

        Raises:
            InputError: an optional column or `sample` stands on some rows only, or a number stands twice.
        """
        for name in _WHOLE:
            if self.there.setdefault(name, row.get(name) is not None) != (row.get(name) is not None):
                raise file_error(path, line, name, "must stand on every row or on none")
        run = tuple(str(row.get(name, "")) for name in _RUN)
        given = row.get("sample") is not None
        following = self.following.setdefault(run, -1 if given else 0)
        if given != (following == -1):
            raise file_error(path, line, "sample", "must stand on every row of an input or on none")
        if given:
            self._meet(path, line, run, int(row["sample"]))
            return row
        self.following[run] = following + 1
        return {**row, "sample": following}

    def _meet(self, path: str, line: int, run: tuple[str, ...], number: int) -> None:
        block, bit = (run, number // BLOCK), 1 << number % BLOCK
        met = self.bits.get(block, 0)
        if met & bit:
            what = (
                f"must be another number for each sample; {number} stands twice for the input {shown(run[0])}"
            )
            raise file_error(path, line, "sample", what)
        self.bits[block] = met | bit
