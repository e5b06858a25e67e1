"""A learned policy in a file: arrays and a header in one .npz, nothing that runs on loading."""

import json
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from coverjax._version import __version__
from coverjax.foundation.archives import ARRAY_FAULTS, open_arrays
from coverjax.foundation.checks import InputError, file_error
from coverjax.foundation.files import whole_file
from coverjax.policy.networks import MLP, Dense, SetNetwork, SubsetLogits, TabularLogits

FORMAT = "coverjax-policy-1"


def write_network(path: str | os.PathLike[str], network: Any, facts: dict[str, Any]) -> None:
    """Write a network of `coverjax.policy.networks` and plain facts about its policy.

    Raises:
        InputError: the network is the caller's own, or the place can't be written to.
    """
    if type(network) not in (TabularLogits, SubsetLogits, MLP, SetNetwork):
        raise InputError(
            "params: only networks of coverjax.policy.networks can be written; got "
            f"{type(network).__name__}; write it with equinox.tree_serialise_leaves"
        )
    header = {
        "format": FORMAT,
        "version": __version__,
        "network": type(network).__name__,
        "layers": len(getattr(network, "layers", getattr(network, "head", ()))),
        "horizon": getattr(network, "horizon", 0),
        **facts,
    }
    arrays = {f"array{place}": np.asarray(leaf) for place, leaf in enumerate(jax.tree.leaves(network))}
    with whole_file(path) as part, part.open("wb") as file:
        np.savez(file, **{"header": np.array(json.dumps(header)), **arrays})  # type: ignore[arg-type]


def read_network(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return the network of a file and its header.

    Raises:
        InputError: there is no such file, or it holds something else.
    """
    try:
        with open_arrays(path) as file:
            header = json.loads(str(file["header"]))
            arrays = [file[f"array{place}"] for place in range(len(file.files) - 1)]
        if header["format"] != FORMAT:
            raise KeyError(FORMAT)
        structure = jax.tree.structure(_hollow(header))
        network = jax.tree.unflatten(structure, [jnp.asarray(array) for array in arrays])
    except OSError as error:
        raise file_error(path, None, None, f"must be a policy file that can be read; {error}") from error
    except ARRAY_FAULTS as error:
        raise file_error(path, None, None, "must be a policy written by coverjax; it holds none") from error
    return network, header


def _hollow(header: dict[str, Any]) -> Any:
    """Return a network of the same structure, numbers in place of its arrays."""
    dense: Any = Dense(0.0, 0.0)  # type: ignore[arg-type]
    layers, horizon = (dense,) * header["layers"], header["horizon"]
    if header["network"] == "TabularLogits":
        return TabularLogits(0.0)  # type: ignore[arg-type]
    if header["network"] == "SubsetLogits":
        return SubsetLogits(0.0)  # type: ignore[arg-type]
    if header["network"] == "MLP":
        return MLP(layers, horizon)
    if header["network"] == "SetNetwork":
        return SetNetwork(dense, dense, dense, dense, layers, horizon)
    raise KeyError(header["network"])
