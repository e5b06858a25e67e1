from .grid import Sweep as Sweep
from .hosts import on_hosts as on_hosts
from .reading import read_sweep as read_sweep
from .results import SweepTable as SweepTable
from .results import read_table as read_table
from .runner import SweepRun as SweepRun
from .runner import run_sweep as run_sweep
