"""Every notebook runs, warnings are errors, and what it says is asserted in it."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs(path, tmp_path):
    environment = os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert list(tmp_path.iterdir()) == [], "a notebook leaves nothing behind"


def test_notebooks_end_in_assertions_and_lead_to_each_other():
    assert len(NOTEBOOKS) >= 6
    names = {path.name for path in NOTEBOOKS}
    for path in NOTEBOOKS:
        text = path.read_text()
        cells = re.split(r"^# %%", text, flags=re.M)
        assert sum("assert " in cell for cell in cells) >= 3, path.name
        assert text.startswith("# ---\n# jupyter:"), path.name
        assert set(re.findall(r"\]\((\w+\.py)\)", text)) <= names, path.name
