"""The numbers of a sweep are those of `exact` and `simulate`, cell by cell."""

import dataclasses
import math

import jax
import numpy as np
import pytest
from sweep_files import SIMULATED, SMALL, write

import coverjax as cj
from coverjax.foundation.checks import InputError
from coverjax.model.named import named_family
from coverjax.sweep import evaluation, read_sweep
from coverjax.sweep.estimates import estimated
from coverjax.sweep.evaluation import identity, part_rows, row_columns
from coverjax.sweep.forms import exact_curves, require_exact
from coverjax.sweep.inputs import inputs_of
from coverjax.sweep.measures import columns, curves_needed
from coverjax.sweep.parquet import parquet_bytes

NAMES = ["gain", "gain_split", "final", "full", "distinct", "latents", "curve", "time:0.5", "time:1"]
METRICS = f"metrics = {NAMES}\n"
EXACT = SMALL.replace("part = 4", "part = 7").replace("budget = 6\n", f"budget = 6\ninputs = 2\n{METRICS}")


def rows_of(sweep) -> list[dict]:
    found = []
    for part in sweep.parts:
        table = part_rows(sweep, part)
        assert list(table) == row_columns(sweep)
        found += [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    return found


@pytest.mark.slow
def test_exact_cells_are_what_exact_says(tmp_path):
    sweep = read_sweep(write(tmp_path, EXACT))
    rows = rows_of(sweep)
    assert [(row["cell"], row["policy"]) for row in rows] == [
        (cell, policy) for cell in range(10) for policy in sweep.policies
    ]
    include = ("default", "count_law")
    for row in rows[::7]:
        cell = sweep.cells[row["cell"]]
        model = cj.families.confusion(2, 3, cell["eps"], cj.families.zipf(1, 3, cell["imbalance"]).probs[0])
        policy = {"IID": cj.IID, "OracleNoRepeat": cj.OracleNoRepeat, "LatentNoRepeat": cj.LatentNoRepeat}
        curves = cj.exact(policy[row["policy"]](), model, 6, include=include)
        iid, oracle = cj.exact(cj.IID(), model, 6), cj.exact(cj.OracleNoRepeat(), model, 6)
        common, rare = cj.gain_split(curves, iid, oracle)
        half = cj.time_to_coverage(curves, 0.5).pooled
        expected = {
            "auc": cj.auc(curves).mean(),
            "gain": cj.gain(curves, iid, oracle).mean(),
            "gain_common": common.mean(),
            "gain_rare": rare.mean(),
            "final": curves.coverage[:, -1].mean(),
            "full": curves.full_coverage[:, -1].mean(),
            "distinct": curves.distinct[:, -1].mean(),
            "time_0.5": half.mean,
            "never_0.5": half.censored,
            "never_1": 1 - curves.full_coverage[:, -1].mean(),
        }
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-13)
        np.testing.assert_allclose(row["curve"], curves.coverage[0], atol=1e-14)
        np.testing.assert_allclose(row["auc_by_input"], cj.auc(curves), atol=1e-14)
        assert row["latents_used"] == pytest.approx(1.0) or row["policy"] != "LatentNoRepeat"
        assert math.isnan(row["auc_mc_error"])
        assert (row["kind"], row["sees"]) == ("exact", curves.provenance["sees"])


@pytest.mark.slow
def test_simulated_cells_do_not_depend_on_what_they_are_stacked_with(tmp_path):
    together = read_sweep(write(tmp_path, SIMULATED))
    alone = read_sweep(write(tmp_path, SIMULATED.replace("part = 3", "part = 1"), "alone.toml"))
    drawn = [row for row in rows_of(together) if row["policy"] == "LatentNoRepeat"]
    assert drawn == [row for row in rows_of(alone) if row["policy"] == "LatentNoRepeat"]
    assert {row["kind"] for row in drawn} == {"simulated"}
    assert len({tuple(row["auc_by_input"]) for row in drawn}) == 3
    cell = together.cells[1]
    model = named_family("confusion", inputs=2, strategies=4, eps=0.2)
    ids = [f"{identity(cell)}|{place}" for place in range(2)]
    named = cj.RouterGenerator(model.router, model.generator, ids=ids)
    curves = cj.simulate(jax.random.key(0), cj.LatentNoRepeat(), named, 8, 16, include="mc_stderr")
    assert drawn[1]["auc_by_input"] == cj.auc(curves).tolist()
    errors = curves.mc_stderr.coverage.mean(axis=1)
    assert drawn[1]["auc_mc_error"] == pytest.approx(np.sqrt((errors**2).sum()) / 2)


