"""Logs are read in a notebook too, where duckdb looks for widgets that may not be there."""

import subprocess
import sys

KERNEL = """
import sys, types
sys.modules["ipywidgets"] = None
shell = types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = lambda: shell
import coverjax as cj, duckdb
try:
    duckdb.connect().execute("SET enable_progress_bar = false")
except duckdb.InvalidInputException:
    print("duckdb refuses here")
print(cj.read_log(sys.argv[1]).inputs, "inputs")
"""


def test_a_log_is_read_in_a_kernel_without_widgets(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("input,sample,strategies\nx,0,a\ny,0,b\n")
    # As code on the command line: a script has a __file__, and a kernel has none.
    done = subprocess.run([sys.executable, "-c", KERNEL, str(log)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == ["duckdb refuses here", "2 inputs"]
