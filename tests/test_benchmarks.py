"""How speed is measured: memory, floors, fitted exponents, the page and its JSON."""

import json
import time

import numpy as np
import pytest

from benchmarks import harness, learning_adaptive, learning_rl, pages, scaling, table
from benchmarks.harness import Floor, Row, against, growth
from coverjax.inference.intervals import mean_interval

ROW = Row("w", "p", 3.0, (2.0, 4.0), 2.5, 1.5, 0.5, 1.5, "counted", 1e-16, 0.05, 2e6, 4e6, 10.0)


def test_a_row_on_the_page():
    line = harness.markdown([ROW]).splitlines()[-1]
    assert line == (
        "| w | p | 3x (2 to 4) | 2.5x reached | 1 s | 0.5 s | 1.5 s | 2 MB, 4 MB (part) | 0.05 s: counted "
        "| 10 % | 1.0e-16 |"
    )
    assert harness.markdown([ROW]).splitlines()[0].count("|") == line.count("|")
    plain = ROW.plain()
    assert (plain["share_of_floor"], plain["reached"], plain["compilation"]) == (0.1, True, 1.0)


def test_the_table_is_written_between_its_markers_and_as_json(tmp_path):
    page = tmp_path / "RESULTS.md"
    page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    table.write(page, "new", [ROW], "here")
    assert page.read_text() == f"before\n{table.BEGIN}\nnew\n{table.END}\nafter\n"
    told = json.loads((tmp_path / "RESULTS.json").read_text())
    assert told["machine"] == "here"
    assert told["rows"][0]["share_of_floor"] == 0.1


def told(call) -> tuple[float, float]:
    """A clock that a call sets itself: tests of timing on a busy machine would measure the machine."""
    return call(), 7.0


def test_ours_and_the_peer_are_measured_in_pairs(monkeypatch):
    monkeypatch.setattr(harness, "seconds", told)
    ours, theirs = iter([5.0, 1.0, 2.0, 4.0, 0.0]), iter([9.0, 3.0, 4.0, 4.0, 0.0])
    row = against(
        "w",
        lambda: next(ours),
        "p",
        lambda: next(theirs),
        pairs=3,
        scale=2.0,
        floor=Floor(0.5, "sleep"),
        note="and more",
        difference=lambda a, b: a + b,
    )
    assert (row.first, row.ours, row.theirs, row.compilation) == (5.0, 2.0, 8.0, 3.0)
    assert (row.ratio, row.spread) == (4.0, (2.0, 6.0))
    assert (row.agree, row.floor, row.share) == (14.0, "sleep; and more", 0.25)
    one = against("w", lambda: 1.0, "p", lambda: 1.0, pairs=1, floor=lambda spent: f"{spent:g} s")
    assert (one.floor, one.share) == ("1 s", None)


@pytest.mark.skipif(growth(lambda: 0) is None, reason="the system does not tell the memory of a process")
def test_growth_is_what_a_call_holds_at_most():
    def holds() -> float:
        block = np.ones(8 << 20)
        time.sleep(0.02)
        return float(block[0])

    assert growth(holds) == pytest.approx(64 << 20, abs=16 << 20)
    assert growth(lambda: 0) < 16 << 20


def test_exponents_are_slopes():
    sizes = [1, 2, 4, 8]
    assert scaling.slope(sizes, [3.0 * size**1.5 for size in sizes]) == (1.5, 0.0)
    exponent, error = scaling.slope(sizes, [1.0, 2.1, 3.9, 8.2])
    assert abs(exponent - 1.0) < 3 * error < 0.2
    assert np.isnan(scaling.slope([1, 2], [1.0, 2.0])[1])


def test_a_study_is_fitted_over_its_upper_half(monkeypatch):
    monkeypatch.setattr(scaling, "seconds", told)
    study = scaling.Study("w", "n", "2", [1, 2, 4, 8, 16], lambda n: lambda: 16.0 if n < 4 else 1.0 * n**2)
    fit = scaling.measure(study)
    assert (fit.exponent, fit.times) == (2.0, [16.0, 16.0, 16.0, 64.0, 256.0])
    page = scaling.page([fit], 1.0)
    assert "| w | n | 1, 16 | 16, 256 | 2.00 ± 0.00 | 2 |" in page
    assert page.startswith("# How cost grows\n")


def test_floors_add_up(monkeypatch):
    monkeypatch.setattr(harness, "flops_per_second", lambda dtype: {"float64": 1e9, "float32": 2e9}[dtype])
    monkeypatch.setattr(harness, "bytes_per_second", lambda: 1e8)
    monkeypatch.setattr(harness, "words_per_second", lambda: 1e7)
    found = harness.arithmetic(1e9, written=1e8, words=1e7)
    assert found.seconds == pytest.approx(3.0)
    assert found.words == "1 GFlop as a float64 product, 100 MB of results, 10 million random words"
    assert harness.arithmetic(2e9, dtype="float32") == (1.0, "2 GFlop as a float32 product")


def test_a_page_without_the_marks_is_left_alone():
    with pytest.raises(SystemExit, match="the page must hold the lines"):
        pages.replaced("words alone\n", "laws", "| a |")
    with pytest.raises(SystemExit, match="the page must hold the lines"):
        pages.between("begin\nnever closed\n", "begin", "end", "new")
    page = "before\n<!-- laws: begin -->\nold\n<!-- laws: end -->\nafter\n"
    assert pages.replaced(page, "laws", "new") == page.replace("old", "new")


def test_what_is_learned_stands_with_its_t_interval(rng):
    """Of a mean, and of a ratio of means whose denominator is the same everywhere."""
    values = rng.normal(0.5, 0.1, 10)
    found = mean_interval(values[:, None], 0.95)
    half = (found.high[0] - found.low[0]) / 2
    assert learning_rl._told(values) == f"{values.mean():.3f} ± {half:.3f}"
    gap = learning_adaptive.Gap(
        0.1, learned=2.0 + values, greedy=np.full(10, 2.0), optimal=np.full(10, 4.0), seconds=1
    )
    assert gap.closed == pytest.approx(values.mean() / 2.0)
    assert gap.half_width == pytest.approx(half / 2.0)
