"""A JSONL log to a count table, types and duplicates checked, against pandas; and the memory it takes.

python -m benchmarks.reading --rows 1e7 --peer-rows 1e6
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any

import duckdb

import coverjax as cj
from benchmarks import harness
from benchmarks.harness import Floor, Row, against, seconds

TARGET, MEMORY = 12.0, 1e9
"""Times faster a row than pandas; bytes of memory at most."""

_CHILD = """
import json, sys, time
import coverjax as cj
start = time.perf_counter()
table = cj.read_log(sys.argv[1], counts=True)
seconds = time.perf_counter() - start
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"seconds": seconds, "bytes": 1024 * int(peak.split()[1]), "samples": int(table.n.sum())}))
"""


def write(path: pathlib.Path, rows: int, inputs: int, order: str = "input") -> pathlib.Path:
    """Write a log: `rows` samples, each with none, one or two of 12 strategies, one in four invalid.

    Args:
        order: rows sorted by "input", as a sampler writes them, or "sample", the worst order for the groups.
    """
    each = rows // inputs
    place = (
        f"i // {each} AS x, i % {each} AS s" if order == "input" else f"i % {inputs} AS x, i // {inputs} AS s"
    )
    duckdb.connect().execute(f"""
        COPY (
            SELECT 'p' || x AS input, s AS sample, CASE
                WHEN h % 10 = 0 THEN []::VARCHAR[]
                WHEN h % 10 < 3 THEN ['s' || (h % 7), 's' || (7 + h % 5)]
                ELSE ['s' || (h % 6)] END AS strategies, h % 4 <> 0 AS valid
            FROM (SELECT {place}, hash(i) AS h FROM range({each * inputs}) t(i))
        ) TO '{path}' (FORMAT json)
    """)
    return path


def by_pandas(path: pathlib.Path, **options: Any) -> dict[str, Any]:
    """Count by pandas: n of each input, and matches of each input and strategy; nothing is checked."""
    import pandas

    frame = pandas.read_json(path, lines=True, **options)
    counts = frame.explode("strategies").groupby(["input", "strategies"]).size()
    return {"n": frame.groupby("input").size(), "counts": counts}


def difference(path: pathlib.Path, theirs: dict[str, Any]) -> float:
    """Largest difference of our counts of the peer's file from the peer's."""
    table = cj.read_log(path, counts=True)
    found = {
        (name, label): int(count)
        for name, labels, counts in zip(table.ids, table.labels, table.counts, strict=True)
        for label, count in zip(labels, counts, strict=False)
    }
    other = theirs["counts"].to_dict()
    sizes = dict(zip(table.ids.tolist(), table.n.tolist(), strict=True))
    gaps = [abs(found.get(key, 0) - other.get(key, 0)) for key in found.keys() | other.keys()]
    gaps += [abs(sizes[key] - count) for key, count in theirs["n"].to_dict().items()]
    return float(max(gaps))


def memory(path: pathlib.Path) -> dict[str, float]:
    """Read the log in a process of its own: seconds, peak bytes, samples."""
    child = [sys.executable, "-c", _CHILD, str(path)]
    return json.loads(subprocess.run(child, capture_output=True, text=True, check=True).stdout)


def measured(rows: int, peer_rows: int, inputs: int, pairs: int, order: str = "input") -> list[Row]:
    """Measure one size; the log and its folder are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="coverjax-benchmark-") as folder:
        log = write(pathlib.Path(folder) / "log.jsonl", rows, inputs, order)
        part = write(
            pathlib.Path(folder) / "part.jsonl", peer_rows, max(1, inputs * peer_rows // rows), order
        )
        megabytes = log.stat().st_size / 1e6
        alone = memory(log)
        once = min(seconds(log.read_bytes)[0] for _ in range(2))
        held = (
            f"peak memory of a process {alone['bytes'] / 1e6:.0f} MB (at most {MEMORY / 1e6:.0f}: "
            f"{'reached' if alone['bytes'] < MEMORY else 'NOT reached'}); the file has {megabytes:.0f} MB"
        )
        scale = rows / peer_rows
        peers = [("pandas.read_json(lines=True) + groupby", {}, TARGET)]
        peers += [("the same with engine='pyarrow'", {"engine": "pyarrow"}, 0.0)]
        return [
            against(
                f"{rows:.0e}-row JSONL log to count table, checked, hashed; rows by {order}".replace(
                    "e+0", "e"
                ),
                lambda: cj.read_log(log, counts=True),
                f"{name}, on {peer_rows:.0e} rows, times {scale:g}".replace("e+0", "e"),
                lambda options=options: by_pandas(part, **options),
                target=target,
                pairs=pairs,
                scale=scale,
                floor=lambda spent: Floor(
                    once, f"read the file once; we do {megabytes / spent:.0f} MB/s; {held}"
                ),
                difference=lambda _, theirs: difference(part, theirs),
            )
            for name, options, target in peers
        ]


def rows(smoke: bool) -> list[Row]:
    """The rows of the speed table."""
    if smoke:
        return measured(20_000, 10_000, 100, pairs=1)
    return measured(10_000_000, 1_000_000, 10_000, pairs=2)


def main() -> None:
    """Measure the sizes that are asked for and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7, help="samples of the log that is counted")
    parser.add_argument("--peer-rows", type=float, default=1e6, help="samples of the log that pandas reads")
    parser.add_argument("--inputs", type=int, default=10_000, help="inputs of the log")
    parser.add_argument("--pairs", type=int, default=2, help="how often both are timed")
    parser.add_argument(
        "--order", choices=("input", "sample"), default="input", help="what rows are sorted by"
    )
    args = parser.parse_args()
    start = time.perf_counter()
    found = measured(int(args.rows), int(args.peer_rows), args.inputs, args.pairs, args.order)
    print(f"{harness.machine()}, load {os.getloadavg()[0]:.1f}\n\n{harness.markdown(found)}")
    print(f"\nmeasured in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
