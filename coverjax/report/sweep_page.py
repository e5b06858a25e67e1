"""A finished sweep as a page: `report.html` of `coverjax sweep`."""

from collections.abc import Mapping, Sequence
from typing import Any

from coverjax.report.html import Figure, Page, Section, Table, isolated, provenance
from coverjax.report.text import counted

TITLES = {"gain": "Gain", "regimes": "Which policy is best where"}
MEANING = {
    "gain": (
        "Mean gain of each policy over the varied settings: 0 covers as independent draws do, 1 as one new "
        "strategy with every draw."
    ),
    "regimes": (
        "At each place of the grid the policy with the largest AUC among those that see and know the same; "
        "hatched where the first two are too close to tell."
    ),
}


def sweep_page(document: Mapping[str, Any], stems: Sequence[str], files: Sequence[str]) -> Page:
    """Return the page of a sweep.

    Args:
        document: its summary.
        stems: the figures that there are.
        files: what stands beside the page.
    """
    table = _policies(document)
    drawn = [Figure(stem, TITLES[stem], MEANING[stem], table) for stem in TITLES if stem in stems]
    sections = [Section("Figures", drawn)] if drawn else []
    return Page(
        title=f"Sweep of {counted(document['cells'], 'cell')}",
        answer=_answer(document),
        sections=[*sections, Section("Tables", (table, _varied(document)))],
        cautions=(
            "Means are over cells, and every cell weighs the same: another grid has other means.",
            "Policies that see or know different things are not ranked with each other.",
        ),
        provenance=(
            *provenance(document),
            ("sweep", f"hash {document['hash']}, device {document['device']}"),
            *((f"version of {name}", str(version)) for name, version in document["versions"].items()),
        ),
        files=files,
    )


def _answer(document: Mapping[str, Any]) -> list[str]:
    trials = document["sweep"]["trials"]
    kind = "exact" if trials is None else f"simulated, {counted(trials, 'trial')} an input"
    told = [one for one in document["policies"] if one["gain"] is not None]
    best = max(told, key=lambda one: one["gain"] if one["rival"] else -1.0, default=None)
    varied = ", ".join(document["varied"]) or "nothing"
    if best is None:
        first = f"{counted(document['cells'], 'cell')} were computed; no gain is defined in any of them."
    else:
        first = (
            f"Over {counted(document['cells'], 'cell')} (varied: {varied}) {isolated(best['policy'])} gains "
            f"most, "
            f"{best['gain']:.3f} on average of the way to one new strategy a draw."
        )
    maps = document["maps"]
    second = f"Curves are {kind}."
    if maps["places"]:
        second += (
            f" Of {counted(maps['places'], 'place')} of the map {maps['undecided']} are too close to tell."
        )
    return [first, second]


def _policies(document: Mapping[str, Any]) -> Table:
    names = ("policy", "sees", "knows", "auc", "gain", "wins")
    rows = [[one[name] for name in names] for one in document["policies"]]
    header = ("policy", "sees", "knows", "AUC, mean over cells", "gain, mean over cells", "best at places")
    return Table("Policies", header, rows)


def _varied(document: Mapping[str, Any]) -> Table:
    rows = [[name, ", ".join(map(str, values))] for name, values in document["varied"].items()]
    return Table("What was varied", ("setting", "values"), rows)
