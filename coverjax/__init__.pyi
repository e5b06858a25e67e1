from ._version import __version__ as __version__

from .curves import Curves as Curves
from .foundation.checks import InputError as InputError
from .logs.counts import CountTable as CountTable
from .logs.log import SampleLog as SampleLog
from .model import families as families
from .model.law import OutcomeLaw as OutcomeLaw
from .model.router_generator import RouterGenerator as RouterGenerator
