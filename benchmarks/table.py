"""The speed table: every benchmark that offers `rows(smoke)`, as one Markdown page.

python -m benchmarks.table --write benchmarks/RESULTS.md
"""

import argparse
import importlib
import pathlib

from benchmarks import harness

MODULES = ("estimation", "reading", "exact_iid", "occupancy", "montecarlo", "optimal", "learning", "routing")
BEGIN, END = "<!-- speed table: written by `make bench` -->", "<!-- end of the speed table -->"


def main() -> None:
    """Run the benchmarks; print the table, and write it between its markers when asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does every benchmark run?")
    parser.add_argument("--only", nargs="*", default=MODULES, choices=MODULES)
    parser.add_argument("--write", type=pathlib.Path, help="the page that holds the table")
    args = parser.parse_args()
    rows: list[harness.Row] = []
    for name in args.only:
        rows += importlib.import_module(f"benchmarks.{name}").rows(smoke=args.smoke)
    table = f"{harness.machine()}\n\n{harness.markdown(rows)}"
    print(table)
    if args.write:
        before, _, rest = args.write.read_text().partition(BEGIN)
        after = rest.partition(END)[2]
        args.write.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


if __name__ == "__main__":
    main()
