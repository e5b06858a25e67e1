"""Many cells - families, sizes, budgets, seeds - and every policy in each: computed in parts that survive."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
