"""NumPy, JAX and torch arrays under one body: the few calls in which they differ.

torch is imported only when a torch tensor came in.
"""

import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Kind(NamedTuple):
    """The array library of a caller.

    Attributes:
        name: "numpy", "jax" or "torch".
        xp: its namespace: numpy, jax.numpy or torch.
        wide: the widest float that it offers here: float64, but JAX's by its x64 flag.
        device: where torch tensors live, else None.
    """

    name: str
    xp: Any
    wide: Any
    device: Any = None

    def array(self, values: Any, dtype: Any = None) -> Any:
        """Return values as an array of this kind, on the same device."""
        if self.name == "torch":
            return self.xp.as_tensor(values, dtype=dtype, device=self.device)
        return self.xp.asarray(values, dtype=dtype)

    def arange(self, size: int) -> Any:
        """Return 0..size-1 in the wide float."""
        return self.array(np.arange(size), self.wide)

    def cast(self, array: Any, dtype: Any) -> Any:
        """Return an array in another dtype."""
        return array.to(dtype) if self.name == "torch" else array.astype(dtype)

    def entries(self, array: Any, index: Any) -> Any:
        """Return the entries of the last axis at `index`."""
        if self.name == "torch":
            return self.xp.take_along_dim(array, self.cast(index, self.xp.int64), -1)
        return self.xp.take_along_axis(array, self.cast(index, np.int32), -1)

    def is_bool(self, array: Any) -> bool:
        """Whether an array holds flags."""
        return bool(array.dtype == (self.xp.bool if self.name == "torch" else np.bool_))

    def is_floating(self, array: Any) -> bool:
        """Whether an array holds floats, half precision included."""
        if self.name == "torch":
            return bool(array.dtype.is_floating_point)
        return bool(jnp.issubdtype(array.dtype, jnp.floating))

    def known(self, array: Any) -> bool:
        """Whether the numbers are there: not while JAX traces a function."""
        return not isinstance(array, jax.core.Tracer)


def kind_of(array: Any) -> Kind:
    """Return the kind of an array; lists and whatever else NumPy takes count as NumPy."""
    if isinstance(array, jax.Array):
        return Kind("jax", jnp, jax.dtypes.canonicalize_dtype(np.float64))
    torch = sys.modules.get("torch")  # a tensor can't come from a module that was never imported
    if torch is not None and isinstance(array, torch.Tensor):
        # Apple's GPU has no float64.
        wide = torch.float32 if array.device.type == "mps" else torch.float64
        return Kind("torch", torch, wide, array.device)
    return Kind("numpy", np, np.float64)
