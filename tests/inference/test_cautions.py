"""The warnings, and the measured coverage that they cite: docs/intervals.md is what the library measured."""

import pathlib
import re

import numpy as np
import pytest

from benchmarks import populations
from benchmarks.interval_coverage import measure, quarter_and_all
from coverjax.inference.cautions import BOOTSTRAP, FAITHFUL, IN_DOUBT, TIE, UNIT, at_the_bounds
from coverjax.inference.intervals import mean_interval

ROOT = pathlib.Path(__file__).parents[2]


def table(name):
    """Rows of one marked table of the document: shares as fractions, the rest as text."""
    text = (ROOT / "docs" / "intervals.md").read_text()
    block = re.search(f"<!-- {name}: begin -->\n(.*?)\n<!-- {name}: end -->", text, re.DOTALL).group(1)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()[2:]]
    assert rows
    return [
        [float(cell.removesuffix(" %")) / 100 if cell.endswith(" %") else cell for cell in row]
        for row in rows
    ]


def spans(rows, units, column):
    """Lowest and highest per cent by number of units."""
    found = {}
    for row in rows:
        found.setdefault(int(row[units]), []).append(round(100 * row[column]))
    return {units: (min(values), max(values)) for units, values in found.items()}


POINTWISE = [*table("intervals laws"), *table("intervals deepscaler")]
BANDS = [*table("bands laws"), *table("bands deepscaler")]
UNITS, AT, WARNED, NONE, T, PERCENTILE, BOUNDED = 3, 4, 5, 6, 7, 8, 9
BAND_UNITS, BAND_AT, BAND_WARNED, BAND, BOUNDED_BAND = 2, 3, 4, 5, 6


def test_the_cited_coverage_is_that_of_the_tables():
    doubted = [row for row in POINTWISE if row[WARNED] > 0.5 and row[NONE] < 0.5]
    assert IN_DOUBT["t"] == spans(doubted, UNITS, T)
    assert IN_DOUBT["bootstrap"] == spans(doubted, UNITS, PERCENTILE)
    assert IN_DOUBT["band"] == spans([row for row in BANDS if row[BAND_WARNED] > 0.5], BAND_UNITS, BAND)
    calm = [row for row in POINTWISE if row[AT] < 0.01 and int(row[UNITS]) < FAITHFUL and row[NONE] < 0.5]
    assert spans(calm, UNITS, PERCENTILE) == BOOTSTRAP


def test_defaults_cover_where_few_inputs_stand_at_a_bound_and_elsewhere_it_is_said():
    calm = [row for row in POINTWISE if row[AT] < 0.1 and int(row[UNITS]) >= 30]
    assert len(calm) >= 40
    assert all(0.93 <= row[T] <= 0.97 for row in calm)
    assert all(row[WARNED] > 0.75 for row in POINTWISE if row[T] < 0.93 and row[AT] >= 0.1)
    assert all(row[BAND_WARNED] > 0.75 for row in BANDS if row[BAND] < 0.80)


def test_the_bounded_ones_cover_everywhere():
    assert all(row[BOUNDED] > 0.94 for row in POINTWISE)
    assert all(row[BOUNDED_BAND] > 0.93 for row in BANDS)


@pytest.mark.statistical
@pytest.mark.parametrize(("family", "units"), [("laws", 5), ("solved", 10)])
def test_one_cell_run_again_agrees_with_the_table(family, units):
    """1,000 new replications against the table's 2,000, z < 5: false alarm below 1e-6 a column."""
    budgets = quarter_and_all(16)
    laws = family == "laws"
    population = populations.dirichlet(1.0, 16, budgets) if laws else populations.solved_or_not(16, budgets)
    cell = measure(population, 0, units, 1_000, seed=1)
    written = next(row for row in POINTWISE if tuple(row[:4]) == cell.names)
    for column in (WARNED, NONE, T, PERCENTILE, BOUNDED):
        p = min(max(written[column], 2e-3), 1 - 2e-3)
        error = 5 * np.sqrt(p * (1 - p) * (1 / 1_000 + 1 / 2_000)) + 5e-4
        assert abs(cell.shares[column - AT] - written[column]) < error, column


def test_the_populations_have_the_mean_that_they_say(rng):
    for population in populations.laws(16, (1, 4, 16)):
        values = population.draw(rng, (40_000,))
        error = values.std(axis=0) / 200
        assert (abs(values.mean(axis=0) - population.truth) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize(
    ("zeros", "ones", "others", "doubt"),
    [
        (0, 0, 5, False),
        (1, 0, 4, True),
        (0, 4, 1, True),
        (3, 0, 27, True),
        (2, 0, 28, False),
        (40, 30, 0, False),
        (70, 0, 29, True),
        (70, 0, 30, False),
        (10, 60, 19, True),
    ],
)
def test_doubt_needs_mass_at_the_bounds_and_few_units_off_the_fuller_one(zeros, ones, others, doubt):
    column = np.concatenate([np.zeros(zeros), np.ones(ones), np.linspace(0.2, 0.8, others)])[:, None]
    found, share = at_the_bounds(column, UNIT)
    assert found.tolist() == [doubt]
    assert share[0] == pytest.approx((zeros + ones) / len(column))


def test_a_difference_has_mass_at_zero_only():
    column = np.array([[0.0]] * 6 + [[1.0]] * 3 + [[-1.0]])
    assert at_the_bounds(column, TIE)[1].tolist() == [0.6]


def test_the_warning_names_points_units_and_measured_coverage():
    values = np.column_stack([np.linspace(0.1, 0.9, 12), [1.0] * 9 + [0.5, 0.4, 0.0], np.ones(12)])
    low, high = IN_DOUBT["t"][10]
    assert mean_interval(values).warnings == (
        "no variance over the 12 units at 1 of 3 points: no interval there (all units agree, which is no "
        "proof that the next one will)",
        "small N with mass at the bounds: at 1 of 3 points too few units vary, up to 83% of the 12 units "
        f"stand at 0 or 1; there nominal 95 % covered {low}-{high} % in simulations of 10 units "
        "(docs/intervals.md); prefer method 'bounded'",
    )
    assert len(mean_interval(values, bounds=None).warnings) == 1


def test_fewer_units_than_were_ever_simulated_cite_the_fewest():
    line = mean_interval([[1.0], [1.0], [0.2]]).warnings[0]
    assert "in simulations of 5 units" in line
