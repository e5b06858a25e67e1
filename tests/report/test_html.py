"""Pages: what a browser would see of hostile labels, what a screen reader is told, and bytes that repeat."""

import html.parser
import itertools
import re

import pytest
from sample_logs import EVIL, random_log

import coverjax as cj
from coverjax.report.estimate_page import estimate_page
from coverjax.report.figures import write_figures
from coverjax.report.html import (
    CLOSE,
    OPEN,
    Figure,
    Page,
    Section,
    Table,
    clean,
    isolated,
    page_html,
    provenance,
    shown_cell,
    write_page,
)
from coverjax.report.inline_svg import inline_svg
from coverjax.report.study import study_log
from coverjax.report.style import new_figure, save_figure

FACTS = {"coverjax": "9.9", "command": "coverjax estimate <b>", "seed": 3, "files": []}
VOID = {"meta", "link"}


class Reader(html.parser.HTMLParser):
    """Collects elements, checks that they nest, and keeps the text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.open = [], "", []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def all(self, *tags):
        return [attributes for tag, attributes in self.elements if tag in tags]


def drawing(folder, stem, title=""):
    figure = new_figure(2.0, 1.0)
    figure.subplots().set_title(title)
    save_figure(figure, folder, stem)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The page of a log whose methods, inputs and labels are all hostile, and its folder."""
    folder = tmp_path_factory.mktemp("page")
    logs = {
        name: random_log(ids=EVIL, labels=len(EVIL), seed=i, labeler=EVIL[0])
        for i, name in enumerate([*EVIL[:3], "\u202ereversed"])
    }
    study = study_log(logs)
    files = write_figures(study, folder)
    page = estimate_page(study, FACTS | {"files": [{"path": EVIL[0], "sha256": "0" * 64, "bytes": 7}]}, files)
    assert write_page(page, folder) == "report.html"
    return page, (folder / "report.html").read_text(encoding="utf-8"), folder


def test_labels_are_text_and_nothing_else(hostile):
    _, text, _ = hostile
    seen = Reader(text)
    assert not seen.all("script", "foreignobject", "iframe", "img", "object", "form")
    assert all(not name.startswith("on") for _, attributes in seen.elements for name in attributes)
    assert "<script>alert(1)</script>" in seen.text
    assert "\u202e" not in text
    assert "\x00" not in text
    assert max(map(len, re.findall("x+", seen.text))) < 200


def test_nothing_is_fetched_and_only_files_beside_the_page_are_linked(hostile):
    page, text, folder = hostile
    seen = Reader(text)
    for attributes in seen.all("a", "link", "image", "use"):
        target = attributes.get("href", "")
        assert target.startswith(("#", "data:")) or (folder / target).exists(), target
    assert not re.search(r"url\((?!#)|@import", text)
    assert "default-src 'none'" in text
    assert set(page.files) <= {attributes.get("href") for attributes in seen.all("a")}


