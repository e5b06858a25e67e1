"""Float64 kernels in a process that leaves JAX's global x64 flag alone.

A float64 JAX array used outside an x64 context silently becomes float32, so results leave
these kernels as NumPy arrays.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def float64_kernel(
    function: "Callable[..., Any] | None" = None, *, static: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """Compile `function` so that it computes in float64 whatever the caller's flags are.

    Python and NumPy arguments enter as they are (give float64 arrays); every array of the result
    leaves as a NumPy array. The compiled function is offered as ``.jitted``, to count its
    compilations.
    """
    if function is None:
        return functools.partial(float64_kernel, static=static)
    jitted = jax.jit(function, static_argnames=static)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with jax.enable_x64(True):
            return jax.tree.map(np.asarray, jitted(*args, **kwargs))

    call.jitted = jitted  # type: ignore[attr-defined]
    return call
