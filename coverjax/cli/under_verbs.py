"""A verb with verbs under it: `coverjax sequences fit`, `coverjax corrections run`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from coverjax.foundation.checks import InputError, shown


def run_under_verb(
    name: str,
    about: str,
    verbs: Mapping[str, tuple[Any, Callable[[Any], None]]],
    read: Callable[[Any, str, Sequence[str]], Any],
    argv: Sequence[str],
) -> None:
    """Run the verb that the first argument names, or print what there is.

    Args:
        name: the verb above.
        about: what it is for, a line of its help.
        verbs: for each verb its options, a dataclass whose first line of docstring is its help, and what
            runs it.
        read: makes options of their class, the words after `coverjax` and the arguments.
        argv: the words after the verb above.

    Raises:
        InputError: there is no such verb; or as `read` and the verb do.
    """
    asked = argv[0] if argv else "--help"
    if asked in ("-h", "--help"):
        print(_help(name, about, verbs))
        return
    if asked not in verbs:
        raise InputError(
            f"coverjax {name}: must be followed by {', '.join(verbs)}; got {shown(asked)}; see "
            f"coverjax {name} --help"
        )
    options, command = verbs[asked]
    command(read(options, f"{name} {asked}", argv[1:]))


def _help(name: str, about: str, verbs: Mapping[str, tuple[Any, Any]]) -> str:
    width = max(map(len, verbs)) + 1
    return "\n".join(
        [
            f"usage: coverjax {name} VERB ...      coverjax {name} VERB --help",
            "",
            about,
            "",
            "verbs",
            *(f"  {verb:<{width}}{options.__doc__.splitlines()[0]}" for verb, (options, _) in verbs.items()),
        ]
    )
