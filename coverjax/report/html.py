"""`report.html`: one file that holds the answer, the figures, the tables, the cautions and where it all came
from.

A page is put together from plain parts and written with one call, beside the figures that stand in the folder
already:

    page = Page("what this is", answer=("the answer in a sentence, with its interval",), sections=(
        Section("Figures", (Figure("coverage", "Coverage", "what the eye sees, in words", table),)),
        Section("Tables", (Table("By policy", ("policy", "AUC"), (("IID", 0.5),)),)),
    ), cautions=("what to know before use",), provenance=provenance(document), files=("curves.csv",))
    written.append(write_page(page, folder))

Labels come from strangers: every text is escaped, and `isolated` keeps one on its line and its direction.
"""

import dataclasses
import functools
import math
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from coverjax.report.inline_svg import inline_svg
from coverjax.report.text import one_line

if TYPE_CHECKING:
    import jinja2

PAGE = "report.html"

LONGEST = 80
"""A label in a table is cut to so many characters; the whole one is in the CSV files."""

OPEN, CLOSE = "\u2068", "\u2069"
"""First strong isolate, and its end: what is between them can't turn its neighbours around."""


@dataclasses.dataclass(frozen=True)
class Table:
    """A table: its heading, a header, rows of text and numbers. A number that does not exist is shown as a
    dash."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure that stands in the folder as `stem`.svg.

    Attributes:
        stem: name of its files.
        title: its name.
        says: what it shows, in words, for those who can't see it.
        table: the numbers behind it.
    """

    stem: str
    title: str
    says: str
    table: Table | None = None


@dataclasses.dataclass(frozen=True)
class Command:
    """A command that gives a part of the report again, to copy."""

    text: str


Part = str | Figure | Table | Command
"""What stands in a section; text is a paragraph."""


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading, and what stands below it."""

    title: str
    parts: Sequence[Part]


def figures_of(
    titles: Mapping[str, str],
    meaning: Mapping[str, str],
    files: Sequence[str],
    numbers: Callable[[str], Table | None],
) -> Section:
    """Return the section of the figures that were drawn.

    Args:
        titles: by stem, in the order of the page.
        meaning: by stem, what each shows.
        files: what stands beside the page.
        numbers: from a stem to the numbers behind the figure.
    """
    stems = [stem for stem in titles if f"{stem}.svg" in files]
    return Section("Figures", [Figure(stem, titles[stem], meaning[stem], numbers(stem)) for stem in stems])


@dataclasses.dataclass(frozen=True)
class Page:
    """A report.

    Attributes:
        title: what was studied.
        answer: paragraphs; the first is the answer in one sentence, with its interval.
        sections: figures and tables.
        cautions: what to know before the numbers are used, a sentence each.
        provenance: pairs of a name and what it says: version, command, seed, hashes of what was read.
        files: names of the files beside the page.
    """

    title: str
    answer: Sequence[str]
    sections: Sequence[Section]
    cautions: Sequence[str] = ()
    provenance: Sequence[tuple[str, str]] = ()
    files: Sequence[str] = ()


def write_page(page: Page, folder: pathlib.Path, drawings: pathlib.Path | None = None) -> str:
    """Write a page into a folder, by default the one that holds its figures; return its name.

    The same page gives the same bytes.
    """
    place = folder if drawings is None else drawings
    html = page_html(page, {figure.stem: read_svg(place, figure.stem) for figure in figures(page)})
    (folder / PAGE).write_text(html, encoding="utf-8", errors="backslashreplace", newline="\n")
    return PAGE


def read_svg(folder: pathlib.Path, stem: str) -> str:
    """Return the text of a figure."""
    return (folder / f"{stem}.svg").read_text(encoding="utf-8")


def figures(page: Page) -> list[Figure]:
    """Return the figures of a page in their order."""
    return [part for section in page.sections for part in section.parts if isinstance(part, Figure)]


def page_html(page: Page, drawings: Mapping[str, str]) -> str:
    """Return a page as HTML text; `drawings` holds the SVG of each figure by its stem."""
    numbers = {id(figure): f"figure-{count}" for count, figure in enumerate(figures(page), 1)}

    def drawn(figure: Figure) -> str:
        return inline_svg(drawings[figure.stem], numbers[id(figure)], clean(figure.title), clean(figure.says))

    template = _environment().get_template("report.html")
    return template.render(page=page, drawn=drawn, number=lambda figure: numbers[id(figure)])


@functools.cache
def _environment() -> "jinja2.Environment":
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("coverjax.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shown": shown_cell, "clean": clean}
    environment.tests |= {
        "figure": lambda part: isinstance(part, Figure),
        "table": lambda part: isinstance(part, Table),
        "command": lambda part: isinstance(part, Command),
        "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    }
    return environment


def clean(text: object) -> str:
    """Return text without characters that steer a display, however long it is; isolates stay."""
    parts = str(text).replace(OPEN, CLOSE).split(CLOSE)
    marks = [mark for mark in str(text) if mark in (OPEN, CLOSE)]
    kept = [_cleaned(part) for part in parts]
    return "".join(part + mark for part, mark in zip(kept, [*marks, ""], strict=True))


def _cleaned(text: str) -> str:
    around = (" " * text[:1].isspace(), " " * text[-1:].isspace()) if text.strip() else (" " * bool(text), "")
    return around[0] + one_line(text, max(len(text) * 10, 1)) + around[1]


def isolated(label: object, limit: int = 60) -> str:
    """Return a stranger's label for the middle of a sentence: one line, cut, unable to turn it around."""
    return f"{OPEN}{one_line(label, limit, middle=True)}{CLOSE}"


def shown_cell(value: Any) -> str:
    """Return a cell as text: floats with four digits, a dash for what does not exist."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 10 else f"{value:,.2f}" if abs(value) < 1e6 else f"{value:.4g}"
    return clean(one_line(value, LONGEST, middle=True))


def provenance(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return what a document says about where it came from: version, command, seed, hashes of what was
    read."""
    pairs = [("coverjax", str(document["coverjax"])), ("command", str(document["command"]))]
    if document.get("seed") is not None:
        pairs.append(("seed", str(document["seed"])))
    for facts in document.get("files", ()):
        pairs.append(
            (one_line(facts["path"], 100, middle=True), f"sha256 {facts['sha256']}, {facts['bytes']:,} bytes")
        )
    return tuple(pairs)
