"""One writer a folder: a lock that the operating system frees when its holder dies."""

import contextlib
import json
import os
import pathlib
import socket
from types import TracebackType
from typing import Any

from coverjax.foundation.checks import InputError

NAME = ".lock"


class FolderLock:
    """Hold a folder while it is written to.

    The lock is the system's (flock): when its process dies, however, it is free. The file says who holds it.
    Some network file systems keep locks on one host only; so a file that names another host is believed, and
    has to be removed by hand if that run is gone.

    Args:
        folder: which is there.

    Raises:
        InputError: another run holds it, or the folder can't be written to.
    """

    def __init__(self, folder: pathlib.Path):
        self.path = folder / NAME
        self._handle = self._taken()
        holder = self._holder()
        if holder and holder.get("host") != socket.gethostname():
            os.close(self._handle)
            raise InputError(
                f"{folder}: must be written by one run at a time; process {holder.get('pid')} on host "
                f"{holder.get('host')} holds it: wait for it, or remove {self.path} if it is gone"
            )
        self._write({"pid": os.getpid(), "host": socket.gethostname()})

    def _taken(self) -> int:
        import fcntl

        while True:
            try:
                handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as error:
                raise InputError(
                    f"{self.path.parent}: must be a folder that can be written to; "
                    f"{error.strerror or error}; choose another with --out"
                ) from error
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = self._holder(handle)
                os.close(handle)
                who = f"process {holder['pid']} on this host" if holder else "another process"
                raise InputError(
                    f"{self.path.parent}: must be written by one run at a time; {who} is writing to it: wait "
                    "for it, or stop it and use --resume"
                ) from None
            if self._is_there(handle):
                return handle
            os.close(handle)  # its holder removed it between opening and locking

    def _is_there(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _holder(self, handle: int | None = None) -> dict[str, Any]:
        text = os.pread(self._handle if handle is None else handle, 4096, 0)
        try:
            told = json.loads(text)
        except ValueError:
            return {}
        return told if isinstance(told, dict) and "pid" in told else {}

    def _write(self, told: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # on a full disk the lock holds all the same
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, json.dumps(told).encode(), 0)

    def __enter__(self) -> "FolderLock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self._handle)
