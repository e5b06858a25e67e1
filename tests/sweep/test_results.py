"""Reading a sweep, who wins where, and the figures."""

import math

import numpy as np
import pytest
from sweep_files import write

from coverjax.cli.sweep import FIGURES
from coverjax.foundation.checks import InputError
from coverjax.report import sweep_plots, sweep_summary
from coverjax.sweep import SweepTable, read_sweep, read_table, run_sweep
from coverjax.sweep.grid import CELL_COLUMNS
from coverjax.sweep.results import maps

SWEEP = """
family = "zipf"
policies = ["IID", "BaseNoRepeat", "OracleNoRepeat"]
budget = 5

[axes]
exponent = [0.0, 1.0, 2.0]
strategies = [2, 4]
"""

A, B, ORACLE = "A", "B(order='x')", "O"


def table(areas, errors=None, seeds=None) -> SweepTable:
    """A made-up sweep: `areas` [cells, policies] of lists by input, cells on a grid 2 wide."""
    policies = [A, B, ORACLE]
    rows = [(cell, policy) for cell in range(len(areas)) for policy in range(3)]
    objects = {name: [None] * len(rows) for name in CELL_COLUMNS}
    seeds = [None] * len(areas) if seeds is None else seeds
    objects |= {
        "cell": [cell for cell, _ in rows],
        "policy": [policies[policy] for _, policy in rows],
        "sees": [("blind", "outcomes", "oracle")[policy] for _, policy in rows],
        "knows": ["nothing"] * len(rows),
        "kind": ["exact" if errors is None else "simulated"] * len(rows),
        "seed": [seeds[cell] for cell, _ in rows],
    }
    if seeds[0] is None:
        objects |= {"eps": [0.1 * (cell % 2) for cell, _ in rows], "budget": [cell // 2 for cell, _ in rows]}
    found = {}
    for name, values in objects.items():
        found[name] = np.empty(len(rows), dtype=object)
        found[name][:] = values
    lists = np.empty(len(rows), dtype=object)
    lists[:] = [areas[cell][policy] for cell, policy in rows]
    found["auc_by_input"] = lists
    found["auc"] = np.array([np.mean(values) for values in lists])
    found["auc_mc_error"] = np.full(len(rows), math.nan if errors is None else errors)
    found["gain"] = np.array([math.nan if policy == 2 else policy + 0.1 * cell for cell, policy in rows])
    return SweepTable({"sweep": {"policies": policies}}, found)


def test_exact_numbers_decide_by_themselves_and_ties_are_undecided():
    cells = [
        [[0.5], [0.6], [0.9]],
        [[0.6], [0.5], [0.9]],
        [[0.5], [0.5 + 1e-12], [0.9]],
        [[0.1], [0.2], [0.3]],
    ]
    found = maps(table(cells))
    panel = found.panels[0]
    assert (found.x, found.y, found.panel, found.rivals, found.pooled) == ("eps", "budget", "", [A, B], [])
    assert panel.best.tolist() == [[1, 0], [1, 1]]
    assert panel.decided.tolist() == [[True, True], [False, True]]
    np.testing.assert_allclose(panel.gain[1], [[1.0, 1.1], [1.2, 1.3]])
    assert np.isnan(panel.gain[2]).all()


def test_monte_carlo_errors_decide_where_there_is_one_unit():
    cells = [[[0.5], [0.6], [0.9]]] * 4
    assert maps(table(cells, errors=0.03)).panels[0].decided.all()  # 0.1 > 1.96 sqrt(2) 0.03 = 0.083
    assert not maps(table(cells, errors=0.04)).panels[0].decided.any()  # 0.111


def test_inputs_are_paired_units():
    clear = [[0.5, 0.1, 0.9], [0.52, 0.125, 0.915], [1, 1, 1]]
    unclear = [[0.5, 0.1, 0.9], [0.6, 0.09, 0.95], [1, 1, 1]]
    panel = maps(table([clear, unclear, clear, unclear])).panels[0]
    assert (panel.best == 1).all()
    assert panel.decided.tolist() == [[True, False], [True, False]]


def test_seeds_are_put_together():
    one = [[0.5], [0.52], [1]]
    found = maps(table([one, [[0.4], [0.425], [1]], [[0.7], [0.715], [1]]], seeds=[0, 1, 2]))
    assert (found.x, found.y, found.pooled) == ("", "", ["seed"])
    assert found.panels[0].best.tolist() == [[1]]
    assert found.panels[0].decided.tolist() == [[True]]
    np.testing.assert_allclose(found.panels[0].gain[:2, 0, 0], [0.1, 1.1])


def test_cells_are_the_units_where_settings_are_averaged_over():
    cells = [[[0.5], [0.6], [0.9]], [[0.6], [0.65], [0.9]], [[0.5], [0.57], [0.9]], [[0.1], [0.2], [0.3]]]
    found = maps(table(cells), x="eps", y="")
    assert found.y == "budget"
    one = table(cells)
    one.columns["budget"][:] = 3
    found = maps(one)
    assert (found.x, found.y) == ("eps", "")
    assert found.panels[0].best.tolist() == [[1, 1]]
    with pytest.raises(InputError, match=r"figures: budget has one value in this sweep; varied: eps"):
        maps(one, y="budget")


def test_a_setting_that_is_zipped_with_another_is_not_averaged_over():
    one = table([[[0.5], [0.6], [0.9]]] * 4)
    one.columns["latents"][:] = [2 + budget for budget in one.columns["budget"]]
    found = maps(one)
    assert (found.x, found.y, found.panel, found.pooled) == ("eps", "latents", "", [])
    one.columns["latents"][:] = [cell for cell in one.columns["cell"]]
    assert (maps(one).x, maps(one).y, maps(one).pooled) == ("latents", "", [])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    run_sweep(read_sweep(write(folder, SWEEP)), folder / "out")
    return folder / "out"


def test_a_table_is_in_order_of_cells_and_policies(finished):
    found = read_table(finished)
    assert found.columns["cell"].tolist() == [cell for cell in range(6) for _ in range(3)]
    assert found.columns["policy"].tolist() == ["IID", "BaseNoRepeat", "OracleNoRepeat"] * 6
    assert found.columns["strategies"].tolist() == [m for _ in range(3) for m in (2, 4) for _ in range(3)]
    assert list(found.varied) == ["exponent", "strategies"]
    two = [row for row, m in enumerate(found.columns["strategies"]) if m == 2]
    assert found.columns["gain"][two].tolist()[:3] == [0.0, 1.0, 1.0]
    assert found.columns["auc"][0] == pytest.approx(np.mean([1 - 0.5**k for k in range(1, 6)]))
    assert set(read_table(finished, ["final"]).columns) == {
        *("cell", "policy", "sees", "knows", "kind", "final"),
        *CELL_COLUMNS,
    }


def test_figures_and_summary_repeat_to_the_byte(finished, tmp_path):
    found = read_table(finished)
    laid = maps(found)
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        names = sweep_plots.write_sweep_figures(laid, tmp_path / place, "mine $x$")
    assert names == ["gain.png", "gain.svg"]  # IID is the only policy that sees no oracle: nobody to beat
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    told = sweep_summary.sweep_document(found, laid)
    assert told["maps"] == {
        **{"x": "exponent", "y": "strategies", "panel": "", "mean_over": []},
        **{"places": 6, "undecided": 0},
    }
    base = told["policies"][1]
    assert (base["policy"], base["wins"], base["rival"], base["gain"]) == ("BaseNoRepeat", 0, False, 1.0)
    text = sweep_summary.sweep_text(told)
    assert max(map(len, text.splitlines())) <= 80
    assert "exponent (3), strategies (2)" in " ".join(text.split())


def test_gain_maps_show_numbers_and_grey_for_none():
    panel = maps(table([[[0.5], [0.6], [0.9]]] * 4)).panels[0]
    ax = sweep_plots.plot_gain_map(panel, 1, x="eps", y="budget")
    assert [text.get_text() for text in ax.texts] == ["1.00", "1.10", "1.20", "1.30"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("eps", "budget")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "0.1"]
    assert not sweep_plots.plot_gain_map(panel, 2).texts


def test_regimes_hatch_what_is_undecided_and_mark_who_wins():
    cells = [[[0.5], [0.6], [0.9]], [[0.6], [0.5], [0.9]], [[0.5], [0.5], [0.9]], [[0.1], [0.2], [0.3]]]
    found = maps(table(cells))
    ax = sweep_plots.plot_regimes(found.panels[0], found)
    assert [(patch.get_x(), patch.get_y(), patch.get_hatch()) for patch in ax.patches] == [
        (-0.5, 0.5, "////")
    ]
    assert [line.get_marker() for line in ax.lines] == ["s", "o", "o", "s"]


def test_one_setting_gives_lines_and_none_gives_nothing(tmp_path):
    cells = [[[0.5], [0.6], [0.9]], [[0.6], [0.65], [0.9]]]
    names = ["gain.png", "gain.svg", "regimes.png", "regimes.svg"]
    assert tuple(names) == FIGURES  # of an earlier run they go
    assert sweep_plots.write_sweep_figures(maps(table([*cells, *cells])), tmp_path) == names
    one = table(cells)
    one.columns["budget"][:] = 3
    assert sweep_plots.write_sweep_figures(maps(one), tmp_path) == ["gain.png", "gain.svg"]
    alone = table(cells[:1])
    assert sweep_plots.write_sweep_figures(maps(alone), tmp_path) == []
