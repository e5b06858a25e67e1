"""Things that a user names as `module:name`."""

import importlib
import os
import sys
from typing import Any

from coverjax.foundation.checks import InputError, shown


def user_module(name: str, what: str) -> Any:
    """Import a module of the user's, looked for in the current folder too.

    Args:
        name: the module, absolute.
        what: what is wanted of it, for messages: "labeler", say.

    Raises:
        InputError: there is no such module, or importing it raises.
    """
    here = os.getcwd()
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"{what}: module {shown(name)} must be importable; {error}") from error
    except Exception as error:  # whatever the user's own code raises, a SyntaxError too
        why = f"{type(error).__name__}: {error}"
        raise InputError(f"{what}: module {shown(name)} must be importable; {why}") from error
    finally:
        if added:
            sys.path.remove(here)


def named_thing(place: str, what: str) -> Any:
    """Return what `module:name` names.

    Args:
        place: the text.
        what: what is wanted, for messages: "labeler", say.

    Raises:
        InputError: the text is written otherwise, or there is no such module or name.
    """
    module_name, colon, name = place.partition(":")
    if not colon or not module_name or not name or module_name.startswith("."):
        raise InputError(f"{what}: must be written module:name; got {shown(place)}")
    module = user_module(module_name, what)
    if not hasattr(module, name):
        raise InputError(f"{what}: module {module_name} must hold {name}; it holds none")
    return getattr(module, name)
