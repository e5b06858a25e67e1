"""How a file begins whose name doesn't say all: JSON lines, an array, a document; a zip."""

import zipfile

from coverjax.foundation.archives import ZIP_FAULTS
from coverjax.foundation.checks import InputError, file_error
from coverjax.logs.documents import begin_array, begin_document
from coverjax.logs.files import LogFile, begin_jsonl, first_character

DOCUMENTS = ("eval",)
"""Keys that tell a document which some format knows from a first line that is damaged."""


def begin_json(path: str) -> LogFile:
    """Read how a JSON file begins: lines of objects, an array of objects, or a document of a known format.

    Raises:
        InputError: none of them; what is told then is what is wrong with it as lines of objects.
    """
    if first_character(path) == "[":
        return begin_array(path)
    try:
        return begin_jsonl(path)
    except InputError as fault:
        document = _document(path)
        if document is None:
            raise fault
        return document


def _document(path: str) -> LogFile | None:
    try:
        found = begin_document(path)
    except InputError:
        return None
    return found if found and any(key in found.columns for key in DOCUMENTS) else None


def begin_zip(path: str) -> LogFile:
    """Read the names of the members of a zip."""
    with open_zip(path) as archive:
        return LogFile(path, "zip", tuple(archive.namelist()))


def open_zip(path: str) -> zipfile.ZipFile:
    """Open a zip.

    Raises:
        InputError: it is no zip, or a part of one.
    """
    try:
        return zipfile.ZipFile(path)
    except ZIP_FAULTS as error:
        reason = getattr(error, "strerror", None) or "it is no zip, or only a part of one"
        raise file_error(path, None, None, f"can't be read: {reason}") from None
