"""Tables of a study on a page: what its numbers stand on, and what samples are worth."""

from collections.abc import Mapping
from typing import Any

from coverjax.report.html import Table
from coverjax.report.study import Study
from coverjax.report.tables import few_budgets
from coverjax.report.utility_study import utility_title


def guardrail_table(guardrails: Mapping[str, Mapping[str, str]]) -> Table:
    """Return the lines that stand beside the numbers of each method, a column a method."""
    lines = {name or "all": found for name, found in guardrails.items()}
    rows = [[title, *(found[title] for found in lines.values())] for title in next(iter(lines.values()))]
    return Table("What these numbers stand on", ("", *lines), rows)


def utility_table(study: Study) -> Table:
    """Return the utilities at a few budgets, with the interval at the largest."""
    budgets = few_budgets(study.budgets, 6)
    places = [int(study.budgets.searchsorted(k)) for k in budgets]
    rows: list[list[Any]] = []
    for name, method in study.methods.items():
        if method.utility is None:
            continue
        for utility, interval in method.utility.intervals.items():
            ends = (float(interval.low[-1]), float(interval.high[-1]))
            title = utility_title(utility, method.utility)
            rows.append([name or "all", title, *(float(interval.mean[place]) for place in places), *ends])
    header = ("method", "utility", *(f"k = {k:,}" for k in budgets), "low at K", "high at K")
    note = "Means over inputs, those without a declared strategy too."
    return Table("What samples are worth", header, rows, note)
