"""How fast does a sampler cover the strategies of an input, and how much better could it do?

Names are loaded when first used: ``import coverjax`` loads neither jax nor matplotlib nor duckdb.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
