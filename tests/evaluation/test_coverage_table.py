"""The measured coverage that the docs tell: one cell of the table runs again."""

import pathlib
import re

import pytest

from benchmarks.gain_coverage import agreement_coverage, gain_coverage

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def cells(page, start):
    line = next(line for line in (DOCS / page).read_text().splitlines() if line.startswith(start))
    return [float(number) / 100 for number in re.findall(r"([\d.]+) %", line.replace("(", "|("))]


@pytest.mark.slow
@pytest.mark.statistical
def test_a_gain_is_covered_as_the_docs_say():
    """400 new studies against the table's 2,000, |z| < 5."""
    told = cells("comparing.md", "| 16 |")[1]
    share, _ = gain_coverage(16, 10, studies=400, seed=2)
    assert abs(share - told) < 5 * (told * (1 - told) * (1 / 400 + 1 / 2_000)) ** 0.5


def test_the_simulation_of_agreement_runs():
    assert set(agreement_coverage(4, studies=2, population=50)) == {"kappa", "precision", "alpha"}
