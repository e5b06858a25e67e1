"""A JSONL log to a whole report in bounded memory: `coverjax estimate LOG --counts --json`, end to end.

python -m benchmarks.log_report --rows 1e7 --peer-rows 1e6
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import Row, against
from benchmarks.reading import MEMORY, by_pandas, write
from coverjax.report.study import studied_budgets

_CHILD = """
import sys
from coverjax.cli.main import main
code = main(["estimate", sys.argv[1], "--counts", "--json"])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(1024 * int(peak.split()[1]), file=sys.stderr)
sys.exit(code)
"""


def report(path: pathlib.Path) -> dict[str, Any]:
    """Run the command in a process of its own; return its document and its peak bytes."""
    child = [sys.executable, "-c", _CHILD, str(path)]
    done = subprocess.run(child, capture_output=True, text=True, check=True)
    return {"document": json.loads(done.stdout), "bytes": float(done.stderr.split()[-1])}


def report_by_pandas(path: pathlib.Path) -> np.ndarray:
    """Mean coverage over inputs at the budgets of the report, by pandas and NumPy: no interval, no check."""
    from scipy.special import gammaln

    found = by_pandas(path)
    counts = found["counts"]
    n = found["n"].reindex(counts.index.get_level_values("input")).to_numpy()
    rest = n - counts.to_numpy()
    code = counts.index.codes[0]
    labels = np.bincount(code)
    means = []
    for k in studied_budgets(int(n.min()), len(labels)):
        there = rest >= k
        few, all_of = rest[there], n[there]
        logs = gammaln(few + 1) - gammaln(few - k + 1) - gammaln(all_of + 1) + gammaln(all_of - k + 1)
        avoided = np.zeros(len(rest))
        avoided[there] = np.exp(logs)
        means.append(np.mean(np.bincount(code, 1 - avoided) / labels))
    return np.array(means)


def difference(path: pathlib.Path, theirs: np.ndarray) -> float:
    """Largest difference of our mean coverage on the peer's file from the peer's."""
    curves = report(path)["document"]["methods"][0]["kinds"]["raw"]["curves"]
    return float(np.abs(np.array(curves["coverage"]["mean"]) - theirs).max())


def measured(rows: int, peer_rows: int, inputs: int, pairs: int) -> list[Row]:
    """Measure the whole command on one log; the log and its folder are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="coverjax-benchmark-") as folder:
        log = write(pathlib.Path(folder) / "log.jsonl", rows, inputs)
        part = write(pathlib.Path(folder) / "part.jsonl", peer_rows, max(1, inputs * peer_rows // rows))
        peaks: list[float] = []

        def ours() -> None:
            peaks.append(report(log)["bytes"])

        def held(spent: float) -> str:
            reached = "reached" if max(peaks) < MEMORY else "NOT reached"
            most = f"at most {MEMORY / 1e6:.0f}: {reached}"
            return f"peak memory of the process {max(peaks) / 1e6:.0f} MB ({most}), {rows / spent:.2g} rows/s"

        told = f"pandas and NumPy: mean coverage alone, on {peer_rows:.0e} rows, times {rows / peer_rows:g}"
        return [
            against(
                f"{rows:.0e}-row JSONL log to a report, end to end, counted".replace("e+0", "e"),
                ours,
                told.replace("e+0", "e"),
                lambda: report_by_pandas(part),
                pairs=pairs,
                scale=rows / peer_rows,
                floor=held,
                difference=lambda _, theirs: difference(part, theirs),
            )
        ]


def rows(smoke: bool) -> list[Row]:
    """The rows of the speed table."""
    if smoke:
        return measured(20_000, 10_000, 100, pairs=1)
    return measured(10_000_000, 1_000_000, 10_000, pairs=2)


def main() -> None:
    """Measure the size that is asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7, help="samples of the log that is estimated")
    parser.add_argument("--peer-rows", type=float, default=1e6, help="samples of the log that pandas reads")
    parser.add_argument("--inputs", type=int, default=10_000, help="inputs of the log")
    parser.add_argument("--pairs", type=int, default=2, help="how often both are timed")
    args = parser.parse_args()
    found = measured(int(args.rows), int(args.peer_rows), args.inputs, args.pairs)
    print(f"{harness.machine()}, load {os.getloadavg()[0]:.1f}\n\n{harness.markdown(found)}")


if __name__ == "__main__":
    main()
