"""The speed table: every benchmark that offers `rows(smoke)`, as one Markdown page and as JSON beside it.

python -m benchmarks.table --write benchmarks/RESULTS.md
"""

import argparse
import importlib
import json
import os
import pathlib
import time

from benchmarks import harness
from benchmarks.pages import between

MODULES = (
    "estimation",
    "reading",
    "log_report",
    "exact_iid",
    "occupancy",
    "montecarlo",
    "optimal",
    "learning",
    "sequences",
    "routing",
    "sweeping",
)
BEGIN, END = "<!-- speed table: written by `make bench` -->", "<!-- end of the speed table -->"


def main() -> None:
    """Run the benchmarks; print the table, and write it between its markers when asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does every benchmark run?")
    parser.add_argument("--only", nargs="*", default=MODULES, choices=MODULES)
    parser.add_argument("--write", type=pathlib.Path, help="the page that holds the table; a .json beside it")
    args = parser.parse_args()
    rows: list[harness.Row] = []
    start = time.perf_counter()
    for name in args.only:
        rows += importlib.import_module(f"benchmarks.{name}").rows(smoke=args.smoke)
    load = f"load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else "load unknown"
    told = f"{harness.machine()}; {time.perf_counter() - start:.0f} s in all, {load}"
    table = f"{told}\n\n{harness.markdown(rows)}"
    print(table)
    if args.write:
        write(args.write, table, rows, told)


def write(page: pathlib.Path, table: str, rows: list[harness.Row], machine: str) -> None:
    """Put the table between its markers, and the rows as JSON beside the page."""
    page.write_text(between(page.read_text(), BEGIN, END, table))
    document = {"machine": machine, "rows": [row.plain() for row in rows]}
    page.with_suffix(".json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