def test_ids_are_unique_and_references_lead_somewhere(hostile):
    _, text, _ = hostile
    seen = Reader(text)
    ids = [attributes["id"] for _, attributes in seen.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = set(re.findall(r"url\(#([^)]+)\)", text))
    wanted |= {a["href"][1:] for _, a in seen.elements if a.get("href", "").startswith("#")}
    wanted |= {name for _, a in seen.elements for name in a.get("aria-labelledby", "").split()}
    assert len(wanted) > 50
    assert wanted <= set(ids)


def test_a_screen_reader_is_told_everything(hostile):
    _page, text, _ = hostile
    seen = Reader(text)
    drawn = seen.all("svg")
    assert len(drawn) == 5
    assert all(a["role"] == "img" and a["aria-labelledby"] for a in drawn)
    assert len(seen.all("title")) == len(drawn) + 1
    assert len(seen.all("desc")) == len(drawn)
    levels = [int(tag[1]) for tag, _ in seen.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    # A data table beside each figure, and every header cell says what it heads.
    assert len(seen.all("details")) == len(drawn)
    assert all(a["scope"] in ("row", "col") for a in seen.all("th"))
    assert next(a["href"] for a in seen.all("a")) == "#figures"
    assert all(a.get("aria-label") for _, a in seen.elements if a.get("tabindex") == "0")


def test_the_answer_comes_first_with_its_interval(studies, tmp_path):
    study = studies("one method")
    page = estimate_page(study, FACTS, [])
    text = page_html(page, {})
    interval = study.methods[""].kinds["raw"].intervals["coverage"]
    value, low, high = (100 * float(part[-1]) for part in (interval.mean, interval.low, interval.high))
    first = page.answer[0]
    assert first == (
        f"8 samples cover {value:.1f} % of an input's declared strategies "
        f"(95 % interval over 6 inputs: {low:.1f} % to {high:.1f} %)."
    )
    assert text.index("8 samples cover") < text.index("<h2")


def test_an_interval_that_holds_everything_is_no_row_of_impossible_numbers():
    log = cj.SampleLog.from_arrays([[[1, 0], [0, 1]], [[0, 0], [0, 0]]])
    first = estimate_page(study_log({"": log}), FACTS, []).answer[0]
    assert "holds every value from 0 to 100 %: too few inputs" in first
    assert "-" not in first
    both = estimate_page(study_log({"a": log, "b": log}), FACTS, []).answer[0]
    assert "a\u2069 50.0 % [anything]" in both


@pytest.mark.parametrize(
    "name",
    [
        "nothing matched",
        "none declared",
        "one of each",
        "counts",
        "pass at k",
        "ordered",
        "no input in common",
    ],
)
def test_every_kind_of_log_has_a_page_without_a_hole(studies, name):
    text = page_html(estimate_page(studies(name), FACTS, ["curves.csv"]), {})
    words = Reader(text).text
    assert not re.search(r"\bnan\b|\bNone\b|inf\b", words)


def test_cautions_of_the_study_are_on_the_page(studies):
    study = studies("uneven", budget=5)
    page = estimate_page(study, FACTS, [])
    assert set(study.methods[""].warnings) <= set(page.cautions)
    assert any("--ordered" in line for line in page.cautions)


def test_bytes_repeat(hostile, tmp_path):
    page, text, folder = hostile
    assert page_html(page, {p.stem: p.read_text() for p in folder.glob("*.svg")}) == text


def test_one_figure_twice_on_a_page(tmp_path):
    drawing(tmp_path, "one", "words")
    figure = Figure("one", "One", "says", Table("numbers", ("a",), ((1.5,), (None,), (float("nan"),))))
    again = Figure("one", "Again", "says")
    write_page(Page("title", ("answer",), (Section("Figures", (figure, again)),)), tmp_path)
    seen = Reader((tmp_path / "report.html").read_text())
    ids = [attributes["id"] for _, attributes in seen.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert "1.5000" in seen.text


SVG = """<?xml version="1.0"?><!DOCTYPE svg><svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36pt"
  xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 72 36" onload="alert(1)"><!-- a comment -->
<style>* {fill: red}</style><script>alert(1)</script><metadata>m</metadata>
<defs><path id="p" d="M0 0"/><clipPath id="c"><rect width="1"/></clipPath></defs>
<use xlink:href="#p" clip-path="url(#c)" style="fill: url(#h); stroke: url('#c')" onclick="x"/>
<use xlink:href="http://example.org/x#p"/><image href="http://example.org/x.png"/>
<image xlink:href="data:image/png;base64,AAAA"/><path style="fill: url(http://example.org)" d="M1 1"/>
<foreignObject><p>html</p></foreignObject><a href="javascript:alert(1)"><path d="M2 2"/></a>
<text>words</text></svg>"""


def test_only_what_draws_is_kept_of_a_figure():
    text = inline_svg(SVG, "f1", "A & B", "<says>")
    for gone in (
        "alert",
        "example.org",
        "style>",
        "metadata",
        "comment",
        "words",
        "xmlns",
        "onclick",
        "M2 2",
    ):
        assert gone not in text
    assert 'id="f1-p"' in text
    assert 'href="#f1-p"' in text
    assert 'clip-path="url(#f1-c)"' in text
    assert "fill: url(#f1-h); stroke: url(#f1-c)" in text
    assert "data:image/png;base64,AAAA" in text
    assert "--wide: 96px" in text
    assert '<title id="f1-name">A &amp; B</title><desc id="f1-says">&lt;says&gt;</desc>' in text
    assert "M1 1" in text


def test_what_is_no_figure_is_refused():
    with pytest.raises(AssertionError, match="not an SVG document"):
        inline_svg("<html/>", "f", "", "")


def test_clean_keeps_isolates_and_blanks_and_escapes_the_rest():
    assert clean(f"a {OPEN}b{CLOSE} c\x07\nd") == f"a {OPEN}b{CLOSE} c\\x07 d"
    assert clean("") == ""
    assert clean("\u202ex") == "\\u202ex"


@pytest.mark.parametrize("label", [*EVIL, f"{OPEN}open", f"close{CLOSE}", ""])
def test_isolated_labels_can_not_leave_their_place(label):
    text = isolated(label)
    assert text[0] == OPEN
    assert text[-1] == CLOSE
    assert OPEN not in text[1:]
    assert CLOSE not in text[:-1]
    assert len(text) <= 62
    assert "\n" not in text


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (float("inf"), "–"),
        (True, "yes"),
        (12345, "12,345"),
        (0.25, "0.2500"),
        (1234.5, "1,234.50"),
        (3e9, "3e+09"),
        ("x" * 500, "x" * 40 + "…" + "x" * 39),
    ],
)
def test_cells(value, told):
    assert shown_cell(value) == told


def test_provenance_names_version_command_seed_and_hashes():
    pairs = dict(provenance(FACTS | {"files": [{"path": "log.csv", "sha256": "ab", "bytes": 1234}]}))
    assert pairs == {
        "coverjax": "9.9",
        "command": "coverjax estimate <b>",
        "seed": "3",
        "log.csv": "sha256 ab, 1,234 bytes",
    }
