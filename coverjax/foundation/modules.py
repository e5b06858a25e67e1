"""Things that a user names as `module:name`."""

import importlib
import os
import sys
from typing import Any

from coverjax.foundation.checks import InputError, shown


def named_thing(place: str, what: str) -> Any:
    """Return what `module:name` names; the module is looked for in the current folder too.

    Args:
        place: the text.
        what: what is wanted, for messages: "labeler", say.

    Raises:
        InputError: the text is written otherwise, or there is no such module or name.
    """
    module_name, colon, name = place.partition(":")
    if not colon or not module_name or not name or module_name.startswith("."):
        raise InputError(f"{what}: must be written module:name; got {shown(place)}")
    here = os.getcwd()
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise InputError(f"{what}: module {shown(module_name)} must be importable; {error}") from error
    finally:
        if added:
            sys.path.remove(here)
    if not hasattr(module, name):
        raise InputError(f"{what}: module {module_name} must hold {name}; it holds none")
    return getattr(module, name)
