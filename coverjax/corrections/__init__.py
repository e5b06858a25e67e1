"""Corrections to competence: how many reviewed corrections until a concept is competent.

A system is taught a curriculum one correction at a time and asked one fixed probe after each, fresh every
time and twice. Names are loaded when first used.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
