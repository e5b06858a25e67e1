"""The adapters, and which of them reads a file. A new adapter is one file and one entry in `FORMATS`."""

from collections.abc import Sequence

from coverjax.foundation.checks import file_error, listed, one_of
from coverjax.logs.files import LogFile
from coverjax.logs.formats import count_table, id_c_n, native, noveltybench
from coverjax.logs.formats.base import Format

FORMATS = (noveltybench.FORMAT, id_c_n.FORMAT, count_table.FORMAT, native.FORMAT)
"""Looked at in this order: the first that recognises a file reads it."""


def chosen(name: str, files: Sequence[LogFile]) -> Format:
    """Return the adapter of a name, or for "auto" the one that recognises every file.

    Raises:
        InputError: an unknown name, files that none recognises, or files of several formats.
    """
    by_name = {form.name: form for form in FORMATS}
    if one_of("format", name, ["auto", *sorted(by_name)]) != "auto":
        return by_name[name]
    forms = [_recognised(file) for file in files]
    for file, form in zip(files, forms, strict=True):
        if form is not forms[0]:
            raise file_error(
                file.path,
                None,
                None,
                f"mixed formats: this file looks like {form.name}, {files[0].path} like {forms[0].name}; "
                "read them one by one",
            )
    return forms[0]


def _recognised(file: LogFile) -> Format:
    for form in FORMATS:
        if form.recognises(file):
            return form
    known = "; ".join(f"{form.name} ({form.columns})" for form in reversed(FORMATS))
    held = listed(file.columns, limit=12) or "no columns"
    raise file_error(
        file.path, None, None, f"unknown format; it has {held}; must have the columns of {known}"
    )
