"""`Curves` as tables, and what they refuse."""

import numpy as np
import pytest
from sample_logs import flagged_log, random_log

import coverjax as cj


def test_rows_hold_every_curve():
    curves = cj.utility_curves(flagged_log(inputs=3, samples=4))
    rows = curves.to_rows()
    assert len(rows) == 3 * 4
    assert [row["k"] for row in rows[:4]] == [1, 2, 3, 4]
    assert [row["input"] for row in rows[::4]] == [0, 1, 2]
    np.testing.assert_array_equal([row["coverage"] for row in rows], curves.coverage.ravel())
    np.testing.assert_array_equal([row["pass_at_k"] for row in rows], curves.utility["pass_at_k"].ravel())
    full = cj.estimate(random_log(inputs=3, samples=4)).to_rows()[0]
    assert {"full_coverage", "novelty_any", "undeclared", "coverage_subset_sd"} <= set(full)
    assert all(type(row["declared"]) is int for row in rows)


def test_parquet_holds_the_same(tmp_path):
    import duckdb

    curves = cj.estimate(random_log(inputs=3, samples=4, ids=["a'b", "é", "c"]))
    path = tmp_path / "it's.parquet"
    curves.to_parquet(path)
    relation = duckdb.read_parquet(str(path))
    assert relation.columns == list(curves.columns())
    table = relation.fetchnumpy()
    assert table["input"].tolist()[::4] == ["a'b", "é", "c"]
    for name, column in curves.columns().items():
        if column.dtype.kind == "f":
            np.testing.assert_array_equal(table[name], column)
    assert [file.name for file in tmp_path.iterdir()] == ["it's.parquet"]


def test_parquet_is_whole_or_not_there(tmp_path, monkeypatch):
    curves = cj.estimate(random_log(inputs=2, samples=3))
    (tmp_path / "old.parquet").write_text("old")
    monkeypatch.setattr("os.replace", lambda *a: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(OSError, match="no"):
        curves.to_parquet(tmp_path / "old.parquet")
    assert (tmp_path / "old.parquet").read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["old.parquet"]
    with pytest.raises(cj.InputError, match="must be a place that can be written to"):
        curves.to_parquet(tmp_path / "no" / "such" / "folder.parquet")


def test_pandas_holds_the_same():
    pandas = pytest.importorskip("pandas")
    curves = cj.estimate(random_log(inputs=2, samples=3))
    frame = curves.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    np.testing.assert_array_equal(frame["coverage"], curves.coverage.ravel())


def test_a_curve_by_its_name():
    curves = cj.estimate(random_log(inputs=2, samples=3), include=())
    np.testing.assert_array_equal(curves.curve("distinct"), curves.distinct)
    with pytest.raises(cj.InputError, match="full_coverage: these curves of '' hold no full_coverage"):
        curves.curve("full_coverage")
    with pytest.raises(cj.InputError, match="quantity: must be one of coverage"):
        curves.curve("auc")