def test_a_dirichlet_cell_is_the_law_of_the_command_line():
    first = named_family("dirichlet", inputs=2, strategies=3, seed=5, concentration=0.3)
    np.testing.assert_array_equal(first.probs, cj.families.dirichlet(jax.random.key(5), 2, 3, 0.3).probs)


@pytest.mark.parametrize(
    ("name", "settings", "row"),
    [
        ("uniform", {"strategies": 2}, [0.5, 0.5]),
        ("zipf", {"strategies": 2, "exponent": 1.0}, [2 / 3, 1 / 3]),
        ("geometric", {"strategies": 2, "ratio": 0.25}, [0.8, 0.2]),
        ("two_tier", {"strategies": 3, "common": 1, "common_mass": 0.5}, [0.5, 0.25, 0.25]),
    ],
)
def test_named_families(name, settings, row):
    np.testing.assert_allclose(named_family(name, **settings).probs, [row], atol=1e-15)


def test_named_confusion_has_latents_and_an_uneven_router():
    model = named_family("confusion", strategies=2, eps=0.1, imbalance=1.0, latents=3)
    np.testing.assert_allclose(model.router, [[6 / 11, 3 / 11, 2 / 11]])
    np.testing.assert_allclose(model.generator[0], [[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]])
    fewer = named_family("confusion", strategies=3, eps=0.2, latents=2)
    np.testing.assert_allclose(fewer.generator[0], [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]])
    with pytest.raises(InputError, match="family: must be one of uniform"):
        named_family("none")
    with pytest.raises(InputError, match="common: must be at least 1 and below strategies, 3; got 3"):
        named_family("two_tier", strategies=3, common=3)


@pytest.mark.parametrize(
    ("policy", "strategies", "has"),
    [
        (cj.IID(), 32, {"full_coverage", "strategy_auc", "count_law"}),
        (cj.IID(), 10_000, {"full_coverage", "strategy_auc"}),
        (cj.LatentIID(), 32, {"full_coverage", "strategy_auc", "count_law", "latent_coverage"}),
        (cj.LatentNoRepeat(), 16, {"full_coverage", "strategy_auc", "count_law", "latent_coverage"}),
        (cj.LatentNoRepeat(), 17, {"strategy_auc", "latent_coverage"}),
        (cj.EnvelopeOracle(), 4, {"full_coverage"}),
        (cj.OracleNoRepeat(), 99, {"full_coverage", "strategy_auc", "count_law"}),
    ],
)
def test_which_curves_there_are_is_told_from_shapes(policy, strategies, has):
    names = ("full_coverage", "strategy_auc", "count_law", "latent_coverage")
    assert set(exact_curves(policy, strategies, names)) == has
    require_exact(policy, strategies)


@pytest.mark.slow
def test_what_is_promised_is_there_and_what_is_not_is_null(tmp_path):
    """17 strategies: full coverage of no-repeat latents is beyond the lattice whatever the cells are."""
    text = SMALL.replace("strategies = 3", f"strategies = 17\n{METRICS}").replace("steps = 5", "steps = 2")
    rows = rows_of(read_sweep(write(tmp_path, text.replace("[0.0, 1.0]", "[0.0]"))))
    latent = [row for row in rows if row["policy"] == "LatentNoRepeat"]
    assert all(math.isnan(row["full"]) and math.isnan(row["time_0.5"]) for row in latent)
    assert all(0 < row["gain"] <= 1 + 1e-12 for row in latent)
    assert all(row["full"] == 0.0 for row in rows if row["policy"] == "IID")


