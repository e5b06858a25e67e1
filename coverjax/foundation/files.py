"""Files that are there whole or not at all: written under a temporary name, then renamed."""

import contextlib
import errno
import os
import pathlib
import shutil
from collections.abc import Iterable, Iterator

from coverjax.foundation.checks import InputError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}
"""What goes wrong in the middle of writing through no fault of the program."""


WRITTEN: list[pathlib.Path] = []
"""What this process has written whole so far: a message that says "nothing was written" must be true."""


def _refused(path: pathlib.Path, error: OSError) -> InputError:
    why = error.strerror or str(error)
    return InputError(f"{path}: must be a place that can be written to; {why}; choose another or make room")


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[pathlib.Path]:
    """Offer a temporary path beside `path` to write to; rename it at the end, remove it on error.

    Raises:
        InputError: the place can't be written to, or there is no room.
    """
    final = pathlib.Path(path)
    if final.is_dir():
        raise InputError(f"{final}: must be a file that can be written; there is a folder of that name")
    temporary = final.with_name(f".part-{os.getpid()}-{final.name}")
    try:
        temporary.touch()
    except OSError as error:
        raise _refused(final, error) from error
    try:
        yield temporary
        os.replace(temporary, final)
        WRITTEN.append(final)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _refused(final, error) if error.errno in _FULL else error from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def whole_folder(path: str | os.PathLike[str], own: Iterable[str] = ()) -> Iterator[pathlib.Path]:
    """Offer an empty temporary folder inside `path`; at the end each file in it moves up by a rename.

    Files of the same names are replaced, others are left alone, but those of an earlier run go. On error
    nothing is left behind: neither a part of the files nor folders that were not there before.

    Args:
        path: the folder.
        own: names that whoever writes here may write: one that is there and not written this time is of an
            earlier run, and would be taken for this one's.

    Raises:
        InputError: the place can't be written to, or there is no room.
    """
    final = pathlib.Path(path)
    made = [folder for folder in (final, *final.parents) if not folder.exists()]
    part = final / f".part-{os.getpid()}"
    try:
        part.mkdir(parents=True)
    except OSError as error:
        _remove_empty(made)
        raise _refused(final, error) from error
    try:
        yield part
        for file in sorted(part.iterdir()):
            if (final / file.name).is_dir():
                raise InputError(f"{final / file.name}: must be a file that can be replaced; it is a folder")
        stale = set(own) - {file.name for file in part.iterdir()}
        for file in sorted(part.iterdir()):
            os.replace(file, final / file.name)
            WRITTEN.append(final / file.name)
        part.rmdir()
        for name in sorted(stale):
            if (final / name).is_file():
                (final / name).unlink()
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        _remove_empty(made)
        if isinstance(error, OSError) and error.errno in _FULL:
            raise _refused(final, error) from error
        raise


def write_durably(path: str | os.PathLike[str], content: bytes, staging: str | os.PathLike[str]) -> None:
    """Write a file that is whole on the disk when it has its name, a power cut included.

    Args:
        path: the final name.
        content: all of it.
        staging: a folder of the same file system for the temporary file, so that whoever lists the files
            beside `path` never sees it.

    Raises:
        InputError: the place can't be written to, or there is no room.
    """
    final = pathlib.Path(path)
    temporary = pathlib.Path(staging) / f".part-{os.getpid()}-{final.name}"
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, final)
        WRITTEN.append(final)
        _sync_folder(final.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise _refused(final, error) from error


def _sync_folder(folder: pathlib.Path) -> None:
    """Put the names in a folder on the disk, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_empty(folders: list[pathlib.Path]) -> None:
    """Remove the folders, innermost first, as long as they are empty."""
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()
