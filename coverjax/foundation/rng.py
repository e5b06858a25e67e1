"""Random streams named by what they belong to, never by where it stands in an array.

An input's stream depends on the key and the input's id only, so results do not change with the
order of the inputs, the chunk size or the number of devices.
"""

import hashlib
from collections.abc import Iterable

import jax
import numpy as np


def stream_number(name: object) -> int:
    """Return the 32-bit number of a name: an int in 0..2^31-1 is its own, anything else is hashed."""
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= int(name) < 2**31:
        return int(name)
    digest = hashlib.blake2b(f"{type(name).__name__}:{name}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") | 2**31


def stream_numbers(names: Iterable[object]) -> np.ndarray:
    """Return the stream number of each name, uint32 [names]."""
    return np.array([stream_number(name) for name in names], dtype=np.uint32)


def input_keys(key: jax.Array, names: Iterable[object]) -> jax.Array:
    """Return one key per input, folded from its name, [inputs]."""
    return jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, stream_numbers(names))


def words(key: jax.Array, index: jax.Array) -> jax.Array:
    """Return 64 random bits as two uint32 words, named by the key and an index; the key is not used up.

    One evaluation of the generator: the bits that the folded key would consist of.
    """
    return jax.random.key_data(jax.random.fold_in(key, index))[..., :2]
