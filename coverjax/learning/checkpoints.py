"""Training that can be interrupted: the whole state in one file, whole or not at all."""

import functools
import hashlib
import json
import os
import pathlib
import re
import types
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from coverjax._version import __version__
from coverjax.foundation.archives import ARRAY_FAULTS, open_arrays
from coverjax.foundation.checks import InputError, file_error
from coverjax.foundation.files import whole_file

FORMAT = "coverjax-training-1"

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def described(value: Any, around: tuple[int, ...] = ()) -> str:
    """Return a text of a value that is the same in every process: no address stands in it.

    A function is told by its name, code, defaults and what it encloses; an object that wraps a function by
    that function; a structure of a tree node by node.

    Args:
        value: anything.
        around: of the functions that this is a part of; one that encloses itself is told once.
    """
    if id(value) in around:
        return "itself"
    parts = _parts(value)
    if parts is None:
        return _ADDRESS.sub("", repr(value))
    told = [described(part, (*around, id(value))) for part in parts]
    return f"({', '.join(sorted(told) if isinstance(value, set | frozenset) else told)})"


def _parts(value: Any) -> Iterable[Any] | None:
    """What a value is put together from; None where it is one thing."""
    if isinstance(value, jax.tree_util.PyTreeDef):
        return (value.node_data(), *value.children())
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return (value.__qualname__, value.__code__, value.__defaults__, value.__kwdefaults__, cells)
    if isinstance(value, types.CodeType):
        return (value.co_code, value.co_names, value.co_consts)
    if isinstance(value, functools.partial):
        return ("partial", value.func, value.args, value.keywords)
    if hasattr(value, "__wrapped__"):
        return ("wrapped", value.__wrapped__)
    if isinstance(value, dict):
        return value.items()
    return value if isinstance(value, tuple | list | set | frozenset) else None


def fingerprint(facts: dict[str, Any], arrays: Any) -> str:
    """Return a name of a training: its settings and every number that goes into it."""
    digest = hashlib.blake2b(json.dumps(facts, sort_keys=True, default=str).encode(), digest_size=16)
    for leaf in jax.tree.leaves(arrays):
        array = np.ascontiguousarray(leaf)
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def write_checkpoint(
    path: str | os.PathLike[str], name: str, step: int, state: Any, history: dict[str, Any]
) -> None:
    """Write the state after `step` updates, bit for bit.

    Raises:
        InputError: the place can't be written to.
    """
    header = {"format": FORMAT, "version": __version__, "training": name, "step": step}
    arrays = {f"state{place}": np.asarray(leaf) for place, leaf in enumerate(jax.tree.leaves(state))}
    told = {f"history_{key}": np.asarray(values) for key, values in history.items()}
    content: dict[str, Any] = {"header": np.array(json.dumps(header)), **arrays, **told}
    with whole_file(path) as part, part.open("wb") as file:
        np.savez(file, **content)


def read_checkpoint(
    path: str | os.PathLike[str], name: str, state: Any, history: dict[str, Any]
) -> tuple[int, Any, dict[str, Any]] | None:
    """Return the step, state and history of a checkpoint; None where there is no file yet.

    Args:
        name: the training that goes on.
        state: a state of the same structure.
        history: a history with the same names.

    Raises:
        InputError: the file is no checkpoint, or one of another training.
    """
    if not pathlib.Path(path).exists():
        return None
    leaves, structure = jax.tree.flatten(state)
    try:
        with open_arrays(path) as file:
            header = json.loads(str(file["header"]))
            if header["format"] != FORMAT:
                raise KeyError(FORMAT)
            if header["training"] != name:
                raise file_error(
                    path,
                    None,
                    "checkpoint",
                    "must be of this training (same key, model, budget, objective and settings); it is of "
                    "another; choose another file, or remove it",
                )
            arrays = [jnp.asarray(file[f"state{place}"]) for place in range(len(leaves))]
            told = {key: file[f"history_{key}"].tolist() for key in history}
    except InputError:  # also a ValueError
        raise
    except ARRAY_FAULTS as error:
        raise file_error(path, None, "checkpoint", f"must be a checkpoint of coverjax; {error}") from error
    return int(header["step"]), jax.tree.unflatten(structure, arrays), told
