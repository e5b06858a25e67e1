"""What `cj.routing` offers."""

import pathlib
import subprocess
import sys

import coverjax as cj

FOLDER = pathlib.Path(cj.__file__).parent / "routing"


def test_every_name_is_there_with_a_docstring():
    for name in cj.routing.__all__:
        assert getattr(cj.routing, name).__doc__, name


def test_no_module_bears_the_name_of_a_function():
    modules = {path.stem for path in FOLDER.glob("*.py")}
    assert not set(cj.routing.__all__) & modules


def test_names_that_callers_use():
    names = {"regret_bounds", "contrast_bounds", "plan", "balanced_partition", "ternary_bootstrap_interval"}
    assert names <= set(cj.routing.__all__)
    assert cj.routing.ternary_bootstrap_interval(68, 7, 225) == (46, 77)


def test_importing_it_loads_nothing_heavy():
    code = "import sys, coverjax; coverjax.routing; print({'jax', 'duckdb', 'matplotlib'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
