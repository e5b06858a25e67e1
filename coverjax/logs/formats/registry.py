"""The adapters, and which of them reads a file. A new adapter is one file and one entry in `FORMATS`."""

from collections.abc import Sequence

from coverjax.foundation.checks import InputError, file_error, listed, near_name, one_of
from coverjax.logs.files import LogFile
from coverjax.logs.formats import (
    count_table,
    evalplus,
    human_eval,
    id_c_n,
    inspect,
    lm_eval,
    native,
    noveltybench,
    tau_bench,
    verl,
    wide,
)
from coverjax.logs.formats.base import Format
from coverjax.logs.formats.choices import Choices, need_choices
from coverjax.logs.tallying import FIELDS

FORMATS = (
    inspect.FORMAT,
    evalplus.FORMAT,
    lm_eval.FORMAT,
    noveltybench.FORMAT,
    human_eval.FORMAT,
    tau_bench.FORMAT,
    id_c_n.FORMAT,
    count_table.FORMAT,
    verl.FORMAT,
    native.FORMAT,
    wide.FORMAT,
)
"""Looked at in this order: the first that recognises a file reads it."""


def chosen(name: str, files: Sequence[LogFile], choices: Choices) -> Format:
    """Return the adapter of a name, or for "auto" the one that recognises every file.

    Raises:
        InputError: an unknown name, files that none recognises, files of several formats, or choices that
            the format does not leave.
    """
    form = _named(name, files)
    others = [f"{other.name}: {', '.join(other.takes)}" for other in FORMATS if other.takes]
    need_choices(choices, form.name, form.takes, others)
    if choices.min_score is not None and form.no_min_score:
        raise InputError(f"min_score: {form.no_min_score}")
    return form


def _named(name: str, files: Sequence[LogFile]) -> Format:
    by_name = {form.name: form for form in FORMATS}
    if one_of("format", name, ["auto", *sorted(by_name)]) != "auto":
        _need_kind(by_name[name], files)
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


def _need_kind(form: Format, files: Sequence[LogFile]) -> None:
    for file in files:
        if file.kind not in form.kinds:
            kinds = listed(sorted(form.kinds))
            what = f"the format {form.name} is read from {kinds}; this file is {file.kind}"
            raise file_error(file.path, None, None, what)


def _meant(columns: Sequence[str]) -> str:
    """Ask about columns that nearly are those of a log."""
    known = [field.name for field in FIELDS]
    near = {name: near_name(name, [other for other in known if other not in columns]) for name in columns}
    asked = [f"`{other}` by {name}" for name, other in near.items() if other and name not in known]
    return f" (did you mean {', '.join(asked)}?)" if asked else ""


def _recognised(file: LogFile) -> Format:
    # A labelled log may have kept the columns of the tool whose samples it labels.
    if file.kind in native.FORMAT.kinds and {"input", "strategies"} <= set(file.columns):
        return native.FORMAT
    for form in FORMATS:
        if file.kind in form.kinds and form.recognises(file):
            return form
    own = (native.FORMAT, count_table.FORMAT, id_c_n.FORMAT)
    known = "; ".join(f"{form.name} ({form.columns})" for form in own)
    known += f"; or be of {', '.join(sorted(form.name for form in FORMATS if form not in own))}"
    held = listed(file.columns, limit=12) or "no columns"
    what = f"unknown format; it has {held}; must have the columns of {known}{_meant(file.columns)}"
    raise file_error(file.path, None, None, what)
