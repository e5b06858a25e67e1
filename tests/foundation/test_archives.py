"""Whatever is in a file of arrays, or was, it is one line that names the file."""

import jax.numpy as jnp
import numpy as np
import pytest

from coverjax.foundation.archives import ARRAY_FAULTS, open_arrays
from coverjax.foundation.checks import InputError
from coverjax.learning.checkpoints import read_checkpoint, write_checkpoint
from coverjax.policy.networks import TabularLogits
from coverjax.policy.saving import read_network, write_network


def checkpoint(path):
    write_checkpoint(path, "a training", 3, [jnp.arange(40.0)], {"step": [1, 2]})
    return lambda: read_checkpoint(path, "a training", [jnp.zeros(40)], {"step": []})


def network(path):
    write_network(path, TabularLogits(jnp.ones((2, 3, 4))), {"sees": "blind"})
    return lambda: read_network(path)


def flipped(content, place):
    return content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]


@pytest.mark.parametrize("made", [checkpoint, network])
def test_a_damaged_file_is_one_line_that_names_it(made, tmp_path):
    path = tmp_path / "some.npz"
    read = made(path)
    content = path.read_bytes()
    places = [*range(0, len(content), 7), len(content) - 1]
    wrong = [b"", b"text", b"PK\x03\x04", *(content[:place] for place in places)]
    wrong += [flipped(content, place) for place in places]
    named = 0
    for other in wrong:
        path.write_bytes(other)
        try:
            read()
        except InputError as error:
            named += str(error).startswith(f"{path}: ") and "\n" not in str(error)
        else:
            named += len(other) == len(content)  # a byte that says nothing, such as a date
    assert named == len(wrong)
    path.write_bytes(content)
    read()


def test_other_arrays_are_other_arrays(tmp_path):
    path = tmp_path / "some.npz"
    np.savez(path, a=np.arange(3))
    with open_arrays(path) as file:
        assert file["a"].tolist() == [0, 1, 2]
    for read in (lambda: read_network(path), lambda: read_checkpoint(path, "it", [], {})):
        with pytest.raises(InputError, match=r"some\.npz"):
            read()
    assert issubclass(KeyError, ARRAY_FAULTS)
