"""Write docs/command-reference.md from the option classes of the verbs: python tools/command_reference.py
[--check]"""

import ast
import dataclasses
import importlib
import inspect
import itertools
import pathlib
import sys
import textwrap

from coverjax.cli.complaints import Kind, kinds
from coverjax.cli.main import VERBS
from coverjax.cli.outputs import flag, positionals

PLACE = pathlib.Path(__file__).parents[1] / "docs" / "command-reference.md"

HEAD = """\
# Command reference

Written by `python tools/command_reference.py` from the code; a test says when it is not current. What the
reports mean stands in [command-line.md](command-line.md). A wrong option is one line on stderr and exit code
2.
"""


def reference() -> str:
    """Return the reference as Markdown."""
    parts = [HEAD]
    for verb, (module, line) in VERBS.items():
        found = importlib.import_module(module)
        classes = [
            value
            for name, value in vars(found).items()
            if dataclasses.is_dataclass(value) and name.endswith("Options") and value.__module__ == module
        ]
        parts.append(f"## coverjax {verb}\n\n{line[0].upper()}{line[1:]}.\n")
        for options in classes:
            word = options.__name__.removesuffix("Options").lower()
            title = f"coverjax {verb}" if len(classes) == 1 else f"coverjax {verb} {word}"
            parts.append(_block(title, options, alone=len(classes) == 1))
    return "\n".join(parts)


def _block(title: str, options: type, alone: bool) -> str:
    known, places = kinds(options), positionals(options)
    docs = _docs(options)
    words = [_place(known[name], _default(options, name)) for name in places]
    lines = [] if alone else [f"### {title}\n"]
    lines.append(inspect.cleandoc(options.__doc__ or "") + "\n")
    lines.append(f"    {' '.join([title, *words, '[options]'])}\n")
    lines += ["| option | takes | default | |", "|---|---|---|---|"]
    for name in [*places, *(name for name in known if name not in places)]:
        shown = known[name].shown or name.upper() if name in places else f"`{flag(name)}`"
        takes = (
            "" if known[name].type is bool else known[name].words + (", several" if known[name].many else "")
        )
        lines.append(f"| {shown} | {takes} | {_told(_default(options, name))} | {docs.get(name, '')} |")
    return "\n".join(lines) + "\n"


def _place(kind: Kind, default: object) -> str:
    return (kind.shown or "FILE") if default is dataclasses.MISSING else f"[{kind.shown or 'FILE'}]"


def _default(options: type, name: str) -> object:
    return next(field.default for field in dataclasses.fields(options) if field.name == name)


def _told(default: object) -> str:
    if default is dataclasses.MISSING:
        return "needed"
    if default is None or default is False or default == ():
        return ""
    return f"`{' '.join(map(str, default)) if isinstance(default, tuple) else default}`"


def _docs(options: type) -> dict[str, str]:
    """Return the text below each field, those of base classes included."""
    found: dict[str, str] = {}
    for kind in reversed(options.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
        for field, below in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                text = " ".join(str(ast.literal_eval(below.value)).split())
                found[field.target.id] = text.replace("|", "\\|")  # type: ignore[union-attr]
    return found


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(
            0 if PLACE.read_text(encoding="utf-8") == reference() else f"{PLACE}: not current, run {__file__}"
        )
    PLACE.write_text(reference(), encoding="utf-8", newline="\n")
