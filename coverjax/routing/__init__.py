"""Routing: is the chosen team as good as the best one, and can a table of executed teams tell?

A router chooses a team for each task. Given what teams scored under one downstream stack, these functions
say what is known of the router's value, its regret and its contrast with another, as a point where the
table identifies it and as a sharp interval where it does not; which rows to execute next; and what randomly
executed rows estimate. docs/routing.md has the definitions.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
