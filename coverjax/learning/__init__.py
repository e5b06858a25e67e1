"""Coverage as a training signal: objectives, policy training, advantages for reinforcement learning."""

import lazy_loader as _lazy

# `coverjax.objectives` is this package's module, loaded when first used like every public name.
__getattr__, __dir__, __all__ = _lazy.attach(__name__, submodules=["objectives"])
