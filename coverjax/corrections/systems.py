"""What a teachable system must offer, what it may answer, and how one is built fresh."""

import dataclasses
import functools
import hashlib
import importlib
import inspect
import json
import os
import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from coverjax.foundation.checks import InputError, listed, shown

FIELDS = ("surface", "walk_surface")
"""The text fields of an answer that are looked through for tokens unless others are named."""

BUILT_IN = {
    "memory": "coverjax.corrections.memories:AssociativeMemory",
    "noisy-memory": "coverjax.corrections.memories:NoisyMemory",
    "chat": "coverjax.corrections.chat:ChatSystem",
}
"""Names of the systems that come with coverjax."""


class System(Protocol):
    """A system that can be taught by one correction at a time and asked. A new one is built each time."""

    def teach(self, text: str) -> "bool | tuple[bool, str]":
        """Take one turn and return whether it was accepted, or (accepted, reason)."""
        ...

    def probe(self, text: str) -> Mapping[str, Any]:
        """Answer: text fields such as `surface`, `walk_surface`, and `vault_hits`, `trace_hash`.

        `vault_hits` is how many stored things were used, or None; `trace_hash` names everything that the
        answer depended on, so that a replay can be compared: an empty one is a failed probe.
        """
        ...


class UnavailableError(Exception):
    """Raised by a system that can't be reached: no answer of it, so the run stops and can be resumed."""


class AnswerError(Exception):
    """A system answered what no system may answer; the failure of one snapshot."""


def accepted(outcome: Any) -> tuple[bool, str]:
    """Return what `teach` said as (accepted, reason).

    Raises:
        AnswerError: it said neither.
    """
    flag, reason = outcome if isinstance(outcome, tuple) and len(outcome) == 2 else (outcome, "")
    if not isinstance(flag, bool | np.bool_):
        raise AnswerError(f"teach must return True, False or (accepted, reason); got {shown(outcome)}")
    return bool(flag), "" if reason is None else str(reason)


def checked_answer(answer: Any, fields: tuple[str, ...]) -> dict[str, Any]:
    """Return what `probe` answered as a plain dict that JSON can hold.

    Raises:
        AnswerError: it is no mapping, holds none of the fields, or a value of the wrong kind.
    """
    if not isinstance(answer, Mapping):
        raise AnswerError(f"probe must return a mapping of fields; got {shown(answer)}")
    plain = {str(name): value for name, value in answer.items()}
    texts = [name for name in fields if plain.get(name) is not None]
    if not texts:
        raise AnswerError(
            f"probe must return text in {' or '.join(fields)}; got the fields {listed(plain) or 'none'}"
        )
    for name in texts:
        if not isinstance(plain[name], str):
            raise AnswerError(f"{name} must be text; got {shown(plain[name])}")
    plain["vault_hits"] = _whole(plain.get("vault_hits"))
    trace = plain.get("trace_hash")
    plain["trace_hash"] = "" if trace is None else str(trace)
    try:
        return json.loads(json.dumps(plain, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise AnswerError(f"probe must return values that JSON can hold; {error}") from None


def _whole(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise AnswerError(f"vault_hits must be a whole number or None; got {shown(value)}")
    return int(value)


@dataclasses.dataclass(frozen=True)
class Factory:
    """How to build a system: a callable, or where to find one, and what to call it with.

    Attributes:
        target: a callable, `module:name`, or the name of a built-in system.
        settings: keyword arguments of every call.
    """

    target: "str | Callable[..., System]"
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """What to call the system in reports."""
        if isinstance(self.target, str):
            return self.target
        target = self.target.func if isinstance(self.target, functools.partial) else self.target
        named = getattr(target, "__qualname__", type(target).__qualname__)
        return f"{getattr(target, '__module__', '')}:{named}".removeprefix("__main__:")

    def load(self) -> "Callable[..., System]":
        """Return the callable.

        Raises:
            InputError: `module:name` names no callable.
        """
        return _found(self.target) if isinstance(self.target, str) else self.target

    def check(self, seeded: bool) -> None:
        """Raise unless the callable can be found and takes the settings, and `seed` where it is swept.

        Raises:
            InputError: it can't.
        """
        target = self.load()
        if not callable(target):
            raise InputError(f"system: must be a callable that builds one; got {shown(target)}")
        asked = {**self.settings, **({"seed": 0} if seeded else {})}
        try:
            inspect.signature(target).bind(**asked)
        except TypeError as error:
            raise InputError(
                f"system: {self.name} must take the settings {listed(asked) or 'none'}; {error}"
            ) from None
        except ValueError:
            return

    def facts(self) -> dict[str, Any]:
        """Return plain facts for provenance: the name, the settings, the hash of the module's file."""
        return {"name": self.name, "settings": dict(self.settings), "code_sha256": self._code()}

    def _code(self) -> str | None:
        target = self.load()
        module = sys.modules.get(getattr(target, "__module__", None) or "")
        path = getattr(module, "__file__", None)
        if path is None or not os.path.isfile(path):
            return None
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


@functools.lru_cache(maxsize=16)
def _found(spec: str) -> "Callable[..., System]":
    """Return what `module:name` names; modules of the working directory are found too."""
    place = BUILT_IN.get(spec, spec)
    module, colon, name = place.partition(":")
    if not (module and colon and name):
        raise InputError(
            f"system: must be {', '.join(BUILT_IN)} or module:name; got {shown(spec)}: write, say, "
            "mypackage.mymodule:MySystem"
        )
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(f"system: {shown(spec)} can't be imported; {why}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(f"system: {module} has no {name}; check the name after the colon")
        found = getattr(found, part)
    return found
