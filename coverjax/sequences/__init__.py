"""Sequences: a router-generator language model that learns strategies from text.

Names are loaded when first used: the tasks need no jax.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
