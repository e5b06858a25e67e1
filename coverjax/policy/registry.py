"""The policies by name, and a user's own as `module:Class`."""

import ast
import inspect
import re
from typing import Any

from coverjax.foundation.checks import InputError, shown
from coverjax.foundation.modules import user_module
from coverjax.policy.good_ucb import GoodUCB
from coverjax.policy.greedy import GreedyLatent
from coverjax.policy.iid import IID
from coverjax.policy.latent import LatentIID, LatentNoRepeat
from coverjax.policy.learned import LearnedLatent
from coverjax.policy.no_repeat import BaseNoRepeat
from coverjax.policy.optimal import OptimalLatent
from coverjax.policy.oracle import EnvelopeOracle, OracleNoRepeat
from coverjax.policy.schedule import LatentSchedule
from coverjax.policy.stage import require_protocol

_CLASSES = (
    IID,
    OracleNoRepeat,
    EnvelopeOracle,
    BaseNoRepeat,
    LatentIID,
    LatentNoRepeat,
    LatentSchedule,
    GreedyLatent,
    OptimalLatent,
    GoodUCB,
    LearnedLatent,
)


TRAINED = ".npz"
"""How the file of a trained policy ends."""

_WRITTEN = re.compile(r"(?P<name>[\w.:]+)(?:\((?P<settings>.*)\))?", re.DOTALL)


def policies() -> dict[str, type]:
    """Return the policies by name.

    >>> sorted(name for name, policy in policies().items() if policy.sees == "blind")
    ['IID', 'LatentIID', 'LatentSchedule']
    """
    return {policy.__name__: policy for policy in _CLASSES}


def policy_class(name: str) -> type:
    """Return a policy class by its name, or a user's own by `module:Class`.

    The module is looked for in the current folder too.

    Raises:
        InputError: there is no such policy, module or class, or the class does not follow the protocol.
    """
    if name in policies():
        return policies()[name]
    module_name, colon, class_name = name.partition(":")
    if not colon:
        raise InputError(f"policy: must be one of {', '.join(policies())} or module:Class; got {shown(name)}")
    if not module_name or module_name.startswith("."):
        raise InputError(f"policy: must be written module:Class; got {shown(module_name)}")
    found = getattr(user_module(module_name, "policy"), class_name, None)
    if not isinstance(found, type):
        raise InputError(f"policy: module {module_name} must hold a class {class_name}; it holds none")
    require_protocol(found)
    return found


def written_policy(text: str) -> Any:
    """Return the policy that a text such as ``LatentNoRepeat(order='router')`` or ``module:Class`` names.

    Settings are plain values; no code is run but that of the policy's class. A text that ends in .npz is the
    file of a trained policy: ``learned/policy.npz`` is ``LearnedLatent('learned/policy.npz')``.

    Raises:
        InputError: the text is written otherwise, there is no such policy, or it has no such settings.

    >>> written_policy("GoodUCB(c=1.0)").c
    1.0
    """
    if text.endswith(TRAINED):
        return LearnedLatent(text)
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise InputError(f"policy: must be Name or Name(setting=value, ...); got {shown(text)}")
    kind = policy_class(found["name"])
    values, settings = _settings(text, found["settings"] or "")
    try:
        return kind(*values, **settings)
    except InputError:
        raise
    except TypeError:
        known = ", ".join(inspect.signature(kind).parameters) or "none"
        raise InputError(f"policy: {shown(text)}: the settings of {found['name']} are: {known}") from None
    except Exception as error:  # whatever the user's own class raises
        told = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(f"policy: {shown(text)}: {found['name']} can't be made of it; {told}") from error


def _settings(text: str, written: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the settings that stand between the brackets, those by place and those by name."""
    wrong = InputError(f"policy: {shown(text)}: settings must be name=value, plain values, each name once")
    try:
        call = ast.parse(f"f({written}\n)", mode="eval").body
        # `c=1)(c=2` and `c=1) + f(2` are other expressions
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise wrong
        names = [word.arg for word in call.keywords]
        if None in names or len(set(names)) < len(names):
            raise wrong
        values = [ast.literal_eval(value) for value in call.args]
        return values, {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise wrong from None
