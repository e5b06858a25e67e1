"""All figures of all kinds of logs, without a warning."""

import pytest
from sample_logs import random_log

from coverjax.report import style
from coverjax.report.figures import write_figures
from coverjax.report.study import study_log

WITHOUT = {
    "one of each": {"time-by-input"},
    "all matched": {"time-by-input"},
    "none declared": {"time-to-coverage", "time-by-input"},
    "counts": {"time-to-coverage", "time-by-input", "barcode"},
    "pass at k": {"time-by-input", "barcode"},
}
WITH_CORRECT = {"flags"}
"""The other logs do not say which samples are correct."""


DRAWN = (
    "flags",
    "evil names",
    "one of each",
    "all matched",
    "none declared",
    "counts",
    "pass at k",
    "many methods",
)
"""Of these every figure is drawn; the other logs differ from them in their numbers only."""


@pytest.mark.parametrize("name", DRAWN)
def test_every_log_has_its_figures(studies, tmp_path, name):
    every = ("coverage", "novelty", "time-to-coverage", "time-by-input", "coverage-correctness", "barcode")
    left_out = WITHOUT.get(name, set()) | (set() if name in WITH_CORRECT else {"coverage-correctness"})
    stems = [stem for stem in every if stem not in left_out]
    expected = [f"{stem}.{suffix}" for stem in stems for suffix in ("png", "svg")]
    assert write_figures(studies(name), tmp_path) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(expected)
    for path in tmp_path.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
    for path in tmp_path.glob("*.svg"):
        assert "<script" not in path.read_text(encoding="utf-8")


def test_the_legend_of_novelty_hides_no_curve(studies, tmp_path, monkeypatch):
    seen = {}
    monkeypatch.setattr(
        style, "save_figure", lambda figure, folder, stem: seen.setdefault(stem, figure) and []
    )
    write_figures(studies("many methods"), tmp_path)
    figure = seen["novelty"]
    figure.draw_without_rendering()
    legends = [(ax, ax.get_legend()) for ax in figure.axes]
    assert legends
    for ax, legend in legends:
        assert legend.get_window_extent().y1 < ax.bbox.y0


def test_the_same_log_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_figures(study_log({"": random_log(inputs=2, samples=2)}), tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name
