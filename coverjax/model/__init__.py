"""What can be sampled, per input: laws over outcomes, router-generators, and families of both."""

import lazy_loader as _lazy

# `coverjax.families` is this package's module, loaded when first used like every public name.
__getattr__, __dir__, __all__ = _lazy.attach(__name__, submodules=["families"])
