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
    try:
        call = ast.parse(f"f({found['settings'] or ''})", mode="eval").body
        assert isinstance(call, ast.Call)
        if any(word.arg is None for word in call.keywords):
            raise ValueError
        values = [ast.literal_eval(value) for value in call.args]
        settings = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError):
        raise InputError(f"policy: {shown(text)}: settings must be name=value, plain values") from None
    try:
        return kind(*values, **settings)
    except TypeError:
        known = ", ".join(inspect.signature(kind).parameters) or "none"
        raise InputError(f"policy: {shown(text)}: the settings of {found['name']} are: {known}") from None
