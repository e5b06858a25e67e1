"""The house rules that a machine can check: what imports what, how large things are, who bears which name."""

import ast
import pathlib
import re
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).parents[1] / "coverjax"
LAYERS = [
    "_version",
    "foundation",
    "curves",
    "model",
    "policy",
    "closed_form",
    "montecarlo",
    "logs",
    "inference",
    "estimators",
    "metrics",
    "evaluation",
    "learning",
    "sequences",
    "routing",
    "corrections",
    "sweep",
    "report",
    "demo",
    "cli",
]
"""A folder or file imports only itself and what stands above it."""

STRANGERS = {"sequences", "routing", "corrections"}
"""These don't see each other."""

FILE_LINES = 400
FUNCTION_LINES = 60
NESTING = 4

FILES = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text()) for path in FILES}
NAMES = [str(path.relative_to(PACKAGE)) for path in FILES]


def layer_of(path: pathlib.Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_layers(tree: ast.AST) -> set[str]:
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {name.split(".")[1] for name in modules if name.startswith("coverjax.")}


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_imports_go_only_down_the_house(path):
    layer = layer_of(path)
    if layer in ("__init__", "__main__"):
        return
    assert layer in LAYERS, f"{layer} has no place in the layer table"
    for other in imported_layers(TREES[path]):
        assert other in LAYERS, f"{path} imports coverjax.{other}, which has no place in the layer table"
        assert LAYERS.index(other) <= LAYERS.index(layer), f"{path} imports {other}, which stands below it"
        assert not ({layer, other} <= STRANGERS and layer != other)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_files_and_functions_stay_small(path):
    lines = path.read_text().count("\n")
    assert lines <= FILE_LINES, f"{path.name} has {lines} lines: is it still one subject?"
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.FunctionDef):
            doc = ast.get_docstring(node, clean=False)
            length = node.end_lineno - node.lineno + 1 - (doc.count("\n") + 1 if doc else 0)
            assert length <= FUNCTION_LINES, f"{path.name}: {node.name} has {length} lines"


def depth(node: ast.AST, level: int = 0) -> int:
    nested = (ast.For, ast.While, ast.If, ast.With, ast.Try)
    deeper = [depth(child, level + isinstance(child, nested)) for child in ast.iter_child_nodes(node)]
    return max([level, *deeper])


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_code_is_not_deeply_nested(path):
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.FunctionDef):
            assert depth(node) <= NESTING, f"{path.name}: {node.name} nests deeper than {NESTING}"


def public_names() -> set[str]:
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    return {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_no_module_is_named_like_a_public_function():
    import coverjax

    functions = {name for name in public_names() if callable(getattr(coverjax, name))}
    modules = {path.stem for path in FILES if path.stem not in ("__init__", "__main__")}
    modules |= {path.name for path in PACKAGE.rglob("*") if path.is_dir()}
    # A module inside a folder shadows only names of that folder, and folders offer none; the top level does.
    top = {path.stem for path in PACKAGE.iterdir()}
    assert not functions & top
    verbs = {path.stem for path in (PACKAGE / "cli").iterdir()}
    assert not functions & (modules - verbs)


def test_every_public_name_has_a_docstring():
    import coverjax

    for name in public_names() - {"__version__"}:
        assert getattr(coverjax, name).__doc__, f"{name} has no docstring"
    assert set(coverjax.__all__) >= public_names() - {"__version__"}


def test_no_unresolved_shape_annotations():
    """`from __future__ import annotations` would turn jaxtyping's shapes into text that nobody checks."""
    for path in FILES:
        if "jaxtyping" in path.read_text():
            assert "from __future__ import annotations" not in path.read_text(), path


def test_import_loads_nothing_heavy():
    code = "import sys, coverjax; print(sorted({'jax', 'matplotlib', 'duckdb', 'numpy'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_version_is_written_once():
    import coverjax

    text = (PACKAGE / "_version.py").read_text()
    assert re.search(r'__version__ = "(.+)"', text).group(1) == coverjax.__version__
