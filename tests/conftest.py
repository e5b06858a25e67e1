"""JAX as users have it (x64 off), but strict: warnings are errors, a key is used once, settings stay alone.

`COVERJAX_X64=1` turns x64 on: the second lane. `COVERJAX_SHARED=required` makes a missing data folder a
failure instead of a skip.
"""

import os
import pathlib
import zlib

import jax
import matplotlib.figure
import numpy as np
import pytest
from whole_figures import cut_off

jax.config.update("jax_enable_x64", os.environ.get("COVERJAX_X64") == "1")
jax.config.update("jax_platforms", os.environ.get("JAX_PLATFORMS", "cpu"))
jax.config.update("jax_debug_key_reuse", True)

_SETTINGS = ("jax_enable_x64", "jax_numpy_rank_promotion", "jax_numpy_dtype_promotion")
_DATA = pathlib.Path(os.environ.get("COVERJAX_DATA", pathlib.Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(autouse=True)
def restored_config():
    """Leave JAX's configuration as it was, whatever a test does."""
    before = {name: getattr(jax.config, name) for name in _SETTINGS}
    yield
    changed = [name for name, value in before.items() if getattr(jax.config, name) != value]
    for name, value in before.items():
        jax.config.update(name, value)
    assert not changed, f"a test or the library changed {changed}"


@pytest.fixture(autouse=True, scope="session")
def whole_figures():
    """Look at every figure that a test writes: nothing on it may be cut off."""
    write = matplotlib.figure.Figure.savefig

    def savefig(figure, place, **settings):
        write(figure, place, **settings)
        if str(place).endswith(".png"):
            figure.draw_without_rendering()  # in the figure's own resolution, which the words are measured in
            assert cut_off(figure) == [], place

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matplotlib.figure.Figure, "savefig", savefig)
        yield


@pytest.fixture(scope="session")
def shared_data() -> pathlib.Path:
    """The folder of real logs with values to reach, which lies beside a checkout and not in it."""
    if _DATA.is_dir():
        return _DATA
    reason = f"needs the real data at {_DATA}"
    if os.environ.get("COVERJAX_SHARED") == "required":
        pytest.fail(f"{reason}, and COVERJAX_SHARED=required")
    pytest.skip(reason)


@pytest.fixture
def rng(request) -> np.random.Generator:
    """A NumPy generator named after the test, so that no test's numbers depend on another's."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture
def key(request) -> jax.Array:
    """A JAX key named after the test."""
    return jax.random.key(zlib.crc32(request.node.nodeid.encode()))
