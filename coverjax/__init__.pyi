from ._version import __version__ as __version__

from .curves import Curves as Curves
from .estimators.rarefaction import estimate as estimate
from .estimators.resampling import SampleInterval as SampleInterval
from .estimators.resampling import sample_interval as sample_interval
from .estimators.utility import patience_utility as patience_utility
from .foundation.checks import InputError as InputError
from .logs.counts import CountTable as CountTable
from .logs.log import SampleLog as SampleLog
from .model import families as families
from .model.law import OutcomeLaw as OutcomeLaw
from .model.router_generator import RouterGenerator as RouterGenerator