def test_columns_and_what_they_need():
    assert columns(["final"]) == ["auc", "auc_mc_error", "auc_by_input", "final", "final_mc_stderr"]
    assert curves_needed(["auc", "gain", "final"]) == ()
    assert curves_needed(["time:0.5", "full"]) == ("full_coverage", "count_law")
    for all_of_them in ("time:1", "time:1.0", "time:1e0"):
        assert curves_needed([all_of_them]) == ("full_coverage",)
    assert columns(["time:0.12345678"])[-2:] == ["time_0.12345678", "never_0.12345678"]
    assert columns(["time:0.1234567", "time:0.1234568"])[-2:] == ["time_0.1234568", "never_0.1234568"]


def test_times_are_there_however_the_number_is_written(tmp_path):
    text = SMALL.replace(', "LatentNoRepeat"', "").replace("steps = 5", "steps = 2")
    text = text.replace("part = 4", "part = 4\nmetrics = ['time:1.0', 'time:0.33333333333']")
    rows = rows_of(read_sweep(write(tmp_path, text)))
    curves = cj.exact(cj.IID(), cj.families.confusion(1, 3, 0.0), 6)
    assert rows[0]["never_1"] == pytest.approx(1.0 - curves.full_coverage[0, -1])
    assert all(row[name] >= 1.0 for row in rows for name in ("time_1", "time_0.33333333333"))


def test_the_references_are_computed_once_a_part(tmp_path, monkeypatch):
    """Though they are policies of the sweep too."""
    counted = []

    def counting(policy, *given, **named):
        counted.append(type(policy).__name__)
        return cj.exact(policy, *given, **named)

    monkeypatch.setattr(evaluation, "exact", counting)
    sweep = read_sweep(write(tmp_path, SMALL))
    rows = part_rows(sweep, sweep.parts[0])
    assert sorted(counted) == ["IID", "LatentNoRepeat", "OracleNoRepeat"]
    assert rows["gain"][:2] == [pytest.approx(0.0), pytest.approx(1.0)]


def test_inputs_are_cut_out_of_every_array(key):
    model = cj.families.confusion(5, 3, 0.2)
    curves = cj.simulate(key, cj.LatentIID(), model, 4, 8, include="all")
    curves = dataclasses.replace(curves, utility={"worth": curves.coverage + 1.0})
    cut = inputs_of(curves, slice(1, 3))
    assert (cut.inputs, cut.budgets.tolist(), cut.provenance) == (2, [1, 2, 3, 4], curves.provenance)
    for name in ("coverage", "count_law", "strategy_auc", "ids", "declared"):
        np.testing.assert_array_equal(getattr(cut, name), getattr(curves, name)[1:3])
    np.testing.assert_array_equal(cut.mc_stderr.coverage, curves.mc_stderr.coverage[1:3])
    np.testing.assert_array_equal(cut.utility["worth"], curves.coverage[1:3] + 1.0)


def test_parquet_of_equal_rows_is_equal_and_nan_is_null(tmp_path):
    import duckdb

    rows = {"cell": [0, 1], "policy": ["a", "b"], "common": [None, 3], "auc": [math.nan, 0.5]}
    rows["auc_by_input"] = [[0.1], [0.2, 0.3]]
    content = parquet_bytes(rows)
    assert content == parquet_bytes({name: list(values) for name, values in rows.items()})
    path = tmp_path / "x.parquet"
    path.write_bytes(content)
    found = duckdb.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
    assert found == [(0, "a", None, None, [0.1]), (1, "b", 3, 0.5, [0.2, 0.3])]


def test_an_estimate_grows_with_the_sweep(tmp_path):
    few = estimated(read_sweep(write(tmp_path, SMALL)))
    text = SMALL.replace("steps = 5", "steps = 5000").replace("strategies = 3", "strategies = 12")
    many = estimated(read_sweep(write(tmp_path, text)))
    assert (few.cells, few.rows, few.parts, few.structures) == (10, 30, 3, 1)
    assert many.cells == 10_000
    assert many.seconds > few.seconds
    assert many.bytes > 100 * few.bytes
    text = SIMULATED.replace("trials = 16", "trials = 10000000")
    assert estimated(read_sweep(write(tmp_path, text))).seconds > few.seconds
