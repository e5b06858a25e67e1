"""Parts as Ray tasks, on a cluster that is there or one started here. Ray is the extra `cluster`."""

import socket
import warnings
from collections.abc import Sequence
from typing import Any

from coverjax.foundation.checks import InputError
from coverjax.sweep.executors import Made, Stopping
from coverjax.sweep.making import Maker, Order

LOCAL = "local"
"""The address that starts Ray in this machine, with `--workers` processes."""

SECONDS = 10.0
"""How long a cluster may take to answer."""

RETRIES = 3
"""How often Ray makes a part again whose worker was lost."""


def in_ray(order: Order, parts: Sequence[int], stopping: Stopping, address: str, workers: int) -> Made:
    """Make parts as Ray tasks; the bytes come back, so no file system needs to be shared.

    Each machine needs coverjax in the same versions. Modules of the user's own policies travel as text.

    Args:
        order: from `order_of`.
        parts: their numbers.
        stopping: whether to hand out no more.
        address: "auto", "ray://host:port", "host:port" or "local".
        workers: processes of a cluster that is started here.

    Raises:
        InputError: Ray is not installed or no cluster answers; a worker was lost again and again, or is not
            like this process.
    """
    ray = _ray()
    began = not ray.is_initialized()
    if began:
        _connect(ray, address, workers)
    try:
        yield from _tasks(ray, order, parts, stopping)
    finally:
        if began:
            ray.shutdown()


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise InputError(
            "--ray: needs Ray, which is not installed: pip install 'coverjax[cluster]'"
        ) from error
    return ray


def _connect(ray: Any, address: str, workers: int) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == LOCAL:
        options |= {"address": LOCAL, "num_cpus": workers, "include_dashboard": False}
    else:
        options["address"] = address
    try:
        _answer(address)
        with warnings.catch_warnings():
            # Ray's processes are started by fork and exec at once, which JAX's threads do not mind.
            warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            ray.init(**options)
    except (OSError, ValueError, RuntimeError) as error:
        told = " ".join(str(error).split())[:200]
        raise InputError(
            f"--ray: must be the address of a running cluster, auto, or local to start one; {address!r}: "
            f"{told}"
        ) from error


def _answer(address: str) -> None:
    """Raise unless somebody listens at an address with a port: Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS).close()


def _tasks(ray: Any, order: Order, parts: Sequence[int], stopping: Stopping) -> Made:
    """Keep every CPU of the cluster busy, and one task more waiting for each."""
    task = ray.remote(num_cpus=1, max_retries=RETRIES)(_make)
    shared = ray.put(order)
    waiting = iter(parts)
    running: dict[Any, int] = {}
    while True:
        width = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        while len(running) < width and not stopping():
            number = next(waiting, None)
            if number is None:
                break
            running[task.remote(shared, number)] = number
        if not running:
            return
        done, _ = ray.wait(list(running), num_returns=1, timeout=1.0)
        for one in done:
            yield running[one], _result(ray, one, running[one])
            del running[one]


def _result(ray: Any, one: Any, number: int) -> bytes:
    try:
        made: bytes = ray.get(one)
    except ray.exceptions.RayTaskError as error:
        cause = getattr(error, "cause", error)
        if isinstance(cause, InputError):
            raise InputError(str(cause)) from None
        raise
    except ray.exceptions.RayError as error:
        told = " ".join(str(error).split())[:200]
        raise InputError(
            f"--ray: workers must live; part {number} was lost {RETRIES + 1} times: {told}; what is done is "
            "kept: go on with --resume"
        ) from error
    return made


_makers: dict[str, Maker] = {}
"""The makers of a worker process, by what they make."""


def _make(order: Order, number: int) -> bytes:
    made = order["sweep"].hash
    if made not in _makers:
        _makers[made] = Maker(order)
    return _makers[made].make(number)
